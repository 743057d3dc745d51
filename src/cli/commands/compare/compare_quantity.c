// SPDX-License-Identifier: BSD-3-Clause
// Quantities of a run by name and their values after a step; classes of problems.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/commands/run/run_loop.h"
#include "cli/options.h"

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

static double square(const double* x, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += x[i] * x[i];
  }
  return sum;
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
  double norm_2 = square(gradient, w->nrows);
  const double end = NEGLIGIBLE * NEGLIGIBLE * norm_2;
  for (int32_t k = 0; k < 2 * w->nv && norm_2 > end; ++k) {
    multiply(w, true, image, direction);
    const double alpha = norm_2 / square(image, w->nv);
    for (int32_t i = 0; i < w->nrows; ++i) {
      least[i] += alpha * direction[i];
    }
    for (int32_t i = 0; i < w->nv; ++i) {
      residual[i] -= alpha * image[i];
    }
    multiply(w, false, residual, gradient);
    const double before = norm_2;
    norm_2 = square(gradient, w->nrows);
    for (int32_t i = 0; i < w->nrows; ++i) {
      direction[i] = gradient[i] + norm_2 / before * direction[i];
    }
  }
  for (int32_t i = 0; i < w->nrows; ++i) {
    least[i] = gamma[i] - least[i];
  }
  return sqrt(square(least, w->nrows));
}

// Least impulses with the same J' gamma: gamma less those, its norm [N s].
static sap_status compare_internal_impulse(const sap_problem* problem, const double* gamma,
                                           double* out, sap_error* error) {
  least_squares w = {.problem = problem,
                     .nv = sap_problem_velocity_count(problem),
                     .nrows = sap_problem_row_count(problem)};
  const int32_t ntrees = sap_problem_tree_count(problem);
  w.start = calloc((size_t)ntrees + 1, sizeof *w.start);
  double* memory = calloc(2 * (size_t)w.nv + 3 * (size_t)w.nrows + 1, sizeof *memory);
  sap_status status = SAP_STATUS_OK;
  if (w.start == NULL || memory == NULL) {
    status = cli_no_memory(error);
  } else {
    for (int32_t t = 0; t < ntrees; ++t) {
      w.start[t + 1] = w.start[t] + sap_problem_tree_size(problem, t);
    }
    *out = internal_part(&w, gamma, memory);
  }
  free(w.start);
  free(memory);
  return status;
}

// --- quantities ---

typedef enum quantity_kind {
  KIND_ENERGY,
  KIND_KINETIC,
  KIND_PENETRATION,
  KIND_SLIP,
  KIND_NORMAL_FORCE,
  KIND_INTERNAL_FORCE,
  KIND_CONTACTS,
  KIND_ITERATIONS,
  KIND_TIME,
  KIND_DEVIATION,
  KIND_PLAIN,               // those above take no argument
  KIND_DRIFT = KIND_PLAIN,  // drift/JOINT
  KIND_FORCE,               // force/CONTACT/x
  KIND_COORDINATE,          // q/JOINT[part]
  KIND_VELOCITY,
  KIND_RESIDUAL,
} quantity_kind;

static const struct {
  const char *name, *unit;
} plain[KIND_PLAIN] = {
    [KIND_ENERGY] = {"energy", "J"},
    [KIND_KINETIC] = {"kinetic", "J"},
    [KIND_PENETRATION] = {"penetration", "m"},
    [KIND_SLIP] = {"slip", "m/s"},
    [KIND_NORMAL_FORCE] = {"normal_force", "N"},
    [KIND_INTERNAL_FORCE] = {"internal_force", "N"},
    [KIND_CONTACTS] = {"contacts", "-"},
    [KIND_ITERATIONS] = {"iterations", "-"},
    [KIND_TIME] = {"time_us", "µs"},
    [KIND_DEVIATION] = {"deviation", "m, rad"},
};

static void list_quantities(char* out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < KIND_PLAIN && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", plain[i].name);
  }
  for (int i = 0; i < COMPARE_RESIDUALS && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", compare_residuals[i].name);
  }
  if (used < size) {
    (void)snprintf(out + used, size - used, "drift/JOINT, force/CONTACT/x, q/JOINT, v/JOINT[part]");
  }
}

static int find_quantity(const char* name, int* index) {
  for (int i = 0; i < KIND_PLAIN; ++i) {
    if (strcmp(name, plain[i].name) == 0) {
      return i;
    }
  }
  for (*index = 0; *index < COMPARE_RESIDUALS; ++*index) {
    if (strcmp(name, compare_residuals[*index].name) == 0) {
      return KIND_RESIDUAL;
    }
  }
  return strncmp(name, "drift/", 6) == 0   ? KIND_DRIFT
         : strncmp(name, "force/", 6) == 0 ? KIND_FORCE
         : strncmp(name, "q/", 2) == 0     ? KIND_COORDINATE
         : strncmp(name, "v/", 2) == 0     ? KIND_VELOCITY
                                           : -1;
}

