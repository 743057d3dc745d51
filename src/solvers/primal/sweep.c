// SPDX-License-Identifier: BSD-3-Clause
// Block Gauss-Seidel on castro's dual (22) before the Newton iterations. It finds out soon which
// contacts of an impact stick, slide or part; Newton needs several factorizations for that.
// With A = L L' tree by tree the rows see A as the unit matrix in the coordinates
//   w = L' v,  X = J L'^-1
//   w = L' v* + X' gamma,  W_ii = X_i X_i'
//   gamma_i <- P(gamma_i + D^-1 (v_hat - X_i w - R gamma_i)),  D = diag(Wt, Wt, Wnn) + R
// P is the projection on the cone in the D norm, Wt the larger eigenvalue of W_ii in the tangents.
// So a row needs X only. Every other sweep goes backwards. All trees have six columns, the last
// ones zero for smaller trees: loops of fixed length.
// cost: two passes over X per sweep; a Newton step takes as long as some 20 sweeps.
#include "solvers/primal/newton.h"

#include <math.h>
#include <string.h>

#include "problem/factor.h"
#include "problem/problem_data.h"

enum { FEW_CONES = 2, COLUMNS = SAP_SMALL_TREE };

// Sweeps end when they change the impulses by less than this part, in the D norm, or at this
// number. Measured over falling piles: more sweeps save less time than they take.
typedef struct patience {
  double change;
  int sweeps;
} patience;
static const patience LOOSE = {0.02, 10}, TIGHT = {0.005, 24};
// TIGHT if Rt is below this part of Wt for some cone: Newton's steps gain less then.
static const double TIGHT_R = 3e-5;

bool sap_newton_is_sweepable(const sap_newton* n) {
  if (n->ncones < FEW_CONES || n->ncones_n > 0 || n->npotentials > 0 || n->ncouplings > 0) {
    return false;
  }
  for (int32_t t = 0; t < n->ntrees; ++t) {
    if (n->size[t] > COLUMNS) {
      return false;
    }
  }
  return true;
}

static inline double dot_columns(const double* restrict x, const double* restrict y) {
  double s0 = 0.0, s1 = 0.0;
  for (int32_t i = 0; i < COLUMNS; i += 2) {
    s0 += x[i] * y[i];
    s1 += x[i + 1] * y[i + 1];
  }
  return s0 + s1;
}

static inline void add_columns(double* restrict w, const double* restrict x, double factor) {
  for (int32_t i = 0; i < COLUMNS; ++i) {
    w[i] += x[i] * factor;
  }
}

// Sets sweep_w = L' v*; returns false if a block of A has no factor.
static bool whiten_velocity(sap_newton* n) {
  memset(n->sweep_w, 0, (size_t)n->ntrees * COLUMNS * sizeof(double));
  for (int32_t t = 0; t < n->ntrees; ++t) {
    sap_branch_factor factor;
    if (sap_problem_tree_factor(n->problem, n->trees[t], &factor, NULL) != SAP_STATUS_OK) {
      return false;
    }
    const double* L = factor.L;
    const int32_t size = n->size[t];
    const double* v = n->v_star + n->start[t];
    double* w = n->sweep_w + (size_t)t * COLUMNS;
    for (int32_t j = 0; j < size; ++j, L += size) {
      w[j] = v[j] / L[j];  // the diagonal holds reciprocals
      for (int32_t i = j + 1; i < size; ++i) {
        w[j] += L[i] * v[i];
      }
    }
  }
  return true;
}

// Sets v = L'^-1 sweep_w (nv).
static void unwhiten_velocity(const sap_newton* n, double* v) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    sap_branch_factor factor;
    (void)sap_problem_tree_factor(n->problem, n->trees[t], &factor,
                                  NULL);  // exists: whiten_velocity
    double* x = v + n->start[t];
    memcpy(x, n->sweep_w + (size_t)t * COLUMNS, (size_t)n->size[t] * sizeof *x);
    sap_tree_solve_back(&factor, x);
  }
}

// Sets L^-1 (COLUMNS x COLUMNS, column-major) of a tree's factor.
static inline void invert_factor(const double* restrict L, int32_t size, double* restrict inverse) {
  memset(inverse, 0, COLUMNS * COLUMNS * sizeof *inverse);
  for (int32_t j = 0; j < size; ++j) {
    double* x = inverse + j * COLUMNS;
    x[j] = L[j * size + j];  // a reciprocal
    for (int32_t k = j; k < size; ++k) {
      x[k] = k > j ? x[k] * L[k * size + k] : x[k];
      for (int32_t i = k + 1; i < size; ++i) {
        x[i] -= L[k * size + i] * x[k];
      }
    }
  }
}

