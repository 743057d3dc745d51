# SPDX-License-Identifier: BSD-3-Clause
"""Many simulations at once."""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Dict, List, Optional, Sequence

from ._handle import OwningHandle, Turns
from ._library import Error, InputError, count_of, ffi, lib
from ._stepper import StateOwner

_MOST = 256  # threads per team
_idle: Dict[int, List[OwningHandle]] = {}  # idle teams by their number of threads


def _members(simulations: Sequence[StateOwner]) -> List[StateOwner]:
    members = list(simulations)
    for i, member in enumerate(members):
        if not isinstance(member, StateOwner):
            raise TypeError(f"simulation {i} must be a Simulation or Stepper, not {type(member).__name__}")
    if len(set(map(id, members))) != len(members):
        raise InputError("the same simulation is in the list twice")
    return members


def _with_index(index: int, error: Error) -> Error:
    """Adds the index of the simulation to the message."""
    return type(error)(f"simulation {index}: {error}", error.status)


def _step(members: List[StateOwner], count: int, threads: Any) -> None:
    turns = Turns()
    try:
        started = []
        for i, member in enumerate(members):
            try:
                started.append(turns.take(member._c).turn)
            except Error as error:
                raise _with_index(i, error) from None
        pointers, more = ffi.new("sap_python_turn*[]", started), True
        lib.sap_python_begin(pointers, len(members), count)
        while more:
            more = lib.sap_python_step(pointers, len(members), threads)
            for turn, member in zip(started, members):
                if member._pending is not None and not isinstance(member._pending, Exception):
                    member._check(turn)  # Ctrl-C, or a System that ends the program
        for i, turn in enumerate(started):
            if turn.status != 0:
                try:
                    members[i]._check(turn)
                except Error as error:
                    raise _with_index(i, error) from error
                except Exception as error:
                    if hasattr(error, "add_note"):
                        error.add_note(f"in simulation {i}")
                    raise
    finally:
        deque(turns.release, 0)


def _team(workers: int) -> OwningHandle:
    made = OwningHandle("team of threads")
    made.make("threads", lib.sap_python_threads_create, workers, end=lib.sap_python_threads_destroy, threads=True)
    return made


def step_all(simulations: Sequence[StateOwner], count: int = 1, threads: Optional[int] = None) -> None:
    """Makes `count` steps of every simulation, in parallel on `threads` (default: all cores), which wait
    for the next call.

    The results do not depend on the number of threads. A simulation whose step fails keeps its state
    before that step; the others make all their steps. Then the first error is raised, with the
    simulation's index in the list. If a simulation is in use already, none is stepped. Ctrl-C ends the
    call between two steps.
    """
    members = _members(simulations)
    count = count_of(count, "count")
    most = len(os.sched_getaffinity(0)) if threads is None else count_of(threads, "threads", 1)
    workers = min(most, len(members), _MOST)
    if workers <= 1:
        _step(members, count, ffi.NULL)
        return
    teams, team = _idle.setdefault(workers, []), None
    try:
        team = teams.pop() if teams else None
        if team is None or team.forked:
            team = _team(workers)
        with team as own:
            _step(members, count, own.threads)
    finally:
        if team is not None:
            teams.append(team)
