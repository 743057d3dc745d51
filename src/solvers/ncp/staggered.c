// SPDX-License-Identifier: BSD-3-Clause
// Staggered projections.                    Kaufman, Sueda, James, Pai 2008; lelidec Alg. 7
// Two quadratic programs in turn, each on a part of the rows of D:
//   normals   min 1/2 z' D z + q' z  over normals >= 0, tangents fixed
//   friction  the same               over |z_t| <= mu z_n, normals fixed
// Interval rows belong to both programs, so that joints and limits hold in each. A fixed point of
// the two solves the NCP: g_n >= 0 is complementary to z_n, and friction dissipates most for the
// given normals. With a pyramid's polygon in place of the disk it solves the LCP of pgs-lcp.
// fails: convergence is not proven; strong coupling of normals and tangents makes it cycle.
#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "solvers/dual/dual.h"

enum { INNER = 500 };                // ADMM iterations per stage
static const double LOOSEST = 1e-2;  // tolerance of the first stages
static const double TIGHTER = 1e-2;  // tolerance of a stage relative to the error
static const double TIGHTEST = 1e-15;

// One of the two programs.
typedef struct stage {
  sap_dual* d;
  bool friction;
  int32_t sides;  // of the polygon, 0: the disk
  int32_t* rows;  // the stage's rows of D, item by item                 (admm.n)
  double* all;    // scratch: rows of both stages                        (n)
  sap_admm admm;  // D: symmetric; started where the stage ended before
} stage;

static bool stage_has(const sap_delassus_item* item, int32_t row, bool friction) {
  return !item->is_cone ||
         (friction ? row != SAP_NORMAL_ROW && item->mu > 0.0 : row == SAP_NORMAL_ROW);
}

// Counts the stage's rows, and lists them if `rows` is not NULL.
static int32_t list_rows(const sap_dual* d, bool friction, int32_t* rows) {
  int32_t n = 0;
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    for (int32_t r = 0; r < item->nrows; ++r) {
      if (stage_has(item, r, friction)) {
        if (rows != NULL) {
          rows[n] = item->first + r;
        }
        ++n;
      }
    }
  }
  return n;
}

static void gather_rows(const stage* s, const double* z, double* out) {
  for (int32_t i = 0; i < s->admm.n; ++i) {
    out[i] = z[s->rows[i]];
  }
}

// Takes the stage's part of D (n n of the island) and of d->z. largest: eigenvalue of D.
static sap_status begin_stage(stage* s, const double* D, double largest) {
  const size_t n = (size_t)s->admm.n, all = (size_t)s->d->op.n;
  (void)list_rows(s->d, s->friction, s->rows);
  for (size_t j = 0; j < n; ++j) {
    for (size_t i = 0; i < n; ++i) {
      const size_t a = (size_t)s->rows[i], b = (size_t)s->rows[j];
      s->admm.D[j * n + i] = 0.5 * (D[b * all + a] + D[a * all + b]);
    }
  }
  gather_rows(s, s->d->z, s->admm.x);
  memset(s->admm.w, 0, n * sizeof(double));
  return sap_admm_begin(&s->admm, s->d, largest);
}

// Projects the stage's rows y: tangents for the normal impulses in d->z.
static void project_stage(const void* context, double* y) {
  const stage* s = context;
  const sap_dual* d = s->d;
  for (int32_t i = 0; i < s->admm.n; ++i) {
    s->all[s->rows[i]] = y[i];
  }
  SAP_EACH(const sap_delassus_item, item, d->op.items, d->op.nitems) {
    double* x = s->all + item->first;
    if (!item->is_cone) {
      sap_dual_project(item, x, x);
    } else if (!s->friction) {
      x[SAP_NORMAL_ROW] = fmax(x[SAP_NORMAL_ROW], 0.0);
    } else if (item->mu > 0.0) {
      const double radius = item->mu * fmax(d->z[item->first + SAP_NORMAL_ROW], 0.0);
      if (s->sides > 0) {
        sap_dual_project_polygon(radius, s->sides, x, x);
      } else {
        sap_dual_project_disk(item->nrows, radius, x, x);
      }
    }
  }
  gather_rows(s, s->all, y);
}

