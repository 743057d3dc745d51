# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems as differentiable functions of JAX arrays.

    import jax, sapstep.jax
    jax.config.update("jax_enable_x64", True)

    contacts = sapstep.jax.Contacts([("friction-cone", 3), ("nonnegative", 1)], tree_sizes=[6])
    v, gamma = contacts(A, v_star, J, R, v_hat, friction)
    jax.grad(lambda v_star: (contacts(A, v_star, J, R, v_hat, friction)[0] ** 2).sum())(v_star)

Works under jit, grad (reverse mode) and vmap; the library runs in a callback on the host. A gradient
solves the problem again.
"""

from __future__ import annotations

from typing import Any, Tuple

try:
    import jax
    import jax.numpy as jnp
except ImportError:
    raise ImportError("sapstep.jax needs jax: pip install jax") from None
import numpy as np

from ._layer import NAMES, Layer
from ._library import InputError


class Contacts(Layer):
    __doc__ = Layer.__doc__

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._function = jax.custom_vjp(self._forward)
        self._function.defvjp(lambda *x: (self._forward(*x), x), self._backward)

    def _shape(self, *names: str) -> Any:
        return tuple(jax.ShapeDtypeStruct(self.shapes[name], np.float64) for name in names)

    def _solve(self, *x: Any) -> Any:
        return self.solve({name: np.asarray(values) for name, values in zip(NAMES, x)})

    def _forward(self, *x: Any) -> Any:
        def host(*x: Any) -> Any:
            solution = self._solve(*x)
            return solution.v, solution.gamma
        return jax.pure_callback(host, self._shape("v_star", "R"), *x, vmap_method="sequential")

    def _backward(self, x: Any, bars: Any) -> Any:
        def host(v_bar: Any, gamma_bar: Any, *x: Any) -> Any:
            out = self.vjp(self._solve(*x), np.asarray(v_bar), np.asarray(gamma_bar))
            return tuple(out[name] for name in NAMES)
        return jax.pure_callback(host, self._shape(*NAMES), *bars, *x, vmap_method="sequential")

    def __call__(self, A: Any, v_star: Any, J: Any, R: Any, v_hat: Any, friction: Any = None, lower: Any = None,
                 upper: Any = None) -> Tuple[Any, Any]:
        """Returns v (nv) and gamma (nrows). A (nv, nv), of which the symmetric part and the blocks of
        trees and couplings count; v_star (nv); J (nrows, nv); R, of which a cone's R_t is that of its
        first row, v_hat, lower and upper of boxes (nrows); friction (blocks)."""
        if not jax.config.jax_enable_x64:
            raise InputError('needs 64-bit numbers: jax.config.update("jax_enable_x64", True)')
        x = []
        for name, values in zip(NAMES, (A, v_star, J, R, v_hat, friction, lower, upper)):
            values = jnp.zeros(self.shapes[name]) if values is None else jnp.asarray(values, dtype=jnp.float64)
            self.check(name, values.shape)
            if values.ndim != len(self.shapes[name]):
                raise InputError(f"{name} has shape {values.shape}: use jax.vmap for batches")
            x.append(values)
        v, gamma = self._function(*x)
        return v, gamma
