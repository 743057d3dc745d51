// SPDX-License-Identifier: BSD-3-Clause
// Laws, forces, energy and matrices of the force elements.
//   spring    rates of p_B - p_A (3 rows), length l along u:  s = k (l - l0) u,  D = d u u',
//             K = k u u' + max(k (l - l0), 0)/l (1 - u u'): the exact stiffness of the force
//             between two points, without its negative part under compression
//   bushing   in F's axes, x = R_F' (p_G - p_F), phi = log(R_F' R_G); rows: relative angular
//             velocity, relative velocity of the material points at p_G (6 rows):
//             s = [Jl^-T K_r phi; K_t x],  the gradient of 1/2 phi K_r phi + 1/2 x K_t x,
//             K = [Jl^-T K_r Jl^-1, K_t],  Jl^-1 = 1 - phi~/2 + c phi~^2 of the exponential map
//   tendon    its rate (1 row):  s = k (l - nearest of [spring_lower, spring_upper]),  K = k
//   actuator  gear times its transmission's rate (1 row):  s = -f(l, dl/dt) - D dl/dt,
//             K = max(-df/dl, 0),  D = max(-df/d(dl/dt), 0)
// K leaves out the turning of lever arms under load and the second order of phi, which may be
// indefinite; the forces are exact.
#include "multibody/dynamics/forces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "math/quaternion.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"

typedef struct element_law {
  double s[SAP_ROWS_MAX];
  double K[SAP_ROWS_MAX * SAP_ROWS_MAX], D[SAP_ROWS_MAX * SAP_ROWS_MAX];  // column-major
  double energy;
} element_law;

static void spring_law(sap_dynamics* d, const sap_kinematics* kin, const sap_spring_def* spring,
                       element_law* out) {
  static const double axes[3][3] = {{1.0, 0.0, 0.0}, {0.0, 1.0, 0.0}, {0.0, 0.0, 1.0}};
  const int32_t bodies[2] = {spring->body_a, spring->body_b};
  double p[2][3], u[3];
  sap_kinematics_point(kin, spring->body_a, spring->point_A, p[0]);
  sap_kinematics_point(kin, spring->body_b, spring->point_B, p[1]);
  sap_v3_sub(u, p[1], p[0]);
  const double length = sap_v3_norm(u);
  sap_v3_scale(u, u, length > 0.0 ? 1.0 / length : 0.0);
  const double k = spring->stiffness;
  const double tension = k * (length - spring->rest_length);
  // Points that coincide: the limit for a spring without rest length, else 0.
  const double across = length > 0.0                ? fmax(tension, 0.0) / length
                        : spring->rest_length > 0.0 ? 0.0
                                                    : k;
  sap_rows_begin(&d->rows, 3);
  for (int32_t i = 0; i < 3; ++i) {
    sap_kinematics_add_relative_row(kin, bodies, p, axes[i], &d->rows, i);
    out->s[i] = tension * u[i];
    for (int32_t j = 0; j < 3; ++j) {
      out->K[3 * j + i] = (k - across) * u[i] * u[j] + (i == j ? across : 0.0);
      out->D[3 * j + i] = spring->damping * u[i] * u[j];
    }
  }
  out->energy = 0.5 * tension * (length - spring->rest_length);
}

void sap_inverse_left_jacobian(const double phi[3], double J[9]) {
  const double angle = sap_v3_norm(phi);
  const double half = 0.5 * angle;
  // Next term of the series: angle^4/30240.
  const double c =
      angle > 1e-4 ? (1.0 - half * cos(half) / sin(half)) / (angle * angle) : 1.0 / 12.0;
  const double skew[9] = {0.0, phi[2], -phi[1], -phi[2], 0.0, phi[0], phi[1], -phi[0], 0.0};
  double square[9];
  sap_m3_mul(square, skew, skew);
  for (int i = 0; i < 9; ++i) {
    J[i] = (i % 4 == 0 ? 1.0 : 0.0) - 0.5 * skew[i] + c * square[i];
  }
}