// Sets sweep_factor = L^-1.
static void invert_factors(sap_newton* n) {
  for (int32_t t = 0; t < n->ntrees; ++t) {
    sap_branch_factor factor;
    (void)sap_problem_tree_factor(n->problem, n->trees[t], &factor, NULL);
    double* inverse = n->sweep_factor + (size_t)t * COLUMNS * COLUMNS;
    invert_factor(factor.L, n->size[t], inverse);
  }
}

static inline void whiten_row(const double* restrict inverse, int32_t size,
                              const double* restrict row, double* restrict X) {
  double x[COLUMNS] = {0.0};
  for (int32_t j = 0; j < size; ++j) {
    for (int32_t i = 0; i < COLUMNS; ++i) {
      x[i] += inverse[j * COLUMNS + i] * row[j];
    }
  }
  memcpy(X, x, sizeof x);
}

// Sets X of `nrows` rows of a patch from J on: nrows x COLUMNS per tree, row by row.
static void whiten_rows(const sap_newton* n, const sap_patch* patch, const double* J, int32_t nrows,
                        double* X) {
  if (patch->bodies[0] >= 0 && nrows == 3) {
    const double* inverse[2] = {NULL, NULL};
    for (int32_t t = 0; t < patch->ntrees; ++t) {
      const size_t tree = (size_t)n->patch_trees[patch->first_tree + t];
      inverse[t] = n->sweep_factor + tree * COLUMNS * COLUMNS;
    }
    n->kernels->whiten(&(sap_patch_rows){J, 1, patch->ncols, 0}, inverse[0], inverse[1], X);
    return;
  }
  for (int32_t t = 0; t < patch->ntrees; ++t) {
    const int32_t tree = n->patch_trees[patch->first_tree + t];
    const int32_t column = patch->velocity >= 0 ? patch->velocity - n->start[tree] : 0;
    const int32_t size = patch->velocity >= 0 ? 1 : n->size[tree];
    const double* inverse = n->sweep_factor + ((size_t)tree * COLUMNS + (size_t)column) * COLUMNS;
    for (int32_t r = 0; r < nrows; ++r) {
      const double* row = J + (size_t)r * (size_t)patch->ncols;
      whiten_row(inverse, size, row, X + (r * patch->ntrees + t) * COLUMNS);
    }
    J += size;
  }
}

static double* velocity_of(const sap_newton* n, const sap_patch* patch, int32_t t) {
  return n->sweep_w + (size_t)n->patch_trees[patch->first_tree + t] * COLUMNS;
}

// Sets metric and first impulse of cone c; w += X' gamma. Returns true if its Rt is tight.
static bool begin_cone(sap_newton* n, const sap_patch* patch, int32_t c, const double* X) {
  const size_t nc = (size_t)n->ncones;
  const sap_cone* cone = &n->cones[c];
  const double* recalled = n->recalled + n->cone_row[c];
  sap_sweep_cone* s = &n->sweep_cones[c];
  double W00 = 0.0, W01 = 0.0, W11 = 0.0, Wnn = 0.0;
  for (int r = 0; r < 3; ++r) {
    s->v_hat[r] = n->cone_v_hat[(size_t)r * nc + (size_t)c];
    s->gamma[r] = isnan(recalled[0]) ? 0.0 : recalled[r];
  }
  const int32_t next = patch->ntrees * COLUMNS;
  for (int32_t t = 0; t < patch->ntrees; ++t, X += COLUMNS) {
    const double *X1 = X + next, *Xn = X1 + next;
    W00 += dot_columns(X, X);
    W01 += dot_columns(X, X1);
    W11 += dot_columns(X1, X1);
    Wnn += dot_columns(Xn, Xn);
    double* w = velocity_of(n, patch, t);
    add_columns(w, X, s->gamma[0]);
    add_columns(w, X1, s->gamma[1]);
    add_columns(w, Xn, s->gamma[2]);
  }
  const double half = 0.5 * (W00 - W11);
  s->own_t = cone->mu > 0.0 ? 0.5 * (W00 + W11) + sqrt(half * half + W01 * W01) : 0.0;
  s->own_n = Wnn;
  s->Dn = Wnn + 1.0 / cone->inverse_Rn;
  s->Dt = cone->mu > 0.0 ? s->own_t + 1.0 / cone->inverse_Rt : s->Dn;
  s->metric = sap_cone_make(cone->mu, s->Dt, s->Dn);
  return s->own_t * cone->inverse_Rt * TIGHT_R > 1.0;
}

