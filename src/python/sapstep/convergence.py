# SPDX-License-Identifier: BSD-3-Clause
"""Orders of convergence of a system written in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import InputError, count_of, number
from .system import Stepper, System

Scheme = Union[str, Tuple[float, float]]


@dataclass(frozen=True)
class Orders:
    """Errors at the end of the run by time step. dt (levels) [s]; errors[scheme] (levels): largest difference of
    q and v; order[scheme]: slope of the errors over the finest three steps that are above roundoff. ``print`` shows
    a table."""

    dt: NDArray[np.float64]
    errors: Dict[Any, NDArray[np.float64]]

    @property
    def order(self) -> Dict[Any, float]:
        """Order of each scheme; NaN if all its errors are roundoff."""
        return {scheme: self._slope(errors) for scheme, errors in self.errors.items()}

    def _slope(self, errors: NDArray[np.float64]) -> float:
        good = np.flatnonzero(errors > 1e-12)[-3:]
        if len(good) < 2:
            return float("nan")
        return float(np.polyfit(np.log(self.dt[good]), np.log(errors[good]), 1)[0])

    def __str__(self) -> str:
        width = max(16, *(len(str(scheme)) + 2 for scheme in self.errors))
        lines = [f"{'dt [s]':>10}" + "".join(f"{scheme!s:>{width}}" for scheme in self.errors)]
        lines += [f"{dt:>10.3g}" + "".join(f"{errors[i]:>{width}.2e}" for errors in self.errors.values())
                  for i, dt in enumerate(self.dt)]
        return "\n".join([*lines, f"{'order':>10}" + "".join(f"{order:>{width}.2f}" for order in self.order.values())])

    def plot(self, axes: Any = None) -> Any:
        """Draws errors against time steps with matplotlib; returns the axes."""
        if axes is None:
            import matplotlib.pyplot as plt
            axes = plt.subplots()[1]
        for scheme, errors in self.errors.items():
            axes.loglog(self.dt, errors, "o-", label=f"{scheme}, order {self.order[scheme]:.2f}")
        axes.set(xlabel="time step [s]", ylabel="largest error of q and v at the end")
        axes.legend()
        return axes


def converge(system: System, q: ArrayLike, v: ArrayLike, dt: float, duration: float, *,
             schemes: Sequence[Scheme] = ("symplectic-euler", "implicit-euler", "midpoint"), levels: int = 5,
             exact: Optional[Callable[[float], Tuple[ArrayLike, ArrayLike]]] = None, **options: Any) -> Orders:
    """Returns the errors of schemes after `duration` [s], with steps of dt, dt/2, ... (`levels` of them).

    exact: t -> (q, v); by default the midpoint rule with steps 16 times finer than the finest, whose own error is
    a 256th of that of the finest midpoint run if it is of second order. Other keywords are those of
    :class:`Stepper`::

        print(sapstep.converge(Pendulum(), [1.0], [0.0], dt=0.02, duration=2.0))
    """
    coarse, end = number(dt, "dt"), number(duration, "duration")
    steps = round(end / coarse) if coarse > 0 and np.isfinite(end / coarse) else 0
    if steps < 1 or abs(steps * coarse - end) > 1e-9 * end:
        raise InputError(f"duration = {duration} must be a multiple of dt = {dt}")
    count = count_of(levels, "levels", 2)

    def run(scheme: Scheme, refined: int) -> NDArray[np.float64]:
        stepper = Stepper(system, q, v, coarse / refined, scheme=scheme, **options)
        stepper.step(steps * refined)
        return stepper.state[1:]

    if exact is None:
        truth = run("midpoint", 16 * 2 ** (count - 1))
    else:
        truth = np.concatenate([np.ravel(part) for part in exact(end)])
    refinements = [2**level for level in range(count)]
    errors = {scheme: np.array([np.abs(run(scheme, refined) - truth).max() for refined in refinements])
              for scheme in schemes}
    return Orders(coarse / np.array(refinements), errors)
