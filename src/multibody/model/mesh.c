// SPDX-License-Identifier: BSD-3-Clause
// Meshes: checks, mass properties from triangles at density 1, convex hulls of the builder.
//   solid  each triangle (a, b, c) and a point o make a tetrahedron; with r from o,
//            e = (a - o, b - o, c - o),  s = a + b + c - 3 o
//            V = (a - o) . ((b - o) x (c - o))/6,  < 0 if the triangle faces o
//            integral r dV    = V s/4
//            integral r r' dV = V (s s' + sum e e')/20
//   shell  area A with its centroid s/3
//            integral r r' dA = A (s s' + sum e e')/12
// o is the area-weighted mean of the triangles' centroids. MuJoCo's legacy way counts all V
// positive, and repeats the sum with o in the centre of mass found. cost: O(faces)
#include "multibody/model/hull.h"

#include <math.h>
#include <stdlib.h>

#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/model/builder.h"

// Checks counts, vertices and the vertex numbers of the faces.
static sap_status check_mesh(const sap_checker* checker, const sap_mesh_def* def) {
  SAP_REFUSE_IF(def->vertex_count < 1 || def->vertices == NULL, checker, "has no vertices");
  SAP_RETURN_IF(def->vertex_count > INT32_MAX / 12 || def->face_count > INT32_MAX / 12,
                sap_check_fail(checker, SAP_STATUS_MEMORY, "too many vertices or faces"));
  SAP_REFUSE_IF(def->face_count < 0 || (def->face_count > 0 && def->faces == NULL), checker,
                "face_count = %d must be >= 0, with faces", (int)def->face_count);
  SAP_TRY(sap_check_vector(checker, "vertices", def->vertices, 3 * def->vertex_count));
  for (int32_t i = 0; i < 3 * def->face_count; ++i) {
    SAP_TRY(sap_check_id(checker, "faces", def->faces[i], 0, def->vertex_count));
  }
  return SAP_STATUS_OK;
}

// Fails with ARGUMENT unless every directed edge occurs once, and once in the other direction.
static sap_status check_closed(const sap_checker* checker, const int32_t* faces, int32_t count) {
  const size_t total = 3 * (size_t)count;
  sap_id_pair* edges;
  SAP_TRY(SAP_NEW(&edges, total, "edges of a mesh", checker->error));
  for (size_t i = 0; i < total; ++i) {
    edges[i][0] = faces[i];
    edges[i][1] = faces[i % 3 == 2 ? i - 2 : i + 1];
  }
  qsort(edges, total, sizeof *edges, sap_compare_id_pairs);
  sap_status status = SAP_STATUS_OK;
  for (size_t i = 0; i < total && status == SAP_STATUS_OK; ++i) {
    const int32_t a = edges[i][0], b = edges[i][1];
    const sap_id_pair back = {b, a};
    if (a == b || (i > 0 && sap_compare_id_pairs(edges[i - 1], edges[i]) == 0) ||
        bsearch(back, edges, total, sizeof *edges, sap_compare_id_pairs) == NULL) {
      status = sap_check_fail(checker, SAP_STATUS_ARGUMENT,
                              "its faces are not closed: the edge between vertices %d and %d does "
                              "not belong to two faces of the same orientation",
                              (int)(a < b ? a : b), (int)(a < b ? b : a));
    }
  }
  sap_free(edges);
  return status;
}

typedef struct triangles {
  const double* vertices;
  const int32_t* faces;
  int32_t count;
  int32_t* owned;  // faces if made here
} triangles;

typedef struct moments {
  double zeroth, first[3], second[6];  // of r from o; second: xx yy zz xy xz yz
} moments;

static void get_edges(const triangles* t, int32_t i, const double o[3], double e[3][3]) {
  for (int k = 0; k < 3; ++k) {
    sap_v3_sub(e[k], t->vertices + 3 * (size_t)t->faces[3 * (size_t)i + (size_t)k], o);
  }
}

// Returns twice the area times the normal in `out`.
static void area_vector(double e[3][3], double out[3]) {
  double u[3], v[3];
  sap_v3_sub(u, e[1], e[0]);
  sap_v3_sub(v, e[2], e[0]);
  sap_v3_cross(out, u, v);
}

