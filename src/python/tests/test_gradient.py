# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of solutions against closed forms and differences; tests/oracle/contact_gradients.py has a
complex step."""

import math

import numpy as np
import pytest

import sapstep


def sliding(mu=0.5):
    """1 kg that slides on the ground: v_n = 0, v_t = v_t* + mu v_n* nearly."""
    problem = sapstep.Problem(0.01, [3])
    problem.set_momentum(np.eye(3))
    problem.set_v_star([3.0, 0.0, -1.0])
    problem.add_block("friction-cone", {0: np.eye(3)}, [0.01, 0.01, 0.1], [0, 0, 0], friction=mu)
    return problem


def two_trees(C=0.1, shift=0.0):
    problem = sapstep.Problem(0.01, [2, 3])
    problem.set_momentum([[2.0, 0.0], [0.0, 1.0]], 0)
    problem.set_momentum(np.diag([1.0, 3.0, 2.0]), 1)
    problem.set_momentum(C * np.ones((3, 2)), 1, 0)
    problem.set_v_star([0.5, -1.0, 0.3, 0.2, -2.0])
    problem.add_block("nonnegative", {1: [[0.0, 0.5, 1.0]], 0: [[1.0, shift]]}, [0.1], [0.2])
    problem.add_block("free", {0: [[1.0, 1.0]]}, [0.3], [0.0])
    return problem


def test_sliding():
    solution = sliding().solve(relative_tolerance=1e-13)
    k = 1.0 / (0.1 + 0.25 * 0.01 + 1.25)  # gamma_n = k (mu v_t* - v_n*)
    bars = solution.vjp(gamma_bar=[0.0, 0.0, 1.0])
    assert bars["v_star"] == pytest.approx([0.5 * k, 0.0, -k], abs=1e-14)
    assert bars["friction"] == pytest.approx([k * (3.0 - 2.0 * 0.5 * 1.01 * solution.gamma[2])])
    dv, dgamma = solution.jvp({"v_star": [0.0, 0.0, 1.0]})
    assert dgamma[2] == pytest.approx(-k, rel=1e-14)
    assert dv[2] == pytest.approx(1.0 - k, rel=1e-14)
    assert solution.modes()["sliding"] == 1 and solution.modes()["error"] < 1e-13
    coulomb = sliding().solve("sap-ncp", relative_tolerance=1e-12)
    assert coulomb.vjp(gamma_bar=[0, 0, 1], wrt=["v_star"], coulomb=True)["v_star"] == pytest.approx([0, 0, -1 / 1.1])


def test_dense_arrays():
    solution = two_trees().solve(relative_tolerance=1e-14)
    v_bar = np.array([1.0, -2.0, 0.5, 3.0, 1.0])
    bars = solution.vjp(v_bar)
    h = 1e-6

    def difference(**moved):
        plus, minus = (two_trees(**{k: v0 + s * h for k, (v0, s) in moved.items()}) for moved in (
            {k: (v, 1) for k, v in moved.items()}, {k: (v, -1) for k, v in moved.items()}))
        tight = {"relative_tolerance": 1e-14}
        return v_bar @ (plus.solve(**tight).v - minus.solve(**tight).v) / (2 * h)

    assert bars["A"].shape == (5, 5) and np.array_equal(bars["A"], bars["A"].T)
    assert bars["A"][2:, :2].sum() * 2 == pytest.approx(difference(C=0.1), rel=1e-7)
    assert bars["J"].shape == (2, 5) and np.all(bars["J"][1, 2:] == 0)
    assert bars["J"][0, 1] == pytest.approx(difference(shift=0.0), rel=1e-7)
    random = np.random.default_rng(1)
    d = {name: random.standard_normal(values.shape) for name, values in bars.items()}
    dv, _ = solution.jvp(d)
    d["A"] = 0.5 * (d["A"] + d["A"].T)
    d["J"][1, 2:] = 0.0
    assert v_bar @ dv == pytest.approx(sum(np.sum(bars[name] * d[name]) for name in bars), rel=1e-12)


def test_wrong_use():
    problem = sliding()
    solution = problem.solve()
    with pytest.raises(sapstep.InputError, match="v_bar has shape"):
        solution.vjp(v_bar=[1.0])
    with pytest.raises(sapstep.InputError, match=r"gamma_bar\[1\]"):
        solution.vjp(gamma_bar=[0, math.nan, 0])
    with pytest.raises(sapstep.InputError, match="no derivative by 'mu'"):
        solution.jvp({"mu": [1.0]})
    with pytest.raises(TypeError, match="unknown option 'smooth'"):
        solution.vjp(smooth=1.0)
    with pytest.raises(sapstep.InputError, match="smoothing"):
        solution.vjp(smoothing=-1.0)
    problem.set_v_star([0, 0, 0])
    with pytest.raises(sapstep.InputError, match="has changed"):
        solution.vjp(v_bar=[1, 0, 0])
    with pytest.raises(sapstep.InputError, match="error"):  # the convex solution is none of Coulomb's problem
        sliding().solve("sap-ncp").vjp(v_bar=[1, 0, 0])
