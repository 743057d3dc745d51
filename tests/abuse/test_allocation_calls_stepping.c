// SPDX-License-Identifier: BSD-3-Clause
// Engines, steppers and batches: broken arguments, and allocations that fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sapstep/sapstep.h>

#include "support/calls.h"
#include "support/heap_count.h"
#include "support/scene_text.h"

static const char scene[] =
    "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .1'><freejoint/><geom "
    "size='.1'/></body><body pos='2 0 1'><joint name='j' axis='0 1 0' range='-1 1' limited='true'/>"
    "<geom size='.1'/></body><body pos='4 0 1'><joint name='k' axis='0 1 0'/><geom size='.1'/>"
    "</body></worldbody><equality><joint joint1='j' joint2='k'/></equality><actuator><motor "
    "joint='j'/></actuator><sensor><clock/></sensor></mujoco>";
static const double zeros[8], ones[8] = {1, 1, 1, 1, 1, 1, 1, 1};

static void ignore_start(void* context, const sap_wrong_start* found) {
  (void)context;
  (void)found;
}

static sap_model* model;
static sap_multibody* multibody;
static sap_stepper* stepper;
static sap_batch* batch;
static sap_stepper* midpoint;
static sap_adaptive* adaptive;
static sap_multibody* loose;  // without the equality
static sap_stepper* smooth;
static sap_state state, between, states[2];
static sap_step_report report;
static sap_stepper_options stepper_options;
static const sap_step_context step_context = {
    .dt = 0.01, .stage_theta = 0.5, .stage_theta_vq = 0.5, .v0_free = zeros, .v_guess = zeros};
static const sap_contact_move contact_move = {.normal0 = {0.0, 0.0, 1.0}, .R_WC_theta[8] = 1.0};
static sap_contact_block contact_block;
static unsigned char bytes[65536];
static size_t size;
static int32_t first_shape;
// Objects made by calls.
static struct made {
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_batch* batch;
  sap_adaptive* adaptive;
} made;
static double matrix[16 * 17];
static union {
  sap_diagnostics diagnostics;
  double numbers[64];
} out;

static int hold(void* context, double t, const double* q, const double* v, double* control) {
  (void)context, (void)t, (void)q, (void)v, (void)control;
  return 0;
}

