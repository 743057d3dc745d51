// SPDX-License-Identifier: BSD-3-Clause
// Robots that others made, with their scenes: they load, and hold their pose with their own servos.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "multibody/model/model_data.h"
#include "support/near.h"
#include "support/scratch.h"
#include "support/simulation.h"

#define MENAGERIE SAPSTEP_SHARED "/models/menagerie/"

// From the keyframe, or the default pose without one. Skips where the models are absent.
static simulation start(const char* path, double dt, bool keyframe) {
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, path, SAP_SCHEME_IMPLICIT_EULER, dt, &error)) {
    simulation_skip_absent(&error);
  }
  if (keyframe) {
    double control[64];
    assert_true(s.model->sizes.nu <= 64);
    assert_int_equal(sap_model_get_keyframe(s.model, 0, &s.state, control, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
  }
  return s;
}

// The furthest that a joint with a position servo, its own or a tendon's, moves in the last two of
// five seconds [rad, m].
static double drift(simulation* s, double dt) {
  double q[128], largest = 0.0;
  assert_true(s->state.nq <= 128);
  simulation_step(s, (int32_t)lround(3.0 / dt));
  memcpy(q, s->state.q, (size_t)s->state.nq * sizeof *q);
  const int32_t steps = (int32_t)lround(2.0 / dt);
  for (int32_t n = 0; n < steps; ++n) {
    simulation_step(s, 1);
    for (int32_t i = 0; i < s->model->sizes.actuators; ++i) {
      const sap_model_actuator* a = &s->model->actuators[i];
      if (a->transmission == SAP_TRANSMISSION_JOINT && a->bias[1] < 0.0) {
        const int32_t j = s->model->joints[a->target].q_start;
        largest = fmax(largest, fabs(s->state.q[j] - q[j]));
      }
      if (a->transmission == SAP_TRANSMISSION_TENDON && a->bias[1] < 0.0) {
        const sap_model_tendon* t = &s->model->tendons[a->target];
        for (int32_t k = t->first; k < t->first + t->count; ++k) {
          const int32_t j = s->model->joints[s->model->tendon_joints[k]].q_start;
          largest = fmax(largest, fabs(s->state.q[j] - q[j]));
        }
      }
    }
  }
  return largest;
}

static void test_holding(void** unused) {
  (void)unused;
  static const struct {
    const char* scene;
    bool keyframe;
  } robots[] = {
      {"agility_cassie/scene.xml", true},      {"kuka_iiwa_14/scene.xml", true},
      {"robotiq_2f85/scene.xml", false},       {"shadow_hand/scene_left.xml", false},
      {"shadow_hand/scene_right.xml", false},  {"unitree_go1/scene.xml", true},
      {"wonik_allegro/scene_left.xml", false}, {"wonik_allegro/scene_right.xml", false},
  };
  for (size_t i = 0; i < sizeof robots / sizeof *robots; ++i) {
    for (int k = 0; k < 2; ++k) {
      const double dt = k == 0 ? 0.002 : 0.01;
      char path[1024];
      (void)snprintf(path, sizeof path, MENAGERIE "%s", robots[i].scene);
      simulation s = start(path, dt, robots[i].keyframe);
      const double moved = drift(&s, dt);
      print_message("%s, dt %g: held joints move by %.2g in two seconds\n", robots[i].scene, dt,
                    moved);
      if (!(moved < 1e-3)) {
        fail_msg("%s, dt %g: a held joint moves by %g", robots[i].scene, dt, moved);
      }
      simulation_end(&s);
    }
  }
}

// The fastest that rows of friction creep while they hold: at the cone's bound, where
// v_j = R_j mu_j gamma_n. [rad/s, m/s]
static double fastest_creep(const simulation* s) {
  double fastest = 0.0;
  for (int32_t i = 0; i < sap_multibody_contact_count(s->multibody); ++i) {
    const sap_contact* c = &sap_multibody_contacts(s->multibody)[i];
    for (int j = 0; j < 5; ++j) {
      fastest = fmax(fastest, c->R[j < 2 ? j : j + 1] * c->friction[j] * c->gamma[2]);
    }
  }
  return fastest;
}

// Objects in the Shadow hand move at 10 ms by more than its joints: a ball rests where friction
// against rolling holds it, and creeps as SAP does, slower in proportion to sigma. Half the angle in
// two seconds. [rad, m]
static void test_shadow_holds_still(void** unused) {
  (void)unused;
  static const double sigma[2] = {1e-3, 1e-6};
  for (int k = 0; k < 2; ++k) {
    simulation s = start(MENAGERIE "shadow_hand/scene_right.xml", 0.01, false);
    sap_stepper_options options = sap_stepper_options_default();
    options.dt = 0.01;
    options.regularization.sigma = sigma[k];
    simulation_use(&s, &options);
    double q[128], largest = 0.0;
    assert_true(s.state.nq <= 128);
    simulation_step(&s, 300);
    memcpy(q, s.state.q, (size_t)s.state.nq * sizeof *q);
    simulation_step(&s, 200);
    for (int32_t i = 0; i < s.state.nq; ++i) {
      largest = fmax(largest, fabs(s.state.q[i] - q[i]));
    }
    assert_true(largest < fastest_creep(&s) && largest < 10.0 * sigma[k]);
    simulation_end(&s);
  }
}

static void test_go1_stands(void** unused) {
  (void)unused;
  for (int k = 0; k < 2; ++k) {
    const double dt = k == 0 ? 0.002 : 0.01;
    simulation s = start(MENAGERIE "unitree_go1/scene.xml", dt, true);
    simulation_step(&s, (int32_t)lround(5.0 / dt));
    ASSERT_NEAR(s.state.q[2], 0.27, 0.02);    // trunk
    assert_true(fabs(s.state.q[3]) > 0.999);  // upright
    assert_int_equal(sap_multibody_contact_count(s.multibody), 4);
    double weight = 0.0;
    for (int32_t i = 0; i < 4; ++i) {
      weight += sap_multibody_contacts(s.multibody)[i].gamma[2] / dt;
    }
    ASSERT_NEAR(weight, 9.81 * simulation_diagnose(&s).mass, 1e-3);
    simulation_end(&s);
  }
}

// Four loops and leaf springs, falling limp from its pose, in which the keyframe has the loops 2 mm
// open: they close with the relaxation time of 0.01 s, and stay closed in the blow on the floor, but
// for the tolerance of closure, 1e-7 m a step, and what 10 m/s leave to R = 1e-6 w: dt 1e-5 m/s.
static void test_cassie(void** unused) {
  (void)unused;
  static const double steps[3] = {0.005, 0.01, 0.02};
  for (int k = 0; k < 3; ++k) {
    simulation s = start(MENAGERIE "agility_cassie/scene.xml", steps[k], true);
    assert_int_equal(s.model->sizes.equalities, 4);
    double worst = 0.0, speed = 0.0;
    const int32_t count = (int32_t)lround(5.0 / steps[k]);
    for (int32_t n = 0; n < count; ++n) {
      simulation_step(&s, 1);
      worst = s.state.t > 0.1 + 3.0 * steps[k] ? fmax(worst, simulation_loop_error(&s)) : 0.0;
    }
    for (int32_t i = 0; i < s.state.nv; ++i) {
      speed = fmax(speed, fabs(s.state.v[i]));
    }
    print_message("Cassie, dt %g: loops open by %.2g m, %.2g at the end\n", steps[k], worst, speed);
    if (!(worst < 1e-6 + 1e-4 * steps[k]) || !(speed < 0.2)) {
      fail_msg("dt %g: loops open by %g m, speed %g at the end", steps[k], worst, speed);
    }
    simulation_end(&s);
  }
}

// A scene that attaches a shared robot, written aside.
static simulation start_text(const char* text, double dt) {
  scratch files;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&files);
  (void)scratch_write(&files, "scene.xml", text, strlen(text), path);
  simulation s;
  sap_error error = {0};
  const bool read = simulation_read(&s, path, SAP_SCHEME_IMPLICIT_EULER, dt, &error);
  scratch_end(&files);
  if (!read) {
    simulation_skip_absent(&error);
  }
  return s;
}

