// SPDX-License-Identifier: BSD-3-Clause
// Pieces and edges of implicit complementarity for one item.
#include "solvers/ncp/implicit_edges.h"

#include <math.h>
#include <string.h>

static double tangent_length(const sap_delassus_item* item, const double* p) {
  double sum = 0.0;
  for (int32_t r = 0; r < item->nrows; ++r) {
    sum += r == SAP_NORMAL_ROW ? 0.0 : p[r] * p[r];
  }
  return sqrt(sum);
}

void sap_implicit_impulse(const sap_delassus_item* item, const double* p, double* z) {
  if (!item->is_cone) {
    z[0] = p[0] < item->lower ? item->lower : (p[0] > item->upper ? item->upper : p[0]);
    return;
  }
  const double normal = p[SAP_NORMAL_ROW] > 0.0 ? p[SAP_NORMAL_ROW] : 0.0,
               radius = item->mu * normal;
  const double length = tangent_length(item, p), s = length > radius ? radius / length : 1.0;
  for (int32_t r = 0; r < item->nrows; ++r) {
    z[r] = r == SAP_NORMAL_ROW ? normal : s * p[r];
  }
}

sap_region sap_implicit_region(const sap_delassus_item* item, const double* p) {
  if (!item->is_cone) {
    return p[0] > item->lower && p[0] < item->upper ? SAP_REGION_STICK : SAP_REGION_OFF;
  }
  if (!(p[SAP_NORMAL_ROW] > 0.0)) {
    return SAP_REGION_OFF;
  }
  return tangent_length(item, p) < item->mu * p[SAP_NORMAL_ROW] ? SAP_REGION_STICK
                                                                : SAP_REGION_SLIP;
}

// Slipping: z_t = mu p_n t,  dz_t/dp_t = mu p_n/|p_t| (I - t t'),  dz_t/dp_n = mu t.
void sap_implicit_jacobian(const sap_delassus_item* item, const double* p, sap_region region,
                           double* T) {
  const size_t n = (size_t)item->nrows;
  memset(T, 0, n * n * sizeof(double));
  if (region == SAP_REGION_OFF) {
    return;
  }
  const double length = item->is_cone ? tangent_length(item, p) : 0.0;
  const bool slips = region == SAP_REGION_SLIP;
  const double scale =
      slips && length > 0.0 ? item->mu * fmax(p[SAP_NORMAL_ROW], 0.0) / length : 1.0;
  for (size_t i = 0; i < n; ++i) {
    T[i * (n + 1)] = item->is_cone && i != SAP_NORMAL_ROW ? scale : 1.0;
  }
  for (size_t c = 0; slips && length > 0.0 && c < n; ++c) {
    for (size_t r = 0; r < n; ++r) {
      if (r != SAP_NORMAL_ROW) {
        const double t = p[r] / length;
        T[c * n + r] += c == SAP_NORMAL_ROW ? item->mu * t : -scale * t * p[c] / length;
      }
    }
  }
}

bool sap_edge_normal(const sap_delassus_item* item, const double* p, sap_edge edge, double* normal,
                     sap_region sides[2]) {
  memset(normal, 0, (size_t)item->nrows * sizeof(double));
  sides[0] = SAP_REGION_STICK;
  sides[1] = SAP_REGION_OFF;
  if (!item->is_cone) {
    normal[0] = edge == SAP_EDGE_PLANE ? 1.0 : -1.0;
    return true;
  }
  const double length = tangent_length(item, p);
  if (edge == SAP_EDGE_PLANE) {
    normal[SAP_NORMAL_ROW] = 1.0;
    sides[0] = SAP_REGION_SLIP;  // close to the plane the cone is narrow
    return length > 0.0;
  }
  sides[1] = SAP_REGION_SLIP;
  if (!(length > 0.0)) {
    return false;
  }
  const double inverse = 1.0 / sqrt(1.0 + item->mu * item->mu);
  for (int32_t r = 0; r < item->nrows; ++r) {
    normal[r] = inverse * (r == SAP_NORMAL_ROW ? item->mu : -p[r] / length);
  }
  return true;
}

bool sap_edge_project(const sap_delassus_item* item, sap_edge edge, double* p) {
  if (!item->is_cone) {
    p[0] = edge == SAP_EDGE_PLANE ? item->lower : item->upper;
    return true;
  }
  if (edge == SAP_EDGE_PLANE) {
    p[SAP_NORMAL_ROW] = 0.0;
    return true;
  }
  const double length = tangent_length(item, p), mu = item->mu;
  const double normal = (p[SAP_NORMAL_ROW] + mu * length) / (1.0 + mu * mu);
  if (!(normal > 0.0) || !(length > 0.0)) {
    return false;
  }
  for (int32_t r = 0; r < item->nrows; ++r) {
    p[r] = r == SAP_NORMAL_ROW ? normal : p[r] * (mu * normal / length);
  }
  return true;
}

// Adds a crossing if it lies on the segment; returns the number of crossings.
static int32_t add_crossing(double alpha, sap_edge kind, int32_t count, double out[3],
                            sap_edge edge[3]) {
  if (alpha > 0.0 && alpha < 1.0) {
    out[count] = alpha;
    edge[count] = kind;
    return count + 1;
  }
  return count;
}

int32_t sap_edge_crossings(const sap_delassus_item* item, const double* p, const double* u,
                           double alpha[3], sap_edge edge[3]) {
  int32_t count = 0;
  if (!item->is_cone) {
    if (u[0] != 0.0) {
      count = add_crossing((item->lower - p[0]) / u[0], SAP_EDGE_PLANE, count, alpha, edge);
      count = add_crossing((item->upper - p[0]) / u[0], SAP_EDGE_CONE, count, alpha, edge);
    }
    return count;
  }
  if (u[SAP_NORMAL_ROW] != 0.0) {
    count =
        add_crossing(-p[SAP_NORMAL_ROW] / u[SAP_NORMAL_ROW], SAP_EDGE_PLANE, count, alpha, edge);
  }
  if (!(item->mu > 0.0)) {
    return count;
  }
  const double mu_2 = item->mu * item->mu;  // a alpha^2 + 2 b alpha + c = 0
  double a = mu_2 * u[SAP_NORMAL_ROW] * u[SAP_NORMAL_ROW],
         b = mu_2 * u[SAP_NORMAL_ROW] * p[SAP_NORMAL_ROW];
  double c = mu_2 * p[SAP_NORMAL_ROW] * p[SAP_NORMAL_ROW];
  for (int32_t r = 0; r < item->nrows; ++r) {
    if (r != SAP_NORMAL_ROW) {
      a -= u[r] * u[r];
      b -= u[r] * p[r];
      c -= p[r] * p[r];
    }
  }
  const double root = b * b - a * c;
  if (!(root >= 0.0)) {
    return count;
  }
  const double t = -(b + copysign(sqrt(root), b));
  const double solutions[2] = {a != 0.0 ? t / a : -1.0, t != 0.0 ? c / t : -1.0};
  for (int i = 0; i < 2; ++i) {
    if (p[SAP_NORMAL_ROW] + solutions[i] * u[SAP_NORMAL_ROW] > 0.0) {
      count = add_crossing(solutions[i], SAP_EDGE_CONE, count, alpha, edge);
    }
  }
  return count;
}
