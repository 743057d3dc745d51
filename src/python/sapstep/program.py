# SPDX-License-Identifier: BSD-3-Clause
"""The command-line program: ``sapstep.program.run("info", "robot.xml")``."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn, Union

from ._library import Error, InputError


def path() -> Path:
    """Returns the path of the program: the one with ``sapstep mujoco`` if its MuJoCo is installed."""
    folder = Path(__file__).parent / "bin"
    with_mujoco, mujoco = folder / "sapstep-mujoco", find_spec("mujoco")
    if with_mujoco.exists() and mujoco is not None and mujoco.origin is not None:
        version = re.search(rb"libmujoco\.so[.\d]*", with_mujoco.read_bytes())
        if version and Path(mujoco.origin).with_name(version.group().decode()).exists():
            return with_mujoco
    return Path(os.environ.get("SAPSTEP_PROGRAM", folder / "sapstep"))


def run(*arguments: Union[str, "os.PathLike[str]", float], check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Runs the program and returns ``stdout``, ``stderr`` and ``returncode``. Raises an error with the
    text of stderr if the exit code is not 0, unless ``check`` is False."""
    command = [str(path()), *(str(a) if isinstance(a, (int, float)) else os.fspath(a) for a in arguments)]
    environment = {"SAPSTEP_PYTHON": sys.executable, **os.environ}  # for the commands that use this package
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", env=environment)
    if check and done.returncode != 0:
        kind = InputError if done.returncode in (2, 3) else Error  # usage, input file
        raise kind(done.stderr.strip() or done.stdout.strip(), f"exit code {done.returncode}")
    return done


def main() -> NoReturn:
    """Console script: replaces this process by the program."""
    os.environ.setdefault("SAPSTEP_PYTHON", sys.executable)  # for the commands that use this package
    os.execv(path(), [str(path()), *sys.argv[1:]])
