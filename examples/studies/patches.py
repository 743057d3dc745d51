#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Contact in patches against closed forms: tables on standard output, all of them drawn on one page.

    python3 examples/studies/patches.py [--json FILE] [--draw FILE]

Steps run through the Python package as those of a user. Static forces are those of a step of 1 us of a heavy
body at rest. Drawing needs matplotlib.
"""

import argparse
import json
import math
import time

import numpy as np

import sapstep

G, MU = 9.81, 0.5
BODY = '<body name="b{i}" pos="{pos}" quat="{quat}"><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia="{I}"/>{geom}</body>'


def scene(*bodies, gravity=G, friction=MU):
    return (f'<mujoco><option gravity="0 0 {-gravity}"/><default><geom friction="{friction} 0 0"/></default><worldbody>'
            f'<geom name="ground" type="plane" size="1 1 1"/>{"".join(bodies)}</worldbody></mujoco>')


def body(kind, size, mass, I, pos=(0, 0, 0), quat=(1, 0, 0, 0), i=0):
    words = {"pos": pos, "quat": quat, "I": I}
    geom = f'<geom name="g{i}" type="{kind}" size="{" ".join(map(str, size))}"/>'
    return BODY.format(i=i, mass=mass, geom=geom, **{k: " ".join(f"{x:.17g}" for x in v) for k, v in words.items()})


def box_inertia(mass, h):
    return [mass / 3 * (h[(k + 1) % 3] ** 2 + h[(k + 2) % 3] ** 2) for k in range(3)]


def start(text, E, dt, contact_model="lagged", **options):
    return sapstep.Simulation.from_string(text, dt, patches=E, contact_model=contact_model,
                                          scheme="implicit-euler", **options)


class Probe:
    """Force and moment of the ground on a body at rest in any pose."""

    def __init__(self, kind, size, E):
        self.sim = start(scene(body(kind, size, 1e6, (1e6, 1e6, 1e6)), gravity=0), E, 1e-6, beta=0.0)

    def __call__(self, z, tilt=0.0):
        """The body's centre at the height z, turned about y; returns the force along z, the moment about y and
        the stiffness about y of the contacts."""
        self.sim.reset()
        self.sim.q[:] = [0, 0, z, math.cos(tilt / 2), 0, math.sin(tilt / 2), 0]
        self.sim.step()
        forces, contacts = self.sim.contact_forces(), self.sim.contacts
        return forces[2], forces[4], float(np.sum(contacts["stiffness"] * contacts["point"][:, 0] ** 2))


# --- exact values ---

def clip(polygon, a, b):
    """The part of a polygon (n, 2) with a . x <= b."""
    out = []
    for p, q in zip(polygon, np.roll(polygon, -1, 0)):
        dp, dq = a @ p - b, a @ q - b
        if dp <= 0:
            out.append(p)
        if (dp < 0 < dq) or (dq < 0 < dp):
            out.append(p + (q - p) * dp / (dp - dq))
    return np.array(out).reshape(-1, 2)


def box_on_plane(h, kappa, z, tilt):
    """Force, moment about y and second moment of kappa about y of p = kappa (least depth below the box's faces) over
    the plane z = 0, which cuts the box: linear over the part where one face is nearest, so the sums are exact."""
    R = np.array([[math.cos(tilt), 0, math.sin(tilt)], [0, 1, 0], [-math.sin(tilt), 0, math.cos(tilt)]])
    faces = [(sign * R[:, k], h[k] + sign * R[2, k] * z) for k in range(3) for sign in (1, -1)]  # d = b - m . x
    sums = np.zeros(3)
    for m, b in faces:
        polygon = 10 * max(h) * np.array([[-1.0, -1], [1, -1], [1, 1], [-1, 1]])
        polygon = clip(polygon, m[:2], b)
        for m2, b2 in faces:
            if len(polygon) and m2 is not m:
                polygon = clip(polygon, (m2 - m)[:2], b2 - b)
        for p, q in zip(polygon[1:], polygon[2:]):
            corners = np.array([polygon[0], p, q])
            area = 0.5 * abs(np.linalg.det([p - corners[0], q - corners[0]]))
            middles = 0.5 * (corners + np.roll(corners, 1, 0))  # exact for second degree
            for x in middles:
                d = b - m[:2] @ x
                slope = kappa * abs(m[2])  # force along z for a step along z: only the faces' slope counts
                sums += area / 3 * np.array([kappa * d, -kappa * d * x[0], slope * x[0] ** 2])
    return sums


def tipping_part(E, w=0.08, l=0.08, h=0.05, mass=1.0):
    """Part of the rigid tipping load at which the wedge of pressure below a cube's face gives way."""
    a = math.sqrt(2 * mass * G / (E / (w / 2) * l)) / 3
    tilt = (a / (2 * h)) ** (2 / 3)
    return 1 - (a / math.sqrt(tilt) + h * tilt) / (0.5 * w)


# --- cases: each adds rows (case, setting, measured, exact) and lines to draw ---

def sphere(rows, draw):
    R, E = 0.05, 1e6
    probe = Probe("sphere", [R], E)
    exact = lambda d: math.pi / 3 * E * d * d * (3 - 2 * d / R)  # noqa: E731
    for d in (1e-4, 1e-3, 5e-3):
        rows.append(("force of a sphere of 5 cm on a plane, N", f"depth {d * 1e3:g} mm", probe(R - d)[0], exact(d), "relative"))
    depths = np.geomspace(1e-5, 1e-2, 25)
    draw["sphere"] = {"depth": depths, "exact": [exact(d) for d in depths], "measured": [probe(R - d)[0] for d in depths]}


def rocking(rows, draw):
    h, E = [0.05, 0.04, 0.05], 1e7
    kappa = E / min(h)
    probe, z = Probe("box", h, E), h[2] - 1e-5
    for name, tilt in (("flat", 0.0), ("half lifted", 4e-4)):
        _, _, stiffness = probe(z, tilt)
        rows.append(("rocking stiffness of a box, N m", name, stiffness, box_on_plane(h, kappa, z, tilt)[2], "relative"))
    for name, tilt in (("tilted by 0.1 mrad", 1e-4), ("half lifted", 4e-4)):
        rows.append(("moment of a box, N m", name, probe(z, tilt)[1], box_on_plane(h, kappa, z, tilt)[1], "relative"))
    tilts = np.linspace(-6e-4, 6e-4, 61)
    draw["rocking"] = {"tilt": tilts, "measured": [probe(z, t)[1] for t in tilts],
                       "exact": [box_on_plane(h, kappa, z, t)[1] for t in tilts]}


def rolling(rows, draw):
    R = 0.05
    for E in (1e5, 1e7):
        for dt in (1e-3, 1e-2):
            sim = start(scene(body("sphere", [R], 1, [0.4 * R * R] * 3, (0, 0, R))), E, dt)
            sim.v[:] = [1, 0, 0, 0, 1 / R, 0]
            sim.step(round(0.5 / dt))
            first = sim.v[0]
            sim.step(round(1 / dt))
            rows.append(("deceleration of a rolling sphere, g", f"{E:.0e} Pa, {dt * 1e3:g} ms", (first - sim.v[0]) / G, 0.0,
                         "absolute"))


def spinning(rows, draw):
    R, w0 = 0.05, 20.0
    exact = 3 * R * w0 / (4 * MU * G)
    draw["spinning"] = {"exact": exact, "w0": w0, "lines": []}
    for dt in (1e-3, 5e-3, 1e-2):
        text = scene(body("cylinder", [R, 0.02], 1, (1e-3, 1e-3, 0.5 * R * R), (0, 0, 0.02 - 2e-6)))
        sim = start(text, 1e7, dt)
        sim.step(round(0.02 / dt))
        sim.v[5] = w0
        t, w = [0.0], [w0]
        while w[-1] > 1e-9 * w0 and t[-1] < 1:
            sim.step()
            t.append(t[-1] + dt)
            w.append(sim.v[5])
        k = next(k for k in range(len(w)) if w[k] < 0.02 * w0)  # the last step does less than it could
        stop = t[k - 1] * w0 / (w0 - w[k - 1])
        rows.append(("time in which a spinning disc stops, s", f"{dt * 1e3:g} ms", stop, exact, "relative"))
        draw["spinning"]["lines"].append((f"{dt * 1e3:g} ms", t, w))


def release(rows, draw):
    h, tilt = [0.06, 0.04, 0.05], math.radians(5)
    worst = spread = 0.0
    for model in ("lagged", "sap"):
        for E in (1e5, 1e7):
            for dt in (1e-3, 5e-3, 1e-2, 2e-2):
                text = scene(body("box", h, 1, box_inertia(1, h), (0, 0, 0.055),
                                  (math.cos(tilt / 2), math.sin(tilt / 2), 0, 0)))
                sim = start(text, E, dt, model)
                sim.step(round(2 / dt))
                forces = []
                for _ in range(10):
                    sim.step()
                    forces.append(sim.contact_forces()[2])
                worst, spread = max(worst, np.abs(sim.v).max()), max(spread, np.std(forces) / np.mean(forces))
    rows.append(("speed 2 s after a box is released at 5 degrees, m/s", "worst of 16", worst, 0.0, "absolute"))
    rows.append(("force of it, std/mean", "worst of 16", spread, 0.0, "absolute"))


def tips(E, part, dt=0.01):
    h, z_p = [0.04, 0.04, 0.05], 0.08
    sim = start(scene(body("box", h, 1, box_inertia(1, h), (0, 0, 0.05)), friction=1), E, dt)
    load = part * G * h[0] / z_p
    for k in range(round(4 / dt)):
        now = load * min(1.0, k * dt / 1.5)  # grows in 1.5 s
        sim.apply([now, 0, 0, 0, now * (z_p - sim.q[2]), 0])
        sim.step()
        if abs(2 * sim.q[5]) > 0.1:
            return True
    return False


def tipping(rows, draw):
    draw["tipping"] = []
    for E in (1e7, 3e7, 1e8):
        low, high = 0.5, 1.1
        while high - low > 1e-3:
            middle = 0.5 * (low + high)
            low, high = (low, middle) if tips(E, middle) else (middle, high)
        rows.append(("load that tips a cube, part of the rigid one", f"{E:.0e} Pa", 0.5 * (low + high), tipping_part(E),
                     "relative"))
        draw["tipping"].append((E, 0.5 * (low + high)))


def stack(rows, draw):
    h, mass = [0.05] * 3, 1
    turns = [0.1 * math.sin(3.1 * i) for i in range(10)]
    bodies = [body("box", h, mass, box_inertia(mass, h),
                   (0.005 * math.cos(2.3 * i), 0.005 * math.sin(1.7 * i), 0.05 + 0.1 * i),
                   (math.cos(turns[i]), 0, 0, math.sin(turns[i])), i) for i in range(10)]
    sim = start(scene(*bodies), 1e7, 0.02)
    places, t = [], []
    for k in range(300):
        sim.step()
        places.append(sim.q.reshape(10, 7)[:, :2].copy())
        t.append((k + 1) * 0.02)
    slides = np.linalg.norm(np.array(places) - places[149], axis=2).max(axis=1)
    rows.append(("slide of 10 turned cubes between 3 and 6 s, 20 ms, mm", "worst cube", 1e3 * slides[-1], 0.0, "absolute"))
    draw["stack"] = {"t": t, "slide": 1e3 * np.linalg.norm(np.array(places) - places[0], axis=2).max(axis=1)}


def boxes_90(rows, draw):
    h = [0.05] * 3
    bodies = [body("box", h, 1, box_inertia(1, h), (0.3 * (i % 9 // 3), 0.3 * (i % 3), 0.05 + 0.1 * (i // 9)), i=i)
              for i in range(90)]
    sim = start(scene(*bodies), 1e7, 0.01, threads=1)
    begin = time.process_time()
    sim.step(200)
    rows.append(("90 boxes in 9 stacks, 2 s at 10 ms, processor time, s", "1e7 Pa", time.process_time() - begin, None, "time"))


CASES = [sphere, rocking, rolling, spinning, release, tipping, stack, boxes_90]


# --- the page ---

def picture(draw, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"font.size": 10, "axes.grid": True, "grid.alpha": 0.3, "svg.fonttype": "none",
                         "svg.hashsalt": "sapstep", "axes.titlesize": 10})
    blue, orange, green = "#0072B2", "#D55E00", "#009E73"
    figure, ((a, b, c), (d, e, f)) = plt.subplots(2, 3, figsize=(12, 7), layout="constrained")
    s = draw["sphere"]
    a.loglog(s["depth"] * 1e3, s["exact"], "k-", linewidth=1, label="exact")
    a.loglog(s["depth"] * 1e3, s["measured"], "o", color=blue, markersize=4, label="sapstep")
    a.set(xlabel="depth [mm]", ylabel="force [N]", title="Sphere of 5 cm on a plane, 1e6 Pa")
    error = np.abs(np.array(s["measured"]) / s["exact"] - 1)
    b.loglog(s["depth"] * 1e3, np.maximum(error, 1e-10), "o-", color=blue, markersize=4)
    b.set(xlabel="depth [mm]", ylabel="error of the force [-]", title="Its error")
    r = draw["rocking"]
    c.plot(1e3 * r["tilt"], r["exact"], "k-", linewidth=1, label="exact")
    c.plot(1e3 * r["tilt"], r["measured"], "o", color=blue, markersize=3, label="sapstep")
    c.set(xlabel="tilt [mrad]", ylabel="moment [N m]", title="Box of 10 x 8 cm, 10 um deep, 1e7 Pa")
    spin = draw["spinning"]
    d.plot([0, spin["exact"]], [spin["w0"], 0], "k-", linewidth=1, label="exact")
    for (name, t, w), color, marker in zip(spin["lines"], (blue, orange, green), ".sD"):
        d.plot(t, w, marker, color=color, markersize=4, label=name, markevery=max(1, len(t) // 30))
    d.set(xlabel="time [s]", ylabel="spin [rad/s]", title="Disc stops by the torsion of its patch")
    moduli = np.geomspace(5e6, 2e8, 60)
    e.semilogx(moduli, [tipping_part(x) for x in moduli], "k-", linewidth=1, label="exact")
    e.semilogx(*zip(*draw["tipping"]), "o", color=blue, label="sapstep, dt 10 ms")
    e.set(xlabel="modulus [Pa]", ylabel="load over that of a rigid cube [-]", title="Push that tips a cube")
    f.plot(draw["stack"]["t"], draw["stack"]["slide"], "-", color=blue)
    f.set(xlabel="time [s]", ylabel="largest slide of a cube [mm]", title="Ten turned cubes in a stack, dt 20 ms")
    for axes in (a, c, d, e):
        axes.legend()
    figure.savefig(path, metadata={"Date": None} if str(path).endswith(".svg") else None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", help="write the rows to this file, - for standard output alone")
    parser.add_argument("--draw", help="draw all on this page: .svg, .pdf or .png")
    arguments = parser.parse_args()
    rows, draw = [], {}
    for case in CASES:
        case(rows, draw)
    names = ("case", "setting", "measured", "exact", "error")
    found = [dict(zip(names, (*row[:4], None if row[3] is None else row[2] - row[3] if row[4] == "absolute"
                              else row[2] / row[3] - 1))) for row in rows]
    text = json.dumps(found, indent=1)
    if arguments.json and arguments.json != "-":
        with open(arguments.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    if arguments.draw:
        picture(draw, arguments.draw)
    if arguments.json == "-":
        print(text)
        return
    print(f"{'case':54} {'setting':20} {'measured':>12} {'exact':>12} {'error':>9}")
    for row in found:
        exact, error = ("", "") if row["exact"] is None else (f"{row['exact']:.7g}", f"{row['error']:.1e}")
        print(f"{row['case']:54} {row['setting']:20} {row['measured']:12.7g} {exact:>12} {error:>9}")


if __name__ == "__main__":
    main()
