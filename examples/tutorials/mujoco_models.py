# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # MuJoCo's models, stepped by sapstep
#
# `sapstep.mujoco.step(model, data)` replaces `mujoco.mj_step(model, data)`. Two scenes run with both: a box on a slope of 10 degrees,
# and an arm whose servos are too stiff for MuJoCo's integrator at this time step.
#
# To run this page as a script: `pip install mujoco matplotlib && pip install . && python examples/tutorials/mujoco_models.py`

# %%
import time

import matplotlib.pyplot as plt
import mujoco
import numpy as np

import sapstep.mujoco

SLOPE = """
<mujoco>
  <option timestep="0.005" gravity="1.70349 0 -9.66096"/>
  <worldbody>
    <geom type="plane" size="5 5 1" friction="1"/>
    <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" density="1000" friction="1"/></body>
  </worldbody>
</mujoco>"""

ARM = """
<mujoco>
  <option timestep="0.005" integrator="implicitfast"/>
  <default><default class="link"><geom type="capsule" size=".03" fromto="0 0 0 .4 0 0" density="1000"/></default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" pos="0 0 -.3" size="2 2 1"/>
    <body childclass="link"><joint name="a" axis="0 1 0"/><geom/>
      <body pos=".4 0 0"><joint name="b" axis="0 1 0"/><geom/>
        <body pos=".4 0 0"><joint name="c" axis="0 1 0"/><geom/><site name="tip" pos=".4 0 0" size=".05"/>
        </body></body></body>
  </worldbody>
  <actuator><position joint="a" kp="1e5"/><position joint="b" kp="1e5"/><position joint="c" kp="1e5"/></actuator>
  <sensor><touch name="touch" site="tip"/></sensor>
</mujoco>"""


def creep(step, duration=2.0):
    """Time [s] and way down the slope since rest [m]."""
    model = mujoco.MjModel.from_xml_string(SLOPE)
    data = mujoco.MjData(model)
    rows = []
    for _ in range(round(duration / model.opt.timestep)):
        step(model, data)
        rows.append((data.time, data.qpos[0]))
    t, x = np.array(rows).T
    return t, np.abs(x - x[t > 0.5][0])


def press(step, duration=1.5):
    """The arm presses its tip on the floor: time [s], largest joint error [rad], touch [N]. Ends where MuJoCo
    warns that accelerations are not finite (it would start again from time 0)."""
    model = mujoco.MjModel.from_xml_string(ARM)
    data = mujoco.MjData(model)
    rows = []
    for _ in range(round(duration / model.opt.timestep)):
        data.ctrl[:] = min(data.time, 0.5) * np.array([0.3, 0.3, 0.32])
        step(model, data)
        if data.warning[mujoco.mjtWarning.mjWARN_BADQACC].number:
            break
        rows.append((data.time, np.abs(data.ctrl - data.qpos).max(), data.sensordata[0]))
    return np.array(rows).T


# %% [markdown]
# The same loop runs with both functions. Stock MuJoCo's box creeps, and its arm diverges.

# %%
steppers = {"mujoco.mj_step": mujoco.mj_step, "sapstep.mujoco.step": sapstep.mujoco.step}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
results = {}
for name, step in steppers.items():
    began = time.perf_counter()
    t, way = creep(step)
    speed = (way[-1] - way[t > 1.0][0]) / (t[-1] - 1.0)
    axes[0].semilogy(t[t > 0.51], way[t > 0.51], label=f"{name}, {1e6 * speed:.1f} um/s")
    t, error, touch = press(step)
    axes[1].semilogy(t, np.maximum(error, 1e-9), label=f"{name}, until {t[-1]:.3f} s")
    axes[2].plot(t, touch, label=name)
    results[name] = speed, error[-1], touch[-1]
    arm = f"off by {error[-1]:.2e} rad, presses with {touch[-1]:.1f} N" if t[-1] > 1.4 else "diverged"
    print(f"{name:20} creep {1e6 * speed:8.2f} um/s, arm {arm}, {time.perf_counter() - began:.2f} s")

axes[0].set(xlabel="time [s]", ylabel="way down since 0.5 s [m]", title="Box on a slope, mu 1")
axes[1].set(xlabel="time [s]", ylabel="largest joint error [rad]", title="Arm, kp 1e5 N m/rad, dt 5 ms")
axes[2].set(xlabel="time [s]", ylabel="touch sensor [N]", title="Its tip on the floor",
            ylim=(0, 1.2 * results["sapstep.mujoco.step"][2]))
for a in axes:
    a.legend(fontsize=8)
figure.savefig("mujoco_models.png")

# %% [markdown]
# An adapter of your own sets the stiffness of single geoms, and reports on each step. The box sinks by its weight over the
# stiffness of its four corners. `sapstep.mujoco.rollout` and `transition_fd` replace MuJoCo's functions of these names.

# %%
model = mujoco.MjModel.from_xml_string(SLOPE)
data = mujoco.MjData(model)
adapter = sapstep.mujoco.Adapter(model, sigma=1e-5)
adapter.set_geom(1, stiffness=1e5, relaxation_time=0.02)
adapter.step(data, 400)
report = adapter.report
depth = 8.0 * (9.66096 + 1.70349) / (4.0 * 1e5)  # m g (cos + sin)/(4 k): the lower corners carry more
print(f"the box sinks by {report['penetration']:.4e} m, {depth:.4e} m expected")
assert abs(report["penetration"] - depth) < 1e-3 * depth
