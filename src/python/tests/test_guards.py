# SPDX-License-Identifier: BSD-3-Clause
"""Nobody touches a C object that works for somebody else, or that is gone."""

import copy
import gc
import pickle
import threading
import time

import numpy as np
import pytest
from things import EYE, SCENES, Ball, adapter, problem, recorder, stepper

import sapstep


STATE = {
    "step": lambda o: o.step(), "advance": lambda o: o.advance(9.0), "forget": lambda o: o.forget(), "save": lambda o: o.save(),
    "load": lambda o: o.load(bytes(1000)), "report": lambda o: o.report, "state": lambda o: o.state,
    "state=": lambda o: setattr(o, "state", np.zeros(1 + o.q.size + o.v.size)),
    "t=": lambda o: setattr(o, "t", 1.0), "q=": lambda o: setattr(o, "q", o.q.copy()),
    "v=": lambda o: setattr(o, "v", o.v.copy()), "act=": lambda o: setattr(o, "act", o.act.copy()),
    "dt=": lambda o: setattr(o, "dt", 0.01),
}
# Views of memory that is never given back, and what never changes.
STATE_FREE = {"t", "q", "v", "act", "dt", "__repr__", "__reduce_ex__"}
VIEW = {
    "nrows": lambda o: o.nrows, "add_contact": lambda o: o.add_contact(EYE, 0.0),
    "add_compliant": lambda o: o.add_compliant(EYE, np.zeros(3)),
    "add_block": lambda o: o.add_block("free", EYE, np.ones(3), np.zeros(3)),
}
# Public members of a class: how to call them, and which need no lock.
PUBLIC = {
    "Simulation": ({
        **STATE, "copy": lambda o: o.copy(), "__copy__": copy.copy, "__deepcopy__": copy.deepcopy,
        "reset": lambda o: o.reset(), "control=": lambda o: setattr(o, "control", o.control),
        "apply": lambda o: o.apply(None), "push": lambda o: o.push(1), "pose": lambda o: o.pose(1),
        "jacobian": lambda o: o.jacobian(1), "diagnose": lambda o: o.diagnose(), "contacts": lambda o: o.contacts,
        "constraint_forces": lambda o: o.constraint_forces(), "contact_forces": lambda o: o.contact_forces(),
        "actuator_forces": lambda o: o.actuator_forces(), "accelerations": lambda o: o.accelerations(),
        "joint_reaction": lambda o: o.joint_reaction(1),
        "record": lambda o: o.record("never.h5"), "write_checkpoint": lambda o: o.write_checkpoint("never"),
        "read_checkpoint": lambda o: o.read_checkpoint(SCENES / "quadruped.xml"),
        "ctrl=": lambda o: setattr(o, "ctrl", o.control), "rollout": lambda o: o.rollout(steps=1),
        "ray": lambda o: o.ray([0, 0, 3], [0, 0, -1]), "sensors": lambda o: o.sensors,
        "positions": lambda o: o.positions, "rotations": lambda o: o.rotations,
        "linearize": lambda o: o.linearize(), "vjp": lambda o: o.vjp(),
    }, STATE_FREE | {"nq", "nv", "nu", "control", "ctrl", "names", "linearize_report", "find", "save_mjcf", "body", "joint", "actuator", "site", "sensor",
                     "from_string", "__init__"}),
    "Stepper": (STATE, STATE_FREE | {"__init__"}),
    "Problem": ({
        **VIEW, "set_momentum": lambda o: o.set_momentum(np.eye(3)), "set_v_star": lambda o: o.set_v_star(np.ones(3)),
        "set_v_guess": lambda o: o.set_v_guess(np.ones(3)), "solve": lambda o: o.solve(),
        "residuals": lambda o: o.residuals(np.ones(3), np.ones(3)),
    }, {"nv", "__repr__", "__reduce_ex__", "__init__"}),
    "Recorder": ({"close": lambda o: o.close(), "__exit__": lambda o: o.__exit__(), "__repr__": repr},
                 {"__enter__", "__reduce_ex__", "__init__"}),
    "Adapter": ({
        "step": lambda o: o.step(o.data), "forward": lambda o: o.forward(o.data),
        "set_geom": lambda o: o.set_geom(0, 1e5, 0.01), "forget": lambda o: o.forget(), "report": lambda o: o.report,
    }, {"__repr__", "__reduce_ex__", "__init__"}),
}


def make(name, tmp_path):
    makers = {"Simulation": lambda: sapstep.Simulation(SCENES / "quadruped.xml"), "Stepper": stepper,
              "Problem": problem, "Recorder": lambda: recorder(tmp_path), "Adapter": adapter}
    return makers[name]()


def members(of):
    """All that users reach, and that is ours; properties that can be set twice."""
    for cls in of.__mro__:
        if cls.__module__.startswith("sapstep"):
            for name, value in vars(cls).items():
                special = name.startswith("__") and callable(value)
                if (special or not name.startswith("_")) and name not in ("__getattr__", "__setattr__"):
                    yield name
                    if isinstance(value, property) and value.fset is not None:
                        yield name + "="


