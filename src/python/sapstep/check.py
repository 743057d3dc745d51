# SPDX-License-Identifier: BSD-3-Clause
"""A report about a scene: what a run of it conserves, how it converges, and what its contacts do::

    sapstep check robot.xml -o robot.html

The program makes the runs; this module judges their recordings. Controls are zero, or those of the keyframe.
"""

from __future__ import annotations

import argparse
import csv
import html
import io
import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from . import program
from ._library import Error, InputError, call, ffi, lib
from .simulation import Simulation

Columns = Dict[str, NDArray[np.float64]]
STICKING = 1  # mode in recordings


@dataclass
class Finding:
    """One line of the report. passed None: does not apply to this scene, or could not be judged."""

    name: str
    value: str
    wanted: str
    passed: Optional[bool]
    reason: str = ""
    mend: str = ""


def _table(text: str) -> Columns:
    rows = list(csv.reader(io.StringIO(text)))
    values = np.array([[float(x) if x else np.nan for x in row] for row in rows[1:]]).reshape(-1, len(rows[0]))
    return {name: values[:, i] for i, name in enumerate(rows[0])}


class Check:
    """Runs a scene and collects findings; see :func:`check`."""

    def __init__(self, path: Union[str, "os.PathLike[str]"], duration: float, dt: Optional[float],
                 options: Sequence[str]) -> None:
        self.path, self.duration, self.options = os.fspath(path), duration, list(options)
        self.findings: List[Finding] = []
        self.pictures: List[Tuple[str, str]] = []
        given = {"lenient": "--lenient" in options, "floating_base": "--floating-base" in options}
        if "--floor" in options:
            given["floor"] = float(self.options[self.options.index("--floor") + 1])
        with _silence():
            self.robot = Simulation(path, dt, **given)
        self.dt = self.robot.dt
        self.folder = tempfile.TemporaryDirectory()
        self.file = str(Path(self.folder.name) / "run.h5")

    def add(self, *arguments: Any, **keywords: Any) -> None:
        """Adds a finding."""
        self.findings.append(Finding(*arguments, **keywords))

    def run(self) -> None:
        """Makes all runs and findings."""
        done = self._run(self.dt, "--record", self.file)
        if not Path(self.file).exists():
            raise InputError(done.stderr.strip() or "the program recorded nothing")
        self.statistics = json.loads(done.stdout) if done.stdout.startswith("{") else {}
        series = program.run("export", self.file, "energy", "momentum", "step").stdout
        self.series = _table(series)
        self.contacts = _table(program.run("export", self.file, "--contacts").stdout)
        self._reading(done.stderr)
        self._solver()
        self._energy()
        self._momentum()
        self._stiffness()
        self._creep()
        self._order()
        self._largest_step()
        self._draw()

    def _run(self, dt: float, *more: str) -> Any:
        return program.run("run", self.path, "--duration", repr(self.duration), "--dt", repr(dt), "--format", "json",
                           *self.options, *more, check=False)

    # --- what the reader and the solver say ---

    def _reading(self, messages: str) -> None:
        told = [line.partition("warning: ")[2] for line in messages.splitlines() if "warning: " in line]
        ignored = [line for line in told if "<" in line or "not supported" in line or "left out" in line]
        starts = [line for line in told if ("start" in line or "overlap" in line) and not line.startswith("what ")]
        self.add("elements read", f"{len(ignored)} left out", "none left out", not ignored, "; ".join(ignored[:3]),
                 "see sapstep info MODEL" if ignored else "")
        self.add("start", f"{len(starts)} overlaps or limits" if starts else "nothing overlaps", "nothing overlaps", not starts,
                 "; ".join(starts[:3]), "place the bodies apart, or start from a --keyframe" if starts else "")

    def _solver(self) -> None:
        failed = int(self.statistics.get("unconverged", 0)) + int(self.statistics.get("failures", 0))
        worst = float(np.nanmax(self.series["momentum_error"], initial=0.0))
        self.add("solver", f"{failed} steps unconverged, largest momentum error {worst:.1e}", "all steps converge",
                 failed == 0, "some steps ended above the tolerance" if failed else "",
                 "a smaller --dt, or --max-iterations" if failed else "")

    # --- what the motion conserves ---

    def _energy(self) -> None:
        total, kinetic = self.series["total_J"], self.series["kinetic_J"]
        scale = max(np.ptp(total), np.max(kinetic), 1e-12)
        rise = float(np.max(np.diff(total) - self._stored()[:-1], initial=0.0) / scale)
        servos = self._servos()
        ok: Optional[bool] = rise <= 1e-3
        if not ok and servos:
            ok = None
        self.add("energy", f"rises by {100 * rise:.2g} % of {scale:.3g} J in the worst step", "< 0.1 % without motors", ok,
                 "" if ok else f"{servos} actuators do work" if servos else "no motor does work: the step makes energy",
                 "" if ok is not False else "a smaller --dt, or --scheme implicit-euler")

    def _stored(self) -> NDArray[np.float64]:
        """Energy [J] of compressed contacts, which is not in the total, after each step."""
        c, t = self.contacts, self.series["t_s"]
        with np.errstate(divide="ignore", invalid="ignore"):
            energy = np.nan_to_num(0.5 * (c["impulse_n_Ns"] / self.dt) ** 2 / (c["stiffness_Npm"] * c["realised"]), posinf=0.0)
        return np.bincount(np.searchsorted(t, c["t_s"]), energy, len(t))

    def _servos(self) -> int:
        count = 0
        definition = ffi.new("sap_actuator_def*")
        for i in range(self.robot.nu):
            call(lib.sap_model_get_actuator, self.robot._model, i, definition)
            count += any(definition.bias) or bool(definition.muscle_bias) or self.robot.control[i] != 0
        return count

    def _momentum(self) -> None:
        model, sizes = self.robot._model, self.robot._sizes
        joints, body = [], ffi.new("int32_t*")
        kind = ffi.new("sap_joint_type*")
        for j in range(sizes.joints):
            call(lib.sap_model_joint_address, model, j, kind, body, ffi.NULL, ffi.NULL)
            joints.append((int(kind[0]), lib.sap_model_get_body_tree(model, body[0])))
        free = {tree for joint, tree in joints if joint == lib.SAP_JOINT_FREE}
        options = lib.sap_model_get_options(model)
        definition, held = ffi.new("sap_body_def*"), False
        for b in range(sizes.bodies):
            call(lib.sap_model_get_body, model, b, definition)
            held = held or definition.gravity_compensation != 0
        if held or len(free) < sizes.trees or sizes.equalities or sizes.tendons or sizes.springs or sizes.bushings or options.fluid_density or \
                options.fluid_viscosity or sizes.trees == 0:
            self.add("momentum", "–", "changes by gravity and contact only", None,
                     "something is attached to the world or moves in a medium")
            return
        mass = self.robot.diagnose()["mass"]
        weight = mass * np.array(list(options.gravity))
        t, c = self.series["t_s"], self.contacts
        steps = self.series["dt_s"]
        P = np.stack([self.series[f"momentum_p{axis}_kgmps"] for axis in "xyz"], axis=1)
        impulses = np.zeros((len(t), 3))
        row = np.searchsorted(t, c["t_s"])
        moving = [np.array([lib.sap_model_get_body_tree(model, int(b)) >= 0 for b in c[f"body_{side}"]], bool) for side in "AB"]
        outer = moving[0] != moving[1]
        sign = np.where(moving[1], 1.0, -1.0)
        for axis, name in enumerate("xyz"):
            push = sum(c[f"{d}{name}"] * c[f"impulse_{d}_Ns"] for d in ("t1", "t2", "n"))
            np.add.at(impulses[:, axis], row[outer], (sign * push)[outer])
        error = np.diff(P, axis=0) - steps[1:, None] * weight - impulses[1:]
        scale = max(float(np.max(np.abs(P))), float(np.linalg.norm(weight)) * self.dt, 1e-12)
        worst = float(np.max(np.abs(error), initial=0.0)) / scale
        self.add("momentum", f"{worst:.1e} of its largest value is unexplained", "< 1e-3: gravity and contact explain its changes",
                 worst < 1e-3, "" if worst < 1e-3 else "the momentum balance is solved to the tolerance only",
                 "" if worst < 1e-3 else "a smaller --balance-tolerance, or --relative-tolerance")

    # --- contacts ---

    def _resting(self) -> NDArray[np.bool_]:
        c = self.contacts
        late = c["t_s"] > 0.8 * self.duration
        return np.asarray(late & (c["mode"] == STICKING) & (c["distance_m"] < 0) & (np.abs(c["v_n_mps"]) < 1e-3))

    def _stiffness(self) -> None:
        c, asked = self.contacts, self.contacts["stiffness_Npm"]
        rest = self._resting() & np.isfinite(asked)
        if not rest.any():
            self.add("contact stiffness", "–", "as asked", None, "no contact of finite stiffness rests in the last fifth of the run")
            return
        with np.errstate(divide="ignore", invalid="ignore"):  # the distance of a patch is not that of its law
            real = np.where(c["patch"] > 0, asked * c["realised"], c["impulse_n_Ns"] / self.dt / -c["distance_m"])[rest]
        ratio = float(np.median(real / asked[rest]))
        ok = 0.8 < ratio < 1.25
        self.add("contact stiffness", f"{np.median(real):.3g} N/m realised, {np.median(asked[rest]):.3g} N/m asked",
                 "within 25 %", ok, "" if ok else "the step is too long for this stiffness: near-rigid contact is softer"
                 if ratio < 1 else "the contacts still move",
                 "" if ok else "a smaller --dt, or --beta 0" if ratio < 1 else "a longer --duration")

    def _creep(self) -> None:
        rest = self._resting()
        if not rest.any():
            self.add("creep", "–", "held contacts stay", None, "no contact sticks at rest in the last fifth of the run")
            return
        kinetic = self.series["kinetic_J"]
        if kinetic[-1] > 1e-4 * max(np.max(kinetic), np.ptp(self.series["total_J"])):
            self.add("creep", "–", "held contacts stay", None, "the scene still moves at the end; a longer --duration may show it")
            return
        slip = float(np.max(np.hypot(self.contacts["v_t1_mps"][rest], self.contacts["v_t2_mps"][rest])))
        sigma = lib.sap_model_get_options(self.robot._model).regularization.sigma
        expected = sigma * 9.81 * self.dt
        ok = slip < 1e-3
        self.add("creep", f"sticking contacts slip at {1e3 * slip:.2g} mm/s (of the order of sigma g dt = {1e3 * expected:.2g} mm/s)",
                 "< 1 mm/s", ok, "" if ok else "regularized friction creeps with sigma and dt, or the contacts still move",
                 "" if ok else "a smaller --sigma, or --dt")

    # --- refinement ---

    def _order(self) -> None:
        duration = min(self.duration, 0.2)
        done = program.run("converge", self.path, "--dt", repr(self.dt), "--duration", repr(duration), "--scheme", "implicit-euler",
                           "--format", "json", "--levels", "4", *self.options, check=False)
        try:
            order = json.loads(done.stdout)[0]["position_fit"]
        except (ValueError, LookupError):
            order = None
        if order is None:
            self.add("order", "–", "about 1", None, done.stderr.strip().splitlines()[-1].replace("sapstep: ", "") if done.stderr.strip() else "nothing moves")
            return
        contact = bool(np.any(self.contacts["t_s"] <= duration))
        ok: Optional[bool] = order > 0.8
        if not ok and contact:
            ok = None
        self.add("order", f"{order:.2f} of implicit Euler over {duration:g} s", "> 0.8", ok,
                 "" if ok else "impacts within this time: their times are known to a step only" if contact
                 else "the steps are too long to show the order, or the forces jump", "" if ok is not False else "a smaller --dt")

    def _largest_step(self) -> None:
        good = 0.0
        reason = ""
        for factor in (1, 2, 4, 8, 16):
            file = str(Path(self.folder.name) / "long.h5")
            done = self._run(self.dt * factor, "--record", file)
            try:
                statistics = json.loads(done.stdout)
                energy = _table(program.run("export", file, "energy").stdout)["total_J"]
            except (ValueError, Error):
                reason = "the run fails"
                break
            scale = max(np.ptp(energy), np.ptp(self.series["total_J"]), 1e-12)
            if not np.all(np.isfinite(energy)) or np.max(energy) - energy[0] > 0.05 * scale and not self._servos():
                reason = "energy rises"
                break
            if statistics.get("unconverged") or statistics.get("failures"):
                reason = "steps do not converge"
                break
            good, reason = self.dt * factor, "nothing was tried"
        self.add("largest safe step", f"{good:g} s; beyond it {reason}" if good else "none", f">= {self.dt:g} s, the one asked for",
                 good >= self.dt, "" if good else reason, "" if good else "a smaller --dt")

    # --- the page ---

    def _draw(self) -> None:
        for title, quantity in (("Energy [J]", "energy"), ("Momentum error of the solver [-]", "step:momentum_error"),
                                ("Penetration [m]", "penetration"), ("Slip of contacts [m/s]", "slip")):
            picture = Path(self.folder.name) / "a.svg"
            if program.run("plot", self.file, quantity, "-o", str(picture), check=False).returncode == 0:
                self.pictures.append((title, picture.read_text(encoding="utf-8")))

    def page(self) -> str:
        """Returns the report as HTML."""
        marks = {True: ("pass", "✓"), False: ("fail", "✗"), None: ("none", "–")}
        rows = ""
        for f in self.findings:
            style, mark = marks[f.passed]
            more = html.escape(f.reason) + (f". <b>What helps:</b> {html.escape(f.mend)}." if f.mend else "")
            rows += (f'<tr class="{style}"><td>{mark}</td><th>{html.escape(f.name)}</th><td>{html.escape(f.value)}</td>'
                     f"<td>{html.escape(f.wanted)}</td><td>{more}</td></tr>\n")
        failed = sum(f.passed is False for f in self.findings)
        s = self.robot._sizes
        name = html.escape(Path(self.path).name)
        head = "all checks passed" if failed == 0 else f"{failed} of {len(self.findings)} checks failed"
        charts = "".join(f"<figure><figcaption>{html.escape(title)}</figcaption>{svg[svg.index('<svg'):]}</figure>\n"
                         for title, svg in self.pictures)
        return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{name}: {head}</title><style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 2em auto; max-width: 1100px; padding: 0 1em; color: #1d2530; }}
