// SPDX-License-Identifier: BSD-3-Clause
// What the adapter keeps, and its parts.
#ifndef SAP_MUJOCO_ADAPTER_H
#define SAP_MUJOCO_ADAPTER_H

#include <sapstep/mujoco.h>

#include "core/archive.h"
#include "core/error.h"
#include "core/options.h"
#include "mujoco/compat.h"
#include "mujoco/guard.h"

// A block of A that couples two trees, a > b.
typedef struct sap_mj_coupling {
  int32_t tree_a, tree_b;
  int32_t start;  // of its values, n_a x n_b, ld n_a
} sap_mj_coupling;

enum {
  SAP_MJ_KEY_CONTACT = 1,
  SAP_MJ_KEY_LIMIT,
  SAP_MJ_KEY_EQUALITY,
  SAP_MJ_KEY_SERVO,
  SAP_MJ_KEY_FRICTION,
  SAP_MJ_KEY_FLEX_CONTACT,
  SAP_MJ_KEY_FLEX_EQUALITY
};

// An affine servo or a joint's effort range: force = raw - (h kp + kd)(V - V0) - h kp V0 at the end
// of the step, V = row v, within its bounds.
typedef struct sap_mj_servo {
  sap_mj_row row;
  int32_t output;  // of which actuator_force is set; -1: the effort range of a joint
  double raw;      // at the start of the step, without bounds [N, N m]
  double kp, kd;
  double lower, upper;
  double V0;         // row v0
  double cut;        // what the range of its joint has taken from the sum of forces
  double applied;    // what MuJoCo has put into the forces
  int32_t block;     // its block in the problem; -1: it stands in A
  bool is_limited;   // has bounds
  bool is_absorbed;  // acts through the effort range of its joint
} sap_mj_servo;

typedef enum sap_mj_elastic_kind {
  SAP_MJ_ELASTIC_POINT,    // source: a vertex, its part of the stretch
  SAP_MJ_ELASTIC_STRETCH,  // source: an edge
  SAP_MJ_ELASTIC_SPRING,   // source: an edge, of its ends i and j
  SAP_MJ_ELASTIC_BEND,     // source: an edge, of the four points that bend about it
  SAP_MJ_ELASTIC_CELL      // source: number of nodes, of nodes i and j
} sap_mj_elastic_kind;

// Stiffness and damping of a flex between two points, or of one.
typedef struct sap_mj_elastic {
  sap_mj_elastic_kind kind;
  int32_t flex, source, i, j;
  int32_t a, b;  // first velocities, a >= b
  int32_t tree_a, tree_b;
  int32_t order;      // in which they were found
  bool swapped;       // a is that of j
  double K[9], D[9];  // rows of a, columns of b, row-major [N/m], [N s/m]
} sap_mj_elastic;

// Pair of geoms that slide on one another: contacts are wanted up to this height [m].
typedef struct sap_mj_glide {
  int32_t geom1, geom2;
  double reach;
  double rise;        // height per way slipped in a step [-]
  double p[3], n[3];  // the contact in the step before and its normal, in the world
} sap_mj_glide;

// A contact as the next step looks for it.
typedef struct sap_mj_identity {
  int32_t geom1, geom2, id;
  bool taken;
  double p[3];  // in body 1
} sap_mj_identity;

// A limit left out of the problem because it is far: it would act below this velocity.
typedef struct sap_mj_far_limit {
  int32_t row;  // of MuJoCo's
  double bound;
} sap_mj_far_limit;

// What a row of the constraints became: its part of the problem's gamma, times scale.
typedef struct sap_mj_slot {
  int32_t contact;    // index in mjData.contact; -1: not a contact
  int32_t first_row;  // of MuJoCo's rows
  int32_t nrows;
  int32_t first_gamma;
} sap_mj_slot;

struct sap_mj {
  const mjModel* model;
  mjModel shadow;  // the same arrays, options of ours
  sap_mj_options options;
  sap_mj_guard_options* guard;  // MuJoCo's warnings go there
  sap_regularization regularization;
  sap_material contact_law;  // what all contacts have in common

  // Kinematic trees.
  int32_t nv, ntrees;
  int32_t* tree_size;   // (ntrees)
  int32_t* tree_start;  // first velocity (ntrees + 1)
  int32_t* A_start;     // in A (ntrees + 1)
  int32_t* dof_tree;    // (nv)
  int32_t* body_tree;   // -1: static (nbody)
  bool has_few_geoms;   // no two bodies have many pairs of geoms
  bool finds_touch;     // sap_mj_finds_touch

