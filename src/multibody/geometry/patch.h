// SPDX-License-Identifier: BSD-3-Clause
// Surface contact of two convex shapes of which at least one has a pressure field.
//
// Field of a shape: pressure p = kappa d(x), with the depth d below its surface and kappa = E/H;
// rigid shapes have kappa = infinity. A facet with the outward normal m has d = b - m . x. d of a
// shape is the minimum over its facets, a concave function:
//   plane, box, mesh   planes
//   sphere             R - |x|
//   capsule            R - distance to the segment
//   cylinder           min(R - r, h - |z|)
//   ellipsoid          H (1 - |(x/a, y/b, z/c)|), H the least semi-axis
// The contact surface is where both pressures are equal; there
//   alpha d_A = beta d_B,  alpha = kappa_A/(kappa_A + kappa_B),  beta = 1 - alpha
//   p = kappa (d_A + d_B),  1/kappa = 1/kappa_A + 1/kappa_B
// and where B moves along n by delta, p falls by g delta, with the slopes of both fields in series.
// Two flat facets have a plane surface: a convex polygon on which p is linear. Surfaces of curved
// shapes are integrated over the planes of the facets, or over one contact plane.
//
// The surface becomes clusters of at most five contact points with the normal N = int p n dA and
//   f_j = force,  k_j = stiffness,  phi_j = -f_j/k_j
// They keep the force, its centre, the stiffness and its first and second moments, and the torsion
// integral of p |x - centre|, exactly.
//
// Clusters. One plane represents a surface whose normals agree. Else, as of a wedge, a peg in a
// hole, or a rod through a plate, each cluster has the pieces of the facets of one shape that face
// in the same of 26 directions fixed to it. With c = |int p n dA|/int p dA, which is 1 if all
// normals agree, and a smooth step w(c):
//   surface = w (one cluster of all) + (1 - w) (clusters by direction)
// All is continuous in motion, also where clusters merge, split, appear and end:
//   - A facet keeps its direction, so that no piece moves from one cluster to another. Pieces appear
//     and end with no area, clusters with no force.
//   - Both parts of the sum have the same force and moment, that of the pressure, so w and the
//     choice of directions do not change these.
//   - f and k of all points are linear in w, and w is continuous.
// Slopes. A motion along N by delta changes the force by K delta, and the moment by K c x N delta
// with the centre c of the stiffness. The points have both where all of them press. The moment is
// exact, but its slope misses up to K |c - c_f| where
//   - one point represents the patch, at the centre of pressure c_f: nothing for balls and capsules,
//     whose patches are symmetric, 1e-3 of K times the size for ellipsoids that are 2 % deep
//   - c_f is so far from c, as on a corner or an edge, that a point would pull: the centre of the
//     points then leaves c, with a kink where the first one ceases to press
// Sheets of a surface need no clusters of their own: those with the same normals share five points.
// The features of points are 5 (direction + 1) + number, and last as long as their cluster.
#pragma once

#include "core/memory.h"
#include "multibody/geometry/manifold.h"

enum {
  SAP_PATCH_POINTS = 5,
  SAP_PATCH_PIECES = 4096,
  SAP_PATCH_CORNERS = 4096,  // of all pieces
  SAP_PATCH_SIDES = 64,      // of one polygon
  SAP_PATCH_GAUSS = 4,
  SAP_PATCH_COARSEST = 2,
  SAP_PATCH_DIRECTIONS = 27,  // 3^3 signs of a normal's components; none has three zeros
  SAP_PATCH_CLUSTERS = 1 + SAP_PATCH_DIRECTIONS,
};

// Nodes and weights of Gauss on [0, 1].
static const double sap_patch_gauss[SAP_PATCH_GAUSS][2] = {
    {0.069431844202973712, 0.173927422568726929},
    {0.330009478207571868, 0.326072577431273071},
    {0.669990521792428132, 0.326072577431273071},
    {0.930568155797026288, 0.173927422568726929}};

// How curved a side of a shape is.
typedef struct sap_patch_depth {
  double d;     // [m], < 0 outside
  double m[3];  // -grad d, world axes
  double
      foot[3];   // of curved sides: nearest point of the shape's core, from the shape's centre [m]
  int32_t side;  // number of the facet
  bool curved;
} sap_patch_depth;

// Part of the contact surface: a polygon, or a sample of a curved surface.
typedef struct sap_patch_piece {
  double n[3];            // unit, from A into B: along alpha m_A - beta m_B, whose norm is `steep`
  double m[2][3], steep;  // outward normals (-grad d) of both sides
  double area, force;     // integrals of 1 and of p [m^2], [N]
  double y[3];            // of a sample: where it acts in the second moments [m]
  int32_t first, count;   // its corners; 1: a sample
  int32_t direction;      // of its facet, where there are clusters
} sap_patch_piece;

typedef struct sap_patch_corner {
  double x[3];  // from A's centre, world axes [m]
  double p;     // [Pa]
} sap_patch_corner;

typedef struct sap_patch_polygon {
  int32_t count;
  double round_off;  // [m]
  double x[SAP_PATCH_SIDES][3];
  int32_t label[SAP_PATCH_SIDES];  // of the edge from corner i to i + 1
} sap_patch_polygon;

// Points of a cluster.
typedef struct sap_patch_cluster {
  sap_manifold points;
  int32_t features[SAP_PATCH_POINTS];  // numbers that last while the patch does, ascending
  double stiffness[SAP_PATCH_POINTS];  // k_j [N/m]
  double area, force;                  // [m^2], [N]
  double torsion;                      // that the points lack: all of one point's, the integral of
                                       // p |x - centre| over the force [m]
} sap_patch_cluster;

