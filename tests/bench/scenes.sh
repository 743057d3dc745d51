#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Time per step of all scenes beside the peers:
#   scenes.sh SAPSTEP MAKE_SCENE SHARED PYTHON FOLDER [small|large]
# Leaves FOLDER/NAME.json for each group of scenes, one line per scene and engine, and NAME.svg.
# The small ones take some 10 minutes with MuJoCo and Drake, the large ones half an hour.
set -eu
program=$1 make=$2 shared=$3 python=$4 out=$5 part=${6:-}
here=$(dirname "$0")
models=$shared/models/mujoco
mkdir -p "$out/scenes"
export OPENBLAS_NUM_THREADS=1
mujoco="$python $here/peers/mujoco_peer.py"
elliptic="$mujoco --elliptic"
drake="$python $here/peers/drake_peer.py"

# The files of the scenes that are named like "clutter 40", or by a path if they are there.
files() {
  for scene in "$@"; do
    case $scene in
      */*) [ ! -e "$scene" ] || echo "$scene" ;;
      *)
        file=$out/scenes/$(echo "$scene" | cut -d' ' -f1-2 | tr ' ' _)
        case $scene in *urdf*) file=$file.urdf ;; *) file=$file.xml ;; esac
        # shellcheck disable=SC2086
        "$make" $scene >"$file"
        echo "$file"
        ;;
    esac
  done
}

# run NAME STEPS SKIP "OPTIONS" SCENE...: a group that is stepped alike
run() {
  name=$1 steps=$2 skip=$3 options=$4
  shift 4
  # shellcheck disable=SC2046,SC2086
  eval "\"$program\"" bench --clock cpu --steps $steps --skip $skip $options --format json \
    --svg "\"$out/$name.svg\"" $(files "$@" | sed 's/.*/"&"/') >"$out/$name.json"
  echo "$out/$name.json"
}

two="--repetitions 5 --peer \"$mujoco\" --peer \"$elliptic\""
three="$two --peer \"$drake\""
if [ "$part" != large ]; then
  run clutter 100 50 "$three" "clutter 8" "clutter 20" "clutter 40" "clutter-open 8" \
    "clutter-open 40"
  run humanoids 100 50 "$two" $models/humanoid/humanoid.xml $models/humanoid/22_humanoids.xml \
    $models/humanoid/humanoid100.xml
  run boxes 100 50 "$two" $models/planks.xml $models/stacked_boxes.xml \
    $models/replicate/stonehenge.xml $models/replicate/bowl.xml "tower 10" "tower 30"
  run trees 100 0 "$two" "chain 10" "chain 100" hands "field 100"
  if "$python" "$here/two_arms.py" "$shared/models/menagerie" >"$out/scenes/two_arms.xml" \
    2>"$out/two_arms.log"; then
    run arms 100 10 "$two" "$out/scenes/two_arms.xml"
  fi
fi
if [ "$part" != small ]; then
  run piles 20 150 "--repetitions 3 --peer \"$mujoco\"" "clutter 80" "clutter 160" \
    "clutter-open 160" "tower 100"
  run large 10 10 "--repetitions 3 --peer \"$mujoco\"" "field 1000" \
    "humanoids 100 $models/humanoid/humanoid.xml" "chain-urdf 1000"
  run largest 10 200 "--repetitions 1" "clutter 320" "clutter 640" "field 10000"
fi
