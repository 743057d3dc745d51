// SPDX-License-Identifier: BSD-3-Clause
// Rays against shapes.
#pragma once

#include <sapstep/model.h>

#include "multibody/model/hull.h"

// Returns the least t >= 0 at which o + t d, in the shape's frame, crosses the surface; -1: never.
// A plane is met from above only. hull: of a mesh, else not used.
double sap_ray_meets(sap_shape_type type, const double size[3], const sap_hull* hull,
                     const double o[3], const double d[3]);
