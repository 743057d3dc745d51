// SPDX-License-Identifier: BSD-3-Clause
// Physical contact parameters, how those of two bodies combine, and the regularization R and
// stabilization velocity v_hat that follow in the convex problem.
#pragma once

#include <sapstep/base.h>

SAP_C_BEGIN

// The model of a compliant contact.
//
// sap      A cone constraint with linear damping by tau_d. As printed, a sliding body glides
//          at a height of (dt + tau_d) mu |v_t|; see `castro` of sap_contact_scheme.
// similar, lagged
//          "Irrotational contact fields" (Castro, Han, Masterjohn, arXiv 2312.03908): the impulse
//          is the gradient of a convex potential, with the damping of Hunt and Crossley by d.
//          Primal solver only. With s = |v_t| and the regularized distance h,
//            h(s)  = s^2/(2 v_s) for s < v_s, s - v_s/2 beyond      h' = min(s/v_s, 1)
//            n(z)  = (v_hat - z)+ (1 - d z)+/Rn
//            v_hat = -phi0/dt
//            Rn    = max(beta^2/(4 pi^2) w, 1/(dt^2 k))
// similar    gamma_n = n(v_n - mu h(s)),  gamma_t = -mu gamma_n h'(s) v_t/s
//            Glides at a height of dt mu |v_t|, unless v_hat is shifted as sap's is.
// lagged     gamma_n = n(v_n),  gamma_t = -mu n0 h'(s) v_t/s,  n0: gamma_n of the solution before
//            No gliding. The stepper starts from gamma_n of the step before and solves again until
//            n0 is gamma_n: Coulomb's law.
//
// In both a contact inside its cone creeps more slowly than v_s. Rn is SAP's near-rigid limit,
// castro (29): k above 4 pi^2/(beta^2 dt^2 w), at which the contact vibrates once per beta steps,
// acts like that value. Any k may therefore be used at any dt.
#define SAP_CONTACT_MODEL_LIST(X) \
  X(SAP, "sap")                   \
  X(SIMILAR, "similar")           \
  X(LAGGED, "lagged")

typedef enum sap_contact_model {
  SAP_CONTACT_BY_MATERIAL = -1,  // in schemes and stepper options: each contact's material decides
#define SAP_X(name, text) SAP_CONTACT_##name,
  SAP_CONTACT_MODEL_LIST(SAP_X)
#undef SAP_X
      SAP_CONTACT_MODEL_COUNT
} sap_contact_model;
typedef sap_contact_model sap_type_contact_model;
// Returns "sap", "similar" or "lagged"; never NULL, also for an invalid value.
SAP_API const char* sap_contact_model_text(sap_contact_model model);

// Members of a struct from a list of its fields, as in SAP_MATERIAL_FIELDS.
#define SAP_FIELD(type, name, ...) type name;
#define SAP_FIELD_ARRAY(type, name, count, ...) type name[count];

// clang-format off
// FIELD(type, name, default, range); the ranges are those of sapstep/model.h.
#define SAP_MATERIAL_FIELDS(FIELD)                                                                 \
  /* k [N/m]; INFINITY: rigid (the near-rigid limit decides) */                                    \
  FIELD(double, stiffness, 1e6, STIFFNESS)                                                         \
  /* tau_d [s] */                                                                                  \
  FIELD(double, relaxation_time, 0.01, NOT_NEGATIVE)                                               \
  /* mu [-] */                                                                                     \
  FIELD(double, friction, 0.5, NOT_NEGATIVE)                                                       \
  FIELD(sap_contact_model, model, SAP_CONTACT_SAP, OWN)                                            \
  /* similar and lagged: d [s/m]; nothing leaves a contact faster than 1/d */                     \
  FIELD(double, dissipation, 20.0, NOT_NEGATIVE)                                                   \
  /* similar and lagged: v_s [m/s]; 0: 1e-4 */                                                    \
  FIELD(double, stiction_tolerance, 1e-4, NOT_NEGATIVE)                                            \
  /* similar and lagged: mu of a contact that slips less than v_s at the start of a step [-]; it  \
     falls to `friction` until 3 v_s. Below `friction`: the same as `friction` */                  \
  FIELD(double, static_friction, 0.0, NOT_NEGATIVE)                                                \
  /* E [Pa] of the pressure field p = E depth/H inside a shape; 0: no field. Two shapes touch in a \
     patch if one has a field (the other is then rigid) or both: at most five contacts with the    \
     force, moments, stiffness and torsion of the pressure over the contact surface, or over each  \
     of its parts with other normals. E/H then takes the place of `stiffness`. Pairs with a rest   \
     distance touch in points */                                                                   \
  FIELD(double, modulus, 0.0, NOT_NEGATIVE)                                                        \
  /* H [m] of that field; 0: the radius, the least half extent or semi-axis, of a mesh the radius  \
     of a ball inside it about its centre. Planes have a field only with H > 0 */                  \
  FIELD(double, field_depth, 0.0, NOT_NEGATIVE)
// clang-format on

