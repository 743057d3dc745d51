// SPDX-License-Identifier: BSD-3-Clause
// Block Gauss-Seidel on castro's dual (22), before the Newton iterations: it knows soon which
// contacts of a blow stick, slide or part, which costs these several factorizations to find.
// With A = L L' tree by tree, w = L' v and X = J L'^-1 the rows see A as the unit matrix:
//   w = L' v* + X' gamma,  W_ii = X_i X_i'
//   gamma_i <- P(gamma_i + D^-1 (v_hat - X_i w - R gamma_i)),  D = diag(Wt, Wt, Wnn) + R,
// P the projection onto the cone in the D norm, Wt the larger eigenvalue of W_ii in the tangents.
// So a row needs X only. Every other sweep goes backwards. All trees have six columns here, of
// smaller ones the last are zero: loops of fixed length.
// cost: two passes over X a sweep; a Newton step takes as long as some 20 sweeps.
#include "solvers/primal/sweep.h"

#include "solvers/primal/whiten.h"

enum { FEW_CONES = 2 };

// Sweeps end when they change the impulses by this part of them, in the D norm, or when there have
// been so many. Measured over falling piles: more of them spare less time than they take.
typedef struct patience {
  double change;
  int sweeps;
} patience;
static const patience LOOSE = {0.02, 10}, TIGHT = {0.005, 24};
// Tight where Rt is below this part of Wt for some cone: Newton's steps find less then.
static const double TIGHT_R = 3e-5;

bool sap_newton_is_sweepable(const sap_newton* n) {
  if (n->ncones < FEW_CONES || n->nwide > 0 || n->npotentials > 0 || n->ncouplings > 0) {
    return false;
  }
  for (int32_t t = 0; t < n->ntrees; ++t) {
    if (n->size[t] > SAP_WHITE_COLUMNS) {
      return false;
    }
  }
  return true;
}

static inline double dot(const double* restrict x, const double* restrict y) {
  double s0 = 0.0, s1 = 0.0;
  for (int32_t i = 0; i < SAP_WHITE_COLUMNS; i += 2) {
    s0 += x[i] * y[i];
    s1 += x[i + 1] * y[i + 1];
  }
  return s0 + s1;
}

static inline void add(double* restrict w, const double* restrict x, double factor) {
  for (int32_t i = 0; i < SAP_WHITE_COLUMNS; ++i) {
    w[i] += x[i] * factor;
  }
}

static double* velocity_of(const sap_newton* n, const sap_patch* patch, int32_t t) {
  return n->sweep_w + (size_t)n->patch_trees[patch->first_tree + t] * SAP_WHITE_COLUMNS;
}

// Metric and impulse to begin with of cone c; w += X' gamma. Whether its Rt is tight.
static bool begin_cone(sap_newton* n, const sap_patch* patch, int32_t c, const double* X) {
  const size_t nc = (size_t)n->ncones;
  const sap_cone* cone = &n->cones[c];
  const double* known = n->known + n->cone_row[c];
  sap_sweep_cone* s = &n->sweep_cones[c];
  double W00 = 0.0, W01 = 0.0, W11 = 0.0, Wnn = 0.0;
  for (int r = 0; r < 3; ++r) {
    s->v_hat[r] = n->cone_v_hat[(size_t)r * nc + (size_t)c];
    s->gamma[r] = isnan(known[0]) ? 0.0 : known[r];
  }
  for (int32_t t = 0; t < patch->ntrees; ++t, X += 3 * SAP_WHITE_COLUMNS) {
    const double *X1 = X + SAP_WHITE_COLUMNS, *Xn = X1 + SAP_WHITE_COLUMNS;
    W00 += dot(X, X);
    W01 += dot(X, X1);
    W11 += dot(X1, X1);
    Wnn += dot(Xn, Xn);
    double* w = velocity_of(n, patch, t);
    add(w, X, s->gamma[0]);
    add(w, X1, s->gamma[1]);
    add(w, Xn, s->gamma[2]);
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
  const double known = n->known[n->interval_row[k]];
  n->interval_dual[k] = isnan(known) ? 0.0 : known;
  double W = 0.0;
  for (int32_t t = 0; t < patch->ntrees; ++t, X += SAP_WHITE_COLUMNS) {
    W += dot(X, X);
    add(velocity_of(n, patch, t), X, n->interval_dual[k]);
  }
  n->sweep_row[k] = 1.0 / (W + n->intervals[k].R);
}

// How patient to be.
static patience begin(sap_newton* n) {
  bool tight = false;
  double* X = n->whitened;
  for (int32_t p = 0; p < n->npatches; ++p) {
    const sap_patch* patch = &n->patches[p];
    const int32_t nrows = patch->kind == SAP_PATCH_CONES ? 3 : 1;
    const double* J = n->jacobian + patch->jacobian;
    for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
      sap_whiten_rows(n, patch, J, nrows, X);
      if (patch->kind == SAP_PATCH_CONES) {
        tight |= begin_cone(n, patch, k, X);
      } else {
        begin_row(n, patch, k, X);
      }
      J += (size_t)nrows * (size_t)patch->ncols;
      X += (size_t)(nrows * patch->ntrees) * SAP_WHITE_COLUMNS;
    }
  }
  return tight ? TIGHT : LOOSE;
}

