#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# test.sh: installs what is missing, then builds and tests twice with warnings as errors: as released, and
# under the address and undefined-behaviour sanitizers.
set -eu
cd "$(dirname "$0")/.."
sh cmake/install_packages.sh g++ libcmocka-dev libmujoco-dev libode-dev libeigen3-dev python3-h5py python3-cffi python3-numpy python3-pytest help2man doxygen chromium libopenmpi-dev openmpi-bin
for kind in release sanitize; do
  cmake -C "cmake/presets/$kind.cmake" -S . -B "build-$kind" -G Ninja
  cmake --build "build-$kind"
  ctest --test-dir "build-$kind" --output-on-failure --parallel "$(nproc)"
done
