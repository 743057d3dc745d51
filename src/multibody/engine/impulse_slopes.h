// SPDX-License-Identifier: BSD-3-Clause
// Shared by the files that differentiate the impulses of a step.
#pragma once

#include "contact/cone.h"
#include "contact/contact_law.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/geometry/collision.h"
#include "problem/problem_data.h"
#include "solvers/gradient_data.h"

// A kink is close where sides of a condition differ by less than this part of them.
#define SAP_KINK 1e-6
// Steps of differences of the law, a function of few numbers: relative, and least [m], [m/s].
#define SAP_LAW_STEP 3e-6
#define SAP_LAW_LEAST 1e-3

enum { SAP_CONTACT_SIDES = 2, SAP_CONTACT_FIELDS = SAP_PATH_FIELDS };

// A product f' J y, f of rows without their scales.
typedef struct sap_contact_field {
  const double* y;  // (nv)
  double f[SAP_CONE_ROWS_MAX];
} sap_contact_field;

// Sums over contacts evaluated at the same kinematics, see contact_slopes.c.
typedef struct sap_contact_pull {
  double (*S)[8], (*a)[8], (*E)[6];  // (nv), ending with zeros; E of a group of dofs in the first
  bool* on;                          // they are set                                         (nv)
} sap_contact_pull;

// The dofs that move a contact, those of A's path first, each path from the root.
typedef struct sap_contact_slopes {
  const sap_model* model;
  const sap_kinematics* kin;                                  // at q0
  double sign[SAP_CONTACT_SIDES], arm[SAP_CONTACT_SIDES][3];  // p less O of each side's tree
  int32_t last[SAP_CONTACT_SIDES];  // the last dof that moves that side, or -1
  double R[9];
  int32_t count;
  int32_t* dofs;                      // (nv)
  int32_t* place[SAP_CONTACT_SIDES];  // in the path of a side, -1: not on it                  (nv)
  double (*S)[6];                     // (nv)
  double (*Dp)[3], (*rho)[3];         // (nv)
  double* dphi;                       // (nv)
  // Contacts that act at q^theta: dphi0 and rho0 are dphi and rho of the same contact at q0, rates
  // the slopes of its velocities at q0 and at q^theta to q and to v (world axes), by_change those of
  // its velocity_change to q0, q^theta and v0.
  double* dphi0;                         // (nv)
  double (*rho0)[3];                     // (nv)
  double (*rates)[4][3];                 // (nv)
  double (*by_change)[3][3];             // (nv)
  double (*changes)[SAP_CONE_ROWS_MAX];  // dgamma to q0, of a dof              (nv)
  double* X[4];   // A^-1 J' of three rows, v_near - v*    (nv), one after another
  int32_t* path;  // scratch (nv)
  double *row_change, *row_way, *row_q, *row_q_end;  // scratch (6 nv), (nv), (nq)
  double* row_scale;                                 // scratch (6 nv)
  // Columns of the block's J that are not zero, and J lambda.
  int32_t rows, columns;
  int32_t* column_dof;           // (nv)
  double* J[SAP_CONE_ROWS_MAX];  // rows of these columns (nv), one after another
  // The impulse of a contact has a last row where its J_n d varies, too, integrators/end_positions.h.
  int32_t slots;
  double u[SAP_CONE_ROWS_MAX + 1];
  double by_point[3];
  sap_contact_variation vary;
  sap_moved_pair moved;
  sap_path_fields fields;     // scratch
  sap_contact_pull pulls[2];  // of contacts at q0, at q^theta
} sap_contact_slopes;

sap_status sap_contact_slopes_create(const sap_model* model, sap_pool* pool,
                                     sap_contact_slopes** out, sap_error* error);
// Takes a contact; motions: and the dofs that move it, Dp, rho and dphi.
void sap_contact_slopes_set(sap_contact_slopes* slopes, const sap_kinematics* kin,
                            const sap_contact* contact, const sap_contact_variation* vary,
                            bool motions);
// Adds the sum of products at fixed f and y, and the gap times phi, to what is to be differentiated to
// q; sets the gradient of the products to p in slopes->by_point.
void sap_contact_slopes_pull(sap_contact_slopes* slopes, const sap_contact_field* fields, int count,
                             double phi, sap_contact_pull* pull);
// Adds these gradients to out (nv) and makes the sums empty; dofs (count): all that have some,
// those nearer to the root first, or NULL: all velocities.
void sap_contact_slopes_end_pull(const sap_contact_slopes* slopes, sap_contact_pull* pull,
                                 const int32_t* dofs, int32_t count, double* out);
// Adds f_r' d(J y) to q, of all rows r, to changes; f_r at f + ld r.
void sap_contact_slopes_add(sap_contact_slopes* slopes, const double* y, const double* f,
                            size_t ld);
// Sets the velocity u of B relative to A at p, and in rates[k][at], rates[k][at + 1] its derivatives
// to q and y of dofs[k], in the world's axes.
void sap_contact_slopes_rates(sap_contact_slopes* slopes, const double* y, int at, double u[3]);
// Adds d(J' gamma) at fixed gamma to dq0 (nv x nv); gamma: as f.
void sap_contact_slopes_add_stiffness(const sap_contact_slopes* slopes, const double* gamma,
                                      double* dq0);

typedef struct sap_slopes_call {
  sap_multibody* multibody;
  sap_contact_slopes* w;
  const sap_step_context* step;
  const sap_problem* problem;
  const sap_block_data* data;  // of the block
  sap_impulse_derivatives* out;
  const sap_kinematics *kin, *kin_A, *kin_theta;  // at q0, q_A, q^theta
  sap_law_settings law;
  const double* y;       // v_near - v*; NULL: zero
  const double* scales;  // of a contact's rows; NULL: 1
  bool within;           // the contact is evaluated at q^theta
  bool settled;          // its shift against gliding is that of its slip
} sap_slopes_call;

