// SPDX-License-Identifier: BSD-3-Clause
#include "support/numbered_recording.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

const double numbered_dt = 0.01;
static const sap_recorded_body bodies[NUMBERED_BODIES] = {
    {.parent = -1}, {0, 2.0, {0.1, 0.2, 0.3}}, {1, 3.0, {0.4, 0.5, 0.6}}};
static const sap_recorded_joint joints[] = {{SAP_JOINT_SLIDE, 1, 0, 0}, {SAP_JOINT_HINGE, 2, 1, 1}};
static const sap_recorded_shape shapes[NUMBERED_SHAPES] = {
    {SAP_SHAPE_PLANE,
     0,
     -1,
     true,
     {9.0, 8.0},
     {0},
     {1.0},
     {(double)NAN, (double)NAN, (double)NAN, (double)NAN}},
    {SAP_SHAPE_BOX,
     1,
     -1,
     true,
     {0.1, 0.3, 0.2},
     {1, 2, 3},
     {0.5, 0.1, 0.7, -0.5},
     {.1, .2, .3, 1}},
    {SAP_SHAPE_MESH, 2, 1, false, {0.6, 0.5, 0.4}, {4, 5, 6}, {0.6, 0, 0.8, 0}, {.4, .5, .6, .7}}};
const int32_t numbered_meshes[2][4] = {{0, 3, 0, 1}, {3, 4, 1, 2}};
const float numbered_vertices[7][3] = {{.5f, 1, 2},     {3, 4, 5},    {6, 7, 8},   {9, 10, -11},
                                       {12, 13, 14.5f}, {15, 16, 17}, {18, 19, 20}};
const int32_t numbered_triangles[3][3] = {{0, 1, 2}, {3, 2, 1}, {1, 3, 0}};

static const char* element_name(const void* context, sap_element kind, int32_t id) {
  static const char* const names[NUMBERED_BODIES] = {"world", "cart", "pole"};
  (void)context;
  return kind == SAP_ELEMENT_BODY ? names[id] : NULL;
}

double numbered_energy(int k, int i) {
  return 100.0 * (i + 1) + 7.0 * k * (i + 1);
}

void numbered_pose(int k, double p[3 * NUMBERED_BODIES], double q[4 * NUMBERED_BODIES]) {
  const double sign = k % 4 == 0 ? 1.0 : -1.0, half = 0.2 * k;
  const double p_all[] = {0, 0, 0, 0.1 * k * k, -0.5 * k, 1.0 + 0.2 * k, 7, 8, 9};
  const double q_all[] = {1,   0,    0,   0,  sign * cos(half), 0, 0, sign * sin(half),
                          0.5, -0.5, 0.5, 0.5};
  memcpy(p, p_all, sizeof p_all);
  memcpy(q, q_all, sizeof q_all);
}

sap_contact numbered_contact(int k, int c) {
  const double x = 2.0 * k + c;
  sap_contact contact = {.body_A = c,
                         .body_B = c + 1,
                         .shape_A = c,
                         .shape_B = c + 1,
                         .feature = c == 0 ? 65 : 5 + k,
                         .condim = 6,
                         .point = {0.1 + x, 0.2 - x, 0.3 + 2.0 * x},
                         .R_WC = {0.8, 0, -0.6, 0, 1, 0, 0.6, 0, 0.8},
                         .phi = -1e-3 * (1.0 + x),
                         .patch = c == 0 ? 1 : 0,
                         .area = c == 0 ? 0.02 * (k + 1) : 0.0,
                         .material = {.stiffness = 1e4 + x, .relaxation_time = 0.01 + 0.001 * x},
                         .friction = {0.5 + 0.01 * x, 0.5 + 0.01 * x, 0.02, 0.03, 0.03},
                         .vc = {0.03 + x, 0.04, -0.05 - x, 0.6, 0.7 + x, 0.8},
                         .gamma = {0.1, -0.2, 6.0 + 2.0 * x, 1e-3, 2e-3, -3e-3},
                         .realised = 1.0 - 0.01 * x};
  if (c == 0) {
    contact.gamma[2] = 1.0 + x;
    contact.gamma[0] = contact.friction[0] * contact.gamma[2];
    contact.gamma[1] = contact.gamma[3] = contact.gamma[4] = contact.gamma[5] = 0.0;
  }
  return contact;
}

