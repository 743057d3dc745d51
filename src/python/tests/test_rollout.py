# SPDX-License-Identifier: BSD-3-Clause
"""Trajectories from many states under many controls."""

import numpy as np
import pytest
from test_elements import ARM, arm
from things import SCENES

import sapstep


def test_equals_steps():
    robot = arm()
    rng = np.random.default_rng(1)
    states = robot.state + 0.1 * rng.standard_normal((5, robot.state.size))
    states[:, 5:9] = [1, 0, 0, 0]  # the ball's quaternion
    controls = rng.uniform(-2, 2, (5, 30, 1))
    robot.step(2)
    before = robot.save()
    found = robot.rollout(states, controls)
    assert robot.save() == before and len(found) == 5 and not found.errors
    for i in range(5):
        one = arm()
        one.state = states[i]
        for k in range(30):
            one.control = controls[i, k]
            one.step()
            assert np.array_equal(found.states[i, k + 1], one.state)
            assert found.t[i, k + 1] == one.t and np.array_equal(found.q[i, k + 1], one.q)
            assert np.array_equal(found.v[i, k + 1], one.v) and found.act.shape == (5, 31, 0)
    assert np.array_equal(found.states[:, 0], states)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_do_not_matter(threads):
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    robot.step(50)  # on the ground, with contact
    rng = np.random.default_rng(2)
    states = np.tile(robot.state, (7, 1))
    states[:, 1 + robot.nq:] += 0.1 * rng.standard_normal((7, robot.nv))
    found = robot.rollout(states, steps=20, threads=threads)
    assert np.array_equal(found.states, robot.rollout(states, steps=20).states)
    assert np.isfinite(found.states).all() and "7 of 20 steps, 0 failed" in repr(found)


def test_shapes():
    robot = arm()
    controls = np.ones((4, 1))
    same = robot.rollout(controls=controls)
    assert same.states.shape == (1, 5, robot.state.size)
    assert np.array_equal(same.states, robot.rollout(robot.state, controls[None]).states)
    assert robot.rollout(np.tile(robot.state, (3, 1)), controls).q.shape == (3, 5, robot.nq)
    assert robot.rollout(controls=np.ones((3, 4, 1))).q.shape == (3, 5, robot.nq)
    robot.control = [1.0]  # the current controls
    assert np.array_equal(robot.rollout(steps=4).states, same.states)
    assert robot.rollout(steps=0).states.shape == (1, 1, robot.state.size)
    ball = sapstep.Simulation(SCENES / "falling_box.xml")
    assert ball.rollout(controls=np.ones((2, 3, 0))).q.shape == (2, 4, ball.nq)


def test_wrong_input():
    robot = arm()
    for arguments, told in [
        ({}, "needs controls"), ({"controls": np.ones((4, 2))}, "controls has shape"),
        ({"states": np.ones(3), "steps": 1}, "states has shape"),
        ({"controls": np.full((1, 4, 1), np.nan)}, r"controls\[0, 0, 0\] is not finite"),
        ({"controls": np.ones((4, 1)), "steps": 5}, "steps = 5, but controls has 4"),
        ({"states": np.tile(robot.state, (3, 1)), "controls": np.ones((2, 4, 1))}, "must be 1 or 3"),
        ({"steps": -1}, "steps"), ({"steps": 1, "threads": 0}, "threads"),
    ]:
        with pytest.raises((sapstep.InputError, TypeError), match=told):
            robot.rollout(**arguments)


def test_failures_are_collected():
    robot = arm()
    states = np.tile(robot.state, (3, 1))
    states[1, 1 + robot.nq] = 1e308  # overflows
    found = robot.rollout(states, steps=5)
    assert list(found.errors) == [1] and isinstance(found.errors[1], sapstep.Error)
    assert np.isnan(found.states[1, -1]).all() and np.isfinite(found.states[[0, 2]]).all()
    assert "1 failed" in repr(found)


def test_forces_act():
    robot = sapstep.Simulation.from_string(ARM)
    robot.push("ball", [1, 0, 0])
    pushed = robot.rollout(steps=10)
    robot.step(10)
    assert np.array_equal(pushed.q[0, -1], robot.q) and robot.v[1] > 0
