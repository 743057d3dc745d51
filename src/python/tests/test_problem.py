# SPDX-License-Identifier: BSD-3-Clause
"""The problem level against closed forms and the other solvers."""

import math

import numpy as np
import pytest

import sapstep


def point_mass(mu=0.5, push=0.0, R=None):
    """1 kg on the ground, g = 10, dt = 0.01, pushed sideways."""
    problem = sapstep.Problem(0.01, [3])
    problem.set_momentum(np.eye(3))
    problem.set_v_star([push * 0.01, 0, -0.1])
    problem.add_contact({0: np.eye(3)}, 0.0, stiffness=1e8, relaxation_time=0.01, friction=mu)
    return problem


def test_stick_and_slide():
    # The impulse carries m g dt; friction what is pushed, at most mu of it.
    sticking = point_mass(push=4.0).solve()
    assert sticking.converged
    # The near-rigid limit lets 1/(1 + 4 pi^2) of the normal velocity pass, sigma a thousandth.
    assert sticking.gamma[0] == pytest.approx(-0.04, rel=2e-3)
    assert sticking.gamma[2] == pytest.approx(0.1, rel=0.026)
    sliding = point_mass(push=8.0).solve()
    assert sliding.gamma[0] == pytest.approx(-0.5 * sliding.gamma[2], rel=1e-9)
    assert sliding.v[0] == pytest.approx(0.08 + sliding.gamma[0], rel=1e-9)


def test_soft_rows():
    # A point mass on a spring, implicit: v = (v* - dt k g/m)/(1 + dt k (dt + tau)/m).
    problem = sapstep.Problem(0.01, [2])
    problem.set_momentum(2.0 * np.eye(2))
    problem.set_v_star([0.5, -1.0])
    problem.add_compliant({0: np.eye(2)}, [0.1, 0.0], stiffness=300.0, relaxation_time=0.02)
    expected = (np.array([0.5, -1.0]) - 1.5 * np.array([0.1, 0.0])) / (1.0 + 1.5 * 0.03)
    assert np.allclose(problem.solve().v, expected, atol=1e-12)
    stop = sapstep.Problem(0.01, [1])
    stop.set_momentum([[1.0]])
    stop.set_v_star([-2.0])
    stop.add_compliant({0: [[1.0]]}, [0.005], stiffness=1e9, unilateral=True)
    assert stop.solve().v[0] == pytest.approx(-0.5, rel=0.1)  # the way that is left, near-rigid
    with pytest.raises(sapstep.Error, match="row 1"):
        problem.add_compliant({0: np.eye(2)}, [0.0, math.nan])


def test_coupled_trees_by_every_convex_solver():
    random = np.random.default_rng(1)
    sizes = [2, 3]
    G = random.standard_normal((5, 5))
    A = G @ G.T + np.eye(5)
    problem = sapstep.Problem(0.01, sizes)
    problem.set_momentum(A[:2, :2], 0)
    problem.set_momentum(A[2:, 2:], 1)
    problem.set_momentum(A[:2, 2:], 0, 1)
    v_star = random.standard_normal(5)
    problem.set_v_star(v_star)
    J = random.standard_normal((3, 5))
    problem.add_block("friction-cone", {0: J[:, :2], 1: J[:, 2:]}, [0.1, 0.1, 0.2], [0, 0, 0.3], friction=0.7)
    row = random.standard_normal((2, 3))
    problem.add_block("box", {1: row}, [0.3, 0.2], [0, 0], lower=[-1, -2], upper=[0.1, 0.2])
    reference = problem.solve(relative_tolerance=1e-12)
    full = np.vstack([J, np.hstack([np.zeros((2, 2)), row])])
    # A (v - v*) = J' gamma, whatever the solver.
    assert np.allclose(A @ (reference.v - v_star), full.T @ reference.gamma, atol=1e-9)
    for name in ("pgs-ccp", "apgd", "admm-ccp"):
        other = problem.solve(name, relative_tolerance=1e-10)
        assert other.converged, name
        assert np.allclose(other.v, reference.v, atol=1e-7), name
    residuals = problem.residuals(reference.v, reference.gamma)
    assert residuals["momentum"] < 1e-9
    assert residuals["ccp_natural_map"] < 1e-8


def test_solver_table():
    names = [row["name"] for row in sapstep.solvers()]
    assert names[0] == "sap" and "sap-ncp" in names


@pytest.mark.parametrize(
    "act, text",
    [
        (lambda p: p.set_momentum(np.eye(2)), "shape"),
        (lambda p: p.set_momentum(-np.eye(3)) or p.solve(), "tree 0"),
        (lambda p: p.set_v_star([0, math.nan, 0]), "v_star"),
        (lambda p: p.add_contact({1: np.eye(3)}, 0.0), "tree 1"),
        (lambda p: p.add_contact({0: np.eye(3)}, 0.0, friction=-1), "friction"),
        (lambda p: p.add_block("cone", {0: np.eye(3)}, [1, 1, 1], [0, 0, 0]), "friction-cone"),
        (lambda p: p.solve("sapp"), "available: sap"),
    ],
)
def test_wrong_input(act, text):
    with pytest.raises(sapstep.InputError, match=text):
        act(point_mass())


def test_unknown_option():
    with pytest.raises(TypeError, match="relative_tolerance"):
        point_mass().solve(tolerance=1)
