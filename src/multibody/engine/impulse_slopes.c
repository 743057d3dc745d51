// SPDX-License-Identifier: BSD-3-Clause
// Rows J of a block, products with them, X = A^-1 J' with its changes, and impulses at v.
#include "multibody/engine/impulse_slopes.h"

#include <math.h>
#include <string.h>

#include "linalg/branch_factor.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "problem/factor.h"
#include "problem/law.h"
#include "problem/problem_data.h"

// Adds the columns of dofs [first, end) that are not zero.
static SAP_INLINE void add_columns(sap_contact_slopes* w, int32_t rows, const double* J,
                                   int32_t first, int32_t end) {
  int32_t c = w->columns;
  for (int32_t i = first; i < end; ++i, J += rows) {
    bool any = false;
    for (int32_t r = 0; r < rows; ++r) {
      w->J[r][c] = J[r];
      any |= J[r] != 0.0;
    }
    w->column_dof[c] = i;
    c += any ? 1 : 0;
  }
  w->columns = c;
}

void sap_slopes_set_rows(const sap_slopes_call* call, const sap_block* block) {
  const sap_model* model = call->multibody->model;
  sap_contact_slopes* w = call->w;
  w->rows = w->slots = block->nrows;
  w->columns = 0;
  memset(w->u, 0, sizeof w->u);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    const int32_t end = first + model->tree_sizes[block->trees[t]], column = call->data->column;
    if (column >= 0) {
      add_columns(w, 1, block->jacobians[t] + column, first + column, first + column + 1);
    } else if (block->nrows == 3) {
      add_columns(w, 3, block->jacobians[t], first, end);
    } else {
      add_columns(w, block->nrows, block->jacobians[t], first, end);
    }
  }
  if (call->out->lambda != NULL) {
    sap_slopes_multiply_rows(call, call->out->lambda, w->u);
  }
}

void sap_slopes_multiply_rows(const sap_slopes_call* call, const double* v, double* out) {
  const sap_contact_slopes* w = call->w;
  const double *a = w->J[0], *b = w->J[1], *c = w->J[2];
  double sum[3] = {0.0};
  for (int32_t i = 0; w->rows >= 3 && i < w->columns; ++i) {
    const double x = v[w->column_dof[i]];
    sum[0] += a[i] * x;
    sum[1] += b[i] * x;
    sum[2] += c[i] * x;
  }
  memcpy(out, sum, w->rows >= 3 ? sizeof sum : 0);
  for (int32_t r = w->rows >= 3 ? 3 : 0; r < w->rows; ++r) {
    out[r] = 0.0;
    for (int32_t i = 0; i < w->columns; ++i) {
      out[r] += w->J[r][i] * v[w->column_dof[i]];
    }
  }
}

double sap_slopes_dot(const sap_contact_slopes* w, const double* a, const double* b) {
  double sum = 0.0;
  for (int32_t r = 0; r < w->slots; ++r) {
    sum += a[r] * b[r];
  }
  return sum;
}

void sap_slopes_add_transposed(const sap_contact_slopes* w, const double* x, double* out) {
  const double *a = w->J[0], *b = w->J[1], *c = w->J[2];
  for (int32_t i = 0; w->rows >= 3 && i < w->columns; ++i) {
    out[w->column_dof[i]] += a[i] * x[0] + b[i] * x[1] + c[i] * x[2];
  }
  for (int32_t r = w->rows >= 3 ? 3 : 0; r < w->rows; ++r) {
    for (int32_t i = 0; i < w->columns; ++i) {
      out[w->column_dof[i]] += w->J[r][i] * x[r];
    }
  }
}

void sap_slopes_add_rows(const sap_slopes_call* call, const double* x, double* out, int32_t k) {
  if (call->out->lambda != NULL) {
    out[k] += sap_slopes_dot(call->w, call->w->u, x);
  } else {
    sap_slopes_add_transposed(call->w, x,
                              out + (size_t)call->multibody->model->sizes.nv * (size_t)k);
  }
}

