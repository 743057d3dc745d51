# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Sweep over parameters
#
# How far does a box slide? A scene is read with other values (`edits`), and started at many speeds at once (`rollout`, on all
# cores, with results as arrays). Each way is compared with v^2/(2 mu g).
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/sweep.py`

# %%
import matplotlib.pyplot as plt
import numpy as np

import sapstep

SCENE = """
<mujoco>
  <option timestep="0.005"/>
  <default><geom friction="0.5"/></default>
  <worldbody>
    <geom name="floor" type="plane" size="9 9 1"/>
    <body name="box" pos="0 0 .1"><freejoint name="box"/><geom name="box" type="box" size=".1 .1 .1"/></body>
  </worldbody>
</mujoco>"""
speeds = np.linspace(0.5, 3.0, 6)
frictions = [0.2, 0.4, 0.8]

figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for friction in frictions:
    edits = {"geom/floor/friction": friction, "geom/box/friction": friction}
    box = sapstep.Simulation.from_string(SCENE, scheme="midpoint", edits=edits)
    starts = np.tile(box.state, (len(speeds), 1))  # rows [t, q, v]
    starts[:, -box.nv] = speeds
    ways = box.rollout(starts, steps=400).q[:, -1, 0]  # q is (starts, steps + 1, nq)
    expected = speeds**2 / (2 * friction * 9.81)
    print(f"mu {friction}: slides {np.round(ways, 3)} m, largest error {np.abs(ways - expected).max() * 1e3:.1f} mm")
    assert np.abs(ways - expected).max() < 1e-3
    line, = axes.plot(speeds, ways, "o", label=f"mu {friction}")
    fine = np.linspace(speeds[0], speeds[-1])
    axes.plot(fine, fine**2 / (2 * friction * 9.81), color=line.get_color(), linewidth=1)
axes.set(xlabel="speed at the start [m/s]", ylabel="way until rest [m]", title="Lines: v^2/(2 mu g)")
axes.legend()
figure.savefig("sweep.png")

# %% [markdown]
# Larger sweeps, with random values, tables in HDF5 and charts, are studies for the program (`sapstep sweep --help`). They run in
# threads or across machines, and continue after a kill:
#
#     scene    box.xml
#     duration 2
#     grid     friction 0.2 0.4 0.8
#     grid     v/box[vx] 0.5 1 2 3
#     measure  q/box[x] slip:max energy:change
