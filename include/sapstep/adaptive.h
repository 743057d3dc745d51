// SPDX-License-Identifier: BSD-3-Clause
// Steps of second order that choose their own length.
//
// A step of the midpoint scheme is tried and accepted if its estimated error is at most `accuracy`,
//   max_i L_i max(|dq_i|, T_v |dv_i|)  [m]
// with a length L_i for each velocity i and the time T_v. The error of smooth motion comes from
// divided differences of the accepted velocities and the attempt's, so that a step costs one solve:
//   dq = h^3/6 v[t1, t2, t3]      dv = h^3/2 v[t0, t1, t2, t3]
// and from two steps of half the length where fewer than three velocities are known. Where nothing
// has a kink for some steps, a step and two halves of it are extrapolated to order 4 instead, and
// the part of it that the step does not resolve, as a stiff spring's oscillation, is filtered out:
// three solves a step, which is longer, and an error that is about the accuracy even after many
// steps, if positions have a position_difference and there are no activations.
//
// Contacts and limits that close or open within the step, servos that reach their bounds, springs of
// tendons that reach their dead band, and contacts and joints that friction stops have kinks that
// divided differences do not see. Their impulse is compared with the integral of their force, and
// the step ends just behind the kink.
//
// The solutions are as exact as the accuracy needs: sticking contacts creep by at most accuracy/20
// in a step or in T_v (sigma >= 1e-6), sliding contacts are solved again until they do not glide,
// balance_tolerance is at most accuracy times 10/m, and free motion is exact to a thousandth of it,
// beta 6e-3: bodies rest as deep as k lets them.
#pragma once

#include <sapstep/base.h>
#include <sapstep/stepper.h>
#include <sapstep/system.h>

SAP_C_BEGIN

// The one list of options, as SAP_STEPPER_OPTIONS.
#define SAP_ADAPTIVE_OPTIONS(X)                                                               \
  X(positive, accuracy, 1e-4, 0, 1e300, "error of a step's positions [m]")                    \
  X(positive, velocity_time, 0.01, 0, 1e300, "time that makes errors of velocities ways [s]") \
  X(positive, largest_dt, 0.1, 0, 1e300, "longest step [s]")                                  \
  X(positive, least_dt, 1e-9, 0, 1e300, "shortest step, accepted whatever its error [s]")     \
  X(boolean, extrapolate, true, 0, 1, "steps of order 4 where the motion is smooth")

// Start with sap_adaptive_options_default(), which sets the cookie.
typedef struct sap_adaptive_options {
  uint32_t cookie;
#define SAP_X(type, name, value, low, high, meaning) sap_type_##type name;
  SAP_ADAPTIVE_OPTIONS(SAP_X)
#undef SAP_X
} sap_adaptive_options;

SAP_API sap_adaptive_options sap_adaptive_options_default(void);  // the values of the list

// Why a step is not longer: X(name, text)
#define SAP_ADAPTIVE_REASON_LIST(X)       \
  X(SMOOTH, "smooth motion")              \
  X(KINK, "contact that closes or opens") \
  X(BOUND, "limit reached or left")       \
  X(STOP, "contact that stops sliding")   \
  X(SERVO, "servo or spring at a bound")  \
  X(FAILED, "attempt that failed")        \
  X(LIMIT, "longest or shortest step, or the end")

typedef enum sap_adaptive_reason {
#define SAP_X(name, text) SAP_ADAPTIVE_##name,
  SAP_ADAPTIVE_REASON_LIST(SAP_X)
#undef SAP_X
      SAP_ADAPTIVE_REASON_COUNT
} sap_adaptive_reason;
// Returns the text ("smooth motion"); "unknown reason" for other values.
SAP_API const char* sap_adaptive_reason_text(sap_adaptive_reason reason);

// Report of an accepted step.
typedef struct sap_adaptive_report {
  double dt;                   // of the step [s]
  double error;                // estimated; above accuracy only for the shortest step [m]
  sap_adaptive_reason reason;  // why it was not longer
  int32_t velocity;            // index of the one with that error; of a kink the last of its block
  int32_t parts;               // 1: one step of the stepper; 2: two halves; 3: both, extrapolated
  int32_t rejected;            // attempts
  int32_t solves;              // steps of the stepper, rejected attempts included
  sap_step_report step;        // of the last of them
} sap_adaptive_report;

typedef struct sap_adaptive sap_adaptive;

// Creates an error control for a stepper of the midpoint scheme whose contacts act at its theta
// point. The stepper is borrowed, and its dt is changed. lengths (nv) [m] of a joint's radian, 1 of
// a slide: copied. NULL: sqrt(M_ii/m_i) at the first state, if the system has moved_masses, else 1.
// One control per stepper; its memory is saved, loaded and forgotten with the stepper's, so that
// checkpoints go on bit for bit. Destroy the control before the stepper.
// The stepper's solver should be more accurate than the steps: relative_tolerance <= accuracy/100.
// fails: ARGUMENT: another scheme, a rigid or castro's law, options or lengths out of range.
SAP_API sap_status sap_adaptive_create(sap_stepper* stepper, const sap_adaptive_options* options,
                                       const double* lengths, sap_adaptive** out, sap_error* error);
SAP_API void sap_adaptive_destroy(sap_adaptive* adaptive);  // NULL allowed

// Makes one step, accepted, that ends at t_end or before. Callbacks of the system are called for
// rejected attempts, too; these leave nothing behind. `report` may be NULL. On failure state and
// memory are unchanged. ARGUMENT: t_end <= state->t; and as sap_stepper_step, STEP_FAILED only if
// the shortest step fails.
SAP_API sap_status sap_adaptive_step(sap_adaptive* adaptive, sap_state* state, double t_end,
                                     sap_adaptive_report* report, sap_error* error);
// Sets `out`, of the sizes of `end`, to the state at the time t [s] within the last step. `end` is
// the state that the step led to. Positions and velocities follow the cubic with both at the two
// ends, activations are linear. Fails with UNSUPPORTED: the system has no position_difference;
// ARGUMENT: t is not within the step, or sizes differ; CALLBACK. No heap call.
SAP_API sap_status sap_adaptive_interpolate(sap_adaptive* adaptive, const sap_state* end, double t,
                                            sap_state* out, sap_error* error);
// Forgets the accepted velocities, where forces jump between steps: a new control, for example.
// Another state than that of the last step is noticed without it; the length of steps is kept then.
// NULL allowed.
SAP_API void sap_adaptive_forget(sap_adaptive* adaptive);

SAP_C_END
