// SPDX-License-Identifier: BSD-3-Clause
// Sensors of the engine against MuJoCo's at the same q, v and accelerations, and rays against
// mj_ray; touch and force sensors with contacts against weights.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <mujoco/mujoco.h>

#include <sapstep/sensor.h>

#include "support/near.h"
#include "support/scene_text.h"
#include "support/scratch.h"
#include "support/simulation.h"

// Two trees with all joints, welded bodies, tendons and gears; nothing touches.
#define MOVING SAPSTEP_SOURCE_DIR "/tests/oracle/scene/sensors.xml"

static mjModel* load(const char* path) {
  char message[512] = "";
  mjModel* m = mj_loadXML(path, NULL, message, (int)sizeof message);
  if (m == NULL) {
    fail_msg("MuJoCo: %s", message);
  }
  return m;
}

static mjModel* compile(const char* text) {
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  mjModel* m = load(scratch_write(&s, "model.xml", text, strlen(text), path));
  scratch_end(&s);
  return m;
}

static int count_sensors(const mjModel* m, const mjData* d, const sap_model* model,
                         const double* values, double tolerance) {
  int failed = 0;
  for (int i = 0; i < m->nsensor; ++i) {
    const char* name = mj_id2name(m, mjOBJ_SENSOR, i);
    const int32_t id = sap_model_find(model, SAP_ELEMENT_SENSOR, name);
    int32_t first = 0;
    if (sap_model_sensor_values(model, id, &first) != m->sensor_dim[i]) {
      fail_msg("sensor '%s' has %d values", name, m->sensor_dim[i]);
    }
    for (int k = 0; k < m->sensor_dim[i]; ++k) {
      const double theirs = d->sensordata[m->sensor_adr[i] + k];
      if (!(fabs(values[first + k] - theirs) <= tolerance * fmax(1.0, fabs(theirs)))) {
        print_message("%s[%d] = %.15g, MuJoCo %.15g\n", name, k, values[first + k], theirs);
        ++failed;
      }
    }
  }
  return failed;
}

// Before 3.14 MuJoCo left out the forces of tendons on bodies: adds them along the rope's two pieces.
static void add_rope(const mjModel* m, mjData* d) {
#if mjVERSION_HEADER < 3014000
  static const char* const sites[3] = {"imu", "tip", "end"};
  const int rope = mj_name2id(m, mjOBJ_TENDON, "rope");
  const double force = d->actuator_force[mj_name2id(m, mjOBJ_ACTUATOR, "t")] * 2.0 -
                       m->tendon_stiffness[rope] * (d->ten_length[rope] - 0.1) -
                       m->tendon_damping[rope] * d->ten_velocity[rope];
  mju_zero(d->xfrc_applied, 6 * m->nbody);
  for (int i = 0; i < 2; ++i) {
    int ends[2];
    double u[3], arm[3], moment[3];
    for (int k = 0; k < 2; ++k) {
      ends[k] = mj_name2id(m, mjOBJ_SITE, sites[i + k]);
    }
    mju_sub3(u, d->site_xpos + 3 * ends[1], d->site_xpos + 3 * ends[0]);
    mju_normalize3(u);
    for (int k = 0; k < 2; ++k) {  // about the centre of mass
      double* wrench = d->xfrc_applied + 6 * m->site_bodyid[ends[k]];
      mju_sub3(arm, d->site_xpos + 3 * ends[k], d->xipos + 3 * m->site_bodyid[ends[k]]);
      mju_cross(moment, arm, u);
      mju_addToScl3(wrench, u, k == 0 ? -force : force);
      mju_addToScl3(wrench + 3, moment, k == 0 ? -force : force);
    }
  }
#else
  (void)m;
  (void)d;
#endif
}

