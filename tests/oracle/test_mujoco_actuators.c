// SPDX-License-Identifier: BSD-3-Clause
// Servos that are not affine, against closed forms of the linearly implicit step
//   (I + h kd + h^2 kp) v' = I v + h kp (u - q),
// with gains at which explicit forces fly apart, and within their bounds. MuJoCo 4 alone has them.
#include "support/mujoco_run.h"
#include "support/skip.h"

#if mjVERSION_HEADER >= 4000000

// A body that turns about one axis through its centre of mass, without gravity.
#define TURNS(joint)                                                                        \
  "<mujoco><option timestep='0.01' gravity='0 0 0'/><worldbody><body>" joint                \
  "<geom type='sphere' size='.1' mass='1' contype='0' conaffinity='0'/></body></worldbody>" \
  "<actuator>%s</actuator></mujoco>"
#define HINGE TURNS("<joint name='j' type='hinge' axis='0 1 0'/>")
#define BALL TURNS("<joint name='j' type='ball'/>")

typedef struct servo {
  const char* actuator;
  double kp, kd, target;
} servo;

static const servo servos[] = {
    {"<dcmotor joint='j' motorconst='50' resistance='2' input='voltage'/>", 0.0, 1250.0, 0.0},
    {"<dcmotor joint='j' motorconst='.5' resistance='2' input='pos' controller='2e5 0 90'/>", 2e5,
     90.0, 0.3},
    {"<pid joint='j' kp='3e5' kv='40'/>", 3e5, 40.0, 0.3},
    {"<dcmotor joint='j' motorconst='.5' resistance='2' input='none'/>", 0.0, 0.125, 0.0},
};

static mujoco_run begin(const char* model, const char* actuator) {
  char text[1000];
  (void)snprintf(text, sizeof text, model, actuator);
  return mujoco_run_text(text, NULL);
}

static void test_hinges(void** state) {
  (void)state;
  const double h = 0.01, I = 0.4 * 0.01;
  for (size_t i = 0; i < sizeof servos / sizeof *servos; ++i) {
    const servo* s = &servos[i];
    mujoco_run run = begin(HINGE, s->actuator);
    run.data->qvel[0] = 2.0;
    if (run.model->nu > 0) {
      run.data->ctrl[0] = s->target;
    }
    double q = 0.0, v = 2.0;
    for (int step = 0; step < 50; ++step) {
      mujoco_run_step(&run, 1);
      v = (I * v + h * s->kp * (s->target - q)) / (I + h * s->kd + h * h * s->kp);
      q += h * v;
      ASSERT_NEAR(run.data->qvel[0], v, 1e-9);
      ASSERT_NEAR(run.data->qpos[0], q, 1e-11);
      // The force is that at the end of the step.
      ASSERT_NEAR(run.data->actuator_force[0], s->kp * (s->target - q) - s->kd * v,
                  1e-9 * (1.0 + s->kp + s->kd));
    }
    mujoco_run_end(&run);
  }
}

// Bounds of 2 N m: the servo accelerates, brakes and holds its target, where without its force it
// would go on, and with its gains on top of the bound it would stop.
static void test_bounded_hinges(void** state) {
  (void)state;
  static const char* const bounded[] = {
      "<pid joint='j' kp='50' kv='2' forcerange='-2 2'/>",
      "<dcmotor joint='j' motorconst='.5' resistance='2' input='pos' controller='50 0 2'"
      " saturation='2 0 0'/>"};
  const double h = 0.01, I = 0.4 * 0.01;
  for (size_t i = 0; i < sizeof bounded / sizeof *bounded; ++i) {
    mujoco_run run = begin(HINGE, bounded[i]);
    run.data->ctrl[0] = 1.5;
    mujoco_run_step(&run, 1);
    ASSERT_NEAR(run.data->actuator_force[0], 2.0, 1e-9);
    ASSERT_NEAR(run.data->qvel[0], h * 2.0 / I, 1e-9);
    for (int step = 0; step < 300; ++step) {
      const double before = run.data->qvel[0];
      mujoco_run_step(&run, 1);
      ASSERT_NEAR(run.data->actuator_force[0], I * (run.data->qvel[0] - before) / h, 1e-9);
      assert_true(fabs(run.data->actuator_force[0]) < 2.0 + 1e-5);
    }
    ASSERT_NEAR(run.data->qpos[0], 1.5, 1e-6);
    mujoco_run_end(&run);
  }
}

// About a fixed axis an orientation servo is a hinge's.
static void test_orientation(void** state) {
  (void)state;
  const double h = 0.01, I = 0.4 * 0.01, kp = 1e5, kd = 30.0, target = 0.4;
  mujoco_run run = begin(BALL, "<orientation joint='j' kp='1e5' kv='30'/>");
  run.data->ctrl[1] = target;
  double q = 0.0, v = 0.0;
  for (int step = 0; step < 50; ++step) {
    mujoco_run_step(&run, 1);
    v = (I * v + h * kp * (target - q)) / (I + h * kd + h * h * kp);
    q += h * v;
    ASSERT_NEAR(run.data->qvel[1], v, 1e-8);
    ASSERT_NEAR(run.data->qvel[0], 0.0, 1e-12);
    ASSERT_NEAR(2.0 * asin(run.data->qpos[2]), q, 1e-9);
  }
  ASSERT_NEAR(q, target, 1e-6);
  mujoco_run_end(&run);
}

// Within a bound on its norm it cannot pull harder than that.
static void test_bounded_orientation(void** state) {
  (void)state;
  mujoco_run run = begin(BALL, "<orientation joint='j' kp='1e5' kv='30' forcerange='0 .1'/>");
  run.data->ctrl[1] = 3.0;
  mujoco_run_step(&run, 1);
  ASSERT_NEAR(run.data->qvel[1], 0.01 * 0.1 / (0.4 * 0.01), 1e-9);
  mujoco_run_end(&run);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_hinges), cmocka_unit_test(test_bounded_hinges),
      cmocka_unit_test(test_orientation), cmocka_unit_test(test_bounded_orientation)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  return skip_program("this MuJoCo has affine servos alone");
}

#endif
