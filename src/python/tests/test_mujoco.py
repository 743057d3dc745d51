# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's models from Python; skipped where either is not there."""

import copy
import threading

import numpy as np
import pytest
from things import adapter_module

from sapstep import _options

adapter = adapter_module()
mujoco = adapter.mujoco

BOX = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="1 1 1"/>
<body pos="0 0 .15"><freejoint/><geom type="box" size=".1 .1 .1" mass="2"/></body></worldbody></mujoco>"""


def test_box_rests_on_its_weight():
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    adapter.step(model, data, 300)
    assert np.abs(data.qvel).max() < 1e-4
    force = np.zeros(6)
    total = 0.0
    for i in range(data.ncon):
        mujoco.mj_contactForce(model, data, i, force)
        total += force[0]
    assert total == pytest.approx(2 * 9.81, rel=1e-3)


def test_state_alone_decides():
    model = mujoco.MjModel.from_xml_string(BOX)
    data, other = mujoco.MjData(model), mujoco.MjData(model)
    stepper = adapter.Adapter(model, remember=False)
    stepper.step(data, 50)
    other.qpos[:], other.qvel[:], other.time = data.qpos, data.qvel, data.time
    adapter.Adapter(model, remember=False).step(other)
    stepper.step(data)
    assert np.array_equal(data.qpos, other.qpos)
    assert stepper.report["contacts"] >= 0


def test_advance():
    text = BOX.replace("0.005", "0.02").replace("<body pos", "<body name='box' pos")
    text = text.replace("/></body", " solref='-1e4 -50'/></body")
    model = mujoco.MjModel.from_xml_string(text)
    data, made = mujoco.MjData(model), []
    stepper = adapter.Adapter(model)
    for accuracy in (1e-3, 1e-5):
        mujoco.mj_resetData(model, data)
        made.append(stepper.advance(data, accuracy, 8))
        assert data.time == pytest.approx(8 * 0.02) and model.opt.timestep == 0.02
        assert made[-1]["error"] <= accuracy and made[-1]["body"] == "box"
        assert 0 < made[-1]["least_dt"] <= made[-1]["largest_dt"] <= 0.02
    assert made[1]["solves"] > made[0]["solves"] >= 3 * made[0]["steps"] >= 24
    assert stepper.report["contacts"] >= 0
    before = data.qpos.copy()
    with pytest.raises(ValueError, match="accuracy"):
        stepper.advance(data, 0.0)
    assert np.array_equal(before, data.qpos)


def test_each_option_is_a_keyword():
    model = mujoco.MjModel.from_xml_string(BOX)
    for name in (*_options.ADAPTER, *_options.REGULARIZATION, *_options.SOLVER):
        with pytest.raises((TypeError, ValueError, OverflowError)) as refusal:
            adapter.Adapter(model, **{name: "no such word"})
        assert "unknown option" not in str(refusal.value) and name in str(refusal.value)
    with pytest.raises(TypeError, match="unknown option 'implicitt', did you mean 'implicit'"):
        adapter.Adapter(model, implicitt=True)

    def pressed(**options):
        data = mujoco.MjData(model)
        data.qvel[0] = 1.0
        adapter.Adapter(model, **options).step(data, 100)
        return data.qpos.tobytes()

    lagged = dict(contact_model="lagged", dissipation=30.0, stiction_tolerance=1e-3)
    assert len({pressed(), pressed(contact_model="lagged"), pressed(**lagged)}) == 3


def test_nan_is_refused():
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    stepper = adapter.Adapter(model)
    with pytest.raises(adapter.Error, match="no step has been made"):
        stepper.report
    stepper.forward(data)
    assert stepper.report["velocities"] == 6
    data.qvel[0] = np.nan
    for act in (lambda: adapter.step(model, data), lambda: stepper.step(data), lambda: stepper.forward(data)):
        with pytest.raises(adapter.Error, match=r"qvel\[0\] = nan"):
            act()
        assert data.time == 0.0
    with pytest.raises(adapter.Error, match="or the last one failed"):
        stepper.report


def test_data_that_come_and_go():
    """An adapter remembers where its data are, not those of others that follow at their address."""
    model = mujoco.MjModel.from_xml_string(BOX)
    stepper = adapter.Adapter(model, remember=False)
    first = mujoco.MjData(model)
    stepper.step(first, 30)
    for _ in range(20):
        data = mujoco.MjData(model)
        stepper.step(data, 30)
        assert np.array_equal(data.qpos, first.qpos)
        del data


def test_time_limit_is_flagged():
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    hurried = adapter.Adapter(model, time_limit=1e-9)
    late = 0
    for _ in range(60):
        hurried.step(data)
        if not hurried.report["converged"]:
            late += 1
            assert hurried.report["momentum_error"] > 0
    assert late > 0
    assert np.isfinite(data.qvel).all()
    with pytest.raises(adapter.Error, match="time_limit"):
        adapter.Adapter(model, time_limit=-1.0)


def test_threads_share_a_model():
    """Each with data of its own, as one steps many with MuJoCo: the same bits as one after the other."""
    model = mujoco.MjModel.from_xml_string(BOX)
    alone = mujoco.MjData(model)
    adapter.step(model, alone, 200)
    many = [mujoco.MjData(model) for _ in range(8)]
    threads = [threading.Thread(target=adapter.step, args=(model, data, 200)) for data in many]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for data in many:
        assert np.array_equal(data.qpos, alone.qpos) and np.array_equal(data.qvel, alone.qvel)
    with pytest.raises(ValueError, match="count = -1"):
        adapter.step(model, alone, -1)
    with pytest.raises(TypeError, match="did you mean 'remember'"):
        adapter.Adapter(model, rememer=False)


def test_data_of_another_model():
    model = mujoco.MjModel.from_xml_string(BOX)
    other = mujoco.MjData(mujoco.MjModel.from_xml_string(BOX.replace("<freejoint/>", "<joint/>")))
    with pytest.raises(ValueError, match="made for another model"):
        adapter.step(model, other)
    adapter.step(model, copy.copy(mujoco.MjData(model)))
    with pytest.raises(TypeError, match="model must be a mujoco.MjModel, not str"):
        adapter.step("box.xml", other)
    with pytest.raises(TypeError, match="data must be a mujoco.MjData, not NoneType"):
        adapter.step(model, None)


CART = """<mujoco><option timestep="0.01" gravity="0 0 -9.81"/><worldbody>
<body><joint name="x" type="slide" axis="1 0 0" stiffness="20" damping="3"/><geom size=".1" mass="2"/></body></worldbody>
<actuator><motor joint="x" ctrlrange="-1 1" ctrllimited="true" gear="2"/></actuator>
<sensor><jointpos joint="x"/></sensor></mujoco>"""


def states_of(model, count, seed=0):
    """States of boxes thrown, with mjSTATE_FULLPHYSICS."""
    rng, kind = np.random.default_rng(seed), mujoco.mjtState.mjSTATE_FULLPHYSICS
    data, states = mujoco.MjData(model), np.empty((count, mujoco.mj_stateSize(model, kind)))
    for state in states:
        data.qvel[:] = rng.standard_normal(model.nv)
        mujoco.mj_getState(model, data, state, kind)
    return states


@pytest.mark.parametrize("threads", [1, 3])
def test_rollout_equals_steps(threads):
    model = mujoco.MjModel.from_xml_string(BOX)
    data, kind = mujoco.MjData(model), mujoco.mjtState.mjSTATE_FULLPHYSICS
    states = states_of(model, 5)
    found = adapter.rollout(model, data, states, nstep=40, threads=threads)
    assert data.time == 0 and not found.errors and found.state.shape == (5, 40, states.shape[1])
    for i in range(5):
        one, stepper, state = mujoco.MjData(model), adapter.Adapter(model), states[i].copy()
        mujoco.mj_setState(model, one, state, kind)
        stepper.step(one, 40)
        mujoco.mj_getState(model, one, state, kind)
        assert np.array_equal(found.state[i, -1], state)


def test_rollout_controls():
    model = mujoco.MjModel.from_xml_string(CART)
    data = mujoco.MjData(model)
    controls = np.linspace(-1, 1, 60).reshape(3, 20, 1)
    found = adapter.rollout(model, data, states_of(model, 1)[0], controls)
    assert np.array_equal(found.sensordata[..., 0].shape, (3, 20)) and np.isfinite(found.sensordata).all()
    assert found.state[0, -1, 1] < found.state[1, -1, 1] < found.state[2, -1, 1]
    same = adapter.rollout(model, data, states_of(model, 1), controls[1])
    assert np.array_equal(same.state[0], found.state[1])
    for wrong, told in (({"control": np.ones((4, 2))}, "control has shape"), ({}, "needs control"),
                        ({"control": controls, "nstep": 3}, "nstep = 3, but control has 20"),
                        ({"nstep": 1, "threads": 0}, "threads")):
        with pytest.raises((TypeError, ValueError), match=told):
            adapter.rollout(model, data, states_of(model, 1), **wrong)


@pytest.mark.parametrize("centered", [True, False])
def test_transition_of_a_linear_system(centered):
    """Implicit Euler on m x'' = -k x - d x' + g u: (m + dt d + dt^2 k) v = m v0 - dt k x0 + dt g u."""
    model = mujoco.MjModel.from_xml_string(CART)
    data, dt, m, k, d, g = mujoco.MjData(model), 0.01, 2.0, 20.0, 3.0, 2.0
    data.qpos[:], data.qvel[:], data.ctrl[:] = 0.1, -0.2, 1.0  # at the end of its range
    A, B, C, D = adapter.transition_fd(model, data, centered=centered)
    mass = m + dt * d + dt * dt * k
    v = np.array([-dt * k, m, dt * g]) / mass
    exact = np.array([np.array([1, 0, 0]) + dt * v, v])
    assert np.allclose(np.hstack([A, B]), exact, atol=1e-8)
    assert np.array_equal(data.qpos, [0.1]) and data.time == 0 and C.shape == (1, 2) and D.shape == (1, 1)


def test_transition_of_a_resting_box():
    """A box at rest sticks: its next velocity hardly depends on that before along the floor."""
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    adapter.step(model, data, 300)
    A = adapter.transition_fd(model, data).A
    assert A.shape == (12, 12) and abs(A[6, 6]) < 0.1 and abs(A[8, 8]) < 0.9  # (1 in free flight)