// Accelerations, forces and velocities are compared at the end of a step with its (v - v0)/dt.
static void test_moving(void** state) {
  (void)state;
  simulation s;
  sap_error error = {0};
  if (!simulation_read(&s, MOVING, SAP_SCHEME_SYMPLECTIC_EULER, 1e-3, &error)) {
    fail_msg("%s", error.message);
  }
  static const double control[3] = {0.4, -0.7, 0.2};
  double values[256] = {0.0}, a[64];
  const int32_t nv = sap_model_get_sizes(s.model).nv;
  assert_int_equal(sap_model_get_sizes(s.model).sites, 6);
  assert_true(sap_model_get_sizes(s.model).nsensor <= 256);
  for (int32_t i = 0; i < nv; ++i) {
    s.state.v[i] = 0.8 * sin(1.0 + 2.0 * i);
  }
  assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
  mjModel* m = load(MOVING);
  mjData* d = mj_makeData(m);
  for (int n = 0; n < 20; ++n) {
    simulation_step(&s, 10);
    assert_int_equal(sap_multibody_sensors(s.multibody, &s.report, &s.state, values, NULL),
                     SAP_STATUS_OK);
    assert_int_equal(sap_multibody_accelerations(s.multibody, &s.report, s.state.v, a, NULL),
                     SAP_STATUS_OK);
    memcpy(d->qpos, s.state.q, (size_t)m->nq * sizeof *d->qpos);
    memcpy(d->qvel, s.state.v, (size_t)nv * sizeof *d->qvel);
    memcpy(d->ctrl, control, sizeof control);
    d->time = s.state.t;
    mj_forward(m, d);
    memcpy(d->qacc, a, (size_t)nv * sizeof *a);
    add_rope(m, d);
    mj_rnePostConstraint(m, d);  // versions since 3 do this once per mj_forward
    mj_energyPos(m, d);
    mj_energyVel(m, d);
    mj_sensorPos(m, d);
    mj_sensorVel(m, d);
    mj_sensorAcc(m, d);
    // Round-off of sums over some ten bodies and of MuJoCo's subtrees.
    assert_int_equal(count_sensors(m, d, s.model, values, 1e-11), 0);
  }
  mj_deleteData(d);
  mj_deleteModel(m);
  simulation_end(&s);
}

static const char seen[] =
    "<mujoco><asset><mesh name='tet' vertex='-.2 -.2 -.2 .3 0 -.2 0 .3 -.2 0 0 .3'/></asset>"
    "<worldbody><geom type='plane' size='0 0 1'/><geom pos='0 0 3' euler='20 170 0' type='plane' "
    "size='0 0 1'/><geom pos='1 0 1' size='.3'/><geom pos='-1 0 1' type='capsule' size='.2 .3' "
    "euler='40 20 0'/><geom pos='0 1 1' type='cylinder' size='.2 .3' euler='70 20 0'/><geom pos='0 "
    "-1 1' type='box' size='.2 .3 .1' euler='20 30 10'/><geom pos='1 1 1' type='ellipsoid' "
    "size='.2 "
    ".3 .4' euler='20 30 10'/><geom pos='-1 -1 1' type='box' size='.2 .2 .2' rgba='1 1 1 0'/>"
    "<body name='me' pos='0 0 1'><freejoint/><geom name='mine' size='.1'/></body>"
    "<body pos='-1 1 1'><geom type='mesh' mesh='tet' contype='1'/></body></worldbody></mujoco>";

// In [-1, 1].
static double next_random(uint64_t* seed) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(*seed >> 33) / 1073741824.0 - 1.0;
}

