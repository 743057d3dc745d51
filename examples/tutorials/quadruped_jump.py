# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # A quadruped learns to jump
#
# Which torques make a robot of 12 kg jump on the spot and land on its feet? Nobody tells it when its feet leave the ground: iterative LQR
# finds that from `Simulation.linearize`, the exact derivatives A, B of every step, contacts included.
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/quadruped_jump.py`; the jump is recorded:
# `sapstep view quadruped_jump.h5 -o jump.html`.

# %%
import time

import matplotlib.pyplot as plt
import numpy as np

import sapstep

model = sapstep.Model("quadruped", timestep=0.01)
model.setting("stiffness", 2e5)
model.setting("relaxation_time", 0.005)
model.world.geom("plane", "floor", size=[3, 3, 0.1], friction=0.8)
trunk = model.world.body("trunk", pos=[0, 0, 0.445]).joint("free", "root").geom("box", "trunk", size=[0.24, 0.09, 0.05], mass=7.8)
springs = dict(armature=0.01, damping=2, stiffness=60)
for leg, x, y in (("fl", 0.19, 0.12), ("fr", 0.19, -0.12), ("hl", -0.19, 0.12), ("hr", -0.19, -0.12)):
    thigh = trunk.body(f"{leg}_thigh", pos=[x, y, 0])
    thigh.joint("hinge", f"{leg}_roll", axis=[1, 0, 0], range=[-0.8, 0.8], **springs)
    thigh.joint("hinge", f"{leg}_hip", axis=[0, 1, 0], range=[-1.6, 1.6], **springs)
    thigh.geom("capsule", f"{leg}_thigh", size=0.025, fromto=[0, 0, 0, -0.12, 0, -0.16], mass=0.8)
    shank = thigh.body(f"{leg}_shank", pos=[-0.12, 0, -0.16])
    shank.joint("hinge", f"{leg}_knee", axis=[0, 1, 0], range=[-1.9, 1.05], **springs)
    shank.geom("capsule", f"{leg}_shank", size=0.016, fromto=[0, 0, 0, 0.12, 0, -0.16], mass=0.2)
    shank.geom("sphere", f"{leg}_foot", size=0.025, pos=[0.12, 0, -0.16], mass=0.05, friction=0.8)
    for part in ("roll", "hip", "knee"):
        model.actuator("motor", joint=f"{leg}_{part}", ctrllimited="true", ctrlrange=[-60, 60])
robot = model.simulation()
robot.control = np.zeros(12)
robot.step(200)
stand, still, n = np.array(robot.q), np.zeros(18), 18

# %% [markdown]
# A jump of 0.2 m in one second: after 0.5 s the trunk is to be that high and upright, at the end the robot stands as before. Torques cost
# little.

# %%
steps, height, torque = 100, 0.2, 1e-5
final = np.concatenate([[200, 200, 200, 50, 50, 50], np.full(12, 5.0), np.full(6, 1.0), np.full(12, 0.05)])
top = np.concatenate([[200, 200, 4000, 50, 50, 50], np.full(12, 0.5), np.zeros(18)])
always = np.concatenate([[1, 1, 0, 2, 2, 2], np.full(12, 0.02), np.zeros(6), np.full(12, 1e-4)])


def difference(q, v, rise):
    """Way from the stand, `rise` higher, in the tangent space, and the velocities (2 nv)."""
    a, b = stand[3:7] * [1, -1, -1, -1], q[3:7]  # the rotation between them, twice its vector part
    turn = 2 * (a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))
    turn *= np.sign(a[0] * b[0] - a[1:] @ b[1:])
    return np.concatenate([q[:3] - stand[:3] - [0, 0, rise], turn, q[7:] - stand[7:], v])


def weight(k):
    return (final, 0.0) if k == steps else (top, height) if k == steps // 2 else (always, 0.0)


def run(controls, K=None, reference=None, derivatives=False):
    """A trajectory, with feedback K about a reference; its cost; A and B of its steps."""
    robot.forget()
    robot.q, robot.v = stand, still
    states, used, slopes, cost = [(stand, still)], [], [], 0.0
    for k in range(steps):
        u = controls[k]
        if K is not None:
            x, r = states[k], reference[k]
            u = u + K[k] @ (difference(*x, 0.0) - difference(*r, 0.0))
        robot.control = u = np.clip(u, -60, 60)
        robot.step()
        states.append((np.array(robot.q), np.array(robot.v)))
        used.append(u)
        slopes += [robot.linearize()] if derivatives else []
        w, rise = weight(k + 1)
        e = difference(*states[-1], rise)
        cost += 0.5 * torque * u @ u + 0.5 * e @ (w * e)
    return states, np.array(used), cost, slopes


def improve(states, controls, slopes, damping):
    """The changes of controls and the feedback that are optimal for the linearized steps (Riccati's recursion)."""
    w, rise = weight(steps)
    V, s, k_all, K_all = np.diag(w), w * difference(*states[-1], rise), [], []
    for k in reversed(range(steps)):
        A, B = slopes[k]
        Q_u, Q_x = torque * controls[k] + B.T @ s, A.T @ s
        Q_uu, Q_ux, Q_xx = torque * np.eye(12) + B.T @ (V + damping * np.eye(2 * n)) @ B, B.T @ V @ A, A.T @ V @ A
        gains = -np.linalg.solve(Q_uu, np.column_stack([Q_u, Q_ux]))
        change, K = gains[:, 0], gains[:, 1:]
        w, rise = weight(k)
        V = Q_xx + Q_ux.T @ K + np.diag(w)
        V, s = 0.5 * (V + V.T), Q_x + K.T @ Q_u + K.T @ Q_uu @ change + Q_ux.T @ change + w * difference(*states[k], rise)
        k_all.append(change)
        K_all.append(K)
    return k_all[::-1], K_all[::-1]


# %%
states, controls, cost, slopes = run(np.zeros((steps, 12)), derivatives=True)
costs, damping, begin = [cost], 1e-3, time.perf_counter()
for iteration in range(60):
    changes, K = improve(states, controls, slopes, damping)
    for scale in (1.0, 0.5, 0.25, 0.1, 0.03):
        trial = run(controls + scale * np.array(changes), K, states)
        if trial[2] < cost:
            break
    else:
        damping *= 10
        if damping > 1e4:
            break
        continue
    damping = max(damping / 3, 1e-6)
    small = cost - trial[2] < 1e-4 * cost
    states, controls, cost, slopes = run(trial[1], derivatives=True)
    costs.append(cost)
    if small:
        break
seconds = time.perf_counter() - begin
z = np.array([q[2] for q, _ in states]) - stand[2]
print(f"{len(costs) - 1} iterations, {seconds / len(costs):.3f} s each; cost {costs[0]:.1f} -> {costs[-1]:.2f}")
print(f"height {z.max():.3f} m, at 0.5 s {z[steps // 2]:.3f} m; away from the stand at the end by {1000 * np.abs(states[-1][0][:3] - stand[:3]).max():.1f} mm")
assert z.max() > 0.13 and np.abs(states[-1][0][:3] - stand[:3]).max() < 0.03

# %%
robot.forget()
robot.t, robot.q, robot.v = 0.0, stand, still
touching = np.zeros(steps)
with robot.record("quadruped_jump.h5"):
    for k in range(steps):
        robot.control = controls[k]
        robot.step()
        touching[k] = sum(c["gamma"][2] > 0 for c in robot.contacts)

times = robot.dt * np.arange(steps + 1)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
left.plot(times, z, label="height of the trunk over its stand")
left.fill_between(times[1:], 0, 0.02, where=touching == 0, color="C1", label="in flight")
left.plot(0.5, height, "k*", label="asked")
left.set(xlabel="time [s]", ylabel="height [m]", title=f"A jump, found in {len(costs) - 1} iterations")
left.legend(loc="upper left")
right.semilogy(costs, "o-")
right.set(xlabel="iteration", ylabel="cost", title=f"{seconds / len(costs):.2f} s an iteration")
figure.savefig("quadruped_jump.png")
