# SPDX-License-Identifier: BSD-3-Clause
"""``python -m sapstep check MODEL``, which ``sapstep check MODEL`` starts."""

import sys

from . import check

if sys.argv[1:2] != ["check"]:
    sys.exit("usage: python3 -m sapstep check MODEL [OPTION...]; all other commands: sapstep --help")
sys.exit(check.main(sys.argv[2:]))
