#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# readme.sh SOURCE_DIR: every line of C in README.md stands in one of the examples, which are built, and
# every file and command-line option that it names exists.
set -euo pipefail
cd "$1"
bad=0

lines=$(awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' README.md |
  sed 's/^ *//; s/ *$//' | grep -v '^$')
examples=$(sed 's/^ *//; s/ *$//' examples/*.c)
while IFS= read -r line; do
  if ! grep -qxF -- "$line" <<< "$examples"; then
    echo "README.md: no example has the line '$line'"
    bad=1
  fi
done <<< "$lines"

while IFS= read -r path; do
  if [ ! -e "$path" ]; then
    echo "README.md: there is no $path"
    bad=1
  fi
done < <(grep -oE '(examples|cmake|include)/[A-Za-z0-9_/.-]+[A-Za-z0-9_/]' README.md | sort -u)

while IFS= read -r option; do
  if ! grep -rq "\"$option\"" src/cli && ! grep -rq "\b${option//-/_}\b" include/sapstep/solver.h; then
    echo "README.md: there is no option --$option"
    bad=1
  fi
done < <(grep -E '^ +(sapstep|sh cmake/run.sh) ' README.md | grep -oE -- ' --[a-z-]+' | sed 's/^ --//' | sort -u)
exit $bad
