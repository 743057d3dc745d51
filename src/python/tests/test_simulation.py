# SPDX-License-Identifier: BSD-3-Clause
"""Scenes: physics, outputs, memory, threads, wrong input."""

import subprocess
import sys
import threading

import numpy as np
import pytest
from things import SCENES

import sapstep
import sapstep.program


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


def test_advance_chooses_its_steps():
    tight = sapstep.Simulation(SCENES / "double_pendulum.xml", scheme="midpoint", relative_tolerance=1e-12)
    loose = sapstep.Simulation(SCENES / "double_pendulum.xml", scheme="midpoint", relative_tolerance=1e-12)
    energy = tight.diagnose()
    energy = energy["kinetic"] + energy["potential_gravity"]
    few, _ = loose.advance(1.0, accuracy=1e-3)
    many, rejected = tight.advance(1.0, accuracy=1e-6)
    assert tight.t == loose.t == 1.0
    assert 5 < few < many / 3 and 0 <= rejected < many / 3  # order 4: 10^(3/5) times as many
    now = tight.diagnose()
    assert now["kinetic"] + now["potential_gravity"] == pytest.approx(energy, rel=1e-5)
    dt = tight.dt
    tight.step()
    assert tight.t == pytest.approx(1.0 + dt, abs=1e-15)
    with pytest.raises(sapstep.InputError, match="t = 0.5 must be > the time now"):
        tight.advance(0.5)
    with pytest.raises(sapstep.InputError, match="accuracy = 0"):
        tight.advance(2.0, accuracy=0.0)
    euler = sapstep.Simulation(SCENES / "double_pendulum.xml", scheme="implicit-euler")
    with pytest.raises(sapstep.InputError, match="needs the scheme midpoint"):
        euler.advance(1.0)


def test_advance_goes_on_bit_for_bit():
    options = {"scheme": "midpoint", "relative_tolerance": 1e-8}
    whole = sapstep.Simulation(SCENES / "quadruped.xml", **options)
    whole.advance(0.2, accuracy=1e-4)
    saved, twin = whole.save(), whole.copy()
    whole.advance(0.4, accuracy=1e-4)
    other = sapstep.Simulation(SCENES / "quadruped.xml", **options)
    other.load(saved)
    other.advance(0.4, accuracy=1e-4)
    twin.advance(0.4, accuracy=1e-4)
    assert whole.state.tobytes() == other.state.tobytes() == twin.state.tobytes()
    assert whole.save() == other.save() == twin.save()
    fixed = sapstep.Simulation(SCENES / "quadruped.xml", **options)
    fixed.step(3)
    other.load(fixed.save())  # without error control
    other.step()
    fixed.step()
    assert other.save() == fixed.save()


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
        ({"path": SCENES / "falling_box.xml", "solver": "x"}, "available: sap"),
        ({"path": SCENES / "falling_box.xml", "keyframe": "home"}, "keyframe"),
    ],
)
def test_wrong_input(arguments, text):
    with pytest.raises(sapstep.InputError, match=text):
        sapstep.Simulation(**arguments)


def test_program():
    done = sapstep.program.run("info", SCENES / "falling_box.xml")
    assert "bodies" in done.stdout
    assert sapstep.program.run("info", "none.xml", check=False).returncode == 3
    with pytest.raises(sapstep.InputError, match="cannot read 'none.xml'") as caught:
        sapstep.program.run("info", "none.xml")
    assert caught.value.status == "exit code 3"
    with pytest.raises(sapstep.InputError, match="did you mean 'info'"):
        sapstep.program.run("inof")


def test_the_console_script_becomes_the_program():
    code = "import sys, sapstep.program; sys.argv = ['sapstep', 'info', 'none.xml']; sys.exit(sapstep.program.main())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3 and done.stderr == "sapstep: cannot read 'none.xml': No such file or directory\n"


def test_views_outlive_their_simulation():
    q = sapstep.Simulation(SCENES / "quadruped.xml").q
    before = q.copy()
    others = [np.ones(q.size) for _ in range(1000)]  # memory that was freed would be theirs
    assert np.array_equal(q, before) and len(others) == 1000


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
    with pytest.raises(TypeError, match="unknown option 'kyframe', available") as refused:
        stepper_with(kyframe=0)
    assert "keyframe" not in str(refused.value).split("available")[1] and "floor" not in str(refused.value)
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


def test_reports_say_whether_they_converged():
    box = sapstep.Simulation(SCENES / "falling_box.xml")
    box.q[2] += 1.0
    box.step()
    assert box.report.outcome == "no contact" and box.report.converged
    box.reset()
    box.step(400)
    assert box.report.converged
    hurried = sapstep.Simulation(SCENES / "clutter_40.xml", time_limit=1e-9)
    reports = []
    for _ in range(30):
        hurried.step()
        reports.append(hurried.report)
    assert any(not report.converged for report in reports)
    assert all(report.converged == (report.outcome != "time_limit") for report in reports)


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


@pytest.mark.parametrize(
    "values, text",
    [
        (None, "q is not an array of numbers, but of object"),
        ("seven", "not an array of numbers"),
        ([[1.0], [2.0, 3.0]], "q "),
        (np.zeros((7, 1)), r"shape \(7, 1\), must be \(7,\)"),
        (np.zeros(7, dtype="datetime64[s]"), "not an array of numbers"),
        (np.zeros(7, complex), "complex"),
        ([0.0] * 6 + [None], "not an array of numbers"),
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
    problem.add_compliant({0: np.ascontiguousarray(np.arange(6).reshape(2, 3).astype(float))[:, :2]}, [0.0, 0.0])
    assert np.allclose(problem.solve().vc, 0, atol=1e-2)
