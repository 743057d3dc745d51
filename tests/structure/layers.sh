#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# layers.sh SOURCE_DIR: a layer includes itself and layers before it in this list, nothing else.
set -euo pipefail
cd "$1"
shopt -s nullglob
rooms=(src integrators*)
layers=(core math linalg contact problem solvers integrators multibody io output mujoco cli python)

level() {
  local i
  for i in "${!layers[@]}"; do
    if [ "${layers[i]}" = "$1" ]; then
      echo "$i"
      return
    fi
  done
  echo "no such layer: $1 ($2)" >&2
  return 1
}

bad=0
count=0
while IFS= read -r file; do
  name=${file#src/}
  own=$(level "${name%%/*}" "$file") || { bad=1; continue; }
  while IFS= read -r include; do
    count=$((count + 1))
    other=$(level "${include%%/*}" "$file includes \"$include\"") || { bad=1; continue; }
    if [ "$other" -gt "$own" ]; then
      echo "$file includes \"$include\", which lies above it"
      bad=1
    fi
  done < <(sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file")
done < <(find "${rooms[@]}" \( -name '*.[ch]' -o -name '*.inc' \) | sort)
if [ "$count" -eq 0 ]; then
  echo "only $count includes found: this check reads the wrong place"
  bad=1
fi
# Only the linear algebra knows CHOLMOD, and only one file of it.
users=$({ grep -lE '# *include *[<"].*cholmod\.h' -r "${rooms[@]}" include || true; } | wc -l)
if [ "$users" -gt 1 ]; then
  echo "$users files include cholmod.h; one may"
  bad=1
fi
exit $bad
