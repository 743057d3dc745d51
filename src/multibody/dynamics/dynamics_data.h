// SPDX-License-Identifier: BSD-3-Clause
// The workspace of the dynamics.
//
// A link is a body with joints together with the bodies welded to it. A lone link is a single free
// body: its M is constant except for the coupling of translation and rotation, and its equations
// are written in its own axes.
#ifndef SAP_MULTIBODY_DYNAMICS_DYNAMICS_DATA_H
#define SAP_MULTIBODY_DYNAMICS_DYNAMICS_DATA_H

#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/fluid.h"
#include "multibody/dynamics/forces.h"
#include "multibody/dynamics/kernels.h"
#include "multibody/dynamics/placing.h"
#include "multibody/dynamics/spatial.h"

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

// A motor with force = clamp(gain u + bias), on a joint without effort range.
typedef struct sap_simple_motor {
  int32_t id, dof;
  double gear, gain, bias;
  double force_lower, force_upper;
  double input_lower, input_upper;  // bounds of u
} sap_simple_motor;

// A force element that may have a force: kind (elements.h) and id.
typedef struct sap_elastic {
  int32_t kind, id;
} sap_elastic;

struct sap_dynamics {
  const sap_model* model;
  const sap_dynamics_kernels* kernels;
  sap_threads* threads;  // NULL: one
  sap_pool pool;         // holds all arrays
  int32_t nlinks;
  sap_link* links;  // parents before children                                (nlinks)
  sap_placing placing;
  bool* hinged;              // moving bodies with hinges only, on a moving parent    (bodies)
  bool* tree_lone;           //                                                        (trees)
  bool* tree_free;           // its first joint is a free one                          (trees)
  int32_t* tree_root;        // first body                                             (trees)
  int32_t* tree_q;           // first coordinate, then nq                              (trees + 1)
  int32_t nsprings;          // joints with a spring
  sap_spring* springs;       //                                                        (nsprings)
  double* damping;           // of each dof                                            (nv)
  double* armature;          // of each dof                                            (nv)
  bool* locked;              // true: this velocity is held at zero                    (nv)
  int32_t nmotors;           // simple ones
  sap_simple_motor* motors;  //                                                  (actuators)
  int32_t nother_actuators;  // all others
  int32_t* other_actuators;  //                                                  (actuators)
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
  bool* spring_active;      //                                                    (springs)
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
  double V[6] = {0.0};
  if (link->parent >= 0) {
    memcpy(V, d->V[link->parent], sizeof V);
  }
  for (int32_t i = link->first_dof; i < link->first_dof + link->ndofs; ++i) {
    sap_spatial_add_scaled(V, S[i], at->v[i]);
  }
  memcpy(d->V[l], V, sizeof V);
}
// tau = S . F for the links of `trees` (NULL: all) except lone ones. Adds the forces F of children
// to those of their parents first.
void sap_dynamics_gather_forces(sap_dynamics* d, const sap_kinematics* kin,
                                sap_dynamics_range links, const bool* trees, double* tau);
// Does its work for the links of some units.
typedef void sap_links_task(sap_dynamics* d, sap_dynamics_range links, void* context);
// Runs the task for all links in the dynamics' threads; a link takes about `work` instructions.
void sap_dynamics_run_links(sap_dynamics* d, int32_t work, sap_links_task* task, void* context);
// Splits the actuators into simple motors and others.
void sap_dynamics_sort_actuators(sap_dynamics* d);
// Memory and couplings of the force elements; `kin`: of the default configuration.
sap_status sap_dynamics_create_elements(sap_dynamics* d, const sap_kinematics* kin,
                                        sap_error* error);
// out += J' S J of d->rows, S symmetric (column-major): lower triangles, and couplings.
void sap_dynamics_add_product(const sap_dynamics* d, const double* S, const sap_tree_matrix* out);

#endif
