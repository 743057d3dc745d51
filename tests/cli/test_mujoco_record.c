// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco --record: the recording against what our own engine records of the same scene,
// against closed forms, and read by the commands that read recordings.
#include <math.h>
#include <stdlib.h>

#include <sapstep/output.h>
#include <sapstep/recorder.h>

#include "support/command.h"
#include "support/mujoco_run.h"
#include "support/skip.h"

static const char* const program = SAPSTEP_PROGRAM;
static const double mass = 8.0, gravity = 9.81, pi = 3.14159265358979323846;
enum { STEPS = 200 };

// A box of 8 kg that falls by 2 cm and comes to rest on four corners, and one that hangs on a hinge
// and swings into its limit; a mesh for show.
static const char SCENE[] =
    "<mujoco><option timestep='0.005'/>"
    "<asset><mesh name='wedge' vertex='0 0 0  .1 0 0  0 .1 0  0 0 .1'/></asset><worldbody>"
    "<geom name='floor' type='plane' size='5 5 1'/>"
    "<body name='box' pos='0 0 .12'><freejoint/><geom type='box' size='.1 .1 .1'/>"
    "<geom type='mesh' mesh='wedge' contype='0' conaffinity='0' mass='0' rgba='1 0 0 1'/></body>"
    "<body name='arm' pos='1 0 1'><joint name='elbow' axis='0 1 0' limited='true' range='-20 20'/>"
    "<geom type='capsule' fromto='0 0 0 .3 0 0' size='.02' contype='0' conaffinity='0'/></body>"
    "</worldbody><keyframe><key name='spin' qpos='0 0 1 .6 .8 0 0 .1' qvel='0 0 0 3 2 1 0'/>"
    "</keyframe></mujoco>";

static int begin(void** state) {
  static scratch s;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&s);
  (void)scratch_write(&s, "scene.xml", SCENE, strlen(SCENE), path);
  *state = &s;
  return 0;
}

static int end(void** state) {
  scratch_end(*state);
  return 0;
}

