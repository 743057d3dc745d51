#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# python_package.sh SOURCE SCRATCH: makes the source archive, builds and installs a wheel from it in an environment
# of its own, without optimization, and steps a scene with it. 77 (skipped): PyPI is out of reach.
set -eu
source=$1
scratch=$2
rm -rf "$scratch"
mkdir -p "$scratch"
python3 -m venv "$scratch/venv" || exit 77
python=$scratch/venv/bin/python
"$python" -m pip install --quiet --retries 1 --timeout 20 build scikit-build-core cffi numpy ninja ||
  { echo "PyPI is out of reach: skipped"; exit 77; }

cd "$scratch"
unset VIRTUAL_ENV CONDA_PREFIX PYTHONPATH
export PATH="$scratch/venv/bin:$PATH"
"$python" -m build --no-isolation --sdist --outdir archive "$source" > archive.log
tar tf archive/sapstep-*.tar.gz | sed 's|[^/]*/||' > names
for name in CMakeLists.txt README.md src/core/threads.c integrators/stepper.c include/sapstep/sapstep.h cmake/wheel.sh \
  src/python/steps.c src/python/sapstep/simulation.py; do
  grep -qx "$name" names || { echo "not in the archive: $name"; exit 1; }
done
if grep -E '^(tests|build|\.git)|\.o$|\.so$' names; then
  echo "these do not belong into the archive"
  exit 1
fi

"$python" -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir wheel \
  -Ccmake.define.CMAKE_C_FLAGS_RELEASE=-O0 archive/sapstep-*.tar.gz
"$python" -m pip install --quiet --no-deps wheel/*.whl
cat > check.py <<'END'
import sys
import sapstep
robot = sapstep.Simulation(sys.argv[1])
with robot.record("run.h5"):
    robot.step(20)
assert robot.t > 0 and "sapstep" in sapstep.program.run("--version").stdout
assert sapstep.__version__ == sys.argv[2], sapstep.__version__
try:
    import sapstep.mujoco
except ImportError as error:  # this environment has no mujoco, whatever the system has
    assert "pip install mujoco" in str(error), error
else:
    raise SystemExit("an adapter without mujoco")
END
version=$(sed -n 's/^project(sapstep VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
"$python" check.py "$source/examples/scenes/falling_box.xml" "$version"
test -s run.h5
if "$python" -m zipfile -l wheel/*.whl | grep -q libsapstep_mujoco; then
  echo "built for a MuJoCo that this Python does not have"
  exit 1
fi
