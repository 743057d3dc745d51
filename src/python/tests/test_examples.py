# SPDX-License-Identifier: BSD-3-Clause
"""The example scripts run, and draw what they say."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from things import adapter_module

import sapstep

SOURCE = Path(os.environ.get("SAPSTEP_SOURCE", Path(__file__).parents[3]))


def draw(name, picture):
    pytest.importorskip("matplotlib")
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, str(SOURCE / "examples" / name), str(picture)]
    done = subprocess.run(command, env=environment, cwd=picture.parent, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert picture.read_bytes().startswith(b"\x89PNG")
    return done.stdout


def test_readme(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", (SOURCE / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert blocks
    (tmp_path / "examples").symlink_to(SOURCE / "examples")
    monkeypatch.chdir(tmp_path)
    for block in blocks:
        names = {}
        exec(compile(block, "README.md", "exec"), names)
    assert (tmp_path / "run.h5").exists() and np.isfinite(names["robots"][7].v).all()


def test_order_of_schemes(tmp_path):
    rows = draw("order_of_schemes.py", tmp_path / "orders.png").splitlines()
    orders = {row.split()[0]: float(row.split()[2].rstrip(",")) for row in rows}
    assert orders["midpoint"] == pytest.approx(2.0, abs=0.05)
    assert orders["implicit-euler"] == pytest.approx(1.0, abs=0.05)
    assert orders["symplectic-euler"] > 0.9


def test_mujoco_notebook(tmp_path):
    adapter_module()
    rows = draw("mujoco_notebook.py", tmp_path / "mujoco.png").splitlines()
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
