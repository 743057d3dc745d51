// SPDX-License-Identifier: BSD-3-Clause
// Contact stiffness of shapes that name none. A fixed number would let a heavy body sink deep
// and near-rigid contact would hide the compliance of light ones; so k grows with the mass m:
//   k = max(1e6 N/m, 1e5 s^-2 m):  m g/k <= 1e-4 m
// m is that of all bodies welded together. Static shapes are rigid: the pair then has k of the
// moving one.
#include <math.h>

#include "core/memory.h"
#include "multibody/model/compile.h"

static const double LEAST_STIFFNESS = 1e6;     // [N/m]
static const double STIFFNESS_PER_MASS = 1e5;  // [s^-2]: g / 0.1 mm

// Pairs that name no stiffness have that of their shapes in series, its damping and, where these
// are later or larger than their own, the contact model, v_s and static mu of the shapes.
static sap_status combine_pairs(sap_model* model, sap_error* error) {
  for (int32_t i = 0; i < model->sizes.pairs; ++i) {
    sap_pair_def* pair = &model->pairs[i];
    if (pair->material.stiffness == 0.0) {
      sap_material both;
      const sap_status status = sap_material_combine(&model->shapes[pair->shape_a].material,
                                                     &model->shapes[pair->shape_b].material,
                                                     model->options.friction_rule, &both, error);
      if (status != SAP_STATUS_OK) {
        return status;
      }
      pair->material.stiffness = both.stiffness;
      pair->material.relaxation_time = both.relaxation_time;
      pair->material.dissipation = both.dissipation;
      pair->material.stiction_tolerance =
          fmax(pair->material.stiction_tolerance, both.stiction_tolerance);
      pair->material.static_friction = fmax(pair->material.static_friction, both.static_friction);
      pair->material.model = pair->material.model > both.model ? pair->material.model : both.model;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_compile_stiffness(sap_model* model, sap_error* error) {
  const int32_t nbodies = model->sizes.bodies;
  double* mass = sap_allocate((size_t)nbodies, sizeof *mass);
  if (mass == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: masses of %d bodies", (int)nbodies);
  }
  for (int32_t b = 0; b < nbodies; ++b) {
    mass[model->bodies[b].weld] += model->bodies[b].mass;
  }
  for (int32_t s = 0; s < model->sizes.shapes; ++s) {
    sap_shape_def* shape = &model->shapes[s];
    const sap_model_body* body = &model->bodies[shape->body];
    if (shape->material.stiffness == 0.0) {
      shape->material.stiffness =
          body->tree < 0 ? HUGE_VAL : fmax(LEAST_STIFFNESS, STIFFNESS_PER_MASS * mass[body->weld]);
    }
  }
  sap_free(mass);
  return combine_pairs(model, error);
}
