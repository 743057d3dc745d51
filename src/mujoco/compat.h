// SPDX-License-Identifier: BSD-3-Clause
// Differences between MuJoCo 2.2.2 (Debian 12) and 3.0 to 4.0.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include <mujoco/mujoco.h>

#include <sapstep/model.h>

// mjVERSION_HEADER is 222 for 2.2.2, 330 for 3.3.0 and 3009000 for 3.9.0.
#if mjVERSION_HEADER >= 1000000
#define SAP_MJ_VERSION mjVERSION_HEADER
#else
#define SAP_MJ_VERSION \
  (mjVERSION_HEADER / 100 * 1000000 + mjVERSION_HEADER / 10 % 10 * 1000 + mjVERSION_HEADER % 10)
#endif
#define SAP_MJ_SINCE(major, minor, patch) \
  (SAP_MJ_VERSION >= (major)*1000000 + (minor)*1000 + (patch))

// mju_warningText takes an int in old versions, a size_t in new ones.
static inline const char* sap_mj_warning_text(const mjData* d, int kind) {
  const int info = d->warning[kind].lastinfo;
  return mju_warningText(kind, _Generic(&mju_warningText, const char* (*)(int, int)
                                        : info, default
                                        : (size_t)info));
}

// Nonzeros of a row of a Jacobian; columns NULL: the row is dense.
typedef struct sap_mj_row {
  int32_t count;
  const int* columns;    // (count)
  const mjtNum* values;  // (count)
} sap_mj_row;

// Returns a row of MuJoCo's constraint Jacobian.
static inline sap_mj_row sap_mj_constraint_row(const mjModel* m, const mjData* d, int32_t row) {
  if (mj_isSparse(m)) {
    const int first = d->efc_J_rowadr[row];
    return (sap_mj_row){d->efc_J_rownnz[row], d->efc_J_colind + first, d->efc_J + first};
  }
  return (sap_mj_row){(int32_t)m->nv, NULL, d->efc_J + (size_t)row * (size_t)m->nv};
}

static inline sap_mj_row sap_mj_tendon_row(const mjModel* m, const mjData* d, int32_t tendon) {
#if SAP_MJ_SINCE(3, 6, 0)
  const int first = m->ten_J_rowadr[tendon];
  return (sap_mj_row){m->ten_J_rownnz[tendon], m->ten_J_colind + first, d->ten_J + first};
#else
  if (mj_isSparse(m)) {
    const int first = d->ten_J_rowadr[tendon];
    return (sap_mj_row){d->ten_J_rownnz[tendon], d->ten_J_colind + first, d->ten_J + first};
  }
  return (sap_mj_row){(int32_t)m->nv, NULL, d->ten_J + (size_t)tendon * (size_t)m->nv};
#endif
}

// Returns the moment arms of a force output.
static inline sap_mj_row sap_mj_moment_row(const mjModel* m, const mjData* d, int32_t output) {
#if SAP_MJ_SINCE(3, 2, 5)
  const int first = d->moment_rowadr[output];
  (void)m;
  return (sap_mj_row){d->moment_rownnz[output], d->moment_colind + first,
                      d->actuator_moment + first};
#else
  return (sap_mj_row){(int32_t)m->nv, NULL, d->actuator_moment + (size_t)output * (size_t)m->nv};
#endif
}

// Actuators and their force outputs: one each before MuJoCo 3.11.
#if SAP_MJ_SINCE(3, 11, 0)
#define SAP_MJ_ACTUATORS(m) ((int32_t)(m)->nactuator)
#define SAP_MJ_OUTPUTS(m) ((int32_t)(m)->nout)
#define SAP_MJ_FIRST_OUTPUT(m, actuator) ((int32_t)(m)->actuator_outadr[actuator])
#define SAP_MJ_OUTPUTS_OF(m, actuator) ((int32_t)(m)->actuator_outnum[actuator])
#else
#define SAP_MJ_ACTUATORS(m) ((int32_t)(m)->nu)
#define SAP_MJ_OUTPUTS(m) ((int32_t)(m)->nu)
#define SAP_MJ_FIRST_OUTPUT(m, actuator) (actuator)
#define SAP_MJ_OUTPUTS_OF(m, actuator) 1
#endif

static inline int32_t sap_mj_contact_geom(const mjContact* contact, int32_t side) {
  return side == 0 ? contact->geom1 : contact->geom2;
}

// Combines margins or gaps of two geoms: their sum, or the larger one before MuJoCo 3.5.
#if SAP_MJ_SINCE(3, 5, 0)
#define SAP_MJ_COMBINE(x, y) ((x) + (y))
#else
#define SAP_MJ_COMBINE(x, y) fmax(x, y)
#endif

// Returns a bound on the radius of the smaller geom of a contact; planes have none.
static inline double sap_mj_pair_size(const mjModel* m, const mjContact* c) {
  const double r1 = m->geom_rbound[c->geom1], r2 = m->geom_rbound[c->geom2];
  return fmin(r1 > 0.0 ? r1 : HUGE_VAL, r2 > 0.0 ? r2 : HUGE_VAL);
}

