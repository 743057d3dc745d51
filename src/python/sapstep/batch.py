# SPDX-License-Identifier: BSD-3-Clause
"""Many simulations at once."""

from __future__ import annotations

import os
from collections import deque
from threading import Thread
from typing import Dict, List, Optional, Sequence

from ._library import Error, InputError, non_negative
from ._stepper import StateOwner


def _members(simulations: Sequence[StateOwner]) -> List[StateOwner]:
    members = list(simulations)
    for i, member in enumerate(members):
        if not isinstance(member, StateOwner):
            raise TypeError(f"simulation {i} must be a Simulation or Stepper, not {type(member).__name__}")
    if len(set(map(id, members))) != len(members):
        raise InputError("the same simulation stands in the list twice")
    return members


def _tell(index: int, error: Exception) -> None:
    """Raises what went wrong in a member, and says in which."""
    if isinstance(error, Error):
        raise type(error)(f"simulation {index}: {error}", error.status) from error
    if hasattr(error, "add_note"):
        error.add_note(f"in simulation {index}")
    raise error


def step_all(simulations: Sequence[StateOwner], count: int = 1, threads: Optional[int] = None) -> None:
    """Makes `count` steps of every simulation, in parallel on `threads` (all cores unless given).

    The results do not depend on the number of threads. A simulation whose step fails stays as it was
    before that step, the others come to their end; then the first error is raised, with the
    simulation's place in the list. Ctrl-C ends all between two steps.
    """
    members = _members(simulations)
    count = non_negative(count, "count")
    workers = len(os.sched_getaffinity(0)) if threads is None else non_negative(threads, "threads")
    if workers < 1:
        raise InputError("threads = 0 must be >= 1")
    waiting = deque(range(len(members)))
    stop: List[BaseException] = []
    errors: Dict[int, Exception] = {}

    def work() -> None:
        try:
            while waiting and not stop:
                try:
                    i = waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                try:
                    members[i]._advance(count, stop)
                except Exception as error:
                    errors[i] = error
        except BaseException as error:  # Ctrl-C, or a System that ends the program
            stop.append(error)

    others: List[Thread] = []
    try:
        for _ in range(min(workers, len(members)) - 1):
            others.append(Thread(target=work))
            others[-1].start()
        work()
    except BaseException as error:
        stop.append(error)
    while others:
        try:
            others[-1].join()
            others.pop()
        except BaseException as error:
            stop.append(error)
    if stop:
        raise stop[0]
    if errors:
        first = min(errors)
        _tell(first, errors[first])
