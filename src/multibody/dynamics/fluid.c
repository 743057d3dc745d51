// SPDX-License-Identifier: BSD-3-Clause
// Forces of the medium (MuJoCo's documentation, "Fluid forces"), per part in its own axes. w and u
// are its angular and linear velocity relative to the medium, rho and eta density and viscosity.
//   box, sides b    m_i = -pi eta d^3 w_i - rho b_i (b_j^4 + b_k^4)/64 |w_i| w_i,  d = mean of b
//                   f_i = -3 pi eta d u_i - rho/2 b_j b_k |u_i| u_i
//   ellipsoid r     f = rho V C_M w x u                                                  (Magnus)
//                     + rho C_K cos a A_p ((n x u) x u),  n the normal of the section A_p  (Kutta)
//                     - (3 pi eta d + rho |u| (A_p C_b + C_s (A_max - A_p))) u             (drag)
//                     + (m_v u) x w,  m_v the virtual masses
//                   m = -(pi eta d^3 + rho |C_a I w + C_s (I_max - I) w|) w
//                     + (m_v u) x u + (I_v w) x w
//   with n = (r_j^2 r_k^2 u_i), A_p = pi sqrt(sum r_j^4 r_k^4 u_i^2 / sum r_j^2 r_k^2 u_i^2)
// D contains the drag only, with A_p held constant: f = -c |x| x has c (|x| 1 + x x'/|x|).
#include "multibody/dynamics/fluid.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "core/error.h"
#include "linalg/dense.h"
#include "math/quaternion.h"
#include "math/scalar.h"
#include "multibody/dynamics/derivatives.h"
#include "multibody/dynamics/dynamics_data.h"

// Below this mass [kg] and squared length [m^2] a body has no box.
#define LEAST 1e-15

static double pow4(double x) {
  return x * x * x * x;
}

// R_D(x, y, z) = 3/2 int_0^inf dt/((t + z) sqrt((t + x)(t + y)(t + z))) by Carlson's duplication
// (Numer. Math. 33, 1979). The final series has an error of 3 tolerance^6.
static double carlson_rd(double x, double y, double z) {
  static const double tolerance = 1e-3;
  double sum = 0.0, factor = 1.0, mean, X, Y, Z;
  do {
    const double lambda = sqrt(x * y) + sqrt(x * z) + sqrt(y * z);
    sum += factor / (sqrt(z) * (z + lambda));
    factor *= 0.25;
    x = 0.25 * (x + lambda);
    y = 0.25 * (y + lambda);
    z = 0.25 * (z + lambda);
    mean = 0.2 * (x + y + 3.0 * z);
    X = 1.0 - x / mean;
    Y = 1.0 - y / mean;
    Z = 1.0 - z / mean;
  } while (fmax(fmax(fabs(X), fabs(Y)), fabs(Z)) > tolerance);
  const double a = X * Y, b = Z * Z, c = a - b, d = a - 6.0 * b, e = d + c + c;
  const double series = 1.0 + d * (-3.0 / 14.0 + 9.0 / 88.0 * d - 4.5 / 26.0 * Z * e) +
                        Z * (1.0 / 6.0 * e + Z * (-9.0 / 22.0 * c + Z * 3.0 / 26.0 * a));
  return 3.0 * sum + factor * series / (mean * sqrt(mean));
}

// Virtual masses and inertias: potential flow about an ellipsoid (Lamb, Hydrodynamics, art. 114
// and 373).
static void set_virtual(sap_fluid_part* part, double density) {
  const double* r = part->size;
  const double volume = 4.0 / 3.0 * SAP_PI * r[0] * r[1] * r[2];
  double kappa[3], square[3];
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    square[i] = r[i] * r[i];
    kappa[i] = r[0] * r[1] * r[2] * 2.0 / 3.0 * carlson_rd(r[j] * r[j], r[k] * r[k], square[i]);
  }
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    const double difference = square[j] - square[k];
    const double below = fabs(2.0 * difference + (square[j] + square[k]) * (kappa[j] - kappa[k]));
    const double factor = difference * difference * fabs(kappa[k] - kappa[j]) / fmax(LEAST, below);
    part->virtual_inertia[i] = density * volume * factor / 5.0;
    part->virtual_inertia[3 + i] = density * volume * kappa[i] / fmax(LEAST, 2.0 - kappa[i]);
  }
}

static void set_viscous(sap_fluid_part* part, double diameter, double viscosity) {
  part->viscous[0] = SAP_PI * diameter * diameter * diameter * viscosity;
  part->viscous[1] = 3.0 * SAP_PI * diameter * viscosity;
}

