# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of simulations."""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from typing import Any, Union

from ._handle import OwningHandle, Owner
from ._library import Error, InputError, call, count_of, ffi, lib
from ._options import file_name


class Recorder(Owner):
    """A recording in progress, created by :meth:`Simulation.record`."""

    def __init__(self, handle: OwningHandle, recorder: Any, name: bytes) -> None:
        self._c: OwningHandle = handle
        self._recorder = recorder
        self._name = os.fsdecode(name)

    def close(self) -> None:
        """Writes the remaining rows and closes the file. May be called again."""
        with self._c as c:
            if c.recorder is self._recorder:
                call(lib.sap_recorder_close, _take(self._c, c))

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        with self._c as c:
            going = c.recorder is self._recorder
        return f"<sapstep.Recorder {self._name!r}, {'recording' if going else 'closed'}>"


def begin(handle: OwningHandle, path: Union[str, "os.PathLike[str]"], every: int) -> Recorder:
    """Creates a file with the current state as its first row; each step adds rows."""
    name, every = file_name(path), count_of(every, "every", 1)
    with handle as c:
        if c.recorder is not None:
            raise InputError("this simulation is being recorded already")
        try:
            handle.make("recorder", lib.sap_recorder_create, name, c.model, ffi.NULL,
                        end=lambda unclosed: lib.sap_recorder_close(unclosed, ffi.NULL), threads=True)
            call(lib.sap_recorder_write, c.recorder, c.multibody, c.state, ffi.NULL)
            c.turn.every, c.turn.until, c.turn.recorder = every, 0, c.recorder
            _open.add(handle)
            return Recorder(handle, c.recorder, name)
        except BaseException:
            if c.recorder is not None:
                lib.sap_recorder_close(_take(handle, c), ffi.NULL)
            raise


def _take(handle: OwningHandle, c: Any) -> Any:
    """Detaches the recorder: later steps do not write to it."""
    _open.discard(handle)
    c.turn.recorder = ffi.NULL
    return handle.take("recorder")


_open: "weakref.WeakSet[OwningHandle]" = weakref.WeakSet()  # recorders to close at the end of the interpreter


@atexit.register
def _close_all() -> None:
    for handle in list(_open):
        try:
            with handle as c:
                call(lib.sap_recorder_close, _take(handle, c))
        except Error as error:  # a thread is still working, or rows cannot be written
            warnings.warn(f"a recording was not closed: {error}", RuntimeWarning, stacklevel=1)
