# SPDX-License-Identifier: BSD-3-Clause
"""The example scripts run, and draw what they say."""

import json
import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from things import adapter_module

import sapstep

SOURCE = Path(os.environ.get("SAPSTEP_SOURCE", Path(__file__).parents[3]))


def draw(name, folder):
    """Runs a tutorial, which draws folder/name.png; returns the lines that it prints."""
    pytest.importorskip("matplotlib")
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(SOURCE / "examples" / "tutorials" / f"{name}.py")]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert (folder / f"{name}.png").read_bytes().startswith(b"\x89PNG")
    return done.stdout.splitlines()


def test_readme(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        names = {}
        exec(compile(block, "README.md", "exec"), names)
    assert (tmp_path / "run.h5").exists() and np.isfinite(names["robots"][7].v).all()


def test_orders(tmp_path):
    rows = [row.split() for row in draw("orders", tmp_path) if "energy drift" in row]
    orders = {row[0]: float(row[2].rstrip(",")) for row in rows}
    assert orders["midpoint"] == pytest.approx(2.0, abs=0.05)
    assert orders["implicit-euler"] == pytest.approx(1.0, abs=0.05)
    assert orders["symplectic-euler"] > 0.9


def test_own_dynamics(tmp_path):
    assert len(draw("own_dynamics", tmp_path)) == 3  # it checks its own speeds


def test_sweep(tmp_path):
    assert len(draw("sweep", tmp_path)) == 3  # it checks its own ways


def test_solvers(tmp_path):
    rows = {row.split()[0]: row.split() for row in draw("solvers", tmp_path)}
    for name in ("sap", "newton-ncp", "nbgs"):
        assert rows[name][1] == "converged" and float(rows[name][3]) < 1e-6
    assert int(rows["nbgs"][2]) > 100 * int(rows["sap"][2])


def test_mujoco_models(tmp_path):
    adapter_module()
    rows = draw("mujoco_models", tmp_path)
    speeds = {row.split()[0]: float(row.split()[2]) for row in rows[:2]}
    assert speeds["sapstep.mujoco.step"] < 0.01 * speeds["mujoco.mj_step"]
    assert "diverged" in rows[0] and "presses with" in rows[1]  # implicitfast leaves out kp


def test_another_mujoco_is_told(tmp_path):
    """Bindings of any other version than the adapter's."""
    library = Path(os.environ.get("SAPSTEP_LIBRARY", Path(sapstep.__file__).parent))
    code = "import sys, types; m = types.ModuleType('mujoco'); m.__version__ = '1.2.3'\n" \
        "m.__file__ = '/elsewhere/mujoco/__init__.py'; m.mj_versionString = lambda: '1.2.3'\n" \
        "sys.modules['mujoco'] = m; import sapstep.mujoco"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    told = done.stderr[done.stderr.index("ImportError: sapstep was"):]
    built = (library / "libsapstep_mujoco.so").exists()
    assert ("built for mujoco" in told and "pip install mujoco==" in told) if built else "without the adapter" in told
    assert "1.2.3" in told and "pip install --force-reinstall --no-deps" in told


# Largest errors of the closed forms of examples/studies/patches.py, by the start of the case.
LIMITS = {
    "force of a sphere": 1e-6, "rocking stiffness": 1e-6, "moment of a box": 1e-6, "deceleration": 1e-6,
    "time in which a spinning": 1e-4, "speed": 1e-6, "force of it": 1e-8, "load": 0.01, "slide": 0.2, "90 boxes": None,
}


def test_patches_study(tmp_path):
    draws = find_spec("matplotlib") is not None
    command = [sys.executable, str(SOURCE / "examples" / "studies" / "patches.py"), "--json", "-"]
    command += ["--draw", "page.svg"] if draws else []
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert len(rows) == 21 and (not draws or "<svg" in (tmp_path / "page.svg").read_text())
    for row in rows:
        limit = next(limit for name, limit in LIMITS.items() if row["case"].startswith(name))
        assert limit is None or abs(row["error"]) < limit, row
