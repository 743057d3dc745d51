// SPDX-License-Identifier: BSD-3-Clause
// The workspace of the dynamics.
//
// A link is a body with joints together with the bodies welded to it. A lone link is a single free
// body: its M is constant except for the coupling of translation and rotation, and its equations
// are written in its own axes.
#pragma once

#include <string.h>

#include "core/kernels.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/fluid.h"
#include "multibody/dynamics/forces.h"
#include "multibody/dynamics/kernels.h"
#include "multibody/dynamics/spatial.h"

// --- order of placing ---
// Bodies are placed level by level from the roots. Bodies of one level with the same number of
// hinges and no other joints are placed four at a time, as are the inertias of all links.

// A hinge of each of four bodies.
typedef struct sap_hinge_lanes {
  double axis[3][SAP_QUAD], p_BJ[3][SAP_QUAD], reference[SAP_QUAD];
  int32_t q_start[SAP_QUAD], v_start[SAP_QUAD];
  bool anchored;  // same anchor as the hinge before it
} sap_hinge_lanes;

// Four bodies; unused lanes repeat the first.
typedef struct sap_body_lanes {
  int32_t body[SAP_QUAD], parent[SAP_QUAD], root[SAP_QUAD], tree[SAP_QUAD];
  int32_t first_hinge, nhinges;
  double p_PB[3][SAP_QUAD], q_PB[4][SAP_QUAD];
} sap_body_lanes;

typedef struct sap_link_lanes {
  int32_t link[SAP_QUAD], body[SAP_QUAD], root[SAP_QUAD], tree[SAP_QUAD];
  double mass[SAP_QUAD], h[3][SAP_QUAD], I[6][SAP_QUAD];
} sap_link_lanes;

typedef struct sap_placing {
  int32_t nsteps;
  int32_t* steps;  // a body to place alone, or -1 - index in fours                   (nsteps)
  int32_t nfours, nhinges;
  sap_body_lanes* fours;    //                                                  (nfours)
  sap_hinge_lanes* hinges;  //                                                  (nhinges)
  int32_t nlinks;
  sap_link_lanes* links;  //                                                    (nlinks)
} sap_placing;

// --- workspace ---

typedef struct sap_link {
  int32_t body;
  int32_t parent;  // link; -1: a static body
  int32_t tree;
  int32_t first_dof, ndofs;
  bool lone;                 // only link of its tree, with a free joint
  bool free;                 // has a free joint
  sap_inertia body_inertia;  // with bodies welded to it; about B's origin, B's axes
} sap_link;

typedef struct sap_spring {
  sap_joint_type type;
  int32_t q_start, v_start;
  double stiffness, reference, cubic;
} sap_spring;

// A motor with force = clamp(gain u + bias), bounds of the joint's effort included: alone on a
// joint with an effort range. A loop of their own saves 5 % of the instructions of a step of
// humanoids.
typedef struct sap_simple_motor {
  int32_t id, dof;
  double gear, gain, bias;
  double force_lower, force_upper;
  double input_lower, input_upper;  // bounds of u
} sap_simple_motor;

// Servos along one length x, see servos.c: an effort f, gears included.
typedef struct sap_servo {
  int32_t id;     // the actuator, the first of those of a bound
  int32_t count;  // entries of J
  int32_t* dofs;
  double *J, x0;
  int32_t bound;  // see actuators.h: of the servos that act here as one; -1: one servo
  sap_actuator_line law;
  bool linear;  // within its bounds
} sap_servo;

// A force element that may have a force: kind (forces.h) and id.
typedef struct sap_elastic {
  int32_t kind, id;
} sap_elastic;

