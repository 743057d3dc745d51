#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh [ARGUMENTS of sapstep]: installs what is missing, builds, and runs the program; without arguments, it
# runs a bundled scene: forty objects that fall into a bin and come to rest.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
sh "$root/cmake/install_packages.sh"
cmake -S "$root" -B "$root/build-run" -G Ninja -DSAPSTEP_TESTS=OFF -DSAPSTEP_EXAMPLES=OFF
cmake --build "$root/build-run"
if [ $# -eq 0 ]; then
  set -- run "$root/examples/scenes/clutter_40.xml" --duration 10
fi
exec "$root/build-run/src/cli/sapstep" "$@"
