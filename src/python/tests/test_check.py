# SPDX-License-Identifier: BSD-3-Clause
"""Reports about scenes."""

import subprocess
import sys

import pytest
from things import SCENES

import sapstep
from sapstep import check

BOX = """<mujoco><option timestep='{dt}'/><worldbody><geom type='plane' size='0 0 1'/>
<body pos='0 0 {z}'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body></worldbody>
<custom><numeric name='sapstep:stiffness' data='{k}'/></custom></mujoco>"""


def findings(tmp_path, **values):
    scene = tmp_path / "box.xml"
    scene.write_text(BOX.format(**{"dt": 0.002, "z": 0.1, "k": 1e5, **values}))
    found = check.check(scene, tmp_path / "box.html", 0.5)
    return {f.name: f for f in found}, (tmp_path / "box.html").read_text()


def test_a_box_at_rest_passes(tmp_path):
    found, page = findings(tmp_path)
    assert all(f.passed is not False for f in found.values()), found
    assert found["contact stiffness"].passed and found["momentum"].passed and found["creep"].passed
    # Asked for in series with the plane's: half.
    assert "5e+04 N/m asked" in found["contact stiffness"].value
    assert "all checks passed" in page and page.count("<svg") >= 3 and "<script" not in page


def test_stiff_contact_in_long_steps_is_found(tmp_path):
    found, page = findings(tmp_path, dt=0.01, k=1e9)
    assert found["contact stiffness"].passed is False
    assert "--dt" in found["contact stiffness"].mend and "of 9 checks failed" in page


def test_an_overlap_is_found(tmp_path):
    found, _ = findings(tmp_path, z=0.0, k=1e7)
    assert found["start"].passed is False and "inside each other" in found["start"].reason


def test_the_command(tmp_path):
    for name, code in (("double_pendulum.xml", 0), ("none.xml", 3)):
        done = subprocess.run([sys.executable, "-m", "sapstep", "check", str(SCENES / name), "-o", "p.html", "--duration", "0.2"],
                              cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == code, done
    assert (tmp_path / "p.html").exists() and "none.xml" in done.stdout + done.stderr


def test_the_program_starts_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SAPSTEP_PYTHON", sys.executable)
    out = tmp_path / "p.html"
    done = sapstep.program.run("check", SCENES / "double_pendulum.xml", "-o", out, "--duration", "0.2")
    assert "largest safe step" in done.stdout and out.exists()
    with pytest.raises(sapstep.Error, match="must be SCENE"):
        sapstep.program.run("check")
    monkeypatch.setenv("SAPSTEP_PYTHON", "/nowhere/python")
    with pytest.raises(sapstep.Error, match="needs Python"):
        sapstep.program.run("check", SCENES / "double_pendulum.xml")


def test_patches_are_judged_by_their_law(tmp_path):
    # The distance of a patch is that of the shapes, whose field and not the material's stiffness carries them.
    scene = tmp_path / "ball.xml"
    scene.write_text("""<mujoco><option timestep='0.002'/><worldbody><geom type='plane' size='0 0 1'/>
<body pos='0 0 .06'><freejoint/><geom name='ball' type='sphere' size='.05' mass='1'/></body></worldbody>
<custom><numeric name='sapstep:modulus:ball' data='1e5'/></custom></mujoco>""")
    found = {f.name: f for f in check.check(scene, tmp_path / "ball.html", 3.0)}
    assert found["contact stiffness"].passed and found["energy"].passed, found
    depth = (9.81 * 3 / (3.14159265 * 1e5 * 3)) ** 0.5  # of F = pi E d^2 (1 - 2 d/(3 R)), to d/R
    assert abs(float(found["contact stiffness"].value.split()[0]) / (2 * 9.81 / depth) - 1) < 0.1
