// SPDX-License-Identifier: BSD-3-Clause
// Quantities of a run by name, and their values after a step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/run/run_loop.h"
#include "cli/commands/sweep/study.h"
#include "cli/options.h"
#include "cli/residual_list.h"
#include "math/scalar.h"

// --- internal forces ---
//
// Internal forces: the part of the impulses that moves nothing.            lelidec Sec. II, IV-A
//   gamma - gamma_min,  gamma_min = argmin |l| with J' l = J' gamma
// by conjugate gradients for least squares from l = 0, which stay in the range of J and so end in
// the least one. cost: rank(J) products with J and J'.

typedef struct least_squares {
  const sap_problem* problem;
  int32_t nv, nrows;
  int32_t* start;  // of trees                                                       (ntrees + 1)
} least_squares;

// rows = J v, or v = J' rows.
static void multiply(const least_squares* w, bool transposed, double* v, double* rows) {
  memset(transposed ? v : rows, 0, (size_t)(transposed ? w->nv : w->nrows) * sizeof(double));
  for (int32_t b = 0; b < sap_problem_block_count(w->problem); ++b) {
    sap_block block;
    int32_t first;
    (void)sap_problem_block(w->problem, b, &block, &first, NULL);
    for (int32_t t = 0; t < block.ntrees; ++t) {
      const double* J = block.jacobians[t];
      double* part = v + w->start[block.trees[t]];
      for (int32_t i = 0; i < sap_problem_tree_size(w->problem, block.trees[t]); ++i) {
        for (int32_t r = 0; r < block.nrows; ++r) {
          const double entry = J[i * block.nrows + r];
          if (transposed) {
            part[i] += entry * rows[first + r];
          } else {
            rows[first + r] += entry * part[i];
          }
        }
      }
    }
  }
}

// memory: 2 nv + 3 nrows
static double internal_part(const least_squares* w, const double* gamma, double* memory) {
  static const double NEGLIGIBLE = 1e-14;  // of the first gradient's norm
  double *residual = memory, *image = residual + w->nv;
  double *least = image + w->nv, *gradient = least + w->nrows, *direction = gradient + w->nrows;
  memcpy(gradient, gamma, (size_t)w->nrows * sizeof(double));
  multiply(w, true, residual, gradient);
  multiply(w, false, residual, gradient);
  memcpy(direction, gradient, (size_t)w->nrows * sizeof(double));
  double norm_2 = sap_dot(w->nrows, gradient, gradient);
  const double end = NEGLIGIBLE * NEGLIGIBLE * norm_2;
  for (int32_t k = 0; k < 2 * w->nv && norm_2 > end; ++k) {
    multiply(w, true, image, direction);
    const double alpha = norm_2 / sap_dot(w->nv, image, image);
    for (int32_t i = 0; i < w->nrows; ++i) {
      least[i] += alpha * direction[i];
    }
    for (int32_t i = 0; i < w->nv; ++i) {
      residual[i] -= alpha * image[i];
    }
    multiply(w, false, residual, gradient);
    const double before = norm_2;
    norm_2 = sap_dot(w->nrows, gradient, gradient);
    for (int32_t i = 0; i < w->nrows; ++i) {
      direction[i] = gradient[i] + norm_2 / before * direction[i];
    }
  }
  for (int32_t i = 0; i < w->nrows; ++i) {
    least[i] = gamma[i] - least[i];
  }
  return sqrt(sap_dot(w->nrows, least, least));
}

// Least impulses with the same J' gamma: gamma less those, its norm [N s].
static double internal_impulse(const sap_problem* problem, const double* gamma) {
  least_squares w = {.problem = problem,
                     .nv = sap_problem_velocity_count(problem),
                     .nrows = sap_problem_row_count(problem)};
  const int32_t ntrees = sap_problem_tree_count(problem);
  w.start = cli_allocate((size_t)ntrees + 1, sizeof *w.start);
  double* memory = cli_allocate(2 * (size_t)w.nv + 3 * (size_t)w.nrows, sizeof *memory);
  for (int32_t t = 0; t < ntrees; ++t) {
    w.start[t + 1] = w.start[t] + sap_problem_tree_size(problem, t);
  }
  const double norm = internal_part(&w, gamma, memory);
  free(w.start);
  free(memory);
  return norm;
}

// --- contacts ---

// Returns the mean tangential speed over the contacts [m/s]; 0 without any.
static double mean_slip(const sap_contact* contacts, int32_t count) {
  double sum = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    sum += hypot(contacts[i].vc[0], contacts[i].vc[1]);
  }
  return count > 0 ? sum / count : 0.0;
}

// Returns the largest tangential speed of a contact that carries load [m/s].
static double largest_slip(const sap_contact* contacts, int32_t count) {
  double speed = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    if (contacts[i].gamma[2] > 0.0) {
      speed = fmax(speed, hypot(contacts[i].vc[0], contacts[i].vc[1]));
    }
  }
  return speed;
}

