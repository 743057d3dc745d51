// SPDX-License-Identifier: BSD-3-Clause
// Times every function of the dynamics, as JSON lines: min and median over batches [us].
//   humanoid: the topology of MuJoCo's humanoid (16 bodies, a free joint, 21 hinges with springs,
//   dampers and armature, 27 dofs); free40: 40 free bodies. Scene files given as arguments follow.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/scene.h>

#include "core/platform.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/forces.h"

enum { BATCHES = 101, REPEATS = 200, MAX_NV = 256 };

static sap_body_def some_body(int32_t parent, int i) {
  return (sap_body_def){.cookie = sap_body_def_default().cookie,
                        .parent = parent,
                        .p_PB = {0.1, 0.05 * (i % 3), -0.2},
                        .q_PB = {1.0, 0.0, 0.0, 0.0},
                        .mass = 1.0 + 0.1 * i,
                        .p_BCo = {0.0, 0.01, -0.1},
                        .I_BCo_B = {0.02, 0.02, 0.01, 0.0, 0.001, 0.0}};
}

static bool add_hinge(sap_builder* b, int32_t body, int axis) {
  sap_joint_def def = sap_joint_def_default();
  def.body = body;
  def.axis[axis % 3] = 1.0;
  def.p_BJ[2] = 0.05;
  def.stiffness = 10.0;
  def.damping = 5.0;
  def.armature = 0.01;
  return sap_builder_add_joint(b, &def, NULL, NULL) == SAP_STATUS_OK;
}

// torso, head, waist, pelvis, two legs of thigh, shin, foot, two arms of upper, lower, hand.
static sap_model* humanoid(void) {
  static const int32_t parents[] = {0, 1, 1, 3, 4, 5, 6, 4, 8, 9, 1, 11, 12, 1, 14, 15};
  static const int hinges[] = {0, 0, 2, 1, 3, 1, 2, 3, 1, 2, 2, 1, 0, 2, 1, 0};
  sap_builder* b = NULL;
  sap_model* model = NULL;
  bool done = sap_builder_create(NULL, &b, NULL) == SAP_STATUS_OK;
  sap_joint_def root = sap_joint_def_default();
  root.type = SAP_JOINT_FREE;
  root.body = 1;
  for (int i = 0; i < 16 && done; ++i) {
    const sap_body_def def = some_body(parents[i], i);
    done = sap_builder_add_body(b, &def, NULL, NULL) == SAP_STATUS_OK;
    done = done && (i > 0 || sap_builder_add_joint(b, &root, NULL, NULL) == SAP_STATUS_OK);
    for (int k = 0; k < hinges[i] && done; ++k) {
      done = add_hinge(b, i + 1, k);
    }
  }
  if (done) {
    (void)sap_builder_compile(b, &model, NULL);
  }
  sap_builder_destroy(b);
  return model;
}

static sap_model* free_bodies(int count) {
  sap_builder* b = NULL;
  sap_model* model = NULL;
  bool done = sap_builder_create(NULL, &b, NULL) == SAP_STATUS_OK;
  for (int i = 0; i < count && done; ++i) {
    const sap_body_def def = some_body(0, i);
    sap_joint_def joint = sap_joint_def_default();
    joint.type = SAP_JOINT_FREE;
    joint.body = i + 1;
    done = sap_builder_add_body(b, &def, NULL, NULL) == SAP_STATUS_OK &&
           sap_builder_add_joint(b, &joint, NULL, NULL) == SAP_STATUS_OK;
  }
  if (done) {
    (void)sap_builder_compile(b, &model, NULL);
  }
  sap_builder_destroy(b);
  return model;
}

typedef struct bench {
  const sap_model* model;
  sap_dynamics* dynamics;
  sap_kinematics kin;
  double *q, *q1, *v, *a, *k1, *k2, *J;
  double** M;
  sap_diagnostics diagnostics;
} bench;