#define CALLS(X)                                                                                   \
  X(sap_multibody_create, 2, sap_multibody_create(P(1, model), P(2, &made.multibody), error))      \
  X(sap_multibody_set_control, 2,                                                                  \
    sap_multibody_set_control(P(1, multibody), V(2, zeros, 1), error))                             \
  X(sap_multibody_set_control_function, 1,                                                         \
    sap_multibody_set_control_function(P(1, multibody), hold, NULL, error))                        \
  X(sap_multibody_set_applied_forces, 2,                                                           \
    sap_multibody_set_applied_forces(P(1, multibody), W(2, zeros, 8), error))                      \
  X(sap_multibody_set_applied_wrench, 5,                                                           \
    sap_multibody_set_applied_wrench(P(1, multibody), I(2, 1), W(3, zeros, 3), W(4, zeros, 3),     \
                                     W(5, zeros, 3), error))                                       \
  X(sap_multibody_lock, 2, sap_multibody_lock(P(1, multibody), I(2, 1), false, error))             \
  X(sap_multibody_enable, 3,                                                                       \
    sap_multibody_enable(P(1, multibody), (sap_switch)I(2, 0), I(3, 0), true, error))              \
  X(sap_multibody_detect, 2, sap_multibody_detect(P(1, multibody), V(2, state.q, 9), error))       \
  X(sap_multibody_body_pose, 5,                                                                    \
    sap_multibody_body_pose(P(1, multibody), V(2, state.q, 9), I(3, 1), P(4, out.numbers),         \
                            P(5, out.numbers + 8), error))                                         \
  X(sap_multibody_point_jacobian, 5,                                                               \
    sap_multibody_point_jacobian(P(1, multibody), V(2, state.q, 9), I(3, 1), V(4, zeros, 3),       \
                                 P(5, out.numbers), error))                                        \
  X(sap_multibody_poses, 4,                                                                        \
    sap_multibody_poses(P(1, multibody), V(2, state.q, 9), P(3, out.numbers),                      \
                        P(4, out.numbers + 16), error))                                            \
  X(sap_multibody_ray, 6,                                                                          \
    sap_multibody_ray(P(1, multibody), V(2, state.q, 9), V(3, zeros, 3), V(4, ones, 3), -1,        \
                      P(5, out.numbers), P(6, &first_shape), error))                               \
  X(sap_multibody_closure, 3,                                                                      \
    sap_multibody_closure(P(1, multibody), V(2, state.q, 9), P(3, out.numbers), error))            \
  X(sap_multibody_diagnose, 3,                                                                     \
    sap_multibody_diagnose(P(1, multibody), P(2, &state), P(3, &out.diagnostics), error))          \
  X(sap_system_check, 1, sap_system_check(P(1, sap_multibody_system(multibody)), error))           \
  X(sap_step_displacement, 2,                                                                      \
    sap_step_displacement(P(1, &step_context), 8, P(2, out.numbers), error))                       \
  X(sap_contact_block_move, 3,                                                                     \
    sap_contact_block_move(P(1, &step_context), P(2, &contact_move), P(3, &contact_block), error)) \
  X(sap_stepper_create, 2,                                                                         \
    sap_stepper_create(P(1, sap_multibody_system(multibody)), NULL, P(2, &made.stepper), error))   \
  X(sap_stepper_free_motion, 3,                                                                    \
    sap_stepper_free_motion(P(1, stepper), P(2, &state), P(3, out.numbers), error))                \
  X(sap_stepper_set_dt, 2, sap_stepper_set_dt(P(1, stepper), D(2, 0.01), error))                   \
  X(sap_stepper_save_memory, 2,                                                                    \
    sap_stepper_save_memory(P(1, stepper), bytes, sizeof bytes, P(2, &size), error))               \
  X(sap_stepper_load_memory, 2, sap_stepper_load_memory(P(1, stepper), P(2, bytes), size, error))  \
  X(sap_stepper_step, 2, sap_stepper_step(P(1, stepper), P(2, &state), &report, error))            \
  X(sap_multibody_sensors, 3,                                                                      \
    sap_multibody_sensors(P(1, multibody), &report, P(2, &state), P(3, out.numbers), error))       \
  X(sap_stepper_linearize, 1,                                                                      \
    sap_stepper_linearize(P(1, smooth), matrix, matrix + 256, NULL, error))                        \
  X(sap_stepper_vjp, 4,                                                                            \
    sap_stepper_vjp(P(1, smooth),                                                                  \
                    P(2, (&(sap_step_gradients){.dq1 = W(3, ones, 8),                              \
                                                .dv1 = W(4, ones, 8),                              \
                                                .dq0 = out.numbers,                                \
                                                .dv0 = out.numbers + 8,                            \
                                                .du = out.numbers + 16})),                         \
                    NULL, error))                                                                  \
  X(sap_multibody_wrong_starts, 3,                                                                 \
    sap_multibody_wrong_starts(P(1, multibody), P(2, &report),                                     \
                               call_breaks(3, 0) ? NULL : ignore_start, NULL, error))              \
  X(sap_multibody_collect, 2, sap_multibody_collect(P(1, multibody), P(2, &report), error))        \
  X(sap_multibody_constraint_forces, 3,                                                            \
    sap_multibody_constraint_forces(P(1, multibody), P(2, &report), P(3, out.numbers), error))     \
  X(sap_multibody_contact_forces, 3,                                                               \
    sap_multibody_contact_forces(P(1, multibody), P(2, &report), P(3, out.numbers), error))        \
  X(sap_multibody_limit_force, 4,                                                                  \
    sap_multibody_limit_force(P(1, multibody), P(2, &report), I(3, 1), P(4, out.numbers), error))  \
  X(sap_multibody_equality_force, 4,                                                               \
    sap_multibody_equality_force(P(1, multibody), P(2, &report), I(3, 0), P(4, out.numbers),       \
                                 error))                                                           \
  X(sap_multibody_actuator_forces, 3,                                                              \
    sap_multibody_actuator_forces(P(1, multibody), P(2, &report), P(3, out.numbers), error))       \
  X(sap_multibody_joint_reaction, 6,                                                               \
    sap_multibody_joint_reaction(P(1, multibody), P(2, &report), P(3, &state), I(4, 1),            \
                                 P(5, out.numbers), P(6, out.numbers + 3), error))                 \
  X(sap_multibody_accelerations, 4,                                                                \
    sap_multibody_accelerations(P(1, multibody), P(2, &report), V(3, state.v, 8),                  \
                                P(4, out.numbers), error))                                         \
  X(sap_stepper_options_check, 1, sap_stepper_options_check(P(1, &stepper_options), error))        \
  X(sap_stepper_options_preset, 2,                                                                 \
    sap_stepper_options_preset(P(1, "castro"), P(2, &stepper_options), error))                     \
  X(sap_stepper_options_set_scheme, 2,                                                             \
    sap_stepper_options_set_scheme(P(1, &stepper_options), (sap_scheme)I(2, 1), error))            \
  X(sap_adaptive_create, 3,                                                                        \
    sap_adaptive_create(P(1, midpoint), NULL, W(2, ones, 8), P(3, &made.adaptive), error))         \
  X(sap_adaptive_step, 3,                                                                          \
    sap_adaptive_step(P(1, adaptive), P(2, &state), D(3, state.t + 1e-3), NULL, error))            \
  X(sap_adaptive_interpolate, 4,                                                                   \
    sap_adaptive_interpolate(P(1, adaptive), P(2, &state), D(3, state.t - 1e-6), P(4, &between),   \
                             error))                                                               \
  X(sap_batch_create, 4,                                                                           \
    sap_batch_create(P(1, model), NULL, N(2, 2), I(3, 1), P(4, &made.batch), error))               \
  X(sap_batch_step, 4,                                                                             \
    sap_batch_step(P(1, batch), P(2, states), W(3, zeros, 2), call_breaks(4, 0) ? 0 : 1, NULL,     \
                   error))