void sap_slopes_add_square(const sap_slopes_call* call, const double* M, int32_t ld, double* out) {
  const sap_contact_slopes* w = call->w;
  double x[SAP_ROWS_MAX];
  if (call->out->lambda != NULL) {
    for (int32_t c = 0; c < w->rows; ++c) {
      x[c] = sap_slopes_dot(w, w->u, M + ld * c);
    }
    sap_slopes_add_transposed(w, x, out);
    return;
  }
  const sap_packed_rows J = {w->rows, w->columns, w->column_dof, (const double* const*)w->J};
  sap_branch_kernels_get(0)->add_square(&J, M, ld, out, call->multibody->model->sizes.nv);
}

sap_status sap_slopes_solve_rows(const sap_slopes_call* call, const sap_block* block,
                                 int32_t first_row, sap_error* error) {
  const sap_model* model = call->multibody->model;
  const sap_contact_slopes* w = call->w;
  const int32_t count = block->nrows < 3 ? block->nrows : 3;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t r = 0; r < count; ++r) {
      memset(w->X[r] + first, 0, (size_t)model->tree_sizes[block->trees[t]] * sizeof(double));
    }
  }
  for (int32_t r = 0; r < count; ++r) {
    const double scale = call->scales != NULL ? 1.0 / call->scales[r] : 1.0;
    for (int32_t c = 0; c < w->columns; ++c) {
      w->X[r][w->column_dof[c]] = w->J[first_row + r][c] * scale;
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
    form.C[r][3] = form.C[3][r] = 0.5 * pull->y[r];
    for (int s = 0; s < count; ++s) {
      form.C[r][s] = -pull->W[3 * s + r];
    }
  }
  const bool with_y = pull->y[0] != 0.0 || pull->y[1] != 0.0 || pull->y[2] != 0.0;
  form.x[3] = count == 3 && with_y ? call->y : NULL;
  return form;
}

void sap_slopes_add_mass_gradient(const sap_slopes_call* call, int32_t tree, double* out) {
  sap_mass_work* masses = call->multibody->masses;
  const sap_link* root = &call->multibody->dynamics->links[masses->tree_link[tree]];
  const double* h = root->body_inertia.h;
  masses->used[tree] = false;
  if (root->lone && h[0] == 0.0 && h[1] == 0.0 && h[2] == 0.0) {
    return;  // A of a free body about its centre is constant
  }
  call->multibody->dynamics->kernels->mass_gradient(masses, call->kin_A, tree, out);
  sap_multibody_add_springs(call, tree, out);
}

// Adds the form to the sum of a tree.
static void add_to_sum(const sap_multibody* multibody, int32_t tree, const sap_mass_form* form) {
  const int32_t n = multibody->model->tree_sizes[tree];
  sap_mass_work* masses = multibody->masses;
  if (!masses->used[tree]) {
    memset(masses->sums[tree], 0, (size_t)n * SAP_MASS_ROW(n) * sizeof(double));
    masses->used[tree] = true;
  }
  multibody->dynamics->kernels->add_mass(masses, tree, form);
}

void sap_slopes_add_end_mass(const sap_slopes_call* call) {
  const sap_model* model = call->multibody->model;
  const double* const* x = call->problem->end;
  const sap_mass_form form = {.x = {x[0], x[1], x[2], x[3]},
                              .C = {[0][1] = -0.5, [1][0] = -0.5, [2][3] = -0.5, [3][2] = -0.5}};
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    bool any = false;
    for (int32_t i = model->tree_dofs[t]; i < model->tree_dofs[t] + model->tree_sizes[t]; ++i) {
      any = any || x[0][i] != 0.0;
    }
    if (any) {
      add_to_sum(call->multibody, t, &form);
    }
  }
}