static void begin_row(sap_newton* n, const sap_patch* patch, int32_t k, const double* X) {
  const double recalled = n->recalled[n->problem_row[k]];
  n->row_lambda[k] = isnan(recalled) ? 0.0 : recalled;
  double W = 0.0;
  for (int32_t t = 0; t < patch->ntrees; ++t, X += COLUMNS) {
    W += dot_columns(X, X);
    add_columns(velocity_of(n, patch, t), X, n->row_lambda[k]);
  }
  n->sweep_row[k] = 1.0 / (W + n->intervals[k].R);
}

// Whitens all rows and starts their impulses; returns when to stop.
static patience begin_sweeps(sap_newton* n) {
  bool tight = false;
  double* X = n->whitened;
  for (int32_t p = 0; p < n->npatches; ++p) {
    const sap_patch* patch = &n->patches[p];
    const int32_t nrows = patch->kind == SAP_PATCH_CONES ? 3 : 1;
    const double* J = n->jacobian + patch->jacobian;
    for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
      whiten_rows(n, patch, J, nrows, X);
      if (patch->kind == SAP_PATCH_CONES) {
        tight |= begin_cone(n, patch, k, X);
      } else {
        begin_row(n, patch, k, X);
      }
      J += (size_t)nrows * (size_t)patch->ncols;
      X += (size_t)(nrows * patch->ntrees) * COLUMNS;
    }
  }
  return tight ? TIGHT : LOOSE;
}

static void sweep_rows(sap_newton* n, const sap_patch* patch, const double* X,
                       sap_sweep_progress* sum) {
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    const sap_interval* interval = &n->intervals[k];
    const double inverse = n->sweep_row[k], last = n->row_lambda[k];
    double u = n->row_v_hat[k] - interval->R * last + last / inverse;
    for (int32_t t = 0; t < patch->ntrees; ++t) {
      u -= dot_columns(X + (size_t)t * COLUMNS, velocity_of(n, patch, t));
    }
    const double next = sap_interval_impulse(u, inverse, interval->lower, interval->upper);
    const double d = next - last;
    sum->size_2 += next * next / inverse;
    sum->change_2 += d * d / inverse;
    n->row_lambda[k] = next;
    for (int32_t t = 0; t < patch->ntrees; ++t, X += COLUMNS) {
      add_columns(velocity_of(n, patch, t), X, d);
    }
  }
}

static void sweep_patch(sap_newton* n, const sap_patch* patch, const double* X,
                        sap_sweep_progress* sum) {
  if (patch->kind == SAP_PATCH_INTERVALS) {
    sweep_rows(n, patch, X, sum);
    return;
  }
  const sap_patch_rows rows = {X, patch->count, patch->ntrees * COLUMNS, 0};
  n->kernels->sweep(&rows, n->sweep_cones + patch->first, velocity_of(n, patch, 0),
                    patch->ntrees > 1 ? velocity_of(n, patch, 1) : NULL, sum);
}

static size_t whitened_size(const sap_patch* patch) {
  return (size_t)(patch->count * (patch->kind == SAP_PATCH_CONES ? 3 : 1) * patch->ntrees) *
         COLUMNS;
}

static sap_sweep_progress sweep_all(sap_newton* n, bool backwards) {
  sap_sweep_progress sum = {0.0, 0.0};
  const double* X = n->whitened;
  for (int32_t p = 0; p < n->npatches; ++p) {
    if (!backwards) {
      sweep_patch(n, &n->patches[p], X, &sum);
    }
    X += whitened_size(&n->patches[p]);
  }
  for (int32_t p = n->npatches; backwards && p-- > 0;) {
    X -= whitened_size(&n->patches[p]);
    sweep_patch(n, &n->patches[p], X, &sum);
  }
  return sum;
}

bool sap_newton_sweep(sap_newton* n) {
  if (!whiten_velocity(n)) {
    return false;
  }
  invert_factors(n);
  const patience until = begin_sweeps(n);
  for (int sweep = 0; sweep < until.sweeps; ++sweep) {
    const sap_sweep_progress sum = sweep_all(n, sweep % 2 != 0);
    if (!(sum.change_2 > until.change * until.change * sum.size_2)) {
      break;
    }
  }
  unwhiten_velocity(n, n->v_best);
  const size_t nc = (size_t)n->ncones;
  for (size_t c = 0; c < nc; ++c) {
    for (size_t r = 0; r < 3; ++r) {
      n->cone_lambda[r * nc + c] = n->sweep_cones[c].gamma[r];
    }
  }
  return true;
}
