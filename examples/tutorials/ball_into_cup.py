# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A ball into a cup, off one bounce
#
# How must a ball be thrown so that it bounces once and falls into a cup? `sapstep.Tape` differentiates where the ball ends by how it
# starts, through the bounce. The step at which a bounce begins changes with the throw, so that heights after it are a fine sawtooth with
# exact but misleading slopes; contacts ahead keep it continuous, and then the mean of exact derivatives over throws with a little noise is
# the derivative of the mean.
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/ball_into_cup.py`

# %%
import matplotlib.pyplot as plt
import numpy as np

import sapstep

steps, dt, cup = 350, 0.002, np.array([1.2, 0.3, 0.3])
ball = sapstep.Simulation.from_string(f"""<mujoco><option timestep="{dt}"/><custom>
  <numeric name="sapstep:stiffness" data="800"/><numeric name="sapstep:relaxation_time" data="1e-4"/></custom>
  <worldbody><geom type="plane" size="5 5 .1" friction=".6"/><body pos="0 0 .5"><freejoint/>
  <geom type="sphere" size=".1" mass=".1" friction=".6"/></body></worldbody></mujoco>""",
                                      relative_tolerance=1e-10, balance_tolerance=1e-10)


def throw(v):
    """The path of the ball, and the derivatives (3, 6) of its end by the velocity and spin at the start."""
    ball.forget()
    ball.q, ball.v = [0, 0, 0.5, 1, 0, 0, 0], v
    tape = sapstep.Tape(ball)
    states, rows = tape.run(steps=steps), []
    for axis in range(3):
        dq = np.zeros((steps + 1, 6))
        dq[-1, axis] = 1
        rows.append(tape.vjp(q=dq)["v"])
    return states[:, 1:4], np.array(rows)


# %% [markdown]
# The derivatives are exact: they agree with differences of whole throws. Their mean over five throws leads Newton's method, with the
# smallest change of the throw, into the cup.

# %%
v, h = np.array([1.2, 0.0, 0.5, 0.0, 0.0, 0.0]), 1e-6
_, J = throw(v)
differences = np.array([(throw(v + h * e)[0][-1] - throw(v - h * e)[0][-1]) / (2 * h) for e in np.eye(6)]).T
print(f"derivatives against differences: {np.abs(J - differences).max() / np.abs(J).max():.1e}")
assert np.abs(J - differences).max() < 1e-5 * np.abs(J).max()

rng, paths, misses = np.random.default_rng(0), [], []
for _ in range(12):
    path, _ = throw(v)
    miss = path[-1] - cup
    paths.append(path)
    misses.append(np.linalg.norm(miss))
    if misses[-1] < 0.015:
        break
    J = np.mean([throw(v + np.append(0.05 * rng.normal(size=3), (0, 0, 0)))[1] for _ in range(5)], axis=0)
    change = -np.linalg.pinv(J, rcond=0.05) @ miss
    v = v + change * min(1.0, 0.5 / np.linalg.norm(change[:3]))
print("misses [mm]: " + ", ".join(f"{1000 * m:.0f}" for m in misses))
print("velocity", np.round(v[:3], 3), "m/s, spin", np.round(v[3:], 2), "rad/s")
assert misses[-1] < 0.02

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for i, path in enumerate(paths):
    left.plot(path[:, 0], path[:, 2], color=plt.cm.viridis(i / len(paths)), label=f"throw {i}")
x, z = cup[0], cup[2]
left.plot([x - 0.08, x - 0.06, x + 0.06, x + 0.08], [z + 0.05, z - 0.1, z - 0.1, z + 0.05], "k", linewidth=3)
left.axhline(0, color="gray")
left.set(xlabel="x [m]", ylabel="height [m]", title="Off one bounce into the cup", aspect="equal")
left.legend(fontsize=7)
right.semilogy(misses, "o-")
right.set(xlabel="throw", ylabel="miss [m]", title="Through the bounce")
figure.savefig("ball_into_cup.png")
