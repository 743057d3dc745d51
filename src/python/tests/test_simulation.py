# SPDX-License-Identifier: BSD-3-Clause
"""Scenes: physics, outputs, memory, threads, wrong input."""

import copy
import os
import pickle
import threading
from pathlib import Path

import numpy as np
import pytest

import sapstep
import sapstep.program

SCENES = Path(os.environ["SAPSTEP_SOURCE"]) / "examples" / "scenes"


def test_falling_box_rests():
    box = sapstep.Simulation(SCENES / "falling_box.xml", dt=0.005)
    mass = box.diagnose()["mass"]
    box.step(400)
    assert np.abs(box.v).max() < 1e-4
    contacts = box.contacts
    assert len(contacts) >= 3
    weight = contacts["gamma"][:, 2].sum() / box.dt
    assert weight == pytest.approx(mass * 9.81, rel=1e-3)
    assert np.allclose(np.abs(contacts["normal"]), [0, 0, 1], atol=1e-6)
    assert box.t == pytest.approx(2.0)
    assert box.report.outcome in ("converged", "converged_to_roundoff")


def test_state_is_a_view():
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    q = box.q
    before = q.copy()
    box.step()
    assert not np.array_equal(q, before)
    box.v = np.zeros(box.nv)
    box.v[2] = 1.0
    height = q[2]
    box.step()
    assert q[2] > height


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


def test_failed_step_leaves_the_state():
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    box.step(3)
    box.v[0] = np.nan
    q = box.q.copy()
    with pytest.raises(sapstep.Error, match="nan"):
        box.step()
    assert np.array_equal(box.q, q)
    box.v[0] = 0.0
    box.step()


@pytest.mark.parametrize(
    "arguments, text",
    [
        ({"path": "none.xml"}, "none.xml"),
        ({"path": SCENES / "falling_box.xml", "dt": -1}, "dt"),
        ({"path": SCENES / "falling_box.xml", "scheme": "euler"}, "midpoint"),
        ({"path": SCENES / "falling_box.xml", "solver": "x"}, "there is: sap"),
        ({"path": SCENES / "falling_box.xml", "keyframe": "home"}, "keyframe"),
    ],
)
def test_wrong_input(arguments, text):
    with pytest.raises(sapstep.InputError, match=text):
        sapstep.Simulation(**arguments)


