# SPDX-License-Identifier: BSD-3-Clause
"""The stepper level: your own dynamics as a Python class."""

from __future__ import annotations

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import Handle, OwningHandle
from ._library import InputError, array, call, ffi, integer, lib, number, view
from ._options import keywords, stepper_options
from ._stepper import StateOwner
from .problem import ProblemView, tree_counts


class System:
    """Derive from this and answer. One tree unless ``tree_sizes`` says otherwise.

    M(q) dv/dt = k1 + k2 + J' gamma; k1: springs, dampers, servos, treated implicitly by their
    stiffness and damping; k2: the rest.
    """

    #: velocities of each kinematic tree
    tree_sizes: Sequence[int] = (1,)
    #: positions; None: as many as velocities
    nq: Optional[int] = None

    def mass_matrix(self, q: NDArray[np.float64]) -> Union[ArrayLike, List[ArrayLike]]:
        """M(q): one matrix (n, n), or a list with one for each tree; their lower triangles count."""
        raise NotImplementedError(f"{type(self).__name__} must define mass_matrix(self, q)")

    def forces(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> Tuple[ArrayLike, ArrayLike]:
        """(k1, k2), generalized forces (nv) each [N, N m]."""
        raise NotImplementedError(f"{type(self).__name__} must define forces(self, t, q, v)")

    def stiffness_damping(
        self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]
    ) -> Optional[Tuple[Any, Any]]:
        """(K, D) with K = -dk1/dq N, D = -dk1/dv, positive semidefinite, as ``mass_matrix``; None: zero."""
        return None

    def integrate(self, q: NDArray[np.float64], v: NDArray[np.float64], dt: float) -> ArrayLike:
        """q (+) dt v (nq); q + dt v unless overridden."""
        if len(q) != len(v):
            raise NotImplementedError(f"{type(self).__name__} must define integrate(self, q, v, dt), for nq is not nv")
        return q + dt * v

    def constraints(
        self, t: float, q: NDArray[np.float64], v: NDArray[np.float64], problem: ProblemView
    ) -> None:
        """Adds contacts and blocks at the start of a step: problem.add_contact(...)."""


def _pair(values: Any, name: str) -> Tuple[Any, Any]:
    try:
        first, second = values
    except (TypeError, ValueError):
        raise InputError(f"{name} must be two arrays") from None
    return first, second


class Stepper(StateOwner):
    """Steps a :class:`System` from (q, v). Keywords as those of :class:`sapstep.Simulation`."""

    def __init__(
        self,
        system: System,
        q: ArrayLike,
        v: ArrayLike,
        dt: float,
        *,
        scheme: Union[str, Tuple[float, float]] = "implicit-euler",
        solver: str = "sap",
        contact_stage: str = "auto",
        **options: Any,
    ) -> None:
        if not isinstance(system, System):
            raise TypeError(f"system must be a sapstep.System, not {type(system).__name__}")
        self._user = system
        self._tree_sizes = tree_counts(system.tree_sizes)
        nv = integer(sum(self._tree_sizes), "nv")
        nq = nv if system.nq is None else integer(system.nq, "nq")
        made, _name = stepper_options(number(dt, "dt"), scheme, contact_stage, solver, options, _KEYWORDS)
        table = self._make_table(nq, nv)
        state = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear)
        call(lib.sap_state_resize, state, nq, nv)
        self._c = OwningHandle(type(self).__name__)
        self._begin(table, made, state)
        self.q, self.v = q, v

    def _check(self, turn: Any) -> None:
        if turn.status == lib.SAP_STATUS_CALLBACK and self._pending is not None:
            pending, self._pending = self._pending, None
            try:
                raise pending
            finally:
                del pending  # else its traceback would keep itself, and all that was stepped
        super()._check(turn)

    def _fill(self, matrix: Any, values: Any, name: str) -> None:
        trees = len(self._tree_sizes)
        blocks = [values] if trees == 1 and np.ndim(values) in (0, 2) else list(values)
        if len(blocks) != trees:
            raise InputError(f"{name} must be {trees} matrices, one for each tree, not {len(blocks)}")
        for tree, (n, block) in enumerate(zip(self._tree_sizes, blocks)):
            view(matrix.diagonal[tree], n * n)[:] = array(block, (n, n), name).ravel(order="F")

    def _make_table(self, nq: int, nv: int) -> Any:
        user = self._user

        def keep(_: Any, error: Optional[BaseException], __: Any) -> None:
            self._pending = error  # the C library must not see it, step() raises it

        def mass_matrix(_: Any, q: Any, M: Any) -> int:
            self._fill(M, user.mass_matrix(view(q, nq).copy()), "mass_matrix")
            return 0

        def forces(_: Any, t: float, q: Any, v: Any, k1: Any, k2: Any) -> int:
            first, second = _pair(user.forces(t, view(q, nq).copy(), view(v, nv).copy()), "forces: (k1, k2)")
            view(k1, nv)[:] = array(first, (nv,), "k1")
            view(k2, nv)[:] = array(second, (nv,), "k2")
            return 0

        def integrate(_: Any, q0: Any, v: Any, dt: float, q: Any) -> int:
            moved = user.integrate(view(q0, nq).copy(), view(v, nv).copy(), dt)
            view(q, nq)[:] = array(moved, (nq,), "integrate")
            return 0

        def stiffness_damping(_: Any, t: float, q: Any, v: Any, K: Any, D: Any) -> int:
            both = user.stiffness_damping(t, view(q, nq).copy(), view(v, nv).copy())
            if both is not None:
                stiffness, damping = _pair(both, "stiffness_damping: (K, D)")
                self._fill(K, stiffness, "stiffness")
                self._fill(D, damping, "damping")
            return 0

        def constraints(_: Any, t: float, q: Any, v: Any, regularization: Any, problem: Any,
                        error: Any) -> int:
            handle = Handle("ProblemView", problem=problem)
            added = ProblemView(handle, self._tree_sizes)
            try:
                user.constraints(t, view(q, nq).copy(), view(v, nv).copy(), added)
            finally:
                handle.close()  # the problem is the stepper's again
            return 0

        functions = {"mass_matrix": mass_matrix, "forces": forces, "integrate_positions": integrate,
                     "stiffness_damping": stiffness_damping, "constraints": constraints}
        fields = dict(ffi.typeof("sap_system").fields)
        table = ffi.new("sap_system*")
        # What fails answers 1, wherever it fails: cffi catches what Ctrl-C raises on the way, too.
        self._callbacks = {
            name: ffi.callback(fields[name].type, function, error=1, onerror=keep)
            for name, function in functions.items()
        }
        for name, callback in self._callbacks.items():
            setattr(table, name, callback)
        self._sizes_c = ffi.new("int32_t[]", self._tree_sizes)
        table.nq, table.nv, table.ntrees = nq, nv, len(self._tree_sizes)
        table.tree_sizes = self._sizes_c
        return table


_KEYWORDS = keywords(Stepper.__init__, "self", "system")
