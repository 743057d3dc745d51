# SPDX-License-Identifier: BSD-3-Clause
"""Many simulations at once."""

from __future__ import annotations

import os
from collections import deque
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import OwningHandle, Turns
from ._library import Error, InputError, array, count_of, ffi, lib, pointer
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


def _step(members: List[StateOwner], count: int, threads: Any, errors: Optional[Dict[int, Error]] = None) -> None:
    """Steps all of them; `errors` takes errors by index, of which the first is raised otherwise."""
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
                    if errors is None:
                        raise _with_index(i, error) from error
                    errors[i] = error
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
    _with_threads(_workers(threads, len(members)), lambda team: _step(members, count, team))


def _workers(threads: Optional[int], tasks: int) -> int:
    most = len(os.sched_getaffinity(0)) if threads is None else count_of(threads, "threads", 1)
    return min(most, tasks, _MOST)


def _with_threads(workers: int, run: Callable[[Any], None]) -> None:
    """Calls run with a team of threads; NULL for one worker."""
    if workers <= 1:
        run(ffi.NULL)
        return
    teams, team = _idle.setdefault(workers, []), None
    try:
        team = teams.pop() if teams else None
        if team is None or team.forked:
            team = _team(workers)
        with team as own:
            run(own.threads)
    finally:
        if team is not None:
            teams.append(team)


@dataclass(frozen=True)
class Trajectories:
    """Results of :meth:`Simulation.rollout`: states (n, steps + 1, 1 + nq + nv + na) = [t, q, v, act], from the
    start on; t, q, v, act: views of it; errors: why trajectories ended early, by index."""

    states: NDArray[np.float64]
    nq: int
    nv: int
    errors: Dict[int, Error]

    @property
    def t(self) -> NDArray[np.float64]:
        """Times (n, steps + 1) [s]."""
        return self.states[..., 0]

    @property
    def q(self) -> NDArray[np.float64]:
        """Positions (n, steps + 1, nq)."""
        return self.states[..., 1:1 + self.nq]

    @property
    def v(self) -> NDArray[np.float64]:
        """Velocities (n, steps + 1, nv)."""
        return self.states[..., 1 + self.nq:1 + self.nq + self.nv]

    @property
    def act(self) -> NDArray[np.float64]:
        """Activations (n, steps + 1, na)."""
        return self.states[..., 1 + self.nq + self.nv:]

    def __len__(self) -> int:
        return len(self.states)

    def __repr__(self) -> str:
        n, rows, _ = self.states.shape
        return f"<sapstep.Trajectories {n} of {rows - 1} steps, {len(self.errors)} failed>"


def _numbers(values: ArrayLike, last: Tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Converts to (n or 1, *last) in C order."""
    given = np.asarray(values)
    many = array(given, ((-1,) if given.ndim > len(last) else ()) + last, name)
    many = np.ascontiguousarray(many if many.ndim > len(last) else many[None])
    bad = np.argwhere(~np.isfinite(many))
    if len(bad):
        raise InputError(f"{name}{bad[0].tolist()} is not finite", "value is not finite")
    return many


def rollout(simulation: Any, states: Optional[ArrayLike], controls: Optional[ArrayLike], steps: Optional[int],
            threads: Optional[int]) -> Trajectories:
    """See :meth:`Simulation.rollout`."""
    starts = _numbers(simulation.state if states is None else states, simulation.state.shape, "states")
    inputs = None if controls is None else _numbers(controls, (-1, simulation.nu), "controls")
    if inputs is None and steps is None:
        raise TypeError("rollout needs controls (n, steps, nu), or steps")
    count = count_of(steps if inputs is None else inputs.shape[1], "steps")
    if inputs is not None and steps not in (None, count):
        raise InputError(f"steps = {steps}, but controls has {count}")
    n = max(len(starts), 1 if inputs is None else len(inputs))
    for name, given in (("states", starts), ("controls", inputs)):
        if given is not None and len(given) not in (1, n):
            raise InputError(f"{name} has {len(given)} trajectories, must be 1 or {n}")
    rows = np.full((n, count + 1, starts.shape[1]), np.nan)
    rows[:, 0] = starts
    workers = _workers(threads, n)
    members = [simulation.copy() for _ in range(workers)]
    errors: Dict[int, Error] = {}

    def run(team: Any) -> None:
        for first in range(0, n, workers):
            some = members[:n - first]
            for i, member in enumerate(some, first):
                member.state = rows[i, 0]
                member.forget()
                with member._c as c:
                    c.turn.rows = pointer(rows[i, 1:])
                    if inputs is not None:
                        c.turn.controls = pointer(inputs[i if len(inputs) > 1 else 0])
            found: Dict[int, Error] = {}
            _step(some, count, team, found)
            errors.update((first + i, error) for i, error in found.items())

    if count > 0:
        _with_threads(workers, run)
    return Trajectories(rows, simulation.nq, simulation.nv, errors)