@pytest.mark.filterwarnings("ignore:'ctrl'")
@pytest.mark.parametrize("name", PUBLIC)
def test_every_member_takes_its_turn(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    thing = make(name, tmp_path)
    calls, free = PUBLIC[name]
    assert set(members(type(thing))) == set(calls) | free
    if name in ("Simulation", "Stepper"):
        thing.step()
    with thing._c:  # as in a callback
        for act in calls.values():
            with pytest.raises(sapstep.InputError, match="in use already"):
                act(thing)
    assert not list(tmp_path.glob("never*"))
    holds, done = threading.Event(), threading.Event()

    def hold():
        with thing._c:
            holds.set()
            done.wait(10)

    other = threading.Thread(target=hold)
    other.start()
    assert holds.wait(10)
    for act in calls.values():
        with pytest.raises(sapstep.InputError, match="in use already"):
            act(thing)
    done.set()
    other.join()
    for what, act in calls.items():
        try:
            act(thing)
        except sapstep.Error as error:
            assert "in use" not in str(error), what
    thing._c.close()
    for what, act in calls.items():
        with pytest.raises(sapstep.InputError, match="is closed"):
            act(thing)
    repr(thing) if name != "Recorder" else None


def hammer(*work, seconds=0.6):
    """All at once, again and again; only "in use" may be in their way."""
    until = time.monotonic() + seconds
    wrong = []

    def run(act):
        while time.monotonic() < until:
            try:
                act()
            except sapstep.Error as error:
                if "in use" not in str(error) and "already" not in str(error):
                    wrong.append(error)
                    return
            except BaseException as error:
                wrong.append(error)
                return

    threads = [threading.Thread(target=run, args=(act,)) for act in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong, wrong


def test_threads_at_one_simulation(tmp_path):
    robot = sapstep.Simulation(SCENES / "clutter_40.xml")
    robot.step()
    saved = robot.save()

    def record():
        with robot.record(tmp_path / "a.h5"):
            robot.step(2)

    hammer(lambda: robot.step(3), record, lambda: robot.contacts, lambda: robot.load(saved), robot.copy,
           robot.forget, lambda: setattr(robot, "dt", 0.002), robot.reset,
           lambda: robot.write_checkpoint(tmp_path / "c"))
    again = sapstep.Simulation(SCENES / "clutter_40.xml", dt=robot.dt)
    for each in (robot, again):
        each.reset()
        each.step(20)
    assert np.array_equal(robot.q, again.q)


def test_threads_at_one_problem():
    shared = problem()

    def add():
        if shared.nrows < 300:
            shared.add_contact(EYE, 0.0)

    hammer(shared.solve, shared.solve, add, lambda: shared.set_v_star([0.1, 0, -1]),
           lambda: shared.residuals(np.zeros(3), np.zeros(shared.nrows)) if shared.nrows == 300 else None)
    assert shared.solve().converged


def test_a_callback_cannot_step_its_stepper():
    class Greedy(Ball):
        def forces(self, t, q, v):
            self.mine.step()
            return super().forces(t, q, v)

    greedy = Greedy()
    greedy.mine = sapstep.Stepper(greedy, np.zeros(3), np.zeros(3), 1e-3)
    with pytest.raises(sapstep.InputError, match="callback of its own"):
        greedy.mine.step()


def test_a_view_is_over_with_its_callback():
    class Keeper(Ball):
        def constraints(self, step, problem):
            self.kept = problem
            super().constraints(step, problem)

    keeper = Keeper()
    lone = sapstep.Stepper(keeper, np.zeros(3), np.zeros(3), 1e-3)
    lone.step()
    assert keeper.kept.nv == 3
    for act in VIEW.values():
        with pytest.raises(sapstep.InputError, match="is closed"):
            act(keeper.kept)
    lone.step()


def test_cycles_are_collected(tmp_path):
    for _ in range(3):
        robot = sapstep.Simulation(SCENES / "quadruped.xml")
        robot.me, robot.recorder = robot, robot.record(tmp_path / "a.h5")
        robot.step()
        lone = stepper()
        lone._user.mine = lone
        lone.step()
        del robot, lone
        gc.collect()
    assert not [o for o in gc.get_objects() if isinstance(o, sapstep.Stepper)]


def test_a_recorder_keeps_what_it_records(tmp_path):
    old = sapstep.Simulation(SCENES / "quadruped.xml")
    first = old.record(tmp_path / "a.h5")
    first.close()
    second = old.record(tmp_path / "b.h5")
    first.close()  # closed: the second continues
    assert "b.h5', recording>" in repr(second) and "a.h5', closed>" in repr(first)
    old.step()
    del old
    gc.collect()
    second.close()
    assert (tmp_path / "b.h5").stat().st_size > 0


@pytest.mark.parametrize("name", ["Stepper", "Problem", "Recorder", "Adapter"])
def test_no_copies_no_pickles(name, tmp_path):
    thing = make(name, tmp_path)
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match=f"an? {name} cannot be copied or pickled"):
            act(thing)
    error = pickle.loads(pickle.dumps(sapstep.InputError("so", "not finite")))
    assert str(error) == "so" and error.status == "not finite"
