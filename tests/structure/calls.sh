#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# calls.sh SOURCE_DIR CC CXX ARCHIVE: every public function is in a table of
# tests/abuse/test_allocation_calls_*.c, which call it with broken arguments and without memory.
set -euo pipefail
public=$(readelf -sW "$4" | awk '$4 == "FUNC" && $5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" {print $8}' | sort -u)
tested=$(grep -ohE '\bX\(sap_[a-z0-9_]+' "$1"/tests/abuse/test_allocation_calls_*.c | sed 's/X(//' | sort -u)
if ! grep -qx sap_status_text <<< "$public"; then
  echo "$4 is not the library"
  exit 1
fi
bad=0
missing=$(comm -23 <(echo "$public") <(echo "$tested"))
if [ -n "$missing" ]; then
  echo "public functions that no table of tests/abuse/test_allocation_calls_*.c has:"
  echo "$missing"
  bad=1
fi
gone=$(comm -13 <(echo "$public") <(echo "$tested"))
if [ -n "$gone" ]; then
  echo "no public functions:"
  echo "$gone"
  bad=1
fi
exit $bad
