# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Energy and order of schemes
#
# A pendulum of 1 m, q'' = -g sin q, is a system written in Python. `sapstep.converge` halves the time step several times and
# fits the order of each scheme to the errors.
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/orders.py`

# %%
import matplotlib.pyplot as plt
import numpy as np

import sapstep


class Pendulum(sapstep.System):
    tree_sizes = (1,)

    def mass_matrix(self, q):
        return [[1.0]]

    def forces(self, t, q, v):  # (treated implicitly, all others)
        return np.zeros(1), -9.81 * np.sin(q)


orders = sapstep.converge(Pendulum(), [1.0], [0.0], dt=0.02, duration=2.0)
print(orders)

# %% [markdown]
# Only the midpoint rule is of second order. Over ten seconds, implicit Euler takes energy out of the motion; symplectic Euler
# oscillates, and the midpoint rule oscillates far less.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for scheme in ("symplectic-euler", "implicit-euler", "midpoint"):
    stepper = sapstep.Stepper(Pendulum(), [1.0], [0.0], dt=0.02, scheme=scheme)
    rows = []
    for _ in range(500):
        stepper.step()
        rows.append((stepper.t, 0.5 * stepper.v[0] ** 2 - 9.81 * (np.cos(stepper.q[0]) - np.cos(1.0))))
    t, energy = np.array(rows).T
    left.plot(t, energy, label=scheme)
    print(f"{scheme:18} order {orders.order[scheme]:.2f}, energy drift {energy[-1]:+.2e} J")
left.set(xlabel="time [s]", ylabel="energy minus energy at the start [J]", title="Steps of 20 ms")
left.legend()
orders.plot(right)
right.set_title("Errors after 2 s")
figure.savefig("orders.png")
