#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The experiments of Castro, Permenter and Han, "An Unconstrained Convex Formulation of Compliant Contact" (2022), Sec. VI:
#   sh examples/studies/castro.sh [05] [06] [07] [09] [10] [11] [14] [17]   (11: Figs. 11 to 13; 14: Figs. 14 and 15)
# Tables on standard output with the paper's values beside them; castro_*.svg and .csv in the current folder.
# SAPSTEP names the program, DURATION the simulated time of the clutter [s] (10), COLUMN its bodies per column (1 2 5 10 20 40).
set -eu
studies=$(cd "$(dirname "$0")" && pwd)
sapstep=${SAPSTEP:-sapstep}
command -v "$sapstep" > /dev/null 2>&1 || for found in "$studies"/../../build*/src/cli/sapstep; do
  [ -x "$found" ] && sapstep=$found
done
duration=${DURATION:-10}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' INT TERM
OPENBLAS_NUM_THREADS=1
export OPENBLAS_NUM_THREADS

say() { printf '\n' && printf '%s\n' "$@"; }

# A study with its chart; problems that the interior point method leaves short of its tolerance are no failure here.
study() {
  "$sapstep" sweep "$studies/$1.study" -o "$scratch/$1.h5" --svg "$1.svg" --lines "$1.csv" > "$scratch/table" || [ $? -eq 1 ]
}

# energy FILE.csv: band of each line over the first 5 s in the spring's 0.5 J.
energy() {
  awk -F, 'NR > 1 && $(NF - 2) <= 5 { gsub(/"/, ""); l = $2; e = $NF
      if (!(l in low)) { order[++lines] = l; low[l] = high[l] = e }
      low[l] = e < low[l] ? e : low[l]; high[l] = e > high[l] ? e : high[l] }
    END { print "peak to peak, first 5 s:"
      for (i = 1; i <= lines; ++i) printf "%-34s %7.3f%%\n", order[i], 200 * (high[order[i]] - low[order[i]]) }' "$1"
}

figure_05() {
  say "Fig. 5, no friction. Paper: symplectic Euler 28 %, midpoint 0, implicit Euler loses all."
  study castro_05
  energy castro_05.csv
}

# drift POINTS SCHEME SCENE: what ten minutes of rolling cost, measured and predicted. Each of n points carries the friction
# f/n, and slips by sigma w dt f/n: P = sigma w dt f^2/n, w = |W|/3 with W = diag(1/A + R^2/I, 1/m), A = m + theta^2 dt^2 ks.
# Rolling takes f = I/R^2 ks x/(m + I/R^2); x = x0 cos, the mean of its square is half of x0^2. With h = (dt omega/2)^2
# midpoint scales it by 1/(1 + h), x being that of the middle, and once more as the work is that of the mean of the slip
# at both ends of the step; for symplectic Euler the two cancel. The energy without gravity's share is compared between
# the means over the first and the last ten seconds (19 periods).
drift() {
  "$sapstep" run "$3" --scheme "$2" --contact-stage end --dt 0.02 --duration 600 --output "$scratch/rolling.csv" \
    > "$scratch/table"
  awk -F, -v n="$1" -v scheme="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next }
    { t = $c["t_s"]; e = $c["kinetic_J"] + $c["potential_J"] - 0.5 * 9.81 * 0.0495095 }
    t > 0 && t <= 10 { a += e } t > 590 { b += e }
    END { m = 0.5; rolling = 0.25; ks = 100; x0 = 0.1; dt = 0.02
      h = ks / (m + rolling) * dt * dt / 4
      midpoint = scheme == "midpoint"; A = midpoint ? m + ks * dt * dt / 4 : m
      amplitude = midpoint ? 1 / (1 + h) ^ 2 : 1
      w = sqrt((1 / A + 1 / rolling) ^ 2 + 1 / m ^ 2) / 3
      rate = 1e-3 * w * dt / n * (rolling * ks * x0 / (m + rolling)) ^ 2 / 2 * amplitude / (ks * x0 ^ 2 / 2)
      printf "%-7d %-18s %10.2f%% %10.2f%%\n", n, scheme, 100 * (1 - (b / a) ^ (600 / 590)),
        100 * (1 - exp(-600 * rate)) }' "$scratch/rolling.csv"
}

