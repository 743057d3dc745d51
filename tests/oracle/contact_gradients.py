# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of contact problems against a complex step through the laws, which shares nothing with
the library but the definition of the problem.

contact_gradients.py [--count N] [FOLDER]: N random problems, and the problems of a folder of
*.problem files. Prints the worst relative errors and fails if one is above its bound.

    F(v, data) = A (v - v*) - J' gamma(v, data) = 0

is continued to complex data: data + i h d with h = 1e-30, in 80-bit arithmetic. v is improved by
Newton's method, with the Jacobian of F from complex steps of the laws, until the real and the
imaginary part are round-off. The imaginary parts over h are the derivative along d.
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import sapstep
from sapstep._gradient import FIELDS
from sapstep._library import ffi, lib, call, pointer

STEP = 1e-30
LONG = np.longdouble


class Block:
    def __init__(self, kind, first, n, trees, dissipation=0.0, slip_speed=0.0):
        self.kind, self.rows, self.n, self.trees = kind, slice(first, first + n), n, trees
        self.dissipation, self.slip_speed = dissipation, slip_speed


class Data:
    """A problem: sizes of trees, blocks, and the arrays of sapstep._gradient.FIELDS."""

    def __init__(self, sizes, blocks, arrays, couplings=()):
        self.sizes, self.blocks, self.couplings = sizes, blocks, list(couplings)
        self.starts = np.concatenate([[0], np.cumsum(sizes)])
        self.x = arrays

    def columns(self, tree):
        return slice(self.starts[tree], self.starts[tree + 1])


# The laws, for real and complex numbers; branches are chosen by real parts.


def coulomb_cone(u, Rt, Rn, mu, n):
    t = np.array([i for i in range(n) if i != 2])
    gamma = np.zeros(n, dtype=u.dtype)
    normal = u[2] / Rn
    if normal.real <= 0:
        return gamma
    gamma[2] = normal
    slip = np.sqrt(np.sum(u[t] ** 2))
    stuck = slip.real / Rt.real <= mu.real * normal.real
    gamma[t] = u[t] / Rt if stuck else mu * normal * u[t] / slip
    return gamma


def sap_cone(u, Rt, Rn, mu, n):
    t = np.array([i for i in range(n) if i != 2])
    gamma = np.zeros(n, dtype=u.dtype)
    slip = np.sqrt(np.sum(u[t] ** 2))
    if u[2].real > 0 and mu.real > 0 and slip.real / Rt.real <= mu.real * u[2].real / Rn.real:
        gamma[t], gamma[2] = u[t] / Rt, u[2] / Rn
    elif u[2].real + mu.real * slip.real > 0:
        gamma[2] = (u[2] + mu * slip) / (Rn + mu * mu * Rt)
        if slip.real > 0:
            gamma[t] = mu * gamma[2] * u[t] / slip
    return gamma


def potential(block, vc, v_hat, Rn, mu, n0, coulomb):
    """Definitions of sapstep/contact.h; the similar law's v_hat is not shifted here."""
    n, d, vs = block.n, block.dissipation, block.slip_speed
    t = np.array([i for i in range(n) if i != 2])
    w = vc[t] - v_hat[t]
    s = np.sqrt(np.sum(w * w))
    h = s * s / (2 * vs) if s.real < vs else s - vs / 2
    slope = w / vs if s.real < vs else w / s  # h' times the direction
    lifted = block.kind == "similar" and not coulomb
    z = vc[2] - mu * h if lifted else vc[2]
    factor = 1 - d * z
    normal = (v_hat[2] - z) * factor / Rn if (v_hat[2] - z).real > 0 and factor.real > 0 else 0.0 * z
    gamma = np.zeros(n, dtype=np.result_type(vc, v_hat, z))
    gamma[2] = normal
    gamma[t] = -mu * (normal if block.kind == "similar" or coulomb else n0) * slope
    return gamma