// Contact parameters of a surface or of a pair of surfaces.
typedef struct sap_material {
  SAP_MATERIAL_FIELDS(SAP_FIELD)
} sap_material;

// How mu of a pair follows from mu of its two surfaces.
typedef enum sap_friction_rule {
  SAP_FRICTION_HARMONIC,  // 2 muA muB / (muA + muB): URDF and C models
  SAP_FRICTION_MAXIMUM,   // MuJoCo's, for equal priorities
} sap_friction_rule;

// Returns the defaults of the list.
SAP_API sap_material sap_material_default(void);

// Returns mu (or a torsional or rolling coefficient) of a pair by `rule`; both >= 0.
SAP_API double sap_friction_combine(double a, double b, sap_friction_rule rule);

// Returns a material that overrides nothing: NaN in all fields, SAP_CONTACT_BY_MATERIAL.
SAP_API sap_material sap_material_unset(void);

// Combines two surfaces. Springs in series: k = kA kB/(kA + kB); tau_d is the mean weighted by
// compliance, (kB tauA + kA tauB)/(kA + kB); mu by `rule`. An infinite stiffness leaves the other's
// values; two infinite ones give an infinite k and the mean of the times. d like tau_d, static mu
// like mu; the larger v_s, E and H; the later model of the list.
SAP_API sap_status sap_material_combine(const sap_material* a, const sap_material* b,
                                        sap_friction_rule rule, sap_material* out,
                                        sap_error* error);

// The numbers of the regularization, castro (29) and (30); beta = 0 limits the stiffness only
// at round-off, Rn = 2.5e-8 w (similar and lagged: 2.5e-7 (1 + d v) w). Likewise Rt = sigma w is at
// least 1e-14 W_ii of its scaled rows, which acts with sigma 1e-3 if spin or rolling friction is
// 3e5 times sliding friction, and is round-off beside that (contact_law.h). An overlap, or a
// violated rigid limit, that stores more energy than all that moves has at the impact speed is a
// wrong start: it is undone slowly, at a fiftieth of that speed where it is deep. Links of a robot
// reach each other at a fifth of that speed or slower.
#define SAP_REGULARIZATION_OPTIONS(X)                      \
  X(real, beta, 1, 0, 1e300, "near-rigid parameter [-]")   \
  X(positive, sigma, 1e-3, 0, 1e300, "slip parameter [-]") \
  X(real, impact_speed, 5, 0, 1e300,                       \
    "deeper overlaps than an impact this fast explains close slowly (0: none) [m/s], [rad/s]")

typedef struct sap_regularization {
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_REGULARIZATION_OPTIONS(SAP_X)
#undef SAP_X
} sap_regularization;

// Returns beta 1, sigma 1e-3, impact_speed 5 m/s.
SAP_API sap_regularization sap_regularization_default(void);

// Computes R and v_hat of one contact at the end of the step, rows [t1, t2, n]:
//   Rn    = max(beta^2/(4 pi^2) w, 1/(dt k (dt + tau_d)))                     castro (29)
//   Rt    = sigma w                                                           castro (30)
//   v_hat = (0, 0, -phi0/(dt + tau_d))
// That is castro's law as printed: where phi0 > 0, it acts tau_d/(dt + tau_d) phi0 ahead of the
// surface. See `castro` of sap_contact_scheme for the law without that.
// w [1/kg] is the Delassus scale |W_ii|_F/3. Fails with ARGUMENT unless dt > 0, w > 0, k > 0,
// tau_d >= 0, mu >= 0, sigma > 0 and R > 0; with NOT_FINITE for NaN or an infinite number other
// than k.
SAP_API sap_status sap_contact_regularize(const sap_material* pair,
                                          const sap_regularization* regularization, double dt,
                                          double phi0, double w, double R[3], double v_hat[3],
                                          sap_error* error);