static sap_recording* open_recording(void* state, const char* name) {
  char path[SCRATCH_PATH_SIZE];
  sap_recording* recording = NULL;
  sap_error error = {0};
  if (sap_recording_open(scratch_path(state, name, path), &recording, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return recording;
}

// A row of a data set.
static void read_row(const sap_recording* recording, const char* name, int64_t row, double* out) {
  sap_error error = {0};
  if (sap_recording_read(recording, name, row, 1, out, &error) != SAP_STATUS_OK) {
    fail_msg("%s: %s", name, error.message);
  }
}

static double number(const sap_recording* recording, const char* name, int64_t row) {
  double x;
  read_row(recording, name, row, &x);
  return x;
}

static void run(void* state, const char* arguments) {
  command_expect(state, program, arguments, 0, NULL);
}

// Impulses of a row's contacts in the world's axes, and how many there are.
static int sum_impulses(const sap_recording* recording, int64_t row, double sum[3]) {
  const int64_t first = (int64_t)number(recording, "contact/first", row);
  const int count = (int)number(recording, "contact/count", row);
  memset(sum, 0, 3 * sizeof *sum);
  for (int64_t i = first; i < first + count; ++i) {
    double frame[9], gamma[3], id[6];
    read_row(recording, "contact/frame", i, frame);
    read_row(recording, "contact/impulse", i, gamma);
    read_row(recording, "contact/id", i, id);
    assert_int_equal((int)id[0], 0);  // the floor is A, the box B
    assert_int_equal((int)id[1], 1);
    for (int k = 0; k < 9; ++k) {
      sum[k % 3] += frame[k] * gamma[k / 3];
    }
  }
  return count;
}

// The mean force of limits in a row; *kind: of the last.
static double sum_limits(const sap_recording* recording, int64_t row, int* kind) {
  const int64_t first = (int64_t)number(recording, "constraint/first", row);
  const int64_t count = (int64_t)number(recording, "constraint/count", row);
  double sum = 0.0;
  for (int64_t i = first; i < first + count; ++i) {
    double id[3];
    read_row(recording, "constraint/id", i, id);
    *kind = (int)id[0];
    sum += number(recording, "constraint/force", i);
  }
  return sum;
}

// The box: Newton's second law in every row, rest at the end, energies.
static void test_physics(void** state) {
  run(*state, "mujoco scene.xml --duration 1 --record a.h5 > table");
  sap_recording* r = open_recording(*state, "a.h5");
  assert_int_equal(sap_recording_rows(r), STEPS + 1);
  const double h = 0.005;
  double before[7], v[7], impulse[3], pose[21], q[8], energy[3];
  read_row(r, "energy", 0, energy);
  ASSERT_NEAR(energy[0], 0.0, 1e-12);
  const double volume = pi * 4e-4 * 0.3 + 4.0 / 3.0 * pi * 8e-6;  // of the capsule [m^3]
  ASSERT_NEAR(energy[1], mass * gravity * 0.12 + 1000.0 * volume * gravity, 1e-9);
  read_row(r, "v", 0, before);
  int touched = 0;
  for (int64_t row = 1; row <= STEPS; ++row) {
    read_row(r, "v", row, v);
    touched += sum_impulses(r, row, impulse) > 0;
    // The solver ends at 1e-6 of the momenta, m g h = 0.39 N s and the impact of 6.6 N s.
    ASSERT_NEAR(mass * (v[2] - before[2]), impulse[2] - mass * gravity * h, 6.6e-6);
    read_row(r, "q", row, q);
    read_row(r, "pose", row, pose);
    ASSERT_NEAR(pose[7 + 2], q[2], 1e-6);
    memcpy(before, v, sizeof before);
    read_row(r, "energy", row, energy);
  }
  assert_true(touched > STEPS / 2);
  assert_int_equal(sum_impulses(r, STEPS, impulse), 4);
  ASSERT_NEAR(impulse[2], mass * gravity * h, 1e-4);
  // The arm lies on its upper limit: the torque is its weight's, m g l/2 cos(20 deg).
  int kind = -1;
  const double torque = sum_limits(r, STEPS, &kind);
  assert_int_equal(kind, 1);
  ASSERT_NEAR(torque, 1000.0 * volume * gravity * 0.15 * cos(pi / 9.0), 1e-4);
  sap_recording_close(r);
}

// Rows of our own engine, of the same file.
static void compare(void** state, const char* keyframe) {
  char arguments[256];
  (void)snprintf(arguments, sizeof arguments,
                 "mujoco scene.xml --duration 0.5 %s --record a.h5 > table", keyframe);
  run(*state, arguments);
  (void)snprintf(arguments, sizeof arguments,
                 "run scene.xml --scheme symplectic-euler --duration 0.5 %s --record b.h5 > table",
                 keyframe);
  run(*state, arguments);
  sap_recording *a = open_recording(*state, "a.h5"), *b = open_recording(*state, "b.h5");
  static const struct {
    const char* name;
    int columns;
    double tolerance;  // both solve to 1e-6; poses are single precision
  } sets[] = {{"time", 1, 1e-12},     {"q", 8, 2e-6},      {"v", 7, 2e-5},
              {"pose", 21, 2e-6},     {"energy", 3, 2e-4}, {"momentum", 6, 2e-4},
              {"model/body", 5, 1e-9}};
  assert_int_equal(sap_recording_rows(a), sap_recording_rows(b));
  for (size_t i = 0; i < sizeof sets / sizeof *sets; ++i) {
    const bool table = strncmp(sets[i].name, "model", 5) == 0;
    const int64_t rows = table ? 3 : sap_recording_rows(a);
    for (int64_t row = 0; row < rows; ++row) {
      double x[21], y[21];
      read_row(a, sets[i].name, row, x);
      read_row(b, sets[i].name, row, y);
      for (int k = 0; k < sets[i].columns; ++k) {
        if (!(fabs(x[k] - y[k]) <= sets[i].tolerance)) {
          fail_msg("%s, row %d, column %d: %.9g here, %.9g there", sets[i].name, (int)row, k, x[k],
                   y[k]);
        }
      }
    }
  }
  sap_recording_close(a);
  sap_recording_close(b);
}

static void test_own_engine(void** state) {
  compare(state, "");
  compare(state, "--keyframe spin");
  double shape[18], mesh[4];
  sap_recording* a = open_recording(*state, "a.h5");
  read_row(a, "model/shape", 2, shape);
  assert_int_equal((int)shape[0], SAP_SHAPE_MESH);
  ASSERT_NEAR(shape[3], 0.0, 0.0);  // for show
  ASSERT_NEAR(shape[14], 1.0, 0.0);
  read_row(a, "model/mesh", 0, mesh);
  assert_int_equal((int)mesh[1], 4);
  assert_int_equal((int)mesh[3], 4);
  char name[64];
  assert_int_equal(sap_recording_text(a, "model/joints", 1, name, sizeof name, NULL), 0);
  assert_string_equal(name, "elbow");
  sap_recording_close(a);
}

static void view(void** state, const char* arguments) {
  if (sap_page_available()) {
    run(*state, arguments);
  } else {
    print_message("no three.js: the page skipped\n");
  }
}

// A run goes the same way recorded or not, and all that reads recordings reads this one.
static void test_readers(void** state) {
  run(*state, "mujoco scene.xml --duration 0.5 --output a.csv --record a.h5 --every 2 > table");
  run(*state, "mujoco scene.xml --duration 0.5 --output b.csv --every 2 > table");
  char *a = scratch_text(*state, "a.csv"), *b = scratch_text(*state, "b.csv");
  assert_string_equal(a, b);
  free(a);
  free(b);
  run(*state, "plot a.h5 energy position:box contacts slip step:newton_iterations -o a.svg > out");
  run(*state, "export a.h5 --contacts -o contacts.csv > out");
  view(state, "view a.h5 -o a.html > out");
}

#define EXPECT(name, row, ...)                                                     \
  do {                                                                             \
    const double expected[] = {__VA_ARGS__};                                       \
    double found[20];                                                              \
    read_row(r, name, row, found);                                                 \
    for (size_t column = 0; column < sizeof expected / sizeof(double); ++column) { \
      ASSERT_NEAR(found[column], expected[column], 1e-6);                          \
    }                                                                              \
  } while (0)

// A height field of 3 rows and 4 columns becomes a mesh behind a wedge; colours are the material's
// or the geom's; what touches by a pair alone collides; a mocap body is where the run has it.
static void test_descriptions(void** state) {
  static const char text[] =
      "<mujoco><option timestep='.01'/><asset><hfield name='f' file='field.bin' size='2 1 .5 .1'/>"
      "<mesh name='wedge' vertex='0 0 0  .1 0 0  0 .1 0  0 0 .1'/><material name='m' "
      "rgba='.1 .2 .3 .4'/></asset><worldbody><geom type='hfield' hfield='f' material='m' "
      "pos='1 2 3'/><geom name='s' type='sphere' size='.3' contype='0' conaffinity='0' "
      "rgba='.5 .6 .7 .8'/><body name='a' pos='0 0 9'><freejoint/><geom name='b' type='box' "
      "size='.1 .2 .3' pos='.4 .5 .6' contype='0' conaffinity='0' mass='7'/></body><body name='p' "
      "pos='4 5 6'><joint axis='1 0 0'/><body name='q' pos='1 0 0'><joint type='slide'/><geom "
      "size='.1' mass='2' contype='0' conaffinity='0'/></body><geom size='.1' mass='3'/></body>"
      "<body mocap='true' pos='7 8 9' quat='.6 .8 0 0'><geom size='.1' contype='0' "
      "conaffinity='0'/></body></worldbody><contact><pair geom1='b' "
      "geom2='s'/></contact><keyframe><key name='k' mpos='7 8 10' mquat='0 .6 0 "
      ".8'/></keyframe></mujoco>";
  char path[SCRATCH_PATH_SIZE], bytes[8 + 12 * sizeof(float)];
  const int32_t size[2] = {3, 4};
  memcpy(bytes, size, sizeof size);
  for (int i = 0; i < 12; ++i) {
    const float height = (float)i / 11.0f;
    memcpy(bytes + 8 + 4 * i, &height, sizeof height);
  }
  (void)scratch_write(*state, "field.bin", bytes, sizeof bytes, path);
  (void)scratch_write(*state, "field.xml", text, strlen(text), path);
  run(*state, "mujoco field.xml --keyframe k --duration .01 --record d.h5 > table");
  sap_recording* r = open_recording(*state, "d.h5");
  double wedge[4];
  read_row(r, "model/mesh", 0, wedge);
  const double vertex = wedge[1], triangle = wedge[3];  // as many as the wedge has
  EXPECT("model/mesh", 1, vertex, 12, triangle, 12);
  for (int k = 0; k < 12; ++k) {
    EXPECT("model/vertex", (int64_t)vertex + k, 2.0 * (2.0 * (k % 4) / 3.0 - 1.0), k / 4 - 1.0,
           0.5 * k / 11.0);
  }
  for (int k = 0; k < 6; ++k) {
    const int corner = 4 * (k / 3) + k % 3;
    EXPECT("model/triangle", (int64_t)triangle + 2 * k, corner, corner + 1, corner + 4);
    EXPECT("model/triangle", (int64_t)triangle + 2 * k + 1, corner + 1, corner + 5, corner + 4);
  }
  EXPECT("model/shape", 0, SAP_SHAPE_MESH, 0, 1, 1, 0, 0, 0, 1, 2, 3, 1, 0, 0, 0, .1, .2, .3, .4);
  EXPECT("model/shape", 1, SAP_SHAPE_SPHERE, 0, -1, 1, .3);
  EXPECT("model/shape", 2, SAP_SHAPE_BOX, 1, -1, 1, .1, .2, .3, .4, .5, .6, 1);
  EXPECT("model/shape", 3, SAP_SHAPE_SPHERE, 2, -1, 1, .1);
  EXPECT("model/shape", 4, SAP_SHAPE_SPHERE, 3, -1, 0, .1);
  double sphere[18];
  read_row(r, "model/shape", 1, sphere);
  ASSERT_NEAR(sphere[17], 0.8, 1e-6);
  EXPECT("model/body", 1, 0, 7, .4, .5, .6);
  EXPECT("model/body", 3, 2, 2, 0, 0, 0);
  EXPECT("model/joint", 0, SAP_JOINT_FREE, 1, 0, 0);
  EXPECT("model/joint", 1, SAP_JOINT_HINGE, 2, 7, 6);
  EXPECT("model/joint", 2, SAP_JOINT_SLIDE, 3, 8, 7);
  double pose[35];
  read_row(r, "pose", 1, pose);
  const double mocap[] = {7, 8, 10, 0, .6, 0, .8};  // of the keyframe
  for (int k = 0; k < 7; ++k) {
    ASSERT_NEAR(pose[28 + k], mocap[k], 1e-6);
  }
  sap_recording_close(r);
}

#define SLIDER(name, mass, rest)                    \
  "<body><joint type='slide' name='" name "' " rest \
  "/><geom size='.1' contype='0' "                  \
  "conaffinity='0' mass='" mass "'/></body>"

// Rows of each kind, each of which holds a mass of its own: kind, id and row, and the weight.
static void test_rows(void** state) {
  static const char text[] =
      "<mujoco><worldbody>" SLIDER("a", "1", "range='0 9' limited='true'")
          SLIDER("b", "2", "range='-9 9' limited='true'")
              SLIDER("c", "3", "") SLIDER("d", "4", "") SLIDER("e", "5", "frictionloss='99'")
                  SLIDER("f", "6", "") SLIDER("g", "7", "")
                      SLIDER("h", "8", "range='-9 0' limited='true' axis='0 0 -1'")
      "</worldbody><tendon><fixed name='s'><joint joint='b' coef='1'/></fixed>"
      "<fixed name='t' range='0 9' limited='true'><joint joint='c' coef='1'/></fixed>"
      "<fixed name='u' range='-9 0' limited='true'><joint joint='d' coef='-1'/></fixed>"
      "<fixed name='v' frictionloss='99'><joint joint='f' coef='1'/></fixed></tendon>"
      "<equality><joint joint1='b'/><joint joint1='g'/></equality></mujoco>";
  // kind, id, row, mass
  static const double rows[8][4] = {{8, 0, 0, 2}, {8, 1, 0, 7}, {4, 4, 4, 5}, {5, 3, 0, 6},
                                    {0, 0, 0, 1}, {1, 7, 0, 8}, {2, 1, 0, 3}, {3, 2, 0, 4}};
  char path[SCRATCH_PATH_SIZE];
  (void)scratch_write(*state, "rows.xml", text, strlen(text), path);
  run(*state, "mujoco rows.xml --duration 1 --record rows.h5 > table");
  sap_recording* r = open_recording(*state, "rows.h5");
  const int64_t last = sap_recording_rows(r) - 1;
  const int64_t first = (int64_t)number(r, "constraint/first", last);
  assert_int_equal((int)number(r, "constraint/count", last), 8);
  for (int i = 0; i < 8; ++i) {
    EXPECT("constraint/id", first + i, rows[i][0], rows[i][1], rows[i][2]);
    ASSERT_NEAR(fabs(number(r, "constraint/force", first + i)), gravity * rows[i][3], 1e-3);
  }
  sap_recording_close(r);
}

// A patch of the box: five contacts with its area and mean pressure; the floor is rigid.
static void test_patch(void** state) {
  run(*state, "mujoco scene.xml --patches 1e6 --duration 1 --record a.h5 > table");
  sap_recording* r = open_recording(*state, "a.h5");
  const int64_t first = (int64_t)number(r, "contact/first", STEPS);
  assert_int_equal((int)number(r, "contact/count", STEPS), 5);
  for (int64_t i = first; i < first + 5; ++i) {
    double patch[3];
    read_row(r, "contact/patch", i, patch);
    ASSERT_NEAR(patch[0], 1.0, 0.0);
    ASSERT_NEAR(patch[1], 0.04, 1e-9);
    ASSERT_NEAR(patch[2], mass * gravity / 0.04, 1e-3);
  }
  sap_recording_close(r);
}

static void test_wrong_input(void** state) {
  command_expect(*state, program, "mujoco scene.xml --compression 3", 2,
                 "--compression needs --record");
  command_expect(*state, program, "mujoco scene.xml --record a.h5 --compression 10", 2,
                 "--compression '10' must be an integer in [0, 9]");
  command_expect(*state, program, "mujoco scene.xml --record no/such/a.h5", 3,
                 "cannot write 'no/such/a.h5': No such file");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_physics, begin, end),
      cmocka_unit_test_setup_teardown(test_own_engine, begin, end),
      cmocka_unit_test_setup_teardown(test_readers, begin, end),
      cmocka_unit_test_setup_teardown(test_descriptions, begin, end),
      cmocka_unit_test_setup_teardown(test_rows, begin, end),
      cmocka_unit_test_setup_teardown(test_patch, begin, end),
      cmocka_unit_test_setup_teardown(test_wrong_input, begin, end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
