// SPDX-License-Identifier: BSD-3-Clause
// The same scene through our own engine and through MuJoCo with the adapter: two sets of
// kinematics, collision and assembly, one stepping scheme (symplectic Euler where no force is
// implicit) and one solver. Trajectories agree to the solver's tolerance, 1e-12 here, without
// contact to 1e-9.
#include <sapstep/multibody.h>
#include <sapstep/scene.h>
#include <sapstep/stepper.h>

#include "support/mujoco_run.h"

static const double TOLERANCE = 1e-12;

typedef struct own_run {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
} own_run;

#define CUP_RING(r, z) \
  "-" #r " -" #r " " #z " " #r " -" #r " " #z " " #r " " #r " " #z " -" #r " " #r " " #z " "

static sap_status set_fields(sap_model* model, double modulus, sap_error* error) {
  for (int32_t i = 0; modulus > 0.0 && i < sap_model_get_sizes(model).shapes; ++i) {
    sap_shape_def def;
    if (sap_model_get_shape(model, i, &def, error) != SAP_STATUS_OK ||
        (def.type != SAP_SHAPE_PLANE &&
         sap_model_shape_set_field(model, i, modulus, 0.0, error) != SAP_STATUS_OK)) {
      return error->status;
    }
  }
  return SAP_STATUS_OK;
}

