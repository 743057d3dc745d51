# SPDX-License-Identifier: BSD-3-Clause
"""The problem level: A, v* and constraint blocks in, velocities and impulses out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._gradient import Gradient
from ._handle import Handle, OwningHandle, Owner
from ._library import InputError, array, call, ffi, integer, lib, number, pointer, view
from ._options import assign, c_string, enumerator, set_options

_SETS = ("friction-cone", "nonnegative", "box", "free")


@dataclass
class Solution:
    """Result of a solver; failing to converge is not an error.

    v: velocities (nv) [m/s, rad/s]; gamma: impulses, block by block (nrows) [N s, N m s]; vc: J v
    (nrows); impulse: J' gamma (nv) [N s, N m s]; cost: l(v) [J]; outcome: "converged",
    "converged_to_roundoff", "early_stop", "iteration_limit", ...; iterations; momentum_error:
    castro (32) [-]; time: wall clock [s].
    """

    v: NDArray[np.float64]
    gamma: NDArray[np.float64]
    vc: NDArray[np.float64]
    impulse: NDArray[np.float64]
    cost: float
    outcome: str
    iterations: int
    momentum_error: float
    time: float
    _gradient: Optional[Gradient] = field(default=None, repr=False, compare=False)

    @property
    def converged(self) -> bool:
        """True if the solver met its tolerance, or the limit of double precision."""
        return self.outcome in ("converged", "converged_to_roundoff")

    def vjp(self, v_bar: Optional[ArrayLike] = None, gamma_bar: Optional[ArrayLike] = None, *,
            wrt: Optional[Iterable[str]] = None, vary_w: bool = False,
            **options: Any) -> Dict[str, NDArray[np.float64]]:
        """Computes the derivatives of v_bar . v + gamma_bar . gamma by the problem's data.

        v_bar (nv), gamma_bar (nrows): None is 0. wrt: which, by default all. Returns arrays: v_star
        (nv); A (nv, nv), symmetric, zero outside the problem's blocks; J (nrows, nv), zero outside the
        blocks' trees; v_hat, R, lower, upper (nrows); friction, lagged_impulse (blocks). If named in wrt:
        phi, stiffness, relaxation_time, beta, sigma (blocks) of what :meth:`Problem.add_contact` added;
        vary_w: changes of J and A change w in their R, too. options: the fields of
        sap_gradient_options: coulomb (True for solutions of sap-ncp), smoothing, polish, ... Solve to
        1e-12, or set polish, for exact ones.
        """
        return self._derivative().vjp(v_bar, gamma_bar, wrt, vary_w, options)

    def jvp(self, tangent: Mapping[str, ArrayLike], **options: Any) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Computes the change (dv, dgamma) along a change of the data: arrays named and shaped as
        those of :meth:`vjp`; what is missing does not change."""
        return self._derivative().jvp(tangent, options)

    def modes(self, **options: Any) -> Dict[str, Any]:
        """Counts contacts that are open, sticking, sliding; rows inside their bounds, at_bound; kinks:
        contacts and rows near another mode; error: of the solution."""
        return self._derivative().report(options)

    def _derivative(self) -> Gradient:
        if self._gradient is None:
            raise InputError("this solution has no problem")
        return self._gradient


Residuals = Dict[str, float]


def solvers() -> List[Dict[str, str]]:
    """Lists the contact solvers: name, model, reference, physical laws satisfied, blocks accepted."""
    rows = []
    for i in range(lib.sap_solver_count()):
        info = lib.sap_solver_get_info(i)
        fields = ("name", "model", "reference", "principles", "blocks")
        rows.append({name: ffi.string(getattr(info, name)).decode() for name in fields})
    return rows


def tree_counts(sizes: Sequence[int]) -> List[int]:
    """Checks the velocity counts of trees."""
    if not isinstance(sizes, Iterable):
        raise TypeError(f"tree_sizes = {sizes!r} must be a list")
    return [integer(n, f"size of tree {i}") for i, n in enumerate(sizes)]


def _check_tree(tree: Any, sizes: Sequence[int]) -> None:
    if not 0 <= integer(tree, "tree") < len(sizes):
        raise InputError(f"tree {tree} must be 0 to {len(sizes) - 1}")


def _regularization(beta: float, sigma: float) -> Any:
    made = ffi.new("sap_regularization*")
    assign(made, "beta", beta)
    assign(made, "sigma", sigma)
    return made


class _Rows:
    """Trees and Jacobians of a block as C arrays, kept alive as long as this is."""

    def __init__(self, jacobians: Mapping[int, ArrayLike], nrows: int, sizes: Sequence[int]) -> None:
        if not isinstance(jacobians, Mapping):
            raise InputError("jacobians must map trees to arrays, as in {0: J}")
        if not jacobians:
            raise InputError("jacobians must name at least one tree")
        self.arrays = []
        for tree, J in jacobians.items():
            _check_tree(tree, sizes)
            self.arrays.append(array(J, (nrows, sizes[tree]), f"the Jacobian of tree {tree}"))
        self.trees = ffi.new("int32_t[]", list(jacobians))
        self.pointers = ffi.new("const double*[]", [pointer(J) for J in self.arrays])
        self.count = len(self.arrays)