static void make_ellipsoid(const sap_model* model, const sap_shape_def* shape,
                           sap_fluid_part* part) {
  const double density = model->options.fluid_density;
  const double* c = shape->fluid_coefficients;
  double* r = part->size;
  part->body = shape->body;
  part->ellipsoid = true;
  sap_v3_copy(part->p_BF, shape->p_BS);
  sap_quaternion_to_matrix(part->R_BF, shape->q_BS);
  sap_v3_copy(r, shape->size);
  if (shape->type == SAP_SHAPE_SPHERE) {
    r[1] = r[2] = r[0];
  } else if (shape->type == SAP_SHAPE_CAPSULE || shape->type == SAP_SHAPE_CYLINDER) {
    r[2] = r[1] + (shape->type == SAP_SHAPE_CAPSULE ? r[0] : 0.0);
    r[1] = r[0];
  }
  set_viscous(part, 2.0 / 3.0 * (r[0] + r[1] + r[2]), model->options.fluid_viscosity);
  set_virtual(part, density);
  for (int i = 0; i < 3; ++i) {
    part->drag[i] = density * c[i];
  }
  part->lift[0] = density * c[3];
  part->lift[1] = density * c[4] * 4.0 / 3.0 * SAP_PI * r[0] * r[1] * r[2];
}

// Finds principal moments and axes R_BF. Jacobi's rotations begin at the body's frame I, which they
// leave as it is where the inertia is diagonal in it: equal moments leave the axes open.
static void find_principal(const sap_model_body* body, double moments[3], double R_BF[9]) {
  static const double rounding = 1e-12;  // of the largest moment, as MuJoCo's, which is absolute
  double R_BI[9], R_IB[9], q_BI[4], q_IB[4], I[6], V[9];
  memcpy(q_BI, body->q_BI, sizeof q_BI);
  if (!sap_quaternion_normalize(q_BI)) {  // zero: the body's axes
    memcpy(q_BI, (double[]){1.0, 0.0, 0.0, 0.0}, sizeof q_BI);
  }
  sap_quaternion_to_matrix(R_BI, q_BI);
  sap_quaternion_conjugate(q_IB, q_BI);
  sap_quaternion_to_matrix(R_IB, q_IB);
  sap_m3_rotate_packed(I, R_IB, body->I_BCo_B);
  const double largest = fmax(fmax(I[0], I[1]), I[2]);
  for (int i = 3; i < 6; ++i) {
    I[i] = fabs(I[i]) > rounding * largest ? I[i] : 0.0;
  }
  sap_symmetric3_eigen(I, moments, V);
  sap_m3_mul(R_BF, R_BI, V);
}

// False: the body has no mass.
static bool make_box(const sap_model* model, int32_t id, sap_fluid_part* part) {
  const sap_model_body* body = &model->bodies[id];
  const double density = model->options.fluid_density;
  double moments[3], *b = part->size;
  if (!(body->mass >= LEAST)) {
    return false;
  }
  part->body = id;
  part->isotropic = density == 0.0;
  sap_v3_copy(part->p_BF, body->p_BCo);
  find_principal(body, moments, part->R_BF);
  const double sum = moments[0] + moments[1] + moments[2];
  for (int i = 0; i < 3; ++i) {
    b[i] = sqrt(fmax(LEAST, sum - 2.0 * moments[i]) / body->mass * 6.0);
  }
  set_viscous(part, (b[0] + b[1] + b[2]) / 3.0, model->options.fluid_viscosity);
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    part->quadratic[i] = density * b[i] * (pow4(b[j]) + pow4(b[k])) / 64.0;
    part->quadratic[3 + i] = 0.5 * density * b[j] * b[k];
  }
  return true;
}

sap_status sap_fluid_create(const sap_model* model, sap_pool* pool, sap_fluid* fluid,
                            sap_error* error) {
  const sap_model_options* options = &model->options;
  if (!(options->fluid_density > 0.0 || options->fluid_viscosity > 0.0)) {
    return SAP_STATUS_OK;
  }
  const size_t bodies = (size_t)model->sizes.bodies;
  bool* covered = NULL;
  SAP_TRY(SAP_POOL_ADD(pool, &fluid->parts, bodies + (size_t)model->sizes.shapes, error));
  SAP_TRY(SAP_POOL_ADD(pool, &covered, bodies, error));
  SAP_TRY(SAP_POOL_ADD(pool, &fluid->drags, bodies, error));
  SAP_EACH(const sap_shape_def, shape, model->shapes, model->sizes.shapes) {
    if (shape->fluid_ellipsoid && model->bodies[shape->body].tree >= 0) {
      make_ellipsoid(model, shape, &fluid->parts[fluid->count++]);
      covered[shape->body] = true;
    }
  }
  for (int32_t b = 1; b < model->sizes.bodies; ++b) {
    if (model->bodies[b].tree >= 0 && !covered[b] &&
        make_box(model, b, &fluid->parts[fluid->count])) {
      ++fluid->count;
    }
  }
  return SAP_STATUS_OK;
}

