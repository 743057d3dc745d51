# SPDX-License-Identifier: BSD-3-Clause
"""Bodies, joints and actuators by name, and hints on wrong names."""

import re

import numpy as np
import pytest
from things import SCENES, Ball

import sapstep

ARM = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody>
<body name="arm"><joint name="elbow" axis="0 1 0" damping="0.1"/><geom type="capsule" fromto="0 0 0 .5 0 0" size=".02"/></body>
<body name="ball" pos="0 0 2"><freejoint name="root"/><geom size=".1"/></body></worldbody>
<actuator><motor name="motor" joint="elbow" ctrlrange="-2 2" ctrllimited="true"/></actuator></mujoco>"""


def arm():
    return sapstep.Simulation.from_string(ARM)


def test_bodies():
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    robot.v = np.linspace(-1, 1, robot.nv)
    robot.step(3)
    trunk = robot.body("trunk")
    position, quaternion = robot.pose("trunk")
    assert np.array_equal(trunk.position, position) and np.array_equal(trunk.quaternion, quaternion)
    # The velocity against a central difference of the pose.
    h, v = 1e-6, robot.v.copy()
    for name in robot.names("body")[1:]:
        body, q = robot.body(name), robot.q.copy()
        velocity, spin, moved = body.velocity, body.angular_velocity, []
        for sign in (-1, 1):
            free = robot.joint(0)
            robot.q = q + sign * h * np.concatenate([np.zeros(7), v[6:]])
            R = sapstep.Simulation.body(robot, "trunk").rotation
            w = R @ v[3:6]  # of a free joint, in the body
            p, Q = q[:3] + sign * h * v[:3], np.concatenate([[1], sign * h * w / 2])
            s, u, t, r = Q[0], Q[1:], q[3], q[4:7]
            turned = np.concatenate([[s * t - u @ r], s * r + t * u + np.cross(u, r)])
            free.q = np.concatenate([p, turned / np.linalg.norm(turned)])
            moved.append((robot.body(name).position, robot.body(name).rotation))
        robot.q = q
        assert np.allclose((moved[1][0] - moved[0][0]) / (2 * h), velocity, atol=1e-7)
        W = (moved[1][1] - moved[0][1]) / (2 * h) @ body.rotation.T
        assert np.allclose([W[2, 1], W[0, 2], W[1, 0]], spin, atol=1e-7)


def test_joints_are_set():
    robot = arm()
    elbow = robot.joint("elbow")
    elbow.q = 0.3
    elbow.q += 0.2
    elbow.v = -1
    assert robot.q[0] == elbow.q == 0.5 and robot.v[0] == elbow.v == -1 and isinstance(elbow.q, float)
    root = robot.joint("root")
    root.q[2] = 3
    assert robot.body("ball").position[2] == 3 and root.q.shape == (7,)
    root.v = [1, 2, 3, 0, 0, 0]
    assert np.array_equal(robot.body("ball").velocity, [1, 2, 3])
    assert robot.joint(elbow).name == "elbow" and robot.pose(robot.body("ball"))[0][2] == 3
    for wrong in ([1, 2], "x", None, 1j):
        with pytest.raises((TypeError, ValueError)):
            elbow.q = wrong
    assert elbow.q == 0.5


def test_actuators():
    robot = arm()
    motor = robot.actuator("motor")
    motor.control = 1.5
    assert robot.control[0] == 1.5 == motor.control and motor.control_range == (-2, 2)
    robot.step()
    assert motor.force == pytest.approx(1.5)
    with pytest.raises(sapstep.InputError, match="finite"):
        motor.control = np.nan
    assert motor.control == 1.5


def test_ctrl_is_accepted():
    robot = arm()
    with pytest.warns(UserWarning, match="'ctrl' is 'control' here") as told:
        robot.ctrl = [0.5]
    assert told[0].filename == __file__ and robot.control[0] == 0.5
    with pytest.warns(UserWarning, match="'control'"):
        robot.ctrl[:] = 0.7
    assert robot.control[0] == 0.7


@pytest.mark.parametrize("name, right", [("qpos", "q"), ("qvel", "v"), ("time", "t"), ("contrl", "control"),
                                         ("timestep", "dt"), ("contact", "contacts"), ("xpos", "body(NAME).position"),
                                         ("energy", "diagnose()"), ("nbody", "len(names('body'))")])
def test_wrong_attributes(name, right):
    robot = arm()
    right = f"'{right}'" if right.isidentifier() else re.escape(right)
    told = f"a Simulation has no '{name}': did you mean {right}\\?"
    with pytest.raises(AttributeError, match=told):
        getattr(robot, name)
    if right.startswith("'"):
        with pytest.raises(AttributeError, match=told):
            setattr(robot, name, 1.0)
    robot.mine = robot.energy = 1  # names of the user's own
    assert robot.mine == robot.energy == 1 and not hasattr(robot, "nonsense")


def test_wrong_names():
    robot = arm()
    with pytest.raises(sapstep.InputError, match="there is no joint 'elbwo': did you mean 'elbow'\\?"):
        robot.joint("elbwo")
    with pytest.raises(sapstep.InputError, match="there is no body 'Arm': did you mean 'arm'\\?"):
        robot.body("Arm")
    with pytest.raises(sapstep.InputError, match="there is no actuator 'x': available: motor"):
        robot.actuator("x")
    with pytest.raises(sapstep.InputError, match="there is no body 9: ids are 0 to 2"):
        robot.body(9)
    with pytest.raises(sapstep.InputError, match="geoms are shapes here"):
        robot.names("geom")
    with pytest.raises(AttributeError, match="position of a Body cannot be set: set q or v of the joint"):
        robot.body("arm").position = [0, 0, 1]
    with pytest.raises(sapstep.InputError, match="there is no tendon 'x': the scene has none"):
        robot.find("tendon", "x")
    with pytest.raises(AttributeError, match="sapstep has no 'MjModel': did you mean Simulation"):
        sapstep.MjModel
    with pytest.raises(AttributeError, match="a Joint has no 'qpos': did you mean 'q'"):
        robot.joint("elbow").qpos = 1
    with pytest.raises(AttributeError, match="sapstep has no 'Simulaton': did you mean 'Simulation'"):
        sapstep.Simulaton
    with pytest.raises(TypeError, match="unknown option 'timestep', did you mean 'dt'"):
        sapstep.Simulation.from_string(ARM, timestep=0.1)
    with pytest.raises(AttributeError, match="a Stepper has no 'qpos': did you mean 'q'"):
        sapstep.Stepper(Ball(), np.zeros(3), np.zeros(3), 1e-3).qpos