// Sets o to the mean of the triangles' centroids, weighted by area; returns the total area.
static double area_center(const triangles* t, double o[3]) {
  double total = 0.0, sum[3] = {0.0, 0.0, 0.0};
  const double* origin = t->vertices;
  for (int32_t i = 0; i < t->count; ++i) {
    double e[3][3], n[3];
    get_edges(t, i, origin, e);
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

// Converts moments about o to the centre of mass and the inertia about it.
static void set_mass(const moments* m, const double o[3], sap_mesh_mass* out) {
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

// Makes triangles of the hull: each face is a fan.
static sap_status hull_triangles(const sap_hull* hull, triangles* t, sap_error* error) {
  const int32_t count = hull->face_start[hull->nfaces] - 2 * hull->nfaces;
  SAP_TRY(SAP_NEW(&t->owned, 3 * (size_t)count, "mesh", error));
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

static void sum_moments(const triangles* t, const double o[3], sap_mesh_solid solid, moments* m) {
  *m = (moments){0};
  for (int32_t i = 0; i < t->count; ++i) {
    double e[3][3];
    get_edges(t, i, o, e);
    add_triangle(m, e, solid);
  }
}

static sap_status compute_mass(const sap_checker* checker, const triangles* t, sap_mesh_solid solid,
                               sap_mesh_mass* out) {
  double o[3];
  const double area = area_center(t, o);
  SAP_REFUSE_IF(!(area > 0.0), checker, "its faces have no area");
  moments m;
  sum_moments(t, o, solid, &m);
  if (solid == SAP_MESH_EXACT) {
    SAP_TRY(check_closed(checker, t->faces, t->count));
  }
  SAP_REFUSE_IF(!(m.zeroth > 0.0), checker,
                "its volume is %g, but must be > 0: are its faces counter-clockwise "
                "from outside?",
                m.zeroth);
  if (solid == SAP_MESH_LEGACY) {
    sap_v3_add_scaled(o, m.first, 1.0 / m.zeroth);
    sum_moments(t, o, solid, &m);
    sap_v3_set(m.first, 0.0, 0.0, 0.0);
  }
  set_mass(&m, o, out);
  return SAP_STATUS_OK;
}

sap_status sap_mesh_def_mass(const sap_mesh_def* def, sap_mesh_solid solid, sap_mesh_mass* out,
                             sap_error* error) {
  SAP_NOT_NULL(error, def, out);
  SAP_TRY(sap_check_cookie("sap_mesh_def", &def->cookie, error));
  const sap_checker checker = {"mesh", def->name, 0, error};
  SAP_REFUSE_IF((int)solid < SAP_MESH_CONVEX || (int)solid > SAP_MESH_SHELL, &checker,
                "solid = %d must be 0 to 3", (int)solid);
  SAP_TRY(check_mesh(&checker, def));
  sap_status status = SAP_STATUS_OK;
  triangles t = {def->vertices, def->faces, def->face_count, NULL};
  sap_hull hull = {0};
  if (def->face_count == 0 || solid == SAP_MESH_CONVEX) {
    sap_error reason = {0};
    status = sap_hull_create(def->vertices, def->vertex_count, &hull, &reason);
    SAP_THEN(status, hull_triangles(&hull, &t, &reason));
    if (status != SAP_STATUS_OK) {
      status = sap_check_fail(&checker, status, "%s", reason.message);
    }
    solid = solid == SAP_MESH_SHELL ? solid : SAP_MESH_CONVEX;
  }
  SAP_THEN(status, compute_mass(&checker, &t, solid, out));
  sap_free(t.owned);
  sap_hull_clear(&hull);
  return status;
}

// Keeps the triangles of a closed mesh that is not convex with its hull.
static sap_status keep_triangles(const sap_mesh_def* def, sap_hull* hull, sap_error* error) {
  static const double CONVEX = 0.999;  // of the hull's volume
  sap_error reason = {0};
  const sap_checker checker = {"mesh", def->name, 0, &reason};
  const triangles own = {def->vertices, def->faces, def->face_count, NULL};
  triangles all = {0};
  moments m[2];
  SAP_RETURN_IF(def->face_count == 0, SAP_STATUS_OK);
  SAP_TRY(hull_triangles(hull, &all, error));
  sum_moments(&own, hull->vertices, SAP_MESH_EXACT, &m[0]);
  sum_moments(&all, hull->vertices, SAP_MESH_EXACT, &m[1]);
  sap_free(all.owned);
  if (!(m[0].zeroth > 0.0 && m[0].zeroth < CONVEX * m[1].zeroth) ||
      check_closed(&checker, def->faces, def->face_count) != SAP_STATUS_OK) {
    return reason.status == SAP_STATUS_MEMORY ? sap_fail(error, reason.status, "%s", reason.message)
                                              : SAP_STATUS_OK;
  }
  const int32_t corners = 3 * def->face_count;
  SAP_TRY(SAP_POOL_ADD(&hull->pool, &hull->triangles, 3 * (size_t)corners, error));
  hull->ntriangles = def->face_count;
  for (int32_t i = 0; i < corners; ++i) {
    sap_v3_copy(hull->triangles + 3 * (size_t)i, def->vertices + 3 * (size_t)def->faces[i]);
  }
  return SAP_STATUS_OK;
}

static sap_status append_mesh(sap_builder* builder, const char* name, const sap_hull* hull,
                              int32_t* id, sap_error* error) {
  SAP_BUILDER_APPEND_NAMED(builder, meshes, SAP_ELEMENT_MESH, name, *hull, id, error);
  return SAP_STATUS_OK;
}

sap_status sap_builder_add_mesh(sap_builder* builder, const sap_mesh_def* def, int32_t* id,
                                sap_error* error) {
  SAP_BUILDER_BEGIN(builder, def, sap_mesh_def, "mesh", error);
  const sap_checker checker = {"mesh", def->name, builder->nmeshes, error};
  sap_hull hull = {0};
  sap_error reason = {0};
  SAP_TRY(check_mesh(&checker, def));
  sap_status status = sap_hull_create(def->vertices, def->vertex_count, &hull, &reason);
  SAP_RETURN_IF(status != SAP_STATUS_OK, sap_check_fail(&checker, status, "%s", reason.message));
  SAP_TRY_OR(keep_triangles(def, &hull, error), sap_hull_clear(&hull));
  SAP_TRY_OR(append_mesh(builder, def->name, &hull, id, error), sap_hull_clear(&hull));
  return SAP_STATUS_OK;
}
