# SPDX-License-Identifier: BSD-3-Clause
"""Compiled models as MJCF, read back to the same bits."""

import numpy as np
import pytest

import sapstep
from things import SCENES

MODEL = """<mujoco model="all"><option gravity="0 0.1 -9.7" timestep="0.003"/>
<custom><numeric name="sapstep:stiffness" data="123456.7"/><text name="sapstep:contact_model:tip" data="lagged"/></custom>
<worldbody><geom type="plane" size="1 1 1" euler="3 2 1" friction="0.7 0.01 0.001"/>
<body name="a" pos="0.1 0.2 0.7" euler="10 20 30"><freejoint name="root"/>
  <geom type="box" size="0.1 0.2 0.05" density="300" pos="0.01 0.02 0.03" euler="1 2 3" rgba="0.2 0.3 0.4 1"/>
  <body name="b" pos="0.3 0 0.1" axisangle="1 2 3 40"><joint name="elbow" axis="1 1 0.3" range="-30 70" damping="0.3"
    stiffness="2" springref="7" armature="0.01" frictionloss="0.02"/>
    <geom name="tip" type="capsule" size="0.03 0.1" pos="0 0 0.1" condim="6" priority="1"/>
    <geom type="ellipsoid" size="0.03 0.1 0.02" pos="0.1 0 0.1" contype="2" margin="0.001"/>
    <body pos="0 0 0.3"><joint type="ball" range="0 50"/><joint name="rail" type="slide" axis="0 1 0"/>
      <geom type="cylinder" size="0.03 0.1" mass="0.3"/><geom type="sphere" size="0.07" pos="0 0.1 0"/></body></body></body>
</worldbody><contact><exclude body1="a" body2="b"/></contact>
<actuator><position joint="elbow" kp="20" ctrlrange="-1 1"/><motor joint="rail" gear="3" forcerange="-2 4" name="push"/></actuator>
</mujoco>"""


def steps(simulation):
    simulation.control = 0.3 * np.ones(simulation.nu)
    simulation.step(300)
    return simulation.state.tobytes()


def test_a_model_comes_back_to_the_same_bits(tmp_path):
    (tmp_path / "a.xml").write_text(MODEL)
    one = sapstep.Simulation(tmp_path / "a.xml")
    one.save_mjcf(tmp_path / "b.xml")
    two = sapstep.Simulation(tmp_path / "b.xml")
    assert two.names("joint") == ["root", "elbow", "joint 2", "rail"] and two.names("actuator")[1] == "push"
    assert steps(one) == steps(two)
    two.save_mjcf(tmp_path / "c.xml")
    assert (tmp_path / "b.xml").read_text() == (tmp_path / "c.xml").read_text()


@pytest.mark.parametrize("name", ["quadruped", "clutter_40", "double_pendulum", "falling_box", "sliding_box", "cart_pole"])
def test_scenes_come_back_to_the_same_bits(name, tmp_path):
    one = sapstep.Simulation(SCENES / f"{name}.xml")
    one.save_mjcf(tmp_path / "b.xml")
    assert steps(one) == steps(sapstep.Simulation(tmp_path / "b.xml"))


COUPLED = """<mujoco><asset><mesh name="wedge" vertex="0 0 0 0.1 0 0 0 0.1 0 0 0 0.1 0.03 0.03 0.03 0.02 0.01 0.01"/></asset>
<worldbody><geom type="plane" size="1 1 1"/><site name="hook" pos="0 0 1"/>
<body name="a" pos="0 0 0.8"><joint name="swing" axis="0 1 0" solreflimit="-1234 -5" limited="true" range="-40 40"/>
  <geom type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/><site name="tip" pos="0.3 0 0" euler="10 20 30"/>
  <geom name="drum" type="sphere" size="0.03" pos="0.15 0 0.06"/>
  <body name="b" pos="0.3 0 0"><joint name="knee" axis="0 1 0"/><geom type="capsule" size="0.02" fromto="0 0 0 0.2 0 0"/>
    <site name="toe" pos="0.2 0 0"/></body></body>
<body name="c" pos="0.5 0 0.3" euler="10 20 30"><freejoint/><geom type="mesh" mesh="wedge"/></body>
<body name="d" pos="0.8 0 0.3"><joint name="slide" type="slide" axis="0 0 1"/><geom size="0.05"/></body>
<body name="e" pos="1 0 0.5"><freejoint/><geom size="0.04"/></body></worldbody>
<tendon><fixed name="sum" stiffness="3" damping="0.1"><joint joint="swing" coef="1"/><joint joint="knee" coef="-0.5"/></fixed>
  <spatial name="rope" range="0 0.9" stiffness="20" springlength="0.1 0.4"><site site="hook"/><geom geom="drum"/><site site="tip"/>
    <pulley divisor="2"/><site site="tip"/><site site="toe"/></spatial></tendon>
<equality><joint joint1="slide" joint2="knee" polycoef="0 0.1"/><connect body1="d" body2="e" anchor="0.1 0 0.1" solref="-5000 -20"/></equality>
<actuator><motor tendon="sum" gear="2"/><general name="act" joint="knee" dyntype="filter" dynprm="0.05" gainprm="3" actrange="-1 1"/>
  <muscle tendon="rope" lengthrange="0.2 0.8"/><general site="toe" gear="0 0 1 0 0.1 0" refsite="hook"/></actuator>
<sensor><gyro site="tip" name="g"/><jointpos joint="knee"/><tendonpos tendon="rope"/><framepos objtype="site" objname="toe" reftype="xbody"
  refname="a"/><framequat objtype="geom" objname="drum"/><subtreecom body="a"/><touch site="toe"/><clock/></sensor>
<keyframe><key name="k" qpos="0.1 0.2 0.5 0 0.4 0.6 0.2 0.3 0.4 0.1 1 0 0.5 1 0 0 0" act="0.1 0.2"/></keyframe></mujoco>"""


