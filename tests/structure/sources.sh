#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# sources.sh SOURCE_DIR: every source has its licence line first, none is longer than 600 lines or
# names a path of one machine, tests that skip say why, and the top level holds what it should (and
# MUJOCO_LOG.TXT, which MuJoCo writes into the folder it runs in).
set -euo pipefail
cd "$1"
shopt -s nullglob
bad=0

while IFS= read -r file; do
  if [ "$(sed -n '1,2p' "$file" | grep -c 'SPDX-License-Identifier: BSD-3-Clause')" -ne 1 ]; then
    echo "$file: no SPDX line at its head"
    bad=1
  fi
  lines=$(wc -l < "$file")
  if [ "$lines" -gt 600 ]; then
    echo "$file: $lines lines"
    bad=1
  fi
  if grep -nE '(^|[^A-Za-z0-9_.])/(home|work|root|Users|opt)/' "$file"; then
    echo "$file: a path of one machine"
    bad=1
  fi
done < <(find src integrators* include tests examples cmake .ci -type f \
  \( -name '*.[ch]' -o -name '*.inc' -o -name '*.cpp' -o -name '*.cmake' -o -name '*.sh' -o -name '*.py' \
  -o -name 'CMakeLists.txt' -o -path '.ci/run' \) ! -path 'tests/structure/sources.sh' | sort)

if grep -rnE '\bskip\(\)' tests --include='*.[ch]' | grep -v '^tests/support/skip.h:'; then
  echo "skip by SKIP (tests/support/skip.h), which prints the reason"
  bad=1
fi

for entry in *; do
  case $entry in
    src | include | integrators | tests | examples | cmake | CMakeLists.txt | README.md | LICENSE | \
      CHANGELOG.md | pyproject.toml | build* | MUJOCO_LOG.TXT) ;;
    *)
      echo "$entry: not part of the layout"
      bad=1
      ;;
  esac
done
exit $bad
