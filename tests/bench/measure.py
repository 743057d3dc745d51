# SPDX-License-Identifier: BSD-3-Clause
"""Measures the numbers that the pages publish, and writes their tables from the results.

    measure.py run BUILD SHARED [--python PYTHON] [--only NAME,...] [--turns N]
    measure.py pages
    measure.py check

`run` measures all groups, or those named, and keeps them in results.json with the versions and the processor;
BUILD is a build folder, SHARED holds models/ and data/, PYTHON can import mujoco and pydrake. `pages` rewrites the
text between <!-- measured: NAME --> and <!-- end --> in the pages from results.json; `check` fails where a page has
another text. A group lasts seconds to minutes, all together some 15 minutes on two cores.
"""
import argparse
import csv
import io
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RESULTS = HERE / "results.json"
PAGES = [ROOT / "README.md", HERE / "README.md", ROOT / "examples" / "studies" / "README.md"]

# label, scene (a path below SHARED/models or examples/scenes, or words for make_scene), steps, steps before them,
# whether Drake steps it too
MENAGERIE = "menagerie/{}/scene.xml"
TIMES = [
    ("8 bodies fall into a bin", "clutter 8", 100, 0, True),
    ("40 bodies fall into a bin", "clutter_40.xml", 100, 0, True),
    ("40 bodies, all 10 s", "clutter_40.xml", 1000, 0, True),
    ("40 bodies, at rest", "clutter_40.xml", 200, 800, False),
    ("80 bodies", "clutter 80", 50, 100, False),
    ("160 bodies", "clutter 160", 20, 100, False),
    ("heap of 160", "heap 160", 20, 100, False),
    ("tray of 100", "tray 100", 50, 100, False),
    ("stack of 5 x 5 x 5 boxes", "stack 5", 50, 50, False),
    ("wall of 12 x 12 boxes", "wall 12", 50, 50, False),
    ("tower of 30 boxes", "tower 30", 100, 50, False),
    ("100 scattered bodies", "field 100", 100, 0, False),
    ("chain of 30 links", "chain 30", 200, 0, False),
    ("net of 12 x 12 bodies", "net 12", 100, 0, False),
    ("planks", "mujoco/planks.xml", 100, 50, False),
    ("stacked boxes", "mujoco/stacked_boxes.xml", 100, 50, False),
    ("stonehenge", "mujoco/replicate/stonehenge.xml", 100, 50, False),
    ("bowl", "mujoco/replicate/bowl.xml", 100, 50, False),
    ("Newton's cradle", "mujoco/replicate/newton_cradle.xml", 500, 0, False),
    ("slider-crank", "mujoco/slider_crank/slider_crank.xml", 500, 0, False),
    ("tendon arm", "mujoco/tendon_arm/arm26.xml", 500, 0, False),
    ("car", "mujoco/car/car.xml", 500, 0, False),
    ("cube 3 x 3 x 3", "mujoco/cube/cube_3x3x3.xml", 200, 0, False),
    ("humanoid falls", "mujoco/humanoid/humanoid.xml", 100, 0, True),
    ("humanoid, 5 s", "mujoco/humanoid/humanoid.xml", 1000, 0, True),
    ("humanoid at rest", "mujoco/humanoid/humanoid.xml", 200, 800, False),
    ("22 humanoids fall", "mujoco/humanoid/22_humanoids.xml", 100, 50, False),
    ("humanoid100", "mujoco/humanoid/humanoid100.xml", 100, 50, False),
    ("Robotiq 2F-85", MENAGERIE.format("robotiq_2f85"), 500, 0, False),
    ("KUKA iiwa 14", MENAGERIE.format("kuka_iiwa_14"), 500, 0, False),
    ("Unitree Go1", MENAGERIE.format("unitree_go1"), 500, 0, False),
    ("Cassie", MENAGERIE.format("agility_cassie"), 500, 0, False),
    ("Shadow hand", "menagerie/shadow_hand/scene_right.xml", 300, 0, False),
    ("Allegro hand", "menagerie/wonik_allegro/scene_right.xml", 300, 0, False),
    ("two hands", "hands", 100, 20, False),
]
# Too slow for the peers: ours alone.
LARGE = [("1000 scattered bodies", "field 1000", 10, 10), ("heap of 640", "heap 640", 10, 80),
         ("heap of 2500", "heap 2500", 5, 80), ("heap of 10 000", "heap 10000", 2, 40),
         ("pyramid of 5050 boxes", "pyramid 100", 20, 20), ("stack of 12 x 12 x 12 boxes", "stack 12", 5, 5),
         ("10 000 scattered bodies", "field 10000", 5, 10)]