def test_couplings_come_back_to_the_same_bits(tmp_path):
    one = sapstep.Simulation.from_string(COUPLED)
    one.save_mjcf(tmp_path / "b.xml")
    two = sapstep.Simulation(tmp_path / "b.xml")
    assert steps(one) == steps(two)
    assert one.names("sensor")[0] == "g" and [two.sensor(k).tolist() for k in range(8)] == [one.sensor(k).tolist() for k in range(8)]
    two.save_mjcf(tmp_path / "c.xml")
    assert steps(sapstep.Simulation(tmp_path / "c.xml")) == steps(sapstep.Simulation(tmp_path / "b.xml"))


def test_a_urdf_comes_back_as_mjcf(tmp_path):
    urdf = """<robot name="r"><link name="l"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
      </inertial><collision><geometry><box size="0.1 0.2 0.3"/></geometry></collision></link></robot>"""
    one = sapstep.Simulation.from_string(urdf, floating_base=True)
    one.save_mjcf(tmp_path / "u.xml")
    assert steps(one) == steps(sapstep.Simulation(tmp_path / "u.xml", dt=one.dt))


def test_what_is_not_saved_is_named(tmp_path):
    pairs = MODEL.replace("<exclude", "<pair geom1='tip' geom2='box'/><exclude").replace('type="box"', 'type="box" name="box"')
    with pytest.raises(sapstep.InputError, match="it has 1 contact pairs"):
        sapstep.Simulation.from_string(pairs).save_mjcf(tmp_path / "t.xml")
    with pytest.raises(sapstep.InputError, match="MJCF does not hold body a: q_BI"):  # axes of drag
        sapstep.Simulation.from_string(MODEL.replace("timestep", 'density="1.2" timestep')).save_mjcf(tmp_path / "d.xml")
    assert list(tmp_path.iterdir()) == []


def test_a_model_built_in_python(tmp_path):
    model = sapstep.Model("pendulum", timestep=0.01)
    arm = model.world.body("arm", pos=[0, 0, 1]).joint("hinge", "pivot", axis=[0, 1, 0], damping=0.1)
    arm.geom("capsule", "rod", fromto=[0, 0, 0, 0.5, 0, 0], size=0.02).site("tip", pos=[0.5, 0, 0])
    arm.body("ball", pos=[0.5, 0, 0]).geom("sphere", "head", size=0.05, stiffness=1e5)
    model.world.geom("plane", size=[1, 1, 1], pos=[0, 0, 0.4])
    model.actuator("position", joint="pivot", kp=2)
    model.add("sensor", "framepos", name="tip", objtype="site", objname="tip")
    robot = model.simulation(scheme="midpoint")
    model.save(tmp_path / "p.xml")
    assert steps(robot) == steps(sapstep.Simulation(tmp_path / "p.xml", scheme="midpoint"))
    assert robot.nu == 1 and robot.sensor("tip").shape == (3,) and robot.joint("pivot").type == "hinge"
    assert 'sapstep:stiffness:head' in model.text()
    with pytest.raises(sapstep.InputError, match="needs a name"):
        arm.geom("sphere", size=1, stiffness=1e5)
    with pytest.raises(sapstep.InputError, match="sise"):  # the reader's message
        sapstep.Model().world.body().geom("sphere", sise=1)._model.simulation()
