# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Learn the floor
#
# A box is thrown onto a floor and its motion is recorded. Friction, stiffness and relaxation time of the contact follow from that motion
# alone, because steps can be differentiated: `sim.vjp()` of all 12 numbers of the state at the end of a step gives their derivatives by the
# state at its start, with all its contacts, and by the three parameters. (`sapstep.Tape` sums the latter over a motion, for one number such
# as a loss.)
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/learn_the_floor.py`

# %%
import matplotlib.pyplot as plt
import numpy as np

import sapstep

names, truth, dt, steps = ("mu", "k [N/m]", "tau_d [s]"), np.array([0.4, 2e4, 0.01]), 0.005, 30
corners = 0.1 * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


def box(parameters):
    mu, k, tau = map(float, parameters)
    sim = sapstep.Simulation.from_string(f"""<mujoco><option timestep="{dt}"/><custom>
      <numeric name="sapstep:stiffness" data="{k!r}"/><numeric name="sapstep:relaxation_time" data="{tau!r}"/></custom>
      <worldbody><geom type="plane" size="5 5 .1" friction="{mu!r}"/><body pos="0 0 .15" euler="10 15 0"><freejoint/>
      <geom type="box" size=".1 .1 .1" mass="1" friction="{mu!r}"/></body></worldbody></mujoco>""",
                                         remember=False, relative_tolerance=1e-12, balance_tolerance=1e-11)
    sim.v = [1.0, 0.3, -0.5, 0.5, 0.5, 1.0]
    return sim


def observe(sim):
    """Positions of the corners, and their derivatives by the body's motion (translation, rotation in its axes)."""
    position, R = sim.positions[1], sim.rotations[1]
    J = np.zeros((8, 3, 6))
    J[:, :, :3] = np.eye(3)
    for i, (x, y, z) in enumerate(corners):
        J[i, :, 3:] = R @ np.array([[0, z, -y], [-z, 0, x], [y, -x, 0]])
    return (position + corners @ R.T).ravel(), J.reshape(24, 6)


units = np.eye(12)
shapes = [(field, shape) for field in ("friction", "stiffness", "relaxation_time") for shape in (0, 1)]  # both have the same


def throw(logs):
    """Corners at all steps, and their derivatives by the logarithms of the parameters."""
    sim = box(np.exp(logs))
    found, slopes, X = [], [], np.zeros((12, 3))  # X: of [q; v] by the parameters
    for _ in range(steps):
        sim.step()
        rows = sim.vjp(q=units[:, :6], v=units[:, 6:], parameters=shapes)
        A, P = np.hstack([rows["q"], rows["v"]]), rows["parameters"].reshape(12, 3, 2)
        X = A @ X + P.sum(axis=2) * np.exp(logs)
        p, J = observe(sim)
        found.append(p)
        slopes.append(J @ X[:6])
    return np.concatenate(found), np.concatenate(slopes)


# %% [markdown]
# Gauss-Newton steps, damped where they would go wrong, from a start that is 50 % to 200 % off. Each costs one simulated throw.

# %%
def identify(recorded, start):
    logs, damping, history = np.log(start), 1e-3, []
    p, J = throw(logs)
    for _ in range(30):
        error = p - recorded
        history.append((error @ error, np.exp(logs)))
        H = J.T @ J
        step = np.linalg.solve(H + damping * np.diag(np.diag(H)), -J.T @ error)
        tried = logs + np.clip(step, -0.7, 0.7)
        p_tried, J_tried = throw(tried)
        if np.sum((p_tried - recorded) ** 2) < error @ error:
            logs, p, J, damping = tried, p_tried, J_tried, 0.05 * damping
        else:
            damping = max(20 * damping, 1e-6)
        if np.abs(step).max() < 1e-9:
            break
    return logs, J, p, history


recorded, _ = throw(np.log(truth))
wrong = truth * (0.5, 3.0, 2.0)
logs, J, p, history = identify(recorded, wrong)
for name, first, value, true in zip(names, wrong, np.exp(logs), truth):
    print(f"{name:10} start {first:8.4g}   found {value:.10g}   error {abs(value / true - 1):.1e}")
print(f"{len(history)} throws")
assert np.allclose(np.exp(logs), truth, rtol=1e-8)

# %% [markdown]
# With 1 mm of noise on each coordinate the same derivatives give the covariance of what is found, for nothing:
# $\sigma^2 (J^\mathsf{T} J)^{-1}$. The dots are found from 12 other recordings with noise.

# %%
rng, sigma = np.random.default_rng(1), 1e-3
covariance = sigma**2 * np.linalg.inv(J.T @ J)
cloud = np.array([identify(recorded + sigma * rng.normal(size=recorded.size), truth)[0] for _ in range(12)])
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
heights = {"recorded": recorded, "at the start": throw(np.log(wrong))[0], "found": p}
for (label, values), style in zip(heights.items(), ("k-", "r--", "c:")):
    left.plot(dt * np.arange(1, steps + 1), values.reshape(steps, 8, 3)[:, 7, 2], style, label=label)
left.set(ylim=(0.18, 0.25), xlabel="time [s]", ylabel="height of a corner [m]", title="Before and after")
left.legend()
middle.semilogy([cost for cost, _ in history], ".-")
middle.set(xlabel="throw", ylabel="sum of squares [m²]", title="Gauss-Newton")
values, vectors = np.linalg.eigh(covariance[:2, :2])
turn = np.linspace(0, 2 * np.pi, 100)
ellipse = 2.45 * vectors @ (np.sqrt(values)[:, None] * [np.cos(turn), np.sin(turn)])  # 95 %
right.plot(100 * ellipse[0], 100 * ellipse[1], label="95 % by the derivatives")
right.plot(*(100 * (cloud - np.log(truth))[:, :2].T), "k.", label="found")
right.set(xlabel="error of mu [%]", ylabel="error of k [%]", title="With 1 mm of noise")
right.legend(loc="upper left", framealpha=1)
figure.savefig("learn_the_floor.png")