class ProblemView(Owner):
    """A problem with given trees and time step, to which blocks are added. The one passed to
    :meth:`System.constraints` becomes invalid when that returns."""

    def __init__(self, handle: Handle, sizes: Sequence[int]) -> None:
        self._c = handle
        self._sizes = list(sizes)

    @property
    def nv(self) -> int:
        """Number of velocities of all trees."""
        return sum(self._sizes)

    @property
    def nrows(self) -> int:
        """Number of rows of all blocks, the length of gamma."""
        with self._c as c:
            return int(lib.sap_problem_row_count(c.problem))

    def __repr__(self) -> str:
        return f"<sapstep.{type(self).__name__} trees={self._sizes}>"

    def _changed(self, c: Any, contact: Any = None) -> None:
        """Solutions from before have no derivatives now. contact: what derivatives by its parameters need."""

    def add_contact(
        self,
        jacobians: Mapping[int, ArrayLike],
        phi: float,
        *,
        stiffness: float = 1e6,
        relaxation_time: float = 0.01,
        friction: float = 0.5,
        beta: float = 1.0,
        sigma: float = 1e-3,
        key: int = 0,
        velocity_change: ArrayLike = (0.0, 0.0, 0.0),
        gap_change: float = 0.0,
    ) -> None:
        """Adds a contact in physical terms.

        jacobians: for each tree it acts on, J (3, tree size), rows [t1 t2 n] of the velocity of
        B relative to A; phi: signed distance at the start of the step [m]; stiffness [N/m];
        relaxation_time [s]; key: identity across steps for warm starts, 0: none; velocity_change (3),
        gap_change: if J is that of the theta point, from :meth:`Step.contact_changes`.
        """
        rows = _Rows(jacobians, 3, self._sizes)
        block = ffi.new("sap_contact_block*")
        block.ntrees, block.trees, block.jacobians = rows.count, rows.trees, rows.pointers
        block.material = lib.sap_material_default()
        assign(block.material, "stiffness", stiffness)
        assign(block.material, "relaxation_time", relaxation_time)
        assign(block.material, "friction", friction)
        assign(block, "phi0", phi, "phi")
        assign(block, "gap_change", gap_change)
        block.velocity_change = array(velocity_change, (3,), "velocity_change").tolist()
        assign(block, "key", key)
        regularization = _regularization(beta, sigma)
        with self._c as c:
            call(lib.sap_problem_add_contact, c.problem, block, regularization)
            self._changed(c, (lib.sap_problem_block_count(c.problem) - 1, block, regularization))

    def add_compliant(
        self,
        jacobians: Mapping[int, ArrayLike],
        g: ArrayLike,
        *,
        stiffness: float = float("inf"),
        relaxation_time: float = 0.0,
        unilateral: bool = False,
        beta: float = 1.0,
        sigma: float = 1e-3,
        key: int = 0,
    ) -> None:
        """Adds a joint, a limit or a stop: force = -k (g + tau_d J v), rows of equal units.

        jacobians: J (rows, tree size) by tree, dg/dt = J v; g: errors, or distances to the limit,
        at the start of the step (rows) [m, rad]; stiffness [N/m, N m/rad]: infinite is rigid;
        relaxation_time [s]; unilateral: g >= 0 instead of g = 0.
        """
        g = array(g, (-1,), "g")
        rows = _Rows(jacobians, len(g), self._sizes)
        block = ffi.new("sap_compliant_block*")
        block.nrows, block.ntrees = len(g), rows.count
        block.trees, block.jacobians = rows.trees, rows.pointers
        block.g0, block.unilateral = pointer(g), bool(unilateral)
        assign(block, "stiffness", stiffness)
        assign(block, "relaxation_time", relaxation_time)
        assign(block, "key", key)
        regularization = _regularization(beta, sigma)
        with self._c as c:
            call(lib.sap_problem_add_compliant, c.problem, block, regularization)
            self._changed(c)

    def add_block(
        self,
        kind: str,
        jacobians: Mapping[int, ArrayLike],
        R: ArrayLike,
        v_hat: ArrayLike,
        *,
        friction: float = 0.0,
        lower: Optional[ArrayLike] = None,
        upper: Optional[ArrayLike] = None,
        key: int = 0,
    ) -> None:
        """Adds a block: "friction-cone", "nonnegative", "box" (lower, upper) or "free".

        gamma = P_C(-R^-1 (J v - v_hat)). jacobians: J (rows, tree size) by tree; R, v_hat, lower,
        upper: (rows).
        """
        R = array(R, (-1,), "R")
        n = len(R)
        rows = _Rows(jacobians, n, self._sizes)
        v_hat = array(v_hat, (n,), "v_hat")
        block = ffi.new("sap_block*")
        block.set = enumerator("SAP_SET_", _SETS, kind, "kind")
        block.nrows, block.ntrees = n, rows.count
        block.trees, block.jacobians = rows.trees, rows.pointers
        block.R, block.v_hat = pointer(R), pointer(v_hat)
        assign(block, "friction", friction)
        assign(block, "key", key)
        if lower is not None:
            lower = array(lower, (n,), "lower")
            block.lower = pointer(lower)
        if upper is not None:
            upper = array(upper, (n,), "upper")
            block.upper = pointer(upper)
        with self._c as c:
            call(lib.sap_problem_add_block, c.problem, block)
            self._changed(c)