def law(data, x, b, vc, coulomb):
    """Impulse of block b."""
    block, r = data.blocks[b], data.blocks[b].rows
    R, u, mu = x["R"][r], x["v_hat"][r] - vc, x["friction"][b]
    u = u.astype(np.result_type(u, R, mu, x["lower"], x["upper"]))
    if block.kind == "friction-cone":
        return (coulomb_cone if coulomb else sap_cone)(u, R[0], R[2], mu, block.n)
    if block.kind in ("similar", "lagged"):
        return potential(block, vc, x["v_hat"][r], R[2], mu, x["lagged_impulse"][b], coulomb)
    y = u / R
    lower = np.zeros(block.n) if block.kind == "nonnegative" else x["lower"][r]
    if block.kind != "free":
        y = np.where(y.real < lower.real, lower, y)
    return np.where(y.real > x["upper"][r].real, x["upper"][r], y) if block.kind == "box" else y


def impulses(data, x, v, coulomb):
    vc = x["J"] @ v
    parts = [law(data, x, b, vc[block.rows], coulomb) for b, block in enumerate(data.blocks)]
    return np.concatenate(parts) if parts else np.zeros(0)


def balance(data, x, v, coulomb):
    return x["A"] @ (v - x["v_star"]) - x["J"].T @ impulses(data, x, v, coulomb)


def jacobian(data, x, v, coulomb):
    H = np.array(x["A"], dtype=float)
    vc = x["J"] @ v
    for b, block in enumerate(data.blocks):
        G = np.zeros((block.n, block.n))
        for i in range(block.n):
            moved = vc[block.rows].astype(np.clongdouble)
            moved[i] += 1j * STEP
            G[:, i] = -law(data, x, b, moved, coulomb).imag / STEP
        columns = np.concatenate([np.arange(data.starts[t], data.starts[t + 1]) for t in block.trees])
        J = np.array(x["J"][block.rows][:, columns], dtype=float)
        H[np.ix_(columns, columns)] += J.T @ G @ J
    return H


def solve(data, v, coulomb):
    """Newton's method on the real problem from a solver's v; returns the best v."""
    x = {name: values.astype(LONG) for name, values in data.x.items()}
    v = v.astype(LONG)
    best, least = v, np.inf
    for _ in range(30):
        F = balance(data, x, v, coulomb)
        size = np.linalg.norm(F / np.sqrt(np.diag(x["A"])))
        if not size < 0.5 * least:
            break
        best, least = v, size
        v = v - np.linalg.solve(jacobian(data, x, v, coulomb), F.astype(float))
    return best


def derivative(data, v, direction, coulomb, H):
    x = {name: values.astype(LONG) for name, values in data.x.items()}
    x.update({name: x[name] + 1j * LONG(STEP) * d for name, d in direction.items()})
    moved = v.astype(np.clongdouble)
    for _ in range(6):  # F is linear in the imaginary part: one step, the others remove round-off
        F = balance(data, x, moved, coulomb).imag / LONG(STEP)
        moved = moved - 1j * LONG(STEP) * np.linalg.solve(H, F.astype(float))
    parts = moved.imag / LONG(STEP), impulses(data, x, moved, coulomb).imag / LONG(STEP)
    return [part.astype(float) for part in parts]


# The library.


def build(data):
    problem = sapstep.Problem(0.01, data.sizes)
    for t in range(len(data.sizes)):
        problem.set_momentum(data.x["A"][data.columns(t), data.columns(t)], t)
    for a, b in data.couplings:
        problem.set_momentum(data.x["A"][data.columns(a), data.columns(b)], a, b)
    problem.set_v_star(data.x["v_star"])
    for b, block in enumerate(data.blocks):
        J = {t: data.x["J"][block.rows, data.columns(t)] for t in block.trees}
        R, v_hat = data.x["R"][block.rows], data.x["v_hat"][block.rows]
        if block.kind in ("similar", "lagged"):
            add_potential(problem, block, J, R, v_hat, data.x["friction"][b], data.x["lagged_impulse"][b])
            continue
        bounds = {} if block.kind != "box" else {k: data.x[k][block.rows] for k in ("lower", "upper")}
        problem.add_block(block.kind, J, R, v_hat, friction=data.x["friction"][b], **bounds)
    return problem


