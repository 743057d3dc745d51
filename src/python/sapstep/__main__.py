# SPDX-License-Identifier: BSD-3-Clause
"""``python -m sapstep check MODEL`` and ``export RECORDING -o FILE``, which the program starts."""

import sys

from . import check, export

commands = {"check": check.main, "export": export.main}
if sys.argv[1:2] not in [[name] for name in commands]:
    sys.exit("usage: python3 -m sapstep check MODEL [OPTION...], or export RECORDING -o FILE; "
             "all other commands: sapstep --help")
sys.exit(commands[sys.argv[1]](sys.argv[2:]))
