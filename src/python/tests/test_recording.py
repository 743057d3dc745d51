# SPDX-License-Identifier: BSD-3-Clause
"""Recordings read as arrays."""

import numpy as np
import pytest
from test_elements import arm
from things import SCENES

import sapstep

h5py = pytest.importorskip("h5py")


@pytest.fixture
def run(tmp_path):
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    states, contacts = [robot.state], []
    with robot.record(tmp_path / "run.h5"):
        for _ in range(150):
            robot.step()
            states.append(robot.state)
            contacts.append(robot.contacts)
    with sapstep.Recording(tmp_path / "run.h5") as found:
        yield robot, np.array(states), contacts, found


def test_arrays_are_those_of_the_run(run):
    robot, states, contacts, found = run
    assert len(found) == 151 and np.array_equal(found.time, states[:, 0])
    assert np.array_equal(found["q"], states[:, 1:1 + robot.nq]) and np.array_equal(found["v"], states[:, 1 + robot.nq:])
    trunk = found.names("body").index("trunk")
    assert found["pose"].shape == (151, len(robot.names("body")), 7)
    assert np.allclose(found["pose"][-1, trunk, :3], robot.body("trunk").position, atol=1e-6)
    assert any(len(row) for row in contacts)
    for row in (1, 100, 150, -1):
        ours = found.contacts(row)
        assert np.array_equal(ours["impulse"], contacts[row - 1 if row > 0 else row]["gamma"][:, :3])
        assert np.array_equal(ours["point"], contacts[row - 1 if row > 0 else row]["point"])
    assert len(found.iterations(150)["value"]) > 0
    with pytest.raises(IndexError):
        found.contacts(151)


def test_names_and_units(run):
    robot, states, _, found = run
    assert found.units("energy") == "J" and found.columns("energy") == ["kinetic", "gravity", "springs"]
    assert np.array_equal(found["energy/kinetic"], found["energy"][:, 0])
    knee = robot.joint("fl_knee")
    assert np.array_equal(found["q/fl_knee"], found["q"][:, knee.q_slice.start])
    root = robot.joint(0).name or "joint0"
    assert found.columns("q")[:7] == [f"{root}.{c}" for c in ("x", "y", "z", "qw", "qx", "qy", "qz")]
    # The third velocity of a free joint is the rate of its height.
    fall = found[f"v/{root}.vz"]
    assert np.allclose(np.diff(found[f"q/{root}.z"])[:20] / np.diff(found.time)[:20], fall[1:21])
    with pytest.raises(KeyError, match="did you mean 'energy'"):
        found["enrgy"]
    with pytest.raises(KeyError, match="did you mean 'time'"):
        found["t"]
    with pytest.raises(sapstep.InputError, match="body, joint"):
        found.names("wheel")
    assert "151 rows" in repr(found) and "q" in found.keys() and "contact/impulse" in list(found)


def test_pandas(run):
    pytest.importorskip("pandas")
    robot, states, _, found = run
    frame = found.to_pandas("energy", "q", "step/newton_iterations")
    assert np.array_equal(frame["energy/kinetic"], found["energy"][:, 0]) and frame.index.name == "time [s]"
    assert frame.attrs["units"]["energy/kinetic"] == "J" and np.array_equal(frame["q/fl_knee"], found["q/fl_knee"])
    assert np.array_equal(frame["step/newton_iterations"], found["step"][:, 0])
    assert len(found.to_pandas()) == 151


def test_xarray(run):
    pytest.importorskip("xarray")
    robot, states, _, found = run
    data = found.to_xarray()
    assert np.array_equal(data.q.sel(q_column="fl_knee"), found["q/fl_knee"]) and data.q.units == "m, rad"
    assert float(data.pose.sel(body="trunk", pose_column="z")[-1]) == pytest.approx(robot.body("trunk").position[2], 1e-6)
    assert list(found.to_xarray("v").data_vars) == ["v"] and data.time.units == "s"


def test_actuators(tmp_path):
    robot = arm()
    robot.control = [1.5]
    with robot.record(tmp_path / "arm.h5"):
        robot.step(3)
    with sapstep.Recording(tmp_path / "arm.h5") as found:
        assert np.array_equal(found["actuator/force/motor"][1:], [1.5] * 3)


def test_other_files(tmp_path):
    (tmp_path / "text.h5").write_text("no")
    with h5py.File(tmp_path / "other.h5", "w") as other:
        other["time"] = [0.0]
    for name, told in (("text.h5", "is not a recording"), ("other.h5", "not a recording of sapstep")):
        with pytest.raises(sapstep.InputError, match=told):
            sapstep.Recording(tmp_path / name)
    with pytest.raises(FileNotFoundError, match="none.h5"):
        sapstep.Recording(tmp_path / "none.h5")


def test_visual_meshes(tmp_path):
    """Recordings show visual meshes; the simulation does not know them."""
    text = """<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 2 0 0 0 3' face='0 2 1 0 1 3 0 3 2 1 2 3'/>
    <mesh name='gone' file='/nowhere/a.stl'/><material name='red' rgba='1 0 0 .5'/><material name='plain'/></asset>
    <worldbody><body name='b' pos='0 0 1'><freejoint/><geom name='g' size='.1'/>
    <geom type='mesh' mesh='m' contype='0' conaffinity='0' material='red' pos='.1 .2 .3' mass='0'/>
    <geom type='mesh' mesh='m' contype='0' conaffinity='0' material='plain' mass='0'/>
    <geom type='mesh' mesh='gone' contype='0' conaffinity='0' mass='0'/>
    <geom size='.2' contype='0' conaffinity='0' mass='0'/></body></worldbody></mujoco>"""
    robot = sapstep.Simulation.from_string(text)
    assert robot.names("shape") == ["g", ""] and robot.names("mesh") == []
    with robot.record(tmp_path / "a.h5"):
        robot.step()
    with h5py.File(tmp_path / "a.h5") as file:
        shapes, meshes = file["model/shape"][:], file["model/mesh"][:]
        assert shapes[:, 0].tolist() == [1, 1, 6, 6] and shapes[:, 3].tolist() == [1, 0, 0, 0]  # type, collides
        assert np.allclose(shapes[2, 7:10], [0.1, 0.2, 0.3]) and shapes[2, 14:].tolist() == [1, 0, 0, 0.5]
        assert shapes[3, 14:].tolist() == [1, 1, 1, 1]  # MuJoCo's default
        assert meshes.tolist() == [[0, 4, 0, 4]] and shapes[2:, 2].tolist() == [0, 0]
        assert file["model/vertex"][:].tolist() == [[0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 3]]
        assert file["model/triangle"][3].tolist() == [1, 2, 3]
