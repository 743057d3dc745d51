// SPDX-License-Identifier: BSD-3-Clause
// Rows J of a block, products with them, and X = A^-1 J' with its changes.
#include "multibody/engine/impulse_slopes.h"

#include <math.h>
#include <string.h>

#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "problem/factor.h"
#include "problem/problem_data.h"

void sap_slopes_set_rows(const sap_slopes_call* call, const sap_block* block) {
  const sap_model* model = call->multibody->model;
  sap_contact_slopes* w = call->w;
  const int32_t rows = w->rows = block->nrows;
  w->columns = 0;
  memset(w->u, 0, sizeof w->u);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const double* J = block->jacobians[t];
    const int32_t first = model->tree_dofs[block->trees[t]];
    const int32_t end = first + model->tree_sizes[block->trees[t]];
    for (int32_t i = first; i < end; ++i, J += rows) {
      double any = fabs(J[0]);
      for (int32_t r = 1; r < rows; ++r) {
        any += fabs(J[r]);
      }
      if (any != 0.0) {
        memcpy(w->J[w->columns], J, (size_t)rows * sizeof *J);
        w->column_dof[w->columns++] = i;
      }
    }
  }
  if (call->out->lambda != NULL) {
    sap_slopes_multiply_rows(call, call->out->lambda, w->u);
  }
}

void sap_slopes_multiply_rows(const sap_slopes_call* call, const double* v, double* out) {
  const sap_contact_slopes* w = call->w;
  double sum[3] = {0.0};
  for (int32_t k = 0; w->rows == 3 && k < w->columns; ++k) {
    const double x = v[w->column_dof[k]];
    for (int r = 0; r < 3; ++r) {
      sum[r] += w->J[k][r] * x;
    }
  }
  if (w->rows == 3) {
    sap_v3_copy(out, sum);
    return;
  }
  memset(out, 0, (size_t)w->rows * sizeof *out);
  for (int32_t k = 0; k < w->columns; ++k) {
    for (int32_t r = 0; r < w->rows; ++r) {
      out[r] += w->J[k][r] * v[w->column_dof[k]];
    }
  }
}

double sap_slopes_dot(const sap_contact_slopes* w, const double* a, const double* b) {
  double sum = 0.0;
  for (int32_t r = 0; r < w->rows; ++r) {
    sum += a[r] * b[r];
  }
  return sum;
}

void sap_slopes_add_rows(const sap_slopes_call* call, const double* x, double* out, int32_t k) {
  const sap_contact_slopes* w = call->w;
  if (call->out->lambda != NULL) {
    out[k] += sap_slopes_dot(w, w->u, x);
    return;
  }
  double* restrict column = out + (size_t)call->multibody->model->sizes.nv * (size_t)k;
  const int32_t count = w->columns, *dof = w->column_dof;
  if (w->rows == 3) {
    const double a = x[0], b = x[1], c = x[2];
    for (int32_t i = 0; i < count; ++i) {
      column[dof[i]] += w->J[i][0] * a + w->J[i][1] * b + w->J[i][2] * c;
    }
    return;
  }
  for (int32_t i = 0; i < count; ++i) {
    column[dof[i]] += sap_slopes_dot(w, w->J[i], x);
  }
}

void sap_slopes_add_square(const sap_slopes_call* call, double scale, const double* M, int32_t ld,
                           double* out) {
  const sap_contact_slopes* w = call->w;
  const bool one = call->out->lambda != NULL;
  double z[SAP_ROWS_MAX];
  for (int32_t c = 0; one && c < w->rows; ++c) {
    z[c] = scale * sap_slopes_dot(w, w->u, M + ld * c);
  }
  for (int32_t k = 0; k < w->columns; ++k) {
    const double* J = w->J[k];
    double x[SAP_ROWS_MAX] = {0.0};
    if (one) {
      out[w->column_dof[k]] += sap_slopes_dot(w, z, J);
      continue;
    }
    for (int32_t r = 0; w->rows == 3 && r < 3; ++r) {
      x[r] = scale * (M[r] * J[0] + M[ld + r] * J[1] + M[2 * ld + r] * J[2]);
    }
    for (int32_t c = 0; w->rows != 3 && c < w->rows; ++c) {
      for (int32_t r = 0; r < w->rows; ++r) {
        x[r] += M[ld * c + r] * (scale * J[c]);
      }
    }
    sap_slopes_add_rows(call, x, out, w->column_dof[k]);
  }
}

sap_status sap_slopes_solve_rows(const sap_slopes_call* call, const sap_block* block,
                                 sap_error* error) {
  const sap_model* model = call->multibody->model;
  const sap_contact_slopes* w = call->w;
  const int32_t count = block->nrows < 3 ? block->nrows : 3;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t r = 0; r < count; ++r) {
      memset(w->X[r] + first, 0, (size_t)model->tree_sizes[block->trees[t]] * sizeof(double));
    }
  }
  for (int32_t k = 0; k < w->columns; ++k) {
    for (int32_t r = 0; r < count; ++r) {
      w->X[r][w->column_dof[k]] = w->J[k][r] / (call->scales != NULL ? call->scales[r] : 1.0);
    }
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    SAP_TRY(sap_problem_solve_columns((sap_problem*)call->problem, block->trees[t], count,
                                      w->X[0] + model->tree_dofs[block->trees[t]],
                                      (size_t)model->sizes.nv, error));
  }
  return SAP_STATUS_OK;
}

