# SPDX-License-Identifier: BSD-3-Clause
import importlib.util, runpy, sys
if importlib.util.find_spec('sapstep') is None:
    print(f'sapstep: {sys.executable} has no package sapstep: pip install . in its sources, or '
          'name another Python in SAPSTEP_PYTHON', file=sys.stderr)
    sys.exit(3)
runpy.run_module('sapstep', run_name='__main__', alter_sys=True)