// Squares of the impulses and of their changes in the D norm.
typedef struct progress {
  double size_2, change_2;
} progress;

// The impulse of a cone whose rows move by u = v_hat - X w; what it changes by.
static inline bool move_cone(sap_sweep_cone* s, const double u[3], double d[3], progress* sum) {
  const double own[3] = {u[0] + s->own_t * s->gamma[0], u[1] + s->own_t * s->gamma[1],
                         u[2] + s->own_n * s->gamma[2]};
  double next[3];
  sum->size_2 += 2.0 * sap_cone_impulse(&s->metric, own, next);
  for (int r = 0; r < 3; ++r) {
    d[r] = next[r] - s->gamma[r];
    s->gamma[r] = next[r];
  }
  const double change_2 = s->Dt * (d[0] * d[0] + d[1] * d[1]) + s->Dn * (d[2] * d[2]);
  sum->change_2 += change_2;
  return change_2 > 0.0;
}

// Cones on one tree (b NULL) or two.
static inline void sweep_cones(sap_newton* n, const sap_patch* patch, const double* X,
                               double* restrict a, double* restrict b, progress* sum) {
  const size_t stride = (b != NULL ? 6 : 3) * SAP_WHITE_COLUMNS;
  for (int32_t c = patch->first; c < patch->first + patch->count; ++c, X += stride) {
    sap_sweep_cone* s = &n->sweep_cones[c];
    const double* Y = X + 3 * SAP_WHITE_COLUMNS;
    double u[3], d[3];
    for (int r = 0; r < 3; ++r) {
      u[r] = s->v_hat[r] - dot(X + r * SAP_WHITE_COLUMNS, a);
      if (b != NULL) {
        u[r] -= dot(Y + r * SAP_WHITE_COLUMNS, b);
      }
    }
    if (!move_cone(s, u, d, sum)) {
      continue;
    }
    for (int32_t i = 0; i < SAP_WHITE_COLUMNS; ++i) {
      a[i] += X[i] * d[0] + X[SAP_WHITE_COLUMNS + i] * d[1] + X[2 * SAP_WHITE_COLUMNS + i] * d[2];
      if (b != NULL) {
        b[i] += Y[i] * d[0] + Y[SAP_WHITE_COLUMNS + i] * d[1] + Y[2 * SAP_WHITE_COLUMNS + i] * d[2];
      }
    }
  }
}

static void sweep_rows(sap_newton* n, const sap_patch* patch, const double* X, progress* sum) {
  for (int32_t k = patch->first; k < patch->first + patch->count; ++k) {
    const sap_interval* interval = &n->intervals[k];
    const double inverse = n->sweep_row[k], last = n->interval_dual[k];
    double u = n->interval_v_hat[k] - interval->R * last + last / inverse;
    for (int32_t t = 0; t < patch->ntrees; ++t) {
      u -= dot(X + (size_t)t * SAP_WHITE_COLUMNS, velocity_of(n, patch, t));
    }
    const double next = sap_interval_impulse(u, inverse, interval->lower, interval->upper);
    const double d = next - last;
    sum->size_2 += next * next / inverse;
    sum->change_2 += d * d / inverse;
    n->interval_dual[k] = next;
    for (int32_t t = 0; t < patch->ntrees; ++t, X += SAP_WHITE_COLUMNS) {
      add(velocity_of(n, patch, t), X, d);
    }
  }
}

static void sweep_patch(sap_newton* n, const sap_patch* patch, const double* X, progress* sum) {
  double* a = velocity_of(n, patch, 0);
  if (patch->kind == SAP_PATCH_INTERVALS) {
    sweep_rows(n, patch, X, sum);
  } else if (patch->ntrees == 1) {
    sweep_cones(n, patch, X, a, NULL, sum);
  } else {
    sweep_cones(n, patch, X, a, velocity_of(n, patch, 1), sum);
  }
}

static size_t whitened_size(const sap_patch* patch) {
  return (size_t)(patch->count * (patch->kind == SAP_PATCH_CONES ? 3 : 1) * patch->ntrees) *
         SAP_WHITE_COLUMNS;
}

static progress sweep_all(sap_newton* n, bool backwards) {
  progress sum = {0.0, 0.0};
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
  if (!sap_whiten_velocity(n)) {
    return false;
  }
  sap_whiten_factors(n);
  const patience until = begin(n);
  for (int sweep = 0; sweep < until.sweeps; ++sweep) {
    const progress sum = sweep_all(n, sweep % 2 != 0);
    if (!(sum.change_2 > until.change * until.change * sum.size_2)) {
      break;
    }
  }
  sap_whiten_back(n, n->v_best);
  const size_t nc = (size_t)n->ncones;
  for (size_t c = 0; c < nc; ++c) {
    for (size_t r = 0; r < 3; ++r) {
      n->cone_dual[r * nc + c] = n->sweep_cones[c].gamma[r];
    }
  }
  return true;
}
