// SPDX-License-Identifier: BSD-3-Clause
// Recordings of a model with an actuator, a limit and a mesh; what recorders refuse.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/output.h>
#include <sapstep/scene.h>

#include "support/near.h"
#include "support/recordings.h"
#include "support/scene_text.h"
#include "support/scratch.h"
#include "support/skip.h"

static const double mass = 2.0, gravity = 9.81, dt = 0.01;

// A mass that slides along z rests on its joint's lower limit; a motor carries a part of it.
static void test_efforts_and_model(void** unused) {
  (void)unused;
  const double lift = 5.0, p[3] = {0.0, 0.0, 0.0},
               tetrahedron[12] = {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3};
  sap_builder* builder = simulation_builder(0.0, 0.0, -gravity);
  sap_error error = {0};
  const int32_t body = simulation_body(builder, 0, mass, 0.1, p);
  sap_joint_def joint = sap_joint_def_default();
  joint.type = SAP_JOINT_SLIDE;
  joint.body = body;
  joint.lower = 0.0;
  sap_actuator_def motor = sap_actuator_def_default();
  motor.name = "lift";
  const sap_mesh_def mesh = {
      .cookie = sap_mesh_def_default().cookie, .vertex_count = 4, .vertices = tetrahedron};
  sap_shape_def shape = sap_shape_def_default();
  shape.type = SAP_SHAPE_MESH;
  shape.mesh = 0;
  shape.body = body;
  const double color[4] = {0.25, 0.5, 0.75, 1.0};
  memcpy(shape.color, color, sizeof color);
  assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, &error), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_actuator(builder, &motor, NULL, &error), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_mesh(builder, &mesh, NULL, &error), SAP_STATUS_OK);
  assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, &error), SAP_STATUS_OK);
  simulation s = simulation_begin(builder, SAP_SCHEME_IMPLICIT_EULER, dt);
  assert_int_equal(sap_multibody_set_control(s.multibody, &lift, &error), SAP_STATUS_OK);
  scratch folder;
  scratch_begin(&folder);
  char path[SCRATCH_PATH_SIZE];
  sap_recorder* recorder = recordings_create(scratch_path(&folder, "a.h5", path), &s, 0);
  simulation_step(&s, 200);
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, &s.report, &error), 0);
  assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  int64_t rows, columns;
  double* id = recordings_read(recording, "constraint/id", &rows, &columns);
  double* force = recordings_read(recording, "constraint/force", &rows, &columns);
  assert_int_equal(rows, 1);
  assert_true(id[0] == 0.0 && id[1] == 0.0 && id[2] == 0.0);  // lower limit of joint 0
  ASSERT_NEAR(force[0], mass * gravity - lift, 1e-4);
  double* effort = recordings_read(recording, "actuator/force", &rows, &columns);
  assert_true(rows == 1 && columns == 1 && effort[0] == lift);
  double* form = recordings_read(recording, "model/shape", &rows, &columns);
  assert_true(columns == 18 && form[0] == SAP_SHAPE_MESH && form[1] == body && form[2] == 0.0);
  assert_memory_equal(form + 14, color, sizeof color);
  // the hull's triangles enclose a sixth of 1 x 2 x 3, and point outward
  double* vertex = recordings_read(recording, "model/vertex", &rows, &columns);
  double* triangle = recordings_read(recording, "model/triangle", &rows, &columns);
  double volume = 0.0;
  assert_int_equal(rows, 4);
  for (int64_t i = 0; i < rows; ++i) {
    const double* a = vertex + 3 * (int64_t)triangle[3 * i];
    const double* b = vertex + 3 * (int64_t)triangle[3 * i + 1];
    const double* c = vertex + 3 * (int64_t)triangle[3 * i + 2];
    volume += (a[0] * (b[1] * c[2] - b[2] * c[1]) + a[1] * (b[2] * c[0] - b[0] * c[2]) +
               a[2] * (b[0] * c[1] - b[1] * c[0])) /
              6.0;
  }
  ASSERT_NEAR(volume, 1.0, 1e-6);
  char text[16];
  assert_int_equal(sap_recording_text(recording, "model/actuators", 0, text, sizeof text, &error),
                   SAP_STATUS_OK);
  assert_string_equal(text, "lift");
  assert_int_equal(sap_recording_text(recording, "model/actuators", 1, text, sizeof text, &error),
                   SAP_STATUS_ARGUMENT);
  void* const all[] = {id, force, effort, form, vertex, triangle};
  for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
    free(all[i]);
  }
  const sap_page_options by_hand = {.frame_rate = 60.0};
  assert_int_equal(sap_page_write(recording, "no.html", &by_hand, NULL, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message,
                      "sap_page_options is not initialized: use sap_page_options_default()");
  sap_recording_close(recording);
  scratch_end(&folder);
  simulation_end(&s);
}

