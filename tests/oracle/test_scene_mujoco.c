// SPDX-License-Identifier: BSD-3-Clause
// Compares the MJCF reader's model with MuJoCo's compiled model. All numbers here and
// in scene/torture.expected were written by a script around MuJoCo 4.0.0 (Python): body_pos,
// body_mass, body_inertia turned by body_iquat, jnt_*, geom_*, tendon_*, actuator_*, key_* of the
// main file, in the layout of support/model_rows.h.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "support/model_rows.h"
#include "support/near.h"
#include "support/skip.h"

static sap_model* read_scene(const char* path) {
  sap_model* model = NULL;
  sap_error error = {0};
  if (sap_scene_read(path, NULL, &model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return model;
}

// --- row by row --------------------------------------------------------------------------------

typedef struct expected_rows {
  FILE* file;
  int32_t count;
} expected_rows;

// 15 digits are printed; MuJoCo's principal inertias come of an iteration that stops at 1e-12.
static const double row_tolerance = 1e-11;

static void compare_row(void* context, const model_row* row) {
  expected_rows* rows = context;
  char kind[32], name[64];
  assert_int_equal(fscanf(rows->file, "%31s %63s", kind, name), 2);
  assert_string_equal(row->kind, kind);
  assert_string_equal(row->name[0] != '\0' ? row->name : "-", name);
  for (int32_t i = 0; i < row->nints; ++i) {
    int value;
    assert_int_equal(fscanf(rows->file, "%d", &value), 1);
    if (row->ints[i] != value) {
      fail_msg("%s %s: integer %d is %d, MuJoCo has %d", kind, name, (int)i, (int)row->ints[i],
               value);
    }
  }
  for (int32_t i = 0; i < row->nvalues; ++i) {
    double value;
    assert_int_equal(fscanf(rows->file, "%lf", &value), 1);
    const bool same = row->values[i] == value;
    if (!same && !(fabs(row->values[i] - value) <= row_tolerance * fmax(1.0, fabs(value)))) {
      fail_msg("%s %s: value %d is %.17g, MuJoCo has %.17g", kind, name, (int)i, row->values[i],
               value);
    }
  }
  ++rows->count;
}

static void test_torture(void** state) {
  (void)state;
  sap_model* model = read_scene(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/torture.xml");
  expected_rows rows = {.file =
                            fopen(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/torture.expected", "r")};
  assert_non_null(rows.file);
  model_rows(model, compare_row, &rows);
  char word[8];
  assert_int_equal(fscanf(rows.file, "%7s", word), EOF);  // MuJoCo has no more elements
  assert_int_equal(rows.count, 192);
  assert_int_equal(fclose(rows.file), 0);
  sap_model_destroy(model);
}

// Settings that MuJoCo does not know.
static void test_torture_settings(void** state) {
  (void)state;
  sap_model* model = read_scene(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/torture.xml");
  sap_shape_def shape;
  int32_t id = sap_model_find(model, SAP_ELEMENT_SHAPE, "ball");
  assert_int_equal(sap_model_get_shape(model, id, &shape, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(shape.material.stiffness, 3e4, 0.0);              // by its name
  ASSERT_NEAR(shape.material.relaxation_time, 100.0 / 5e4, 0);  // solref = -k, -d
  id = sap_model_find(model, SAP_ELEMENT_SHAPE, "k2_wg");
  assert_int_equal(sap_model_get_shape(model, id, &shape, NULL), SAP_STATUS_OK);
  ASSERT_NEAR(shape.material.stiffness, 2e5, 0.0);
  ASSERT_NEAR(shape.material.relaxation_time, sap_material_default().relaxation_time, 0.0);
  const sap_model_options* options = sap_model_get_options(model);
  assert_int_equal(options->friction_rule, SAP_FRICTION_MAXIMUM);
  assert_string_equal(options->name, "torture");
  ASSERT_NEAR(options->regularization.beta, 0.5, 0.0);
  sap_model_destroy(model);
}

// --- sums over real models ---------------------------------------------------------------------

// Over all rows of a kind: how many rows, integers and values, and the sums of sin(i) x_i over the
// integers and over the finite values, i = 1, 2, ...
typedef struct row_sum {
  const char* kind;
  int32_t rows, nints, nvalues;
  double ints, values;
} row_sum;

enum { MAX_KINDS = 8 };
typedef struct row_sums {
  row_sum sum[MAX_KINDS];
  double scale[MAX_KINDS];  // sum of |x_i|, of the values
  int32_t count;
} row_sums;

static void add_row(void* context, const model_row* row) {
  row_sums* sums = context;
  int32_t k = 0;
  while (k < sums->count && strcmp(sums->sum[k].kind, row->kind) != 0) {
    ++k;
  }
  if (k == sums->count) {
    assert_in_range(k, 0, MAX_KINDS - 1);
    sums->sum[sums->count++].kind = row->kind;
  }
  row_sum* s = &sums->sum[k];
  ++s->rows;
  for (int32_t i = 0; i < row->nints; ++i) {
    s->ints += sin((double)++s->nints) * (double)row->ints[i];
  }
  for (int32_t i = 0; i < row->nvalues; ++i) {
    ++s->nvalues;
    if (isfinite(row->values[i])) {
      s->values += sin((double)s->nvalues) * row->values[i];
      sums->scale[k] += fabs(row->values[i]);
    }
  }
}

static void check_model(const char* file, const row_sum* expected, int32_t count) {
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/models/mujoco/%s", SAPSTEP_SHARED, file);
  SKIP_WITHOUT(path);
  sap_model* model = read_scene(path);
  row_sums sums = {.count = 0};
  model_rows(model, add_row, &sums);
  assert_int_equal(sums.count, count);
  for (int32_t k = 0; k < count; ++k) {
    const row_sum *s = &sums.sum[k], *e = &expected[k];
    assert_string_equal(s->kind, e->kind);
    assert_int_equal(s->rows, e->rows);
    assert_int_equal(s->nints, e->nints);
    assert_int_equal(s->nvalues, e->nvalues);
    ASSERT_NEAR(s->ints, e->ints, 1e-9 * fmax(1.0, fabs(e->ints)));  // 15 digits
    ASSERT_NEAR(s->values, e->values, 1e-12 * fmax(1.0, sums.scale[k]));
  }
  sap_model_destroy(model);
}

static void test_humanoid(void** state) {
  (void)state;
  static const row_sum expected[] = {
      {"body", 16, 16, 352, 3.7631453273333, -0.782061486433178},
      {"joint", 22, 88, 308, -7.67567816454457, 1.7382177890288},
      {"shape", 20, 120, 320, -60.5537017500162, -2.64391191673394},
      {"tendon", 2, 6, 8, -8.5265311761706, 1.57777527194169},
      {"actuator", 21, 21, 105, 20.222313250889, -17.0149820540687},
      {"key", 4, 0, 308, 0, -10.4589728627866},
      {"exclude", 2, 4, 0, 1.43984015026827, 0},
      {"options", 1, 0, 4, 0, -1.38817129154384},
  };
  check_model("humanoid/humanoid.xml", expected, (int32_t)(sizeof expected / sizeof expected[0]));
}

// Without the keyframes of the humanoid that it attaches.
static void test_many_humanoids(void** state) {
  (void)state;
  static const row_sum expected[] = {
      {"body", 352, 352, 7744, -144.983162122015, -10.7408430927947},
      {"joint", 484, 1936, 6776, 294.547369440134, 289.337280252743},
      {"shape", 419, 2514, 6704, -1209.48498438878, -3.55721440556458},
      {"tendon", 44, 132, 176, -211.645775187167, 0.0116935148610374},
      {"actuator", 462, 462, 2310, 389.24709575902, -69.2593818694313},
      {"exclude", 44, 88, 0, -315.854197489558, 0},
      {"options", 1, 0, 4, 0, -1.38817129154384},
  };
  check_model("humanoid/22_humanoids.xml", expected,
              (int32_t)(sizeof expected / sizeof expected[0]));
}

static void test_stonehenge(void** state) {
  (void)state;
  static const row_sum expected[] = {
      {"body", 76, 76, 1672, 0, -12497745.6035095},
      {"joint", 76, 304, 1064, 388.729926286096, 0.0945511687861367},
      {"shape", 78, 468, 1248, 102.530060127827, -29.5898388686138},
      {"options", 1, 0, 4, 0, -1.38590088405791},
  };
  check_model("replicate/stonehenge.xml", expected,
              (int32_t)(sizeof expected / sizeof expected[0]));
}

static void test_bowl(void** state) {
  (void)state;
  static const row_sum expected[] = {
      {"body", 3, 3, 66, 0, 0.139523100581561},
      {"joint", 3, 12, 42, -11.1852791391835, 1.16261243864873},
      {"shape", 324, 1944, 5184, 2.11727285951435, -0.310842022507565},
      {"options", 1, 0, 4, 0, -1.38590088405791},
  };
  check_model("replicate/bowl.xml", expected, (int32_t)(sizeof expected / sizeof expected[0]));
}

static void test_names_of_copies(void** state) {
  (void)state;
  sap_model* model = read_scene(SAPSTEP_SOURCE_DIR "/tests/oracle/scene/torture.xml");
  assert_true(sap_model_find(model, SAP_ELEMENT_BODY, "in1_07") > 0);
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_BODY, "in"), -1);
  assert_true(sap_model_find(model, SAP_ELEMENT_JOINT, "k1_l") > 0);
  assert_int_equal(sap_model_find(model, SAP_ELEMENT_JOINT, "k1_j"), -1);  // not attached
  sap_model_destroy(model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_torture),        cmocka_unit_test(test_torture_settings),
      cmocka_unit_test(test_humanoid),       cmocka_unit_test(test_many_humanoids),
      cmocka_unit_test(test_stonehenge),     cmocka_unit_test(test_bowl),
      cmocka_unit_test(test_names_of_copies)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