// Where the coordinates of a joint start.
static int32_t at(const simulation* s, const char* joint) {
  int32_t q = -1;
  assert_int_equal(
      sap_model_joint_address(s->model, sap_model_find(s->model, SAP_ELEMENT_JOINT, joint), NULL,
                              NULL, &q, NULL, NULL),
      SAP_STATUS_OK);
  return q;
}

static const char lift_scene[] =
    "<mujoco><asset><model name='gripper' file='" MENAGERIE
    "robotiq_2f85/2f85.xml'/></asset>"
    "<worldbody><geom type='plane' size='0 0 .05'/>"
    "<body pos='0 0 0.165' quat='0 1 0 0'><inertial pos='0 0 0' mass='1' diaginertia='.01 .01 "
    ".01'/>"
    "<joint name='lift' type='slide' axis='0 0 -1'/>"
    "<attach model='gripper' body='base_mount' prefix='g_'/></body>"
    "<body pos='0 0 0.02'><freejoint name='box'/>"
    "<geom type='box' size='.02 .02 .02' mass='0.2' friction='0.7'/></body></worldbody>"
    "<actuator><position joint='lift' kp='5000' kv='300'/></actuator></mujoco>";

// The gripper closes on a box and lifts it by 0.1 m. SAP lets what it holds slip by sigma mu g dt a
// second; the pads' mu is 0.7 and 0.6.
static void test_gripper_lifts(void** unused) {
  (void)unused;
  for (int k = 0; k < 2; ++k) {
    const double dt = k == 0 ? 0.002 : 0.01;
    simulation s = start_text(lift_scene, dt);
    assert_int_equal(s.model->sizes.actuators, 2);
    const int32_t lift = at(&s, "lift"), box = at(&s, "box");
    double control[2] = {0.0, 255.0};
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    control[0] = 0.1;
    assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
    simulation_step(&s, (int32_t)lround(2.0 / dt));
    assert_true(s.state.q[box + 2] > 0.1);
    const double held = s.state.q[box + 2] - s.state.q[lift];
    simulation_step(&s, (int32_t)lround(2.0 / dt));
    const double slip = 0.5 * fabs(s.state.q[box + 2] - s.state.q[lift] - held);
    const double allowed = s.model->options.regularization.sigma * 0.7 * dt * 9.81;
    print_message("2F-85, dt %g: slips by %.3g m/s, allowed are %.3g\n", dt, slip, allowed);
    if (!(slip < allowed)) {
      fail_msg("dt %g: slips by %g m/s, allowed are %g", dt, slip, allowed);
    }
    simulation_end(&s);
  }
}