// Minimises over the stage's rows of d->z until both residuals of ADMM are below `tolerance` of the
// impulses, or INNER iterations are done.  D: (n n) of the island.
static sap_status solve_stage(stage* s, const double* D, double tolerance) {
  sap_admm* a = &s->admm;
  sap_dual* d = s->d;
  const int32_t n = a->n;
  if (n == 0) {
    return SAP_STATUS_OK;
  }
  // q of the stage: D z + q less D_stage z_stage, so that the fixed rows act through D as it is
  for (int32_t i = 0; i < n; ++i) {
    a->q[i] = d->op.q[s->rows[i]] + cblas_ddot(d->op.n, D + s->rows[i], d->op.n, d->z, 1);
  }
  gather_rows(s, d->z, a->y);
  cblas_dsymv(CblasColMajor, CblasLower, n, -1.0, a->D, n, a->y, 1, 1.0, a->q, 1);
  project_stage(s, a->y);
  for (int32_t i = 1; i <= INNER; ++i) {
    sap_admm_iterate(a, 1.0, &(sap_admm_set){project_stage, NULL, s});
    d->evaluations += 1;
    const double size_2 = cblas_ddot(n, a->y, 1, a->y, 1) + DBL_MIN;
    if (fmax(a->primal_2, a->dual_2) <= tolerance * tolerance * size_2) {
      break;
    }
    SAP_TRY(sap_admm_adapt(a, d, i));
  }
  for (int32_t i = 0; i < n; ++i) {
    d->z[s->rows[i]] = a->y[i];
  }
  return SAP_STATUS_OK;
}

static sap_status run_stages(sap_dual* d, int32_t sides) {
  const int64_t n = d->op.n;
  stage stages[2] = {{.d = d}, {.d = d, .friction = true, .sides = sides}};
  sap_admm *a = &stages[0].admm, *b = &stages[1].admm;
  double *D, *scratch;
  a->n = list_rows(d, false, NULL);
  b->n = list_rows(d, true, NULL);
  SAP_TRY(SAP_CARVE(&d->pool, &d->work, d->error, SAP_ARRAY(&D, n * n), SAP_ARRAY(&scratch, 2 * n),
                    SAP_ADMM_ARRAYS(a), SAP_ADMM_ARRAYS(b), SAP_ARRAY(&stages[0].rows, a->n),
                    SAP_ARRAY(&stages[1].rows, b->n)));
  stages[0].all = stages[1].all = scratch;
  sap_delassus_dense(&d->op, D);
  const double largest = sap_delassus_largest_eigenvalue(&d->op, scratch);
  for (int k = 0; k < 2; ++k) {
    SAP_TRY(begin_stage(&stages[k], D, largest));
  }
  const double omega = d->options->over_relaxation;
  while (sap_dual_continues(d, d->options->max_sweeps, omega)) {
    const double tolerance = fmax(TIGHTEST, fmin(LOOSEST, TIGHTER * d->residual));
    memcpy(d->map, d->z, (size_t)n * sizeof(double));
    for (int k = 0; k < 2; ++k) {
      SAP_TRY(solve_stage(&stages[k], D, tolerance));
    }
    for (int32_t i = 0; omega != 1.0 && i < d->op.n; ++i) {
      d->z[i] = d->map[i] + omega * (d->z[i] - d->map[i]);
    }
    d->iterations += 1;
  }
  return d->status;
}

sap_status sap_staggered(sap_dual* d) {
  return run_stages(d, 0);
}

sap_status sap_staggered_lcp(sap_dual* d) {
  sap_dual_set_law(d, sap_dual_facets_law);
  return run_stages(d, d->options->friction_directions);
}
