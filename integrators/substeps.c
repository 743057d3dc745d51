// SPDX-License-Identifier: BSD-3-Clause
// Stage 1 where m(v*) = 0 has no root near v0: links that turn by more than about a radian in a
// step make m oscillate in v, and no iteration can lower |D m| below its valleys. The same equation
// of a shorter step has a root near v0 (implicit function theorem at dt = 0), so that the motion of
// the step is computed in parts:
//   v_i+1 from (q_i, v_i) by m = 0 of the part,  q_i+1 = q_i (+) h v^theta_vq,  v* = v_n
// A part that fails is cut into halves, down to dt/FINEST; what fails there too is linearised,
//   v_i+1 = v_i - A^-1 m(v_i)
// which always exists. Gyroscopic forces do no work, but taken explicitly at radians per part they
// would add energy without bound: v_i+1 is shortened so that |D^-1 v| of no group rises far above
// that at the start of the step and what the other forces, those at rest, add in the whole step.
// A of stage 2 is that of the whole step at v*; positions start from q_n (stepper.c).
// cost: up to FINEST parts and log2(FINEST) failures, each of a bounded number of evaluations.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "integrators/free_motion.h"
#include "integrators/newton.h"

enum {
  FINEST = 64,     // parts of a step, at most
  FIRST_PARTS = 4  // attempted at first
};

// |D^-1 v| of equal energies differ by no more than about this, for D leaves couplings out.
#define SLACK 2.0

static sap_status allocate_parts(sap_free_motion* fm, sap_error* error) {
  if (fm->part_speeds != NULL) {
    return SAP_STATUS_OK;
  }
  return SAP_POOL_ADD_ALL(fm->pool, error,
                          SAP_ARRAY(&fm->part_positions, 2 * (int64_t)fm->system->nq),
                          SAP_ARRAY(&fm->part_velocities, fm->system->nv),
                          SAP_ARRAY(&fm->part_speeds, fm->factor.ngroups));
}

// Positions alternate between two arrays.
double* sap_free_motion_end_of_parts(const sap_free_motion* fm) {
  return fm->part_positions + (fm->substeps % 2 == 0 ? 0 : fm->system->nq);
}

// Moves to the end of the part, whose velocity is v_star.
static sap_status advance_part(sap_free_motion* fm, sap_step_context* part, double* q,
                               sap_error* error) {
  const sap_system* system = fm->system;
  double* v_vq = fm->balance.v_vq;
  for (int32_t i = 0; i < system->nv; ++i) {
    v_vq[i] = part->theta_vq * fm->v_star[i] + (1.0 - part->theta_vq) * part->v0_free[i];
  }
  const int code = system->integrate_positions(system->context, part->q0, v_vq, part->dt, q);
  memcpy(fm->part_velocities, fm->v_star, (size_t)system->nv * sizeof(double));
  part->q0 = q;
  part->v0 = part->v0_free = fm->part_velocities;
  return sap_callback_check("integrate_positions", code, error);
}

// Finds the speeds that linear parts may reach.
static sap_status limit_speeds(sap_free_motion* fm, const sap_step_context* step,
                               sap_error* error) {
  sap_step_context rest = *step;
  rest.theta = rest.theta_vq = 1.0;
  SAP_TRY(sap_free_motion_start_at(fm, &rest, NULL, error));
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    fm->part_speeds[g] = SLACK * (sqrt(sap_free_motion_dot(fm, g, step->v0_free, step->v0_free)) +
                                  sap_free_motion_norm(fm, g, fm->load));
  }
  return SAP_STATUS_OK;
}

static void shorten_velocities(sap_free_motion* fm) {
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const double now = sqrt(sap_free_motion_dot(fm, g, fm->v_star, fm->v_star));
    const double share = fm->part_speeds[g] / now;
    if (now > fm->part_speeds[g]) {
      SAP_FOR_GROUP(fm, g, i, fm->v_star[i] *= share)
    }
  }
}

// Makes one part, linearised if it does not converge and cannot be cut.
static sap_status make_part(sap_free_motion* fm, const sap_step_context* part,
                            int32_t max_iterations, bool finest, sap_error* error) {
  const sap_status status = sap_free_motion_solve_part(fm, part, max_iterations, error);
  if (status != SAP_STATUS_STEP_FAILED || !finest) {
    return status;
  }
  fm->linearized += 1;
  SAP_TRY(sap_free_motion_start_at(fm, part, part->v0_free, error));
  SAP_TRY(sap_free_motion_solve_linear(fm, error));
  shorten_velocities(fm);
  return SAP_STATUS_OK;
}

sap_status sap_free_motion_in_parts(sap_free_motion* fm, const sap_step_context* step,
                                    int32_t max_iterations, sap_error* error) {
  SAP_TRY(allocate_parts(fm, error));
  SAP_TRY(limit_speeds(fm, step, error));
  sap_step_context part = *step;
  int32_t iterations = 0, length = FINEST / FIRST_PARTS;
  for (int32_t done = 0; done < FINEST;) {
    part.dt = step->dt * length / FINEST;
    part.t = step->t + step->dt * done / FINEST;
    sap_error attempt = {0};
    const sap_status status = make_part(fm, &part, max_iterations, length == 1, &attempt);
    iterations += fm->iterations;
    if (status == SAP_STATUS_STEP_FAILED && length > 1) {
      length /= 2;
      continue;
    }
    if (status != SAP_STATUS_OK && error != NULL) {
      *error = attempt;
    }
    SAP_TRY(status);
    fm->substeps += 1;
    SAP_TRY(advance_part(fm, &part, sap_free_motion_end_of_parts(fm), error));
    done += length;
  }
  SAP_TRY(sap_free_motion_start_at(fm, step, fm->part_velocities, error));
  fm->iterations = iterations;
  return SAP_STATUS_OK;
}
