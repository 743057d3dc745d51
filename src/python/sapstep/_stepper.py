# SPDX-License-Identifier: BSD-3-Clause
"""Base of both kinds of steppers: the state, the report, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import OwningHandle, Owner
from ._library import InputError, array, call, check, count_of, ffi, lib, number, owned_view
from ._options import ADAPTIVE, set_options


@dataclass
class StepReport:
    """Report of the last step.

    outcome: of the contact solver, "converged", "converged_to_roundoff", "early_stop", ..., or
    "no contact" when there was nothing to solve; iterations: Newton iterations of the contact
    solver; momentum_error: castro (32) [-]; free_motion_iterations; blocks and rows of the contact
    problem; time: wall clock of the step [s].
    """

    outcome: str
    iterations: int
    momentum_error: float
    free_motion_iterations: int
    blocks: int
    rows: int
    time: float

    @property
    def converged(self) -> bool:
        """True if the solver met its tolerance, or the limit of double precision."""
        return self.outcome in ("converged", "converged_to_roundoff", "no contact")


class StateOwner(Owner):
    """A stepper with its state; ``q`` and ``v`` are views into it, not copies."""

    _c: OwningHandle
    _state: Any
    _pending: Optional[BaseException] = None  # raised by a callback of the step
    _adaptive: Optional[Tuple[float, ...]] = None  # options of c.adaptive

    def _begin(self, system: Any, options: Any, state: Any) -> None:
        """Creates c.stepper and the buffers of steps; called last by constructors."""
        threads = options.solver_options.threads > 1
        self._c.make("stepper", lib.sap_stepper_create, system, options, end=lib.sap_stepper_destroy, threads=threads)
        self._state = state  # only numbers: reading them needs no lock
        self._q = owned_view(state.q, state.nq, state)
        self._v = owned_view(state.v, state.nv, state)
        self._act = owned_view(state.act, state.na, state)
        self._dt, self._adaptive = float(options.dt), None
        with self._c as c:
            c.state, c.report, c.recorder = state, ffi.new("sap_step_report*"), None
            c.turn = ffi.new("sap_python_turn*", {"stepper": c.stepper, "state": state, "report": c.report})
            c.turns = ffi.new("sap_python_turn*[]", [c.turn])

    @property
    def t(self) -> float:
        """Time [s]."""
        return float(self._state.t)

    @t.setter
    def t(self, value: float) -> None:
        t = number(value, "t")
        with self._c as c:
            c.state.t = t

    def _set(self, name: str, values: ArrayLike) -> None:
        mine = getattr(self, name)
        numbers = array(values, mine.shape, name)
        with self._c:
            mine[:] = numbers

    @property
    def q(self) -> NDArray[np.float64]:
        """Generalized positions (nq) [m, rad, quaternions w x y z], a view: writing to it changes the
        state."""
        return self._q

    @q.setter
    def q(self, values: ArrayLike) -> None:
        self._set("q", values)

    @property
    def v(self) -> NDArray[np.float64]:
        """Generalized velocities (nv) [m/s, rad/s], a view."""
        return self._v

    @v.setter
    def v(self, values: ArrayLike) -> None:
        self._set("v", values)

    @property
    def act(self) -> NDArray[np.float64]:
        """Activations of actuators (na), a view."""
        return self._act

    @act.setter
    def act(self, values: ArrayLike) -> None:
        self._set("act", values)

    @property
    def state(self) -> NDArray[np.float64]:
        """The whole state as one vector [t, q, v, act] (1 + nq + nv + na), a copy; assign a vector to set
        it. :meth:`save` has the memory of the steps, too."""
        with self._c:
            return self._vector()

    @state.setter
    def state(self, values: ArrayLike) -> None:
        vector = array(values, (1 + self._q.size + self._v.size + self._act.size,), "state")
        with self._c:
            self._take(vector)

    def _vector(self) -> NDArray[np.float64]:
        return np.concatenate(([self.t], self._q, self._v, self._act))

    def _take(self, vector: NDArray[np.float64]) -> None:
        nq, nv = self._state.nq, self._state.nv
        self._state.t = vector[0]
        self._q[:], self._v[:], self._act[:] = vector[1:1 + nq], vector[1 + nq:1 + nq + nv], vector[1 + nq + nv:]

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self._dt

    @dt.setter
    def dt(self, value: float) -> None:
        dt = number(value, "dt")
        with self._c as c:
            call(lib.sap_stepper_set_dt, c.stepper, dt)
            self._dt = dt

    def step(self, count: int = 1) -> None:
        """Makes `count` steps. A step that fails leaves the state unchanged. Ctrl-C ends the call between
        two steps."""
        wanted = count_of(count, "count")
        with self._c as c:
            lib.sap_python_begin(c.turns, 1, wanted)
            while lib.sap_python_step(c.turns, 1, ffi.NULL):
                pass
            self._check(c.turn)

    def advance(self, t: float, accuracy: float = 1e-4, **options: Any) -> Tuple[int, int]:
        """Steps to the time t [s] by steps that choose their own length: their estimated error is at most
        `accuracy` [m] each. Needs scheme "midpoint"; ``relative_tolerance`` should be accuracy/100 or less.
        Other keywords are the fields of sap_adaptive_options: velocity_time, largest_dt, least_dt [s],
        extrapolate. Returns the numbers of steps made and of attempts rejected. `dt` stays as it is."""
        end, wanted = number(t, "t"), ffi.new("sap_adaptive_options*", lib.sap_adaptive_options_default())
        set_options(wanted, dict(options, accuracy=number(accuracy, "accuracy")), fields=ADAPTIVE)
        with self._c as c:
            if not end > self.t:
                raise InputError(f"t = {end} must be > the time now, {self.t}")
            self._choose(c, tuple(float(getattr(wanted, name)) for name in ADAPTIVE))
            lib.sap_python_begin(c.turns, 1, 1)
            c.turn.adaptive, c.turn.t_end = c.adaptive, end
            c.turn.made = c.turn.rejected = 0
            try:
                while lib.sap_python_step(c.turns, 1, ffi.NULL):
                    pass
            finally:
                c.turn.adaptive = ffi.NULL
                lib.sap_stepper_set_dt(c.stepper, self._dt, ffi.NULL)
            self._check(c.turn)
            return int(c.turn.made), int(c.turn.rejected)

    def _choose(self, c: Any, values: Optional[Tuple[float, ...]]) -> None:
        """Creates the error control of steps with the values of its options; None: without."""
        if self._adaptive == values:
            return
        if self._adaptive is not None:
            lib.sap_adaptive_destroy(self._c.take("adaptive"))
            self._adaptive = None
        if values is not None:
            options = ffi.new("sap_adaptive_options*", lib.sap_adaptive_options_default())
            for (name, kind), value in zip(ADAPTIVE.items(), values):
                setattr(options, name, bool(value) if kind.cname == "_Bool" else value)
            self._c.make("adaptive", lib.sap_adaptive_create, c.stepper, options, ffi.NULL, end=lib.sap_adaptive_destroy)
            self._adaptive = values

    def _check(self, turn: Any) -> None:
        """Raises the error of the last step or of recording it."""
        check(turn.status, turn.error)

    def __repr__(self) -> str:
        state = self._state
        return f"<sapstep.{type(self).__name__} t={state.t:g} s, nq={state.nq}, nv={state.nv}>"

    def _instead(self) -> str:
        return ": create an equal one there and load() the result of save()"

    @property
    def report(self) -> StepReport:
        """Report of the last step."""
        with self._c as c:
            if not c.turn.stepped:
                raise InputError("no step has been made yet, or the last one failed")
            report = c.report
            solver = report.solver
            solved = solver != ffi.NULL
            return StepReport(
                outcome=ffi.string(lib.sap_outcome_text(solver.outcome)).decode() if solved
                else "no contact",
                iterations=solver.iterations if solved else 0,
                momentum_error=solver.momentum_error if solved else 0.0,
                free_motion_iterations=report.free_motion_iterations,
                blocks=report.blocks,
                rows=report.rows,
                time=report.time_total,
            )

    def forget(self) -> None:
        """Forgets the steps made: the next one depends on the state alone, bit for bit."""
        with self._c as c:
            lib.sap_stepper_forget(c.stepper)

    def save(self) -> bytes:
        """Returns state and memory as bytes: after :meth:`load` the next steps are the same bit for bit."""
        with self._c as c:
            return self._save(c)

    def _save(self, c: Any) -> bytes:
        size = ffi.new("size_t*")
        call(lib.sap_stepper_save_memory, c.stepper, ffi.NULL, 0, size)
        memory = ffi.new("unsigned char[]", size[0])
        call(lib.sap_stepper_save_memory, c.stepper, memory, size[0], size)
        return np.array(self._adaptive or [np.nan] * len(ADAPTIVE)).tobytes() + self._vector().tobytes() + bytes(ffi.buffer(memory))

    def load(self, saved: bytes) -> None:
        """Restores a :meth:`save` of this or an equal simulation."""
        saved = bytes(memoryview(saved))
        options = 8 * len(ADAPTIVE)
        head = options + 8 * (1 + self._q.size + self._v.size + self._act.size)
        if len(saved) < head:
            raise InputError("saved bytes are too short")
        values = tuple(np.frombuffer(saved[:options]).tolist())
        wanted = None if values[0] != values[0] else values
        with self._c as c:
            before = self._adaptive
            mine = b"" if wanted == before else self._save(c)[head:]
            try:
                self._choose(c, wanted)
                call(lib.sap_stepper_load_memory, c.stepper, saved[head:], len(saved) - head)
            except BaseException:
                if mine:  # otherwise it is as it was
                    self._choose(c, before)
                    call(lib.sap_stepper_load_memory, c.stepper, mine, len(mine))
                raise
            self._take(np.frombuffer(saved[options:head]))
            c.turn.stepped = False
