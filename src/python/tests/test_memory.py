# SPDX-License-Identifier: BSD-3-Clause
"""What outlasts a step: saved states, checkpoints, copies, recordings."""

import copy
import pickle

import numpy as np
import pytest
from things import SCENES

import sapstep
import sapstep.program


def test_save_load_forget():
    first = sapstep.Simulation(SCENES / "quadruped.xml", dt=0.01)
    second = sapstep.Simulation(SCENES / "quadruped.xml", dt=0.01)
    first.step(100)
    saved = first.save()
    first.step(50)
    second.load(saved)
    assert second.t == pytest.approx(1.0)
    second.step(50)
    assert np.array_equal(first.q, second.q) and np.array_equal(first.v, second.v)
    with pytest.raises(sapstep.InputError):
        second.load(saved[:-3])
    first.q, first.v = second.q, second.v
    first.forget()
    second.forget()
    first.step()
    second.step()
    assert np.array_equal(first.v, second.v)


def test_checkpoint(tmp_path):
    first = sapstep.Simulation(SCENES / "clutter_40.xml", dt=0.01)
    first.step(40)
    first.write_checkpoint(tmp_path / "a", 40)
    second = sapstep.Simulation(SCENES / "clutter_40.xml", dt=0.01)
    assert second.read_checkpoint(tmp_path / "a") == 40
    first.step(10)
    second.step(10)
    assert np.array_equal(first.q, second.q)


def test_copies_go_on_bit_for_bit():
    first = sapstep.Simulation(SCENES / "quadruped.xml", scheme="midpoint")
    first.dt = 0.004
    first.step(50)
    twins = [first.copy(), copy.copy(first), copy.deepcopy(first)]
    for simulation in [first, *twins]:
        simulation.step(50)
    for twin in twins:
        assert twin.dt == 0.004 and twin.t == first.t
        assert np.array_equal(twin.q, first.q) and np.array_equal(twin.v, first.v)
    twins[0].step()
    assert not np.array_equal(twins[0].q, first.q)
    with pytest.raises(TypeError, match="cannot be pickled"):
        pickle.dumps(first)


class Sub(sapstep.Simulation):
    """Users derive from it."""


def test_copies_of_derived_classes():
    robot = Sub(SCENES / "quadruped.xml")
    robot.label = "a"
    twin = robot.copy()
    assert type(twin) is Sub and twin.label == "a"
    twin.step()
    assert robot.t == 0.0


def test_recording(tmp_path):
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    path = tmp_path / "box.h5"
    with box.record(path, every=2):
        with pytest.raises(sapstep.InputError, match="already"):
            box.record(tmp_path / "other.h5")
        box.step(100)
    box.step(10)  # are not recorded
    lines = sapstep.program.run("export", path, "q").stdout.splitlines()
    assert len(lines) == 1 + 1 + 50
    last = [float(x) for x in lines[-1].split(",")]
    assert last[0] == pytest.approx(100 * box.dt)
    again = box.record(tmp_path / "again.h5")
    box.step()
    again.close()
    again.close()
    with pytest.raises(sapstep.InputError, match="No such file"):
        box.record(tmp_path / "nowhere" / "a.h5")
    with pytest.raises(sapstep.InputError, match="every = 0"):
        box.record(path, every=0)


@pytest.mark.parametrize("every", [1, 3, 1000])
def test_recordings_do_not_depend_on_calls(tmp_path, every):
    rows = []
    for name, calls in (("one", [120]), ("many", [1] * 120), ("some", [7] * 16 + [0, 8])):
        robot = sapstep.Simulation(SCENES / "quadruped.xml")
        with robot.record(tmp_path / name, every=every):
            for count in calls:
                robot.step(count)
        rows.append(sapstep.program.run("export", tmp_path / name, "q", "step:newton_iterations").stdout)
    assert rows[0] == rows[1] == rows[2]
    assert len(rows[0].splitlines()) == 1 + 1 + 120 // every


def test_a_step_that_fails_is_no_row(tmp_path):
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    with robot.record(tmp_path / "a.h5"):
        robot.step(5)
        robot.v[0] = np.inf
        with pytest.raises(sapstep.InputError, match="inf"):
            robot.step(5)
        robot.v[0] = 0.0
        robot.step(5)
    assert len(sapstep.program.run("export", tmp_path / "a.h5", "q").stdout.splitlines()) == 1 + 1 + 10


def test_state_as_one_vector():
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    robot.step(5)
    vector = robot.state
    assert vector.shape == (1 + robot.nq + robot.nv,) and vector[0] == robot.t
    other = sapstep.Simulation(SCENES / "quadruped.xml")
    other.state = vector
    assert np.array_equal(other.q, robot.q) and np.array_equal(other.v, robot.v) and other.t == robot.t
    with pytest.raises(sapstep.InputError, match="state has shape"):
        robot.state = vector[1:]