figure_06() {
  say "Fig. 6, rolling. Paper: midpoint 0.16 %."
  study castro_06
  energy castro_06.csv
  say "Ten minutes of it. Paper: symplectic Euler and midpoint lose 10 %. The slip that the regularization allows dissipates" \
    "sigma w dt f^2 in each point; more points share f. A cylinder that lies on the ground has two (castro_06_long.svg)."
  study castro_06_long
  scenes=$studies/../scenes
  sed -e '/stiffness:ground/s/5e3/2.5e3/' -e '/stiffness:tread/{p;s/tread/twin/;}' \
    -e '/<geom name="tread"/{s/0\.04"/0.015" pos="0 0.025 0"/;p;s/tread/twin/;s/pos="0 /pos="0 -/;}' \
    "$scenes/spring_cylinder_rims.xml" > "$scratch/four_points.xml"
  printf '%-7s %-18s %11s %11s\n' points scheme lost "by formula"
  for scheme in midpoint symplectic-euler; do
    drift 1 $scheme "$scenes/spring_cylinder.xml"
    drift 2 $scheme "$scenes/spring_cylinder_rims.xml"
    drift 4 $scheme "$scratch/four_points.xml"
  done
}

figure_07() {
  say "Fig. 7, order of the spring-cylinder over 5 s. Paper: midpoint 2, Eulers 1."
  "$sapstep" converge "$studies/../scenes/spring_cylinder.xml" --duration 5 --levels 6 --contact-stage end \
    --svg castro_07.svg
}

figure_09() {
  say "Fig. 9, clutter with walls. Paper: SAP about 3 iterations at rest, Gurobi 9 throughout."
  study castro_09
  awk -F, 'NR > 1 && /iterations/ { gsub(/"/, ""); n = NF; part = $(n - 2) <= 2 ? 1 : 2
      sum[$2, part] += $n; count[$2, part]++; if (!($2 in seen)) { seen[$2]; order[++lines] = $2 } }
    END { printf "%-20s %14s %14s\n", "mean iterations", "first 2 s", "after"
      for (i = 1; i <= lines; ++i) { l = order[i]; printf "%-20s", l
        for (p = 1; p <= 2; ++p) printf " %14.2f", count[l, p] ? sum[l, p] / count[l, p] : 0; print "" } }' castro_09.csv
}

figure_10() {
  say "Fig. 10, cost history of the step with most iterations (paper: 21 at step 60, quadratic at the end) and at rest (5)."
  "$sapstep" run "$studies/../scenes/clutter_40.xml" --newton primal --tolerance 1e-5 --duration "$duration" \
    --record "$scratch/clutter.h5" > "$scratch/table"
  grep -E 'iterations' "$scratch/table"
  "$sapstep" plot "$scratch/clutter.h5" history -o castro_10.svg
}

# clutter N WALLS: N bodies a column, spheres and boxes in turns that a fixed sequence shifts and turns.
clutter() {
  awk -v n="$1" -v walls="$2" 'function r() { seed = (seed * 16807) % 2147483647; return seed / 2147483647 - 0.5 }
    BEGIN { seed = 12345
      print "<mujoco><option timestep=\"0.01\"/><custom><numeric name=\"sapstep:stiffness\" data=\"1e12\"/>"
      print "<numeric name=\"sapstep:relaxation_time\" data=\"0.01\"/></custom><default><geom friction=\"1\"/></default>"
      print "<worldbody><geom type=\"plane\" size=\"9 9 1\"/>"
      if (walls) for (i = 0; i < 4; ++i)
        printf "<geom type=\"box\" size=\"%s\" pos=\"%s\"/>\n", i < 2 ? "0.05 0.5 9" : "0.4 0.05 9",
          i == 0 ? "0.45 0 9" : i == 1 ? "-0.45 0 9" : i == 2 ? "0 0.45 9" : "0 -0.45 9"
      for (k = 0; k < n; ++k) for (c = 0; c < 4; ++c) {
        ball = r() < 0
        printf "<body pos=\"%.4f %.4f %.3f\" euler=\"%.1f %.1f %.1f\"><freejoint/><geom type=\"%s\" size=\"%s\"/></body>\n",
          (c % 2 ? 0.2 : -0.2) + 0.03 * r(), (c < 2 ? 0.2 : -0.2) + 0.03 * r(), 0.08 + 0.125 * k,
          ball ? 0 : 16 * r(), ball ? 0 : 16 * r(), ball ? 0 : 90 * r(), ball ? "sphere" : "box",
          ball ? "0.05" : "0.05 0.05 0.05" }
      print "</worldbody></mujoco>" }'
}

