// SPDX-License-Identifier: BSD-3-Clause
// The workspace of the dynamics.
//
// A link is a body with joints together with the bodies welded to it. All spatial vectors of a tree
// are in world axes about its point O, where the origin of the tree's first body is in the current
// configuration: trees far from the world's origin lose no digits.
// A lone link, a single free body, needs none of this: its M is constant but for the coupling of
// translation and rotation, and its equations are written in its own axes.
#ifndef SAP_MULTIBODY_DYNAMICS_DYNAMICS_DATA_H
#define SAP_MULTIBODY_DYNAMICS_DYNAMICS_DATA_H

#include "multibody/dynamics/applied.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/fluid.h"
#include "multibody/dynamics/kernels.h"
#include "multibody/dynamics/placing.h"
#include "multibody/dynamics/spatial.h"

typedef struct sap_link {
  int32_t body;
  int32_t parent;  // link, -1: none that moves
  int32_t tree;
  int32_t first_dof, ndofs;
  bool lone;                 // the only link of its tree, with a free joint
  bool free;                 // its joint is a free one
  sap_inertia body_inertia;  // with all that is welded to it; about B's origin, B's axes
} sap_link;

typedef struct sap_spring {
  sap_joint_type type;
  int32_t q_start, v_start;
  double stiffness, reference, cubic;
} sap_spring;

// A motor whose force is gain u + bias, clamped, on a joint whose sum of forces has no bounds.
typedef struct sap_simple_motor {
  int32_t id, dof;
  double gear, gain, bias;
  double force_lower, force_upper;
  double input_lower, input_upper;  // bounds of u
} sap_simple_motor;

// A force element that can have a force at all: its kind (elements.h) and id.
typedef struct sap_elastic {
  int32_t kind, id;
} sap_elastic;

// What depends on the configuration alone.
typedef struct sap_placement {
  double* p_WB;          //                                                       (3 bodies)
  double* R_WB;          //                                                       (9 bodies)
  double* q_WB;          //                                                       (4 bodies)
  double (*S)[6];        // dof directions, not of lone links                     (nv)
  sap_inertia* inertia;  // of the links about O, not of lone ones                (nlinks)
  double* q;             // the configuration                                     (nq)
} sap_placement;

struct sap_dynamics {
  const sap_model* model;
  const sap_dynamics_kernels* kernels;
  sap_threads* threads;  // NULL: one
  int32_t nlinks;
  sap_link* links;  // parents before children                                (nlinks)
  sap_placing placing;
  bool* hinged;              // has hinges, no other joints, on a body that moves      (bodies)
  bool* tree_lone;           //                                                        (trees)
  bool* tree_free;           // the first joint is a free one                          (trees)
  int32_t* tree_root;        // first body                                             (trees)
  int32_t* tree_q;           // first coordinate, and the end of the last one's        (trees + 1)
  int32_t nsprings;          // joints with a spring
  sap_spring* springs;       //                                                        (nsprings)
  double* damping;           // of each dof                                            (nv)
  double* armature;          // of each dof                                            (nv)
  bool* locked;              // is each velocity held at zero?                         (nv)
  int32_t nmotors;           // simple ones
  sap_simple_motor* motors;  //                                                  (actuators)
  int32_t nother_actuators;  // the rest
  int32_t* other_actuators;  //                                                  (actuators)
  int32_t nfloating;         // bodies with gravity compensation
  int32_t* floating;         //                                                        (bodies)

  // Forces from outside.
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
  sap_rows rows;            // of the element at hand

  sap_placement now;   // by the configuration set last
  sap_placement kept;  // by another one, see sap_dynamics_exchange

  // Scratch.
  bool* tree_moved;        // which trees go elsewhere                               (trees)
  sap_inertia* composite;  //                                                      (nlinks)
  double (*V)[6];          // velocities of the links about O                      (nlinks)
  double (*A)[6];          // accelerations                                        (nlinks)
  double (*F)[6];          // forces                                               (nlinks)
  double* effort;          // of motors by bound, and their forces        (2 (joints + tendons))
  double* force;           // generalized, of one kind                                  (nv)
};

// tau = M a + Coriolis and gyroscopic forces - gravity, without armature. a NULL: zero.
void sap_dynamics_newton_euler(sap_dynamics* d, const double* v, const double* a, double* tau);
// tau = S . F of those links of `trees`, NULL: all, but lone ones, the forces F of children added
// to their parents'.
void sap_dynamics_gather_forces(sap_dynamics* d, sap_dynamics_range links, const bool* trees,
                                double* tau);
// A part of the work on the links of some units, and what all of it takes beside the dynamics.
typedef void sap_links_task(sap_dynamics* d, sap_dynamics_range links, void* context);
// Does it in the dynamics' threads; a link takes about `work` instructions.
void sap_dynamics_run_links(sap_dynamics* d, int32_t work, sap_links_task* task, void* context);
// k += sign times the springs' forces at q.
void sap_dynamics_add_springs(const sap_dynamics* d, const double* q, double sign, double* k);
// k += sign times the forces that hold bodies against gravity.
void sap_dynamics_add_gravity_compensation(const sap_dynamics* d, double sign, double* k);
// All but what elements, the fluid and the placing need. False: out of memory.
bool sap_dynamics_allocate(sap_dynamics* d);
// Sorts the actuators into motors and others.
void sap_dynamics_sort_actuators(sap_dynamics* d);
// Memory and couplings of the force elements, when the kinematics stand.
sap_status sap_dynamics_create_elements(sap_dynamics* d, sap_error* error);
// out += J' S J of d->rows, S symmetric (column-major): lower triangles, and couplings.
void sap_dynamics_add_product(const sap_dynamics* d, const double* S, const sap_tree_matrix* out);
double sap_dynamics_spring_energy(const sap_dynamics* d, const double* q);

#endif
