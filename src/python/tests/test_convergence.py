# SPDX-License-Identifier: BSD-3-Clause
"""Orders of schemes on systems with an exact solution."""

import numpy as np
import pytest
from things import Ball

import sapstep


class Spring(sapstep.System):
    """q'' = -4 q."""

    def mass_matrix(self, q):
        return [[1.0]]

    def forces(self, t, q, v):
        return -4.0 * q, np.zeros(1)

    def stiffness_damping(self, t, q, v):
        return [[4.0]], [[0.0]]


def exact(t):
    return [np.cos(2 * t)], [-2 * np.sin(2 * t)]


def test_orders():
    found = sapstep.converge(Spring(), [1.0], [0.0], 0.02, 1.0, exact=exact)
    for scheme, order in (("symplectic-euler", 1), ("implicit-euler", 1), ("midpoint", 2)):
        assert found.order[scheme] == pytest.approx(order, abs=0.03)
    assert np.allclose(found.dt, [0.02, 0.01, 0.005, 0.0025, 0.00125])
    # Without the solution, the reference's own error is a 256th of the finest.
    own = sapstep.converge(Spring(), [1.0], [0.0], 0.02, 1.0, schemes=["midpoint"])
    assert np.allclose(own.errors["midpoint"], found.errors["midpoint"], rtol=2 / 256)
    table = str(found).splitlines()
    assert "dt [s]" in table[0] and "midpoint" in table[0] and len(table) == 7 and "2.00" in table[-1]


def test_error_of_one_step():
    """One step of the implicit Euler rule: v = -4 dt/(1 + 4 dt^2)."""
    found = sapstep.converge(Spring(), [1.0], [0.0], 0.1, 0.1, schemes=["implicit-euler"], levels=2, exact=exact)
    v = -0.4 / 1.04
    error = max(abs(1 + 0.1 * v - np.cos(0.2)), abs(v + 2 * np.sin(0.2)))
    assert found.errors["implicit-euler"][0] == pytest.approx(error, rel=1e-9)


def test_plot():
    pytest.importorskip("matplotlib").use("agg")
    axes = sapstep.converge(Spring(), [1.0], [0.0], 0.1, 0.2, levels=2).plot()
    assert "[s]" in axes.get_xlabel() and "order" in axes.get_legend().get_texts()[0].get_text()


def test_wrong_input():
    for arguments in ((0.03, 0.1), (0.0, 1.0), (-0.1, 1.0), (np.nan, 1.0)):
        with pytest.raises(sapstep.InputError, match="multiple of dt"):
            sapstep.converge(Ball(), np.zeros(3), np.zeros(3), *arguments)
