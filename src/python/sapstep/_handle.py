# SPDX-License-Identifier: BSD-3-Clause
"""Who may touch a C object, and when it ends."""

from __future__ import annotations

import os
from _thread import RLock
from types import SimpleNamespace
from typing import Any, Callable, List, Optional, Tuple

from ._library import InputError, call, ffi

_Lock: Any = RLock
_forks = 0  # of this process since the package was imported


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class Handle(_Lock):  # type: ignore[misc]
    """C objects that Python works with. ``with handle as c:``, and :class:`Turns`, are the only ways to them::

        with self._c as c:
            call(lib.sap_stepper_set_dt, c.stepper, dt)

    They are one thread's at a time, and nobody's beside a call that runs: other threads and
    callbacks of that call are refused, and whoever is refused has changed nothing. It derives from
    the lock because what leaves a ``with`` is then C code, which Ctrl-C cannot keep from giving the
    objects back.
    """

    _objects: Optional[SimpleNamespace] = None
    _ends: Tuple[Tuple[str, Callable[[Any], Any], bool], ...] = ()

    def __init__(self, what: str, **objects: Any) -> None:
        self._what = what
        self._born = _forks
        self._objects = SimpleNamespace(**objects)

    @property
    def forked(self) -> bool:
        """Threads of the objects are in another process."""
        return self._born != _forks and any(threads for _, _, threads in self._ends)

    def close(self) -> None:
        """Whoever wants the objects later is refused."""
        self._objects = None

    def __enter__(self) -> Any:
        mine = self._is_owned()  # a caller's further up: this is a callback
        try:
            if mine or not self.acquire(False):
                raise InputError(f"this {self._what} is in use already, by another thread or a callback of its own")
            if self._objects is None:
                raise InputError(f"this {self._what} is over")
            if self.forked:
                raise InputError(f"this {self._what} has threads or a recording, which are in the process that it "
                                 "was forked from")
            return self._objects
        except BaseException:  # Ctrl-C may come when it has just been acquired
            if not mine and self._is_owned():
                self.release()
            raise


class Turns:
    """Turns at many handles at once. ``finally: deque(turns.release, 0)`` gives all of them back, again
    by C code alone."""

    def __init__(self) -> None:
        self._taken: List[Handle] = []
        self.release = map(Handle.release, filter(Handle._is_owned, self._taken))

    def take(self, handle: Handle) -> Any:
        """As ``with handle as c``: c."""
        if not handle._is_owned():  # else it is refused
            self._taken.append(handle)  # first: Ctrl-C may come when it has just been taken
        return handle.__enter__()


class OwningHandle(Handle):
    """A handle whose objects end with it, the last made first."""

    def make(self, name: str, function: Any, *arguments: Any, end: Callable[[Any], Any],
             type: str = "", threads: bool = False) -> None:
        """Calls function(*arguments, T** out, error): the object is from now on c.name.
        threads: it has threads of its own, which a fork leaves behind."""
        out = ffi.new(f"{type or 'sap_' + name}**")
        call(function, *arguments, out)
        setattr(self._objects, name, out[0])
        self._ends += ((name, end, threads),)

    def take(self, name: str) -> Any:
        """The object, which is from now on its taker's to end."""
        taken = getattr(self._objects, name)
        setattr(self._objects, name, None)
        self._ends = tuple(row for row in self._ends if row[0] != name)
        return taken

    def close(self) -> None:
        objects, self._objects = self._objects, None
        ends, self._ends = self._ends, ()
        for name, end, threads in reversed(ends):
            if not threads or self._born == _forks:  # nobody could wait for threads left behind
                end(getattr(objects, name))

    def __del__(self) -> None:  # Python drops what Ctrl-C raises here: nothing may end at every step
        self.close()


class Owner:
    """Base of what stands for C objects, which no pickle holds."""

    _c: Handle

    def __reduce_ex__(self, protocol: Any) -> Any:
        what = "pickled" if hasattr(self, "__copy__") else "copied or pickled"
        name = type(self).__name__
        raise TypeError(f"{'an' if name[0] in 'AEIOU' else 'a'} {name} cannot be {what}{self._instead()}")

    def _instead(self) -> str:
        return ""