  // Materials.
  double* geom_stiffness;  // (ngeom)
  double* geom_relaxation_time;
  double* flex_stiffness;  // (nflex)
  double* flex_relaxation_time;
  int* no_flexes;          // zero: none has passive contacts (nflex)
  double* pair_stiffness;  // of explicit pairs; 0: that of its geoms (npair)
  double* pair_relaxation_time;
  double* joint_limit;   // stiffness, relaxation time (2 njnt)
  double* tendon_limit;  // (2 ntendon)
  double* equality_law;  // (2 neq)

  // Widened margins.
  mjtNum *geom_margin, *body_margin, *pair_margin, *joint_margin, *tendon_margin;
  sap_mj_glide* glides;
  int32_t glide_count, glide_capacity;
  double* pose_before;    // of bodies in that step, position and rotation matrix (12 nbody)
  double* body_motion;    // since then: way of the origin [m], |change of the matrix| (2 nbody)
  bool glides_are_known;  // those of a checkpoint: mjData have no contacts of the step before

  // A and v*.
  double* A;             // trees one after the other, full squares, lower triangles used
  bool A_is_filled;      // has entries where M has none
  bool is_free_of_laws;  // A is M, rhs is h qfrc_smooth: MuJoCo's qacc_smooth leads to v*
  int32_t* mass_place;   // where MuJoCo's nonzeros of M stand in A (nC or nM)
  sap_mj_coupling* couplings;
  int32_t coupling_count, coupling_capacity;
  double* coupling_values;
  int32_t coupling_value_count, coupling_value_capacity;
  sap_mj_elastic* elastics;  // of flexes, by blocks of A
  int32_t elastic_count, elastic_capacity;
  bool has_stretch, has_cells;
  double* cell_stiffness;                     // of interpolated flexes, as MuJoCo lists it
  double *rhs, *v_star;                       // (nv)
  double *dof_stiffness, *dof_damping;        // of joints, -dF/dq and -dF/dv (nv)
  double *tendon_stiffness, *tendon_damping;  // (ntendon)
  double *v_before, *v_after, *v_guess;       // at the start and the end of the step before (nv)
  bool has_before;
  int* unit_columns;  // 0, 1, ...: columns of rows of one velocity (nv)
  sap_mj_servo* servos;
  int32_t servo_count, servo_capacity;

  // Blocks.
  sap_problem* problem;
  sap_solver* solver;
  sap_solution solution;
  sap_report report;
  double* J;  // Jacobians of one block
  int32_t J_capacity;
  int32_t* block_trees;          // (ntrees)
  const double** block_parts;    // (ntrees)
  const double** angular_parts;  // (ntrees)
  int32_t* entry;                // of a contact's rows (nv)
  double** place;                // (nv)
  int32_t* tree_seen;            // (ntrees), part of the tree in the block, -1
  sap_mj_far_limit* far_limits;
  int32_t far_limit_count, far_limit_capacity;
  bool all_limits;  // none are left out
  sap_mj_slot* slots;
  int32_t slot_count, slot_capacity;
  sap_mj_identity* identities[2];  // contacts of the step before, and of this one
  int32_t identity_capacity[2], identity_before, identity_count, identity_cursor;
  int32_t identity_next, identity_first;  // next number, and the first that this step gave
  uint64_t epoch;                         // of the keys: sap_mj_clear starts another

  // mocap bodies where they were.
  double* mocap_pos;  // (3 nmocap)
  double* mocap_quat;
  double* mocap_velocity;  // [omega; v of the body's frame] (6 nmocap)
  bool mocap_is_known;
  double* bias_acceleration;  // spatial, of bodies, for equalities (6 nbody)

  // State to come back to.
  double* backup;
  int32_t backup_capacity;
};

