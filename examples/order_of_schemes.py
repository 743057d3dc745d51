# SPDX-License-Identifier: BSD-3-Clause
"""Energy and order of three schemes, from Python: run as a script or cell by cell.

    pip install . matplotlib && python examples/order_of_schemes.py [figure.png]
"""

# %% A pendulum of 1 m as a system of our own: q'' = -g sin q.
import sys

import matplotlib.pyplot as plt
import numpy as np

import sapstep


class Pendulum(sapstep.System):
    tree_sizes = (1,)

    def mass_matrix(self, q):
        return [[1.0]]

    def forces(self, t, q, v):
        return np.zeros(1), -9.81 * np.sin(q)


def run(scheme, dt, duration=10.0):
    stepper = sapstep.Stepper(Pendulum(), [1.0], [0.0], dt, scheme=scheme)
    rows = []
    for _ in range(round(duration / dt)):
        stepper.step()
        rows.append((stepper.t, stepper.q[0], 0.5 * stepper.v[0] ** 2 - 9.81 * np.cos(stepper.q[0])))
    return np.array(rows).T


# %% Energy over time with steps of 20 ms, and the error after 2 s against the midpoint with a step 8 times
# finer than the finest, whose own error is a 64th of that of the best point drawn.
steps = [0.02, 0.01, 0.005, 0.0025]
schemes = ("symplectic-euler", "implicit-euler", "midpoint")
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6))
exact = run("midpoint", steps[-1] / 8, 2.0)[1][-1]
for scheme in schemes:
    t, _, energy = run(scheme, steps[0])
    left.plot(t, energy + 9.81 * np.cos(1.0), label=scheme)
    errors = [abs(run(scheme, dt, 2.0)[1][-1] - exact) for dt in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    right.loglog(steps, errors, "o-", label=f"{scheme}, order {order:.2f}")
    print(f"{scheme:18} order {order:.2f}, energy drift {energy[-1] - energy[0]:+.2e} J")
left.set(xlabel="t [s]", ylabel="energy - energy at the start [J]")
right.set(xlabel="time step", ylabel="error of the angle at 2 s [rad]")
right.set_xticks(steps, [f"{1e3 * dt:g} ms" for dt in steps])
right.minorticks_off()
for axes in (left, right):
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
figure.tight_layout()
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "order_of_schemes.png", dpi=110)
