#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Contact solvers on the problems of scenes: sh examples/studies/solvers.sh STUDY [SCENE or OPTION]...
#   timings              Le Lidec et al. 2024, Fig. 17: time of a solve over a run, cold and warm, at a tolerance used in practice
#   convergence          Fig. 16: how the residual falls, on the problems of a robot that lands and stands
#   constrained_systems  Tsounis et al. 2025, Sec. VII: its dual solvers on its systems
# `sapstep run` steps each scene and writes the problem of every N-th step (--every N); `sapstep compare` solves them.
# Scenes named here replace those of the study. Options of scenes (--duration, --dt, --keyframe, --floor, --floating-base,
# --lenient) go to the first, others to the second. SAPSTEP names the program; charts go to the current folder.
set -eu
studies=$(cd "$(dirname "$0")" && pwd)
sapstep=${SAPSTEP:-sapstep}
command -v "$sapstep" > /dev/null 2>&1 || for found in "$studies"/../../build*/src/cli/sapstep; do
  [ -x "$found" ] && sapstep=$found
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
study=${1:-}
[ $# -eq 0 ] || shift
stepping="--accepted-error inf"
case $study in
  timings)
    names="quadruped arm_7dof nunchaku" duration=1 every=10
    set -- --max-sweeps 5000 --tolerance 1e-6 \
      --solvers sap,sap-ncp,pgs-ccp,apgd,admm-ccp,ipm,pgs-ncp,nbgs,raisim,staggered,admm-ncp,newton-ncp "$@" ;;
  convergence)
    names=quadruped duration=2 every=20
    set -- --tolerance 1e-12 --convergence convergence.svg --lines convergence.csv \
      --solvers sap,sap-ncp,pgs-ccp,apgd,admm-ccp,pgs-ncp,nbgs,staggered,admm-ncp,newton-ncp,proximal-newton "$@" ;;
  constrained_systems)
    names="cube_on_plane boxes_fixed nunchaku fourbar_fixed fourbar_free arm_7dof quadruped" duration=1 every=25
    stepping="$stepping --contact-law rigid --solver proximal-newton --tolerance 1e-8" ncp=admm-ncp:penalty
    set -- --tolerance 1e-8 --max-sweeps 2000 --solvers \
      "pgs-ccp,pgs-ncp,nbgs,raisim,raisim-ds,raisim-ds-es,admm-ccp:penalty=fixed,$ncp=fixed,$ncp=linear,$ncp=spectral" "$@" ;;
  *) echo "solvers.sh: '$study' must be timings, convergence or constrained_systems" >&2; exit 2 ;;
esac

# Scenes and options of the runs leave the arguments; those of the comparison stay.
: > "$scratch/scenes"
left=$#
while [ $left -gt 0 ]; do
  word=$1
  shift
  left=$((left - 1))
  case $word in
    *.xml | *.urdf) echo "$word" >> "$scratch/scenes" ;;
    --floating-base | --lenient) stepping="$stepping $word" ;;
    --duration | --every | --dt | --keyframe | --floor)
      case $word in
        --duration) duration=$1 ;;
        --every) every=$1 ;;
        *) stepping="$stepping $word $1" ;;
      esac
      shift
      left=$((left - 1)) ;;
    *) set -- "$@" "$word" ;;
  esac
done
[ -s "$scratch/scenes" ] || for name in $names; do
  echo "$studies/../scenes/$name.xml" >> "$scratch/scenes"
done

# problems SCENE: the contact problems of a run, in a new folder; fails without any.
problems() {
  rm -rf "$scratch/problems"
  # shellcheck disable=SC2086
  "$sapstep" run "$1" $stepping --duration "$duration" --dump-problems "$scratch/problems" --dump-every "$every" \
    > "$scratch/table" 2> "$scratch/messages" || [ $? -eq 1 ] || { cat "$scratch/messages" >&2; exit 1; }
  [ -d "$scratch/problems" ] || { echo "$1: no step is the $every-th" >&2; return 1; }
}

# name SCENE: its file, and the folder of a file that is called scene.xml.
name() {
  case ${1##*/} in
    scene*) basename "$(dirname "$1")" ;;
    *) basename "${1%.*}" ;;
  esac
}

measure_times() {
  echo scene,solver,start,time_median_us > timings.csv
  while read -r scene; do
    problems "$scene" || continue
    for start in cold warm; do
      "$sapstep" compare "$scratch"/problems/*.hdf5 --summary --start $start --format csv "$@" |
        awk -F, -v scene="$(name "$scene")" 'NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next }
          { print scene "," $c["solver"] "," $c["start"] "," $c["time_median_us"] }' >> timings.csv
    done
  done < "$scratch/scenes"
  awk -F, 'NR > 1 { key = $1 SUBSEP $2; if (!(key in seen)) { seen[key]; order[++n] = key }; time[key, $3] = $4 }
    END { printf "%-20s %-14s %10s %10s\n", "scene", "solver", "cold_us", "warm_us"
      for (i = 1; i <= n; ++i) { split(order[i], part, SUBSEP)
        printf "%-20s %-14s %10.4g %10.4g\n", part[1], part[2], time[order[i], "cold"], time[order[i], "warm"] } }' timings.csv
  command -v gnuplot > /dev/null 2>&1 || return 0
  solvers=$(awk -F, 'NR > 1 && !seen[$2]++ { print $2 }' timings.csv)
  for start in cold warm; do  # a block for each solver: place and time
    for solver in $solvers; do
      awk -F, -v solver="$solver" -v start=$start 'NR > 1 && !($1 in place) { place[$1] = n++ }
        $2 == solver && $3 == start { print place[$1], $4 } END { print "\n" }' timings.csv
    done > "$scratch/$start"
  done
  labels=$(awk -F, 'NR > 1 && !seen[$1]++ { printf "%s\"%s\" %d", n ? ", " : "", $1, n++ }' timings.csv)
  gnuplot --default-settings << END
set terminal svg size 1100,420 font 'DejaVu Sans,12' background '#ffffff'
set output 'timings.svg'
set logscale y
set ylabel 'median time of a solve [us]'
set xtics ($labels) noenhanced
set grid
set xrange [-0.6:*]
set offsets 0,0.6,0,0
names = "$(echo "$solvers" | tr '\n' ' ')"
width = 0.8/words(names)
set style fill solid 0.85 noborder
set boxwidth width
i = 0
do for [colour in "0072B2 D55E00 009E73 CC79A7 E69F00 56B4E9 000000 7F7F7F 332288 882255 8B4513 B2DF8A"] {
  i = i + 1
  set linetype i lc rgb '#'.colour
}
set multiplot layout 1,2
do for [start in "cold warm"] {
  set title start." start"
  if (start eq "warm") { set key outside right } else { unset key }
  plot for [k=1:words(names)] '$scratch/'.start index k-1 using (\$1 + width*(k - 0.5*words(names))):2 with boxes title word(names, k)
}
END
}

case $study in
  timings) measure_times "$@" ;;
  convergence)
    mkdir "$scratch/all"
    while read -r scene; do
      problems "$scene" || continue
      for file in "$scratch"/problems/*.hdf5; do
        mv "$file" "$scratch/all/$(name "$scene")_${file##*/}"
      done
    done < "$scratch/scenes"
    "$sapstep" compare "$scratch"/all/*.hdf5 --summary "$@" ;;
  constrained_systems)
    while read -r scene; do
      problems "$scene" || continue
      echo "== $(name "$scene")"
      "$sapstep" compare "$scratch"/problems/*.hdf5 --summary "$@"
    done < "$scratch/scenes" ;;
esac