struct sap_dynamics {
  const sap_model* model;
  const sap_dynamics_kernels* kernels;
  sap_pool pool;  // holds all arrays
  int32_t nlinks;
  sap_link* links;   // parents before children                                (nlinks)
  int32_t* link_of;  // by the first body of a weld group                        (bodies)
  sap_placing placing;
  bool* hinged;         // moving bodies with hinges only, on a moving parent    (bodies)
  bool* tree_lone;      //                                                        (trees)
  bool* tree_free;      // its first joint is a free one                          (trees)
  int32_t* tree_root;   // first body                                             (trees)
  int32_t* tree_q;      // first coordinate, then nq                              (trees + 1)
  int32_t nsprings;     // joints with a spring
  sap_spring* springs;  //                                                        (nsprings)
  double* damping;      // of each dof                                            (nv)
  double* armature;     // of each dof                                            (nv)
  // Velocities held at zero, at first those of the joints that the model locks; the engine may
  // change them. Rows and Jacobians have no entries there.                               (nv)
  bool* locked;
  int32_t nmotors;           // simple ones
  sap_simple_motor* motors;  //                                                  (actuators)
  int32_t nother_actuators;  // all others: servos are among them
  int32_t* other_actuators;  //                                                  (actuators)
  int32_t nservos;           // that the step under way, or the last one, looked at
  sap_servo* servos;         //                                            (nother_actuators)
  int32_t* servo_of;         // index in servos, -1; valid if nservos > 0        (actuators)
  int32_t nfloating;         // bodies with gravity compensation
  int32_t* floating;         //                                                        (bodies)

  // Applied forces.
  bool any_applied;
  double* applied;               //                                              (nv)
  sap_applied_wrench* wrenches;  //                                              (bodies)

  // Force elements.
  int32_t nelastic;
  sap_elastic* elastic;  // by kind, then id                                      (nelastic)
  int32_t ncouplings;
  int32_t (*couplings)[2];  // trees a < b, sorted                                (ncouplings)
  bool* spring_active;      // switches, all on at first                          (springs)
  bool* actuator_active;    //                                                    (actuators)
  bool* bushing_active;     //                                                    (bushings)
  sap_fluid fluid;          // the medium
  sap_rows rows;            // of the force element being evaluated

  // Scratch.
  sap_inertia* composite;  //                                                      (nlinks)
  double (*V)[6];          // velocities of the links about O                      (nlinks)
  double (*A)[6];          // accelerations                                        (nlinks)
  double (*F)[6];          // forces                                               (nlinks)
  double* effort;          // of motors by bound, then their forces       (2 (joints + tendons))
  double* force;           // generalized forces                                        (nv)
};

// Sets V[l] = V_parent + S v about O, of a link that is not lone and whose parent is done.
static inline void sap_dynamics_set_link_velocity(sap_dynamics* d, const sap_dynamics_state* at,
                                                  int32_t l) {
  const sap_link* link = &d->links[l];
  double(*S)[6] = at->kin->S;
  static const double rest[6] = {0.0};
  const double* parent = link->parent >= 0 ? d->V[link->parent] : rest;
  double V[6];  // in registers: a copy through memory would wait for its narrower stores
  for (int k = 0; k < 6; ++k) {
    V[k] = parent[k];
  }
  for (int32_t i = link->first_dof; i < link->first_dof + link->ndofs; ++i) {
    sap_spatial_add_scaled(V, S[i], at->v[i]);
  }
  for (int k = 0; k < 6; ++k) {
    d->V[l][k] = V[k];
  }
}
// The same of any link; a lone link's O is its origin.
static inline void sap_dynamics_set_velocity(sap_dynamics* d, const sap_dynamics_state* at,
                                             int32_t l) {
  const sap_link* link = &d->links[l];
  if (link->lone) {
    sap_m3_mul_v3(d->V[l], at->kin->R_WB + 9 * (size_t)link->body, at->v + link->first_dof + 3);
    sap_v3_copy(d->V[l] + 3, at->v + link->first_dof);
  } else {
    sap_dynamics_set_link_velocity(d, at, l);
  }
}
// tau = S . F for the links of `trees` (NULL: all) except lone ones. Adds the forces F of children
// to those of their parents first.
void sap_dynamics_gather_forces(sap_dynamics* d, const sap_kinematics* kin, const bool* trees,
                                double* tau);
// Splits the actuators into simple motors and others.
void sap_dynamics_sort_actuators(sap_dynamics* d);
// Adds a body's inertia to that of its weld group; (p, q): its pose in the group's first body.
void sap_dynamics_weld_inertia(sap_inertia* sum, const sap_model_body* body, const double p[3],
                               const double q[4]);
// Memory and couplings of the force elements; `kin`: of the default configuration.
sap_status sap_dynamics_create_elements(sap_dynamics* d, const sap_kinematics* kin,
                                        sap_error* error);
// Memory of the servos. The actuators must be sorted.
sap_status sap_dynamics_create_servos(sap_dynamics* d, sap_error* error);
// Makes dynamics->placing, in the dynamics' pool. The links must be made.
sap_status sap_placing_create(sap_dynamics* dynamics, sap_error* error);
