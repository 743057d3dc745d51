# SPDX-License-Identifier: BSD-3-Clause
"""Gradients of trajectories against differences of trajectories."""

import numpy as np
import pytest

import sapstep
from test_linearize import ARM

TIGHT = dict(dt=0.004, relative_tolerance=1e-14, balance_tolerance=1e-13)
STEPS = 30


def arm():
    sim = sapstep.Simulation.from_string(ARM, **TIGHT)
    sim.control = [-1.0, 0.5]
    sim.step(50)  # the hand is on the floor
    return sim


def controls():
    return np.random.default_rng(1).normal(size=(STEPS, 2))


def test_differences():
    sim = arm()
    tape = sapstep.Tape(sim)
    u, rng = controls(), np.random.default_rng(2)
    states = tape.run(u)
    assert states.shape == (STEPS + 1, 5)
    dq, dv = rng.normal(size=(2, STEPS + 1, 2))
    value = lambda x: np.sum(dq * x[:, 1:3]) + np.sum(dv * x[:, 3:5])  # noqa: E731
    found = tape.vjp(q=dq, v=dv)
    h = 1e-6
    for i, k in ((0, 0), (7, 1), (STEPS - 1, 0)):
        e = np.zeros_like(u)
        e[i, k] = h
        expected = (value(sapstep.Tape(sim).run(u + e)) - value(sapstep.Tape(sim).run(u - e))) / (2 * h)
        assert found["control"][i, k] == pytest.approx(expected, rel=1e-5, abs=1e-8)


def test_parameters():
    x = np.random.default_rng(2).normal(size=(2, STEPS + 1, 2))
    chosen = (("friction", 0), ("friction", 1), ("damping", "a"), ("gravity", 2))

    def tape(mu, damping, gravity):
        text = (ARM.replace('damping=".1"', f'damping="{float(damping)!r}"').replace(
            "<worldbody>", f'<option gravity="0 0 {float(gravity)!r}"/><worldbody>').replace(
            "<geom", f'<geom friction="{float(mu)!r}"'))
        return sapstep.Tape(sapstep.Simulation.from_string(text, **TIGHT))

    at = np.array([0.4, 0.1, -9.0])
    one = tape(*at)
    one.run(steps=STEPS)
    found = one.vjp(q=x[0], v=x[1], parameters=chosen)["parameters"]
    found = np.array([found[0] + found[1], found[2], found[3]])
    for i, h in enumerate(1e-5 * np.abs(at)):
        values = []
        for side in (-1, 1):
            states = tape(*(at + side * h * np.eye(3)[i])).run(steps=STEPS)
            values.append(np.sum(x[0] * states[:, 1:3]) + np.sum(x[1] * states[:, 3:5]))
        assert found[i] == pytest.approx((values[1] - values[0]) / (2 * h), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("scheme", ("implicit-euler", "midpoint"))
@pytest.mark.parametrize("early", ("false", "true"))
def test_activations(early, scheme):
    text = ARM.replace('<motor joint="b"/>', '<general joint="b" dyntype="filter" dynprm=".02" gainprm="2" '
                                             f'actearly="{early}"/><general joint="a" dyntype="integrator"/>')
    sim = sapstep.Simulation.from_string(text, scheme=scheme, **TIGHT)
    sim.control = [-1.0, 0.5, 0.3]
    sim.step(50)
    rng = np.random.default_rng(4)
    u, dv, da = rng.normal(size=(STEPS, 3)), rng.normal(size=(STEPS + 1, 2)), rng.normal(size=(STEPS + 1, 2))
    tape = sapstep.Tape(sim)
    tape.run(u)
    found = tape.vjp(v=dv, act=da)

    def value(moved, act):
        other = sim.copy()
        other.act = np.array(sim.act) + act
        states = sapstep.Tape(other).run(u + moved)
        return np.sum(dv * states[:, 3:5]) + np.sum(da * states[:, 5:])

    h = 1e-6
    for k in (1, 2):
        e = np.zeros_like(u)
        e[7, k] = h
        expected = (value(e, 0.0) - value(-e, 0.0)) / (2 * h)
        assert found["control"][7, k] == pytest.approx(expected, rel=1e-5, abs=1e-7)
        expected = (value(0 * e, h * np.eye(2)[k - 1]) - value(0 * e, -h * np.eye(2)[k - 1])) / (2 * h)
        assert found["act"][k - 1] == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_checkpoints_and_threads_have_the_same_bits():
    sim, u = arm(), controls()
    dv = np.random.default_rng(3).normal(size=(STEPS + 1, 2))
    tapes = [sapstep.Tape(sim, every=every) for every in (1, 4, STEPS, 16)]
    states = [tape.run(u) for tape in tapes]
    found = [tape.vjp(v=dv) for tape in tapes]
    threaded = sapstep.vjp_all(tapes, v=[dv] * 4, threads=3)
    for state, one, other in zip(states, found, threaded):
        assert np.array_equal(state, states[0])
        for name in ("q", "v", "control"):
            assert np.array_equal(one[name], found[0][name])
            assert np.array_equal(other[name], found[0][name])
    assert np.array_equal(tapes[0].run(u), states[0])  # again from the same start


def test_wrong_input():
    tape = sapstep.Tape(arm())
    with pytest.raises(sapstep.InputError, match="run comes before"):
        tape.vjp()
    with pytest.raises(sapstep.InputError, match="controls or steps"):
        tape.run()
    tape.run(steps=3)
    with pytest.raises(sapstep.InputError, match="shape"):
        tape.vjp(v=[1.0])
