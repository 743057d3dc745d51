# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C, forks and the end of the program leave everything usable, and no recording cut off."""

import gc
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from things import SCENES, stepper

import sapstep
import sapstep.program


class Alarm(Exception):
    """As KeyboardInterrupt: raised by a signal, anywhere."""


@pytest.fixture
def alarms():
    """Calls act() until an alarm that comes at a random time ends it; whether one did."""

    def alarm(*_):
        raise Alarm

    gc.collect()  # what Python raises while it collects is lost, as it says
    before = signal.signal(signal.SIGALRM, alarm)
    random.seed(1)

    def during(act):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(2e-6, 4e-4))
            try:
                act()
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            return False
        except Alarm:
            return True

    yield during
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python itself may lose the end of a with block")
def test_interrupts_anywhere(alarms):
    robot = sapstep.Simulation(SCENES / "falling_box.xml")
    twin = robot.copy()

    def act():
        for _ in range(4):
            robot.step(2)
            robot.q = robot.q.copy()

    hits = sum(alarms(act) for _ in range(1000))
    assert hits > 100
    robot.step()  # is not left in use
    twin.step(round(robot.t / robot.dt))
    assert np.allclose(twin.q, robot.q, atol=1e-5)


@pytest.mark.skipif(sys.version_info < (3, 10), reason="Python itself may lose the end of a with block")
@pytest.mark.parametrize("threads", [1, 2])
def test_interrupts_of_batches(alarms, threads):
    robots = [sapstep.Simulation(SCENES / "falling_box.xml") for _ in range(5)]
    many = [*robots, stepper(), stepper()]

    def act():
        for _ in range(4):
            sapstep.step_all(many, 1, threads)
            sapstep.step_all(robots, 1, threads)

    hits = sum(alarms(act) for _ in range(300))
    assert hits > 100
    for each in many:
        each.step()  # none is left in use
    sapstep.step_all(many, 2, threads)


@pytest.mark.filterwarnings("error")
def test_interrupts_are_not_lost_in_callbacks(alarms, capfd):
    lone = stepper()
    lone.step()
    for _ in range(100):
        assert alarms(lambda: lone.step(5000))  # a second at least
    lone.step()
    assert np.isfinite(lone.q).all()
    assert capfd.readouterr().err == ""


def test_control_c_ends_long_steps():
    code = f"""
import sapstep
robot = sapstep.Simulation({str(SCENES / "falling_box.xml")!r})
robots = [robot, robot.copy(), robot.copy()]
for act in (lambda: robot.step(10**9), lambda: sapstep.step_all(robots, 10**9, threads=2)):
    try:
        print("going", flush=True)
        act()
    except KeyboardInterrupt:
        robot.step()
        print("interrupted", flush=True)
"""
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    for _ in range(2):
        assert child.stdout.readline() == "going\n"
        time.sleep(0.2)
        began = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        assert time.monotonic() - began < 2.0  # 0.1 s is meant; a busy machine takes its time
    assert child.wait(20) == 0
    child.stdout.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded")  # of Python, which cannot know that they wait
def test_forks(tmp_path):
    plain = sapstep.Simulation(SCENES / "quadruped.xml")
    threaded = sapstep.Simulation(SCENES / "quadruped.xml", threads=2)
    recorded = sapstep.Simulation(SCENES / "quadruped.xml")
    recorder = recorded.record(tmp_path / "a.h5")
    sapstep.step_all([plain, threaded, recorded], threads=2)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            plain.step(10)
            for robot in (threaded, recorded):
                with pytest.raises(sapstep.InputError, match="forked"):
                    robot.step()
            twin = plain.copy()
            sapstep.step_all([plain, twin], threads=2)  # by threads of its own
            del threaded, recorded, recorder, robot
            gc.collect()  # does not wait for threads that are not there
            status = 0
        finally:
            os._exit(status)
    until = time.monotonic() + 60
    while True:
        pid, status = os.waitpid(child, os.WNOHANG)
        if pid:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            pytest.fail("the child hangs")
        time.sleep(0.01)
    assert status == 0
    recorded.step()
    recorder.close()
    plain.step()


def test_the_end_of_the_program_closes_recordings(tmp_path):
    code = f"""
import sapstep
robot = sapstep.Simulation({str(SCENES / "quadruped.xml")!r})
robot.record({str(tmp_path / "a.h5")!r})
robot.step(7)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
    lines = sapstep.program.run("export", tmp_path / "a.h5", "q").stdout.splitlines()
    assert len(lines) == 1 + 1 + 7
