// SPDX-License-Identifier: BSD-3-Clause
// Contacts where a step evaluates its constraints: with theta < 1 at the expected
//   q^theta = q0 (+) theta dt (theta_vq v_guess + (1 - theta_vq) v0)
// instead of q0, whose normals and arms lag behind by theta dt: first order.
#ifndef SAP_MULTIBODY_ENGINE_MULTIBODY_POINT_H
#define SAP_MULTIBODY_ENGINE_MULTIBODY_POINT_H

#include <sapstep/system.h>

#include "multibody/assembly/assembly.h"
#include "multibody/model/model_data.h"

typedef struct sap_evaluation_point {
  double *q, *moved;      // q^theta (nq), theta dt times the velocity that leads there (nv)
  sap_contact* contacts;  // those at q0
  int32_t count, capacity;
  bool* within;  // which of them are taken at q instead
  // Of those: velocity at q0 of the v expected, world's axes [m/s]; then what the end of the step
  // has beyond that at q^theta along t1, t2, n, and what the gap there, led back along J, has
  // beyond that at q0: sap_assembly_set_change                            (4 count)
  double* change;
  int32_t within_capacity, change_capacity;
} sap_evaluation_point;

// Start from {0}.
sap_status sap_evaluation_point_create(const sap_model* model, sap_evaluation_point* point,
                                       sap_error* error);
void sap_evaluation_point_clear(sap_evaluation_point* point);

// Fills q and moved.
sap_status sap_evaluation_point_set(sap_evaluation_point* point, const sap_model* model,
                                    const sap_step_context* step, sap_error* error);
// Keeps the contacts found at q0.
sap_status sap_evaluation_point_begin(sap_evaluation_point* point, const sap_contact* contacts,
                                      int32_t count, sap_error* error);
// The contacts at q0 again, as many as there were.
void sap_evaluation_point_restore(const sap_evaluation_point* point, sap_contact* contacts);
// Chooses those at q0, where the kinematics stand, that penetrate and did so a step ago at v0;
// true: there are some.
bool sap_evaluation_point_choose(sap_evaluation_point* point, const sap_assembly* assembly,
                                 const sap_dynamics* dynamics, const sap_step_context* step);
// Those of `found`, contacts at q, where the kinematics stand now, take the place of those chosen
// in `contacts` (as they were at q0) when they are the same; the others are no longer chosen.
sap_status sap_evaluation_point_replace(sap_evaluation_point* point, const sap_assembly* assembly,
                                        const sap_dynamics* dynamics, const sap_step_context* step,
                                        const sap_contact_list* found, sap_contact* contacts,
                                        sap_error* error);

#endif