// options.c
void sap_mj_refresh(sap_mj* a);  // shadow's options from the model's
double sap_mj_numeric(const mjModel* m, const char* name, double otherwise);  // of <custom>
// Fails with ARGUMENT or NOT_FINITE and names the field, its value and the values allowed.
sap_status sap_mj_options_check(const sap_mj_options* options, sap_error* error);
// Replaces NaN in the regularization by the model's numbers.
void sap_mj_complete_options(const mjModel* model, sap_mj_options* options);
// Sets the regularization and the material parameters that all contacts share.
void sap_mj_choose_contact_law(sap_mj* a);
// All options of sap_mj_options: its own, those of the regularization, those of the solver.
sap_option_table sap_mj_option_table(void);
// materials.c
sap_status sap_mj_materials_create(sap_mj* a, sap_error* error);
void sap_mj_contact_material(const sap_mj* a, const mjContact* contact, sap_material* out);
double sap_mj_contact_relaxation_time(const sap_mj* a, const mjContact* contact);
// Where its point is, 0 on geom 1's surface, 1 on geom 2's.
double sap_mj_contact_share(const sap_mj* a, const mjContact* contact);
// Index of an explicit pair of the two geoms, -1: none.
int32_t sap_mj_find_pair(const mjModel* m, int32_t geom1, int32_t geom2);
// state.c
sap_status sap_mj_check_numbers(const char* name, const mjtNum* x, int64_t count, sap_error* error);
sap_status sap_mj_check_state(const mjModel* m, const mjData* d, sap_error* error);
sap_status sap_mj_check_inputs(const mjModel* m, const mjData* d, sap_error* error);
// What the motion writes, kept and put back.
sap_status sap_mj_keep_state(sap_mj* a, mjData* d, sap_error* error);
void sap_mj_restore_state(const sap_mj* a, mjData* d);
// What a run goes on from: state, controls and applied forces, as one array.
int32_t sap_mj_run_state_size(const mjModel* m);
void sap_mj_get_run_state(const mjModel* m, const mjData* d, mjtNum* state);
void sap_mj_set_run_state(const mjModel* m, mjData* d, const mjtNum* state);
// glide.c
// Points of the contacts of the step before, while the kinematics are its own.
sap_status sap_mj_remember_contacts(sap_mj* a, const mjData* d, sap_error* error);
void sap_mj_find_glides(sap_mj* a, const mjData* d);             // leaves the pairs that glide
double sap_mj_glide_reach(const sap_mj* a, const mjContact* c);  // 0: does not glide [m]
// memory.c
// What goes from step to step, for sap_archive_to_bytes; of mjData's contacts what was remembered.
sap_status sap_mj_archive(void* adapter, sap_archive* archive, sap_error* error);
// Whether what was loaded can be worked with: SYNTAX.
sap_status sap_mj_check_memory(const sap_mj* a, sap_error* error);
uint64_t sap_mj_model_hash(const mjModel* m);
uint64_t sap_mj_material_hash(const sap_mj* a);
// position.c
// Whether contacts can be asked for where geoms only just touch.
bool sap_mj_finds_touch(const mjModel* m);
sap_status sap_mj_position(sap_mj* a, mjData* d, sap_error* error);
// momentum.c
void sap_mj_place_mass(sap_mj* a);  // once
void sap_mj_add_mass(sap_mj* a, const mjData* d);
sap_status sap_mj_add_rank_one(sap_mj* a, const sap_mj_row* row, double factor, sap_error* error);
sap_status sap_mj_add_elements(sap_mj* a, const mjData* d, sap_error* error);
double sap_mj_row_times(const sap_mj_row* row, const double* v);
void sap_mj_row_add(const sap_mj_row* row, double factor, double* to);
// free_motion.c
sap_status sap_mj_set_problem(sap_mj* a, const mjData* d, sap_error* error);
// Of a step from d's velocities to v, for the guess of the next.
void sap_mj_keep_velocity(sap_mj* a, const mjData* d, const double* v);
// servo_law.c
bool sap_mj_actuator_is_disabled(const mjModel* m, int32_t actuator);
bool sap_mj_may_be_servo(const mjModel* m, int32_t actuator);  // by its type
// kp, kd and the force without bounds, of one output; false: no gain to speak of.
bool sap_mj_read_servo(const mjModel* m, const mjData* d, int32_t actuator, int32_t output,
                       sap_mj_servo* servo);
// servo.c
sap_status sap_mj_find_servos(sap_mj* a, const mjData* d, sap_error* error);
sap_status sap_mj_add_servos(sap_mj* a, sap_error* error);
sap_status sap_mj_add_servo_blocks(sap_mj* a, sap_error* error);
// Puts servos that left their bounds at v into blocks; true: there were some.
bool sap_mj_check_servos(sap_mj* a, const double* v);
void sap_mj_write_servos(sap_mj* a, mjData* d, const double* v);
// rows.c: Jacobians in a->block_trees and a->block_parts; the number of trees, 0: all is zero, -1:
// no memory.
int32_t sap_mj_gather(sap_mj* a, const sap_mj_row* rows, int32_t count, sap_error* error);
// Trees that nonzeros of the row touch, after `count` that are there; a->tree_seen counts them.
int32_t sap_mj_find_trees(sap_mj* a, const sap_mj_row* row, int32_t count);
// Zeroed parts of `rows` rows on the trees found, with room for 3 rows more behind them.
sap_status sap_mj_make_parts(sap_mj* a, int32_t ntrees, int32_t rows, sap_error* error);
void sap_mj_forget_trees(sap_mj* a, int32_t ntrees);  // in a->tree_seen
// contact_rows.c: likewise
// Rows [t1 t2 n], or n alone where dim is 1; [spin roll1 roll2] in a->angular_parts.
int32_t sap_mj_gather_contact(sap_mj* a, const mjData* d, const mjContact* contact,
                              sap_error* error);