typedef struct sap_patch_surface {
  sap_pool* pool;  // of the planes
  const sap_placed_shape* shape[2];
  double centre[2][3];      // from A's centre [m]
  double alpha, beta;       // see above
  double kappa[2], series;  // [Pa/m]; infinite: rigid
  double x0[3];             // a point in both shapes [m]
  double N[3];              // rough normal, from A into B
  double depth;             // of the surfaces where they are deepest [m] > 0
  double deepest;           // of the triangles found so far in the other shape [m]
  double found_depth;       // `depth` as it was found, where the motion had brought the shapes [m]
  double (*planes[2])[4];   // {m, b} of the facets, of d = b - m . x from A's centre
  int32_t nplanes[2];
  int32_t npieces, ncorners;
  int coarse;      // as many facets touch: 1: few samples; 2: one
  int ruler;       // the shape whose facets make clusters, the stiffer one; -1: none is flat
  bool one_plane;  // makes one cluster only
  sap_patch_piece pieces[SAP_PATCH_PIECES];
  sap_patch_corner corners[SAP_PATCH_CORNERS];
  int32_t npatches;  // the result, ascending by features
  sap_patch_cluster patches[SAP_PATCH_CLUSTERS];
} sap_patch_surface;

// Finds the depth of the point x, from the centre of a plane or a curved shape in world axes.
void sap_patch_find_depth(const sap_placed_shape* shape, const double x[3], sap_patch_depth* out);

// The same for each shape of the surface; x: from A's centre. Flat ones have their planes.
void sap_patch_find_depth_at(const sap_patch_surface* s, int shape, const double x[3],
                             sap_patch_depth* out);

// Returns a number > 0 at x where the curved shape's side i is the nearest one, not k; x: in world
// axes, from where `centre` is its centre.
double sap_patch_side_gap(const sap_placed_shape* shape, int32_t i, int32_t k,
                          const double centre[3], const double x[3]);

// Returns true if all sides are planes.
static inline bool sap_patch_is_flat(const sap_placed_shape* shape) {
  return shape->type == SAP_SHAPE_PLANE || shape->type == SAP_SHAPE_BOX ||
         shape->type == SAP_SHAPE_MESH;
}
// Sets the planes of a flat shape; returns their number.
int32_t sap_patch_set_planes(const sap_placed_shape* shape, const double centre[3],
                             double (*planes)[4]);

// Sets m, n and steep of a piece.
void sap_patch_set_normals(const sap_patch_surface* s, const double m_A[3], const double m_B[3],
                           sap_patch_piece* piece);
// Sets the face of a facet: the edges are labelled by the other facets, < 0: not an edge. half: of
// the square about x0 beyond which it is cut [m]. Returns false if there is none, or it is too
// large.
bool sap_patch_set_face(const sap_patch_surface* s, int side, int32_t facet, double half,
                        sap_patch_polygon* face);
// Add the polygons of two flat shapes, the samples of a flat and a curved one, of two curved ones.
// Return false where there are none, or more than there is room for.
bool sap_patch_add_polygons(sap_patch_surface* s);
bool sap_patch_add_facets(sap_patch_surface* s);
bool sap_patch_add_samples(sap_patch_surface* s);
// Makes the clusters of all pieces and their points; false if there are none.
bool sap_patch_set_clusters(sap_patch_surface* s);

// Adds the part of the first facet of a flat shape that is in a curved one.
bool sap_patch_add_facet(sap_patch_surface* s, int flat);
// Adds the part of a rigid triangle with the normal n that is in a flat shape.
bool sap_patch_add_triangle(sap_patch_surface* s, int side, const double x[3][3],
                            const double n[3]);
// Sets the point of the plane that is below the point of the curved shape's core farthest beyond it,
// or on the way there. Returns false if the shape does not meet the plane.
bool sap_patch_meet(const sap_patch_surface* s, int shape, const double plane[4], double x[3]);
// Sets the parts of the way from a between which it lies in the shape, at d = 0 or at its ends.
// False: it does not.
bool sap_patch_cut(const sap_patch_surface* s, int shape, const double a[3], const double way[3],
                   double t[2]);
// Adds the triangles of a rigid shape, a mesh that is not convex; sets the depth.
bool sap_patch_add_mesh(sap_patch_surface* s, int side);

// Triangles of a mesh that is not convex, in a tree of bounding boxes.
typedef struct sap_patch_mesh {
  double (*corners)[9];  // of the triangles, from the hull's centre in the mesh's axes [m]
  int32_t nnodes;
  struct sap_patch_node* nodes;  // a parent before its children
} sap_patch_mesh;
// Makes the tree of a hull with triangles in the pool. centre: the hull's.
sap_status sap_patch_mesh_create(const sap_hull* source, const double centre[3], sap_pool* pool,
                                 sap_patch_mesh** out, sap_error* error);

// Returns true if a shape touches the other one, which has a field, in its triangles.
static inline bool sap_patch_has_triangles(const sap_placed_shape* shape, double kappa) {
  return shape->type == SAP_SHAPE_MESH && shape->hull->triangles != NULL && isinf(kappa);
}

// Makes the patches of two shapes that overlap in the manifold's points, and their depth: p on the
// surface, phi = -f/k. kappa: of each shape, INFINITY: rigid, at most one. Triangles need no manifold.
// Returns false if there are none.
bool sap_patch_find(sap_patch_surface* s, const sap_placed_shape* a, const sap_placed_shape* b,
                    const double kappa[2], const sap_manifold* manifold);
// Returns the area of all patches [m^2].
double sap_patch_area(const sap_patch_surface* s);

// How large the patches of a pair are where the motion has brought it when they are found.
typedef struct sap_patch_extent {
  double area;   // of all patches [m^2], 0: none
  double depth;  // of the shapes [m]
} sap_patch_extent;
