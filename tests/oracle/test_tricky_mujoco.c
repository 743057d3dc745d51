// SPDX-License-Identifier: BSD-3-Clause
// Files full of what MJCF can say (tendons round obstacles, muscles and all activations, defaults
// of several kinds, bounds and scaling of masses, springs by their time constants, couplings,
// frames, drives of sites, balls and free joints) against MuJoCo 4.0.0 (Python) in random states:
// mass matrix, bias and passive forces, lengths of tendons and actuators with their gradients,
// actuator forces, activations a step later. The numbers in scene/tricky.expected were written by a
// script around mj_forward and mj_step.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "multibody/dynamics/dynamics_data.h"

#define FOLDER SAPSTEP_SOURCE_DIR "/tests/oracle/scene/"

enum { MOST = 4096 };

typedef struct check {
  FILE* file;
  char name[32];
  int state;
  sap_model* model;
  sap_dynamics* dynamics;
  sap_kinematics kin;
  double q[64], v[64], control[64], act[64], input[64];
} check;

// 15 digits are printed; MuJoCo's principal inertias lose two more.
static const double usual = 1e-11;
// MuJoCo's arcs come of arccosines, its rings of an iteration that stops at 1e-6.
static const double wrapped = 1e-6;

static int read_numbers(check* c, const char* word, double* out) {
  char found[32];
  int count = 0, next;
  assert_int_equal(fscanf(c->file, "%31s", found), 1);
  assert_string_equal(found, word);
  while ((next = fgetc(c->file)) == ' ') {
    next = fgetc(c->file);
    if (next == '\n') {
      break;
    }
    (void)ungetc(next, c->file);
    assert_in_range(count, 0, MOST - 1);
    assert_int_equal(fscanf(c->file, "%lf", &out[count++]), 1);
  }
  return count;
}

// Relative to the largest of all.
static void compare(check* c, const char* word, const double* ours, int count, double tolerance) {
  static double theirs[MOST];
  const int given = read_numbers(c, word, theirs);
  assert_int_equal(given, count);
  double scale = 1e-3;
  for (int i = 0; i < count; ++i) {
    scale = fmax(scale, fabs(theirs[i]));
  }
  for (int i = 0; i < count; ++i) {
    if (!(fabs(ours[i] - theirs[i]) <= tolerance * scale)) {
      fail_msg("%s, state %d: %s %d is %.17g, MuJoCo has %.17g", c->name, c->state, word, i,
               ours[i], theirs[i]);
    }
  }
}

static void compare_mass_matrix(check* c) {
  static double values[MOST], blocks[MOST];
  const sap_model* m = c->model;
  double* diagonal[64];
  int at = 0, count = 0;
  for (int t = 0; t < m->sizes.trees; ++t) {
    diagonal[t] = blocks + at;
    at += m->tree_sizes[t] * m->tree_sizes[t];
  }
  memset(blocks, 0, sizeof blocks);
  sap_dynamics_mass_matrix(c->dynamics, &c->kin, diagonal);
  for (int i = 0; i < m->sizes.nv; ++i) {
    for (int j = 0; j <= i; ++j) {
      const int t = m->dof_tree[i], first = m->tree_dofs[t];
      values[count++] =
          m->dof_tree[j] == t ? diagonal[t][(j - first) * m->tree_sizes[t] + i - first] : 0.0;
    }
  }
  compare(c, "M", values, count, usual);
}

static void compare_forces(check* c) {
  double k1[64], k2[64];
  bool* on = c->dynamics->actuator_active;
  const size_t bytes = (size_t)c->model->sizes.actuators * sizeof *on;
  memset(on, 0, bytes);
  sap_dynamics_forces(c->dynamics, &(sap_dynamics_state){&c->kin, c->v, c->input}, k1, k2);
  memset(on, 1, bytes);
  for (int i = 0; i < c->model->sizes.nv; ++i) {
    k1[i] += k2[i];
  }
  // Elastic tendons may be wrapped.
  compare(c, "force", k1, c->model->sizes.nv, strcmp(c->name, "wrap") == 0 ? wrapped : usual);
}