// Returns the number of rows; a pyramidal cone has two for each direction of friction.
static inline int32_t sap_mj_contact_row_count(const mjModel* m, const mjContact* contact) {
  return mj_isPyramidal(m) && contact->dim > 1 ? 2 * (contact->dim - 1) : contact->dim;
}

// Collides the two geoms of a contact; `found` has room for mjMAXCONPAIR contacts like it, of which
// only dist, pos and the normal are set. Returns how many there are.
static inline int32_t sap_mj_collide(const mjModel* m, mjData* d, const mjContact* like,
                                     mjtNum margin, mjContact* found) {
  const int g1 = like->geom1, g2 = like->geom2;
  const mjfCollision function = mjCOLLISIONFUNC[m->geom_type[g1]][m->geom_type[g2]];
#if SAP_MJ_SINCE(3, 9, 0)
  mjPreContact made[mjMAXCONPAIR];
#else
  mjContact made[mjMAXCONPAIR];
#endif
  const int32_t count = function != NULL ? function(m, d, made, g1, g2, margin) : 0;
  for (int32_t i = 0; i < count; ++i) {
    found[i] = *like;
    found[i].dist = made[i].dist;
    mju_copy3(found[i].pos, made[i].pos);
#if SAP_MJ_SINCE(3, 9, 0)
    mju_copy3(found[i].frame, made[i].normal);
#else
    mju_copy3(found[i].frame, made[i].frame);
#endif
  }
  return count;
}

// Nonzeros of M: their number and values.
#if SAP_MJ_SINCE(3, 9, 0)
#define SAP_MJ_MASS_COUNT(m) ((int32_t)(m)->nC)
#define SAP_MJ_MASS(d) ((d)->M)
#else
#define SAP_MJ_MASS_COUNT(m) ((int32_t)(m)->nM)
#define SAP_MJ_MASS(d) ((d)->qM)
#endif

// Flags that turn off springs and dampers: a common one before MuJoCo 3.3.6.
#if SAP_MJ_SINCE(3, 3, 6)
enum { SAP_MJ_NO_SPRINGS = mjDSBL_SPRING, SAP_MJ_NO_DAMPERS = mjDSBL_DAMPER };
#else
enum { SAP_MJ_NO_SPRINGS = mjDSBL_PASSIVE, SAP_MJ_NO_DAMPERS = mjDSBL_PASSIVE };
#endif

// Returns true if a spring or damper has no coefficient but the first.
static inline bool sap_mj_is_linear(const mjtNum* higher) {
  bool linear = true;
#if SAP_MJ_SINCE(3, 7, 0)
  for (int i = 0; i < mjNPOLY; ++i) {
    linear = linear && higher[i] == 0.0;
  }
#else
  (void)higher;
#endif
  return linear;
}

// Returns -dF/dx, at least 0, at displacement x of a spring
//   F = -(a x + b x^2 + c x^3 + ...)
static inline double sap_mj_stiffness(double a, const mjtNum* higher, double x) {
  double slope = a;
#if SAP_MJ_SINCE(3, 7, 0)
  double power = 1.0;
  for (int i = 0; !sap_mj_is_linear(higher) && i < mjNPOLY; ++i) {
    power *= x;
    slope += (double)(i + 2) * higher[i] * power;
  }
#else
  (void)higher;
  (void)x;
#endif
  return slope > 0.0 ? slope : 0.0;
}

// Returns -dF/dv, at least 0, of a damper
//   F = -(a v + b v |v| + c v^3 + ...)
static inline double sap_mj_damping(double a, const mjtNum* higher, double v) {
  return sap_mj_stiffness(a, higher, v < 0.0 ? -v : v);
}

// Evaluates d->energy from current kinematics, tendons and M. 2.2.2 needs the enable flag for it.
static inline void sap_mj_measure_energy(const mjModel* m, mjData* d) {
#if SAP_MJ_SINCE(3, 0, 0)
  const mjModel* asking = m;
#else
  mjModel copy = *m;
  copy.opt.enableflags |= mjENBL_ENERGY;
  const mjModel* asking = &copy;
#endif
  mj_energyPos(asking, d);
  mj_energyVel(asking, d);
}

// Returns the type of a geom's shape; height fields and signed distance fields are meshes.
static inline sap_shape_type sap_mj_shape_type(int type) {
  static const sap_shape_type types[] = {[mjGEOM_PLANE] = SAP_SHAPE_PLANE,
                                         [mjGEOM_HFIELD] = SAP_SHAPE_MESH,
                                         [mjGEOM_SPHERE] = SAP_SHAPE_SPHERE,
                                         [mjGEOM_CAPSULE] = SAP_SHAPE_CAPSULE,
                                         [mjGEOM_ELLIPSOID] = SAP_SHAPE_ELLIPSOID,
                                         [mjGEOM_CYLINDER] = SAP_SHAPE_CYLINDER,
                                         [mjGEOM_BOX] = SAP_SHAPE_BOX};
  return type <= mjGEOM_BOX ? types[type] : SAP_SHAPE_MESH;
}

#if SAP_MJ_SINCE(3, 7, 0)
#define SAP_MJ_HIGHER(array, index) ((array) + (index)*mjNPOLY)
#else
#define SAP_MJ_HIGHER(array, index) ((const mjtNum*)NULL)
#endif
