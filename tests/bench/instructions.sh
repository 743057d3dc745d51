#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Instructions per step, counted by callgrind, beside the recorded ones:
#   instructions.sh BENCH_STEPS MAKE_SCENE SHARED [RECORD]
# Counts depend on compiler, C library and processor: they say what a change did on one machine.
# Lines of instructions.txt: scene, steps skipped, steps counted, instructions per step.
set -eu
steps=$1 make=$2 shared=$3 record=${4:-}
here=$(dirname "$0")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Long copies would count byte by byte under valgrind.
export GLIBC_TUNABLES=glibc.cpu.x86_rep_stosb_threshold=1000000000:glibc.cpu.x86_rep_movsb_threshold=1000000000
export OPENBLAS_NUM_THREADS=1
printf '%-14s %12s %12s %8s\n' scene now recorded change
while read -r scene skip count recorded; do
  case $scene in
    humanoid) path=$shared/models/mujoco/humanoid/humanoid.xml ;;
    *) path=$work/$scene.xml; "$make" "${scene%_*}" "${scene##*_}" >"$path" ;;
  esac
  [ -e "$path" ] || { echo "$scene: not there"; continue; }
  valgrind --tool=callgrind --callgrind-out-file="$work/out" --toggle-collect=counted_steps \
    "$steps" "$path" "$skip" "$count" >"$work/log" 2>&1 || { cat "$work/log" >&2; exit 1; }
  now=$(awk -v n="$count" '/^(summary|totals):/ {printf "%.0f", $2 / n; exit}' "$work/out")
  awk -v s="$scene" -v a="$now" -v b="$recorded" \
    'BEGIN {printf "%-14s %12d %12d %+7.1f%%\n", s, a, b, (b > 0 ? 100 * (a / b - 1) : 0)}'
  echo "$scene $skip $count $now" >>"$work/new"
done <"$here/instructions.txt"
[ -z "$record" ] || cp "$work/new" "$here/instructions.txt"
