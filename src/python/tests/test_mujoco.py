# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's models from Python; skipped where either is not there."""

import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
try:
    import sapstep.mujoco as adapter
except ImportError as reason:
    pytest.skip(str(reason), allow_module_level=True)

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


def test_nan_is_refused():
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    data.qvel[0] = np.nan
    with pytest.raises(adapter.Error):
        adapter.step(model, data)


def test_deadline_is_flagged():
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    hurried = adapter.Adapter(model, deadline=1e-9)
    late = 0
    for _ in range(60):
        hurried.step(data)
        if not hurried.report["converged"]:
            late += 1
            assert hurried.report["momentum_error"] > 0
    assert late > 0
    assert np.isfinite(data.qvel).all()
    with pytest.raises(adapter.Error, match="time_limit"):
        adapter.Adapter(model, deadline=-1.0)