def add_potential(problem, block, J, R, v_hat, mu, n0):
    made = ffi.new("sap_block*")
    made.set = lib.SAP_SET_SIMILAR if block.kind == "similar" else lib.SAP_SET_LAGGED
    J = {t: np.asfortranarray(part) for t, part in J.items()}
    trees = ffi.new("int32_t[]", list(J))
    jacobians = ffi.new("const double*[]", [pointer(part) for part in J.values()])
    made.nrows, made.ntrees, made.trees, made.jacobians = block.n, len(J), trees, jacobians
    made.R, made.v_hat, made.friction = pointer(R), pointer(v_hat), mu
    made.dissipation, made.slip_speed, made.lagged_impulse = block.dissipation, block.slip_speed, n0
    with problem._c as c:
        call(lib.sap_problem_add_block, c.problem, made)
        problem._changed(c)


def random_direction(data, random, names):
    d = {}
    for name in names:
        scale = np.abs(data.x[name]) if name in ("R", "friction", "lagged_impulse") else 1.0
        if name in ("lower", "upper"):
            scale = np.where(np.isfinite(data.x[name]), 1.0, 0.0)
        d[name] = scale * random.standard_normal(data.x[name].shape)
    if "A" in d:
        d["A"] = 0.1 * (d["A"] + d["A"].T) * (data.x["A"] != 0)
    if "J" in d:
        for block in data.blocks:
            off = np.ones(data.starts[-1], dtype=bool)
            for t in block.trees:
                off[data.columns(t)] = False
            d["J"][block.rows, off] = 0.0
    if "R" in d:  # the tangents of a contact have one R_t
        for block in data.blocks:
            if block.kind in ("friction-cone", "similar", "lagged"):
                t = [i for i in range(block.n) if i != 2]
                d["R"][block.rows.start + np.array(t)] = d["R"][block.rows.start]
    return d


def relative(got, want, scale):
    return np.linalg.norm(got - want) / max(np.linalg.norm(want), scale, 1e-300)


def check(data, random, coulomb=False, names=FIELDS, apart=True):
    """Returns errors of one problem: jvp of v and gamma against the complex step, vjp against jvp."""
    problem = build(data)
    with np.errstate(all="ignore"):
        solution = problem.solve("sap-ncp" if coulomb else "sap", relative_tolerance=1e-12 if not coulomb else 1e-9)
    v = solve(data, solution.v, coulomb)
    gamma = impulses(data, {name: values.astype(LONG) for name, values in data.x.items()}, v, coulomb)
    own = solution._gradient._solution
    for to, values in ((own.v, v.astype(float)), (own.gamma, gamma.astype(float))):
        ffi.memmove(to, pointer(values), 8 * len(values))
    modes = solution.modes(coulomb=coulomb)
    if modes["kinks"] > 0:
        return None, modes
    H = jacobian(data, data.x, v, coulomb)
    errors = dict.fromkeys(("v", "gamma", "adjoint"), 0.0)
    for chosen in ([name] for name in names) if apart else [names]:
        d = random_direction(data, random, chosen)
        dv, dgamma = derivative(data, v, d, coulomb, H)
        got_v, got_gamma = solution.jvp(d, coulomb=coulomb)
        v_bar, gamma_bar = random.standard_normal(len(v)), random.standard_normal(len(gamma))
        bars = solution.vjp(v_bar, gamma_bar, wrt=chosen, coulomb=coulomb)
        products = np.concatenate([(bars[name] * d[name]).ravel() for name in chosen])
        terms = np.concatenate([v_bar * got_v, gamma_bar * got_gamma])
        scale = max(np.abs(products).sum(), np.abs(terms).sum(), 1e-300)
        errors["v"] = max(errors["v"], relative(got_v, dv, 1e-9 * np.linalg.norm(v)))
        errors["gamma"] = max(errors["gamma"], relative(got_gamma, dgamma, 1e-9 * np.linalg.norm(gamma)))
        errors["adjoint"] = max(errors["adjoint"], abs(products.sum() - terms.sum()) / scale)
    return errors, modes