class Problem(ProblemView):
    """A contact problem: min over v of 1/2 |v - v*|_A^2 + sum_i l_i(J_i v), castro (24).

    dt: time step [s]; tree_sizes: velocities of each kinematic tree. Set ``momentum`` of every
    tree and ``v_star``, add contacts and blocks, then ``solve``.
    """

    def __init__(self, dt: float, tree_sizes: Sequence[int]) -> None:
        handle = OwningHandle(type(self).__name__)
        super().__init__(handle, tree_counts(tree_sizes))
        handle.make("problem", lib.sap_problem_create, end=lib.sap_problem_destroy)
        with self._c as c:
            call(lib.sap_problem_reset, c.problem, number(dt, "dt"), len(self._sizes), ffi.new("int32_t[]", self._sizes))
            c.solvers, c.couplings, c.contacts, c.changes = {}, [], [], 0

    def set_momentum(self, A: ArrayLike, tree: int = 0, other: Optional[int] = None) -> None:
        """Sets the block of A of a tree (SPD, n x n, lower triangle), or the coupling block of two trees
        (n_a x n_b)."""
        other = tree if other is None else other
        for t in (tree, other):
            _check_tree(t, self._sizes)
        block = array(A, (self._sizes[tree], self._sizes[other]), "A")
        with self._c as c:
            call(lib.sap_problem_set_momentum_block, c.problem, tree, other, pointer(block), len(block))
            self._changed(c)
            if tree != other and (tree, other) not in c.couplings:
                c.couplings.append((tree, other))

    def set_v_star(self, v_star: ArrayLike) -> None:
        """Sets the free-motion velocities (nv)."""
        values = array(v_star, (self.nv,), "v_star")
        with self._c as c:
            call(lib.sap_problem_set_v_star, c.problem, pointer(values))
            self._changed(c)

    def set_v_guess(self, v_guess: ArrayLike) -> None:
        """Sets the initial guess of the solver (nv); v* by default."""
        values = array(v_guess, (self.nv,), "v_guess")
        with self._c as c:
            call(lib.sap_problem_set_v_guess, c.problem, pointer(values))

    def _changed(self, c: Any, contact: Any = None) -> None:
        c.changes += 1
        c.contacts += [] if contact is None else [contact]

    def solve(self, solver: str = "sap", **options: Any) -> Solution:
        """Solves the problem; options are the fields of sap_solver_options, e.g. relative_tolerance=1e-9."""
        values = ffi.new("sap_solver_options*", lib.sap_solver_options_default())
        set_options(values, options)
        name = c_string(solver, "solver")
        key = (solver, *(getattr(values, field) for field, _ in ffi.typeof("sap_solver_options").fields))
        solution = ffi.gc(ffi.new("sap_solution*"), lib.sap_solution_clear)
        report = ffi.gc(ffi.new("sap_report*"), lib.sap_report_clear)
        with self._c as c:
            if key not in c.solvers:
                c.solvers[key] = OwningHandle("solver")
                c.solvers[key].make("solver", lib.sap_solver_create, name, values, end=lib.sap_solver_destroy,
                                    threads=values.threads > 1)
            with c.solvers[key] as own:
                call(lib.sap_solver_solve, own.solver, c.problem, solution, report)
            gradient = Gradient(self._c, c.changes, self._sizes, c.couplings, solution)
        return Solution(
            v=view(solution.v, solution.nv).copy(),
            gamma=view(solution.gamma, solution.nrows).copy(),
            vc=view(solution.vc, solution.nrows).copy(),
            impulse=view(solution.impulse, solution.nv).copy(),
            cost=solution.cost,
            outcome=ffi.string(lib.sap_outcome_text(report.outcome)).decode(),
            iterations=report.iterations,
            momentum_error=report.momentum_error,
            time=report.time,
            _gradient=gradient,
        )

    def residuals(self, v: ArrayLike, gamma: ArrayLike) -> Residuals:
        """Computes the residuals of (v, gamma): natural maps, complementarity, momentum, ..."""
        v = array(v, (self.nv,), "v")
        gamma = array(gamma, (self.nrows,), "gamma")
        out = ffi.new("sap_residual*")
        with self._c as c:
            call(lib.sap_residuals, c.problem, pointer(v), pointer(gamma), out)
        return {name: getattr(out, name) for name, _ in ffi.typeof("sap_residual").fields}
