#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# headers.sh SOURCE_DIR CC CXX: each public header compiles alone as C17 and as C++17, and each header
# of the rooms compiles alone as C17, without a warning.
set -euo pipefail
cd "$1"
shopt -s nullglob
cc=$2
cxx=$3
warnings=(-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-psabi -Werror) # as cmake/compiler.cmake
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

bad=0
for header in include/sapstep/*.h; do
  echo "#include <sapstep/$(basename "$header")>" > "$scratch/one.c"
  cp "$scratch/one.c" "$scratch/one.cpp"
  "$cc" -std=c17 "${warnings[@]}" -Iinclude -fsyntax-only "$scratch/one.c" || bad=1
  "$cxx" -std=c++17 "${warnings[@]}" -Iinclude -fsyntax-only "$scratch/one.cpp" || bad=1
  if ! grep -q "#include <sapstep/$(basename "$header")>" include/sapstep/sapstep.h &&
    [ "$(basename "$header")" != sapstep.h ] && [ "$(basename "$header")" != mujoco.h ]; then
    echo "include/sapstep/sapstep.h does not include $header"
    bad=1
  fi
done
# A struct that grows starts with a cookie, so that one made without sap_x_default() is refused.
for type in $(sed -nE 's/^SAP_API (sap_[a-z_]+_(options|def)) .*_default\(.*/\1/p' include/sapstep/*.h); do
  [[ $(grep -rhA1 "^typedef struct $type {" include) == *"  uint32_t cookie;"* ]] || {
    echo "struct $type does not start with a cookie"
    bad=1
  }
done
# The MuJoCo adapter's headers need MuJoCo's, those of the public one do not.
hdf5=$(pkg-config --cflags hdf5-serial 2> /dev/null || pkg-config --cflags hdf5)
rooms=$(find src integrators* -name '*.h' | sort)
if ! echo '#include <mujoco/mujoco.h>' | "$cc" -x c -fsyntax-only - 2> /dev/null; then
  rooms=$(grep -v '^src/mujoco/' <<< "$rooms")
fi
while IFS= read -r header; do
  printf '#include "%s"\ntypedef int alone;\n' "${header#src/}" > "$scratch/one.c" # may hold macros only
  # shellcheck disable=SC2086  # options
  "$cc" -std=c17 "${warnings[@]}" -Iinclude -Isrc -I. $hdf5 -fsyntax-only "$scratch/one.c" || bad=1
done <<< "$rooms"
exit $bad
