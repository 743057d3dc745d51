# SPDX-License-Identifier: BSD-3-Clause
"""Sensors, sites, rays and the poses of all bodies."""

import numpy as np
import pytest

import sapstep

SCENE = """<mujoco><worldbody><geom name='floor' type='plane' size='0 0 1'/>
<body name='box' pos='0 0 1'><freejoint/><geom name='box' type='box' size='.1 .1 .1'/>
<site name='imu' pos='.1 0 .05' euler='0 0 90'/>
<body name='arm' pos='0 0 .2'><joint name='hinge' axis='0 1 0'/><geom size='.05' contype='0' conaffinity='0'/>
</body></body></worldbody>
<sensor><accelerometer name='acc' site='imu'/><gyro name='gyro' site='imu'/><framepos name='place' objtype='site'
objname='imu'/><jointpos name='angle' joint='hinge'/><clock name='time'/></sensor></mujoco>"""


def test_values_by_name():
    robot = sapstep.Simulation.from_string(SCENE, dt=1e-3)
    robot.v[:] = [0.3, 0, 0, 0.5, 1.0, -0.7, 0.2]
    assert robot.names("sensor") == ["acc", "gyro", "place", "angle", "time"]
    assert np.all(robot.sensor("acc") == 0)  # no step yet
    turn = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1.0]])  # site in body
    assert robot.sensor("gyro") == pytest.approx(turn.T @ [0.5, 1.0, -0.7], abs=1e-15)
    before = robot.site("imu").velocity
    robot.step()
    # First order: (change of the point's velocity)/dt less gravity, in the site's axes.
    expected = robot.site("imu").rotation.T @ ((robot.site("imu").velocity - before) / 1e-3 + [0, 0, 9.81])
    assert robot.sensor("acc") == pytest.approx(expected, abs=5e-3)
    assert robot.sensor("place") == pytest.approx(robot.site("imu").position, abs=1e-15)
    assert robot.sensor("time") == [robot.t] and robot.sensor(3) == [robot.joint("hinge").q]
    assert robot.sensors.shape == (11,)
    with pytest.raises(sapstep.InputError, match="did you mean 'gyro'"):
        robot.sensor("gyr")
    with pytest.raises(AttributeError, match="sensors"):
        robot.sensordata


def test_poses_of_all_bodies():
    robot = sapstep.Simulation.from_string(SCENE, dt=1e-3)
    robot.v[:] = [0.3, 0, 0, 0.5, 1.0, -0.7, 0.2]
    robot.step(20)
    assert robot.positions.shape == (3, 3) and robot.rotations.shape == (3, 3, 3)
    for i, name in enumerate(robot.names("body")):
        assert robot.positions[i] == pytest.approx(robot.body(name).position, abs=0)
        assert robot.rotations[i] == pytest.approx(robot.body(name).rotation, abs=1e-15)


def test_site_moves_with_its_body():
    robot = sapstep.Simulation.from_string(SCENE)
    assert robot.site("imu").position == pytest.approx([0.1, 0, 1.05], abs=1e-15)
    robot.q[3:7] = [np.sqrt(0.5), 0, 0, np.sqrt(0.5)]  # 90 degrees about z
    assert robot.site("imu").position == pytest.approx([0, 0.1, 1.05], abs=1e-15)
    assert robot.site("imu").rotation[:, 0] == pytest.approx([-1, 0, 0], abs=1e-15)
    assert robot.site("imu").body == robot.find("body", "box")


def test_ray():
    robot = sapstep.Simulation.from_string(SCENE)
    assert robot.ray([0.05, 0.02, 3], [0, 0, -2]) == (pytest.approx(1.9), 1)  # beside the arm's ball
    assert robot.ray([0, 0, 3], [0, 0, -2]) == (pytest.approx(1.75), 2)
    assert robot.ray([0.05, 0.02, 3], [0, 0, -1], "box") == (pytest.approx(3), 0)
    assert robot.ray([0, 0, 3], [0, 0, 1]) == (-1, -1)
    with pytest.raises(sapstep.InputError, match="direction"):
        robot.ray([0, 0, 3], [0, 0, 0])


def test_recorded(tmp_path):
    pytest.importorskip("h5py")
    robot = sapstep.Simulation.from_string(SCENE, dt=1e-3)
    robot.v[:] = [0.3, 0, 0, 0.5, 1.0, -0.7, 0.2]
    with robot.record(tmp_path / "run.h5"):
        robot.step(5)
    run = sapstep.Recording(tmp_path / "run.h5")
    assert run["sensor"].shape == (6, 11)
    assert run.columns("sensor")[:2] == ["acc:0", "acc:1"] and run.columns("sensor")[-2:] == ["angle", "time"]
    assert np.array_equal(run["sensor"][-1], robot.sensors)
    assert np.array_equal(run["sensor/time"], run.time)
    out = sapstep.program.run("export", str(tmp_path / "run.h5"), "sensor:place")
    assert out.stdout.splitlines()[0] == "t_s,sensor_place_0,sensor_place_1,sensor_place_2"