# rows BODIES WALLS: a line of Figs. 11 to 13: median times from the summary, means over problems from their rows.
rows() {
  awk -F, -v bodies="$1" -v walls="$2" 'FNR == 1 { ++file; for (i = 1; i <= NF; ++i) c[$i] = i; next }
    { s = $c["solver"] }
    file == 1 { time[s] = $c["time_median_us"]; next }
    { ++n[s]; iterations[s] += $c["iterations"]
      momentum[s] += $c["momentum"]; slack[s] += $c["slackness"]; contacts = $c["cones"] }
    END { printf "%-7s %6d %8d %9.0f %9.0f %7.1f %6.1f %6.1f %9.1e %9.1e %9.1e %9.1e\n", walls ? "with" : "without",
        bodies, contacts, time["sap"], time["ipm"], time["ipm"] / time["sap"],
        iterations["sap"] / n["sap"], iterations["ipm"] / n["ipm"], momentum["sap"] / n["sap"],
        momentum["ipm"] / n["ipm"], slack["sap"] / n["sap"], slack["ipm"] / n["ipm"] }' "$scratch/table" "$scratch/rows.csv"
}

figure_11() {
  say "Figs. 11 to 13, scaling. Every 10th problem (160 bodies: 200th) of a run by SAP, solved by both, warm, tolerance" \
    "1e-5; our interior point method stands in for Gurobi and the geodesic IPM. Paper: more contacts without walls than with; SAP about twice as" \
    "fast as the geodesic IPM, five times below 8 bodies; e_m (32) of SAP below 1e-5, e_mu (33) at round-off (IPM below 1e-5)."
  printf '%-7s %6s %8s %9s %9s %7s %6s %6s %9s %9s %9s %9s\n' walls bodies contacts SAP_us IPM_us speedup SAP_it IPM_it \
    SAP_e_m IPM_e_m SAP_e_mu IPM_e_mu
  for walls in 1 0; do
    for n in ${COLUMN:-1 2 5 10 20 40}; do
      every=$((n < 40 ? 10 : 200))
      clutter "$n" "$walls" > "$scratch/clutter.xml"
      rm -rf "$scratch/problems"
      "$sapstep" run "$scratch/clutter.xml" --duration "$duration" --newton primal --tolerance 1e-5 --accepted-error inf \
        --dump-problems "$scratch/problems" --dump-every $every > "$scratch/table" || [ $? -eq 1 ]
      "$sapstep" compare "$scratch"/problems/*.hdf5 --solvers sap,ipm --newton primal --tolerance 1e-5 --start warm --summary \
        --rows "$scratch/rows.csv" --format csv > "$scratch/table"
      rows $((4 * n)) "$walls"
    done
  done
}

# slip WALLS NAME: a table over sigma, NAME.csv and NAME.svg.
slip() {
  if [ "$1" = 1 ]; then
    cp "$studies/../scenes/clutter_40.xml" "$scratch/clutter.xml"
  else
    clutter 10 0 > "$scratch/clutter.xml"
  fi
  sed "s#^scene .*#scene clutter.xml#; s#^duration .*#duration $duration#" "$studies/castro_14.study" > "$scratch/slip.study"
  "$sapstep" sweep "$scratch/slip.study" -o "$scratch/slip.h5" --csv "$2.csv" --svg "$2.svg" > "$scratch/table"
  # Sorted by sigma and one quantity after the other: the middle row of each sigma's is the median.
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i; next }
    { n = split("slip_mean iterations:mean hessian_condition", name, " ")
      for (i = 1; i <= n; ++i) print i, $column["sigma"], $column[name[i]] }' "$2.csv" | sort -k1,1n -k2,2g -k3,3g |
    awk -v walls="$1" '{ key = $1 SUBSEP $2; value[key, ++count[key]] = $3; if ($1 == 1 && count[key] == 1) sigma[++sigmas] = $2 }
      function middle(i, s, n) { n = count[i, s]; return value[i SUBSEP s, int((n + 1) / 2)] }
      END { for (k = 1; k <= sigmas; ++k) { s = sigma[k]
        printf "%-7s %10.0e %11.2g %8.2g to %7.2g %11.2g %8.2f %6.2f to %5.2f %12.2g\n", walls ? "with" : "without", s,
          middle(1, s), value[1 SUBSEP s, 1], value[1 SUBSEP s, count[1, s]], 0.0981 * s,
          middle(2, s), value[2 SUBSEP s, 1], value[2 SUBSEP s, count[2, s]], middle(3, s) } }'
}

figure_14() {
  say "Figs. 14 and 15, slip at rest, Newton iterations and condition number of the Hessian against sigma. Paper: slip below" \
    "0.098 sigma, with walls along its slope; iterations ~ ln(1/sigma); condition number ~ 1/sigma."
  say "Medians of seven piles, with the least and the largest."
  printf '%-7s %10s %31s %11s %24s %12s\n' walls sigma "slip m/s" "bound m/s" iterations condition
  slip 1 castro_14
  slip 0 castro_14_open
}

# pitch FILE.csv: time, and the angle by which the spatula's handle, its second axis, points up [degrees].
pitch() {
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) c[$i] = i; next }
    { w = $c["q_spatula_qw"]; x = $c["q_spatula_qx"]; y = $c["q_spatula_qy"]; z = $c["q_spatula_qz"]
      print $1, 180 / 3.14159265358979 * atan2(2 * (y * z + w * x), 2 * (w * z - x * y)) }' "$1"
}

figure_17() {
  say "Sec. VI-D and Fig. 17, slip control: pitch of the spatula in degrees at the end of each grip of 16 N (4.5 s) and of" \
    "1 N (1.5 s). Paper: 0.62 iterations a step with 60 to 160 contacts, at 5 ms. Points have no torsional friction."
  bubbles=$studies/../scenes/soft_bubbles
  printf '%-10s %8s %9s %8s %8s %8s %8s %8s %8s %9s %11s\n' model dt/ms contacts it/step "0 s" "4.5 s" "6 s" "10.5 s" "12 s" "18 s" \
    "1 N, deg/s"
  for run in lagged/0.0025 lagged/0.005 lagged/0.01 similar/0.005 sap/0.005 points/0.005; do
    model=${run%/*}
    sed "s/data=\"lagged\"/data=\"${model%points}\"/; s/data=\"\"/data=\"lagged\"/" "$bubbles.xml" > "$scratch/bubbles.xml"
    [ "$model" = points ] && without="--patches 0" || without=
    # shellcheck disable=SC2086
    "$sapstep" run "$scratch/bubbles.xml" --keyframe grip --controls "$bubbles.csv" --duration 18 --dt "${run#*/}" $without \
      -o "$scratch/bubbles.csv" > "$scratch/table"
    pitch "$scratch/bubbles.csv" > "$scratch/pitch"
    [ "$run" != lagged/0.005 ] || cp "$scratch/pitch" "$scratch/drawn"
    awk -v model="$model" -v dt="${run#*/}" 'FILENAME == ARGV[1] { if (/^contacts, mean/) n = $NF
        if (/^Newton iterations, mean/) its = $NF; next }
      FNR == 1 { first = $2 } { at[sprintf("%.4f", $1)] = $2 }
      END { printf "%-10s %8g %9.2f %8.2f %8.3f %8.3f %8.3f %8.3f %8.3f %9.3f %11.3f\n", model, 1000 * dt, n, its, first,
        at["4.5000"], at["6.0000"], at["10.5000"], at["12.0000"], at["18.0000"], (at["6.0000"] - at["4.5000"]) / 1.5 }' \
      "$scratch/table" "$scratch/pitch"
  done
  gnuplot <<END
set terminal svg size 900,320 font "DejaVu Sans,12" background "white"
set output "castro_17.svg"
set multiplot layout 1,2
set grid lc rgb "#dddddd"
set xlabel "t [s]"
set key off
set ylabel "grip force [N]"
set yrange [0:18]
set samples 360
plot [0:18] (x - 6*floor(x/6) < 4.5 ? 16 : 1) lw 2 lc rgb "#0072b2"
set ylabel "pitch [degrees]"
set autoscale y
plot [0:18] "$scratch/drawn" every 20 with lines lw 2 lc rgb "#d55e00"
END
}

[ $# -gt 0 ] || set -- 05 06 07 09 10 11 14 17
for figure in "$@"; do
  case $figure in
    05 | 06 | 07 | 09 | 10 | 11 | 14 | 17) "figure_$figure" ;;
    12 | 13) figure_11 ;;
    15) figure_14 ;;
    *) echo "castro.sh: '$figure' must be 05, 06, 07, 09 to 15 or 17" >&2; exit 2 ;;
  esac
done
