# SPDX-License-Identifier: BSD-3-Clause
"""Times every scene of some folders beside MuJoCo, slowest ratio first, so that no robot is forgotten.

    census.py SAPSTEP FOLDER... [--python PYTHON] [--steps N] [--turns N] [--patience S]

SAPSTEP is the program, PYTHON can import mujoco; folders are, say, shared/models or what `pip download --no-deps
dm_control gymnasium-robotics robosuite` brings, unpacked. Files that MuJoCo refuses (parts of scenes) are passed over;
those that only sapstep refuses are listed with its reason.
"""
import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

PEER = Path(__file__).resolve().parent / "peers" / "mujoco_peer.py"
LOADS = "import mujoco, sys; sys.exit(mujoco.MjModel.from_xml_path(sys.argv[1]).nv == 0)"


def run(command, patience):
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=patience)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, 1, "", f"more than {patience} s")


def measure(scene, a):
    """Returns a row of the table, or None for a part of a scene."""
    if run([a.python, "-c", LOADS, str(scene)], a.patience).returncode != 0:
        return None
    done = run([a.sapstep, "bench", str(scene), "--clock", "cpu", "--format", "json", "--steps", str(a.steps),
                "--repetitions", str(a.turns), "--peer", f"'{a.python}' '{PEER}'"], a.patience)
    if done.returncode != 0:
        return {"scene": str(scene), "ratio": -1.0, "why": done.stderr.strip().splitlines()[-1:]}
    ours, peer = json.loads(done.stdout)
    return {"scene": str(scene), "ratio": peer["ratio"], "ours": ours["step_us"], "contacts": ours["contacts"]}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("sapstep")
    p.add_argument("folders", nargs="+", type=Path)
    p.add_argument("--python", default=sys.executable)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--turns", type=int, default=3)
    p.add_argument("--patience", type=float, default=60.0)
    a = p.parse_args()
    scenes = sorted(f for folder in a.folders for f in folder.rglob("*.xml"))
    rows = [row for row in (measure(scene, a) for scene in scenes) if row is not None]
    for row in sorted(rows, key=lambda r: r["ratio"]):
        print("refused  " + " ".join(row["why"]) if row["ratio"] < 0.0 else
              "{ratio:7.2f}  {ours:9.1f} us  {contacts:6.1f} contacts  {scene}".format(**row), flush=True)
    good = [row["ratio"] for row in rows if row["ratio"] > 0.0]
    if good:
        mean = math.exp(sum(map(math.log, good)) / len(good))
        print(f"{len(good)} scenes, geometric mean {mean:.2f}, {sum(r < 1.0 for r in good)} below 1")


if __name__ == "__main__":
    main()
