#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The solver alone, in five minutes: solver.sh BUILD SHARED
# 1. Block factorization of piles beside CHOLMOD, in turns.
# 2. Problems that Drake's SAP solver was timed on by shared/data/README.md. pydrake does not expose that solver (its
#    wheel has no binding and no headers of SapSolver), so that its recorded times stand here, and once more scaled by
#    CHOLMOD's times of then and now.
# 3. Solver per step over 10 s of clutter 40; Drake took 0.756 ms.
# 4. What a second thread gains, by the wall clock.
set -eu
build=$1 shared=$2
export OPENBLAS_NUM_THREADS=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bench=$build/tests/bench
# A number of a JSON line.
field() {
  sed -n "s/.*\"$1\": \([-0-9.e+]*\).*/\1/p"
}

echo "factorization   ours [us]  CHOLMOD [us]  ratio (quartiles)"
for bodies in 40 160 640; do
  "$bench/sapstep_bench_cholesky" "pile_${bodies}x6" | grep in_turns >"$work/line"
  quartiles=$(sed -n 's/.*"ratio_quartiles": \[\(.*\)\].*/\1/p' "$work/line")
  printf '%-14s %10s %13s  %s (%s)\n' "$bodies bodies" "$(field block_us <"$work/line")" \
    "$(field cholmod_us <"$work/line")" "$(field ratio_median <"$work/line")" "$quartiles"
  echo "$bodies $(field cholmod_us <"$work/line")" >>"$work/cholmod"
done
# CHOLMOD's times when Drake's were taken, design of the block factor.
scale=$(awk '{then_us = $1 == 40 ? 265 : $1 == 160 ? 2539 : 13612; print $2 / then_us}' "$work/cholmod" | sort -n |
  sed -n 2p)
echo "this machine takes $scale of the time of the one that Drake's times are from"
echo

echo "problem         ours [us]  iterations  Drake [us], iterations  ratio  scaled"
drake() {
  case $1 in
    stack_10) echo "122 2" ;;
    stack_10_push) echo "329 7" ;;
    rnd_8_24) echo "500 13" ;;
    rnd_40_160) echo "12000 24" ;;
    *) echo "61700 23" ;;
  esac
}
for name in stack_10 stack_10_push rnd_8_24 rnd_40_160 rnd_100_400; do
  "$build/src/cli/sapstep" solve --repeat 100 --format csv "$shared/data/contact-problems/$name.problem" | tail -1 |
    awk -F, -v name=$name -v drake="$(drake $name)" -v scale="$scale" '{
      split(drake, d, " ")
      printf "%-14s %10.1f %11d %12d, %d %14.1f %7.1f\n", name, $9, $6, d[1], d[2], d[1] / $9, scale * d[1] / $9}'
done
echo

"$bench/sapstep_make_scene" clutter 40 >"$work/clutter_40.xml"
"$bench/sapstep_make_scene" clutter 160 >"$work/clutter_160.xml"
"$bench/sapstep_make_scene" field 1000 >"$work/field_1000.xml"
echo "clutter 40, 10 s"
"$build/src/cli/sapstep" run "$work/clutter_40.xml" --duration 10 --stats |
  grep -E '^(time per step|solver, per|Newton iterations, mean)'
echo

for run in "$work/field_1000.xml 20 200" "$work/clutter_160.xml 100 100" \
  "$shared/models/mujoco/humanoid/22_humanoids.xml 20 300"; do
  # shellcheck disable=SC2086
  "$bench/sapstep_bench_threads" $run | sed "s|$work/||; s|$shared/models/||"
done
