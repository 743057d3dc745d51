#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# tidy.sh BUILD_DIR: runs clang-tidy (.clang-tidy) on the C files of src and integrators; BUILD_DIR was configured
# with clang. Prints the warnings and fails if there is one.
set -eu
cd "$(dirname "$0")/.."
run-clang-tidy -quiet -p "$1" "$PWD/(src|integrators)/.*\.c\$" 2> /dev/null