SIGMAS = ["1e-3", "1e-4", "1e-6", "1e-8"]
STARTS = 24


class Bench:
    """Runs programs of the build; keeps the scenes that it makes."""

    def __init__(self, arguments, folder):
        self.build, self.shared = Path(arguments.build).resolve(), Path(arguments.shared).resolve()
        self.python, self.turns, self.folder = arguments.python, arguments.turns, folder
        self.program = self.build / "src" / "cli" / "sapstep"
        self.environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}

    def call(self, *words, codes=(0,), folder=None):
        done = subprocess.run([str(w) for w in words], capture_output=True, text=True, env=self.environment,
                              cwd=folder or self.folder)
        if done.returncode not in codes:
            raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
        return done.stdout

    def bench(self, name, *words, **options):
        return self.call(self.build / "tests" / "bench" / f"sapstep_bench_{name}", *words, **options)

    def scene(self, words):
        if not words.endswith(".xml"):
            path = self.folder / (words.replace(" ", "_") + ".xml")
            if not path.exists():
                path.write_text(self.call(self.build / "tests" / "bench" / "sapstep_make_scene", *words.split()))
            return path
        bundled = ROOT / "examples" / "scenes" / words
        return bundled if bundled.exists() else self.shared / "models" / words


def spread(values):
    """Median, quartiles and number of the values."""
    values = sorted(values)
    quartiles = statistics.quantiles(values, n=4, method="inclusive") if len(values) > 1 else [values[0]] * 3
    return {"median": quartiles[1], "q1": quartiles[0], "q3": quartiles[2], "n": len(values)}


def time_scene(bench, words, steps, skip, drake, peers=True):
    peer = f"{bench.python} {HERE}/peers/"
    options = ["--peer", peer + "mujoco_peer.py"] if peers else []
    options += ["--peer", peer + "drake_peer.py"] if drake else []
    text = bench.call(bench.program, "bench", "--clock", "cpu", "--steps", steps, "--skip", skip, "--repetitions",
                      bench.turns, "--patience", 120, "--format", "json", *options, bench.scene(words))
    rows = json.loads(text)
    row = {key: rows[0][key] for key in ("step_us", "contacts", "iterations", "residual", "dt_s")}
    row.update(steps=steps, skip=skip, turns=rows[0]["repetitions"])
    for other in rows[1:]:
        if other["ratio"] is not None:  # else the peer cannot load the scene
            row[other["engine"].split()[0]] = {"median": other["ratio"], "q1": other["ratio_q1"],
                                               "q3": other["ratio_q3"]}
    return row


def measure_times(bench):
    rows = []
    for label, words, steps, skip, drake in TIMES:
        rows.append({"scene": label, **time_scene(bench, words, steps, skip, drake)})
        print(f"  {label}: {rows[-1].get('mujoco')}", file=sys.stderr)
    return rows


def measure_large(bench):
    return [{"scene": label, **time_scene(bench, words, steps, skip, False, peers=False)}
            for label, words, steps, skip in LARGE]


def measure_iterations(bench):
    rows = []
    for sigma in SIGMAS:
        lines = bench.bench("iterations", bench.scene("clutter_40.xml"), sigma, STARTS).splitlines()
        names = lines[0].split()
        starts = [dict(zip(names, map(float, line.split()))) for line in lines[1:] if not line.startswith("mean")]
        rows.append({"sigma": sigma, "failures": sum(s["failures"] for s in starts),
                     "most": max(s["most"] for s in starts),
                     **{name: spread([s[name] for s in starts]) for name in ("first_2s", "last")}})
    return rows


def measure_clutter(bench):
    """The scene of `sh cmake/run.sh`; steps that differ by 1e-5 give piles that differ."""
    names = ("penetration_max_m", "penetration_end_m", "slip_second_half_mps", "newton_iterations_mean",
             "newton_iterations_second_half", "unconverged")
    runs = [json.loads(bench.call(bench.program, "run", bench.scene("clutter_40.xml"), "--duration", 10, "--dt",
                                  0.01 * (1 + 1e-5 * k), "--format", "json")) for k in range(STARTS)]
    return {name: spread([run[name] for run in runs]) for name in names}