// Row r of [t1 t2 n spin roll1 roll2] of a contact with dim > 1: its product with v, and its number
// of an array that has one per row of MuJoCo's.
double sap_mj_contact_row_times(const sap_mj* a, const mjData* d, const mjContact* contact,
                                int32_t r, const double* v);
double sap_mj_contact_row_of(const sap_mj* a, const mjContact* contact, int32_t r,
                             const double* rows);
// identity.c
void sap_mj_identities_begin(sap_mj* a);  // those of this step become those before
void sap_mj_identities_again(sap_mj* a);  // forgets those of this step
sap_status sap_mj_identify(sap_mj* a, const mjData* d, const mjContact* contact, int32_t* id,
                           sap_error* error);
// blocks.c
sap_status sap_mj_add_blocks(sap_mj* a, const mjData* d, sap_error* error);
sap_status sap_mj_add_slot(sap_mj* a, int32_t contact, int32_t first, int32_t count,
                           sap_error* error);
uint64_t sap_mj_key(const sap_mj* a, int32_t kind, int32_t first, int32_t second, int32_t ordinal);
// limits.c
// One unilateral row on a->block_trees, that of the last slot.
sap_status sap_mj_add_compliant_row(sap_mj* a, int32_t ntrees, const sap_compliant_row* row,
                                    uint64_t key, sap_error* error);
// A row within bounds on what sap_mj_gather gathered.
typedef struct sap_mj_box {
  double R, v_hat, lower, upper;
} sap_mj_box;
sap_status sap_mj_add_box(sap_mj* a, int32_t ntrees, const sap_mj_box* box, uint64_t key,
                          sap_error* error);
sap_status sap_mj_add_limit(sap_mj* a, const mjData* d, int32_t row, sap_error* error);
sap_status sap_mj_add_friction(sap_mj* a, const mjData* d, int32_t row, sap_error* error);
// Whether v reaches a limit that was left out; none are in the rest of the step then.
bool sap_mj_check_limits(sap_mj* a, const mjData* d, const double* v);
// equality.c
void sap_mj_bias_accelerations(sap_mj* a, const mjData* d);
sap_status sap_mj_add_equality(sap_mj* a, const mjData* d, int32_t first, int32_t count,
                               sap_error* error);
// elements.c
void sap_mj_find_elements(sap_mj* a, mjData* d);  // all stiffness and damping of the step
// elastic.c
sap_status sap_mj_find_elastics(sap_mj* a, sap_error* error);  // once
// elastic_law.c
void sap_mj_set_elastics(sap_mj* a, mjData* d);  // K and D of the step
// to += factor K v, or D v.
void sap_mj_elastic_times(const sap_mj* a, bool damping, double factor, const double* v,
                          double* to);
// flex.c
bool sap_mj_equality_is_of_flex(const mjModel* m, int32_t equality);
// One block per row: edges, or strains.
sap_status sap_mj_add_flex_equality(sap_mj* a, const mjData* d, int32_t first, int32_t count,
                                    sap_error* error);
// solve.c
typedef struct sap_mj_solved {
  bool solved;  // there were blocks: a->solution; else v is a->v_star
  int32_t solves;
  double time;  // in the solver [s]
} sap_mj_solved;
// A, v*, blocks and the solution, of a step that began then (clock of core/clock.h).
sap_status sap_mj_solve(sap_mj* a, mjData* d, double began, sap_mj_solved* out, sap_error* error);
// output.c
void sap_mj_write_outputs(sap_mj* a, mjData* d, const double* v, bool solved);
// mocap.c
void sap_mj_mocap_update(sap_mj* a, const mjData* d);
void sap_mj_mocap_keep(sap_mj* a, const mjData* d);
// Velocity of a body's point where the body is mocap's or welded to it, else zero: false.
bool sap_mj_mocap_point(const sap_mj* a, const mjData* d, int32_t body, const double p[3],
                        double velocity[3], double omega[3]);

#endif
