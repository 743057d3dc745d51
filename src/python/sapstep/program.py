# SPDX-License-Identifier: BSD-3-Clause
"""The command-line program: ``sapstep.program.run("info", "robot.xml")``."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Union


def path() -> Path:
    """Where the program is."""
    return Path(os.environ.get("SAPSTEP_PROGRAM", Path(__file__).parent / "bin" / "sapstep"))


def run(*arguments: Union[str, "os.PathLike[str]"], check: bool = True) -> "subprocess.CompletedProcess[str]":
    """Runs it and returns what it printed (``stdout``, ``stderr``, ``returncode``)."""
    command = [str(path()), *(os.fspath(argument) for argument in arguments)]
    return subprocess.run(command, check=check, capture_output=True, text=True)


def main() -> int:
    """The console script."""
    return subprocess.call([str(path()), *sys.argv[1:]])
