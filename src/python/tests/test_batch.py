# SPDX-License-Identifier: BSD-3-Clause
"""Many simulations at once: bits, errors, threads."""

import os
import subprocess
import sys

import numpy as np
import pytest
from things import SCENES, Ball, stepper

import sapstep


def test_threads_do_not_matter():
    def fleet():
        robots = [sapstep.Simulation(SCENES / "quadruped.xml", dt=0.01) for _ in range(4)]
        for i, robot in enumerate(robots):
            robot.v[0] = 0.1 * i
        return robots

    one, many = fleet(), fleet()
    sapstep.step_all(one, 60, threads=1)
    sapstep.step_all(many, 60, threads=4)
    for a, b in zip(one, many):
        assert np.array_equal(a.q, b.q)
    with pytest.raises(sapstep.InputError, match="twice"):
        sapstep.step_all([one[0], one[0]])


def test_one_fails_the_others_go_on():
    robots = [sapstep.Simulation(SCENES / "falling_box.xml") for _ in range(4)]
    lone = robots[0].copy()
    lone.step(30)
    robots[1].v[0] = np.inf
    robots[3].v[2] = np.nan
    frozen = robots[1].state
    for threads in (1, 3):
        with pytest.raises(sapstep.InputError, match="simulation 1: .*inf") as caught:
            sapstep.step_all(robots, 15, threads=threads)
        assert caught.value.status == "value is not finite"
    assert np.array_equal(robots[1].state, frozen)
    for robot in (robots[0], robots[2]):
        assert np.array_equal(robot.state, lone.state)

    class Wrong(sapstep.System):
        def mass_matrix(self, q):
            raise KeyError("motor")

    wrong = sapstep.Stepper(Wrong(), [0.0], [0.0], 0.01)
    with pytest.raises(KeyError, match="motor"):
        sapstep.step_all([robots[0], wrong, robots[2]], 3, threads=2)
    assert robots[2].t == pytest.approx(33 * lone.dt)
    sapstep.step_all([])
    with pytest.raises(TypeError, match="simulation 1 must be a Simulation or Stepper, not str"):
        sapstep.step_all([robots[0], "robot"])
    with pytest.raises(sapstep.InputError, match="threads = 0"):
        sapstep.step_all(robots, threads=0)


def test_refused_before_anything_moves():
    robots = [sapstep.Simulation(SCENES / "falling_box.xml") for _ in range(3)]
    with robots[1]._c:  # as in a callback
        with pytest.raises(sapstep.InputError, match="simulation 1: this Simulation is in use"):
            sapstep.step_all(robots)
        with pytest.raises(sapstep.InputError, match="in use"):
            robots[1].step()
    assert all(robot.t == 0.0 for robot in robots)
    sapstep.step_all(robots)


def test_callbacks_in_other_threads():
    alone, many = stepper(), [stepper() for _ in range(5)]
    alone.step(50)
    sapstep.step_all(many, 50, threads=3)
    assert all(np.array_equal(alone.state, each.state) for each in many)

    class Leaving(Ball):
        def forces(self, t, q, v):
            raise SystemExit(3)

    leaving = sapstep.Stepper(Leaving(), np.zeros(3), np.zeros(3), 1e-3)
    for threads in (1, 3):
        with pytest.raises(SystemExit):  # at once
            sapstep.step_all([leaving, *many], 10**9, threads=threads)

    class Greedy(Ball):
        def forces(self, t, q, v):
            sapstep.step_all([many[0]])
            return super().forces(t, q, v)

    greedy = sapstep.Stepper(Greedy(), np.zeros(3), np.zeros(3), 1e-3)
    for threads in (1, 2):
        with pytest.raises(sapstep.InputError, match="in use already"):
            sapstep.step_all([many[0], greedy], threads=threads)
    sapstep.step_all(many)


def running():
    return set(os.listdir("/proc/self/task"))


def test_threads_are_kept_where_there_are_any():
    robots = [sapstep.Simulation(SCENES / "falling_box.xml") for _ in range(6)]
    before = running()
    sapstep.step_all(robots, 3, threads=1)
    sapstep.step_all(robots[:1], 3, threads=6)
    assert running() == before
    sapstep.step_all(robots, 3, threads=6)  # as no other test
    kept = running()
    assert len(kept - before) == 5
    for _ in range(20):
        sapstep.step_all(robots, 3, threads=6)
    assert running() == kept


def test_threads_that_cannot_start(tmp_path):
    code = f"""
import resource, sapstep
robots = [sapstep.Simulation({str(SCENES / "falling_box.xml")!r}) for _ in range(4)]
sapstep.step_all(robots)
held = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (held + (1 << 20), -1))  # less than the stacks of threads
try:
    sapstep.step_all(robots, 2, threads=4)
except sapstep.Error as error:
    print(error, [robot.t == robot.dt for robot in robots])
sapstep.step_all(robots, 2, threads=1)
print([robot.t == 3 * robot.dt for robot in robots])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd=tmp_path)
    assert done.stdout.splitlines() == [f"4 threads cannot be started {[True] * 4}", str([True] * 4)], done.stderr