static int add_quantity(compare_options* o, const char* name, const char** wrong) {
  static char text[1024];
  int index;
  if (strlen(name) >= STUDY_NAME_SIZE || find_quantity(name, &index) < 0) {
    const size_t used = (size_t)snprintf(text, sizeof text, ": unknown quantity; available: ");
    list_quantities(text + used, sizeof text - used);
    *wrong = text;
    return -1;
  }
  if (o->quantity_count == COMPARE_QUANTITIES_MAX) {
    *wrong = "16 quantities at most";
    return -1;
  }
  o->quantities[o->quantity_count] = (compare_quantity){.over = -1};
  strcpy(o->quantities[o->quantity_count].name, name);
  return o->quantity_count++;
}

bool compare_quantity_add(compare_options* o, char* text, const char** wrong) {
  static const char* const statistics[] = {"", "max", "mean", "end", "integral", NULL};
  char* at = strchr(text, '@');
  char* colon = strchr(text, ':');
  int statistic = 0;
  if (at != NULL) {
    *at++ = '\0';
  }
  if (colon != NULL) {
    *colon++ = '\0';
    statistic = cli_read_choice(colon, statistics);
    if (statistic < 1 || at != NULL) {
      *wrong = "QUANTITY:max, mean, end or integral, or Y@X";
      return false;
    }
  }
  const int y = add_quantity(o, text, wrong);
  if (y < 0) {
    return false;
  }
  o->quantities[y].drawn = true;
  o->quantities[y].statistic = (compare_statistic)statistic;
  if (at != NULL) {
    const int x = add_quantity(o, at, wrong);
    o->quantities[y].over = x;
    return x >= 0;
  }
  return true;
}

void compare_quantity_label(const compare_quantity* q, char out[COMPARE_LABEL_SIZE]) {
  static const char* const words[] = {"", ", largest", ", mean", ", at the end", ", integral"};
  int index;
  const int kind = find_quantity(q->name, &index);
  const char* unit = kind < KIND_PLAIN    ? plain[kind].unit
                     : kind == KIND_FORCE ? "N"
                     : kind == KIND_DRIFT ? "m"
                                          : "";
  (void)snprintf(out, COMPARE_LABEL_SIZE, "%.48s%s%s%s%s", q->name, words[q->statistic],
                 unit[0] != '\0' ? " [" : "", unit,
                 unit[0] == '\0'                    ? ""
                 : q->statistic == COMPARE_INTEGRAL ? " s]"
                                                    : "]");
}

static sap_status refuse(const char* name, const char* why, sap_error* error) {
  return sap_fail(error, SAP_STATUS_ARGUMENT, "--plot '%.100s': %s", name, why);
}

sap_status compare_probe_find(const compare_quantity* q, const sap_model* model, compare_probe* out,
                              sap_error* error) {
  *out = (compare_probe){.kind = find_quantity(q->name, &out->index)};
  study_coordinate coordinate;
  char name[STUDY_NAME_SIZE];
  switch (out->kind) {
    case KIND_RESIDUAL:
      (void)find_quantity(q->name, &out->index);
      return SAP_STATUS_OK;
    case KIND_DRIFT: {
      sap_joint_type type;
      int32_t at, v;
      const int32_t joint = sap_model_find(model, SAP_ELEMENT_JOINT, q->name + 6);
      if (joint < 0 ||
          sap_model_joint_address(model, joint, &type, NULL, &at, &v, NULL) != SAP_STATUS_OK ||
          type != SAP_JOINT_FREE) {
        return refuse(q->name, "the scene has no free joint of that name", error);
      }
      out->index = at;
      out->component = v;
      return SAP_STATUS_OK;
    }
    case KIND_FORCE: {
      (void)snprintf(name, sizeof name, "%s", q->name + 6);
      char* axis = strrchr(name, '/');
      if (axis == NULL || axis[1] < 'x' || axis[1] > 'z' || axis[2] != '\0') {
        return refuse(q->name, "it must be force/CONTACT/x, y or z", error);
      }
      *axis = '\0';
      out->component = axis[1] - 'x';
      return cli_read_integer(name, &out->index) && out->index >= 0
                 ? SAP_STATUS_OK
                 : refuse(q->name, "CONTACT must be an integer >= 0", error);
    }
    case KIND_COORDINATE:
    case KIND_VELOCITY:
      if (!study_find_coordinate(model, q->name, &coordinate)) {
        return refuse(q->name, "the scene has no such coordinate", error);
      }
      out->index = coordinate.index;
      return SAP_STATUS_OK;
    default:
      return SAP_STATUS_OK;
  }
}