static void box_law(const sap_fluid_part* part, const double x[6], double force[6], double D[36]) {
  for (int i = 0; i < 6; ++i) {
    const double viscous = part->viscous[i / 3], speed = part->quadratic[i] * fabs(x[i]);
    force[i] = -(viscous + speed) * x[i];
    if (D != NULL) {
      D[7 * i] = viscous + 2.0 * speed;
    }
  }
}

// Sets the block of D at `first` for the drag (c + rate) x with rate ~ |x|.
static void drag_block(double c, double rate, const double x[3], int first, double D[36]) {
  const double square = sap_v3_dot(x, x);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      const double along = square > DBL_MIN ? rate / square * x[i] * x[j] : 0.0;
      D[6 * (first + j) + first + i] = (i == j ? c + rate : 0.0) + along;
    }
  }
}

// Adds the force of the medium that moves along: virtual momenta turn with the part.
static void add_virtual(const sap_fluid_part* part, const double w[3], const double u[3],
                        double force[6]) {
  double P[3], L[3], x[3];
  for (int i = 0; i < 3; ++i) {
    L[i] = part->virtual_inertia[i] * w[i];
    P[i] = part->virtual_inertia[3 + i] * u[i];
  }
  sap_v3_cross(x, P, w);
  sap_v3_add(force + 3, force + 3, x);
  sap_v3_cross(x, P, u);
  sap_v3_add(force, force, x);
  sap_v3_cross(x, L, w);
  sap_v3_add(force, force, x);
}

// Adds Kutta's and Magnus' lift; returns the area of the section across u.
static double add_lift(const sap_fluid_part* part, const double w[3], const double u[3],
                       double force[6]) {
  const double* r = part->size;
  double n[3], x[3], above = 0.0, below = 0.0;
  for (int i = 0; i < 3; ++i) {
    const double area = r[(i + 1) % 3] * r[(i + 2) % 3];
    n[i] = area * area * u[i];
    above += n[i] * n[i];
    below += n[i] * u[i];
  }
  const double section = SAP_PI * sqrt(above / fmax(LEAST, below));
  const double cosine = below / fmax(LEAST, sap_v3_norm(u) * above);
  sap_v3_cross(x, n, u);
  sap_v3_cross(x, x, u);
  sap_v3_add_scaled(force + 3, x, part->lift[0] * cosine * section);
  sap_v3_cross(x, w, u);
  sap_v3_add_scaled(force + 3, x, part->lift[1]);
  return section;
}

static void ellipsoid_law(const sap_fluid_part* part, const double x[6], double force[6],
                          double D[36]) {
  const double *r = part->size, *w = x, *u = x + 3;
  const double most = fmax(fmax(r[0], r[1]), r[2]), least = fmin(fmin(r[0], r[1]), r[2]);
  const double middle = r[0] + r[1] + r[2] - most - least;
  const double largest = 8.0 / 15.0 * SAP_PI * middle * pow4(most);
  double turning[3];
  memset(force, 0, 6 * sizeof *force);
  for (int i = 0; i < 3; ++i) {
    const double other = fmax(r[(i + 1) % 3], r[(i + 2) % 3]);
    const double I = 8.0 / 15.0 * SAP_PI * r[i] * pow4(other);
    turning[i] = (part->drag[2] * I + part->drag[1] * (largest - I)) * w[i];
  }
  const double section = add_lift(part, w, u, force);
  const double area = SAP_PI * most * middle;
  const double angular = sap_v3_norm(turning);
  const double linear =
      sap_v3_norm(u) * (part->drag[0] * section + part->drag[1] * (area - section));
  sap_v3_add_scaled(force, w, -(part->viscous[0] + angular));
  sap_v3_add_scaled(force + 3, u, -(part->viscous[1] + linear));
  add_virtual(part, w, u, force);
  if (D != NULL) {
    drag_block(part->viscous[0], angular, w, 0, D);
    drag_block(part->viscous[1], fmax(linear, 0.0), u, 3, D);
  }
}

