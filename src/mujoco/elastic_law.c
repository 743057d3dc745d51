// SPDX-License-Identifier: BSD-3-Clause
// Stiffness K and damping D of flexes between points, along the axes of the points' slides. Forces
// F at the start of the step become
//   F - h K v - D (v - v0)
#include <string.h>

#include "mujoco/adapter.h"

#if SAP_MJ_SINCE(3, 3, 0)

#if SAP_MJ_KNOWS_STRETCH
// Exported by MuJoCo but not declared: res += (s1 + s2 damping) K vec, by way of the Hessians in
// mjData; and the cells' stiffness, turned with them, its sign reversed.
void mjd_flexStretch_mul(const mjModel* m, mjData* d, mjtNum* res, const mjtNum* vec, mjtNum s1,
                         mjtNum s2);
void mjd_flexInterp_cacheKrot(const mjModel* m, mjData* d, mjtNum* K);

enum { BEND_SIZE = 17, CORNERS = 4 };  // numbers of an edge in flex_bending; points it bends
#endif

static const mjtNum* axes_of(const mjModel* m, const mjData* d, int32_t dof) {
  return d->xaxis + 3 * m->dof_jntid[dof];
}

// K = Xa' H Xb, X the axes of the points' slides, H row-major in the world.
static void project(const mjModel* m, const mjData* d, sap_mj_elastic* e, const double H[9]) {
  const mjtNum *x = axes_of(m, d, e->a), *y = axes_of(m, d, e->b);
  for (int r = 0; r < 3; ++r) {
    double row[3];
    for (int c = 0; c < 3; ++c) {
      row[c] = x[3 * r] * H[c] + x[3 * r + 1] * H[3 + c] + x[3 * r + 2] * H[6 + c];
    }
    for (int c = 0; c < 3; ++c) {
      e->K[3 * r + c] = row[0] * y[3 * c] + row[1] * y[3 * c + 1] + row[2] * y[3 * c + 2];
    }
  }
}

// Of a spring of 1 N/m.
static void set_spring(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  const mjtNum* x = d->flexvert_xpos + 3 * m->flex_vertadr[e->flex];
  const int* ends = m->flex_edge + 2 * e->source;
  double u[3], H[9];
  mju_sub3(u, x + 3 * ends[1], x + 3 * ends[0]);
  (void)mju_normalize3(u);
  for (int i = 0; i < 9; ++i) {
    H[i] = (e->i == e->j ? 1.0 : -1.0) * u[i / 3] * u[i % 3];
  }
  project(m, d, e, H);
}

#if SAP_MJ_KNOWS_STRETCH
static void set_stretch(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  static const int packed[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
  double H[9];
  for (int k = 0; k < 9; ++k) {
    const int at =
        e->swapped ? 3 * (k % 3) + k / 3 : k;  // from the edge's first point to its other
    H[k] = e->kind == SAP_MJ_ELASTIC_POINT ? d->flexvert_hessian[6 * e->source + packed[k]]
                                           : d->flexedge_hessian[9 * e->source + at];
  }
  project(m, d, e, H);
}

static void set_bending(const mjModel* m, const mjData* d, sap_mj_elastic* e) {
  const int32_t edge = e->source - m->flex_edgeadr[e->flex];
  const mjtNum* b = m->flex_bending + m->flex_bendingadr[e->flex] + BEND_SIZE * edge;
  double H[9] = {0.0};
  H[0] = H[4] = H[8] = b[CORNERS * e->i + e->j];
  project(m, d, e, H);
}

static void set_cell(const sap_mj* a, sap_mj_elastic* e) {
  const int32_t n = 3 * e->source;
  const double* K = a->cell_stiffness + a->model->flex_stiffnessadr[e->flex];
  const int32_t row = e->swapped ? e->j : e->i, column = e->swapped ? e->i : e->j;
  for (int32_t k = 0; k < 9; ++k) {
    e->K[k] = -K[(3 * row + k / 3) * n + 3 * column + k % 3];
  }
}

#endif

static void set_shape(const sap_mj* a, const mjData* d, sap_mj_elastic* e) {
  switch (e->kind) {
    case SAP_MJ_ELASTIC_SPRING:
      set_spring(a->model, d, e);
      break;
#if SAP_MJ_KNOWS_STRETCH
    case SAP_MJ_ELASTIC_CELL:
      set_cell(a, e);
      break;
    case SAP_MJ_ELASTIC_BEND:
      set_bending(a->model, d, e);
      break;
    case SAP_MJ_ELASTIC_POINT:
    case SAP_MJ_ELASTIC_STRETCH:
      set_stretch(a->model, d, e);
      break;
#endif
    default:
      break;
  }
}

void sap_mj_set_elastics(sap_mj* a, mjData* d) {
  const mjModel* m = a->model;
  const double springs = sap_mj_springs_are_on(m) ? 1.0 : 0.0;
  const double dampers = sap_mj_dampers_are_on(m) ? 1.0 : 0.0;
#if SAP_MJ_KNOWS_STRETCH
  if (a->has_stretch) {
    memset(a->v_guess, 0, (size_t)a->nv * sizeof(double));
    memset(a->v_star, 0, (size_t)a->nv * sizeof(double));
    mjd_flexStretch_mul(m, d, a->v_star, a->v_guess, 1.0, 0.0);  // fills the Hessians
  }
  if (a->has_cells) {
    mjd_flexInterp_cacheKrot(m, d, a->cell_stiffness);
  }
#endif
  for (int32_t i = 0; i < a->elastic_count; ++i) {
    sap_mj_elastic* e = &a->elastics[i];
    const bool spring = e->kind == SAP_MJ_ELASTIC_SPRING;
    const double k = springs * (spring ? m->flex_edgestiffness[e->flex] : 1.0);
    const double b = dampers * (spring ? m->flex_edgedamping[e->flex] : m->flex_damping[e->flex]);
    set_shape(a, d, e);
    for (int32_t r = 0; r < 9; ++r) {
      e->D[r] = b * e->K[r];
      e->K[r] *= k;
    }
  }
}

#else

void sap_mj_set_elastics(sap_mj* a, mjData* d) {
  (void)a;
  (void)d;
}

#endif

void sap_mj_elastic_times(const sap_mj* a, bool damping, double factor, const double* v,
                          double* to) {
  for (int32_t i = 0; i < a->elastic_count; ++i) {
    const sap_mj_elastic* e = &a->elastics[i];
    const double* K = damping ? e->D : e->K;
    for (int32_t r = 0; r < 3; ++r) {
      for (int32_t c = 0; c < 3; ++c) {
        const double k = factor * K[3 * r + c];
        to[e->a + r] += k * v[e->b + c];
        if (e->a != e->b) {
          to[e->b + c] += k * v[e->a + r];
        }
      }
    }
  }
}
