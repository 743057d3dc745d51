# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of whole trajectories."""

from __future__ import annotations

from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import Turns
from ._library import InputError, array, call, count_of, ffi, lib, pointer
from .simulation import Simulation


class Tape:
    """Steps a copy of a simulation and differentiates functions of the trajectory in reverse::

        tape = sapstep.Tape(robot)
        states = tape.run(controls)                 # (steps + 1, 1 + nq + nv) = [t, q, v]
        dv = np.zeros((len(states), robot.nv))
        dv[-1, 0] = 1                               # of v[0] at the end
        gradient = tape.vjp(v=dv)["control"]        # (steps, nu)

    A checkpoint, state and memory, is kept every `every` steps, and what lies between is computed again, bit for
    bit, by as many copies of the simulation: time of two runs and of a :meth:`Simulation.vjp` a step. Slopes of
    activations are differences, of four more steps a step.
    """

    def __init__(self, simulation: Simulation, every: int = 16) -> None:
        self._own = simulation.copy()
        self._stride = count_of(every, "every", 1)
        self._copies: List[Simulation] = []  # each holds what its last step left
        self._controls: NDArray[np.float64] = np.zeros((0, simulation.nu))
        self._saved: List[bytes] = []
        made = [ffi.new("sap_actuator_def*") for _ in range(simulation.nu)]
        for i, definition in enumerate(made):
            call(lib.sap_model_get_actuator, simulation._model, i, definition)
        self._driven = [i for i, x in enumerate(made) if x.activation != lib.SAP_ACTIVATION_NONE]  # have activations
        theta = simulation._options[0].theta  # of activations, the share of those at the end in the input
        self._late = np.array([1.0 if made[i].activation_early else theta * (theta < 1) for i in self._driven])

    def run(self, controls: Optional[ArrayLike] = None, *, steps: Optional[int] = None) -> NDArray[np.float64]:
        """Steps from where the simulation was when the tape was made, with controls (steps, nu), or the current
        ones in all `steps`; returns all states (steps + 1, ...), the first included."""
        own = self._own
        if controls is None:
            if steps is None:
                raise InputError("controls or steps must be given")
            controls = np.tile(np.asarray(own.control, dtype=float), (count_of(steps, "steps"), 1))
        given = np.array(controls, dtype=float, ndmin=2)
        given = np.ascontiguousarray(array(given, (len(given), own.nu), "controls"))
        if self._saved:
            own.load(self._saved[0])
        self._controls, self._saved = given, []
        states = np.tile(own.state, (len(given) + 1, 1))
        for start in range(0, max(len(given), 1), self._stride):
            self._saved.append(own.save())
            with own._c as c:
                c.turn.rows = pointer(states[start + 1:])
                c.turn.controls = pointer(given[start:]) if own.nu > 0 else ffi.NULL
            try:
                own.step(min(self._stride, len(given) - start))
            finally:
                with own._c as c:
                    c.turn.rows = c.turn.controls = ffi.NULL
        if own.nu > 0 and len(given) > 0:
            own.control = given[-1]
        return states

    def _step(self, control: NDArray[np.float64]) -> None:
        if self._own.nu > 0:
            self._own.control = control
        self._own.step()

    def _slopes(self, saved: bytes, control: NDArray[np.float64]) -> List[NDArray[np.float64]]:
        """Derivatives of each activation after a step to itself and to its control."""
        own, out, h = self._own, [], 1e-6
        for da, du in ((h, 0.0), (0.0, h)):
            ends = []
            for side in (1.0, -1.0):
                own.load(saved)
                own.act = own.act + side * da
                self._step(control + side * du)
                ends.append(np.array(own.act))
            out.append((ends[0] - ends[1]) / (2 * h))
        return out

    def _call(self, function: Any, first: int, count: int, argument: Any) -> None:
        taken = Turns()
        try:
            turns = [taken.take(x._c).turn for x in self._copies[first:first + count]]
            call(function, ffi.new("sap_python_turn*[]", turns), count, argument)
        finally:
            deque(taken.release, 0)

    def vjp(self, q: Optional[ArrayLike] = None, v: Optional[ArrayLike] = None,
            parameters: Sequence[Tuple[str, Union[int, str]]] = (),
            act: Optional[ArrayLike] = None) -> Dict[str, NDArray[np.float64]]:
        """Gradients of a function of the trajectory with the gradients q, v (steps + 1, nv; None: 0), act
        (steps + 1, na) to its states: to "q", "v" of the start (nv), in the tangent space, "act" (na), to each
        "control" (steps, nu), and to "parameters", which :meth:`Simulation.vjp` lists, the same in all steps."""
        own, steps = self._own, len(self._controls)
        if not self._saved:
            raise InputError("run comes before vjp")
        dq, dv, da = (np.zeros((steps + 1, n)) if x is None else np.ascontiguousarray(array(x, (steps + 1, n), name))
                      for x, name, n in ((q, "q", own.nv), (v, "v", own.nv), (act, "act", own.act.size)))
        at_q, at_v, at_a, back = dq[steps].copy(), dv[steps].copy(), da[steps].copy(), np.zeros((steps, own.nu))
        chosen, by_parameters = own._parameters(parameters), np.zeros(len(parameters))
        ends = [at_q, at_v, *(np.zeros(n) for n in (own.nv, own.nv, own.nu, len(parameters)))]
        gradients = (*(pointer(x) for x in ends[:5]), (chosen, len(parameters), pointer(ends[5])))
        for start in range((steps - 1) // self._stride * self._stride, -1, -self._stride):
            count = min(self._stride, steps - start)
            while len(self._copies) < count:
                self._copies.append(own.copy())
            self._copies[0].load(self._saved[start // self._stride])
            self._call(lib.sap_python_forth, 0, count, pointer(self._controls[start:]))
            saved = [self._saved[start // self._stride]] + [x.save() for x in self._copies[:count - 1] if self._driven]
            for i in range(count - 1, -1, -1) if self._driven else (0,):
                rows = slice(start + i, start + (i + 1 if self._driven else count))
                part = ffi.new("sap_python_part*", (*(pointer(x) for x in (
                    dq[rows], dv[rows], at_q, at_v, back[rows], by_parameters)), gradients))
                self._call(lib.sap_python_back, i, rows.stop - rows.start, part)
                if self._driven:
                    slopes, by_input = self._slopes(saved[i], self._controls[start + i]), back[start + i, self._driven]
                    at_a = at_a + self._late * by_input
                    back[start + i, self._driven] = at_a * slopes[1]
                    at_a = at_a * slopes[0] + (1.0 - self._late) * by_input + da[start + i]
        return {"q": at_q, "v": at_v, "act": at_a, "control": back, "parameters": by_parameters}


def vjp_all(tapes: Sequence[Tape], q: Optional[ArrayLike] = None, v: Optional[ArrayLike] = None,
            threads: Optional[int] = None) -> List[Dict[str, NDArray[np.float64]]]:
    """:meth:`Tape.vjp` of many tapes, q and v (n, steps + 1, nv), on threads (default: all cores); the results do
    not depend on their number."""
    given = [[None] * len(tapes) if x is None else list(np.asarray(x, dtype=float)) for x in (q, v)]
    with ThreadPoolExecutor(None if threads is None else count_of(threads, "threads", 1)) as pool:
        return list(pool.map(Tape.vjp, tapes, *given))