static void write_row(sap_recorder* recorder, int k) {
  const double q[] = {0.1 * k, 1.0 + 0.2 * k}, v[] = {2.0 + 0.3 * k, 3.0 + 0.4 * k};
  const double force[] = {4.0 + 0.5 * k, 5.0 + 0.6 * k}, sensor[] = {6.0 + k, 7.0 + 2.0 * k};
  const double act = 0.01 * k;
  double p_WB[3 * NUMBERED_BODIES], q_WB[4 * NUMBERED_BODIES];
  numbered_pose(k, p_WB, q_WB);
  const sap_contact contacts[NUMBERED_CONTACTS] = {numbered_contact(k, 0), numbered_contact(k, 1)};
  const sap_recorded_force limits[] = {{1, 0, 2, 7.0 * k}, {8, 3, 1, 8.0 + k}};
  sap_iteration history[] = {{.cost = 9.0 + k, .momentum_error = 0.9, .step_length = 0.0},
                             {8.0 + k, 0.8, 0.7, 3}};
  const sap_report solver = {.outcome = k == 3 ? SAP_OUTCOME_STALLED : SAP_OUTCOME_CONVERGED,
                             .iterations = 10 + (k == 1   ? 5
                                                 : k == 2 ? 2
                                                          : k),
                             .momentum_error = 1e-7 * (k + 1),
                             .cost = 50.0 + k,
                             .factorizations = 20 + k,
                             .evaluations = 30 + k,
                             .islands = 40 + k,
                             .history = history,
                             .history_count = 2};
  const sap_recorded_row row = {
      .t = numbered_dt * k,
      .q = q,
      .v = v,
      .act = &act,
      .p_WB = p_WB,
      .q_WB = q_WB,
      .energy = {numbered_energy(k, 0), numbered_energy(k, 1), numbered_energy(k, 2)},
      .momentum = {60.0 + k, 61, 62, 63, 64, 65.0 + k},
      .actuator_force = force,
      .sensor = sensor,
      .contacts = contacts,
      .contact_count = NUMBERED_CONTACTS,
      .forces = limits,
      .force_count = 2,
      .stepped = true,
      .solver = &solver,
      .constraint_rows = 70 + k,
      .free_motion_iterations = 80 + k,
      .free_motion_residual = 1e-9 * (k + 1),
      .dt = numbered_dt,
      .time_total = k == 5 ? 0.09 : 0.001 * (k + 1),
      .time_solver = 1e-4 * (k + 1)};
  assert_int_equal(sap_recorder_write_row(recorder, &row, NULL), SAP_STATUS_OK);
}

void numbered_record(const char* path) {
  static const int32_t sensor_values[] = {2};
  const sap_recorded_model model = {.name = "numbers",
                                    .sizes = {.bodies = NUMBERED_BODIES,
                                              .joints = 2,
                                              .shapes = NUMBERED_SHAPES,
                                              .meshes = 2,
                                              .actuators = 2,
                                              .sensors = 1,
                                              .nq = 2,
                                              .nv = 2,
                                              .na = 1,
                                              .nu = 2,
                                              .nsensor = 2},
                                    .element_name = element_name,
                                    .bodies = bodies,
                                    .joints = joints,
                                    .shapes = shapes,
                                    .meshes = numbered_meshes,
                                    .vertices = numbered_vertices,
                                    .triangles = numbered_triangles,
                                    .nvertices = 7,
                                    .ntriangles = 3,
                                    .sensor_values = sensor_values};
  sap_recorder* recorder = NULL;
  sap_error error = {0};
  if (sap_recorder_create_foreign(path, &model, NULL, &recorder, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  for (int k = 0; k < NUMBERED_ROWS; ++k) {
    write_row(recorder, k);
  }
  assert_int_equal(sap_recorder_close(recorder, NULL), SAP_STATUS_OK);
}
