# SPDX-License-Identifier: BSD-3-Clause
"""The stepper level: your own dynamics as a Python class."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import Handle, OwningHandle
from ._library import InputError, array, call, ffi, integer, lib, number, pointer, view
from ._options import keywords, stepper_options
from ._stepper import StateOwner
from .problem import ProblemView, tree_counts


@dataclass(frozen=True)
class Step:
    """The step under way; the fields of sap_step_context in sapstep/system.h. Arrays are copies.

    t, dt: start and length of the step [s]; theta, theta_vq: of the scheme; stage_theta,
    stage_theta_vq: where contacts are evaluated, (1, 1) is the end of the step; rigid: rigid laws are
    in force; q0 (nq), v0 (nv): start of the step; v0_free (nv): v0 with zeros where velocities are
    locked; v_guess (nv): velocities expected at the end; beta, sigma: regularization of the stepper.
    """

    t: float
    dt: float
    theta: float
    theta_vq: float
    stage_theta: float
    stage_theta_vq: float
    rigid: bool
    q0: NDArray[np.float64]
    v0: NDArray[np.float64]
    v0_free: NDArray[np.float64]
    v_guess: NDArray[np.float64]
    beta: float
    sigma: float
    _c: Any = field(repr=False, compare=False)

    @property
    def displacement(self) -> NDArray[np.float64]:
        """Way to the expected theta point (nv): q^theta = integrate(q0, displacement, 1)."""
        way = np.empty(len(self.v0))
        call(lib.sap_step_displacement, self._c, len(way), pointer(way))
        return way

    def contact_is_within(self, phi0: float, vn0: float) -> bool:
        """Returns True if a contact of gap phi0 and normal velocity vn0 at the start is to be evaluated at
        the theta point, for second order; else evaluate it at q0."""
        return bool(lib.sap_step_contact_is_within(self._c, number(phi0, "phi0"), number(vn0, "vn0")))

    def contact_changes(
        self,
        *,
        phi0: float,
        phi_theta: float,
        normal0: ArrayLike,
        frame_theta: ArrayLike,
        velocity0: ArrayLike,
        velocity_theta: ArrayLike,
        normal_displacement: float,
    ) -> Dict[str, Any]:
        """Returns velocity_change and gap_change of a contact at the theta point, for add_contact.

        phi0, phi_theta: gaps at q0 and q^theta [m]; normal0 (3): n at q0; frame_theta (3, 3): columns
        t1, t2, n at q^theta; velocity0 (3): J v_guess at q0 in world axes [m/s]; velocity_theta (3):
        J v_guess at q^theta, [t1 t2 n]; normal_displacement: J_n displacement at q^theta [m].
        """
        move, block = ffi.new("sap_contact_move*"), ffi.new("sap_contact_block*")
        move.phi0, move.phi_theta = number(phi0, "phi0"), number(phi_theta, "phi_theta")
        move.normal_displacement = number(normal_displacement, "normal_displacement")
        move.normal0 = array(normal0, (3,), "normal0").tolist()
        move.R_WC_theta = array(frame_theta, (3, 3), "frame_theta").ravel(order="F").tolist()
        move.velocity0 = array(velocity0, (3,), "velocity0").tolist()
        move.velocity_theta = array(velocity_theta, (3,), "velocity_theta").tolist()
        call(lib.sap_contact_block_move, self._c, move, block)
        return {"velocity_change": np.array(list(block.velocity_change)), "gap_change": block.gap_change}


def _make_step(c: Any, nq: int, nv: int) -> Step:
    arrays = {name: view(getattr(c, name), size).copy()
              for name, size in (("q0", nq), ("v0", nv), ("v0_free", nv), ("v_guess", nv))}
    own = ffi.new("sap_step_context*", c[0])
    for name, values in arrays.items():
        setattr(own, name, pointer(values))  # alive as long as the step
    scalars = {name: getattr(c, name) for name in
               ("t", "dt", "theta", "theta_vq", "stage_theta", "stage_theta_vq")}
    return Step(**scalars, **arrays, rigid=bool(c.rigid), beta=c.regularization.beta,
                sigma=c.regularization.sigma, _c=own)


class System:
    """Base of your own dynamics: derive from it and define its methods. One tree by default.

    M(q) dv/dt = k1 + k2 + J' gamma; k1: springs, dampers, servos, treated implicitly by their
    stiffness and damping; k2: the rest.
    """

    #: velocities of each kinematic tree
    tree_sizes: Sequence[int] = (1,)
    #: number of positions; None: that of the velocities
    nq: Optional[int] = None

    def mass_matrix(self, q: NDArray[np.float64]) -> Union[ArrayLike, List[ArrayLike]]:
        """Returns M(q): one matrix (n, n), or a list with one for each tree; lower triangles are read."""
        raise NotImplementedError(f"{type(self).__name__} must define mass_matrix(self, q)")

    def forces(self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> Tuple[ArrayLike, ArrayLike]:
        """Returns (k1, k2), generalized forces (nv) each [N, N m]."""
        raise NotImplementedError(f"{type(self).__name__} must define forces(self, t, q, v)")

    def stiffness_damping(
        self, t: float, q: NDArray[np.float64], v: NDArray[np.float64]
    ) -> Optional[Tuple[Any, Any]]:
        """Returns (K, D), K = -dk1/dq N, D = -dk1/dv, positive semidefinite, as ``mass_matrix``; None: zero."""
        return None

    def integrate(self, q: NDArray[np.float64], v: NDArray[np.float64], dt: float) -> ArrayLike:
        """Returns q (+) dt v (nq); q + dt v unless overridden."""
        if len(q) != len(v):
            raise NotImplementedError(f"{type(self).__name__} must define integrate(self, q, v, dt), for nq is not nv")
        return q + dt * v

    def difference(self, q0: NDArray[np.float64], q1: NDArray[np.float64]) -> ArrayLike:
        """Returns delta (nv) with q1 = q0 (+) delta, for :meth:`Stepper.advance`; q1 - q0 unless overridden.
        Where nq is not nv and it is not, errors of positions are those of velocities."""
        return q1 - q0

    def constraints(self, step: Step, problem: ProblemView) -> None:
        """Adds the contacts and blocks of a step: problem.add_contact(...)."""


def _pair(values: Any, name: str) -> Tuple[Any, Any]:
    try:
        first, second = values
    except (TypeError, ValueError):
        raise InputError(f"{name} must be two arrays") from None
    return first, second


class Stepper(StateOwner):
    """Steps a :class:`System` from (q, v). Keywords are those of :class:`sapstep.Simulation`."""

    def __init__(
        self,
        system: System,
        q: ArrayLike,
        v: ArrayLike,
        dt: float,
        *,
        preset: str = "default",
        scheme: Union[str, Tuple[float, float], None] = None,
        solver: Optional[str] = None,
        contact_stage: Optional[str] = None,
        **options: Any,
    ) -> None:
        if not isinstance(system, System):
            raise TypeError(f"system must be a sapstep.System, not {type(system).__name__}")
        self._user = system
        self._tree_sizes = tree_counts(system.tree_sizes)
        nv = integer(sum(self._tree_sizes), "nv")
        nq = nv if system.nq is None else integer(system.nq, "nq")
        made, _name = stepper_options(number(dt, "dt"), preset, scheme, contact_stage, solver, options,
                                      _KEYWORDS)
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
                del pending  # otherwise its traceback would keep itself and the stepper alive
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
            self._pending = error  # exceptions must not pass through C: step() raises it

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

        def difference(_: Any, q0: Any, q1: Any, delta: Any) -> int:
            moved = user.difference(view(q0, nq).copy(), view(q1, nq).copy())
            view(delta, nv)[:] = array(moved, (nv,), "difference")
            return 0

        def stiffness_damping(_: Any, t: float, q: Any, v: Any, K: Any, D: Any) -> int:
            both = user.stiffness_damping(t, view(q, nq).copy(), view(v, nv).copy())
            if both is not None:
                stiffness, damping = _pair(both, "stiffness_damping: (K, D)")
                self._fill(K, stiffness, "stiffness")
                self._fill(D, damping, "damping")
            return 0

        def constraints(_: Any, step: Any, problem: Any, error: Any) -> int:
            handle = Handle("ProblemView", problem=problem)
            added = ProblemView(handle, self._tree_sizes)
            try:
                user.constraints(_make_step(step, nq, nv), added)
            finally:
                handle.close()  # the problem belongs to the stepper
            return 0

        functions = {"mass_matrix": mass_matrix, "forces": forces, "integrate_positions": integrate,
                     "stiffness_damping": stiffness_damping, "constraints": constraints}
        if nq == nv or type(user).difference is not System.difference:
            functions["position_difference"] = difference
        fields = dict(ffi.typeof("sap_system").fields)
        table = ffi.new("sap_system*")
        # A callback that fails returns 1; cffi also catches a KeyboardInterrupt.
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
