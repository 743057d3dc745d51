# SPDX-License-Identifier: BSD-3-Clause
"""Exclusive access to C objects, and their lifetime."""

from __future__ import annotations

import os
from _thread import RLock
from types import SimpleNamespace
from typing import Any, Callable, List, Optional, Tuple

from ._library import InputError, call, ffi
from ._names import Suggests

_Lock: Any = RLock
_forks = 0  # forks of this process since the import of the package


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class Handle(_Lock):  # type: ignore[misc]
    """C objects used by Python. ``with handle as c:`` and :class:`Turns` give the only access to them::

        with self._c as c:
            call(lib.sap_stepper_set_dt, c.stepper, dt)

    One thread has access at a time. While a call runs, other threads and callbacks of that call are
    refused, before they have changed anything. The class derives from the lock so that leaving a
    ``with`` runs C code only, which Ctrl-C cannot interrupt before the release.
    """

    _objects: Optional[SimpleNamespace] = None
    _ends: Tuple[Tuple[str, Callable[[Any], Any], bool], ...] = ()

    def __init__(self, what: str, **objects: Any) -> None:
        self._what = what
        self._born = _forks
        self._objects = SimpleNamespace(**objects)

    @property
    def forked(self) -> bool:
        """True if threads of the objects were left in another process by a fork."""
        return self._born != _forks and any(threads for _, _, threads in self._ends)

    def close(self) -> None:
        """Refuses all later access to the objects."""
        self._objects = None

    def __enter__(self) -> Any:
        mine = self._is_owned()  # held further up the call stack: this is a callback
        try:
            if mine or not self.acquire(False):
                raise InputError(f"this {self._what} is in use already, by another thread or a callback of its own")
            if self._objects is None:
                raise InputError(f"this {self._what} is closed")
            if self.forked:
                raise InputError(f"this {self._what} has threads or a recording, which belong to the process that it "
                                 "was forked from")
            return self._objects
        except BaseException:  # Ctrl-C may come when it has just been acquired
            if not mine and self._is_owned():
                self.release()
            raise


class Turns:
    """Access to many handles at once. ``finally: deque(turns.release, 0)`` releases all of them, in C
    code only."""

    def __init__(self) -> None:
        self._taken: List[Handle] = []
        self.release = map(Handle.release, filter(Handle._is_owned, self._taken))

    def take(self, handle: Handle) -> Any:
        """Acquires the handle and returns c, as ``with handle as c`` does."""
        if not handle._is_owned():  # otherwise acquire() refuses
            self._taken.append(handle)  # first: Ctrl-C may come when it has just been taken
        return handle.__enter__()


class OwningHandle(Handle):
    """A handle that owns its objects and destroys them in reverse order of creation."""

    def make(self, name: str, function: Any, *arguments: Any, end: Callable[[Any], Any],
             type: str = "", threads: bool = False) -> None:
        """Calls function(*arguments, T** out, error) and stores the object as c.name.
        threads: the object has its own threads, which a fork leaves behind."""
        out = ffi.new(f"{type or 'sap_' + name}**")
        call(function, *arguments, out)
        setattr(self._objects, name, out[0])
        self._ends += ((name, end, threads),)

    def take(self, name: str) -> Any:
        """Removes the object and returns it; the caller destroys it."""
        taken = getattr(self._objects, name)
        setattr(self._objects, name, None)
        self._ends = tuple(row for row in self._ends if row[0] != name)
        return taken

    def close(self) -> None:
        objects, self._objects = self._objects, None
        ends, self._ends = self._ends, ()
        for name, end, threads in reversed(ends):
            if not threads or self._born == _forks:  # threads left behind by a fork cannot be joined
                end(getattr(objects, name))

    def __del__(self) -> None:  # Python drops a KeyboardInterrupt raised here: no object may be collected in each step
        self.close()


class Owner(Suggests):
    """Base of classes that hold C objects; they cannot be pickled."""

    _c: Handle

    def __reduce_ex__(self, protocol: Any) -> Any:
        what = "pickled" if hasattr(self, "__copy__") else "copied or pickled"
        name = type(self).__name__
        raise TypeError(f"{'an' if name[0] in 'AEIOU' else 'a'} {name} cannot be {what}{self._instead()}")

    def _instead(self) -> str:
        return ""