static double normal_force(const sap_contact* contacts, int32_t count, double dt) {
  double sum = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    sum += contacts[i].gamma[2] / dt;
  }
  return sum;
}

// Returns a component of the force of a contact in world axes [N]; 0 if there are fewer.
static double contact_force(const study_probe* p, const sap_contact* contacts, int32_t count,
                            double dt) {
  double value = 0.0;
  for (int k = 0; p->index < count && k < 3; ++k) {
    value += contacts[p->index].R_WC[3 * k + p->component] * contacts[p->index].gamma[k] / dt;
  }
  return value;
}

// Returns the distance to the left of the line along the initial velocity, seen from above [m]; 0
// if that velocity is vertical.
static double drift(const study_probe* p, const sap_state* start, const sap_state* now) {
  const double* direction = start->v + p->component;
  const double speed = hypot(direction[0], direction[1]);
  const double x = now->q[p->index] - start->q[p->index];
  const double y = now->q[p->index + 1] - start->q[p->index + 1];
  return speed > 0.0 ? (direction[0] * y - direction[1] * x) / speed : 0.0;
}

// --- names ---

// The one list of quantities without arguments: X(name, "unit", value). `costly` is the value of
// those that may fail, `d` is diagnosed for those marked DIAGNOSED.
#define DIAGNOSED(X)                                                       \
  X(energy, "J", d->kinetic + d->potential_gravity + d->potential_springs) \
  X(kinetic, "J", d->kinetic)                                              \
  X(potential, "J", d->potential_gravity + d->potential_springs)           \
  X(center_x, "m", d->p_WCm[0])                                            \
  X(center_y, "m", d->p_WCm[1])                                            \
  X(center_z, "m", d->p_WCm[2])                                            \
  X(mass, "kg", d->mass)
#define COSTLY(X)                \
  X(internal_force, "N", costly) \
  X(hessian_condition, "", costly)
#define SIMPLE(X)                                                            \
  X(time, "s", run->on.state.t)                                              \
  X(steps, "", (double)run->steps)                                           \
  X(penetration, "m", run_penetration(contacts, count))                      \
  X(slip, "m/s", largest_slip(contacts, count))                              \
  X(slip_mean, "m/s", mean_slip(contacts, count))                            \
  X(normal_force, "N", normal_force(contacts, count, run->on.options.dt))    \
  X(contacts, "", count)                                                     \
  X(iterations, "", run_newton_iterations(r))                                \
  X(unconverged, "", run_unconverged(r) ? 1.0 : 0.0)                         \
  X(momentum_error, "", r->solver != NULL ? r->solver->momentum_error : 0.0) \
  X(time_us, "µs", r->solver != NULL ? 1e6 * r->solver->time : 0.0)          \
  X(deviation, "m, rad", moment->deviation)
#define PLAIN(X) DIAGNOSED(X) COSTLY(X) SIMPLE(X)

typedef enum quantity_kind {
#define SAP_X(name, unit, value) KIND_##name,
  PLAIN(SAP_X)
#undef SAP_X
      KIND_PLAIN,           // those above take no argument
  KIND_drift = KIND_PLAIN,  // drift/JOINT
  KIND_force,               // force/CONTACT/x
  KIND_coordinate,          // q/JOINT[part], v/JOINT[part]
  KIND_residual,
} quantity_kind;

static const struct {
  const char *name, *unit;
} plain[] = {
#define SAP_X(name, unit, value) {#name, unit},
    PLAIN(SAP_X)
#undef SAP_X
};

static int find_kind(const char* name) {
  for (int i = 0; i < KIND_PLAIN; ++i) {
    if (strcmp(name, plain[i].name) == 0) {
      return i;
    }
  }
  return cli_residual_find(name) >= 0                                 ? KIND_residual
         : strncmp(name, "drift/", 6) == 0                            ? KIND_drift
         : strncmp(name, "force/", 6) == 0                            ? KIND_force
         : strncmp(name, "q/", 2) == 0 || strncmp(name, "v/", 2) == 0 ? KIND_coordinate
                                                                      : -1;
}

bool study_quantity_known(const char* name) {
  return find_kind(name) >= 0;
}

const char* study_quantity_unit(const char* name) {
  const int kind = find_kind(name);
  return kind < 0             ? ""
         : kind < KIND_PLAIN  ? plain[kind].unit
         : kind == KIND_drift ? "m"
         : kind == KIND_force ? "N"
                              : "";
}

void study_list_quantities(char* out, size_t size) {
  size_t used = 0;
  for (int i = 0; i < KIND_PLAIN && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", plain[i].name);
  }
  if (used < size) {
    (void)snprintf(out + used, size - used,
                   "drift/JOINT, force/CONTACT/x, q/JOINT, v/JOINT[part], residuals of 'sapstep "
                   "compare' (ncp_map, ...)");
  }
}