// Directions from outside and inside of every shape.
static void test_rays(void** state) {
  (void)state;
  simulation s = {.model = scene_text_model("model.xml", seen, NULL)};
  simulation_complete(&s, SAP_SCHEME_SYMPLECTIC_EULER, 1e-3);
  mjModel* m = compile(seen);
  mjData* d = mj_makeData(m);
  mj_forward(m, d);
  const int32_t me = sap_model_find(s.model, SAP_ELEMENT_BODY, "me");
  int hits[16] = {0}, misses = 0;
  uint64_t seed = 1;
  for (int n = 0; n < 4000; ++n) {
    double from[3], along[3], distance = 0.0;
    for (int k = 0; k < 3; ++k) {
      from[k] = 1.5 * next_random(&seed) + (k == 2 ? 1.0 : 0.0);
      along[k] = next_random(&seed);
    }
    int32_t shape = 0;
    int geom = -1;
    assert_int_equal(
        sap_multibody_ray(s.multibody, s.state.q, from, along, me, &distance, &shape, NULL),
        SAP_STATUS_OK);
    const double length = sqrt(along[0] * along[0] + along[1] * along[1] + along[2] * along[2]);
#if mjVERSION_HEADER >= 3005000  // with the normal
    const double theirs = mj_ray(m, d, from, along, NULL, 1, me, &geom, NULL);
#else
    const double theirs = mj_ray(m, d, from, along, NULL, 1, me, &geom);
#endif
    assert_int_equal(shape, geom);
    // MuJoCo's mesh is in its inertial frame, in single precision; the rest is round-off.
    ASSERT_NEAR(distance / fmax(1.0, distance),
                (theirs < 0.0 ? -1.0 : theirs * length) / fmax(1.0, distance),
                shape == 9 ? 1e-6 : 1e-10);
    hits[shape < 0 ? 15 : shape] += 1;
    misses += shape < 0 ? 1 : 0;
  }
  for (int i = 0; i < 10; ++i) {
    assert_true(i == 7 || i == 8 ? hits[i] == 0 : hits[i] > 20);  // transparent; my own
  }
  assert_true(misses > 0);
  mj_deleteData(d);
  mj_deleteModel(m);
  simulation_end(&s);
}

static const char resting[] =
    "<mujoco><worldbody><geom type='plane' size='0 0 1'/><body name='box' pos='0 0 .1'><freejoint/>"
    "<geom type='box' size='.1 .1 .1' mass='2'/><site name='all' size='.3'/><site name='half' "
    "type='box' size='.2 .2 .2' pos='.21 0 -.1'/><site name='top' type='box' size='.2 .2 .05' "
    "pos='0 "
    "0 .1'/><body name='cap' pos='0 0 .1'><geom size='.02' mass='.5' contype='0' conaffinity='0'/>"
    "<site name='cap'/></body></body>"
    "<body name='bar' pos='1 0 1'><joint name='hinge' axis='0 1 0' range='-30 30' limited='true'/>"
    "<geom type='capsule' fromto='0 0 0 1 0 0' size='.02' mass='1' contype='0' conaffinity='0'/>"
    "</body></worldbody><actuator><motor joint='hinge' gear='.5'/><motor joint='hinge' gear='2'/>"
    "</actuator><sensor><e_potential name='height'/><touch name='all' site='all'/><touch "
    "name='half' site='half'/><touch "
    "name='top' site='top'/><force name='cap' site='cap'/><accelerometer name='rest' site='cap'/>"
    "<jointlimitfrc name='stop' joint='hinge'/><jointactuatorfrc name='effort' "
    "joint='hinge'/><touch name='cut' site='all' cutoff='3'/>"
    "<rangefinder name='range' site='top'/></sensor></mujoco>";

static double value_of(const simulation* s, const double* values, const char* name) {
  int32_t first = 0;
  assert_true(sap_model_sensor_values(s->model, sap_model_find(s->model, SAP_ELEMENT_SENSOR, name),
                                      &first) >= 1);
  return values[first];
}

