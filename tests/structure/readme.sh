#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# readme.sh SOURCE_DIR: every line of C and C++ in README.md and the guide stands in one of the examples, which
# are built, and every file and command-line option that they and the folders' READMEs name exists.
set -euo pipefail
cd "$1"
bad=0

guide=examples/bring_your_own_dynamics.md
readmes=(README.md examples/*/README.md examples/studies/orders/README.md tests/bench/README.md)
lines=$(awk '/^```c(pp)?$/ {inside = 1; next} /^```$/ {inside = 0} inside' README.md "$guide" |
  sed 's/^ *//; s/ *$//' | grep -v '^$')
examples=$(sed 's/^ *//; s/ *$//' examples/*.c examples/*.cpp)
while IFS= read -r line; do
  if ! grep -qxF -- "$line" <<< "$examples"; then
    echo "README.md, $guide: no example has the line '$line'"
    bad=1
  fi
done <<< "$lines"

# No snippet overwrites a status before it is looked at.
if awk -v FS='\n' '/^```c/ {inside = 1; set = 0; next} /^```$/ {inside = 0}
  inside && /(status == |SAP_TRY)/ {set = 0}
  inside && /status = / { if (set) { print FILENAME ": " $0; found = 1 } set = 1 }
  END {exit !found}' README.md "$guide"; then
  echo "a snippet overwrites a status unchecked"
  bad=1
fi

while IFS= read -r path; do
  if [ ! -e "$path" ]; then
    echo "${readmes[*]}: there is no $path"
    bad=1
  fi
done < <(grep -ohE '(examples|cmake|include|tests)/[A-Za-z0-9_/.-]+[A-Za-z0-9_/]' "${readmes[@]}" | sort -u)

while IFS= read -r name; do
  case $name in
  sapstep/*) path=include/$name ;;
  tests/*) path=$name ;;
  *) path=examples/$name ;;
  esac
  if [ ! -e "$path" ]; then
    echo "$guide: there is no $path"
    bad=1
  fi
done < <(grep -oE '`[a-z_/]+\.(c|cpp|h)`' "$guide" | tr -d '`' | sort -u)
while IFS= read -r symbol; do
  if ! grep -rqw -- "$symbol" include/sapstep; then
    echo "README.md, $guide: no header has $symbol"
    bad=1
  fi
done < <(grep -ohE '\bsap_[a-z_]+[a-z]\b' README.md "$guide" | sort -u)

while IFS= read -r option; do
  if ! grep -rq "\"$option\"" src/cli && ! grep -rq "\b${option//-/_}\b" include/sapstep/solver.h; then
    echo "${readmes[*]}: there is no option --$option"
    bad=1
  fi
done < <(grep -hE '^ +(sapstep|sh cmake/run.sh) ' "${readmes[@]}" | grep -oE -- ' --[a-z-]+' | sed 's/^ --//' | sort -u)
exit $bad