table {{ border-collapse: collapse; width: 100%; }} td, th {{ text-align: left; vertical-align: top; padding: 6px 10px;
border-bottom: 1px solid #dde3e9; }} .pass td:first-child {{ color: #2f9e62; }} .fail td:first-child {{ color: #c92a2a; }}
.fail {{ background: #fff1ee; }} .none {{ color: #5d6875; }} figure {{ display: inline-block; margin: 1em 0 0; width: 49%; }}
figure svg {{ width: 100%; height: auto; }} figcaption {{ font-weight: 650; }}
</style></head><body>
<h1>{name}: {head}</h1>
<p>{s.bodies - 1} bodies, {s.nv} velocities, {s.nu} actuators, {s.shapes} shapes; {self.duration:g} s in steps of {self.dt:g} s,
solver sap, without controls.</p>
<table><tr><td></td><th>check</th><th>found</th><th>wanted</th><th>reason</th></tr>
{rows}</table>
{charts}</body></html>
"""


class _silence:
    """Keeps the warnings of the reader off: the report has them."""

    def __enter__(self) -> None:
        import warnings

        self._catch = warnings.catch_warnings()
        self._catch.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: Any) -> None:
        self._catch.__exit__(*error)


def check(path: Union[str, "os.PathLike[str]"], output: Union[str, "os.PathLike[str]"], duration: float = 1.0,
          dt: Optional[float] = None, options: Sequence[str] = ()) -> List[Finding]:
    """Writes the report of a scene; options: further ones of ``sapstep run``, like "--lenient". Returns the findings."""
    made = Check(path, duration, dt, options)
    with made.folder:
        made.run()
        Path(output).write_text(made.page(), encoding="utf-8")
    return made.findings


def main(arguments: Sequence[str]) -> int:
    """The command line; returns the exit code: 0, 1: a check failed, 2: usage, 3: the file cannot be read."""
    parser = argparse.ArgumentParser(prog="sapstep check", description="Runs a scene and reports what it conserves, how "
                                     "it converges and what its contacts do, with the option that mends what fails.")
    parser.add_argument("model", help="MJCF or URDF file")
    parser.add_argument("-o", "--output", help="the report (the model's name with .check.html)")
    parser.add_argument("--duration", type=float, default=1.0, help="simulated time [s] (1)")
    parser.add_argument("--dt", type=float, help="time step [s] (the scene's)")
    parser.add_argument("--lenient", action="store_true", help="warn about unsupported features instead of failing")
    parser.add_argument("--floating-base", action="store_true", help="let the root link of a URDF move freely")
    parser.add_argument("--floor", help="add a floor at this height to a URDF [m]")
    given = parser.parse_args(arguments)
    options = [f"--{name}" for name in ("lenient", "floating-base") if getattr(given, name.replace("-", "_"))]
    options += ["--floor", given.floor] if given.floor is not None else []
    output = given.output or f"{Path(given.model).stem}.check.html"
    try:
        findings = check(given.model, output, given.duration, given.dt, options)
    except (Error, OSError) as error:
        print(f"sapstep check: {error}")
        return 3
    for f in findings:
        mark = {True: "pass", False: "FAIL", None: "  - "}[f.passed]
        print(f"{mark}  {f.name:<18} {f.value}" + (f"\n      {f.reason}" if f.reason else "") +
              (f"; what helps: {f.mend}" if f.mend else ""))
    print(output)
    return int(any(f.passed is False for f in findings))