// Of K in A.
static double spring_scale(const sap_step_context* s) {
  return s->dt * s->dt * s->theta * s->theta_vq;
}

// Adds, in terms of lambda' p, what a pull gives to the lower triangles of A_bar:
//   -X W X' + (X y Y' + Y y' X')/2,  Y: y of the call
static void add_A_bar(const sap_slopes_call* call, const sap_block* block,
                      const sap_mass_pull* pull) {
  const sap_contact_slopes* w = call->w;
  const sap_model* model = call->multibody->model;
  const bool single = block->nrows < 3;
  const bool by_y = call->y != NULL && !single && sap_v3_dot(pull->y, pull->y) > 0.0;
  const double* restrict a = w->X[0], * restrict b = w->X[!single], * restrict c = w->X[2 * !single];
  const double* W = pull->W;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    const int32_t end = first + model->tree_sizes[block->trees[t]];
    for (int32_t k = first; k < end; ++k) {
      const double half = by_y ? 0.5 * call->y[k] : 0.0;
      const double p = half * pull->y[0] - W[0] * a[k] - W[1] * b[k] - W[2] * c[k];
      const double q = half * pull->y[1] - W[3] * a[k] - W[4] * b[k] - W[5] * c[k];
      const double r = half * pull->y[2] - W[6] * a[k] - W[7] * b[k] - W[8] * c[k];
      const double z = pull->y[0] * a[k] + pull->y[1] * b[k] + pull->y[2] * c[k];
      double* restrict A = w->A_bar + (size_t)model->sizes.nv * (size_t)k;
      for (int32_t i = k; i < end; ++i) {
        A[i] += p * a[i] + q * b[i] + r * c[i];
      }
      for (int32_t i = k; by_y && i < end; ++i) {
        A[i] += 0.5 * z * call->y[i];
      }
    }
  }
}

void sap_slopes_clear_mass(const sap_slopes_call* call) {
  const sap_model* model = call->multibody->model;
  for (int32_t k = 0; k < model->sizes.nv; ++k) {
    const int32_t tree = model->dof_tree[k];
    memset(call->w->A_bar + (size_t)model->sizes.nv * (size_t)k + model->tree_dofs[tree], 0,
           (size_t)model->tree_sizes[tree] * sizeof(double));
  }
}

void sap_slopes_finish_mass(const sap_slopes_call* call) {
  const sap_contact_slopes* w = call->w;
  const sap_model* model = call->multibody->model;
  const size_t n = (size_t)model->sizes.nv;
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    const int32_t first = model->tree_dofs[t], size = model->tree_sizes[t];
    bool any = false;
    for (int32_t c = first; c < first + size; ++c) {
      for (int32_t r = c; r < first + size; ++r) {
        double* const A = w->A_bar;
        A[n * (size_t)r + (size_t)c] = A[n * (size_t)c + (size_t)r];
        any = any || A[n * (size_t)c + (size_t)r] != 0.0;
      }
    }
    if (any) {
      sap_mass_gradient(call->multibody->masses, call->kin_A, t, w->A_bar, call->out->dq_A);
    }
  }
  sap_multibody_add_springs(call->multibody->dynamics, call->out->q_A, spring_scale(call->step),
                            w->A_bar, call->out->dq_A);
}

void sap_slopes_add_mass(const sap_slopes_call* call, const sap_block* block,
                         const sap_mass_pull* pulls, const double* factors) {
  const sap_contact_slopes* w = call->w;
  const sap_model* model = call->multibody->model;
  const bool single = block->nrows < 3;
  const double* const fields[SAP_MASS_FIELDS] = {w->X[0], single ? NULL : w->X[1],
                                                 single ? NULL : w->X[2], single ? NULL : call->y};
  if (call->out->lambda != NULL) {
    add_A_bar(call, block, pulls);
    return;
  }
  for (int32_t t = 0; t < block->ntrees; ++t) {
    sap_mass_products(call->multibody->masses, call->kin_A, block->trees[t], fields, w->gradients);
  }
  for (int32_t i = 0; factors != NULL && i < w->columns; ++i) {
    w->row_way[i] = sap_slopes_dot(w, w->J[i], factors);
  }
  sap_multibody_add_spring_products(call->multibody->dynamics, call->out->q_A,
                                    spring_scale(call->step), fields, w->gradients);
  double z[SAP_ROWS_MAX] = {0.0};
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      const double* g = w->gradients[k];
      for (int32_t r = 0; r < (factors != NULL ? 1 : w->rows); ++r) {
        const double *W = pulls[r].W, *y = pulls[r].y;
        z[r] = y[0] * g[6] + y[1] * g[7] + y[2] * g[8] - W[0] * g[0] - W[4] * g[3] - W[8] * g[5] -
               2.0 * (W[1] * g[1] + W[2] * g[2] + W[5] * g[4]);
      }
      if (factors == NULL) {
        sap_slopes_add_rows(call, z, call->out->dq_A, k);
        continue;
      }
      double* restrict column = call->out->dq_A + (size_t)model->sizes.nv * (size_t)k;
      for (int32_t i = 0; i < w->columns; ++i) {
        column[w->column_dof[i]] += w->row_way[i] * z[0];
      }
    }
  }
}
