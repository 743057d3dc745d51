// SPDX-License-Identifier: BSD-3-Clause
// Flexes as a recording has them: a sphere on each knot, which is a vertex or, of interpolated
// flexes, a node. Shapes of knots follow those of geoms.
#ifndef SAP_CLI_COMMANDS_MUJOCO_MUJOCO_FLEX_H
#define SAP_CLI_COMMANDS_MUJOCO_MUJOCO_FLEX_H

#include <sapstep/mujoco.h>
#include <sapstep/recorder.h>

int32_t mujoco_knot_count(const mjModel* model);
void mujoco_describe_knots(const mjModel* model, sap_recorded_shape* shapes);
// Nearest knot of a flex to a point of the world; its body.
int32_t mujoco_nearest_knot(const mjModel* model, const mjData* data, int32_t flex,
                            const double p[3], int32_t* body);

#endif