def test_malformed_scene(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<mujoco><worldbody><geom type='sphere' size='-1'/></worldbody></mujoco>")
    with pytest.raises(sapstep.InputError, match="bad.xml:1"):
        sapstep.Simulation(path)


def test_program():
    done = sapstep.program.run("info", SCENES / "falling_box.xml")
    assert "bodies" in done.stdout
    assert sapstep.program.run("info", "none.xml", check=False).returncode == 3


def test_views_outlive_their_simulation():
    q = sapstep.Simulation(SCENES / "quadruped.xml").q
    before = q.copy()
    others = [np.ones(q.size) for _ in range(1000)]  # memory that was freed would be theirs
    assert np.array_equal(q, before) and len(others) == 1000


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


def test_recording(tmp_path):
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    path = tmp_path / "box.h5"
    with box.record(path, every=2):
        with pytest.raises(sapstep.InputError, match="already"):
            box.record(tmp_path / "other.h5")
        box.step(100)
    box.step()  # is not recorded
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


def test_contacts_are_of_the_last_step():
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    saved = box.save()
    assert len(box.contacts) == 0

    def fail():
        box.v[0] = np.nan
        with pytest.raises(sapstep.InputError):
            box.step()

    for undo in (box.reset, lambda: box.load(saved), fail):
        box.reset()
        box.step(400)
        contacts = box.contacts
        assert len(contacts) >= 3 and contacts.dtype == box.contacts.dtype and contacts.flags.writeable
        undo()
        assert len(box.contacts) == 0 and box.contacts.dtype == contacts.dtype
        with pytest.raises(sapstep.InputError, match="no step has been made"):
            box.contact_forces()


def test_one_thread_at_a_time():
    clutter = sapstep.Simulation(SCENES / "clutter_40.xml")
    failures = []

    def work():
        for _ in range(20):
            try:
                clutter.step(5)
            except sapstep.InputError as error:
                failures.append(str(error))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all("in use already" in failure for failure in failures)
    assert clutter.t == pytest.approx((60 - len(failures)) * 5 * clutter.dt)


def stepper_with(**options):
    system = sapstep.System()
    return sapstep.Stepper(system, [0.0], [0.0], 0.01, **options)


def test_hints():
    with pytest.raises(TypeError, match="did you mean 'scheme'"):
        sapstep.Simulation(SCENES / "quadruped.xml", shceme="midpoint")
    # Nothing is suggested that would then be refused.
    with pytest.raises(TypeError, match="unknown option 'kyframe', there is") as refused:
        stepper_with(kyframe=0)
    assert "keyframe" not in str(refused.value).split("there is")[1] and "floor" not in str(refused.value)
    with pytest.raises(TypeError, match="did you mean 'contact_stage'"):
        stepper_with(contact_stag="end")
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    with pytest.raises(sapstep.InputError, match="count = -1"):
        box.step(-1)
    assert repr(box) == "<sapstep.Simulation t=0 s, nq=7, nv=6>"
    with pytest.raises(sapstep.InputError, match="q is complex"):
        box.q = box.q * 1j
    problem = sapstep.Problem(0.01, [3])
    with pytest.raises(sapstep.InputError, match="as in {0: J}"):
        problem.add_contact(np.eye(3), 0.0)


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


def test_joints_by_name():
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    joints = [robot.joint(i) for i in range(len(robot.names("joint")))]
    assert [joint.name for joint in joints] == robot.names("joint")
    assert joints[0].type == "free" and joints[0].q == slice(0, 7) and joints[0].v == slice(0, 6)
    last = robot.joint(joints[-1].name)
    assert last.type == "hinge" and last.q.stop == robot.nq and last.v.stop == robot.nv
    # Moving it moves its body and no other body's ancestor.
    before = robot.pose(last.body)[1]
    robot.q[last.q] += 0.3
    angle = 2 * np.arccos(np.clip(abs(before @ robot.pose(last.body)[1]), 0, 1))
    assert angle == pytest.approx(0.3, abs=1e-9)
    with pytest.raises(sapstep.InputError, match="joint"):
        robot.joint(99)
    with pytest.raises(sapstep.InputError, match="there is no joint 'tail'"):
        robot.joint("tail")


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


def test_rigid_contacts_bounce():
    ball = sapstep.Simulation(SCENES / "falling_box.xml", dt=0.001, contact_law="rigid", restitution=0.5, solver="pgs-ncp")
    speeds = []
    for _ in range(1500):
        ball.step()
        speeds.append(ball.v[2])
    assert max(speeds) > 0.3 * -min(speeds)
    with pytest.raises(sapstep.InputError, match="auto, compliant, rigid"):
        sapstep.Simulation(SCENES / "falling_box.xml", contact_law="stiff")
    with pytest.raises(sapstep.InputError, match="restitution"):
        sapstep.Simulation(SCENES / "falling_box.xml", restitution=2.0)


class Sub(sapstep.Simulation):
    """Users derive from it."""


def test_copies_of_derived_classes():
    robot = Sub(SCENES / "quadruped.xml")
    robot.label = "a"
    twin = robot.copy()
    assert type(twin) is Sub and twin.label == "a"
    twin.step()
    assert robot.t == 0.0


@pytest.mark.parametrize(
    "values, text",
    [
        (None, "q is no array of numbers, but of object"),
        ("seven", "no array of numbers"),
        ([[1.0], [2.0, 3.0]], "q "),
        (np.zeros((7, 1)), r"shape \(7, 1\), must be \(7,\)"),
        (np.zeros(7, dtype="datetime64[s]"), "no array of numbers"),
        (np.zeros(7, complex), "complex"),
        ([0.0] * 6 + [None], "no array of numbers"),
    ],
)
def test_what_is_no_array(values, text):
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    before = box.q.copy()
    with pytest.raises(sapstep.InputError, match=text):
        box.q = values
    assert np.array_equal(box.q, before)


@pytest.mark.parametrize("kind", [np.float32, np.float16, np.int8, np.uint64, np.longdouble, bool, ">f8"])
def test_any_kind_of_number(kind):
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    wide = np.zeros(14, kind)
    wide[4:6] = 1
    wide[6] = 1
    box.q = wide[::2]  # not contiguous
    assert np.array_equal(box.q, [0, 0, 1, 1, 0, 0, 0])
    problem = sapstep.Problem(0.01, [2])
    A = np.array([[2, 1], [1, 3]]).astype(kind)
    problem.set_momentum(np.asfortranarray(A).T if kind is not bool else [[2, 1], [1, 3]])
    problem.set_v_star([1, 2])
    problem.add_soft({0: np.ascontiguousarray(np.arange(6).reshape(2, 3).astype(float))[:, :2]}, [0.0, 0.0])
    assert np.allclose(problem.solve().vc, 0, atol=1e-2)
