# SPDX-License-Identifier: BSD-3-Clause
"""What drives bodies, and what they feel."""

import numpy as np
import pytest
from things import SCENES

import sapstep


SERVO = """<mujoco><option timestep=".01" gravity="0 0 0"/><worldbody>
<body><joint name="a" axis="0 1 0"/><geom type="box" size=".1 .1 .1" mass="6"/>
<body><joint name="b" axis="0 1 0"/><geom type="box" size=".1 .1 .1" mass="6"/></body></body></worldbody>
<actuator><motor joint="a" name="one"/><motor joint="b" name="two" gear="2"/></actuator>
<keyframe><key name="k" qpos="1 0" ctrl="3 4"/></keyframe></mujoco>"""


def test_controls_are_a_view():
    def fresh():
        return sapstep.Simulation.from_string(SERVO)

    robot, twin = fresh(), fresh()
    view = robot.control
    assert np.array_equal(view, [0, 0])
    view[robot.find("actuator", "two")] = 0.5
    twin.control = [0, 0.5]
    for each in (robot, twin):
        each.step(10)
        assert np.allclose(each.actuator_forces(), [0, 0.5])
    assert np.array_equal(robot.state, twin.state) and robot.v[1] > 0.1
    robot.control[0] = 2.0
    assert np.allclose(robot.actuator_forces(), [0, 0.5])  # of the step that was made
    other = robot.copy()
    sapstep.step_all([robot, other])
    assert np.allclose(robot.actuator_forces(), [2, 0.5]) and np.array_equal(robot.state, other.state)
    other.control[1] = 7.0  # is its own
    robot.reset("k")
    assert robot.control is view and np.array_equal(view, [3, 4])
    robot.step()
    before = robot.state
    view[1] = np.nan
    for act in (robot.step, lambda: sapstep.step_all([robot])):
        with pytest.raises(sapstep.InputError, match="control.*nan"):
            act()
        assert np.array_equal(robot.state, before)
    view[1] = 0.0
    with pytest.raises(sapstep.InputError, match=r"control\[0\] = inf is not finite"):
        robot.control = [np.inf, 1]
    with pytest.raises(sapstep.InputError, match="shape"):
        robot.control = [1]
    robot.step()


HANGING = """<mujoco><option timestep=".01" gravity="0 0 -10"/><worldbody>
<body><joint name="a" axis="0 1 0"/><geom type="sphere" size=".1" pos="0 0 -1" mass="2"/>
<body pos="0 0 -1"><joint name="b" axis="0 1 0"/><geom type="sphere" size=".1" pos="0 0 -1" mass="3"/></body>
</body></worldbody></mujoco>"""


def test_reactions_of_joints():
    robot = sapstep.Simulation.from_string(HANGING)
    robot.step()
    for joint, weight in (("a", 50.0), (1, 30.0)):
        force, moment = robot.joint_reaction(joint)
        assert np.allclose(force, [0, 0, weight], atol=1e-9) and np.allclose(moment, 0, atol=1e-9)
    with pytest.raises(sapstep.InputError, match="there is no joint 'c'"):
        robot.joint_reaction("c")
    robot.reset()
    with pytest.raises(sapstep.InputError, match="no step has been made"):
        robot.joint_reaction("a")


def test_forces_from_outside():
    box = sapstep.Simulation(SCENES / "falling_box.xml", dt=0.001)
    mass = box.diagnose()["mass"]
    box.q[2] += 10.0
    box.push(1, [0, 0, 9.81 * mass])  # as much as it weighs
    box.step(100)
    assert np.allclose(box.v, 0.0, atol=1e-12)
    twin = box.copy()
    twin.step(100)
    assert np.allclose(twin.v, 0.0, atol=1e-12)
    box.push(1)
    box.apply([2.0 * mass, 0, 9.81 * mass, 0, 0, 0])
    twin = box.copy()
    for each in (box, twin):
        each.step(100)
        assert np.allclose(each.v, [0.2, 0, 0, 0, 0, 0], atol=1e-9)
    box.apply(None)
    box.step()
    assert box.v[2] == pytest.approx(-9.81e-3)
    for act in (lambda: box.push(1, [np.nan, 0, 0]), lambda: box.push(9), lambda: box.apply([1.0])):
        with pytest.raises(sapstep.InputError):
            act()


def test_jacobian_by_differences():
    robot = sapstep.Simulation(SCENES / "quadruped.xml", dt=1e-6)
    body = robot.names("body")[-1]
    robot.v = np.random.default_rng(2).standard_normal(robot.nv)
    J = robot.jacobian(body)
    p0, _ = robot.pose(body)
    robot.step()
    p1, _ = robot.pose(body)
    assert np.allclose(J[3:] @ robot.v, (p1 - p0) / robot.dt, atol=1e-3)
    assert robot.accelerations().shape == (robot.nv,)
    assert robot.constraint_forces().shape == (robot.nv,)