// The rotational half of a bushing's law, and its energy.
static double rotation_law(const double k[3], const double phi[3], element_law* out) {
  double J[9], moment[3], energy = 0.0;
  sap_inverse_left_jacobian(phi, J);
  for (int i = 0; i < 3; ++i) {
    moment[i] = k[i] * phi[i];
    energy += 0.5 * moment[i] * phi[i];
  }
  sap_m3_tmul_v3(out->s, J, moment);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      for (int r = 0; r < 3; ++r) {
        out->K[6 * j + i] += J[3 * i + r] * k[r] * J[3 * j + r];
      }
    }
  }
  return energy;
}

static void bushing_law(sap_dynamics* d, const sap_kinematics* kin, const sap_bushing_def* bushing,
                        element_law* out) {
  const int32_t bodies[2] = {bushing->body_a, bushing->body_b};
  double p[2][3], q[2][4], R_WF[9], phi[3], gap[3], x[3];
  sap_kinematics_point(kin, bushing->body_a, bushing->p_AF, p[0]);
  sap_kinematics_point(kin, bushing->body_b, bushing->p_BG, p[1]);
  sap_quaternion_multiply(q[0], kin->q_WB + 4 * (size_t)bushing->body_a, bushing->q_AF);
  sap_quaternion_multiply(q[1], kin->q_WB + 4 * (size_t)bushing->body_b, bushing->q_BG);
  sap_quaternion_to_matrix(R_WF, q[0]);
  sap_v3_sub(gap, p[1], p[0]);
  sap_m3_tmul_v3(x, R_WF, gap);
  sap_quaternion_difference(phi, q[0], q[1]);
  memset(out->K, 0, sizeof out->K);
  memset(out->D, 0, sizeof out->D);
  out->energy = rotation_law(bushing->stiffness, phi, out);
  sap_v3_copy(p[0], p[1]);  // both material points at p_G
  sap_rows_begin(&d->rows, 6);
  for (int32_t i = 0; i < 3; ++i) {
    const double* u = R_WF + 3 * i;
    sap_kinematics_add_relative_row(kin, bodies, NULL, u, &d->rows, i);
    sap_kinematics_add_relative_row(kin, bodies, p, u, &d->rows, 3 + i);
    const double k = bushing->stiffness[3 + i];
    out->s[3 + i] = k * x[i];
    out->K[7 * (3 + i)] = k;
    out->D[7 * i] = bushing->damping[i];
    out->D[7 * (3 + i)] = bushing->damping[3 + i];
    out->energy += 0.5 * k * x[i] * x[i];
  }
}

static void tendon_law(sap_dynamics* d, const sap_kinematics* kin, int32_t id, element_law* out) {
  const sap_model_tendon* tendon = &d->model->tendons[id];
  sap_rows_begin(&d->rows, 1);
  const double length = sap_tendon_add_row(kin, id, 1.0, &d->rows, 0);
  const double relaxed = fmin(fmax(length, tendon->spring_lower), tendon->spring_upper);
  const bool active = length != relaxed || tendon->spring_lower == tendon->spring_upper;
  out->s[0] = tendon->stiffness * (length - relaxed);
  out->K[0] = active ? tendon->stiffness : 0.0;
  out->D[0] = tendon->damping;
  out->energy = 0.5 * out->s[0] * (length - relaxed);
}

double sap_dynamics_tendon_force(sap_dynamics* d, const sap_dynamics_state* at, int32_t id,
                                 double* rate) {
  element_law l;
  tendon_law(d, at->kin, id, &l);
  *rate = sap_rows_times(&d->rows, 0, at->v);
  return -l.s[0] - l.D[0] * *rate;
}

static void actuator_law(sap_dynamics* d, const sap_dynamics_state* at, int32_t id,
                         element_law* out) {
  const double gear = d->model->actuators[id].gear;
  sap_rows_begin(&d->rows, 1);
  const double length = gear * sap_transmission_add_row(at->kin, id, gear, &d->rows, 0);
  const double rate = at->v != NULL ? sap_rows_times(&d->rows, 0, at->v) : 0.0;
  const sap_actuator_force f = sap_dynamics_actuator_force(d->model, id, at->input, length, rate);
  out->K[0] = fmax(f.stiffness, 0.0);
  out->D[0] = fmax(f.damping, 0.0);
  out->s[0] = -f.force - out->D[0] * rate;
  out->energy = 0.0;
}