def random_problem(random, kinds, stiff):
    """Trees of 1 to 9 velocities, some coupled; blocks of all kinds on one to three trees."""
    sizes = [int(n) for n in random.integers(1, 10, random.integers(1, 5))]
    nv = sum(sizes)
    masses = 10.0 ** random.uniform(-1, 1, nv)
    A = np.zeros((nv, nv))
    starts = np.concatenate([[0], np.cumsum(sizes)])
    couplings = [(a, b) for a in range(len(sizes)) for b in range(len(sizes)) if a != b and random.random() < 0.15]
    couplings = [(a, b) for a, b in couplings if a < b or (b, a) not in couplings]
    X = random.standard_normal((nv, nv)) * np.sqrt(masses)[:, None] / np.sqrt(nv)
    full = X @ X.T
    for t in range(len(sizes)):
        c = slice(starts[t], starts[t + 1])
        A[c, c] = full[c, c]
    A += np.diag(masses)
    for a, b in couplings:
        ca, cb = slice(starts[a], starts[a + 1]), slice(starts[b], starts[b + 1])
        A[ca, cb] = 0.1 * full[ca, cb]
        A[cb, ca] = A[ca, cb].T
    blocks, nrows = [], 0
    for _ in range(random.integers(1, 8)):
        kind = random.choice(kinds)
        n = int(random.choice([3, 3, 4, 6])) if kind in ("friction-cone", "similar", "lagged") else int(random.integers(1, 4))
        trees = [int(t) for t in random.permutation(len(sizes))[: random.integers(1, min(3, len(sizes)) + 1)]]
        blocks.append(Block(kind, nrows, n, trees, 10.0 ** random.uniform(-1, 1), 10.0 ** random.uniform(-3, -1)))
        nrows += n
    J, R = np.zeros((nrows, nv)), np.zeros(nrows)
    for block in blocks:
        for t in block.trees:
            c = slice(starts[t], starts[t + 1])
            J[block.rows, c] = random.standard_normal((block.n, sizes[t]))
        W = J[block.rows] @ np.linalg.solve(A, J[block.rows].T)
        w = np.linalg.norm(W) / block.n
        R[block.rows] = w * 10.0 ** random.uniform(-9 if stiff else -3, 0, block.n)
        if block.kind in ("friction-cone", "similar", "lagged"):
            R[block.rows] = w * 10.0 ** random.uniform(-9 if stiff else -3, -1)
            R[block.rows.start + 2] = w * 10.0 ** random.uniform(-9 if stiff else -2, 0)
    centre = random.standard_normal(nrows)
    arrays = {
        "v_star": random.standard_normal(nv), "A": A, "J": J, "R": R,
        "v_hat": 0.5 * random.standard_normal(nrows),
        "friction": np.array([10.0 ** random.uniform(-1, 0.3) if b.kind in ("friction-cone", "similar", "lagged") else 0.0
                              for b in blocks]),
        "lagged_impulse": np.array([random.random() if b.kind == "lagged" else 0.0 for b in blocks]),
        "lower": centre - random.random(nrows), "upper": centre + random.random(nrows),
    }
    return Data(sizes, blocks, arrays, couplings)


# Physical parameters: castro (29) and (30).


def contact_law(contact, d, dt, w):
    """R and v_hat of a contact whose parameters are moved by d, complex."""
    phi, k, tau, beta, sigma = (value + 1j * STEP * d[name] for name, value in contact.items())
    near, soft = beta**2 * w / (4 * np.pi**2), 1 / (dt * k * (dt + tau))
    return np.array([sigma * w, sigma * w, near if near.real > soft.real else soft]), np.array([0, 0, -phi / (dt + tau)])