void sap_slopes_add_mass(const sap_slopes_call* call, const sap_block* block,
                         const sap_mass_pull* pulls, const double* factors) {
  const sap_contact_slopes* w = call->w;
  const sap_model* model = call->multibody->model;
  const size_t n = (size_t)model->sizes.nv;
  const bool one = call->out->lambda != NULL;
  const int32_t rows = one || factors != NULL ? 1 : w->rows;
  for (int32_t i = 0; i < rows * block->ntrees; ++i) {
    const int32_t tree = block->trees[i / rows];
    const sap_mass_form form = make_form(call, block, &pulls[i % rows]);
    double* out = w->row_change + n * (size_t)(i % rows);
    add_to_sum(call->multibody, tree, &form);
    if (!one) {
      memset(out + model->tree_dofs[tree], 0, (size_t)model->tree_sizes[tree] * sizeof *out);
      sap_slopes_add_mass_gradient(call, tree, out);
    }
  }
  for (int32_t t = 0; t < block->ntrees && !one; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      double z[SAP_ROWS_MAX];
      for (int32_t r = 0; r < w->rows; ++r) {
        z[r] = factors != NULL ? factors[r] * w->row_change[k]
                               : w->row_change[n * (size_t)r + (size_t)k];
      }
      sap_slopes_add_rows(call, z, call->out->dq_A, k);
    }
  }
}

// --- impulses ---

// The shift against gliding of a contact's own slip |g_t|; v_hat of the law, without a shift.
static double find_settled_shift(const sap_block* block, const double* vc) {
  double u[SAP_CONE_ROWS_MAX], slip;
  for (int32_t i = 0; i < block->nrows; ++i) {
    u[i] = block->v_hat[i] - vc[i];
  }
  const double gamma_n = fmax(0.0, u[SAP_NORMAL_ROW]) / block->R[SAP_NORMAL_ROW];
  slip = sqrt(sap_cone_n_dot(block->nrows, u, u));
  if (block->set == SAP_SET_FRICTION_CONE) {
    slip = fmax(0.0, slip - block->friction * block->R[0] * gamma_n);
  }
  return block->friction * sap_law_rise(block->set, block->slip_speed, slip);
}

void sap_slopes_find_point(const sap_slopes_call* call, sap_block* block, bool slopes,
                           sap_block_point* at) {
  sap_gradient_options options = {.coulomb = block->set == SAP_SET_LAGGED || call->settled};
  sap_gradient_report counts = {0};
  const sap_slopes out = {at->G, at->by_R, at->bound, &at->contact};
  const int32_t n = block->nrows;
  sap_slopes_multiply_rows(call, call->out->v, at->vc);
  memcpy(at->v_hat, block->v_hat, (size_t)n * sizeof(double));
  block->v_hat = at->v_hat;
  if (call->settled) {
    at->v_hat[SAP_NORMAL_ROW] += block->shift;
    block->shift = find_settled_shift(block, at->vc);
    at->v_hat[SAP_NORMAL_ROW] -= block->shift;
  }
  (void)sap_set_impulse(block, at->vc, at->gamma);
  if (call->settled) {
    at->v_hat[SAP_NORMAL_ROW] += block->shift;
    block->shift = 0.0;
  }
  if (block->set == SAP_SET_LAGGED) {
    block->lagged_impulse = fmax(0.0, at->gamma[SAP_NORMAL_ROW]);
    (void)sap_set_impulse(block, at->vc, at->gamma);
  }
  if (!slopes) {
    return;
  }
  double size = 0.0;
  for (int32_t i = 0; i < n; ++i) {
    const double u = fabs(block->v_hat[i] - at->vc[i]);
    size += i == SAP_NORMAL_ROW || n < 3 ? u : block->friction * u;
  }
  options.kink_margin = SAP_KINK * size / block->R[n > SAP_NORMAL_ROW ? SAP_NORMAL_ROW : 0];
  sap_block_slopes(&options, block, at->vc, at->gamma, &out, &counts);
  call->out->kinks += call->out->dq0 != NULL && sap_set_is_contact(block->set) ? counts.kinks : 0;
  call->out->constant =
      call->out->constant && counts.sliding == 0 && !sap_set_is_potential(block->set);
  if (sap_set_is_contact(block->set)) {
    for (int32_t c = 0; c < n; ++c) {  // G by its products
      double e[SAP_CONE_ROWS_MAX] = {0.0};
      e[c] = 1.0;
      sap_contact_slope_multiply(&at->contact, n, false, e, at->G + n * c);
    }
  } else {
    for (int32_t i = n; i-- > 0;) {
      const double diagonal = at->G[i];
      memset(at->G + n * i, 0, (size_t)n * sizeof(double));
      at->G[(n + 1) * i] = diagonal;
    }
  }
}
