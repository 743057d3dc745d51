# SPDX-License-Identifier: BSD-3-Clause
# %% [markdown]
# # Compare contact solvers
#
# A heavy cube rests on a light one, and friction holds both on an inclined floor: hard for solvers that sweep over the contacts.
# All solvers take the same `sapstep.Problem`, and one function judges their results.
#
# To run this page as a script: `pip install . matplotlib && python examples/tutorials/solvers.py`

# %%
import matplotlib.pyplot as plt
import numpy as np

import sapstep

dt, half = 0.001, 0.1  # time step [s], half of an edge [m]


def corner(x, y, z):
    """Velocity of a cube's corner, rows [t1 t2 n] along x, y, z, by its velocities [linear; angular]."""
    return np.array([[1, 0, 0, 0, z, -y], [0, 1, 0, -z, 0, x], [0, 0, 1, y, -x, 0]], dtype=float)


def two_cubes(ratio):
    """Tree 0: 1 kg, on the floor; tree 1: `ratio` kg, on the first."""
    problem = sapstep.Problem(dt, [6, 6])
    for tree, mass in enumerate((1.0, ratio)):
        inertia = mass * (2 * half) ** 2 / 6
        problem.set_momentum(np.diag([mass] * 3 + [inertia] * 3), tree)
    problem.set_v_star(np.tile([0.5 * dt * 9.81, 0, -dt * 9.81, 0, 0, 0], 2))  # the floor is inclined
    for x in (-half, half):
        for y in (-half, half):
            below, above = {0: corner(x, y, -half)}, {0: -corner(x, y, half), 1: corner(x, y, -half)}
            for jacobians in (below, above):
                problem.add_contact(jacobians, phi=0, friction=0.9, stiffness=1e9)
    return problem


# %% [markdown]
# The residual `ncp_natural_map` is zero for a solution with Signorini's law and Coulomb's friction; `ccp_natural_map` for one of the
# convex approximation, in which sliding contacts glide. Here everything sticks, and the solutions are the same.

# %%
problem = two_cubes(10.0)
print(f"{'solver':26}{'outcome':24}{'iterations':>10}{'natural map':>14}")
for solver in sapstep.solvers():
    try:
        found = problem.solve(solver["name"], relative_tolerance=1e-6, max_sweeps=20000)
    except sapstep.Error as error:  # it does not take these blocks
        print(f"{solver['name']:26}{error}"[:90])
        continue
    judged = problem.residuals(found.v, found.gamma)
    print(f"{solver['name']:26}{found.outcome:24}{found.iterations:10}{judged['ncp_natural_map_scaled']:14.1e}")

# %% [markdown]
# Sweeps (`pgs-ncp`, `nbgs`) need thousands of iterations, Newton's method (`sap`, `newton-ncp`) a few, whatever the ratio of the
# masses is.

# %%
ratios = 10.0 ** np.arange(0, 5)
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, marker in zip(("sap", "newton-ncp", "admm-ncp", "nbgs", "pgs-ncp"), "osd^v"):
    solutions = [two_cubes(ratio).solve(name, relative_tolerance=1e-6, max_sweeps=20000) for ratio in ratios]
    counts = [found.iterations if found.converged else np.nan for found in solutions]
    axes.loglog(ratios, counts, marker + "-", label=name)
axes.set(xlabel="mass of the upper cube over that of the lower [-]", ylabel="iterations [-]",
         title="Two cubes, to a relative tolerance of 1e-6")
axes.legend()
figure.savefig("solvers.png")

# %% [markdown]
# The program compares solvers on the stored problems of whole scenes: `sapstep compare --help`.
