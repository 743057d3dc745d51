// SPDX-License-Identifier: BSD-3-Clause
// The CSV that a run leaves: names, exact numbers, and nothing left behind without a commit.
#include <dirent.h>
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// cmocka needs those above.
#include <cmocka.h>

#include <sapstep/output.h>

#include "support/scene_text.h"

static const char folder[] = SAPSTEP_BINARY_DIR;

typedef struct fixture {
  sap_model* model;
  sap_state state;
  char path[512];
} fixture;

static void add_joint(sap_builder* builder, int32_t body, sap_joint_type type, const char* name) {
  sap_joint_def joint = sap_joint_def_default();
  joint.name = name;
  joint.type = type;
  joint.body = body;
  assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
}

// A free body, and an arm of slide, ball and hinge whose name needs quotes.
static int setup(void** out) {
  static fixture f;
  memset(&f, 0, sizeof f);
  const sap_model_options options = sap_model_options_default();
  sap_builder* builder;
  assert_int_equal(sap_builder_create(&options, &builder, NULL), SAP_STATUS_OK);
  int32_t parent = 0;
  const char* const names[] = {"crate", "cart", "ball", "arm"};
  const sap_joint_type types[] = {SAP_JOINT_FREE, SAP_JOINT_SLIDE, SAP_JOINT_BALL, SAP_JOINT_HINGE};
  const char* const joints[] = {NULL, "rail", NULL, "el\"bow, left"};
  for (int i = 0; i < 4; ++i) {
    sap_body_def body = sap_body_def_default();
    body.name = names[i];
    body.parent = i < 2 ? 0 : parent;
    body.mass = 1.0;
    body.I_BCo_B[0] = body.I_BCo_B[1] = body.I_BCo_B[2] = 0.1;
    assert_int_equal(sap_builder_add_body(builder, &body, &parent, NULL), SAP_STATUS_OK);
    add_joint(builder, parent, types[i], joints[i]);
  }
  assert_int_equal(sap_builder_compile(builder, &f.model, NULL), SAP_STATUS_OK);
  sap_builder_destroy(builder);
  assert_int_equal(sap_model_get_default_state(f.model, &f.state, NULL), SAP_STATUS_OK);
  (void)snprintf(f.path, sizeof f.path, "%s/trajectory_test.csv", folder);
  (void)remove(f.path);
  *out = &f;
  return 0;
}

static int teardown(void** state) {
  fixture* f = *state;
  sap_model_destroy(f->model);
  sap_state_clear(&f->state);
  (void)remove(f->path);
  return 0;
}

// Files in the folder whose names begin with the test's.
static int count_files(void) {
  DIR* directory = opendir(folder);
  assert_non_null(directory);
  int count = 0;
  for (const struct dirent* e = readdir(directory); e != NULL; e = readdir(directory)) {
    count += strncmp(e->d_name, "trajectory_test.csv", strlen("trajectory_test.csv")) == 0;
  }
  (void)closedir(directory);
  return count;
}

