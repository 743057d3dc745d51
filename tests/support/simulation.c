// SPDX-License-Identifier: BSD-3-Clause
#include "support/simulation.h"
#include "support/scene_text.h"
#include "support/skip.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/scene.h>

#include "math/quaternion.h"
#include "multibody/model/model_data.h"
#include "support/scene_text.h"

static void require(sap_status status, const sap_error* error) {
  if (status != SAP_STATUS_OK) {
    fail_msg("%s: %s", sap_status_text(status), error->message);
  }
  if (error->status != SAP_STATUS_OK || error->message[0] != '\0') {
    fail_msg("a call that succeeded left an error: %s", error->message);
  }
}

sap_builder* simulation_builder(double gx, double gy, double gz) {
  sap_builder* builder = NULL;
  sap_error error = {0};
  sap_model_options options = sap_model_options_default();
  options.gravity[0] = gx;
  options.gravity[1] = gy;
  options.gravity[2] = gz;
  require(sap_builder_create(&options, &builder, &error), &error);
  return builder;
}

static void complete(simulation* s, sap_scheme scheme, sap_stage stage, double dt) {
  sap_error error = {0};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  options.contact_stage = stage;
  options.solver_options.relative_tolerance = 1e-12;  // the physics is on trial, not the solver
  require(sap_stepper_options_set_scheme(&options, scheme, &error), &error);
  require(sap_multibody_create(s->model, &s->multibody, &error), &error);
  simulation_use(s, &options);
  require(sap_model_get_default_state(s->model, &s->state, &error), &error);
}

sap_model* simulation_compile(sap_builder* builder) {
  sap_error error = {0};
  sap_model* model = NULL;
  require(sap_builder_compile(builder, &model, &error), &error);
  sap_builder_destroy(builder);
  return model;
}

simulation simulation_begin(sap_builder* builder, sap_scheme scheme, double dt) {
  return simulation_begin_stage(builder, scheme, SAP_STAGE_AUTO, dt);
}

simulation simulation_begin_stage(sap_builder* builder, sap_scheme scheme, sap_stage stage,
                                  double dt) {
  simulation s;
  memset(&s, 0, sizeof s);
  s.model = simulation_compile(builder);
  complete(&s, scheme, stage, dt);
  return s;
}

bool simulation_read(simulation* s, const char* path, sap_scheme scheme, double dt,
                     sap_error* error) {
  sap_scene_options options = sap_scene_options_default();
  memset(s, 0, sizeof *s);
  options.lenient = true;
  if (sap_scene_read(path, &options, &s->model, error) != SAP_STATUS_OK) {
    return false;
  }
  complete(s, scheme, SAP_STAGE_AUTO, dt);
  return true;
}

simulation simulation_take(FILE* file, const char* path, sap_scheme scheme, double dt) {
  simulation s;
  sap_error error = {0};
  assert_int_equal(fclose(file), 0);
  const bool read = simulation_read(&s, path, scheme, dt, &error);
  require(error.status, &error);
  assert_true(read);
  assert_int_equal(remove(path), 0);
  return s;
}

void simulation_skip_absent(const sap_error* error) {
  if (error->status != SAP_STATUS_IO) {
    fail_msg("%s", error->message);
  }
  SKIP("%s", error->message);
}

void simulation_complete(simulation* s, sap_scheme scheme, double dt) {
  complete(s, scheme, SAP_STAGE_AUTO, dt);
}

void simulation_use(simulation* s, const sap_stepper_options* options) {
  sap_error error = {0};
  sap_stepper_destroy(s->stepper);
  s->stepper = NULL;
  require(sap_stepper_create(sap_multibody_system(s->multibody), options, &s->stepper, &error),
          &error);
}

void simulation_end(simulation* s) {
  sap_stepper_destroy(s->stepper);
  sap_multibody_destroy(s->multibody);
  sap_model_destroy(s->model);
  sap_state_clear(&s->state);
}

void simulation_step(simulation* s, int32_t n) {
  sap_error error = {0};
  for (int32_t i = 0; i < n; ++i) {
    require(sap_stepper_step(s->stepper, &s->state, &s->report, &error), &error);
  }
  require(sap_multibody_collect(s->multibody, &s->report, &error), &error);
}

sap_diagnostics simulation_diagnose(simulation* s) {
  sap_error error = {0};
  sap_diagnostics out;
  require(sap_multibody_diagnose(s->multibody, &s->state, &out, &error), &error);
  return out;
}

double simulation_loop_error(simulation* s) {
  double error = 0.0;
  for (int32_t i = 0; i < s->model->sizes.equalities; ++i) {
    const sap_equality_def* e = &s->model->equalities[i];
    const int32_t bodies[2] = {e->a, e->b};
    double p[2][3], q[2][4];
    for (int k = 0; k < 2; ++k) {
      assert_int_equal(
          sap_multibody_body_pose(s->multibody, s->state.q, bodies[k], p[k], q[k], NULL),
          SAP_STATUS_OK);
      double arm[3];
      sap_quaternion_rotate(arm, q[k], k == 0 ? e->anchor_A : e->anchor_B);
      sap_v3_add(p[k], p[k], arm);
    }
    double gap[3];
    sap_v3_sub(gap, p[1], p[0]);
    error = fmax(error, sap_v3_norm(gap));
    if (e->type == SAP_EQUALITY_WELD) {
      double r[3];
      sap_quaternion_multiply(q[0], q[0], e->q_AB);
      sap_quaternion_conjugate(q[0], q[0]);
      sap_quaternion_multiply(q[0], q[0], q[1]);
      sap_quaternion_log(r, q[0]);
      error = fmax(error, sap_v3_norm(r));
    }
  }
  return error;
}

int32_t simulation_body(sap_builder* builder, int32_t parent, double mass, double inertia,
                        const double p[3]) {
  sap_error error = {0};
  sap_body_def body = sap_body_def_default();
  int32_t id = -1;
  body.parent = parent;
  body.mass = mass;
  for (int i = 0; i < 3; ++i) {
    body.I_BCo_B[i] = inertia;
    body.p_PB[i] = p[i];
  }
  require(sap_builder_add_body(builder, &body, &id, &error), &error);
  return id;
}

int32_t simulation_joint(sap_builder* builder, int32_t body, sap_joint_type type, double ax,
                         double ay, double az) {
  sap_error error = {0};
  sap_joint_def joint = sap_joint_def_default();
  int32_t id = -1;
  joint.type = type;
  joint.body = body;
  joint.axis[0] = ax;
  joint.axis[1] = ay;
  joint.axis[2] = az;
  require(sap_builder_add_joint(builder, &joint, &id, &error), &error);
  return id;
}

void simulation_shape(sap_builder* builder, int32_t body, sap_shape_type type, const double size[3],
                      sap_material material) {
  sap_error error = {0};
  sap_shape_def shape = sap_shape_def_default();
  shape.body = body;
  shape.type = type;
  memcpy(shape.size, size, sizeof shape.size);
  shape.material = material;
  require(sap_builder_add_shape(builder, &shape, NULL, &error), &error);
}

simulation simulation_begin_text(const char* text, sap_scheme scheme, double dt) {
  simulation s = {.model = scene_text_model("scene.xml", text, NULL)};
  simulation_complete(&s, scheme, dt);
  return s;
}
