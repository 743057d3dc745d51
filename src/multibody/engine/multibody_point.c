// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/engine/multibody_point.h"

#include <string.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "problem/problem_data.h"

// Normals that turn by more than acos of this within part of a step are not the same contact.
#define SAME_NORMAL 0.9

sap_status sap_evaluation_point_create(const sap_model* model, sap_evaluation_point* point,
                                       sap_error* error) {
  point->q = sap_allocate((size_t)model->sizes.nq, sizeof(double));
  point->moved = sap_allocate((size_t)model->sizes.nv, sizeof(double));
  return point->q != NULL && point->moved != NULL
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: point of evaluation");
}

void sap_evaluation_point_clear(sap_evaluation_point* point) {
  sap_free(point->q);
  sap_free(point->moved);
  sap_free(point->contacts);
  sap_free(point->within);
  sap_free(point->change);
  memset(point, 0, sizeof *point);
}

void sap_evaluation_point_set(sap_evaluation_point* point, const sap_model* model, const double* q0,
                              const double* v0, const sap_problem* problem) {
  const double* v_guess = sap_problem_v_guess(problem);
  const double theta_vq = problem->theta_vq;
  const double time = problem->theta * problem->dt;
  for (int32_t i = 0; i < model->sizes.nv; ++i) {
    point->moved[i] = time * (theta_vq * v_guess[i] + (1.0 - theta_vq) * v0[i]);
  }
  sap_dynamics_integrate(model, q0, point->moved, 1.0, point->q);
}

sap_status sap_evaluation_point_begin(sap_evaluation_point* point, const sap_contact* contacts,
                                      int32_t count, sap_error* error) {
  sap_status status = SAP_GROW(&point->contacts, &point->capacity, count, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&point->within, &point->within_capacity, count, error);
  }
  if (status == SAP_STATUS_OK) {
    status = SAP_GROW(&point->change, &point->change_capacity, 4 * count, error);
  }
  if (status == SAP_STATUS_OK) {
    point->count = count;
    if (count > 0) {
      memcpy(point->contacts, contacts, (size_t)count * sizeof *contacts);
    }
  }
  return status;
}

void sap_evaluation_point_restore(const sap_evaluation_point* point, sap_contact* contacts) {
  if (point->count > 0) {
    memcpy(contacts, point->contacts, (size_t)point->count * sizeof *contacts);
  }
}

bool sap_evaluation_point_choose(sap_evaluation_point* point, const sap_assembly* assembly,
                                 const sap_dynamics* dynamics, const double* v0,
                                 const sap_problem* problem) {
  bool any = false;
  for (int32_t i = 0; i < point->count; ++i) {
    sap_contact contact = point->contacts[i];
    bool* within = &point->within[i];
    *within = contact.phi <= 0.0;
    if (*within) {
      sap_assembly_contact_velocity(assembly, dynamics, v0, &contact);
      *within = contact.phi - problem->dt * contact.vc[2] <= 0.0;
    }
    if (*within) {
      sap_assembly_contact_velocity(assembly, dynamics, sap_problem_v_guess(problem), &contact);
      sap_m3_mul_v3(point->change + 4 * i, contact.R_WC, contact.vc);
    }
    any = any || *within;
  }
  return any;
}

static bool is_before(const sap_contact* a, const sap_contact* b) {
  return a->shape_A != b->shape_A   ? a->shape_A < b->shape_A
         : a->shape_B != b->shape_B ? a->shape_B < b->shape_B
                                    : a->feature < b->feature;
}

// Along a tangent t of the contact at q^theta, carried over to the normal at q0 by the smallest
// rotation, so that what the gap's own rate has along t is no slip:
//   t0 = t - (n0 . t)/(1 + n . n0) (n + n0)
static double along(const double t[3], const double n[3], const double n0[3], const double u[3]) {
  const double ratio = sap_v3_dot(n0, t) / (1.0 + sap_v3_dot(n, n0));
  return sap_v3_dot(t, u) - ratio * (sap_v3_dot(n, u) + sap_v3_dot(n0, u));
}

// Linearly, from the velocity at q0 that stands in change[0 .. 2] and that of the contact at
// q^theta to the end.
static void extrapolate(const sap_assembly* assembly, const sap_dynamics* dynamics,
                        const sap_problem* problem, const double n0[3], sap_contact* contact,
                        double change[3]) {
  const double ratio = (1.0 - problem->theta) / problem->theta;
  const double* R = contact->R_WC;
  sap_assembly_contact_velocity(assembly, dynamics, sap_problem_v_guess(problem), contact);
  const double t1 = along(R, R + 6, n0, change);
  const double t2 = along(R + 3, R + 6, n0, change);
  change[2] = ratio * (contact->vc[2] - sap_v3_dot(n0, change));
  change[0] = ratio * (contact->vc[0] - t1);
  change[1] = ratio * (contact->vc[1] - t2);
}

void sap_evaluation_point_replace(sap_evaluation_point* point, const sap_assembly* assembly,
                                  const sap_dynamics* dynamics, const sap_problem* problem,
                                  const sap_contact_list* found, sap_contact* contacts) {
  int32_t k = 0;
  for (int32_t i = 0; i < point->count; ++i) {
    const sap_contact* start = &point->contacts[i];
    while (k < found->count && is_before(&found->contacts[k], start)) {
      ++k;
    }
    const sap_contact* other = &found->contacts[k];
    point->within[i] = point->within[i] && k < found->count && !is_before(start, other) &&
                       sap_v3_dot(start->R_WC + 6, other->R_WC + 6) > SAME_NORMAL;
    if (point->within[i]) {
      contacts[i] = *other;
      sap_assembly_contact_velocity(assembly, dynamics, point->moved, &contacts[i]);
      point->change[4 * i + 3] = contacts[i].phi - contacts[i].vc[2] - start->phi;
      contacts[i].phi = start->phi;
      extrapolate(assembly, dynamics, problem, start->R_WC + 6, &contacts[i],
                  point->change + 4 * i);
      memset(contacts[i].vc, 0, sizeof contacts[i].vc);
    }
  }
}