static void test_resting(void** state) {
  (void)state;
  simulation s = {.model = scene_text_model("model.xml", resting, NULL)};
  simulation_complete(&s, SAP_SCHEME_SYMPLECTIC_EULER, 1e-3);
  double values[32];
  assert_int_equal(sap_multibody_sensors(s.multibody, NULL, &s.state, values, NULL), SAP_STATUS_OK);
  assert_true(value_of(&s, values, "all") == 0.0);  // no step yet
  const double control[2] = {0.3, -0.1};
  assert_int_equal(sap_multibody_set_control(s.multibody, control, NULL), SAP_STATUS_OK);
  simulation_step(&s, 3000);
  assert_int_equal(sap_multibody_sensors(s.multibody, &s.report, &s.state, values, NULL),
                   SAP_STATUS_OK);
  // At rest to the solver's tolerance.
  ASSERT_NEAR(value_of(&s, values, "all"), 2.5 * 9.81, 1e-3);
  ASSERT_NEAR(value_of(&s, values, "half"), 1.25 * 9.81, 1e-3);
  ASSERT_NEAR(value_of(&s, values, "top"), 0.0, 0.0);
  ASSERT_NEAR(value_of(&s, values, "cut"), 3.0, 0.0);
  ASSERT_NEAR(value_of(&s, values, "range"), 0.02, 1e-9);  // out of the cap
  int32_t first = 0;
  (void)sap_model_sensor_values(s.model, sap_model_find(s.model, SAP_ELEMENT_SENSOR, "cap"),
                                &first);
  ASSERT_NEAR(values[first + 2], 0.5 * 9.81, 1e-3);  // up: the box carries the cap
  ASSERT_NEAR(values[first + 5], 9.81, 1e-3);
  // The bar rests 30 degrees below the horizontal.
  ASSERT_NEAR(value_of(&s, values, "stop"), 9.81 * 0.5 * sqrt(0.75) - 0.05, 1e-3);
  ASSERT_NEAR(value_of(&s, values, "effort"), -0.05, 1e-15);
  ASSERT_NEAR(value_of(&s, values, "height"), simulation_diagnose(&s).potential_gravity, 1e-15);
  simulation_end(&s);
}

static const char wrong[] =
    "<mujoco><worldbody><body name='b'><freejoint/><geom name='g' size='.1'/><site "
    "name='s'/></body>"
    "</worldbody><sensor>%s</sensor></mujoco>";

static sap_status read_sensor(const char* sensor, scene_warnings* warnings, int32_t* sensors) {
  char text[1024];
  sap_model* model = NULL;
  sap_error error = {0};
  *warnings = (scene_warnings){0};
  (void)snprintf(text, sizeof text, wrong, sensor);
  const sap_status status = scene_text_read("model.xml", text, NULL, warnings, &model, &error);
  *sensors = sap_model_get_sizes(model).sensors;
  sap_model_destroy(model);
  return status;
}

static void test_messages(void** state) {
  (void)state;
  scene_warnings w;
  int32_t n = 0;
  assert_int_equal(read_sensor("<user dim='2'/>", &w, &n), SAP_STATUS_OK);
  assert_true(n == 0 && w.count == 1 && strstr(w.last, "left out") != NULL);
  assert_int_equal(read_sensor("<framepos objtype='camera' objname='c'/>", &w, &n), SAP_STATUS_OK);
  assert_true(n == 0 && w.count == 1);
  assert_int_equal(read_sensor("<gyro site='s' noise='1'/>", &w, &n), SAP_STATUS_OK);
  assert_true(n == 1 && w.count == 0);
  assert_int_equal(read_sensor("<gyro site='other'/>", &w, &n), SAP_STATUS_SYNTAX);
  assert_int_equal(read_sensor("<gyro/>", &w, &n), SAP_STATUS_SYNTAX);
  assert_int_equal(read_sensor("<gyroscope site='s'/>", &w, &n), SAP_STATUS_SYNTAX);
  assert_int_equal(read_sensor("<gyro sight='s'/>", &w, &n), SAP_STATUS_SYNTAX);
  assert_int_equal(read_sensor("<framepos objtype='site'/>", &w, &n), SAP_STATUS_SYNTAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_moving),
      cmocka_unit_test(test_rays),
      cmocka_unit_test(test_resting),
      cmocka_unit_test(test_messages),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