static void run_positions(bench* x) {
  sap_kinematics_set(&x->kin, x->q);
}
static void run_mass_matrix(bench* x) {
  sap_dynamics_mass_matrix(x->dynamics, &x->kin, x->M);
}
static void run_forces(bench* x) {
  sap_dynamics_forces(x->dynamics, &(sap_dynamics_state){&x->kin, x->v, NULL}, x->k1, x->k2);
}
static void run_inverse(bench* x) {
  sap_dynamics_inverse(x->dynamics, &(sap_dynamics_state){&x->kin, x->v, NULL}, x->a, x->k1);
}
static void run_stiffness(bench* x) {
  sap_dynamics_add_joint_matrices(x->dynamics, x->q, 1.0, 1.0, x->M, x->M);
}
static void run_integrate(bench* x) {
  sap_manifold_integrate(x->model, x->q, x->v, 1e-3, x->q1);
}
static void run_diagnose(bench* x) {
  sap_dynamics_diagnose(x->dynamics, &x->kin, x->v, &x->diagnostics);
}
static void run_jacobian(bench* x) {
  static const double R[9] = {0.6, 0.8, 0.0, -0.8, 0.6, 0.0, 0.0, 0.0, 1.0};
  sap_kinematics_add_point_jacobian(&x->kin, x->model->sizes.bodies - 1, x->q, R, 1.0, x->J);
}

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void measure(const char* scene, const char* name, void (*run)(bench*), bench* x) {
  double times[BATCHES];
  for (int i = -10; i < BATCHES; ++i) {  // the first ten warm up
    const double start = sap_clock_seconds();
    for (int n = 0; n < REPEATS; ++n) {
      run(x);
    }
    times[i < 0 ? 0 : i] = 1e6 * (sap_clock_seconds() - start) / REPEATS;
  }
  qsort(times, BATCHES, sizeof *times, compare);
  (void)printf(
      "{\"bench\": \"dynamics\", \"scene\": \"%s\", \"function\": \"%s\", "
      "\"min_us\": %.3f, \"median_us\": %.3f}\n",
      scene, name, times[0], times[BATCHES / 2]);
}

static bool bench_model(const char* scene, const sap_model* model) {
  static double numbers[7][2 * MAX_NV], J[3 * MAX_NV];
  bench x = {.model = model,
             .q = numbers[0],
             .q1 = numbers[1],
             .v = numbers[2],
             .a = numbers[3],
             .k1 = numbers[4],
             .k2 = numbers[5],
             .J = J};
  if (model == NULL || model->sizes.nv > MAX_NV ||
      sap_dynamics_create(model, &x.dynamics, NULL) != SAP_STATUS_OK ||
      sap_kinematics_create(&x.kin, x.dynamics, NULL) != SAP_STATUS_OK) {
    return false;
  }
  double* blocks[MAX_NV];
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    const size_t n = (size_t)model->tree_sizes[t];
    blocks[t] = calloc(n * n, sizeof(double));
  }
  x.M = blocks;
  for (int32_t i = 0; i < model->sizes.nv; ++i) {
    x.v[i] = sin(1.0 + i);
    x.a[i] = cos(2.0 * i);
  }
  sap_manifold_integrate(model, model->q_default, x.v, 0.3, x.q);
  measure(scene, "set_positions", run_positions, &x);
  measure(scene, "mass_matrix", run_mass_matrix, &x);
  measure(scene, "forces", run_forces, &x);
  measure(scene, "inverse", run_inverse, &x);
  measure(scene, "stiffness_damping", run_stiffness, &x);
  measure(scene, "integrate", run_integrate, &x);
  measure(scene, "diagnose", run_diagnose, &x);
  measure(scene, "add_point_jacobian", run_jacobian, &x);
  for (int32_t t = 0; t < model->sizes.trees; ++t) {
    free(blocks[t]);
  }
  sap_kinematics_clear(&x.kin);
  sap_dynamics_destroy(x.dynamics);
  return true;
}

static bool bench_file(const char* path) {
  sap_model* model = NULL;
  sap_error error = {0};
  if (sap_scene_read(path, NULL, &model, &error) != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
    return false;
  }
  const bool done = bench_model(path, model);
  sap_model_destroy(model);
  return done;
}

int main(int count, char** arguments) {
  sap_model* models[] = {humanoid(), free_bodies(40)};
  bool done = bench_model("humanoid", models[0]) && bench_model("free40", models[1]);
  sap_model_destroy(models[0]);
  sap_model_destroy(models[1]);
  for (int i = 1; i < count; ++i) {
    done = bench_file(arguments[i]) && done;
  }
  return done ? 0 : 1;
}