static void columns_carry_names_and_units(void** context) {
  fixture* f = *context;
  sap_trajectory* trajectory;
  assert_int_equal(sap_trajectory_create(f->path, f->model, &trajectory, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_trajectory_commit(trajectory, NULL), SAP_STATUS_OK);
  sap_trajectory_close(trajectory);
  FILE* file = fopen(f->path, "r");
  assert_non_null(file);
  char line[2048];
  assert_non_null(fgets(line, sizeof line, file));
  assert_string_equal(
      line,
      "t_s,q_crate_x_m,q_crate_y_m,q_crate_z_m,q_crate_qw,q_crate_qx,q_crate_qy,q_crate_qz,"
      "q_rail_m,q_joint_2_qw,q_joint_2_qx,q_joint_2_qy,q_joint_2_qz,"
      "\"q_el\"\"bow, left_rad\","
      "v_crate_x_mps,v_crate_y_mps,v_crate_z_mps,v_crate_wx_radps,v_crate_wy_radps,"
      "v_crate_wz_radps,v_rail_mps,v_joint_2_wx_radps,v_joint_2_wy_radps,v_joint_2_wz_radps,"
      "\"v_el\"\"bow, left_radps\","
      "contacts,newton_iterations,kinetic_J,potential_J,penetration_m\n");
  assert_null(fgets(line, sizeof line, file));
  (void)fclose(file);
}

// Activations have a column each, after the velocities, with the names of their actuators.
static void activations_have_columns(void** context) {
  fixture* f = *context;
  sap_model* model = scene_text_model(
      "a.xml",
      "<mujoco><worldbody><body><joint name='j'/><geom size='1' mass='1'/></body></worldbody>"
      "<actuator><motor joint='j'/><general name='slow' joint='j' dyntype='filter' dynprm='0.1'/>"
      "<general joint='j' dyntype='filter' dynprm='0.1'/></actuator></mujoco>",
      NULL);
  sap_trajectory* trajectory;
  assert_int_equal(sap_trajectory_create(f->path, model, &trajectory, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_trajectory_commit(trajectory, NULL), SAP_STATUS_OK);
  sap_trajectory_close(trajectory);
  char line[512] = "";
  FILE* file = fopen(f->path, "r");
  assert_non_null(file);
  assert_non_null(fgets(line, sizeof line, file));
  (void)fclose(file);
  assert_non_null(strstr(line, ",v_j_radps,act_slow,act_actuator_2,contacts,"));
  sap_model_destroy(model);
}

static void numbers_come_back_bit_by_bit(void** context) {
  fixture* f = *context;
  (void)setlocale(LC_ALL, "de_DE.UTF-8");  // a decimal comma, where that locale is installed
  sap_trajectory* trajectory;
  assert_int_equal(sap_trajectory_create(f->path, f->model, &trajectory, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < f->state.nq; ++i) {
    f->state.q[i] = 1.0 / (3.0 + i);
  }
  for (int32_t i = 0; i < f->state.nv; ++i) {
    f->state.v[i] = -sqrt(2.0 + i) * 1e-7;
  }
  f->state.t = 0.1 + 0.2;
  const sap_trajectory_row row = {&f->state, 3, 7, 1.0 / 7.0, -2.0 / 7.0, 1e-5 / 3.0};
  assert_int_equal(sap_trajectory_write(trajectory, &row, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_trajectory_commit(trajectory, NULL), SAP_STATUS_OK);
  sap_trajectory_close(trajectory);
  (void)setlocale(LC_ALL, "C");

  FILE* file = fopen(f->path, "r");
  assert_non_null(file);
  char line[4096];
  assert_non_null(fgets(line, sizeof line, file));
  assert_non_null(fgets(line, sizeof line, file));
  (void)fclose(file);
  const char* cursor = line;
  double values[64];
  int count = 0;
  for (; count < 64; ++count) {
    char* end;
    values[count] = strtod(cursor, &end);
    assert_ptr_not_equal(end, cursor);
    cursor = end + 1;
    if (*end == '\n') {
      ++count;
      break;
    }
    assert_int_equal(*end, ',');
  }
  const int nq = f->state.nq, nv = f->state.nv;
  assert_int_equal(count, 1 + nq + nv + 5);
  assert_true(values[0] == f->state.t);
  assert_memory_equal(values + 1, f->state.q, (size_t)nq * sizeof(double));
  assert_memory_equal(values + 1 + nq, f->state.v, (size_t)nv * sizeof(double));
  const double expected[] = {3.0, 7.0, 1.0 / 7.0, -2.0 / 7.0, 1e-5 / 3.0};
  assert_memory_equal(values + 1 + nq + nv, expected, sizeof expected);
}

static void without_commit_nothing_is_left(void** context) {
  fixture* f = *context;
  sap_trajectory* trajectory;
  assert_int_equal(sap_trajectory_create(f->path, f->model, &trajectory, NULL), SAP_STATUS_OK);
  const sap_trajectory_row row = {.state = &f->state};
  assert_int_equal(sap_trajectory_write(trajectory, &row, NULL), SAP_STATUS_OK);
  assert_true(count_files() <= 1);  // 0 where files need no name
  assert_null(fopen(f->path, "r"));
  sap_trajectory_close(trajectory);
  assert_int_equal(count_files(), 0);
}

static void bad_calls_say_what_is_wrong(void** context) {
  fixture* f = *context;
  sap_error error;
  sap_trajectory* trajectory = (sap_trajectory*)f;
  assert_int_equal(sap_trajectory_create("/nowhere/at/all.csv", f->model, &trajectory, &error),
                   SAP_STATUS_IO);
  assert_null(trajectory);
  assert_non_null(strstr(error.message, "/nowhere/at/all.csv"));
  assert_int_equal(sap_trajectory_create(NULL, f->model, &trajectory, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(sap_trajectory_create(f->path, NULL, &trajectory, &error), SAP_STATUS_ARGUMENT);
  assert_int_equal(count_files(), 0);

  assert_int_equal(sap_trajectory_create(f->path, f->model, &trajectory, NULL), SAP_STATUS_OK);
  sap_state small = {0};
  assert_int_equal(sap_state_resize(&small, 1, 1, NULL), SAP_STATUS_OK);
  const sap_trajectory_row row = {.state = &small};
  assert_int_equal(sap_trajectory_write(trajectory, &row, &error), SAP_STATUS_ARGUMENT);
  assert_non_null(strstr(error.message, "nq = 1"));
  sap_state_clear(&small);
  sap_trajectory_close(trajectory);
  sap_trajectory_close(NULL);
}

// /dev/full takes no byte: whoever writes there meets a full disk.
static void a_full_disk_is_reported(void** context) {
  fixture* f = *context;
  sap_error error;
  sap_trajectory* trajectory;
  assert_int_equal(sap_trajectory_create("/dev/full", f->model, &trajectory, &error),
                   SAP_STATUS_OK);
  const sap_trajectory_row row = {.state = &f->state};
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < 100 && status == SAP_STATUS_OK; ++i) {
    status = sap_trajectory_write(trajectory, &row, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_trajectory_commit(trajectory, &error);
  }
  assert_int_equal(status, SAP_STATUS_IO);
  assert_non_null(strstr(error.message, "/dev/full"));
  assert_non_null(strstr(error.message, "space"));
  sap_trajectory_close(trajectory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(columns_carry_names_and_units, setup, teardown),
      cmocka_unit_test_setup_teardown(activations_have_columns, setup, teardown),
      cmocka_unit_test_setup_teardown(numbers_come_back_bit_by_bit, setup, teardown),
      cmocka_unit_test_setup_teardown(without_commit_nothing_is_left, setup, teardown),
      cmocka_unit_test_setup_teardown(bad_calls_say_what_is_wrong, setup, teardown),
      cmocka_unit_test_setup_teardown(a_full_disk_is_reported, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