void sap_fluid_law(const sap_fluid_part* part, const double motion[6], double force[6],
                   double D[36]) {
  if (D != NULL) {
    memset(D, 0, 36 * sizeof *D);
  }
  (part->ellipsoid ? ellipsoid_law : box_law)(part, motion, force, D);
}

// Where a part is.
typedef struct part_place {
  int32_t link;
  double R_WF[9], r[3];  // its axes, which an isotropic part needs not; its origin from O
} part_place;

// Force of the medium, in world axes, on a part with the velocities in d->V, and D in F's axes,
// unless it is NULL or the part is isotropic.
static void evaluate_part(const sap_dynamics* d, const sap_kinematics* kin,
                          const sap_fluid_part* part, part_place* place, double force[6],
                          double D[36]) {
  const sap_model_body* body = &d->model->bodies[part->body];
  place->link = d->link_of[body->weld];
  const double* V = d->V[place->link];
  double u[3], motion[6], local[6];
  sap_kinematics_point(kin, part->body, part->p_BF, place->r);
  sap_v3_sub(place->r, place->r, kin->p_WB + 3 * (size_t)d->tree_root[body->tree]);
  sap_spatial_velocity_at(u, V, place->r);
  sap_v3_sub(u, u, d->model->options.wind);
  if (part->isotropic) {
    sap_v3_scale(force, V, -part->viscous[0]);
    sap_v3_scale(force + 3, u, -part->viscous[1]);
    return;
  }
  sap_m3_mul(place->R_WF, kin->R_WB + 9 * (size_t)part->body, part->R_BF);
  sap_m3_tmul_v3(motion, place->R_WF, V);
  sap_m3_tmul_v3(motion + 3, place->R_WF, u);
  sap_fluid_law(part, motion, local, D);
  sap_m3_mul_v3(force, place->R_WF, local);
  sap_m3_mul_v3(force + 3, place->R_WF, local + 3);
}

// Sets the velocities of all links about O.
static void set_velocities(sap_dynamics* d, const sap_dynamics_state* at) {
  for (int32_t l = 0; l < d->nlinks; ++l) {
    sap_dynamics_set_velocity(d, at, l);
  }
}

void sap_dynamics_push_fluid(sap_dynamics* d, const sap_dynamics_state* at, const bool* trees,
                             double sign, double* tau) {
  SAP_EACH(const sap_fluid_part, part, d->fluid.parts, d->fluid.count) {
    const int32_t l = d->link_of[d->model->bodies[part->body].weld];
    const sap_link* link = &d->links[l];
    if (trees != NULL && !trees[link->tree]) {
      continue;
    }
    if (link->lone) {
      sap_dynamics_set_velocity(d, at, l);
    }
    part_place place;
    double wrench[6], arm[3];
    evaluate_part(d, at->kin, part, &place, wrench, NULL);
    sap_v3_cross(arm, place.r, wrench + 3);
    sap_v3_add(wrench, wrench, arm);
    if (link->lone) {
      sap_v3_add_scaled(tau + link->first_dof, wrench + 3, sign);
      sap_m3_tmul_v3(arm, at->kin->R_WB + 9 * (size_t)link->body, wrench);
      sap_v3_add_scaled(tau + link->first_dof + 3, arm, sign);
    } else {
      sap_spatial_add_scaled(d->F[l], wrench, sign);
    }
  }
}

void sap_dynamics_add_fluid(sap_dynamics* d, const sap_dynamics_state* at, double sign, double* k) {
  const int32_t nv = d->fluid.count > 0 ? d->model->sizes.nv : 0;
  if (nv > 0) {
    set_velocities(d, at);
    memset(d->F, 0, (size_t)d->nlinks * sizeof *d->F);
    memset(d->force, 0, (size_t)nv * sizeof *d->force);
    sap_dynamics_push_fluid(d, at, NULL, sign, d->force);
    sap_dynamics_gather_forces(d, at->kin, NULL, d->force);
  }
  for (int32_t i = 0; i < nv; ++i) {
    k[i] += d->force[i];
  }
}

