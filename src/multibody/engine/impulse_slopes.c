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

// A change of A in terms of dp: -X W X' + (X y Y' + Y y' X')/2,  Y: y of the call.
static sap_mass_form make_form(const sap_slopes_call* call, const sap_block* block,
                               const sap_mass_pull* pull) {
  const sap_contact_slopes* w = call->w;
  sap_mass_form form = {.x = {w->X[0]}};
  const int count = block->nrows < 3 ? 1 : 3;
  for (int r = 0; r < count; ++r) {
    form.x[r] = w->X[r];
    form.Q[r][3] = form.Q[3][r] = 0.5 * pull->y[r];
    for (int s = 0; s < count; ++s) {
      form.Q[r][s] = -pull->W[3 * s + r];
    }
  }
  form.x[3] = count == 3 ? call->y : NULL;
  return form;
}

void sap_slopes_add_mass(const sap_slopes_call* call, const sap_block* block,
                         const sap_mass_pull* pulls, const double* factors) {
  const sap_contact_slopes* w = call->w;
  const sap_multibody* multibody = call->multibody;
  const size_t n = (size_t)multibody->model->sizes.nv;
  const bool one = call->out->lambda != NULL;
  const int32_t rows = one || factors != NULL ? 1 : w->rows;
  for (int32_t i = 0; i < rows * block->ntrees; ++i) {
    const int32_t tree = block->trees[i / rows], first = multibody->model->tree_dofs[tree];
    const sap_mass_form form = make_form(call, block, &pulls[i % rows]);
    double* out = one ? call->out->dq_A : w->row_change + n * (size_t)(i % rows);
    memset(out + first, 0, one ? 0 : (size_t)multibody->model->tree_sizes[tree] * sizeof *out);
    sap_mass_gradient(multibody->masses, call->kin_A, tree, &form, out);
    sap_multibody_add_springs(call, tree, &form, out);
    sap_slopes_add_A_parameters(call, tree, &form);
  }
  for (int32_t t = 0; t < block->ntrees && !one; ++t) {
    const int32_t first = multibody->model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + multibody->model->tree_sizes[block->trees[t]]; ++k) {
      double z[SAP_ROWS_MAX];
      for (int32_t r = 0; r < w->rows; ++r) {
        z[r] = factors != NULL ? factors[r] * w->row_change[k]
                               : w->row_change[n * (size_t)r + (size_t)k];
      }
      sap_slopes_add_rows(call, z, call->out->dq_A, k);
    }
  }
}