def measure_adapter(bench):
    """The adapter beside stock MuJoCo: three runs for the times; the other experiments repeat exactly."""
    runs = [[json.loads(line) for line in
             bench.bench("mujoco", bench.shared / "models", ROOT / "examples" / "scenes").splitlines()]
            for _ in range(3)]
    times = []
    for row in (r for r in runs[0] if r.get("experiment") == "time"):
        same = [r for run in runs for r in run if r.get("experiment") == "time" and r["model"] == row["model"]]
        times.append({"model": row["model"], "ratio": spread([r["ratio"] for r in same]),
                      "ours": row["sapstep_iterations"], "theirs": row["mujoco_iterations"]})
    return {"times": times, "experiments": [r for r in runs[0] if r.get("experiment", "time") != "time"]}


def measure_fclib(bench):
    problems = sorted((bench.shared / "data" / "fclib").glob("*.hdf5"))
    text = bench.bench("siconos", *problems)
    rows = list(csv.DictReader(io.StringIO(text[text.index("solver,solved,of"):])))
    return [{"solver": r["solver"], "solved": int(r["solved"]), "of": int(r["of"]),
             "seconds": float(r["time_of_solved_s"])} for r in rows]


def measure_factor(bench):
    rows = []
    for bodies in (40, 160, 640):
        line = json.loads(bench.bench("cholesky", f"pile_{bodies}x6").splitlines()[-1])
        rows.append({"bodies": bodies, "block_us": line["block_us"], "cholmod_us": line["cholmod_us"],
                     "ratio": {"median": line["ratio_median"], "q1": line["ratio_quartiles"][0],
                               "q3": line["ratio_quartiles"][1]}})
    return rows


def measure_recorder(bench):
    lines = bench.bench("recorder", bench.scene("mujoco/humanoid/humanoid.xml"), 3000, "x.h5").splitlines()
    shares = [float(line.split()[6].rstrip("%")) for line in lines[1:]]
    return spread(shares[1:])


def measure_threads(bench):
    rows = []
    for words, skip, steps in (("field 1000", 20, 100), ("clutter 160", 100, 50),
                               ("mujoco/humanoid/22_humanoids.xml", 20, 200)):
        for line in bench.bench("threads", bench.scene(words), skip, steps).splitlines():
            row = json.loads(line)
            rows.append({"scene": words, "mode": row["mode"], "same_bits": row["same_bits"],
                         "speedup": {"median": row["speedup_median"], "q1": row["speedup_quartiles"][0],
                                     "q3": row["speedup_quartiles"][1]}})
    return rows


def measure_orders(bench):
    rows = []
    for name, dt in (("spring_cylinder", 0.02), ("double_pendulum", 0.01)):
        text = bench.call(bench.program, "converge", bench.scene(name + ".xml"), "--dt", dt, "--format", "json",
                          codes=(0, 1))
        rows.append({"scene": name, "result": json.loads(text)})
    return rows


def run_python(bench, *words):
    """Runs a program that imports the package of the build."""
    bench.environment.update(PYTHONPATH=str(ROOT / "src" / "python"), PYTHONDONTWRITEBYTECODE="1",
                             SAPSTEP_LIBRARY=str(bench.build / "src" / "python" / "sapstep"))
    return bench.call(bench.python, *words)


def measure_patches(bench):
    """Closed forms of contact in patches; times and instructions of single pairs."""
    queries = [json.loads(line) for line in bench.bench("patch").splitlines()]
    for row in queries:
        out = bench.folder / "callgrind"
        bench.call("valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--toggle-collect=counted_queries",
                   bench.build / "tests" / "bench" / "sapstep_bench_patch", row["pair"], 1)
        total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.M).group(1)
        row["instructions"] = int(total) / 50
    cases = json.loads(run_python(bench, ROOT / "examples" / "studies" / "patches.py", "--json", "-"))
    return {"cases": cases, "queries": queries}


def measure_accuracy(bench):
    rows = json.loads(run_python(bench, HERE / "accuracy.py", "--turns", bench.turns))
    for row in rows:
        row["time_ms"] = spread(row.pop("times_ms"))
    return rows


