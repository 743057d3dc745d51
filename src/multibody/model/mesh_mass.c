// SPDX-License-Identifier: BSD-3-Clause
// Mass properties of a mesh from its triangles, at density 1.
//   solid  Each triangle (a, b, c) and a point o make a tetrahedron of volume
//          V = (a - o) . ((b - o) x (c - o)) / 6, negative when the triangle faces o. With
//          e = (a - o, b - o, c - o) and s = a + b + c - 3 o:  integral r dV = V s/4,
//          integral r r' dV = V (s s' + sum e e')/20,  r from o.
//   shell  area A with its centroid s/3:  integral r r' dA = A (s s' + sum e e')/12.
// o is the area-weighted mean of the triangles' centroids. MuJoCo's legacy way counts all V
// positive, and begins again with o in the centre of mass that it has found so. cost: O(faces)
#include <math.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/check.h"
#include "multibody/model/hull.h"
#include "multibody/model/mesh.h"

typedef struct triangles {
  const double* vertices;
  const int32_t* faces;
  int32_t count;
  int32_t* owned;  // faces, when they were made here
} triangles;

typedef struct moments {
  double zeroth, first[3], second[6];  // of r from o; second: xx yy zz xy xz yz
} moments;

static void edges_of(const triangles* t, int32_t i, const double o[3], double e[3][3]) {
  for (int k = 0; k < 3; ++k) {
    sap_v3_sub(e[k], t->vertices + 3 * (size_t)t->faces[3 * (size_t)i + (size_t)k], o);
  }
}

// Twice the area times the normal.
static void area_vector(double e[3][3], double out[3]) {
  double u[3], v[3];
  sap_v3_sub(u, e[1], e[0]);
  sap_v3_sub(v, e[2], e[0]);
  sap_v3_cross(out, u, v);
}

// Mean of the triangles' centroids, weighted by area; their total area.
static double middle(const triangles* t, double o[3]) {
  double total = 0.0, sum[3] = {0.0, 0.0, 0.0};
  const double* origin = t->vertices;
  for (int32_t i = 0; i < t->count; ++i) {
    double e[3][3], n[3];
    edges_of(t, i, origin, e);
    area_vector(e, n);
    const double area = 0.5 * sap_v3_norm(n);
    total += area;
    for (int k = 0; k < 3; ++k) {
      sap_v3_add_scaled(sum, e[k], area / 3.0);
    }
  }
  sap_v3_copy(o, origin);
  if (total > 0.0) {
    sap_v3_add_scaled(o, sum, 1.0 / total);
  }
  return total;
}

static void add_triangle(moments* m, double e[3][3], sap_mesh_solid solid) {
  static const int row[6] = {0, 1, 2, 0, 0, 1}, column[6] = {0, 1, 2, 1, 2, 2};
  double n[3], s[3];
  area_vector(e, n);
  sap_v3_add(s, e[0], e[1]);
  sap_v3_add(s, s, e[2]);
  double weight = sap_v3_dot(e[0], n) / 6.0, mean = 0.25, square = 1.0 / 20.0;
  if (solid == SAP_MESH_LEGACY) {
    weight = fabs(weight);
  } else if (solid == SAP_MESH_SHELL) {
    weight = 0.5 * sap_v3_norm(n);
    mean = 1.0 / 3.0;
    square = 1.0 / 12.0;
  }
  m->zeroth += weight;
  sap_v3_add_scaled(m->first, s, mean * weight);
  for (int k = 0; k < 6; ++k) {
    const int i = row[k], j = column[k];
    double sum = s[i] * s[j];
    for (int c = 0; c < 3; ++c) {
      sum += e[c][i] * e[c][j];
    }
    m->second[k] += weight * square * sum;
  }
}