static const char grasp_scene[] =
    "<mujoco><option gravity='0 0 9.81'/>"  // out of the palm
    "<asset><model name='hand' file='" MENAGERIE
    "wonik_allegro/right_hand.xml'/></asset>"
    "<worldbody><attach model='hand' body='palm' prefix='h_'/>"
    "<body pos='0.01 0 0.075'><freejoint name='ball'/>"
    "<geom type='sphere' size='0.035' mass='0.1' condim='6' friction='0.8 0.005 0.001'/></body>"
    "</worldbody></mujoco>";

// The hand closes on a ball that is held still, then keeps it for 10 s against its weight, which
// pulls it out of the palm.
static void test_hand_keeps_ball(void** unused) {
  (void)unused;
  static const double closed[16] = {0.0, 0.9, 0.9, 0.9, 0.0,  0.9, 0.9, 0.9,
                                    0.0, 0.9, 0.9, 0.9, 1.35, 0.5, 0.7, 0.7};
  for (int k = 0; k < 2; ++k) {
    const double dt = k == 0 ? 0.002 : 0.01;
    simulation s = start_text(grasp_scene, dt);
    const int32_t ball = at(&s, "ball");
    const int32_t joint = sap_model_find(s.model, SAP_ELEMENT_JOINT, "ball");
    assert_int_equal(sap_multibody_set_control(s.multibody, closed, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_multibody_lock(s.multibody, joint, true, NULL), SAP_STATUS_OK);
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    assert_int_equal(sap_multibody_lock(s.multibody, joint, false, NULL), SAP_STATUS_OK);
    simulation_step(&s, (int32_t)lround(1.0 / dt));
    double p[3];
    memcpy(p, s.state.q + ball, sizeof p);
    simulation_step(&s, (int32_t)lround(9.0 / dt));
    for (int i = 0; i < 3; ++i) {
      ASSERT_NEAR(s.state.q[ball + i], p[i], 5e-3);
    }
    assert_true(sap_multibody_contact_count(s.multibody) >= 3);
    simulation_end(&s);
  }
}

// URDF has no servos: proportional and derivative moments from outside, set in every step.
typedef struct posture {
  simulation* s;
  double target[12];
} posture;

static int hold_posture(void* context, double t, const double* q, const double* v,
                        double* control) {
  const posture* p = context;
  double tau[18] = {0.0};
  (void)t;
  (void)control;
  for (int i = 0; i < 12; ++i) {
    tau[6 + i] = 20.0 * (p->target[i] - q[7 + i]) - 0.2 * v[6 + i];
  }
  return (int)sap_multibody_set_applied_forces(p->s->multibody, tau, NULL);
}

static void test_solo_stands(void** unused) {
  (void)unused;
  simulation s = {0};
  sap_error error = {0};
  sap_scene_options options = sap_scene_options_default();
  options.lenient = options.floating_base = true;
  options.floor = 0.0;
  const char* path = SAPSTEP_SHARED "/models/urdf/robots/solo_description/robots/solo12.urdf";
  if (sap_scene_read(path, &options, &s.model, &error) != SAP_STATUS_OK) {
    simulation_skip_absent(&error);
  }
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, 0.002);
  posture p = {.s = &s};
  for (int leg = 0; leg < 4; ++leg) {
    p.target[3 * leg + 1] = leg < 2 ? 0.8 : -0.8;
    p.target[3 * leg + 2] = leg < 2 ? -1.6 : 1.6;
  }
  s.state.q[2] = 0.26;
  memcpy(s.state.q + 7, p.target, sizeof p.target);
  assert_int_equal(sap_multibody_set_control_function(s.multibody, hold_posture, &p, NULL),
                   SAP_STATUS_OK);
  simulation_step(&s, 1500);
  const double height = s.state.q[2];
  assert_true(height > 0.2 && height < 0.26 && fabs(s.state.q[3]) > 0.99);
  simulation_step(&s, 1000);
  ASSERT_NEAR(s.state.q[2], height, 5e-4);  // feet creep apart by some 1e-5 m/s
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_holding),       cmocka_unit_test(test_shadow_holds_still),
      cmocka_unit_test(test_go1_stands),    cmocka_unit_test(test_cassie),
      cmocka_unit_test(test_gripper_lifts), cmocka_unit_test(test_hand_keeps_ball),
      cmocka_unit_test(test_solo_stands),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