static sap_status find_joint(const char* name, const sap_model* model, study_probe* out,
                             sap_error* error) {
  sap_joint_type type;
  const int32_t joint = sap_model_find(model, SAP_ELEMENT_JOINT, name);
  return joint < 0 ||
                 sap_model_joint_address(model, joint, &type, NULL, &out->index, &out->component,
                                         NULL) != SAP_STATUS_OK ||
                 type != SAP_JOINT_FREE
             ? sap_fail(error, SAP_STATUS_ARGUMENT, "the scene has no free joint '%.100s'", name)
             : SAP_STATUS_OK;
}

static sap_status find_contact(const char* name, study_probe* out, sap_error* error) {
  char text[STUDY_NAME_SIZE];
  (void)snprintf(text, sizeof text, "%s", name + 6);
  char* axis = strrchr(text, '/');
  if (axis != NULL && axis[1] >= 'x' && axis[1] <= 'z' && axis[2] == '\0') {
    *axis = '\0';
    out->component = axis[1] - 'x';
    if (cli_read_integer(text, &out->index) && out->index >= 0) {
      return SAP_STATUS_OK;
    }
  }
  return sap_fail(error, SAP_STATUS_ARGUMENT, "'%.100s' must be force/CONTACT/x, y or z", name);
}

sap_status study_probe_find(const char* name, const sap_model* model, study_probe* out,
                            sap_error* error) {
  *out = (study_probe){.kind = find_kind(name)};
  study_coordinate coordinate;
  switch (out->kind) {
    case KIND_residual:
      out->index = cli_residual_find(name);
      return SAP_STATUS_OK;
    case KIND_drift:
      return find_joint(name + 6, model, out, error);
    case KIND_force:
      return find_contact(name, out, error);
    case KIND_coordinate:
      SAP_FAIL_IF(!study_find_coordinate(model, name, &coordinate), error, SAP_STATUS_ARGUMENT,
                  "the scene has no coordinate '%.100s'", name);
      out->index = coordinate.index;
      out->component = coordinate.velocity ? 1 : 0;
      return SAP_STATUS_OK;
    default:
      return SAP_STATUS_OK;
  }
}

// --- values ---

static sap_status find_costly(int kind, const study_run* run, double* out, sap_error* error) {
  const sap_step_report* r = &run->report;
  if (kind == KIND_hessian_condition) {
    *out = (double)NAN;
    return r->problem == NULL
               ? SAP_STATUS_OK
               : sap_problem_condition(
                     r->problem,
                     r->solution != NULL ? r->solution->v : sap_problem_v_star(r->problem), out,
                     error);
  }
  *out =
      r->blocks > 0 ? internal_impulse(r->problem, r->solution->gamma) / run->on.options.dt : 0.0;
  return SAP_STATUS_OK;
}

// Prepares what the kind is computed from.
static sap_status prepare(int kind, study_run* run, study_moment* moment, double* costly,
                          sap_error* error) {
  const sap_step_report* r = &run->report;
  switch (kind) {
#define SAP_X(name, unit, value) case KIND_##name:
    DIAGNOSED(SAP_X)
    if (!moment->diagnosed) {
      SAP_TRY(
          sap_multibody_diagnose(run->on.multibody, &run->on.state, &moment->diagnostics, error));
      moment->diagnosed = true;
    }
    return SAP_STATUS_OK;
    COSTLY(SAP_X)
    return find_costly(kind, run, costly, error);
#undef SAP_X
    case KIND_residual:
      if (!moment->judged && r->blocks > 0) {
        SAP_TRY(sap_residuals(r->problem, r->solution->v, r->solution->gamma, &moment->residual,
                              error));
        moment->judged = true;
      }
      return SAP_STATUS_OK;
    default:
      return SAP_STATUS_OK;
  }
}

sap_status study_probe_value(const study_probe* probe, study_run* run, study_moment* moment,
                             double* out, sap_error* error) {
  double costly = 0.0;
  SAP_TRY(prepare(probe->kind, run, moment, &costly, error));
  const sap_contact* contacts = sap_multibody_contacts(run->on.multibody);
  const int32_t count = sap_multibody_contact_count(run->on.multibody);
  const sap_step_report* r = &run->report;
  const sap_diagnostics* d = &moment->diagnostics;
  switch (probe->kind) {
#define SAP_X(name, unit, value) \
  case KIND_##name:              \
    *out = (value);              \
    break;
    PLAIN(SAP_X)
#undef SAP_X
    case KIND_drift:
      *out = drift(probe, &run->start, &run->on.state);
      break;
    case KIND_force:
      *out = contact_force(probe, contacts, count, run->on.options.dt);
      break;
    case KIND_coordinate:
      *out = (probe->component == 1 ? run->on.state.v : run->on.state.q)[probe->index];
      break;
    default:
      *out = moment->judged ? cli_residual_value(&moment->residual, probe->index) : 0.0;
      break;
  }
  return SAP_STATUS_OK;
}
