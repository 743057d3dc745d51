# SPDX-License-Identifier: BSD-3-Clause
"""Systems written in Python: closed forms, contact, errors that pass through C."""

import gc
import weakref

import numpy as np
import pytest

import sapstep


class Oscillator(sapstep.System):
    """Mass on a spring: x = cos(omega t)."""

    tree_sizes = (1,)
    m, k = 2.0, 50.0

    def mass_matrix(self, q):
        return [[self.m]]

    def forces(self, t, q, v):
        return -self.k * q, np.zeros(1)

    def stiffness_damping(self, t, q, v):
        return [[self.k]], [[0.0]]


def test_midpoint_is_second_order():
    errors = []
    for dt in (0.02, 0.01):
        stepper = sapstep.Stepper(Oscillator(), [1.0], [0.0], dt, scheme="midpoint")
        stepper.step(round(1.0 / dt))
        errors.append(abs(stepper.q[0] - np.cos(5.0 * stepper.t)))
        energy = 0.5 * 2.0 * stepper.v[0] ** 2 + 25.0 * stepper.q[0] ** 2
        assert energy == pytest.approx(25.0, rel=1e-12)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("accuracy", [1e-3, 1e-5, 1e-7])
def test_advance_holds_the_accuracy(accuracy):
    stepper = sapstep.Stepper(Oscillator(), [1.0], [0.0], 0.02, scheme="midpoint", relative_tolerance=1e-12)
    made, _ = stepper.advance(2.0, accuracy=accuracy)
    assert stepper.t == 2.0 and abs(stepper.q[0] - np.cos(10.0)) <= 10 * accuracy
    assert 3 * made < 30 * accuracy ** -0.2  # order 4: errors of a step are of order 5

    class Turned(Oscillator):
        def difference(self, q0, q1):
            raise RuntimeError("no difference")

    broken = sapstep.Stepper(Turned(), [1.0], [0.0], 0.02, scheme="midpoint")
    with pytest.raises(RuntimeError, match="no difference"):
        broken.advance(1.0)
    assert broken.t == 0.0 and broken.q[0] == 1.0


class Block(sapstep.System):
    """1 kg sliding on a plane, two trees: the block (x, y, z), and one that nothing acts on."""

    tree_sizes = (3, 1)

    def mass_matrix(self, q):
        return [np.eye(3), np.eye(1)]

    def forces(self, t, q, v):
        return np.zeros(4), np.array([0, 0, -10.0, 0])

    def constraints(self, step, problem):
        problem.add_contact({0: np.eye(3)}, step.q0[2], friction=0.5, stiffness=1e7, key=1)


class RollingBall(sapstep.System):
    """A ball rolling over a fixed sphere in the x-z plane; q = (x, z, turn about y)."""

    tree_sizes = (3,)
    radius, sphere_radius = 0.2, 1.0

    def mass_matrix(self, q):
        return np.diag([1.0, 1.0, 0.016])

    def forces(self, t, q, v):
        return np.zeros(3), [0, -9.81, 0]

    def touch(self, q):
        distance = np.hypot(q[0], q[1])
        n = np.array([q[0], 0, q[1]]) / distance
        t1 = np.array([n[2], 0, -n[0]])
        frame = np.column_stack([t1, [0, 1, 0], n])
        J = np.array([[t1[0], t1[2], -self.radius], [0, 0, 0], [n[0], n[2], 0]])
        return distance - self.sphere_radius - self.radius, frame, J

    def constraints(self, step, problem):
        phi0, frame0, J0 = self.touch(step.q0)
        J, changes = J0, {}
        if step.contact_is_within(phi0, J0[2] @ step.v0_free):
            way = step.displacement
            phi_theta, frame, J = self.touch(self.integrate(step.q0, way, 1.0))
            changes = step.contact_changes(
                phi0=phi0, phi_theta=phi_theta, normal0=frame0[:, 2], frame_theta=frame,
                velocity0=frame0 @ (J0 @ step.v_guess), velocity_theta=J @ step.v_guess,
                normal_displacement=J[2] @ way)
        problem.add_contact({0: J}, phi0, stiffness=1e3, relaxation_time=0.01, friction=1.0,
                            sigma=step.sigma, beta=step.beta, key=1, **changes)


def test_own_contact_is_second_order():
    """As tests/physics/test_user_contact.c: midpoint is second order with the contact at the theta
    point, first order with the contact at the end of the step."""

    def roll(stage, steps):
        a = 0.2
        d = 1.2 - 9.81 * np.cos(a) / 1e3
        ball = sapstep.Stepper(RollingBall(), [d * np.sin(a), d * np.cos(a), 0],
                               [0.5 * np.cos(a), -0.5 * np.sin(a), 2.5], 0.4 / steps,
                               scheme="midpoint", contact_stage=stage, relative_tolerance=1e-13, sigma=1e-8)
        ball.step(steps)
        return ball.state[1:]

    exact = roll("auto", 1600)  # its error is 1/64 of the finest one: 0.03 of an order
    for stage, order in (("auto", 2.0), ("end", 1.0)):
        errors = [np.linalg.norm(roll(stage, steps) - exact) for steps in (100, 200)]
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_coulomb_deceleration():
    stepper = sapstep.Stepper(Block(), np.zeros(4), [1.0, 0, 0, 0.25], 1e-3, solver="sap-ncp")
    stepper.step(100)
    # v = v0 - mu g t; the second tree keeps its velocity.
    assert stepper.v[0] == pytest.approx(0.5, abs=2e-3)
    assert stepper.v[3] == 0.25
    assert stepper.report.rows == 3