// Returns the distance to the left of the line along the initial velocity, seen from above [m]; 0
// if that velocity is vertical.
static double drift(const compare_probe* p, const sap_state* start, const sap_state* now) {
  const double* direction = start->v + p->component;
  const double speed = hypot(direction[0], direction[1]);
  const double x = now->q[p->index] - start->q[p->index];
  const double y = now->q[p->index + 1] - start->q[p->index + 1];
  return speed > 0.0 ? (direction[0] * y - direction[1] * x) / speed : 0.0;
}

static double contact_value(const compare_probe* p, const compare_run* run) {
  const sap_contact* contacts = sap_multibody_contacts(run->multibody);
  const int32_t count = sap_multibody_contact_count(run->multibody);
  double value = 0.0;
  if (p->kind == KIND_FORCE) {
    if (p->index >= count) {
      return 0.0;
    }
    const sap_contact* c = &contacts[p->index];
    for (int k = 0; k < 3; ++k) {
      value += c->R_WC[3 * k + p->component] * c->gamma[k] / run->dt;
    }
    return value;
  }
  for (int32_t i = 0; i < count; ++i) {
    const sap_contact* c = &contacts[i];
    if (p->kind == KIND_NORMAL_FORCE) {
      value += c->gamma[2] / run->dt;
    } else if (c->gamma[2] > 0.0) {  // slip
      value = fmax(value, hypot(c->vc[0], c->vc[1]));
    }
  }
  return value;
}

sap_status compare_probe_value(const compare_probe* p, compare_run* run,
                               const compare_sample* sample, double* out, sap_error* error) {
  const sap_step_report* report = sample->report;
  sap_diagnostics d;
  sap_status status = SAP_STATUS_OK;
  switch (p->kind) {
    case KIND_ENERGY:
    case KIND_KINETIC:
      status = sap_multibody_diagnose(run->multibody, &run->state, &d, error);
      *out = p->kind == KIND_KINETIC ? d.kinetic
                                     : d.kinetic + d.potential_gravity + d.potential_springs;
      return status;
    case KIND_PENETRATION:
      *out = run_penetration(sap_multibody_contacts(run->multibody),
                             sap_multibody_contact_count(run->multibody));
      return status;
    case KIND_INTERNAL_FORCE:
      *out = 0.0;
      if (report->blocks > 0) {
        status = compare_internal_impulse(report->problem, report->solution->gamma, out, error);
        *out /= run->dt;
      }
      return status;
    case KIND_CONTACTS:
      *out = sap_multibody_contact_count(run->multibody);
      return status;
    case KIND_ITERATIONS:
      *out = run_newton_iterations(report);
      return status;
    case KIND_TIME:
      *out = report->solver != NULL ? 1e6 * report->solver->time : 0.0;
      return status;
    case KIND_DEVIATION:
      *out = sample->deviation;
      return status;
    case KIND_DRIFT:
      *out = drift(p, sample->start, &run->state);
      return status;
    case KIND_COORDINATE:
      *out = run->state.q[p->index];
      return status;
    case KIND_VELOCITY:
      *out = run->state.v[p->index];
      return status;
    case KIND_RESIDUAL:
      *out = sample->residual != NULL ? compare_residual_value(sample->residual, p->index) : 0.0;
      return status;
    default:
      *out = contact_value(p, run);
      return status;
  }
}

// Classes of problems by the densities of their constraints.                 tsounis Sec. VII-C
//   d_j = m_j/6 n_b,  d_c = 3 n_c/6 n_b,  d_jc = n_g/6 n_b
// counted as in maximal coordinates, where every joint is a constraint: m_j = 6 n_b - n_v for those
// that the coordinates have built in, and the bilateral rows; r_J the same with the rank of those
// rows. n_g: all rows. Where a problem falls under more than one class: single contact, then dense
// constraints, dense contacts, sparse contacts.
// cost: rank by Gram-Schmidt with pivots, O(rows^2 nv).

const char* const compare_class_names[COMPARE_CLASSES] = {
    "free",           "independent_joints", "redundant_joints", "dense_joints",
    "single_contact", "sparse_contacts",    "dense_contacts",   "dense_constraints"};