def check_physical(random, vary):
    """Returns the error of <v_bar, dv> + <gamma_bar, dgamma> along a change of all parameters, J and A,
    and the number of contacts that are not near rigid."""
    sizes, dt, count = [int(n) for n in random.integers(3, 9, 3)], 0.01, 4
    starts = np.concatenate([[0], np.cumsum(sizes)])
    columns = [slice(a, b) for a, b in zip(starts[:-1], starts[1:])]
    A, J = np.zeros((starts[-1], starts[-1])), np.zeros((3 * count, starts[-1]))
    problem = sapstep.Problem(dt, sizes)
    for t, c in enumerate(columns):
        X = random.standard_normal((sizes[t], sizes[t]))
        A[c, c] = X @ X.T + 0.5 * np.eye(sizes[t])
        problem.set_momentum(A[c, c], t)
    v_star = random.standard_normal(starts[-1])
    problem.set_v_star(v_star)
    blocks, contacts, mu = [], [], random.uniform(0.1, 1, count)
    for b in range(count):
        trees = [int(t) for t in random.permutation(3)[: random.integers(1, 3)]]
        blocks.append(Block("friction-cone", 3 * b, 3, trees))
        contacts.append({"phi": random.uniform(-1e-2, 1e-2), "stiffness": 10.0 ** random.uniform(1, 9),
                         "relaxation_time": random.uniform(0.001, 0.03), "beta": random.uniform(0.5, 1.5),
                         "sigma": 10.0 ** random.uniform(-4, -2)})
        for t in trees:
            J[blocks[b].rows, columns[t]] = random.standard_normal((3, sizes[t]))
        problem.add_contact({t: J[blocks[b].rows, columns[t]] for t in trees}, friction=mu[b], **contacts[b])
    zeros = np.zeros(3 * count)
    data = Data(sizes, blocks, {"v_star": v_star, "A": A, "J": J, "R": zeros, "v_hat": zeros.copy(), "friction": mu,
                                "lagged_impulse": np.zeros(count), "lower": zeros, "upper": zeros})
    d = random_direction(data, random, ("A", "J"))
    parameters = [{name: value * random.standard_normal() for name, value in contact.items()} for contact in contacts]
    moved_A, moved_J = ((data.x[name] + 1j * STEP * (d[name] if vary else 0.0)) for name in ("A", "J"))
    data.x["R"], d["R"], d["v_hat"], soft = np.zeros(3 * count), np.zeros(3 * count), np.zeros(3 * count), 0
    for contact, block, p in zip(contacts, blocks, parameters):
        W = moved_J[block.rows] @ np.linalg.solve(moved_A, moved_J[block.rows].T)
        R, v_hat = contact_law(contact, p, dt, np.sqrt(np.sum(W * W)) / 3)
        data.x["R"][block.rows], data.x["v_hat"][block.rows] = R.real, v_hat.real
        d["R"][block.rows], d["v_hat"][block.rows] = R.imag / STEP, v_hat.imag / STEP
        soft += R[2].real * contact["sigma"] > R[0].real * contact["beta"] ** 2 / (4 * np.pi**2) * (1 + 1e-9)
    solution = problem.solve(relative_tolerance=1e-13)
    v = solve(data, solution.v, False)
    dv, dgamma = derivative(data, v, d, False, jacobian(data, data.x, v, False))
    v_bar, gamma_bar = random.standard_normal(len(v)), random.standard_normal(len(dgamma))
    bars = solution.vjp(v_bar, gamma_bar, wrt=["A", "J", *contacts[0]], polish=2, vary_w=vary)
    terms = np.concatenate([(bars["A"] * d["A"]).ravel(), (bars["J"] * d["J"]).ravel(),
                            *[bars[name] * [p[name] for p in parameters] for name in contacts[0]]])
    want = v_bar @ dv + gamma_bar @ dgamma
    kinks = solution.modes()["kinks"]
    return 0.0 if kinks else abs(terms.sum() - want) / max(np.abs(terms).sum(), abs(want)), soft


def read(path):
    """The problems of a file: dt ntrees; n A of each tree; v*; a guess; ncontacts; of each contact its
    trees (-1: none), mu, R, v_hat and J, row by row."""
    for text in Path(path).read_text().split("sapstep_problem 1")[1:]:
        yield read_problem(iter([line.split() for line in text.splitlines() if line.strip()]))