def test_errors_come_back():
    class Wrong(Block):
        def forces(self, t, q, v):
            raise KeyError("motor")

    with pytest.raises(KeyError, match="motor"):
        sapstep.Stepper(Wrong(), np.zeros(4), np.zeros(4), 1e-3).step()

    class Shapeless(Block):
        def mass_matrix(self, q):
            return np.eye(4)

    with pytest.raises(sapstep.InputError, match="2 matrices, one for each tree, not 4"):
        sapstep.Stepper(Shapeless(), np.zeros(4), np.zeros(4), 1e-3).step()
    with pytest.raises(sapstep.InputError, match="shape"):
        sapstep.Stepper(Block(), np.zeros(3), np.zeros(4), 1e-3)


@pytest.mark.parametrize("changes, error, text", [
    ({"mass_matrix": sapstep.System.mass_matrix}, NotImplementedError, r"Changed must define mass_matrix\(self, q\)"),
    ({"forces": sapstep.System.forces}, NotImplementedError, r"Changed must define forces\(self, t, q, v\)"),
    ({"nq": 5}, NotImplementedError, r"Changed must define integrate\(self, q, v, dt\), for nq is not nv"),
    ({"forces": lambda *_: None}, sapstep.InputError, r"forces: \(k1, k2\) must be two arrays"),
    ({"forces": lambda *_: (np.zeros(4), None)}, sapstep.InputError, "k2 is not an array of numbers"),
    ({"forces": lambda *_: (np.zeros(4), np.full(4, np.nan))}, sapstep.InputError, "force on velocity 0 is nan"),
    ({"stiffness_damping": lambda *_: [np.eye(4)]}, sapstep.InputError, r"\(K, D\) must be two arrays"),
    ({"mass_matrix": lambda *_: [np.eye(3), -np.eye(1)]}, sapstep.InputError, "A of tree 1"),
    ({"integrate": lambda *_: np.zeros(3)}, sapstep.InputError, r"integrate has shape \(3,\)"),
])
def test_wrong_answers(changes, error, text):
    changed = type("Changed", (Block,), changes)()
    stepper = sapstep.Stepper(changed, np.zeros(changed.nq or 4), np.zeros(4), 1e-3)
    with pytest.raises(error, match=text):
        stepper.step()
    assert stepper.t == 0.0


@pytest.mark.parametrize("steps", [0, 3])
def test_a_callback_that_fails_once_fails_the_step(steps):
    """Wherever in the step, at its first guess of the free motion or at a later one."""

    class Failing(Block):
        calls, at = 0, -1

        def tick(self):
            self.calls += 1
            if self.calls == self.at:
                raise KeyError(self.at)

        def mass_matrix(self, q):
            self.tick()
            return super().mass_matrix(q)

        def forces(self, t, q, v):
            self.tick()
            return super().forces(t, q, v)

        def integrate(self, q, v, dt):
            self.tick()
            return super().integrate(q, v, dt)

        def stiffness_damping(self, t, q, v):
            self.tick()

        def constraints(self, step, problem):
            self.tick()
            super().constraints(step, problem)

    system = Failing()
    stepper = sapstep.Stepper(system, np.zeros(4), [1.0, 0, 0, 0.25], 1e-3)
    stepper.step(steps)
    saved, before = stepper.save(), system.calls
    stepper.step()
    needed = system.calls - before
    assert needed > 5
    for at in range(1, needed + 1):
        stepper.load(saved)
        start = stepper.state
        system.calls, system.at = 0, at
        with pytest.raises(KeyError, match=str(at)):
            stepper.step()
        assert np.array_equal(stepper.state, start)


def test_an_error_is_of_its_step():
    stepper = sapstep.Stepper(Block(), np.zeros(4), [1.0, 0, 0, 0.25], 1e-3)
    stepper._pending = KeyError("of a step that Ctrl-C ended before it was told")
    stepper.v[0] = np.nan
    with pytest.raises(sapstep.InputError, match="v.* = nan"):
        stepper.step()


def test_an_error_keeps_nothing():
    class Own(Exception):
        pass

    class Raising(Block):
        def forces(self, t, q, v):
            raise Own

    stepper = sapstep.Stepper(Raising(), np.zeros(4), np.zeros(4), 1e-3)
    for step in (stepper.step, lambda: sapstep.step_all([stepper])):
        gc.collect()
        gc.disable()
        try:
            step()
        except Own as error:
            raised = weakref.ref(error)
        gc.enable()
        assert raised() is None


def test_sizes_that_do_not_fit():
    class Sized(sapstep.System):
        def __init__(self, sizes, nq=None):
            self.tree_sizes, self.nq = sizes, nq

    for system, text in ((Sized([0]), "nq = 0"), (Sized([-1]), "nv = -1"), (Sized([2**30] * 3), "nv = 3221225472"),
                         (Sized([1], 0), "nq = 0")):
        with pytest.raises(sapstep.InputError, match=text):
            sapstep.Stepper(system, [], [], 0.01)
