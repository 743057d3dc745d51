# SPDX-License-Identifier: BSD-3-Clause
"""Contact problems as differentiable functions of torch tensors.

    import sapstep.torch

    contacts = sapstep.torch.Contacts([("friction-cone", 3), ("nonnegative", 1)], tree_sizes=[6])
    v, gamma = contacts(A, v_star, J, R, v_hat, friction)
    v.square().sum().backward()

Tensors are of dtype float64, on the CPU, and may have leading batch dimensions, which are broadcast.
"""

from __future__ import annotations

from typing import Any, Optional, Tuple

try:
    import torch
except ImportError:
    raise ImportError("sapstep.torch needs torch: pip install torch") from None
from torch.autograd.function import once_differentiable

from ._layer import NAMES, Layer
from ._library import InputError


class _Solve(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(ctx: Any, layer: Layer, *tensors: torch.Tensor) -> Tuple[torch.Tensor, ...]:
        flat = {name: t.detach().numpy().reshape(-1, *layer.shapes[name]) for name, t in zip(NAMES, tensors)}
        ctx.layer, ctx.batch = layer, tensors[1].shape[:-1]
        ctx.solutions, v, gamma = layer.solve_all(flat)
        ctx.set_materialize_grads(True)
        return tuple(torch.from_numpy(out).reshape(*ctx.batch, out.shape[1]) for out in (v, gamma))

    @staticmethod
    @once_differentiable  # type: ignore[misc, untyped-decorator, unused-ignore]
    def backward(ctx: Any, *bars: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
        flat = [bar.detach().numpy().reshape(len(ctx.solutions), bar.shape[-1]) for bar in bars]
        out = ctx.layer.vjp_all(ctx.solutions, *flat)
        return (None, *(torch.from_numpy(out[name]).reshape(*ctx.batch, *ctx.layer.shapes[name]) for name in NAMES))


class Contacts(Layer):
    __doc__ = Layer.__doc__

    def __call__(self, A: torch.Tensor, v_star: torch.Tensor, J: torch.Tensor, R: torch.Tensor, v_hat: torch.Tensor,
                 friction: Optional[torch.Tensor] = None, lower: Optional[torch.Tensor] = None,
                 upper: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
        """Returns v (..., nv) and gamma (..., nrows). A (..., nv, nv), of which the symmetric part and the
        blocks of trees and couplings count; v_star (..., nv); J (..., nrows, nv); R, of which a cone's
        R_t is that of its first row, v_hat, lower and upper of boxes (..., nrows); friction (..., blocks)."""
        given = dict(zip(NAMES, (A, v_star, J, R, v_hat, friction, lower, upper)))
        tensors, batches = {}, []
        for name, t in given.items():
            t = torch.zeros(self.shapes[name], dtype=torch.float64) if t is None else t
            if t.dtype != torch.float64 or t.device.type != "cpu":
                raise InputError(f"{name} is of {t.dtype} on {t.device}, must be torch.float64 on the CPU")
            self.check(name, t.shape)
            tensors[name] = t
            batches.append(t.shape[:t.ndim - len(self.shapes[name])])
        batch = torch.broadcast_shapes(*batches)
        v, gamma = _Solve.apply(self, *(t.expand(*batch, *self.shapes[name]) for name, t in tensors.items()))
        return v, gamma
