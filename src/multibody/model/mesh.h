// SPDX-License-Identifier: BSD-3-Clause
// Checks of mesh definitions.
#ifndef SAP_MULTIBODY_MODEL_MESH_H
#define SAP_MULTIBODY_MODEL_MESH_H

#include <sapstep/model.h>

#include "multibody/model/check.h"

// Counts, finite vertices, vertex numbers of the faces.
sap_status sap_mesh_check(const sap_checker* checker, const sap_mesh_def* def);
// ARGUMENT unless every edge of a face is that of one other face, the other way round.
sap_status sap_mesh_check_closed(const sap_checker* checker, const int32_t* faces, int32_t count);

#endif
