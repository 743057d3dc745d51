# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Your own dynamics
#
# You have code for a mass matrix, forces and contacts; sapstep makes the steps. Here a disk is thrown along a floor: it slides
# until friction makes it roll, which it does at two thirds of its first speed, whatever the friction.
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/own_dynamics.py`

# %%
import matplotlib.pyplot as plt
import numpy as np

import sapstep

mass, radius, gravity = 2.0, 0.1, 9.81


class Disk(sapstep.System):
    """q = (x, z, angle), v = dq/dt; the disk turns about y."""

    tree_sizes = (3,)

    def __init__(self, friction):
        self.friction = friction

    def mass_matrix(self, q):
        return np.diag([mass, mass, 0.5 * mass * radius**2])

    def forces(self, t, q, v):  # (treated implicitly, all others)
        return np.zeros(3), np.array([0, -mass * gravity, 0])

    def constraints(self, step, problem):
        # Velocity of the disk relative to the floor at its lowest point, rows [t1 t2 n]: along x, along y, up.
        J = np.array([[1, 0, -radius], [0, 0, 0], [0, 1, 0]])
        problem.add_contact({0: J}, step.q0[1] - radius, friction=self.friction, stiffness=1e6, sigma=1e-5, key=1)


# %% [markdown]
# A stepper advances `q` and `v`. Friction decelerates the disk by mu g until it rolls, at t = v0/(3 mu g).

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for friction in (0.1, 0.2, 0.4):
    depth = mass * gravity / 1e6
    stepper = sapstep.Stepper(Disk(friction), [0, radius - depth, 0], [3, 0, 0], dt=0.005)
    rows = []
    for _ in range(300):
        stepper.step()
        rows.append((stepper.t, stepper.v[0], radius * stepper.v[2]))
    t, speed, rim = np.array(rows).T
    rolls = t[np.argmax(np.abs(speed - rim) < 1e-3)]
    print(f"mu {friction}: rolls after {rolls:.3f} s ({3 / (3 * friction * gravity):.3f} s expected) at {speed[-1]:.4f} m/s")
    assert abs(speed[-1] - 2.0) < 1e-3
    left.plot(t, speed, label=f"mu {friction}")
    right.plot(t, speed - rim, label=f"mu {friction}")
left.set(xlabel="time [s]", ylabel="speed [m/s]", title="Speed")
right.set(xlabel="time [s]", ylabel="slip [m/s]", title="Slip on the floor")
left.legend()
figure.savefig("own_dynamics.png")

# %% [markdown]
# Springs, dampers and servos go into the first result of `forces`, with their stiffness and damping in `stiffness_damping`; they
# stay stable however stiff they are. `constraints` may evaluate contacts at the middle of the step, for second order: see
# `sapstep.Step`.