// A block at v.
typedef struct sap_block_point {
  double vc[SAP_CONE_ROWS_MAX], v_hat[SAP_CONE_ROWS_MAX], gamma[SAP_CONE_ROWS_MAX];
  double G[SAP_CONE_ROWS_MAX * SAP_CONE_ROWS_MAX], by_R[SAP_CONE_ROWS_MAX];
  int8_t bound[SAP_CONE_ROWS_MAX];
  sap_contact_slope contact;
} sap_block_point;
// Sets gamma and, if wanted, the slopes. Shifts that converge make the law exact Coulomb friction.
void sap_slopes_find_point(const sap_slopes_call* call, sap_block* block, bool slopes,
                           sap_block_point* at);
// Finds how a contact moves. Sets *at to it with the gap where it is evaluated, and *change to
// velocity_change and gap_change of its block.
sap_status sap_slopes_find_contact(sap_slopes_call* call, const sap_contact* contact,
                                   sap_contact* at, const double** change, sap_error* error);
// Takes a block's rows, for what follows.
void sap_slopes_set_rows(const sap_slopes_call* call, const sap_block* block);
// out = J v.
void sap_slopes_multiply_rows(const sap_slopes_call* call, const double* v, double* out);
// Adds J' x to out.
void sap_slopes_add_transposed(const sap_contact_slopes* w, const double* x, double* out);
// Adds dp = J' x to column k of a matrix, or lambda' dp to its entry k of a vector.
void sap_slopes_add_rows(const sap_slopes_call* call, const double* x, double* out, int32_t k);
// Adds J' M J, or lambda' of it; M nrows x nrows with leading dimension ld.
void sap_slopes_add_square(const sap_slopes_call* call, const double* M, int32_t ld, double* out);
// a' b of the block's slots.
double sap_slopes_dot(const sap_contact_slopes* w, const double* a, const double* b);
// X = A^-1 J' of up to three rows from `first_row` on, unscaled, on the block's trees.
sap_status sap_slopes_solve_rows(const sap_slopes_call* call, const sap_block* block,
                                 int32_t first_row, sap_error* error);
// u' dgamma, as of W = X' A X, symmetric, and of X' A y; y of the call.
typedef struct sap_mass_pull {
  double W[9], y[3];
} sap_mass_pull;
// Adds what A gives to dq_A: pulls of each row; factors: these times pulls[0]. Of u, for lambda' p,
// it is only summed. Drag and the stiffness of elements in A count as constant.
void sap_slopes_add_mass(const sap_slopes_call* call, const sap_block* block,
                         const sap_mass_pull* pulls, const double* factors);
// Adds what A gives to d of corrected positions, likewise.
void sap_slopes_add_end_mass(const sap_slopes_call* call);
// Adds to out (nv) the gradient to q_A of the sum of Q_ij A_ij over a tree, Q the sum of forms, and
// makes that empty.
void sap_slopes_add_mass_gradient(const sap_slopes_call* call, int32_t tree, double* out);
// The part of the joint springs in A.
void sap_multibody_add_springs(const sap_slopes_call* call, int32_t tree, double* out);
// Returns Q_ij of the sum.
static inline double sap_slopes_mass_entry(const sap_slopes_call* call, int32_t i, int32_t j) {
  const sap_model* model = call->multibody->model;
  const int32_t tree = model->dof_tree[i], first = model->tree_dofs[tree];
  const size_t row = (size_t)((i > j ? i : j) - first), column = (size_t)((i > j ? j : i) - first);
  return call->multibody->masses->sums[tree][SAP_MASS_ROW(model->tree_sizes[tree]) * row + column];
}
// Adds the derivatives of the impulse of a row but -J' G J; bound: -1, 1 at a bound of a box.
sap_status sap_slopes_add_row(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                              int bound, sap_error* error);
#define SAP_IS_OF_INERTIA(kind) ((kind) >= SAP_PARAMETER_MASS && (kind) < SAP_PARAMETER_COUNT)
#define SAP_IS_OF_SERVO(kind) \
  ((kind) == SAP_PARAMETER_SERVO_STIFFNESS || (kind) == SAP_PARAMETER_SERVO_DAMPING)
// The gradients to a parameter of inertia of lambda' r, and of the sum of Q_ij A_ij.
double sap_slopes_inertia_work(sap_multibody* multibody, const sap_step_context* step,
                               const sap_balance_derivatives* of, const double* lambda,
                               const sap_parameter* p);
double sap_slopes_inertia_in_A(const sap_slopes_call* call, const sap_parameter* p);
// The derivatives of an actuator's line to its kp or kd.
sap_actuator_line sap_slopes_servo_line(const sap_multibody* multibody, const sap_parameter* p);
// Adds what that sum over a tree gives to the gradients to parameters, if there are any.
void sap_slopes_add_A_parameters(const sap_slopes_call* call, int32_t tree);

// Adds the part by a change of J of such a row; by: dgamma to its length, w and rate at the start.
void sap_slopes_add_moving(sap_slopes_call* call, const sap_block* block, double gamma, double G,
                           const double by[3]);
// Adds the derivatives of the impulses of an equality but -J' G J; of its diagonal G.
sap_status sap_slopes_add_equality(sap_slopes_call* call, const sap_block* block,
                                   const double* gamma, const double* G, sap_error* error);