def rounded(value):
    """The value with six digits, all that a measurement has."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


GROUPS = {"times": measure_times, "large": measure_large, "iterations": measure_iterations,
          "clutter": measure_clutter, "adapter": measure_adapter, "fclib": measure_fclib, "factor": measure_factor,
          "recorder": measure_recorder, "threads": measure_threads, "accuracy": measure_accuracy,
          "patches": measure_patches}


def describe_machine(bench):
    def first(pattern, text):
        found = re.search(pattern, text, re.M)
        return found.group(1).strip() if found else "unknown"

    versions = {"sapstep": bench.call(bench.program, "--version").split()[-1],
                "commit": bench.call("git", "rev-parse", "--short", "HEAD", folder=ROOT).strip(),
                "compiler": first(r"^CMAKE_C_COMPILER:[A-Z]+=(.*)", (bench.build / "CMakeCache.txt").read_text())}
    versions["compiler"] = bench.call(versions["compiler"], "--version").splitlines()[0]
    for module in ("mujoco", "drake"):
        try:
            versions[module] = bench.call(bench.python, "-c", "import importlib.metadata as m; "
                                          f"print(m.version('{module}'))").strip()
        except SystemExit:
            versions[module] = None
    lscpu = bench.call("lscpu")
    return {"processor": first(r"Model name: *(.*)", lscpu), "cores": os.cpu_count(), "versions": versions}


# --- tables ---

def digits(value, count=3):
    """The value with `count` digits, without an exponent where that is shorter."""
    if value == 0 or abs(value) >= 10 ** count:
        return f"{value:.0f}"
    return f"{value:.{count}g}" if abs(value) >= 1e-3 else f"{value:.0e}"


def quartiles(ratio):
    return f"{digits(ratio['median'])} ({digits(ratio['q1'])} to {digits(ratio['q3'])})"


def table(head, rows):
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


def show_times(results):
    rows = []
    for r in results["times"]["rows"]:
        peers = [quartiles(r[name]) if name in r else "-" for name in ("mujoco", "drake")]
        rows.append([r["scene"], f"{r['skip']} to {r['skip'] + r['steps']}", digits(r["step_us"]),
                     digits(r["contacts"]), digits(r["iterations"]), *peers])
    return table(["scene", "steps", "ours [us per step]", "contacts", "Newton iterations", "MuJoCo / ours",
                  "Drake / ours"], rows)


def show_large(results):
    return table(["scene", "steps", "ours [ms per step]", "contacts", "Newton iterations", "largest residual"],
                 [[r["scene"], f"{r['skip']} to {r['skip'] + r['steps']}", digits(r["step_us"] / 1e3),
                   f"{r['contacts']:.0f}", digits(r["iterations"]), f"{r['residual']:.0e}"]
                  for r in results["large"]["rows"]])


def show_iterations(results):
    return table(["sigma", "iterations in the first 2 s", "in the last 5 s", "most in a step", "steps not converged"],
                 [[r["sigma"], quartiles(r["first_2s"]), quartiles(r["last"]), f"{r['most']:.0f}",
                   f"{r['failures']:.0f}"] for r in results["iterations"]["rows"]])


def show_clutter(results):
    r = results["clutter"]["rows"]
    rows = [("largest penetration [mm]", "penetration_max_m", 1e3), ("penetration at the end [mm]", "penetration_end_m", 1e3),
            ("mean slip of the second half [um/s]", "slip_second_half_mps", 1e6),
            ("Newton iterations", "newton_iterations_mean", 1), ("of the second half", "newton_iterations_second_half", 1),
            ("steps not converged", "unconverged", 1)]
    return table(["quantity", f"median and quartiles of {STARTS} runs"],
                 [[label, quartiles({k: v * scale for k, v in r[name].items()})] for label, name, scale in rows])


def show_adapter(results):
    return table(["model", "ours / MuJoCo's", "Newton iterations ours / MuJoCo's"],
                 [[r["model"], quartiles(r["ratio"]), f"{digits(r['ours'])} / {digits(r['theirs'])}"]
                  for r in results["adapter"]["rows"]["times"]])


def show_creep(results):
    rows = [[e["stepper"], f"impratio {e['impratio']}" if "impratio" in e else f"sigma {e['sigma']:g}",
             digits(e["speed_um_per_s"])] for e in results["adapter"]["rows"]["experiments"]
            if e["experiment"] == "creep"]
    return table(["stepper", "setting", "creep on a slope of 10 deg [um/s]"], rows)


def show_penetration(results):
    rows = [[digits(e["mass_kg"]), digits(e["exact_mm"]), digits(e["sapstep_mm"]), digits(e["mujoco_mm"])]
            for e in results["adapter"]["rows"]["experiments"] if e["experiment"] == "penetration"]
    return table(["mass [kg]", "m g/k [mm]", "sapstep [mm]", "MuJoCo [mm]"], rows)


def show_gains(results):
    """The longest time step, or the largest gain, at which each integrator holds to the end."""
    holds = {}
    for e in results["adapter"]["rows"]["experiments"]:
        if e["experiment"] in ("cassie", "humanoid_kp"):
            row = holds.setdefault(e["stepper"], {"cassie": 0.0, "humanoid_kp": 0.0, "failed": False})
            good = e["holds_s"] >= e["of_s"]
            value = e["dt_s"] * 1e3 if e["experiment"] == "cassie" else e["kp_Nm"]
            row[e["experiment"]] = max(row[e["experiment"]], value) if good else row[e["experiment"]]
    return table(["stepper", "Cassie holds for 2 s up to dt [ms]", "humanoid holds at 5 ms up to kp [N m/rad]"],
                 [[name, f"{row['cassie']:g}", f"{row['humanoid_kp']:g}"] for name, row in holds.items()])


def show_fclib(results):
    rows = sorted(results["fclib"]["rows"], key=lambda r: (-r["solved"], r["seconds"]))
    return table(["solver", "solved", "seconds, solved only"],
                 [[f"`{r['solver']}`", f"{r['solved']} of {r['of']}", digits(r["seconds"])] for r in rows])


def show_factor(results):
    return table(["block factorization of a pile", "ours [us]", "CHOLMOD supernodal [us]", "ratio"],
                 [[f"{r['bodies']} bodies", digits(r["block_us"]), digits(r["cholmod_us"]), quartiles(r["ratio"])]
                  for r in results["factor"]["rows"]])


def show_threads(results):
    return table(["scene", "work", "speed-up by the second thread", "same bits"],
                 [[r["scene"].split("/")[-1], r["mode"], quartiles(r["speedup"]), "yes" if r["same_bits"] else "NO"]
                  for r in results["threads"]["rows"]])


def show_accuracy(results):
    return table(["problem", "stepper", "accuracy or dt", "error", "processor time [ms]"],
                 [[r["problem"], r["stepper"], f"{r['setting']:g}", f"{r['error']:.1e}", quartiles(r["time_ms"])]
                  for r in results["accuracy"]["rows"]])


def show_patches(results):
    rows = []
    for r in results["patches"]["rows"]["cases"]:
        exact, error = ("-", "-") if r["exact"] is None else (f"{r['exact']:.6g}", f"{abs(r['error']):.0e}")
        rows.append([r["case"], r["setting"], f"{r['measured']:.3g}" if r["exact"] in (0, None) else f"{r['measured']:.6g}",
                     exact, error])
    return table(["case", "setting", "measured", "exact", "error"], rows)


def show_patch_queries(results):
    return table(["pair, 0.1 mm deep", "one query [us]", "instructions", "contacts"],
                 [[r["pair"], digits(r["min_us"]), f"{r['instructions']:.0f}", str(r["contacts"])]
                  for r in results["patches"]["rows"]["queries"]])


def show_recorder(results):
    return (f"Recording every step of the humanoid takes {quartiles(results['recorder']['rows'])} % of a step's processor "
            "time on the stepping thread.")


def scene_row(results, label):
    return next(r for r in results["times"]["rows"] if r["scene"] == label)


def show_summary(results):
    """The table of the first page."""
    def times(label):
        row = scene_row(results, label)
        return ", ".join(f"{name} {digits(row[key]['median'])}" for name, key in (("MuJoCo", "mujoco"), ("Drake", "drake"))
                         if key in row)

    experiments = results["adapter"]["rows"]["experiments"]
    creep = {(e["stepper"], e.get("impratio"), e.get("sigma")): e["speed_um_per_s"] for e in experiments
             if e["experiment"] == "creep"}
    fclib = results["fclib"]["rows"]
    best = max((r for r in fclib if r["solver"].startswith("siconos")), key=lambda r: (r["solved"], -r["seconds"]))
    ours = max((r for r in fclib if not r["solver"].startswith("siconos")), key=lambda r: (r["solved"], -r["seconds"]))
    depth = results["clutter"]["rows"]["penetration_max_m"]
    ball = [r for r in results["accuracy"]["rows"] if r["problem"] == "ball"]
    cenic = min((r for r in ball if r["stepper"] == "CENIC"), key=lambda r: r["error"])
    mine = min((r for r in ball if r["stepper"] == "sapstep" and r["error"] <= cenic["error"]),
               key=lambda r: r["time_ms"]["median"])
    rows = [["time per step, 40 objects fall into a bin", "1", times("40 bodies fall into a bin")],
            ["the same, all 10 s until they rest", "1", times("40 bodies, all 10 s")],
            ["time per step, 160 objects", "1", times("160 bodies")],
            ["time per step, humanoid falls", "1", times("humanoid falls")],
            ["time per step, humanoid at rest", "1", times("humanoid at rest")],
            ["creep of a box on a slope of 10 deg", f"{digits(creep['sapstep', None, 0.001])} um/s",
             f"MuJoCo {digits(creep['MuJoCo, pyramidal', 1, None])} um/s, elliptic cones "
             f"{digits(creep['MuJoCo, elliptic', 1, None])}"],
            ["penetration of a sphere at rest, 1 to 300 kg", "m g/k", "MuJoCo 0.37 mm at any mass"],
            ["largest penetration, 40 objects fall into a bin", f"{digits(depth['median'] * 1e3)} mm", ""],
            ["10 s of a bouncing ball, energy error", f"{100 * mine['error']:.2g} % in {digits(mine['time_ms']['median'])} ms",
             f"Drake's CENIC {100 * cenic['error']:.2g} % in {digits(cenic['time_ms']['median'])} ms"],
            ["order of the midpoint rule while contact lasts", "2.00", "1 with contact at the end of the step"],
            [f"{ours['of']} rigid problems of FCLIB to 1e-8, 10 s each", f"{ours['solved']} solved",
             f"Siconos 4.4 {best['solved']} with its best solver"]]
    return table(["", "sapstep", "others, same scene, same machine"], rows)


def show_conditions(results):
    machine = results["times"]["machine"]
    v = machine["versions"]
    return (f"Processor time of one thread, {machine['processor']}, {machine['cores']} cores; {v['compiler']}; sapstep "
            f"{v['sapstep']} ({v['commit']}), MuJoCo {v['mujoco']}, Drake {v['drake']}. Ratios are medians with quartiles of "
            f"{results['times']['rows'][0]['turns']} turns in which all engines step the same scene one after the other.")


SHOWN = {name[5:]: function for name, function in list(globals().items()) if name.startswith("show_")}
BLOCK = re.compile(r"(<!-- measured: (\w+) -->\n).*?(<!-- end -->)", re.S)


def written(page, results):
    return BLOCK.sub(lambda m: m.group(1) + SHOWN[m.group(2)](results) + "\n" + m.group(3), page.read_text())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run")
    run.add_argument("build")
    run.add_argument("shared")
    run.add_argument("--python", default="python3")
    run.add_argument("--only", default=",".join(GROUPS))
    run.add_argument("--turns", type=int, default=7)
    commands.add_parser("pages")
    commands.add_parser("check")
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if arguments.command == "run":
        with tempfile.TemporaryDirectory() as folder:
            bench = Bench(arguments, Path(folder))
            machine = describe_machine(bench)
            for name in arguments.only.split(","):
                print(name, file=sys.stderr)
                results[name] = {"machine": machine, "rows": GROUPS[name](bench)}
                RESULTS.write_text(json.dumps(rounded(results), indent=1) + "\n")
        return 0
    stale = [page for page in PAGES if written(page, results) != page.read_text()]
    for page in stale:
        if arguments.command == "pages":
            page.write_text(written(page, results))
        else:
            print(f"{page.relative_to(ROOT)}: a table differs from results.json; run measure.py pages")
    return 1 if stale and arguments.command == "check" else 0


if __name__ == "__main__":
    sys.exit(main())
