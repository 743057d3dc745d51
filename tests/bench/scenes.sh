#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Time per step of all scenes beside the peers:  scenes.sh SAPSTEP MAKE_SCENE SHARED PYTHON FOLDER
# Leaves FOLDER/bench.json, one line per scene and engine, and FOLDER/bench.svg.
set -eu
program=$1 make=$2 shared=$3 python=$4 out=$5
peers=$(dirname "$0")/peers
mkdir -p "$out/scenes"
for scene in "clutter 8" "clutter 20" "clutter 40" "clutter 80" "clutter 160" "clutter-open 40" \
  "field 100" "field 1000" "tower 10" "tower 30" "chain 10" "chain 100" "hands"; do
  # shellcheck disable=SC2086
  "$make" $scene >"$out/scenes/$(echo "$scene" | tr ' ' _).xml"
done
models=$shared/models/mujoco
set -- "$out"/scenes/*.xml
for model in humanoid/humanoid humanoid/22_humanoids replicate/stonehenge planks stacked_boxes; do
  [ ! -e "$models/$model.xml" ] || set -- "$@" "$models/$model.xml"
done
"$program" bench --clock cpu --steps 100 --skip 20 --repetitions 5 --format json \
  --svg "$out/bench.svg" --peer "$python $peers/mujoco_peer.py" \
  --peer "$python $peers/mujoco_peer.py --elliptic" --peer "$python $peers/drake_peer.py" \
  "$@" >"$out/bench.json"
echo "$out/bench.json and bench.svg"