// Evaluates law and rows (in d->rows) of an element; false: it has no force.
static bool evaluate_element(sap_dynamics* d, const sap_dynamics_state* at, int32_t index,
                             element_law* out) {
  const int32_t id = d->elastic[index].id;
  switch ((sap_element_force_kind)d->elastic[index].kind) {
    case SAP_FORCE_SPRING:
      spring_law(d, at->kin, &d->model->springs[id], out);
      return d->spring_active[id];
    case SAP_FORCE_BUSHING:
      bushing_law(d, at->kin, &d->model->bushings[id], out);
      return d->bushing_active[id];
    case SAP_FORCE_TENDON:
      tendon_law(d, at->kin, id, out);
      return true;
    case SAP_FORCE_ACTUATOR:
      actuator_law(d, at, id, out);
      return d->actuator_active[id] && !sap_dynamics_actuator_is_servo(d->model, id, at->input);
    case SAP_FORCE_KINDS:
      break;
  }
  return false;
}

// True if the element may have a force.
static bool is_elastic(const sap_model* model, int kind, int32_t id) {
  if (kind == SAP_FORCE_ACTUATOR) {
    return sap_dynamics_actuator_is_elastic(model, id) && sap_model_effort_bound(model, id) < 0;
  }
  return kind != SAP_FORCE_TENDON || model->tendons[id].stiffness > 0.0 ||
         model->tendons[id].damping > 0.0;
}

// Index of the coupling of trees a < b.
static int32_t find_coupling(const sap_dynamics* d, int32_t a, int32_t b) {
  const int32_t key[2] = {a, b};
  const int32_t(*found)[2] =
      bsearch(key, d->couplings, (size_t)d->ncouplings, sizeof *d->couplings, sap_compare_id_pairs);
  return (int32_t)(found - (const int32_t(*)[2])d->couplings);
}

