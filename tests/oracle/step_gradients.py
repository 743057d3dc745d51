# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of steps against complex steps through a numpy model of a planar arm whose hand touches a floor
without friction: implicit Euler, with h = dt and each link's momentum about its centre
    F = sum_b Jw' I (w1 - w0) + Jc(q1)' m (c1' - c0' - h g) + a (v1 - v0) + h (d v1 + k (q1 - r) - u) - Jn(q0)' gamma
    gamma = (v_hat - Jn v1)/R,  R = 1/(h k (h + tau)),  v_hat = -phi/(h + tau)
Newton's iteration in complex numbers, until the imaginary part is round-off too: derivatives to 1e-14."""

import numpy as np

import sapstep

DT, RADIUS, FLOOR = 0.005, 0.05, 0.62
LENGTH, MASS, CENTRE, INERTIA = 0.3, (1.0, 0.6), ((0.15, 0.0), (0.1, 0.02)), (0.02, 0.015)
TIP = (0.25, 0.0)
NAMES = (("stiffness", 0), ("stiffness", 1), ("relaxation_time", 0), ("relaxation_time", 1), ("damping", 0),
         ("armature", 0), ("armature", 1), ("spring", 0), ("gravity", 0), ("gravity", 2))
AT = np.array([4e3, 5e3, 0.02, 0.03, 0.3, 0.02, 0.01, 2.0, 0.4, -9.0])
REFERENCE = 0.5


def scene():
    k0, k1, t0, t1, damping, arm0, arm1, spring, gx, gz = map(float, AT)
    return f"""<mujoco><compiler angle="radian"/><option timestep="{DT}" gravity="{gx!r} 0 {gz!r}"/><worldbody>
    <geom type="plane" size="5 5 1" pos="0 0 {FLOOR}" condim="1" solref="{-k0!r} {-k0 * t0!r}"/>
    <body pos="0 0 1"><inertial pos=".15 0 0" mass="1" diaginertia=".01 .02 .02"/>
    <joint axis="0 1 0" damping="{damping!r}" armature="{arm0!r}" stiffness="{spring!r}" springref="{REFERENCE}"/>
    <body pos="{LENGTH} 0 0"><inertial pos=".1 0 .02" mass=".6" diaginertia=".01 .015 .02"/>
    <joint axis="0 1 0" armature="{arm1!r}"/><geom type="sphere" size="{RADIUS}" pos="{TIP[0]} 0 0" condim="1"
    solref="{-k1!r} {-k1 * t1!r}"/></body></body></worldbody>
    <actuator><motor joint="j" gear="2"/></actuator></mujoco>""".replace("<joint axis", '<joint name="j" axis', 1)


def turned(angle, x, z):
    """A vector of a body at that angle about y, in the world (x, z), and its derivative by the angle."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([x * c + z * s, z * c - x * s]), np.array([z * c - x * s, -x * c - z * s])


def point(q, body, x, z):
    """Place (x, z) of a point of a body and its Jacobian (2, 2)."""
    place, slope = turned(q[0], LENGTH if body else x, 0.0 if body else z)
    J = np.stack([slope, 0 * slope], axis=1)
    if body:
        more, slope = turned(q[0] + q[1], x, z)
        place, J = place + more, J + np.stack([slope, slope], axis=1)
    return place, J


def balance(v, q0, v0, u, p):
    k0, k1, t0, t1, damping, arm0, arm1, spring, gx, gz = p
    q1 = q0 + DT * v
    F = np.array([arm0, arm1]) * (v - v0)
    F = F + DT * np.array([damping * v[0] + spring * (q1[0] - REFERENCE) - 2 * u, 0.0])
    for body in (0, 1):
        spin = np.array([1.0, float(body)])
        before, after = point(q0, body, *CENTRE[body])[1], point(q1, body, *CENTRE[body])[1]
        F = F + spin * INERTIA[body] * (spin @ (v - v0))
        F = F + MASS[body] * after.T @ (after @ v - before @ v0 - DT * np.array([gx, gz]))
    tip, J = point(q0, 1, *TIP)
    share = k1 / (k0 + k1)  # of the floor's relaxation time
    k, tau = k0 * share, share * t0 + (1 - share) * t1
    phi = 1.0 + tip[1] - RADIUS - FLOOR
    gamma = (-phi / (DT + tau) - J[1] @ v) * DT * k * (DT + tau)
    assert gamma.real > 0
    return F - J[1] * gamma


def step(x):
    """[q1; v1] of [q0; v0; u; parameters]."""
    q0, v0, u, p = x[:2], x[2:4], x[4], x[5:]
    v = v0.astype(complex)
    for _ in range(30):
        F, h = balance(v, q0, v0, u, p), 1e-6
        J = np.stack([(balance(v + h * e, q0, v0, u, p) - balance(v - h * e, q0, v0, u, p)) / (2 * h)
                      for e in np.eye(2)], axis=1)
        v = v - np.linalg.solve(J, F)
    return np.concatenate([q0 + DT * v, v])


def test():
    sim = sapstep.Simulation.from_string(scene(), remember=False, relative_tolerance=1e-14, balance_tolerance=1e-13)
    worst = np.zeros(2)  # of A and B, of the gradients to parameters: by differences of the law in k and tau
    for q0, v0 in (([0.9, 0.215], [0.3, -0.5]), ([0.95, 0.1], [1.0, 2.0]), ([0.88, 0.3], [-0.1, 0.2])):
        u = 0.7
        sim.q, sim.v, sim.control = q0, v0, [u]
        start = np.concatenate([q0, v0, [u], AT])
        sim.step()
        assert len(sim.contacts) == 1
        end = step(start.astype(complex))
        assert np.abs(end.real - np.concatenate([sim.q, sim.v])).max() < 1e-12, "another step"
        columns = [step(start + 1e-30j * e).imag / 1e-30 for e in np.eye(start.size)]
        expected = np.stack(columns, axis=1)
        A, B = sim.linearize()
        rows = [sim.vjp(q=e[:2], v=e[2:], parameters=NAMES)["parameters"] for e in np.eye(4)]
        found = np.hstack([A, B, rows])
        scale = np.abs(expected).max(axis=0)
        errors = np.abs(found - expected).max(axis=0) / scale
        worst = np.maximum(worst, [errors[:5].max(), errors[5:].max()])
    print(f"worst error of a column of A and B: {worst[0]:.2g}, of parameters: {worst[1]:.2g}")
    assert worst[0] < 1e-10 and worst[1] < 1e-9


if __name__ == "__main__":
    test()
