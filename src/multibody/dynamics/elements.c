// SPDX-License-Identifier: BSD-3-Clause
// Forces, energy and matrices of the force elements.
#include "multibody/dynamics/elements.h"

#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/element_law.h"

void sap_dynamics_add_elements(sap_dynamics* d, const sap_element_point* at, double sign,
                               double* k) {
  for (int32_t e = 0; e < d->nelastic; ++e) {
    sap_element_law l;
    if (!sap_element_evaluate(d, at, e, &l)) {
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

double sap_dynamics_element_energy(sap_dynamics* d, const double* q) {
  const sap_element_point point = {.q = q}, *at = &point;
  double energy = 0.0;
  for (int32_t e = 0; e < d->nelastic && d->elastic[e].kind <= SAP_FORCE_TENDON; ++e) {
    sap_element_law l;
    energy += sap_element_evaluate(d, at, e, &l) ? l.energy : 0.0;
  }
  return energy;
}

// out (tree a's rows x tree b's columns, ld n_a) += Ja' S Jb; only the lower triangle for a == b.
static void add_product(const sap_rows* rows, const double* S, int32_t a, int32_t b, double* out) {
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

void sap_dynamics_add_product(const sap_dynamics* d, const double* S, const sap_tree_matrix* out) {
  const sap_rows* rows = &d->rows;
  for (int32_t i = 0; i < rows->ntrees; ++i) {
    for (int32_t j = 0; j < rows->ntrees; ++j) {
      const int32_t a = rows->trees[i], b = rows->trees[j];
      if (a == b) {
        add_product(rows, S, a, a, out->diagonal[a]);
      } else if (a < b) {
        add_product(rows, S, a, b, out->coupling[sap_element_coupling(d, a, b)]);
      }
    }
  }
}

void sap_dynamics_element_matrices(sap_dynamics* d, const sap_element_point* at,
                                   const sap_tree_matrix* K, const sap_tree_matrix* D) {
  for (int32_t e = 0; e < d->nelastic; ++e) {
    sap_element_law l;
    if (sap_element_evaluate(d, at, e, &l)) {
      sap_dynamics_add_product(d, l.K, K);
      sap_dynamics_add_product(d, l.D, D);
    }
  }
}

void sap_dynamics_add_element_matrices(sap_dynamics* d, const sap_element_point* at, double K_scale,
                                       double D_scale, const sap_tree_matrix* A) {
  for (int32_t e = 0; e < d->nelastic; ++e) {
    sap_element_law l;
    if (sap_element_evaluate(d, at, e, &l)) {
      for (int i = 0; i < d->rows.nrows * d->rows.nrows; ++i) {
        l.K[i] = K_scale * l.K[i] + D_scale * l.D[i];
      }
      sap_dynamics_add_product(d, l.K, A);
    }
  }
}

bool sap_dynamics_has_elements(const sap_dynamics* d) {
  return d->nelastic > 0;
}

const int32_t (*sap_dynamics_couplings(const sap_dynamics* d, int32_t* count))[2] {
  *count = d->ncouplings;
  return (const int32_t(*)[2])d->couplings;
}

bool* sap_dynamics_element_switches(sap_dynamics* d, sap_element_force_kind kind) {
  return kind == SAP_FORCE_SPRING     ? d->spring_active
         : kind == SAP_FORCE_BUSHING  ? d->bushing_active
         : kind == SAP_FORCE_ACTUATOR ? d->actuator_active
                                      : NULL;
}