// modulus: of all shapes; 0: no fields.
static own_run own_run_text(const char* text, double modulus, double dt) {
  own_run run = {0};
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  sap_error error = {0};
  scratch_begin(&s);
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.solver_options.relative_tolerance = TOLERANCE;
  (void)sap_stepper_options_set_scheme(&options, SAP_SCHEME_SYMPLECTIC_EULER, NULL);
  if (sap_scene_read(scratch_write(&s, "scene.xml", text, strlen(text), path), NULL, &run.model,
                     &error) != SAP_STATUS_OK ||
      set_fields(run.model, modulus, &error) != SAP_STATUS_OK ||
      sap_multibody_create(run.model, &run.multibody, &error) != SAP_STATUS_OK ||
      sap_stepper_create(sap_multibody_system(run.multibody), &options, &run.stepper, &error) !=
          SAP_STATUS_OK ||
      sap_model_get_default_state(run.model, &run.state, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  scratch_end(&s);
  return run;
}

static void own_run_end(own_run* run) {
  sap_stepper_destroy(run->stepper);
  sap_multibody_destroy(run->multibody);
  sap_model_destroy(run->model);
  sap_state_clear(&run->state);
}

// v0: joint velocities at the start, NULL: none. `touched` counts steps with contacts.
static void compare(const char* text, double modulus, const double* v0, int steps, double tolerance,
                    int* touched) {
  sap_mj_options options = sap_mj_options_default();
  options.patches = modulus;
  options.solver_options.relative_tolerance = TOLERANCE;
  mujoco_run theirs = mujoco_run_text(text, &options);
  own_run ours = own_run_text(text, modulus, theirs.model->opt.timestep);
  assert_int_equal(ours.state.nq, (int)theirs.model->nq);
  for (int i = 0; v0 != NULL && i < ours.state.nv; ++i) {
    ours.state.v[i] = theirs.data->qvel[i] = v0[i];
  }
  *touched = 0;
  for (int i = 0; i < steps; ++i) {
    mujoco_run_step(&theirs, 1);
    sap_error error = {0};
    if (sap_stepper_step(ours.stepper, &ours.state, NULL, &error) != SAP_STATUS_OK) {
      fail_msg("%s", error.message);
    }
    *touched += theirs.report.contacts > 0;
    for (int k = 0; k < ours.state.nq; ++k) {
      if (!(fabs(ours.state.q[k] - theirs.data->qpos[k]) <= tolerance)) {
        fail_msg("step %d: q[%d] = %.12g here, %.12g with MuJoCo", i, k, ours.state.q[k],
                 theirs.data->qpos[k]);
      }
    }
  }
  own_run_end(&ours);
  mujoco_run_end(&theirs);
}

// A swinging arm of three hinges about different axes and a slide, no contact.
static void test_arm(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.002'/><default><geom contype='0' conaffinity='0'/></default>"
      "<worldbody><body><joint type='hinge' axis='0 1 0' armature='.01'/>"
      "<geom type='capsule' fromto='0 0 0 .4 0 0' size='.04'/><body pos='.4 0 0'>"
      "<joint type='hinge' axis='0 0 1'/><geom type='box' pos='.2 0 0' size='.2 .03 .02'/>"
      "<body pos='.4 0 0' euler='0 20 0'><joint type='hinge' axis='1 0 0'/>"
      "<joint type='slide' axis='1 0 0'/><geom type='box' pos='.1 .05 0' size='.1 .05 .02'/>"
      "</body></body></body></worldbody></mujoco>";
  static const double v0[4] = {1.0, -2.0, 3.0, 0.2};
  int touched;
  compare(text, 0.0, v0, 100, 1e-9, &touched);
  assert_int_equal(touched, 0);
}

// Spheres fall on a compliant plane, one rolls, one lies on the other's flank.
static void test_spheres(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .12'><freejoint/><geom type='sphere' size='.1' mass='1' "
      "friction='.6'/></body>"
      "<body pos='.13 0 .27'><freejoint/><geom type='sphere' size='.1' mass='2' "
      "friction='.4'/></body>"
      "<body pos='1 0 .1'><freejoint/><geom type='sphere' size='.1' mass='1'/></body>"
      "</worldbody></mujoco>";
  static const double v0[18] = {[12] = 0.5, [14] = -0.1};
  int touched;
  compare(text, 0.0, v0, 100, 1e-8, &touched);
  assert_true(touched > 80);
}

// Boxes: one lands flat, one tilted on an edge and tips over.
static void test_boxes(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .105'><freejoint/><geom type='box' size='.2 .1 .1' mass='2'/></body>"
      "<body pos='1 0 .2' euler='20 0 0'><freejoint/><geom type='box' size='.1 .1 .15' mass='1'/>"
      "</body></worldbody></mujoco>";
  int touched;
  compare(text, 0.0, NULL, 100, 1e-8, &touched);
  assert_true(touched > 80);
}

// Bodies placed exactly on the ground or on a box have contact from the first step on in both.
static void test_touching(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='2'/></body>"
      "<body pos='0 0 .3'><freejoint/><geom type='sphere' size='.1' mass='1'/></body>"
      "<body pos='1 0 .2'><freejoint/><geom type='capsule' size='.1 .1' mass='1'/></body>"
      "</worldbody></mujoco>";
  int touched;
  compare(text, 0.0, NULL, 100, 1e-8, &touched);
  assert_int_equal(touched, 100);
}

// An arm that falls on the floor, with a joint that runs into its limit.
static void test_arm_contact(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler autolimits='true'/><option timestep='0.004'/><worldbody>"
      "<geom type='plane' size='5 5 1'/><body pos='0 0 .4'>"
      "<joint type='hinge' axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .3 0 0' size='.04'/>"
      "<body pos='.3 0 0'><joint type='hinge' axis='0 1 0' range='-30 30'/>"
      "<geom type='capsule' fromto='0 0 0 .3 0 0' size='.03'/></body></body></worldbody></mujoco>";
  int touched;
  compare(text, 0.0, NULL, 150, 1e-7, &touched);
  assert_true(touched > 20);
}

// Joints that start beyond their limits, by 0.3 rad and 0.2 m; balls in the ground, with and without friction; links of one robot in each other; a load on what slides.
static void test_wrong_starts(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler autolimits='true'/><option timestep='0.005'/><default><geom contype='0' "
      "conaffinity='0'/></default><worldbody><body><joint type='hinge' axis='0 1 0' "
      "range='17.188733853924695 60'/><geom type='capsule' fromto='0 0 0 .4 0 0' "
      "size='.04'/></body>"
      "<body pos='0 1 0'><joint type='slide' axis='1 0 0' range='.2 1'/><geom size='.1'/></body>"
      "<geom type='plane' size='9 9 1' pos='0 0 -3' condim='1' contype='1' conaffinity='1'/>"
      "<body pos='3 0 -2.99'><freejoint/><geom size='.1' condim='1' contype='1' conaffinity='1'/>"
      "</body><body pos='4 0 -2.99'><freejoint/><geom size='.1' contype='1' "
      "conaffinity='1'/></body>"
      "<body pos='5 0 -2.9'><freejoint/><geom size='.1' mass='1' condim='1' contype='1' "
      "conaffinity='1'/></body><body pos='5 0 -2.4'><joint type='slide' axis='0 0 1'/><geom "
      "size='.4' mass='900' condim='1' contype='1' conaffinity='1'/></body>"
      "<body pos='6 0 0'><joint type='slide' axis='0 1 0'/><geom size='.1'/>"
      "<body><joint type='slide' axis='1 0 0'/><geom size='.1' contype='1' conaffinity='1'/></body>"
      "<body pos='.03 0 0'><joint type='slide' axis='1 0 0'/><geom size='.1' contype='1' "
      "conaffinity='1'/></body></body></worldbody></mujoco>";
  int touched;
  compare(text, 0.0, NULL, 200, 1e-8, &touched);
  assert_int_equal(touched, 200);
}

// Bodies that rest at a distance from the ground and from each other. In MuJoCo before 3.9 a pair
// has the larger margin, and a gap counts from it: there it rests on one geom only.
#if mjVERSION_HEADER >= 3009000
#define OTHER_MARGIN "margin='.008' gap='.01'"
#define PAIR \
  "<contact><pair geom1='floor' geom2='last' margin='.04' gap='.02' friction='.4'/></contact>"
#else
#define OTHER_MARGIN ""
#define PAIR "<contact><pair geom1='floor' geom2='last' margin='.04' friction='.4'/></contact>"
#endif

static void test_margins(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody>"
      "<geom name='floor' type='plane' size='5 5 1' margin='.02'/>"
      "<body pos='0 0 .14'><freejoint/><geom type='box' size='.2 .1 .1' mass='2'/></body>"
      "<body pos='1 0 .22' euler='20 0 0'><freejoint/><geom type='box' size='.1 .1 .15' mass='1'/>"
      "</body><body pos='0 1 .13'><freejoint/><geom type='sphere' size='.1' mass='1' " OTHER_MARGIN
      "/></body><body pos='.1 1 .33'><freejoint/><geom type='sphere' size='.08' mass='1'/></body>"
      "<body pos='1 1 .12'><freejoint/><geom name='last' type='sphere' size='.1' mass='1'/></body>"
      "</worldbody>" PAIR "</mujoco>";
  static const double v0[30] = {[0] = 0.3, [24] = 0.5, [26] = -0.1};
  int touched;
  compare(text, 0.0, v0, 100, 1e-8, &touched);
  assert_true(touched > 80);
}

// A ball that hangs at a ceiling by adhesion, one that slips down a wall, a box that is pulled to
// the ground and to the box on it.
static void test_adhesion(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><compiler autolimits='true'/><option timestep='0.005'/><worldbody><geom "
      "type='plane' size='5 5 1'/>"
      "<geom type='box' size='1 1 .1' pos='0 0 1'/><geom type='box' size='.1 1 1' pos='-2 0 1'/>"
      "<body name='a' pos='0 0 .801'><freejoint/><geom type='sphere' size='.1' mass='1'/></body>"
      "<body name='b' pos='-1.801 0 1'><freejoint/><geom type='sphere' size='.1' mass='2' "
      "friction='.5'/></body><body name='c' pos='0 3 .0999'><freejoint/><geom type='box' "
      "size='.2 .1 .1' mass='2'/></body><body pos='.05 3 .2997'><freejoint/><geom type='sphere' "
      "size='.1' mass='1'/></body></worldbody><actuator>"
      "<adhesion body='a' ctrlrange='1 2' gain='30'/><adhesion body='b' ctrlrange='1 2' gain='20'/>"
      "<general body='c' biastype='affine' biasprm='50' forcerange='0 45'/></actuator></mujoco>";
  int touched;
  compare(text, 0.0, NULL, 100, 1e-8, &touched);
  assert_int_equal(touched, 100);
}

// A heavy ball on a light box, and a light wheel under a heavy frame: the loads of contacts.
static void test_loads(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='.001'/></body>"
      "<body pos='.02 0 .3'><freejoint/><geom type='sphere' size='.1' mass='1000'/></body>"
      "<body pos='2 0 .1'><joint type='slide' axis='0 0 1'/><joint type='slide' axis='1 0 0'/>"
      "<inertial pos='0 0 0' mass='50' diaginertia='1 1 1'/><body><joint axis='0 1 0'/>"
      "<inertial pos='0 0 0' mass='1e-3' diaginertia='1e-3 1e-3 1e-3'/>"
      "<geom type='sphere' size='.1' friction='.5'/></body></body></worldbody></mujoco>";
  int touched;
  compare(text, 0.0, NULL, 100, 1e-8, &touched);
  assert_int_equal(touched, 100);
}

// Bodies that meet within a step, far from where they were: a ball that falls by more than its size,
// one that passes the edge of a box, one that hits three others in a row, and a capsule that turns.
static void test_ahead(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.01'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<geom type='box' size='.2 .2 .2' pos='3 0 .5'/>"
      "<body pos='0 0 .3'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='2.6 .26 .6'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='0 2 1'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='.2 2 1'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='.30001 2 1'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='.40002 2 1'><freejoint/><geom type='sphere' size='.05' mass='1'/></body>"
      "<body pos='-2 0 .4'><freejoint/><geom type='capsule' size='.03 .1' mass='1'/></body>"
      "</worldbody></mujoco>";
  static const double v0[42] = {[2] = -20.0, [6] = 40.0, [12] = 15.0, [38] = -8.0, [40] = 10.0};
  int touched;
  compare(text, 0.0, v0, 40, 1e-7, &touched);
  assert_true(touched > 30);
}

// Lagged contacts in patches: their friction follows from the normal force of the same step. Shapes
// land, slide and spin; a box falls from one edge to the next, a cylinder stands on its end.
static void test_patches(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='9 9 1'/>"
      "<body pos='0 0 .11'><freejoint/><geom type='sphere' size='.1' mass='1'/></body>"
      "<body pos='1 0 .11' euler='90 3 0'><freejoint/><geom type='capsule' size='.1 .07' mass='1'/>"
      "</body><body pos='2 0 .11' euler='8 3 0'><freejoint/><geom type='ellipsoid' "
      "size='.1 .07 .1' mass='1'/></body><body pos='3 0 .11' euler='8 3 0'><freejoint/>"
      "<geom type='box' size='.1 .07 .1' mass='1'/></body><body pos='4 0 .11'><freejoint/>"
      "<geom type='cylinder' size='.1 .07' mass='1'/></body></worldbody></mujoco>";
  double v0[30] = {0.0};
  for (int i = 0; i < 30; i += 6) {
    v0[i] = 0.8;
    v0[i + 1] = 0.3;
    v0[i + 5] = 3.0;
  }
  int touched;
  compare(text, 1e6, v0, 200, 1e-8, &touched);
  assert_true(touched > 180);
}

// A ball in a square cup, whose hull it lies in, on a plane: the cup's triangles touch the ball, the
// field of its hull the plane. MuJoCo keeps meshes in single precision.
static void test_cup(void** state) {
  (void)state;
  static const char text[] =
      "<mujoco><option timestep='0.005'/><asset><mesh name='cup' vertex='" CUP_RING(.06, 0)
          CUP_RING(.06, .08) CUP_RING(.05, .08) CUP_RING(.05, .01) "' face='"
      "0 1 5 0 5 4 1 2 6 1 6 5 2 3 7 2 7 6 3 0 4 3 4 7 4 5 9 4 9 8 5 6 10 5 10 9 6 7 11 6 11 10 "
      "7 4 8 7 8 11 8 9 13 8 13 12 9 10 14 9 14 13 10 11 15 10 15 14 11 8 12 11 12 15 "
      "0 2 1 0 3 2 12 13 14 12 14 15'/></asset><worldbody><geom type='plane' size='5 5 1'/>"
      "<body><freejoint/><geom type='mesh' mesh='cup' mass='.3'/></body>"
      "<body pos='.01 0 .04'><freejoint/><geom type='sphere' size='.02' mass='.1'/></body>"
      "</worldbody></mujoco>";
  static const double v0[12] = {[6] = 0.3, 0.1};
  int touched;
  compare(text, 1e6, v0, 200, 1e-6, &touched);
  assert_int_equal(touched, 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_arm),          cmocka_unit_test(test_spheres),
      cmocka_unit_test(test_boxes),        cmocka_unit_test(test_arm_contact),
      cmocka_unit_test(test_touching),     cmocka_unit_test(test_margins),
      cmocka_unit_test(test_adhesion),     cmocka_unit_test(test_ahead),
      cmocka_unit_test(test_wrong_starts), cmocka_unit_test(test_loads),
      cmocka_unit_test(test_patches),      cmocka_unit_test(test_cup),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
