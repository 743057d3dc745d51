# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a problem's solution: dense arrays to and from those of sapstep/gradient.h."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import OwningHandle
from ._library import InputError, array, call, ffi, lib, pointer, view
from ._names import hint
from ._options import assign

Array = NDArray[np.float64]
CONTACT = ("phi", "stiffness", "relaxation_time", "beta", "sigma")  # parameters of contacts
FIELDS = ("v_star", "A", "J", "v_hat", "R", "friction", "lagged_impulse", "lower", "upper")


class Gradient:
    """The derivative of one solution (v, gamma) of a problem, factored when it is first used."""

    def __init__(self, handle: Any, changes: int, sizes: List[int], couplings: List[Tuple[int, int]],
                 solution: Any) -> None:
        self._problem, self._changes, self._solution = handle, changes, solution
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(int)
        self._couplings = list(couplings)
        self._objects: Dict[Any, OwningHandle] = {}

    def _object(self, c: Any, options: Mapping[str, Any]) -> OwningHandle:
        if c.changes != self._changes:
            raise InputError("the problem has changed since it was solved: solve it again")
        key = tuple(sorted(options.items()))
        if key not in self._objects:
            made = ffi.new("sap_gradient_options*", lib.sap_gradient_options_default())
            known = [name for name, _ in ffi.typeof("sap_gradient_options").fields if name != "cookie"]
            for name, value in options.items():
                if name not in known:
                    raise TypeError(f"unknown option '{name}', {hint(name, known)}")
                assign(made, name, value)
            own = OwningHandle("gradient")
            own.make("gradient", lib.sap_gradient_create, made, end=lib.sap_gradient_destroy)
            report = ffi.new("sap_gradient_report*")
            with own as g:
                call(lib.sap_gradient_problem, g.gradient, c.problem, self._solution, report)
                g.report = {name: getattr(report, name) for name, _ in ffi.typeof("sap_gradient_report").fields}
            self._objects[key] = own
        return self._objects[key]

    def report(self, options: Mapping[str, Any]) -> Dict[str, Any]:
        with self._problem as c, self._object(c, options) as g:
            return dict(g.report)

    def vjp(self, v_bar: Optional[ArrayLike], gamma_bar: Optional[ArrayLike], wrt: Optional[Iterable[str]],
            vary_w: bool, options: Mapping[str, Any]) -> Dict[str, Array]:
        wanted = FIELDS if wrt is None else tuple(wrt)
        known = [*FIELDS, *CONTACT]
        for name in wanted:
            if name not in known:
                raise InputError(f"there is no derivative by '{name}', {hint(name, known)}")
        physical = [name for name in wanted if name in CONTACT]
        by_law = bool(physical) or vary_w
        bars = [None if bar is None else array(bar, (count,), name) for bar, count, name in
                ((v_bar, self._solution.nv, "v_bar"), (gamma_bar, self._solution.nrows, "gamma_bar"))]
        with self._problem as c, self._object(c, options) as g:
            counts = lib.sap_gradient_count(c.problem)
            out = ffi.new("sap_problem_cotangent*")
            needed = dict.fromkeys([*wanted, "R", "v_hat"] if by_law else wanted)
            flat = {name: np.zeros(self._count(counts, name)) for name in needed if name in FIELDS}
            for name, values in flat.items():
                setattr(out, name, pointer(values))
            given = [ffi.NULL if bar is None else pointer(bar) for bar in bars]
            call(lib.sap_gradient_vjp, g.gradient, *given, out)
            dense = {name: self._dense(c, name, values) for name, values in flat.items()}
            by_contact = {name: np.zeros(counts.nblocks) for name in physical}
            for index, contact, regularization in c.contacts if by_law else ():
                made = self._by_law(c, index, contact, regularization, dense, vary_w)
                for name, values in by_contact.items():
                    values[index] = made[name]
            return {name: by_contact[name] if name in CONTACT else dense[name] for name in wanted}

    def jvp(self, tangent: Mapping[str, ArrayLike], options: Mapping[str, Any]) -> Tuple[Array, Array]:
        for name in tangent:
            if name not in FIELDS:
                raise InputError(f"there is no derivative by '{name}', {hint(name, list(FIELDS))}")
        dv, dgamma = np.zeros(self._solution.nv), np.zeros(self._solution.nrows)
        with self._problem as c, self._object(c, options) as g:
            counts = lib.sap_gradient_count(c.problem)
            given = ffi.new("sap_problem_tangent*")
            flat = {name: self._flat(c, name, values, self._count(counts, name)) for name, values in tangent.items()}
            for name, values in flat.items():
                setattr(given, name, pointer(values))
            call(lib.sap_gradient_jvp, g.gradient, given, pointer(dv), pointer(dgamma))
        return dv, dgamma

    def _by_law(self, c: Any, index: int, contact: Any, regularization: Any, bars: Dict[str, Array],
                vary_w: bool) -> Dict[str, float]:
        """Derivatives by the parameters of a contact, from those by R and v_hat; adds to those by J and A
        what follows by w. With h = dt, castro (29), (30):
            Rn = max(beta^2/(4 pi^2) w, 1/(h k (h + tau_d))),  Rt = sigma w,  v_hat_n = -phi0/(h + tau_d)
            w = |W|_F/3,  X = A^-1 J':  J_bar += 2 W_bar X',  A_bar -= X W_bar X'
        """
        block, row = ffi.new("sap_block*"), ffi.new("int32_t*")
        call(lib.sap_problem_block, c.problem, index, block, row)
        W, parts = np.zeros((3, 3)), []
        for t in range(block.ntrees):
            tree = block.trees[t]
            n = int(self._starts[tree + 1] - self._starts[tree])
            J = view(block.jacobians[t], 3 * n).reshape(n, 3)  # the transpose of J
            X = np.linalg.solve(view(lib.sap_problem_momentum_block(c.problem, tree, tree), n * n).reshape(n, n), J)
            parts.append((slice(*self._starts[tree:tree + 2]), X))
            W += J.T @ X
        h, k, tau, phi = (lib.sap_problem_dt(c.problem), contact.material.stiffness, contact.material.relaxation_time,
                          contact.phi0)
        beta, sigma, w, T = regularization.beta, regularization.sigma, np.linalg.norm(W) / 3, h + tau
        near, soft = beta**2 * w / (4 * np.pi**2), 1.0 / (h * k * T)
        found = (block.R[0], block.R[2], block.v_hat[2] + contact.velocity_change[2])
        if not np.allclose(found, (sigma * w, max(near, soft), -phi / T), rtol=1e-9, atol=0.0):
            raise InputError(f"block {index}: its R and v_hat are not those of a contact alone, castro (29) and (30)")
        normal = row[0] + 2
        Rt_bar, Rn_bar, g_n = bars["R"][row[0]] + bars["R"][row[0] + 1], bars["R"][normal], bars["v_hat"][normal]
        Rn_near, Rn_soft = (Rn_bar, 0.0) if near >= soft else (0.0, Rn_bar)
        if vary_w:
            W_bar = (Rt_bar * sigma + Rn_near * near / w) * W / (9 * w)
            for columns, X in parts:
                if "J" in bars:
                    bars["J"][row[0]:row[0] + 3, columns] += 2 * W_bar @ X.T
                if "A" in bars:
                    bars["A"][columns, columns] -= X @ W_bar @ X.T
        return {"phi": -g_n / T, "stiffness": -Rn_soft * soft / k, "sigma": Rt_bar * w,
                "relaxation_time": -Rn_soft * soft / T + g_n * phi / T**2,
                "beta": 2 * Rn_near * near / beta if beta > 0 else 0.0}

    @staticmethod
    def _count(counts: Any, name: str) -> int:
        fields = {"v_star": "nv", "A": "momentum", "J": "jacobian", "friction": "nblocks", "lagged_impulse": "nblocks"}
        return int(getattr(counts, fields.get(name, "nrows")))

    def _parts(self, c: Any, name: str) -> Any:
        """Yields rows and columns in the dense array of each successive part of the flat one."""
        trees = [slice(a, b) for a, b in zip(self._starts[:-1], self._starts[1:])]
        if name == "A":
            yield from ((tree, tree) for tree in trees)
            yield from ((trees[a], trees[b]) for a, b in self._couplings)
            return
        block, row = ffi.new("sap_block*"), ffi.new("int32_t*")
        for b in range(lib.sap_problem_block_count(c.problem)):
            call(lib.sap_problem_block, c.problem, b, block, row)
            for t in range(block.ntrees):
                yield slice(row[0], row[0] + block.nrows), trees[block.trees[t]]

    def _dense(self, c: Any, name: str, flat: Array) -> Array:
        if name not in ("A", "J"):
            return flat
        out = np.zeros((self._solution.nv if name == "A" else self._solution.nrows, self._solution.nv))
        at = 0
        for rows, columns in self._parts(c, name):
            n, m = rows.stop - rows.start, columns.stop - columns.start
            part = flat[at:at + n * m].reshape(m, n).T
            at += n * m
            if name == "A" and rows != columns:  # one number of a coupling is two of A
                out[rows, columns], out[columns, rows] = 0.5 * part, 0.5 * part.T
            else:
                out[rows, columns] = part
        return out

    def _flat(self, c: Any, name: str, values: ArrayLike, count: int) -> Array:
        if name not in ("A", "J"):
            return array(values, (count,), name)
        given = array(values, (self._solution.nv if name == "A" else self._solution.nrows, self._solution.nv), name)
        full = 0.5 * (given + given.T) if name == "A" else given
        parts = [full[rows, columns].T.reshape(-1) for rows, columns in self._parts(c, name)]
        return np.concatenate([np.empty(0), *parts])
