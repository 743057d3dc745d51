# SPDX-License-Identifier: BSD-3-Clause
"""The contact problem as a function of arrays, for sapstep.torch and sapstep.jax."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Sequence, Tuple

import numpy as np
from numpy.typing import NDArray

from ._library import InputError, count_of
from .problem import Problem, Solution

Array = NDArray[np.float64]
NAMES = ("A", "v_star", "J", "R", "v_hat", "friction", "lower", "upper")
DIMENSIONS = {"A": 2, "J": 2}  # of the others: 1


class Layer:
    """Problems of the same trees and blocks.

    blocks: for each block its kind, as in :meth:`sapstep.Problem.add_block`, its rows and, unless it acts
    on all trees, its trees: ("friction-cone", 3), ("box", 2, [1]). tree_sizes: velocities of each tree;
    couplings: pairs of trees that A couples; coulomb: exact Coulomb friction, by sap-ncp, instead of
    SAP's convex one; smoothing: of the derivatives, see sap_gradient_options; threads: that share a batch;
    options: the fields of sap_solver_options.
    """

    def __init__(self, blocks: Sequence[Any], tree_sizes: Sequence[int], *,
                 couplings: Sequence[Tuple[int, int]] = (), coulomb: bool = False, smoothing: float = 0.0,
                 threads: int = 1, **options: Any) -> None:
        self.sizes = list(tree_sizes)
        self.starts = [0, *np.cumsum(self.sizes).tolist()]
        self.blocks: List[Tuple[str, slice, List[int]]] = []
        row = 0
        for given in blocks:
            kind, n, *trees = given
            self.blocks.append((kind, slice(row, row + n), list(trees[0]) if trees else list(range(len(self.sizes)))))
            row += n
        self.couplings, self.coulomb, self.threads = list(couplings), coulomb, count_of(threads, "threads", 1)
        self.options = {"relative_tolerance": 1e-10 if coulomb else 1e-12, **options}
        self.gradient: Dict[str, Any] = {"coulomb": coulomb, "smoothing": smoothing, "polish": 0 if coulomb else 1}
        nv, nblocks = self.starts[-1], len(self.blocks)
        self.shapes: Dict[str, Tuple[int, ...]] = {
            "A": (nv, nv), "v_star": (nv,), "J": (row, nv), "R": (row,), "v_hat": (row,), "friction": (nblocks,),
            "lower": (row,), "upper": (row,)}

    def check(self, name: str, shape: Sequence[int]) -> None:
        want = self.shapes[name]
        if tuple(shape[len(shape) - len(want):]) != want:
            raise InputError(f"{name} has shape {tuple(shape)}, must end in {want}")

    def _tangents(self, kind: str, rows: slice) -> List[int]:
        return [i for i in range(rows.start, rows.stop) if i != rows.start + 2] if kind == "friction-cone" else []

    def solve(self, x: Dict[str, Array]) -> Solution:
        """A is symmetrised; R_t of a cone is that of its first row."""
        problem = Problem(0.01, self.sizes)  # dt has no effect on blocks
        trees = [slice(a, b) for a, b in zip(self.starts[:-1], self.starts[1:])]
        A, R = 0.5 * (x["A"] + x["A"].T), x["R"].copy()
        for t, part in enumerate(trees):
            problem.set_momentum(A[part, part], t)
        for a, b in self.couplings:
            problem.set_momentum(A[trees[a], trees[b]], a, b)
        problem.set_v_star(x["v_star"])
        for b, (kind, rows, on) in enumerate(self.blocks):
            R[self._tangents(kind, rows)] = R[rows.start]
            bounds: Any = {"lower": x["lower"][rows], "upper": x["upper"][rows]} if kind == "box" else {}
            problem.add_block(kind, {t: x["J"][rows, trees[t]] for t in on}, R[rows], x["v_hat"][rows],
                              friction=x["friction"][b], **bounds)
        solution = problem.solve("sap-ncp" if self.coulomb else "sap", **self.options)
        if not solution.converged:
            raise InputError(f"the contact problem was not solved: {solution.outcome}")
        return solution

    def vjp(self, solution: Solution, v_bar: Array, gamma_bar: Array) -> Dict[str, Array]:
        bars = solution.vjp(v_bar, gamma_bar, wrt=NAMES, **self.gradient)
        for kind, rows, _ in self.blocks:
            tangents = self._tangents(kind, rows)
            total = bars["R"][tangents].sum()
            bars["R"][tangents] = 0.0
            bars["R"][rows.start] += total if tangents else 0.0
        return bars

    def solve_all(self, x: Dict[str, Array]) -> Tuple[List[Solution], Array, Array]:
        """Solves a batch: arrays with one more dimension."""
        single = [{name: values[i] for name, values in x.items()} for i in range(len(x["v_star"]))]
        with ThreadPoolExecutor(self.threads) as pool:  # the library releases the GIL
            solutions = list(pool.map(self.solve, single) if self.threads > 1 else map(self.solve, single))
        v = np.array([s.v for s in solutions]).reshape(len(single), -1)
        return solutions, v, np.array([s.gamma for s in solutions]).reshape(len(single), -1)

    def vjp_all(self, solutions: List[Solution], v_bar: Array, gamma_bar: Array) -> Dict[str, Array]:
        with ThreadPoolExecutor(self.threads) as pool:
            parts = list((pool.map if self.threads > 1 else map)(self.vjp, solutions, v_bar, gamma_bar))
        return {name: np.array([part[name] for part in parts]).reshape(len(parts), *self.shapes[name])
                for name in NAMES}
