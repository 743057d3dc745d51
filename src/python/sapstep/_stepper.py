# SPDX-License-Identifier: BSD-3-Clause
"""What both kinds of steppers share: options, the state, the report, memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Optional, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import (
    InputError, Turn, array, call, check, enumerator, ffi, lib, non_negative, owned_view, set_options
)

_SCHEMES = ("explicit-euler", "symplectic-euler", "implicit-euler", "midpoint")
_STAGES = ("auto", "end", "theta")
_OPTIONS = ("sigma", "beta", "remember", "time_limit", "free_motion_max_iterations", "contact_model")
_KEYWORDS = ("dt", "scheme", "solver", "contact_stage", "keyframe", "lenient", "floating_base", "floor")


@dataclass
class StepReport:
    """What the last step did."""

    outcome: str  #: of the contact solver; "no contact" when there was nothing to solve
    iterations: int  #: Newton iterations of the contact solver
    momentum_error: float  #: castro (32) [-]
    free_motion_iterations: int
    blocks: int
    rows: int
    time: float  #: wall clock of the step [s]


def make_options(dt: Optional[float], scheme: Union[str, Tuple[float, float]], stage: str, solver: str,
                 values: Dict[str, Any]) -> Any:
    """A sap_stepper_options; `values` holds its other fields and those of the solver's options."""
    options = ffi.new("sap_stepper_options*", lib.sap_stepper_options_default())
    if dt is not None:
        options.dt = dt
    if isinstance(scheme, str):
        number = enumerator("SAP_SCHEME_", scheme, _SCHEMES)
        call(lib.sap_stepper_options_set_scheme, options, number)
    else:
        options.theta, options.theta_vq = scheme
    options.contact_stage = enumerator("SAP_STAGE_", stage, _STAGES)
    rest = dict(values)
    for name in ("sigma", "beta"):
        if name in rest:
            setattr(options.regularization, name, rest.pop(name))
    for name in ("remember", "time_limit", "free_motion_max_iterations"):
        if name in rest:
            setattr(options, name, rest.pop(name))
    if "contact_model" in rest:
        models = ("sap", "similar", "lagged")
        options.contact_model = enumerator("SAP_CONTACT_", rest.pop("contact_model"), models)
    set_options(options.solver_options, rest, _OPTIONS + _KEYWORDS)
    name = ffi.new("char[]", solver.encode())
    options.solver = name
    return options, name


class StateOwner:
    """A stepper with its state; ``q`` and ``v`` are views into it, not copies."""

    _stepper: Any
    _state: Any
    _recorder: Any = None

    def _begin(self, system: Any, options: Any, state: Any) -> None:
        out = ffi.new("sap_stepper**")
        call(lib.sap_stepper_create, system, options, out)
        self._stepper = ffi.gc(out[0], lib.sap_stepper_destroy)
        self._state = state
        self._report = ffi.new("sap_step_report*")
        self._stepped = False
        self._q = owned_view(state.q, state.nq, state)
        self._v = owned_view(state.v, state.nv, state)
        self._act = owned_view(state.act, state.na, state)
        self._turn = Turn(type(self).__name__)
        self._dt = float(options.dt)

    @property
    def t(self) -> float:
        """Time [s]."""
        return float(self._state.t)

    @t.setter
    def t(self, value: float) -> None:
        self._state.t = value

    @property
    def q(self) -> NDArray[np.float64]:
        """Generalized positions (nq), a view: writing to it changes the state."""
        return self._q

    @q.setter
    def q(self, values: ArrayLike) -> None:
        self._q[:] = array(values, (self._state.nq,), "q")

    @property
    def v(self) -> NDArray[np.float64]:
        """Generalized velocities (nv) [m/s, rad/s], a view."""
        return self._v

    @v.setter
    def v(self, values: ArrayLike) -> None:
        self._v[:] = array(values, (self._state.nv,), "v")

    @property
    def act(self) -> NDArray[np.float64]:
        """Activations of actuators (na), a view."""
        return self._act

    @act.setter
    def act(self, values: ArrayLike) -> None:
        self._act[:] = array(values, (self._state.na,), "act")

    @property
    def dt(self) -> float:
        """Time step [s]."""
        return self._dt

    @dt.setter
    def dt(self, value: float) -> None:
        call(lib.sap_stepper_set_dt, self._stepper, value)
        self._dt = float(value)

    def step(self, count: int = 1) -> None:
        """Makes `count` steps. A step that fails leaves the state as it was before it."""
        error = ffi.new("sap_error*")
        with self._turn:
            for _ in range(non_negative(count, "count")):
                status = lib.sap_stepper_step(self._stepper, self._state, self._report, error)
                if status != 0:
                    self._raise(status, error)
                self._stepped = True
                if self._recorder is not None:
                    self._record()

    def _record(self) -> None:
        raise NotImplementedError

    def _raise(self, status: int, error: Any) -> None:
        check(status, error)

    def __repr__(self) -> str:
        state = self._state
        return f"<sapstep.{type(self).__name__} t={state.t:g} s, nq={state.nq}, nv={state.nv}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled: make an equal one there and load() what save() gives")

    @property
    def report(self) -> StepReport:
        """Of the last step."""
        if not self._stepped:
            raise InputError("no step has been made yet", "invalid argument")
        report = self._report
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
        """Drops what is carried from step to step: the next depends on the state alone, bit for bit."""
        lib.sap_stepper_forget(self._stepper)

    def save(self) -> bytes:
        """State and memory: after ``load`` the steps that follow are the same bit for bit."""
        size = ffi.new("size_t*")
        with self._turn:
            call(lib.sap_stepper_save_memory, self._stepper, ffi.NULL, 0, size)
            memory = ffi.new("unsigned char[]", size[0])
            call(lib.sap_stepper_save_memory, self._stepper, memory, size[0], size)
            numbers = np.concatenate(([self.t], self.q, self.v, self.act))
        return numbers.tobytes() + bytes(memory)

    def load(self, saved: bytes) -> None:
        """Goes back to a ``save`` of this or an equal simulation."""
        head = 8 * (1 + self._state.nq + self._state.nv + self._state.na)
        memory = saved[head:]
        if len(saved) < head:
            raise InputError("saved bytes are too short", "invalid argument")
        with self._turn:
            call(lib.sap_stepper_load_memory, self._stepper, memory, len(memory))
        numbers = np.frombuffer(saved[:head])
        self.t = float(numbers[0])
        self._q[:] = numbers[1 : 1 + self._state.nq]
        rest = numbers[1 + self._state.nq :]
        self._v[:] = rest[: self._state.nv]
        self._act[:] = rest[self._state.nv :]
