// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/fluid.h"

#include "multibody/dynamics/dynamics_data.h"

// Rows of the motion along the part's axes at its place, in d->rows.
static void make_rows(sap_dynamics* d, const sap_fluid_part* part, double R_WF[9]) {
  static const double zero[3] = {0.0, 0.0, 0.0};
  double p[3];
  sap_dynamics_point(d, part->body, part->p_BF, p);
  sap_m3_mul(R_WF, d->now.R_WB + 9 * (size_t)part->body, part->R_BF);
  sap_rows_begin(&d->rows, 6);
  for (int32_t i = 0; i < 3; ++i) {
    sap_dynamics_add_wrench_row(d, part->body, p, zero, R_WF + 3 * i, &d->rows, i);
    sap_dynamics_add_wrench_row(d, part->body, p, R_WF + 3 * i, NULL, &d->rows, 3 + i);
  }
}

// Its force at v, along d->rows; D may be NULL.
static void evaluate(sap_dynamics* d, const sap_fluid_part* part, const double* v, double force[6],
                     double D[36]) {
  double R_WF[9], motion[6], wind[3];
  make_rows(d, part, R_WF);
  sap_m3_tmul_v3(wind, R_WF, d->model->options.wind);
  for (int32_t r = 0; r < 6; ++r) {
    motion[r] = sap_rows_times(&d->rows, r, v) - (r < 3 ? 0.0 : wind[r - 3]);
  }
  sap_fluid_law(part, motion, force, D);
}

void sap_dynamics_add_fluid(sap_dynamics* d, const double* v, double sign, double* k) {
  for (int32_t i = 0; i < d->fluid.count; ++i) {
    double force[6];
    evaluate(d, &d->fluid.parts[i], v, force, NULL);
    for (int32_t r = 0; r < 6; ++r) {
      sap_rows_add_scaled(&d->rows, r, sign * force[r], k);
    }
  }
}

void sap_dynamics_add_fluid_damping(sap_dynamics* d, const double* v, double scale,
                                    const sap_tree_matrix* A) {
  for (int32_t i = 0; i < d->fluid.count; ++i) {
    double force[6], D[36];
    evaluate(d, &d->fluid.parts[i], v, force, D);
    for (int r = 0; r < 36; ++r) {
      D[r] *= scale;
    }
    sap_dynamics_add_product(d, D, A);
  }
}

bool sap_dynamics_has_fluid(const sap_dynamics* d) {
  return d->fluid.count > 0;
}