// From moments about o to centre and inertia about it.
static void finish(const moments* m, const double o[3], sap_mesh_mass* out) {
  double c[3], p[6];
  sap_v3_scale(c, m->first, 1.0 / m->zeroth);
  sap_v3_add(out->center, o, c);
  const double cc[6] = {c[0] * c[0], c[1] * c[1], c[2] * c[2],
                        c[0] * c[1], c[0] * c[2], c[1] * c[2]};
  for (int k = 0; k < 6; ++k) {
    p[k] = m->second[k] - m->zeroth * cc[k];
  }
  out->volume = m->zeroth;
  for (int k = 0; k < 3; ++k) {
    out->inertia[k] = p[0] + p[1] + p[2] - p[k];
    out->inertia[3 + k] = -p[3 + k];
  }
}

// Triangles of the hull: each face is a fan.
static sap_status hull_triangles(const sap_hull* hull, triangles* t, sap_error* error) {
  const int32_t count = hull->face_start[hull->nfaces] - 2 * hull->nfaces;
  t->owned = sap_allocate(3 * (size_t)count, sizeof *t->owned);
  if (t->owned == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: mesh");
  }
  int32_t* out = t->owned;
  for (int32_t f = 0; f < hull->nfaces; ++f) {
    const int32_t first = hull->face_start[f];
    for (int32_t i = first + 1; i + 1 < hull->face_start[f + 1]; ++i) {
      *out++ = hull->face_vertices[first];
      *out++ = hull->face_vertices[i];
      *out++ = hull->face_vertices[i + 1];
    }
  }
  t->vertices = hull->vertices;
  t->faces = t->owned;
  t->count = count;
  return SAP_STATUS_OK;
}

static void sum_up(const triangles* t, const double o[3], sap_mesh_solid solid, moments* m) {
  *m = (moments){0};
  for (int32_t i = 0; i < t->count; ++i) {
    double e[3][3];
    edges_of(t, i, o, e);
    add_triangle(m, e, solid);
  }
}

static sap_status compute(const sap_checker* checker, const triangles* t, sap_mesh_solid solid,
                          sap_mesh_mass* out) {
  double o[3];
  const double area = middle(t, o);
  if (!(area > 0.0)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT, "its faces have no area");
  }
  moments m;
  sum_up(t, o, solid, &m);
  if (solid == SAP_MESH_EXACT) {
    const sap_status status = sap_mesh_check_closed(checker, t->faces, t->count);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  if (!(m.zeroth > 0.0)) {
    return sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                          "its volume is %g, but must be > 0: are its faces counter-clockwise "
                          "from outside?",
                          m.zeroth);
  }
  if (solid == SAP_MESH_LEGACY) {
    sap_v3_add_scaled(o, m.first, 1.0 / m.zeroth);
    sum_up(t, o, solid, &m);
    sap_v3_set(m.first, 0.0, 0.0, 0.0);
  }
  finish(&m, o, out);
  return SAP_STATUS_OK;
}

sap_status sap_mesh_def_mass(const sap_mesh_def* def, sap_mesh_solid solid, sap_mesh_mass* out,
                             sap_error* error) {
  if (def == NULL || out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "mesh: definition or out is NULL");
  }
  const sap_checker checker = {"mesh", def->name, 0, error};
  if ((int)solid < SAP_MESH_CONVEX || (int)solid > SAP_MESH_SHELL) {
    return sap_check_fail(&checker, SAP_STATUS_ARGUMENT, "solid = %d must be 0 to 3", (int)solid);
  }
  sap_status status = sap_mesh_check(&checker, def);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  triangles t = {def->vertices, def->faces, def->face_count, NULL};
  sap_hull hull = {0};
  if (def->face_count == 0 || solid == SAP_MESH_CONVEX) {
    sap_error reason = {0};
    status = sap_hull_create(def->vertices, def->vertex_count, &hull, &reason);
    if (status == SAP_STATUS_OK) {
      status = hull_triangles(&hull, &t, &reason);
    }
    if (status != SAP_STATUS_OK) {
      status = sap_check_fail(&checker, status, "%s", reason.message);
    }
    solid = solid == SAP_MESH_SHELL ? solid : SAP_MESH_CONVEX;
  }
  if (status == SAP_STATUS_OK) {
    status = compute(&checker, &t, solid, out);
  }
  sap_free(t.owned);
  sap_hull_clear(&hull);
  return status;
}