CALLS(CALL_FUNCTION)
static const call calls[] = {CALLS(CALL_ROW)};

// Functions that have nothing to say but their result: X(name, what must hold).
#define PLAIN(X)                                                                                 \
  X(sap_scheme_text, sap_scheme_text((sap_scheme)999) != NULL)                                   \
  X(sap_stage_text, sap_stage_text((sap_stage)999) != NULL)                                      \
  X(sap_multibody_system, sap_multibody_system(multibody)->nv == 8)                              \
  X(sap_multibody_contact_count, sap_multibody_contact_count(multibody) >= 0)                    \
  X(sap_multibody_contacts,                                                                      \
    (sap_multibody_contacts(multibody) != NULL) == (sap_multibody_contact_count(multibody) > 0)) \
  X(sap_step_contact_is_within, sap_step_contact_is_within(&step_context, -1.0, 0.0) &&          \
                                    !sap_step_contact_is_within(NULL, -1.0, 0))                  \
  X(sap_batch_multibody,                                                                         \
    sap_batch_multibody(batch, -1) == NULL && sap_batch_multibody(batch, 2) == NULL)             \
  X(sap_batch_stepper,                                                                           \
    sap_batch_stepper(batch, -1) == NULL && sap_batch_stepper(batch, 2) == NULL)                 \
  X(sap_stepper_options_default,                                                                 \
    sap_stepper_options_check(&(sap_stepper_options){0}, NULL) != SAP_STATUS_OK &&               \
        sap_stepper_options_check(                                                               \
            (stepper_options = sap_stepper_options_default(), &stepper_options), NULL) ==        \
            SAP_STATUS_OK)                                                                       \
  X(sap_multibody_destroy, (sap_multibody_destroy(NULL), true))                                  \
  X(sap_stepper_destroy, (sap_stepper_destroy(NULL), true))                                      \
  X(sap_stepper_forget, (sap_stepper_forget(NULL), true))                                        \
  X(sap_adaptive_options_default, sap_adaptive_options_default().accuracy > 0.0)                 \
  X(sap_adaptive_reason_text, sap_adaptive_reason_text((sap_adaptive_reason)999) != NULL)        \
  X(sap_adaptive_forget, (sap_adaptive_forget(NULL), true))                                      \
  X(sap_adaptive_destroy, (sap_adaptive_destroy(NULL), true))                                    \
  X(sap_batch_destroy, (sap_batch_destroy(NULL), true))

static void check_plain(void) {
  PLAIN(CALL_HOLDS)
}

static void cleanup(void) {
  sap_adaptive_destroy(made.adaptive);
  sap_batch_destroy(made.batch);
  sap_stepper_destroy(made.stepper);
  sap_multibody_destroy(made.multibody);
  made = (struct made){0};
}

static int setup(void** unused) {
  (void)unused;
  stepper_options = sap_stepper_options_default();
  model = scene_text_model("a.xml", scene, NULL);
  assert_int_equal(sap_multibody_create(model, &multibody, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_stepper_create(sap_multibody_system(multibody), NULL, &stepper, NULL), 0);
  assert_int_equal(sap_stepper_options_set_scheme(&stepper_options, SAP_SCHEME_MIDPOINT, NULL), 0);
  assert_int_equal(
      sap_stepper_create(sap_multibody_system(multibody), &stepper_options, &midpoint, NULL), 0);
  assert_int_equal(sap_adaptive_create(midpoint, NULL, NULL, &adaptive, NULL), 0);
  assert_int_equal(sap_batch_create(model, NULL, 2, 1, &batch, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(model, &state, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(model, &between, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_create(model, &loose, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_multibody_enable(loose, SAP_SWITCH_EQUALITY, 0, false, NULL), 0);
  assert_int_equal(sap_stepper_create(sap_multibody_system(loose), NULL, &smooth, NULL), 0);
  for (int i = 0; i < 3; ++i) {
    assert_int_equal(sap_stepper_step(smooth, &state, NULL, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_stepper_save_memory(stepper, bytes, sizeof bytes, &size, NULL), 0);
  for (int i = 0; i < 2; ++i) {
    assert_int_equal(sap_model_get_default_state(model, &states[i], NULL), SAP_STATUS_OK);
  }
  return 0;
}

static int teardown(void** unused) {
  (void)unused;
  for (int i = 0; i < 2; ++i) {
    sap_state_clear(&states[i]);
  }
  sap_state_clear(&state);
  sap_state_clear(&between);
  sap_batch_destroy(batch);
  sap_adaptive_destroy(adaptive);
  sap_stepper_destroy(smooth);
  sap_multibody_destroy(loose);
  sap_stepper_destroy(midpoint);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
  sap_model_destroy(model);
  assert_int_equal(heap_live(), 0);
  return 0;
}

int main(void) {
  static const calls_file file = {setup, teardown, check_plain, {CALLS_TABLE(calls, cleanup)}};
  return calls_run(&file);
}