// Appends the pairs of an element's trees to the couplings.
static sap_status list_pairs(sap_dynamics* d, const sap_kinematics* kin, int32_t index,
                             sap_error* error) {
  element_law l;
  const sap_dynamics_state at = {.kin = kin};
  (void)evaluate_element(d, &at, index, &l);
  const sap_rows* rows = &d->rows;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    for (int32_t j = 0; j < rows->ntrees; ++j) {
      if (rows->trees[i] < rows->trees[j]) {
        SAP_TRY(SAP_ROOM(&d->pool, &d->couplings, (int64_t)d->ncouplings + 1, error));
        d->couplings[d->ncouplings][0] = rows->trees[i];
        d->couplings[d->ncouplings++][1] = rows->trees[j];
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_dynamics_create_elements(sap_dynamics* d, const sap_kinematics* kin,
                                        sap_error* error) {
  const sap_model_sizes* sizes = &d->model->sizes;
  SAP_TRY(SAP_POOL_ADD(&d->pool, &d->spring_active, sizes->springs, error));
  SAP_TRY(SAP_POOL_ADD(&d->pool, &d->bushing_active, sizes->bushings, error));
  SAP_TRY(SAP_POOL_ADD(&d->pool, &d->actuator_active, sizes->actuators, error));
  SAP_TRY(SAP_ROOM(&d->pool, &d->elastic, 1, error));
  SAP_TRY(SAP_ROOM(&d->pool, &d->couplings, 1, error));
  SAP_TRY(sap_rows_create(d->model, &d->pool, &d->rows, error));
  memset(d->spring_active, true, (size_t)sizes->springs * sizeof(bool));
  memset(d->actuator_active, true, (size_t)sizes->actuators * sizeof(bool));
  memset(d->bushing_active, true, (size_t)sizes->bushings * sizeof(bool));
  const int32_t counts[] = {[SAP_FORCE_SPRING] = sizes->springs,
                            [SAP_FORCE_BUSHING] = sizes->bushings,
                            [SAP_FORCE_TENDON] = sizes->tendons,
                            [SAP_FORCE_ACTUATOR] = sizes->actuators};
  for (int32_t kind = 0; kind < SAP_FORCE_KINDS; ++kind) {
    for (int32_t id = 0; id < counts[kind]; ++id) {
      if (is_elastic(d->model, kind, id)) {
        SAP_TRY(SAP_ROOM(&d->pool, &d->elastic, d->nelastic + 1, error));
        d->elastic[d->nelastic] = (sap_elastic){kind, id};
        SAP_TRY(list_pairs(d, kin, d->nelastic++, error));
      }
    }
  }
  d->ncouplings = sap_sort_id_pairs(d->couplings, d->ncouplings);
  return SAP_STATUS_OK;
}

void sap_dynamics_add_elements(sap_dynamics* d, const sap_dynamics_state* at, double sign,
                               double* k) {
  for (int32_t e = 0; e < d->nelastic; ++e) {
    element_law l;
    if (!evaluate_element(d, at, e, &l)) {
      continue;
    }
    const int32_t n = d->rows.nrows;
    double rate[SAP_ROWS_MAX];
    for (int32_t r = 0; r < n; ++r) {
      rate[r] = sap_rows_times(&d->rows, r, at->v);
    }
    for (int32_t r = 0; r < n; ++r) {
      double force = -l.s[r];
      for (int32_t c = 0; c < n; ++c) {
        force -= l.D[n * c + r] * rate[c];
      }
      sap_rows_add_scaled(&d->rows, r, sign * force, k);
    }
  }
}

double sap_dynamics_element_energy(sap_dynamics* d, const sap_kinematics* kin) {
  const sap_dynamics_state at = {.kin = kin};
  double energy = 0.0;
  for (int32_t e = 0; e < d->nelastic && d->elastic[e].kind <= SAP_FORCE_TENDON; ++e) {
    element_law l;
    energy += evaluate_element(d, &at, e, &l) ? l.energy : 0.0;
  }
  return energy;
}

// out (tree a's rows x tree b's columns, ld n_a) += Ja' S Jb; only the lower triangle for a == b.
static void add_tree_product(const sap_rows* rows, const double* S, int32_t a, int32_t b,
                             double* out) {
  const sap_model* model = rows->model;
  const int32_t n = rows->nrows, na = model->tree_sizes[a], nb = model->tree_sizes[b];
  for (int32_t j = 0; j < nb; ++j) {
    double column[SAP_ROWS_MAX] = {0.0};  // S Jb e_j
    bool any = false;
    for (int32_t c = 0; c < n; ++c) {
      const double value = sap_rows_at(rows, c)[model->tree_dofs[b] + j];
      any = any || value != 0.0;
      for (int32_t r = 0; r < n; ++r) {
        column[r] += S[n * c + r] * value;
      }
    }
    for (int32_t r = 0; any && r < n; ++r) {
      const double* Ja = sap_rows_at(rows, r) + model->tree_dofs[a];
      for (int32_t i = a == b ? j : 0; i < na; ++i) {
        out[(size_t)j * (size_t)na + (size_t)i] += Ja[i] * column[r];
      }
    }
  }
}

// out += J' S J of d->rows, S symmetric (column-major): lower triangles, and couplings.
static void add_product(const sap_dynamics* d, const double* S, const sap_tree_matrix* out) {
  const sap_rows* rows = &d->rows;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    for (int32_t j = 0; j < rows->ntrees; ++j) {
      const int32_t a = rows->trees[i], b = rows->trees[j];
      if (a == b) {
        add_tree_product(rows, S, a, a, out->diagonal[a]);
      } else if (a < b) {
        add_tree_product(rows, S, a, b, out->coupling[find_coupling(d, a, b)]);
      }
    }
  }
}

void sap_dynamics_add_element_matrices(sap_dynamics* d, const sap_dynamics_state* at,
                                       double K_scale, double D_scale, const sap_tree_matrix* A) {
  for (int32_t e = 0; e < d->nelastic; ++e) {
    element_law l;
    if (evaluate_element(d, at, e, &l)) {
      for (int i = 0; i < d->rows.nrows * d->rows.nrows; ++i) {
        l.K[i] = K_scale * l.K[i] + D_scale * l.D[i];
      }
      add_product(d, l.K, A);
    }
  }
}
