# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of simulations."""

from __future__ import annotations

import atexit
import os
import warnings
import weakref
from typing import Any, Union

from ._handle import OwningHandle
from ._library import Error, InputError, call, ffi, lib, non_negative
from ._options import file_name


class Recorder:
    """A recording under way, made by :meth:`Simulation.record`."""

    def __init__(self, handle: OwningHandle, number: int) -> None:
        self._c = handle
        self._number = number

    def close(self) -> None:
        """Writes what is left. May be called again."""
        with self._c as c:
            if c.recorder is not None and c.recordings == self._number:
                _close(self._c)

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self) -> str:
        with self._c as c:
            going = c.recorder is not None and c.recordings == self._number
        return f"<sapstep.Recorder, {'recording' if going else 'closed'}>"


def begin(handle: OwningHandle, path: Union[str, "os.PathLike[str]"], every: int) -> Recorder:
    """A file that holds the state as it is; steps call :func:`write`."""
    name = file_name(path)
    if non_negative(every, "every") < 1:
        raise InputError(f"every = {every} must be >= 1")
    with handle as c:
        if c.recorder is not None:
            raise InputError("it is being recorded already")
        handle.make("recorder", lib.sap_recorder_create, name, c.model, ffi.NULL,
                    end=lambda unclosed: lib.sap_recorder_close(unclosed, ffi.NULL), threads=True)
        c.every, c.until, c.recordings = int(every), 0, getattr(c, "recordings", 0) + 1
        try:
            call(lib.sap_recorder_write, c.recorder, c.multibody, c.state, ffi.NULL)
        except BaseException:
            lib.sap_recorder_close(handle.take("recorder"), ffi.NULL)
            raise
        _open.add(handle)
    return Recorder(handle, c.recordings)


def write(c: Any) -> None:
    """After a step: every c.every-th becomes a row."""
    c.until += 1
    if c.until == c.every:
        c.until = 0
        call(lib.sap_multibody_collect, c.multibody, c.report)
        call(lib.sap_recorder_write, c.recorder, c.multibody, c.state, c.report)


def _close(handle: OwningHandle) -> None:
    _open.discard(handle)
    call(lib.sap_recorder_close, handle.take("recorder"))


_open: "weakref.WeakSet[OwningHandle]" = weakref.WeakSet()  # recorders that the interpreter's end must close


@atexit.register
def _close_all() -> None:
    for handle in list(_open):
        try:
            with handle:
                _close(handle)
        except Error as error:  # a thread is still at work, or what is left cannot be written
            warnings.warn(f"a recording was not closed: {error}", RuntimeWarning, stacklevel=1)
