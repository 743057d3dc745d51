// SPDX-License-Identifier: BSD-3-Clause
// Primitives with a mesh: fitted to it, as MuJoCo does.
//   Their frame is that of the mesh's principal axes, the largest moment about x, at its centre of
//   mass. With the half sides b of the box that has the mesh's mass and moments,
//     b_x^2 = 3/2 (I_y + I_z - I_x)/m,
//   a box and an ellipsoid have b, a sphere the mean of b, a cylinder ((b_x + b_y)/2, b_z), a
//   capsule the same less half its radius. With fitaabb b is the half of what the mesh spans along
//   these axes, the centre the middle of that, a sphere has max b, the others have max(b_x, b_y),
//   and a capsule ends where the mesh does.
#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf_mesh.h"
#include "linalg/symmetric3.h"
#include "math/quaternion.h"

// Principal axes of the mesh as columns, right-handed, and half sides of the box.
static void fit_to_inertia(const sap_mesh_mass* mass, double axes[9], double b[3]) {
  double e[3], V[9];
  sap_symmetric3_eigen(mass->inertia, e, V);
  for (int k = 0; k < 3; ++k) {  // from the largest
    memcpy(axes + 3 * k, V + 3 * (2 - k), 3 * sizeof *axes);
    b[k] = sqrt(1.5 * fmax(e[0] + e[1] + e[2] - 2.0 * e[2 - k], 0.0) / mass->volume);
  }
  double handed[3];
  sap_v3_cross(handed, axes, axes + 3);
  if (sap_v3_dot(handed, axes + 6) < 0.0) {
    sap_v3_scale(axes + 6, axes + 6, -1.0);
  }
}

// Half of what the mesh spans along the axes, and the middle of it.
static void fit_to_span(const sap_mesh_def* mesh, const double axes[9], double center[3],
                        double b[3]) {
  double middle[3];
  for (int k = 0; k < 3; ++k) {
    double low = (double)INFINITY, high = -(double)INFINITY;
    for (int32_t i = 0; i < mesh->vertex_count; ++i) {
      const double x = sap_v3_dot(axes + 3 * k, mesh->vertices + 3 * (size_t)i);
      low = fmin(low, x);
      high = fmax(high, x);
    }
    b[k] = 0.5 * (high - low);
    middle[k] = 0.5 * (high + low);
  }
  sap_m3_mul_v3(center, axes, middle);
}

static void set_size(sap_shape_type type, bool span, const double b[3], double size[3]) {
  const double radius = span ? fmax(b[0], b[1]) : 0.5 * (b[0] + b[1]);
  switch (type) {
    case SAP_SHAPE_SPHERE:
      size[0] = span ? fmax(radius, b[2]) : (b[0] + b[1] + b[2]) / 3.0;
      break;
    case SAP_SHAPE_CAPSULE:
      size[0] = radius;
      size[1] = fmax(b[2] - (span ? radius : 0.5 * radius), 0.0);
      break;
    case SAP_SHAPE_CYLINDER:
      size[0] = radius;
      size[1] = b[2];
      break;
    default:
      memcpy(size, b, 3 * sizeof *size);
      break;
  }
}

sap_status sap_mjcf_fit(sap_mjcf_reader* r, const sap_mjcf_sources* s, const sap_mjcf_item* item,
                        int32_t mesh, sap_shape_def* def) {
  sap_mesh_mass mass;
  double axes[9], b[3], center[3], scale = 1.0;
  sap_status status = sap_mjcf_number(r, s, "fitscale", &scale);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_mesh_mass(r, mesh, &mass);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const bool span = item->scope.model->compiler.fit_span;
  fit_to_inertia(&mass, axes, b);
  sap_v3_copy(center, mass.center);
  if (span) {
    fit_to_span(&r->meshes[mesh].def, axes, center, b);
  }
  sap_v3_scale(b, b, scale);
  set_size(def->type, span, b, def->size);
  const int count = def->type == SAP_SHAPE_SPHERE ? 1 : def->type < SAP_SHAPE_BOX ? 2 : 3;
  for (int k = 0; k < count; ++k) {
    if (!(def->size[k] > 0.0)) {
      return sap_xml_fail(item->node, "mesh", SAP_STATUS_SYNTAX, r->error,
                          "fitted to the mesh, size %d is %g, must be > 0", k + 1, def->size[k]);
    }
  }
  double turn[4], p[3], q[4];
  sap_quaternion_place(p, def->p_BS, def->q_BS, center);
  sap_v3_copy(def->p_BS, p);
  sap_quaternion_from_rotation(turn, axes);
  sap_quaternion_multiply(q, def->q_BS, turn);
  memcpy(def->q_BS, q, sizeof q);
  return SAP_STATUS_OK;
}