// What a URDF shows beside its collision shapes is recorded after them.
static void test_visuals(void** unused) {
  (void)unused;
  static const char text[] =
      "<robot name='r'><link name='l'><inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' "
      "ixy='0' ixz='0' iyz='0'/></inertial><collision><geometry><sphere radius='1'/></geometry>"
      "</collision><collision><geometry><mesh filename='m.obj' scale='2 2 "
      "2'/></geometry></collision>"
      "<visual><geometry><box size='2 4 6'/></geometry></visual><visual><geometry>"
      "<mesh filename='m.obj'/></geometry></visual></link></robot>";
  static const char mesh[] =
      "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";
  scratch folder;
  char path[SCRATCH_PATH_SIZE];
  scratch_begin(&folder);
  scratch_write(&folder, "m.obj", mesh, sizeof mesh - 1, path);
  scratch_write(&folder, "a", text, sizeof text - 1, path);
  sap_scene_options options = sap_scene_options_default();
  options.visuals = options.floating_base = true;
  simulation s = {0};
  assert_int_equal(sap_scene_read(path, &options, &s.model, NULL), SAP_STATUS_OK);
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  sap_recorder* recorder = recordings_create(scratch_path(&folder, "a.h5", path), &s, 0);
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  int64_t rows, columns;
  double* shape = recordings_read(recording, "model/shape", &rows, &columns);
  assert_int_equal(rows, 4);
  static const double types[4] = {SAP_SHAPE_SPHERE, SAP_SHAPE_MESH, SAP_SHAPE_BOX, SAP_SHAPE_MESH};
  for (int i = 0; i < 4; ++i) {
    assert_true(shape[i * columns] == types[i] && shape[i * columns + 3] == (i < 2 ? 1.0 : 0.0));
  }
  assert_true(shape[2 * columns + 6] == 3.0);
  assert_true(shape[columns + 2] == 0.0 && shape[3 * columns + 2] == 1.0);
  // the hull of the first mesh; the second one with its vertices in the order of the faces
  double* mesh_of = recordings_read(recording, "model/mesh", &rows, &columns);
  double* triangle = recordings_read(recording, "model/triangle", &rows, &columns);
  assert_int_equal(rows, 8);
  static const double ranges[8] = {0, 4, 0, 4, 4, 4, 4, 4};
  static const double faces[12] = {0, 1, 2, 0, 2, 3, 2, 1, 3, 0, 3, 1};
  assert_memory_equal(mesh_of, ranges, sizeof ranges);
  assert_memory_equal(triangle + 12, faces, sizeof faces);
  double* vertex = recordings_read(recording, "model/vertex", &rows, &columns);
  assert_int_equal(rows, 8);
  double largest[2] = {0.0, 0.0};
  for (int i = 0; i < 24; ++i) {
    largest[i / 12] = fmax(largest[i / 12], vertex[i]);
  }
  assert_true(largest[0] == 2.0 && largest[1] == 1.0);
  free(shape);
  free(mesh_of);
  free(triangle);
  free(vertex);
  sap_recording_close(recording);
  scratch_end(&folder);
  simulation_end(&s);
}