// The law by which contacts and compliant rows of a problem act: compliant, evaluated at one point
// of the step, or rigid.
//
// Compliant: at the end of the step (theta = theta_vq = 1) or, with both in [1/2, 1], at the
// scheme's theta point: second order for the midpoint rule. Unless `castro` is set, contacts,
// limits and cables ahead (phi0 > 0) push only if the gap closes within the step, for any tau_d:
//   v_hat = -phi0/(dt + tau_d) where phi0 <= 0, -phi0/dt where phi0 > 0
// Contacts whose convex law would glide, at a height of (dt + tau_d) mu |v_t|, get v_hat_n less mu
// times the slip that v*, v0 and the gap predict (unless `glides`, `castro`; v* must be set
// before). Stiff rows that the step does not resolve, sticking friction, and similar and lagged
// contacts are evaluated at the end in any case.
//
// Rigid: at the level of velocities, as in Moreau-Jean time stepping. R = 0 and, with the gap (or
// error) g0 and its rate at the start of the step,
//   contacts        v_n >= -e min(v_n0, 0) + b (-g0)/dt  where they touch; before,
//                   v_n >= -g0/dt, or v_n >= -e v_n0 if e > 0 and v_n0 closes the gap in the step
//   limits          the same with e = 0
//   bilateral rows  v = -b g0/dt
// Needs a solver that accepts R = 0.
typedef struct sap_contact_scheme {
  double theta, theta_vq;   // [1/2, 1]; rigid: both 1                               (1)
  bool rigid;               //                                                       (false)
  double restitution;       // e, [0, 1]; compliant: 0                               (0)
  double baumgarte;         // b, [0, 1]; compliant: 0                               (0)
  sap_contact_model model;  // of all contacts; rigid: BY_MATERIAL, without effect   (BY_MATERIAL)
  bool castro;              // compliant, at the end of the step: contacts and unilateral rows as
                            // printed in castro (29)-(30), also where phi0 > 0; they glide
                            //                                                       (false)
  bool glides;              // sliding contacts keep v_hat: for solvers with exact Coulomb friction,
                            // `signorini` of sap_solver_info, which do not glide    (false)
  double settled;           // > 0 [m]: contacts that act at the end of the step are solved again
                            // until the shift against gliding is exact to this length   (0)
  const double* v0;         // velocities at the start of the step (nv). NULL only if compliant at
                            // the end of the step: slip and normal speed are then 0 in static
                            // friction and in n0 of new lagged contacts, and the law is castro's
                            //                                                       (NULL)
  const double* v_star;     // velocities without contact from which slips are predicted (nv), valid
                            // until all contacts are added; NULL: the problem's     (NULL)
} sap_contact_scheme;

// Returns the values in parentheses above.
SAP_API sap_contact_scheme sap_contact_scheme_default(void);

// Friction of a contact with `nrows` rows [t1 t2 n spin roll1 roll2], 3 (sliding), 4 (and spin) or
// 6 (and rolling). With mu_j of the rows except n, [-] for t1 and t2, [m] for spin and rolling,
//   sum_j (gamma_j/mu_j)^2 <= gamma_n^2
// In a problem the tangential rows are scaled by s_j = mu_j/mu, which leaves one mu:
//   J_j     <- s_j J_j
//   gamma_j <- gamma_j/s_j
//   |gamma_t| <= mu gamma_n
//   R_j     = Rt/s_j^2 unscaled
// mu is the larger of t1's and t2's; 1 where both are 0 and others are not. A row of mu_j = 0
// becomes zero. Without any friction mu = 0 and all s_j = 1. friction: mu_j of [t1 t2 spin roll1
// roll2] (nrows - 1), each >= 0. Sets scales of all rows, 1 for n, (nrows); returns mu.
SAP_API double sap_friction_scales(const double* friction, int32_t nrows, double* scales);

// One contact of a configuration, as collision detection finds it and the stepper reports it.
typedef struct sap_contact {
  int32_t body_A, body_B;    // model body ids; the normal points from A into B
  int32_t shape_A, shape_B;  // model shape ids; shape_A < shape_B
  int32_t feature;           // which point of the pair's manifold; stable while the contact lasts
  int32_t condim;            // 1 frictionless, 3 sliding friction, 4 and spin, 6 and rolling
  int32_t solutions;         // of the step before the contact was found: 0, or later ones closed it
  double point[3];           // p_WC [m], between the surfaces by compliance (on the rigid one's)
  double R_WC[9];            // column-major; columns t1, t2, n
  // Way of A's and of B's origin until the surfaces meet within the step, where `point` is: J is
  // that of the bodies' material points at point - ahead. 0 if they meet at its start. [m]
  double ahead_A[3], ahead_B[3];
  // Rotation of A and of B until then, as axis times angle in the world: moments of the impulse
  // change the momentum of the bodies as they have turned. [rad]
  double turn_A[3], turn_B[3];
  double phi;             // signed distance less the pair's rest distance [m], < 0 penetration;
                          // all points of a patch have that of the shapes where they are deepest
  double law_phi;         // phi of the law: phi, but -force/stiffness of a patch's point [m]
  double thickness;       // of the thinner shape along n [m]; 0: not looked for
  int32_t patch;          // number of contacts that represent its patch; 0: a point contact
  double area;            // of the whole patch [m^2]; 0: a point contact
  sap_material material;  // of the pair; in a patch `stiffness` is this contact's share [N/m]
  double friction[5];     // mu of [t1 t2 spin roll1 roll2] [-], [m]; 0 beyond condim
  double surface_velocity[3];  // by belts: of B's surface relative to A's, [t1 t2 spin] [m/s],
                               // [rad/s]
  // Set by a step: rows [t1 t2 n spin roll1 roll2], unscaled, 0 beyond condim.
  double R[6];      // regularization; 0 along rows without friction
  double vc[6];     // velocity of B's surface relative to A's after the step [m/s], [rad/s]
  double gamma[6];  // impulse on B [N s], [N m s]
  // Part of the material's stiffness that R has, which dt may be too long to resolve, in (0, 1];
  // 0: unknown, or the material is rigid.
  double realised;
} sap_contact;

SAP_C_END
