#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test.sh: installs what is missing, then builds and tests twice with warnings as errors: as released, and under the
# address and undefined-behaviour sanitizers; a test that misses a package fails. Then compiles with clang, runs a few
# tests of that build, and checks the sources with clang-tidy.
set -eu
cd "$(dirname "$0")/.."
sh cmake/install_packages.sh g++ libcmocka-dev libmujoco-dev libode-dev libeigen3-dev python3-h5py python3-cffi \
  python3-numpy python3-pytest python3-venv python3-sphinx python3-myst-parser python3-matplotlib help2man chromium \
  ffmpeg libopenmpi-dev openmpi-bin gnuplot-nox clang clang-tidy shellcheck
for kind in release sanitize; do
  cmake -C "cmake/presets/$kind.cmake" -S . -B "build-$kind" -G Ninja
  cmake --build "build-$kind"
  SAPSTEP_NO_SKIPS=1 ctest --test-dir "build-$kind" --output-on-failure --parallel "$(nproc)"
done
cmake -C cmake/presets/clang.cmake -S . -B build-clang -G Ninja -DSAPSTEP_THREE=npm  # current three.js, where npm is
cmake --build build-clang --target sapstep_program oracle_test_cholesky unit_test_branch_factor unit_test_square \
  unit_test_cone_kernels unit_test_dynamics_kernels unit_test_patch_kernels cli_test_view
ctest --test-dir build-clang --output-on-failure --parallel "$(nproc)" \
  -R '^(oracle\.test_cholesky|unit\.test_(branch_factor|square|(cone|dynamics|patch)_kernels)|cli\.test_view)$'
sh cmake/tidy.sh build-clang
