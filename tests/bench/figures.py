# SPDX-License-Identifier: BSD-3-Clause
"""Draws the figures of README.md from results.json, which measure.py writes; needs matplotlib.

    python3 tests/bench/figures.py examples/pictures [svg|pdf|png]
"""

import json
import math
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

plt.rcParams.update({"font.size": 11, "axes.grid": True, "grid.alpha": 0.3, "axes.axisbelow": True, "svg.fonttype": "none",
                     "svg.hashsalt": "sapstep", "font.family": "sans-serif", "axes.titlesize": 11, "legend.fontsize": 11})
COLORS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"]  # Okabe and Ito
MARKERS = "osDv^"


def bars(axes, rows, x, y, labels):
    """Groups of bars, one group for each value of x; a bar of each stepper, ours first."""
    names = list(dict.fromkeys(row["stepper"] for row in rows))
    values = sorted({row[x] for row in rows})
    found = {(row["stepper"], row[x]): row[y] for row in rows}
    width = 0.8 / len(names)
    for i, name in enumerate(names):
        at = [k + (i - (len(names) - 1) / 2) * width for k in range(len(values))]
        label = name if name == "sapstep" else f"MuJoCo, {name}"
        axes.bar(at, [found[name, value] for value in values], width, label=label, color=COLORS[i])
    axes.set_xticks(range(len(values)), [labels(value) for value in values])
    axes.tick_params(axis="x", length=0)
    axes.grid(axis="x", visible=False)


def lines(axes, series):
    for (name, points), color, marker in zip(series.items(), COLORS, MARKERS):
        axes.loglog(*zip(*points), marker + "-", label=name, color=color)


def gains(axes, rows):
    rows = [row for row in rows["humanoid_kp"] if round(2 * exponent(row["kp_Nm"])) % 2 == 0]
    bars(axes, rows, "kp_Nm", "holds_s", lambda kp: f"$10^{round(exponent(kp))}$")
    axes.set(xlabel="gain of the 21 position servos [N m/rad]", ylabel="time until it diverges [s]",
             title="Humanoid, steps of 5 ms, 3 s tried")


def exponent(value):
    return math.log10(value)


def cassie(axes, rows):
    bars(axes, rows["cassie"], "dt_s", "holds_s", lambda dt: f"{1e3 * dt:g}")
    axes.set(xlabel="time step [ms]", ylabel="time until it diverges [s]", title="Cassie from its keyframe, 2 s tried")


def creep(axes, rows):
    series = {}
    for row in rows["creep"]:
        name = f"{row['stepper']}, " + ("sigma" if "sigma" in row else "1/impratio")
        series.setdefault(name, []).append((row.get("sigma") or 1 / row["impratio"], row["speed_um_per_s"]))
    lines(axes, dict(sorted(series.items(), reverse=True)))  # ours first
    axes.set(xlabel="slip parameter [-]", ylabel="speed [µm/s]", title="Creep of a box on a slope of 10°, friction 1")


def penetration(axes, rows):
    rows = rows["penetration"]
    lines(axes, {"sapstep, k = 1e5 N/m": [(row["mass_kg"], row["sapstep_mm"]) for row in rows],
                 "MuJoCo, defaults": [(row["mass_kg"], row["mujoco_mm"]) for row in rows]})
    axes.loglog([row["mass_kg"] for row in rows], [row["exact_mm"] for row in rows], "k--", label="m g/k", linewidth=1)
    axes.set(xlabel="mass [kg]", ylabel="penetration [mm]", title="Sphere of radius 0.1 m at rest")


def main():
    rows, folder = {}, Path(sys.argv[1])
    kind = sys.argv[2] if len(sys.argv) > 2 else "svg"
    results = json.loads(Path(__file__).with_name("results.json").read_text())
    for row in results["adapter"]["rows"]["experiments"]:
        rows.setdefault(row["experiment"], []).append(row)
    for name, draw in {"kp": gains, "cassie": cassie, "creep": creep, "penetration": penetration}.items():
        figure, axes = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
        draw(axes, rows)
        figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center",
                      ncols=2 if name == "creep" else 3, frameon=False)
        metadata = {"Date": None} if kind == "svg" else {"CreationDate": None} if kind == "pdf" else {}
        figure.savefig(folder / f"mujoco_{name}.{kind}", metadata=metadata, dpi=110)
        plt.close(figure)


if __name__ == "__main__":
    main()