static void compare_tendons(check* c) {
  static double values[MOST];
  const int nv = c->model->sizes.nv, row = 1 + nv;
  memset(values, 0, sizeof values);
  for (int t = 0; t < c->model->sizes.tendons; ++t) {
    values[row * t] = sap_tendon_length(&c->kin, t);
    sap_tendon_add_force(&c->kin, t, 1.0, values + row * t + 1);
  }
  compare(c, "tendons", values, row * c->model->sizes.tendons, wrapped);
}

static void compare_actuators(check* c) {
  static double values[MOST];
  const int nv = c->model->sizes.nv, row = 3 + nv;
  memset(values, 0, sizeof values);
  for (int i = 0; i < c->model->sizes.nu; ++i) {
    const double gear = c->model->actuators[i].gear;
    double* out = values + row * i;
    out[0] = gear * sap_transmission_length(&c->kin, i);
    out[1] = gear * sap_transmission_rate(c->dynamics, &c->kin, c->v, i);
    out[2] = sap_dynamics_actuator_force(c->model, i, c->input, out[0], out[1]).force;
    sap_transmission_add_force(&c->kin, i, gear, out + 3);
  }
  compare(c, "actuators", values, row * c->model->sizes.nu,
          strcmp(c->name, "wrap") == 0 ? wrapped : usual);
}

static void check_state(check* c) {
  const sap_model* m = c->model;
  double next[64];
  assert_int_equal(read_numbers(c, "q", c->q), m->sizes.nq);
  assert_int_equal(read_numbers(c, "v", c->v), m->sizes.nv);
  assert_int_equal(read_numbers(c, "control", c->control), m->sizes.nu);
  assert_int_equal(read_numbers(c, "act", c->act), m->sizes.na);
  sap_model_advance_activations(m, c->control, c->act, m->options.timestep, false, next);
  for (int i = 0; i < m->sizes.nu; ++i) {
    const sap_model_actuator* a = &m->actuators[i];
    c->input[i] = a->act < 0 ? c->control[i] : a->activation_early ? next[a->act] : c->act[a->act];
  }
  sap_kinematics_set(&c->kin, c->q);
  compare_mass_matrix(c);
  compare_forces(c);
  compare_tendons(c);
  compare_actuators(c);
  compare(c, "next", next, m->sizes.na, usual);
}

static void check_file(check* c) {
  int sizes[5], states;
  char path[512];
  sap_error error = {0};
  assert_int_equal(fscanf(c->file, "%31s %d %d %d %d %d %d", c->name, &sizes[0], &sizes[1],
                          &sizes[2], &sizes[3], &sizes[4], &states),
                   7);
  (void)snprintf(path, sizeof path, "%stricky/%s.xml", FOLDER, c->name);
  if (sap_scene_read(path, NULL, &c->model, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  const sap_model_sizes* n = &c->model->sizes;
  const int ours[5] = {n->nq, n->nv, n->nu, n->na, n->tendons};
  assert_memory_equal(ours, sizes, sizeof ours);
  assert_int_equal(sap_dynamics_create(c->model, &c->dynamics, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_kinematics_create(&c->kin, c->dynamics, NULL), SAP_STATUS_OK);
  for (c->state = 0; c->state < states; ++c->state) {
    check_state(c);
  }
  sap_kinematics_clear(&c->kin);
  sap_dynamics_destroy(c->dynamics);
  sap_model_destroy(c->model);
}

static void test_all(void** state) {
  (void)state;
  check c = {.file = fopen(FOLDER "tricky.expected", "r")};
  char word[8];
  int files = 0;
  assert_non_null(c.file);
  while (fscanf(c.file, "%7s", word) == 1) {
    assert_string_equal(word, "file");
    check_file(&c);
    ++files;
  }
  assert_int_equal(files, 10);
  assert_int_equal(fclose(c.file), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_all)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