def read_problem(lines):
    ntrees = int(next(lines)[1])
    squares = [[float(x) for x in next(lines)] for _ in range(ntrees)]
    sizes = [int(row[0]) for row in squares]
    nv = sum(sizes)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    A = np.zeros((nv, nv))
    for t, row in enumerate(squares):
        c = slice(starts[t], starts[t + 1])
        A[c, c] = np.tril(np.reshape(row[1:], (sizes[t], sizes[t])))
        A[c, c] += np.tril(A[c, c], -1).T
    v_star = np.array([float(x) for x in next(lines)])
    next(lines)
    ncontacts = int(next(lines)[0])
    blocks, friction, R, v_hat = [], [], [], []
    J = np.zeros((6 * ncontacts, nv))
    at = 0
    for _ in range(ncontacts):
        row = next(lines)
        trees = [int(t) for t in row[:2] if int(t) >= 0]
        numbers = [float(x) for x in row[3:]]
        n = len(numbers) // (2 + sum(sizes[t] for t in trees))
        friction.append(float(row[2]))
        R += numbers[:n]
        v_hat += numbers[n:2 * n]
        numbers = numbers[2 * n:]
        for t in trees:
            J[at:at + n, starts[t]:starts[t + 1]] = np.reshape(numbers[:n * sizes[t]], (n, sizes[t]))
            numbers = numbers[n * sizes[t]:]
        blocks.append(Block("friction-cone", at, n, trees))
        at += n
    arrays = {"v_star": v_star, "A": A, "J": J[:at], "R": np.array(R), "v_hat": np.array(v_hat),
              "friction": np.array(friction), "lagged_impulse": np.zeros(ncontacts),
              "lower": np.zeros(at), "upper": np.zeros(at)}
    return Data(sizes, blocks, arrays)


SUITES = {
    # name: kinds, stiff (R down to 1e-9 w, else 1e-3 w), coulomb
    "cones": (("friction-cone",), False, False),
    "all kinds": (("friction-cone", "nonnegative", "box", "free"), False, False),
    "stiff": (("friction-cone", "nonnegative", "box", "free"), True, False),
    "similar, lagged": (("similar", "lagged", "box"), False, False),
    "coulomb": (("friction-cone", "nonnegative", "box", "free"), False, True),
}
# Measured 1e-14; 1e-12 where contacts slide much slower than they move otherwise. Where R is tiny, v
# in double precision gives the slip of a contact that hardly slides with few digits.
BOUNDS = {"v": 1e-11, "gamma": 1e-11, "adjoint": 1e-12}
STIFF_BOUNDS = {"v": 1e-8, "gamma": 1e-8, "adjoint": 1e-12}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    parser.add_argument("folder", nargs="?")
    arguments = parser.parse_args()
    failed = False

    def judge(name, errors, bounds, modes):
        nonlocal failed
        bad = [key for key in bounds if not errors[key] <= bounds[key]]
        failed = failed or bool(bad)
        text = "  ".join(f"{key} {errors[key]:.1e}" for key in bounds)
        print(f"{name:24s} {text}  {modes}{'  FAILED: ' + ', '.join(bad) if bad else ''}", flush=True)

    for name, (kinds, stiff, coulomb) in SUITES.items():
        if arguments.only not in name:
            continue
        worst, counts, near = dict.fromkeys(BOUNDS, 0.0), {}, 0
        for i in range(arguments.count):
            random = np.random.default_rng([arguments.seed, i])
            data = random_problem(random, kinds, stiff)
            errors, modes = check(data, random, coulomb)
            if errors is None:
                near += 1
                continue
            for key in worst:
                worst[key] = max(worst[key], errors[key])
            for key, value in modes.items():
                counts[key] = counts.get(key, 0) + value if key not in ("error", "kinks") else 0
        judge(name, worst, STIFF_BOUNDS if stiff else BOUNDS, {k: n for k, n in counts.items() if n} | {"left out": near})
    for vary in (False, True):
        found = [check_physical(np.random.default_rng([arguments.seed, i]), vary) for i in range(arguments.count)]
        if found:
            judge(f"parameters{', w varies' if vary else ''}", {"adjoint": max(e for e, _ in found)},
                  {"adjoint": 1e-11}, f"soft {sum(n for _, n in found)} of {4 * len(found)}")
    for path in sorted(Path(arguments.folder).glob("*.problem")) if arguments.folder else []:
        for number, data in enumerate(read(path)):
            errors, modes = check(data, np.random.default_rng(1), False, FIELDS[:6])
            if errors is not None:
                judge(f"{path.stem} {number}", errors, STIFF_BOUNDS if "hard" in path.name else BOUNDS, modes)
            else:
                print(f"{path.stem} {number}: left out, near a kink: {modes}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
