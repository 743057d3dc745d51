// SPDX-License-Identifier: BSD-3-Clause
// Contacts at the theta point of a step.
//   way             = theta dt (theta_vq v_guess + (1 - theta_vq) v0)
//   gap_change      = phi_theta - J_n way - phi0
//   velocity_change = (1 - theta)/theta (u_theta - u_0)     from q^theta to the end, linearly
#include <string.h>

#include <sapstep/system.h>

#include "core/error.h"
#include "math/vector3.h"

sap_status sap_step_displacement(const sap_step_context* step, int32_t nv, double* way,
                                 sap_error* error) {
  if (step == NULL || way == NULL || step->v0_free == NULL || step->v_guess == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_step_displacement: %s is NULL",
                    step == NULL || way == NULL ? "an argument" : "v0_free or v_guess of the step");
  }
  const double theta_vq = step->stage_theta_vq;
  const double time = step->stage_theta * step->dt;
  for (int32_t i = 0; i < nv; ++i) {
    way[i] = time * (theta_vq * step->v_guess[i] + (1.0 - theta_vq) * step->v0_free[i]);
  }
  return SAP_STATUS_OK;
}

bool sap_step_contact_is_within(const sap_step_context* step, double phi0, double vn0) {
  return step != NULL && step->stage_theta_vq < 1.0 && phi0 <= 0.0 && phi0 - step->dt * vn0 <= 0.0;
}

// Component of u along the tangent t at q^theta, turned from n to n0 by the smallest rotation:
//   t0 = t - (n0 . t)/(1 + n . n0) (n + n0)
static double dot_turned_tangent(const double t[3], const double n[3], const double n0[3],
                                 const double u[3]) {
  const double ratio = sap_v3_dot(n0, t) / (1.0 + sap_v3_dot(n, n0));
  return sap_v3_dot(t, u) - ratio * (sap_v3_dot(n, u) + sap_v3_dot(n0, u));
}

sap_status sap_contact_block_move(const sap_step_context* step, const sap_contact_move* move,
                                  sap_contact_block* block, sap_error* error) {
  if (step == NULL || move == NULL || block == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_contact_block_move: an argument is NULL");
  }
  const double *R = move->R_WC_theta, *n0 = move->normal0, *u0 = move->velocity0;
  if (!(1.0 + sap_v3_dot(R + 6, n0) > 0.0) || !(step->stage_theta > 0.0)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "sap_contact_block_move: n . n0 = %g must be > -1 and stage_theta = %g > 0",
                    sap_v3_dot(R + 6, n0), step->stage_theta);
  }
  const double ratio = (1.0 - step->stage_theta) / step->stage_theta;
  const double t1 = dot_turned_tangent(R, R + 6, n0, u0);
  const double t2 = dot_turned_tangent(R + 3, R + 6, n0, u0);
  block->phi0 = move->phi0;
  block->gap_change = move->phi_theta - move->normal_displacement - move->phi0;
  block->velocity_change[0] = ratio * (move->velocity_theta[0] - t1);
  block->velocity_change[1] = ratio * (move->velocity_theta[1] - t2);
  block->velocity_change[2] = ratio * (move->velocity_theta[2] - sap_v3_dot(n0, u0));
  return SAP_STATUS_OK;
}