// As many names of each kind as there are elements, in their order; the numbers all differ.
static void test_names(void** unused) {
  (void)unused;
  static const char text[] =
      "<mujoco><worldbody><body name='b1'><joint name='j0'/><joint name='j1' axis='1 0 0'/>"
      "<geom name='g0' size='.1'/><geom name='g1' size='.2'/><geom name='g2' size='.3'/>"
      "<site name='p'/><body name='b2' pos='0 0 1'><joint name='j2'/><geom name='g3' size='.1'/>"
      "<geom name='g4' size='.1'/><geom name='g5' size='.1'/></body></body>"
      "<body name='b3'><geom name='g6' size='.1'/></body></worldbody>"
      "<actuator><motor name='a0' joint='j0'/></actuator>"
      "<tendon><fixed name='t0'><joint joint='j0' coef='1'/></fixed>"
      "<fixed name='t1'><joint joint='j1' coef='1'/></fixed></tendon>"
      "<equality><joint name='e0' joint1='j0' joint2='j1'/><joint name='e1' joint1='j1' "
      "joint2='j2'/><connect name='e2' body1='b1' anchor='0 0 0'/><weld name='e3' body1='b1'/>"
      "<tendon name='e4' tendon1='t0'/></equality>"
      "<sensor><gyro name='s0' site='p'/><jointpos name='s1' joint='j0'/><velocimeter site='p'/>"
      "<framequat name='s3' objtype='site' objname='p'/></sensor></mujoco>";
  static const struct {
    const char* table;
    int32_t count;
    const char* names[11];
  } lists[] = {{"bodies", 4, {"world", "b1", "b2", "b3"}},
               {"joints", 3, {"j0", "j1", "j2"}},
               {"shapes", 7, {"g0", "g1", "g2", "g3", "g4", "g5", "g6"}},
               {"actuators", 1, {"a0"}},
               {"equalities", 5, {"e0", "e1", "e2", "e3", "e4"}},
               {"tendons", 2, {"t0", "t1"}},
               {"sensors",
                11,
                {"s0:0", "s0:1", "s0:2", "s1", "sensor_2:0", "sensor_2:1", "sensor_2:2", "s3:0",
                 "s3:1", "s3:2", "s3:3"}}};
  simulation s = {.model = scene_text_model("names.xml", text, NULL)};
  simulation_complete(&s, SAP_SCHEME_IMPLICIT_EULER, dt);
  scratch folder;
  char path[SCRATCH_PATH_SIZE], name[32], table[32];
  scratch_begin(&folder);
  sap_recorder* recorder = recordings_create(scratch_path(&folder, "a.h5", path), &s, 0);
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  for (size_t l = 0; l < sizeof lists / sizeof *lists; ++l) {
    (void)snprintf(table, sizeof table, "model/%s", lists[l].table);
    for (int32_t i = 0; i <= lists[l].count; ++i) {
      assert_int_equal(sap_recording_text(recording, table, i, name, sizeof name, NULL),
                       i < lists[l].count ? SAP_STATUS_OK : SAP_STATUS_ARGUMENT);
      assert_true(i == lists[l].count || strcmp(name, lists[l].names[i]) == 0);
    }
  }
  sap_recording_close(recording);
  scratch_end(&folder);
  simulation_end(&s);
}

static void test_refusals(void** unused) {
  (void)unused;
  simulation s = recordings_box();
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  const sap_recorder_options by_hand = {.compression = 1};
  assert_int_equal(sap_recorder_create("a.h5", s.model, &by_hand, &recorder, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(
      error.message, "sap_recorder_options is not initialized: use sap_recorder_options_default()");
  sap_recorder_options deflate = sap_recorder_options_default(), rows = deflate;
  deflate.compression = 10;
  rows.flush_rows = -1;
  assert_int_equal(sap_recorder_create("a.h5", s.model, &deflate, &recorder, &error),
                   SAP_STATUS_ARGUMENT);
  assert_string_equal(error.message, "compression = 10 must be 0 to 9");
  assert_int_equal(sap_recorder_create("a.h5", s.model, &rows, &recorder, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_recorder_create(NULL, s.model, NULL, &recorder, &error),
                   SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_recorder_create("no/such/folder/a.h5", s.model, NULL, &recorder, &error),
                   SAP_STATUS_IO);
  assert_string_equal(
      error.message, "cannot write the recording 'no/such/folder/a.h5': No such file or directory");
  assert_null(recorder);
  scratch folder;
  scratch_begin(&folder);
  char path[SCRATCH_PATH_SIZE];
  recorder = recordings_create(scratch_path(&folder, "a.h5", path), &s, 0);
  sap_state wrong = s.state;
  wrong.nv = 5;
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &wrong, NULL, &error),
                   SAP_STATUS_ARGUMENT);
  s.state.v[0] = (double)NAN;
  assert_int_equal(sap_recorder_write(recorder, s.multibody, &s.state, NULL, &error),
                   SAP_STATUS_NOT_FINITE);
  assert_int_equal(sap_recorder_close(recorder, &error), SAP_STATUS_OK);
  sap_recording* recording = recordings_open(path);
  assert_int_equal(sap_recording_rows(recording), 0);
  sap_recording_close(recording);
  scratch_end(&folder);
  simulation_end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_efforts_and_model),
                                     cmocka_unit_test(test_visuals), cmocka_unit_test(test_names),
                                     cmocka_unit_test(test_refusals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