// Adds scale times a part's drag, moved to O:
//   a = R D_w R' - r~ c r~,  b = r~ c,  c = R D_u R'
static void add_drag(const sap_fluid_part* part, const part_place* place, const double D[36],
                     double scale, double* drag) {
  const double *r = place->r, *T = D + 21;
  if (part->isotropic) {
    const double c = scale * part->viscous[1], moved = scale * part->viscous[0];
    const double square = sap_v3_dot(r, r);
    double* b = drag + SAP_DRAG_B;
    for (int i = 0; i < 3; ++i) {
      const int j = (i + 1) % 3, k = (i + 2) % 3;
      drag[i] += moved + c * (square - r[i] * r[i]);
      drag[3 + i] -= c * r[i == 2] * r[i == 0 ? 1 : 2];
      drag[SAP_DRAG_C + i] += c;
      b[3 * k + j] -= c * r[i];
      b[3 * j + k] += c * r[i];
    }
    return;
  }
  double a[6] = {D[0], D[7], D[14], D[1], D[2], D[8]};
  double c[6] = {T[0], T[7], T[14], T[1], T[2], T[8]}, b[9];
  sap_m3_rotate_packed(a, place->R_WF, a);
  sap_m3_rotate_packed(c, place->R_WF, c);
  const double columns[9] = {c[0], c[3], c[4], c[3], c[1], c[5], c[4], c[5], c[2]};
  for (int k = 0; k < 3; ++k) {
    sap_v3_cross(b + 3 * k, r, columns + 3 * k);
  }
  // Row i of b r~ is -r x (row i of b).
  const double br[6] = {b[3] * r[2] - b[6] * r[1], b[7] * r[0] - b[1] * r[2],
                        b[2] * r[1] - b[5] * r[0], b[6] * r[0] - b[0] * r[2],
                        b[0] * r[1] - b[3] * r[0], b[1] * r[1] - b[4] * r[0]};
  for (int i = 0; i < 6; ++i) {
    drag[i] += scale * (a[i] - br[i]);
    drag[SAP_DRAG_C + i] += scale * c[i];
  }
  for (int i = 0; i < 9; ++i) {
    drag[SAP_DRAG_B + i] += scale * b[i];
  }
}

// Adds J' D J of a link's velocities, with the drag of all links beyond it.
static void add_link_damping(const sap_dynamics* d, const sap_kinematics* kin, int32_t l,
                             const sap_tree_matrix* A) {
  const sap_link* link = &d->links[l];
  const double *a = d->fluid.drags[l], *b = a + SAP_DRAG_B, *c = a + SAP_DRAG_C;
  const int32_t first = d->model->tree_dofs[link->tree];
  const size_t n = (size_t)d->model->tree_sizes[link->tree];
  double lone[6][6], (*S)[6] = link->lone ? lone : kin->S + first;
  for (int32_t i = 0; link->lone && i < link->ndofs; ++i) {
    sap_derivatives_direction(kin, first + i, S[i]);
  }
  for (int32_t j = link->first_dof; j < link->first_dof + link->ndofs; ++j) {
    double f[6], x[3];
    const double* Sj = S[j - first];
    double* row = A->diagonal[link->tree] + (j - first);
    sap_symmetric_mul(f, a, Sj);
    sap_m3_mul_v3(x, b, Sj + 3);
    sap_v3_add(f, f, x);
    sap_symmetric_mul(f + 3, c, Sj + 3);
    sap_m3_tmul_v3(x, b, Sj);
    sap_v3_add(f + 3, f + 3, x);
    for (int32_t i = j; i >= 0; i = d->model->dof_parent[i]) {
      row[n * (size_t)(i - first)] += sap_spatial_dot(S[i - first], f);
    }
  }
}

void sap_dynamics_add_fluid_damping(sap_dynamics* d, const sap_dynamics_state* at, double scale,
                                    const sap_tree_matrix* A) {
  if (d->fluid.count == 0) {
    return;
  }
  double(*drags)[SAP_DRAG_SIZE] = d->fluid.drags;
  set_velocities(d, at);
  memset(drags, 0, (size_t)d->nlinks * sizeof *drags);
  for (int32_t i = 0; i < d->fluid.count; ++i) {
    part_place place;
    double force[6], D[36];
    evaluate_part(d, at->kin, &d->fluid.parts[i], &place, force, D);
    add_drag(&d->fluid.parts[i], &place, D, scale, drags[place.link]);
  }
  for (int32_t l = d->nlinks; l-- > 0;) {
    const int32_t parent = d->links[l].parent;
    add_link_damping(d, at->kin, l, A);
    for (int k = 0; parent >= 0 && k < SAP_DRAG_SIZE; ++k) {
      drags[parent][k] += drags[l][k];
    }
  }
}
