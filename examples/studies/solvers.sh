#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Contact solvers on the problems of scenes: sh examples/studies/solvers.sh STUDY [SCENE or OPTION of sapstep compare]...
#   timings              Le Lidec et al. 2024, Fig. 17: time of a solve over a run, cold and warm, at a tolerance used in practice
#   convergence          Fig. 16: how the residual falls, on the problems of a robot that lands and stands
#   constrained_systems  Tsounis et al. 2025, Sec. VII and Table I: its dual solvers on its systems, in classes by their constraints
# Scenes named here replace those of the study. SAPSTEP names the program; charts go to the current folder.
set -eu
studies=$(cd "$(dirname "$0")" && pwd)
sapstep=${SAPSTEP:-sapstep}
command -v "$sapstep" > /dev/null 2>&1 || for found in "$studies"/../../build*/src/cli/sapstep; do
  [ -x "$found" ] && sapstep=$found
done
study=${1:-}
[ $# -eq 0 ] || shift
case $study in
  timings)
    scenes="quadruped arm_7dof nunchaku"
    set -- --duration 1 --every 10 --max-sweeps 5000 --tolerance 1e-6 --timings timings.svg \
      --solvers sap,sap-ncp,pgs-ccp,apgd,admm-ccp,ipm,pgs-ncp,nbgs,raisim,staggered,admm-ncp,newton-ncp "$@" ;;
  convergence)
    scenes=quadruped
    set -- --duration 2 --every 20 --start cold --tolerance 1e-12 --convergence convergence.svg \
      --solvers sap,sap-ncp,pgs-ccp,apgd,admm-ccp,pgs-ncp,nbgs,staggered,admm-ncp,newton-ncp,proximal-newton "$@" ;;
  constrained_systems)
    scenes="cube_on_plane boxes_fixed nunchaku fourbar_fixed fourbar_free arm_7dof quadruped"
    ncp=admm-ncp:penalty
    set -- --classes --start cold --duration 1 --every 25 --contact-law rigid --reference proximal-newton --tolerance 1e-8 \
      --max-sweeps 2000 --solvers \
      "pgs-ccp,pgs-ncp,nbgs,raisim,raisim-ds,raisim-ds-es,admm-ccp:penalty=fixed,$ncp=fixed,$ncp=linear,$ncp=spectral" "$@" ;;
  *) echo "solvers.sh: '$study' must be timings, convergence or constrained_systems" >&2; exit 2 ;;
esac
given=
for argument in "$@"; do
  case $argument in *.xml | *.urdf) given=yes ;; esac
done
[ -n "$given" ] || for scene in $scenes; do
  set -- "$@" "$studies/../scenes/$scene.xml"
done
exec "$sapstep" compare "$@"