// Fills the dense rows of the bilateral blocks; returns their number.
static int32_t bilateral_rows(const sap_problem* problem, const int32_t* start, double* rows) {
  const int32_t nv = sap_problem_velocity_count(problem);
  int32_t count = 0;
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    int32_t first;
    (void)sap_problem_block(problem, b, &block, &first, NULL);
    for (int32_t r = 0; block.set == SAP_SET_FREE && r < block.nrows; ++r, ++count) {
      double* row = rows != NULL ? rows + (size_t)count * (size_t)nv : NULL;
      for (int32_t t = 0; row != NULL && t < block.ntrees; ++t) {
        const int32_t size = sap_problem_tree_size(problem, block.trees[t]);
        for (int32_t i = 0; i < size; ++i) {
          row[start[block.trees[t]] + i] = block.jacobians[t][i * block.nrows + r];
        }
      }
    }
  }
  return count;
}

static double dot(const double* a, const double* b, int32_t n) {
  double sum = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    sum += a[i] * b[i];
  }
  return sum;
}

// Returns the rank of the rows, which are overwritten: the longest remaining row is taken out of
// the others, until it is 1e-9 of the first.
static int32_t find_rank(double* rows, int32_t count, int32_t n) {
  static const double NEGLIGIBLE = 1e-9;
  double first = 0.0;
  int32_t rank = 0;
  for (; rank < count; ++rank) {
    int32_t pivot = rank;
    double longest = 0.0;
    for (int32_t i = rank; i < count; ++i) {
      const double length =
          sqrt(dot(rows + (size_t)i * (size_t)n, rows + (size_t)i * (size_t)n, n));
      pivot = length > longest ? i : pivot;
      longest = fmax(longest, length);
    }
    first = rank == 0 ? longest : first;
    if (!(longest > NEGLIGIBLE * first)) {
      break;
    }
    double* p = rows + (size_t)rank * (size_t)n;
    for (int32_t k = 0; k < n; ++k) {
      const double moved = rows[(size_t)pivot * (size_t)n + (size_t)k];
      rows[(size_t)pivot * (size_t)n + (size_t)k] = p[k];
      p[k] = moved / longest;
    }
    for (int32_t i = rank + 1; i < count; ++i) {
      double* row = rows + (size_t)i * (size_t)n;
      const double along = dot(row, p, n);
      for (int32_t k = 0; k < n; ++k) {
        row[k] -= along * p[k];
      }
    }
  }
  return rank;
}

static bool is_contact(sap_set set) {
  return set == SAP_SET_FRICTION_CONE || set == SAP_SET_SIMILAR || set == SAP_SET_LAGGED;
}

sap_status compare_classify(const sap_problem* problem, const sap_model* model, compare_class* out,
                            sap_error* error) {
  const int32_t nv = sap_problem_velocity_count(problem),
                nb = sap_model_get_sizes(model).bodies - 1;
  const int32_t ntrees = sap_problem_tree_count(problem);
  const int32_t built_in = 6 * nb - nv > 0 ? 6 * nb - nv : 0;
  const int32_t count = bilateral_rows(problem, NULL, NULL);
  int32_t* start = calloc((size_t)ntrees + 1, sizeof *start);
  double* rows = calloc((size_t)count * (size_t)nv + 1, sizeof *rows);
  if (start == NULL || rows == NULL) {
    free(start);
    free(rows);
    return cli_no_memory(error);
  }
  for (int32_t t = 0; t < ntrees; ++t) {
    start[t + 1] = start[t] + sap_problem_tree_size(problem, t);
  }
  (void)bilateral_rows(problem, start, rows);
  const int32_t m_j = built_in + count, r_J = built_in + find_rank(rows, count, nv);
  free(start);
  free(rows);
  int32_t n_c = 0;
  for (int32_t b = 0; b < sap_problem_block_count(problem); ++b) {
    sap_block block;
    (void)sap_problem_block(problem, b, &block, NULL, NULL);
    n_c += is_contact(block.set) ? 1 : 0;
  }
  const double dofs = 6.0 * (nb > 0 ? nb : 1), d_j = m_j / dofs, d_c = 3.0 * n_c / dofs;
  const double d_jc = (built_in + sap_problem_row_count(problem)) / dofs;
  if (n_c == 0) {
    *out = m_j == 0    ? COMPARE_FREE
           : r_J < m_j ? (d_j >= 1.0 ? COMPARE_DENSE_JOINTS : COMPARE_REDUNDANT_JOINTS)
                       : COMPARE_INDEPENDENT_JOINTS;
  } else if (n_c == 1) {
    *out = COMPARE_SINGLE_CONTACT;
  } else if (m_j > 0 && d_jc >= 1.0) {
    *out = COMPARE_DENSE_CONSTRAINTS;
  } else {
    *out = n_c > 2 * nb && d_c >= 1.0 ? COMPARE_DENSE_CONTACTS : COMPARE_SPARSE_CONTACTS;
  }
  return SAP_STATUS_OK;
}
