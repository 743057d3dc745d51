# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of a problem's solution: dense arrays to and from those of sapstep/gradient.h."""

from __future__ import annotations

from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import OwningHandle
from ._library import InputError, array, call, ffi, lib, pointer
from ._names import hint
from ._options import assign

Array = NDArray[np.float64]
# Parameters of contacts, and their names in C.
CONTACT = {"phi": "phi0", "stiffness": "stiffness", "relaxation_time": "relaxation_time", "beta": "beta", "sigma": "sigma"}
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
            options: Mapping[str, Any]) -> Dict[str, Array]:
        wanted = FIELDS if wrt is None else tuple(wrt)
        known = [*FIELDS, *CONTACT]
        for name in wanted:
            if name not in known:
                raise InputError(f"there is no derivative by '{name}', {hint(name, known)}")
        physical = [name for name in wanted if name in CONTACT]
        by_law = bool(physical) or bool(options.get("vary_w"))
        bars = [None if bar is None else array(bar, (count,), name) for bar, count, name in
                ((v_bar, self._solution.nv, "v_bar"), (gamma_bar, self._solution.nrows, "gamma_bar"))]
        with self._problem as c, self._object(c, options) as g:
            counts = lib.sap_gradient_count(c.problem)
            out = ffi.new("sap_problem_cotangent*")
            needed = dict.fromkeys([*wanted, "R", "v_hat", "friction"] if by_law else wanted)
            flat = {name: np.zeros(self._count(counts, name)) for name in needed if name in FIELDS}
            for name, values in flat.items():
                setattr(out, name, pointer(values))
            given = [ffi.NULL if bar is None else pointer(bar) for bar in bars]
            call(lib.sap_gradient_vjp, g.gradient, *given, out)
            by_contact = {name: np.zeros(counts.nblocks) for name in physical}
            made = ffi.new("sap_contact_parameters*")
            for index, block, regularization, _ in c.contacts if by_law else ():
                call(lib.sap_gradient_contact, g.gradient, index, block, regularization, out, made)
                for name, values in by_contact.items():
                    values[index] = getattr(made, CONTACT[name])
            dense = {name: self._dense(c, name, values) for name, values in flat.items()}
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
