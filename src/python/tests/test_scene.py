# SPDX-License-Identifier: BSD-3-Clause
"""Values read from scenes, and messages about them."""

import warnings

import numpy as np
import pytest
from things import SCENES

import sapstep

BALL = """<mujoco><option timestep="0.01"/><worldbody><geom type="plane" size="1 1 1"/>
<body name="b" pos="0 0 1"><freejoint/><geom name="ball" type="sphere" size=".1" density="1000"/></body></worldbody></mujoco>
"""


def test_malformed_scene(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<mujoco><worldbody><geom type='sphere' size='-1'/></worldbody></mujoco>")
    with pytest.raises(sapstep.InputError, match="bad.xml:1"):
        sapstep.Simulation(path)


def test_floor_under_a_urdf(tmp_path):
    path = tmp_path / "ball.urdf"
    path.write_text(
        '<robot name="r"><link name="ball"><inertial><mass value="1"/><inertia ixx="0.1" iyy="0.1" izz="0.1" '
        'ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry><sphere radius="0.1"/></geometry></collision>'
        "</link></robot>"
    )
    ball = sapstep.Simulation(path, dt=0.01, floating_base=True, floor=-0.5)
    ball.step(200)
    assert ball.pose("ball")[0][2] == pytest.approx(-0.4, abs=1e-3)


def test_joints_by_name():
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    joints = [robot.joint(i) for i in range(len(robot.names("joint")))]
    assert [joint.name for joint in joints] == robot.names("joint")
    assert joints[0].type == "free" and joints[0].q_slice == slice(0, 7) and joints[0].v_slice == slice(0, 6)
    last = robot.joint(joints[-1].name)
    assert last.type == "hinge" and last.q_slice.stop == robot.nq and last.v_slice.stop == robot.nv
    # Moving it moves its body and no other body's ancestor.
    before = robot.pose(last.body)[1]
    last.q += 0.3
    angle = 2 * np.arccos(np.clip(abs(before @ robot.pose(last.body)[1]), 0, 1))
    assert angle == pytest.approx(0.3, abs=1e-9)
    with pytest.raises(sapstep.InputError, match="joint"):
        robot.joint(99)
    with pytest.raises(sapstep.InputError, match="there is no joint 'tail'"):
        robot.joint("tail")


def test_limits_of_joints():
    robot = sapstep.Simulation.from_string(
        "<mujoco><compiler angle=\"radian\"/><worldbody><body><joint name=\"a\" range=\"-1 2\" limited=\"true\"/>"
        "<geom size=\"1\"/><body><joint type=\"slide\"/><geom size=\"1\"/></body></body></worldbody></mujoco>")
    assert (robot.joint("a").lower, robot.joint("a").upper) == (-1.0, 2.0)
    assert (robot.joint(1).name, robot.joint(1).lower, robot.joint(1).upper) == ("", -np.inf, np.inf)


def test_find_is_the_inverse_of_names():
    for scene in ("quadruped.xml", "clutter_40.xml", "fourbar_free.xml"):
        robot = sapstep.Simulation(SCENES / scene)
        for kind in ("body", "joint", "shape", "actuator", "equality"):
            for i, name in enumerate(robot.names(kind)):
                assert name == "" or robot.find(kind, name) == i
    for name, text in (("", "there is no equality ''"), ("a\0b", "null character"), ("\udcff", "there is no equality")):
        with pytest.raises(sapstep.InputError, match=text):
            robot.find("equality", name)
    with pytest.raises(sapstep.InputError, match="must be one of body, joint"):
        robot.find("wheel", "a")


def test_edits():
    heavy = sapstep.Simulation.from_string(BALL, edits={
        "geom/ball/density": 500, "geom/ball/size": np.float64(0.2), "option/*/gravity": np.array([0, 0, -2]),
        "geom/ball/condim": 4, "body/b/pos[0]": "0.25"})
    ball = sapstep.Simulation.from_string(BALL)
    assert heavy.diagnose()["mass"] == pytest.approx(4 * ball.diagnose()["mass"], rel=1e-12)
    assert heavy.q[0] == 0.25 and heavy.dt == ball.dt == 0.01
    heavy.step()
    assert heavy.v[2] == pytest.approx(-0.02)
    for edits, text in (
        ({"geom/bal/density": 1}, "the scene has no element for 'geom/bal/density'"),
        ({"geom/ball/densit": 1}, "the scene:2: .*unknown attribute"),
        ({"geom/ball/density": None}, "geom/ball/density is not an array of numbers"),
        ({"geom/ball/density": np.nan}, "not finite"),
        ({"mass": 1}, "ELEMENT/NAME/ATTRIBUTE"),
    ):
        with pytest.raises(sapstep.InputError, match=text):
            sapstep.Simulation.from_string(BALL, edits=edits)
    with pytest.raises(TypeError, match="edits must map"):
        sapstep.Simulation.from_string(BALL, edits=["geom/ball/density"])


def test_strings():
    class Sub(sapstep.Simulation):
        pass

    ball = Sub.from_string(BALL, 0.002, scheme="midpoint")
    assert type(ball) is Sub and ball.dt == 0.002 and ball.names("body")[1] == "b"
    ball.copy().step(10)
    with pytest.raises(sapstep.InputError, match="^the scene:2: "):
        sapstep.Simulation.from_string(BALL.replace("sphere", "sfere"))
    with pytest.raises(TypeError, match="text must be a str, not int"):
        sapstep.Simulation.from_string(5)


def test_warnings_name_the_line_that_caused_them():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sapstep.Simulation(SCENES / "falling_box.xml", floor=0.0)
        sapstep.Simulation.from_string(BALL, floor=0.0)
    assert [warning.filename for warning in caught] == [__file__] * 2
    assert "the scene:1: <mujoco>: a floor is for URDF only" in str(caught[1].message)


def test_patches():
    scene = BALL.replace('type="sphere" size=".1"', 'type="box" size=".1 .1 .1"').replace("0 0 1", "0 0 .1")
    sim = sapstep.Simulation.from_string
    for patches in (1e6, {"ball": 1e6}, {1: (1e6, 0.1)}):
        box = sim(scene, patches=patches)
        box.step(100)
        # m g = E/H 4 h^2 d; the area of the five contacts of a patch is that of the face
        assert box.q[2] == pytest.approx(0.1 - 8 * 9.81 / (1e6 / 0.1 * 0.04), rel=1e-3)
        assert set(box.contacts["patch"]) == {5} and box.contacts["area"] == pytest.approx(0.04, rel=1e-3)
    assert set(sim(scene).contacts["patch"]) <= {0}
    for patches, text in ((-1, "modulus = -1"), (float("nan"), "patches = nan"), ({"ball": -1}, "modulus = -1"), ({"b": 1}, "no shape 'b'"),
                          ({0: 1e6}, "field_depth = 0 must be > 0"), ({"ball": (1, 2, 3)}, "must be")):
        with pytest.raises(sapstep.InputError, match=text):
            sim(scene, patches=patches)
