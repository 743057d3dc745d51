// SPDX-License-Identifier: BSD-3-Clause
// Scenes, builders, models and states: broken arguments, and allocations that fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/sapstep.h>

#include "multibody/geometry/collision.h"
#include "multibody/geometry/shape.h"
#include "support/calls.h"
#include "support/heap_count.h"
#include "support/scratch.h"

static const char scene[] =
    "<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset><worldbody>"
    "<geom type='plane' size='1 1 1'/><body name='b' pos='0 0 .1'><freejoint/><geom "
    "size='.1'/><site name='s'/>"
    "</body><body pos='2 0 1'><joint name='j' axis='0 1 0' range='-1 1' limited='true'/>"
    "<geom size='.1'/></body><body pos='4 0 1'><joint name='k' axis='0 1 0'/><geom type='mesh' "
    "mesh='m'/></body></worldbody><tendon><fixed name='t'><joint joint='j' coef='2'/></fixed>"
    "</tendon><equality><joint name='e' joint1='j' joint2='k'/></equality><actuator><motor "
    "joint='j'/></actuator><sensor><gyro site='s'/></sensor><keyframe><key qpos='0 0 1 1 0 0 0 0 "
    "0'/></keyframe></mujoco>";
static const double corners[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};

static scratch files;
static char path[SCRATCH_PATH_SIZE];
static sap_model* model;
static sap_collision* collision;
static const double still[24], upright[36] = {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1};
static const sap_placed_shape ball = {.type = SAP_SHAPE_SPHERE, .radius = 1.0};
static const sap_collision_query query = {
    .p_WB = still, .R_WB = upright, .V_WB = still, .dt = 0.01};
static sap_pair_patch plane_and_ball = {.shapes = {0, 1}};
static sap_builder* builder;  // with a body, and two joints of another
static sap_state state, copy;
static sap_body_def body;
static sap_joint_def joint;
static sap_shape_def shape;
static sap_tendon_def tendon;
static sap_actuator_def actuator;
static sap_equality_def equality;
static sap_spring_def spring;
static sap_bushing_def bushing;
static sap_pair_def pair;
static sap_sensor_def sensor;
static sap_site_def site;
static sap_keyframe_def keyframe;
static sap_mesh_def mesh;
// Objects made by calls.
static struct made {
  sap_model* model;
  sap_builder* builder;
  sap_collision* collision;
} made;
static union {
  sap_mesh_mass mass;
  sap_body_def body;
  sap_joint_def joint;
  sap_shape_def shape;
  sap_tendon_def tendon;
  sap_actuator_def actuator;
  sap_equality_def equality;
  sap_mesh_def mesh;
  sap_sensor_def sensor;
  sap_site_def site;
} out;

#define CALLS(X)                                                                                   \
  X(sap_scene_read, 2, sap_scene_read(P(1, path), NULL, P(2, &made.model), error))                 \
  X(sap_mesh_def_mass, 2, sap_mesh_def_mass(P(1, &mesh), SAP_MESH_CONVEX, P(2, &out.mass), error)) \
  X(sap_builder_create, 1, sap_builder_create(NULL, P(1, &made.builder), error))                   \
  X(sap_builder_add_body, 2, sap_builder_add_body(P(1, builder), P(2, &body), NULL, error))        \
  X(sap_builder_add_joint, 2, sap_builder_add_joint(P(1, builder), P(2, &joint), NULL, error))     \
  X(sap_builder_add_shape, 2, sap_builder_add_shape(P(1, builder), P(2, &shape), NULL, error))     \
  X(sap_builder_add_mesh, 2, sap_builder_add_mesh(P(1, builder), P(2, &mesh), NULL, error))        \
  X(sap_builder_add_tendon, 2, sap_builder_add_tendon(P(1, builder), P(2, &tendon), NULL, error))  \
  X(sap_builder_add_actuator, 2,                                                                   \
    sap_builder_add_actuator(P(1, builder), P(2, &actuator), NULL, error))                         \
  X(sap_builder_add_equality, 2,                                                                   \
    sap_builder_add_equality(P(1, builder), P(2, &equality), NULL, error))                         \
  X(sap_builder_add_spring, 2, sap_builder_add_spring(P(1, builder), P(2, &spring), NULL, error))  \
  X(sap_builder_add_bushing, 2,                                                                    \
    sap_builder_add_bushing(P(1, builder), P(2, &bushing), NULL, error))                           \
  X(sap_builder_add_pair, 2, sap_builder_add_pair(P(1, builder), P(2, &pair), NULL, error))        \
  X(sap_builder_add_keyframe, 2,                                                                   \
    sap_builder_add_keyframe(P(1, builder), P(2, &keyframe), NULL, error))                         \
  X(sap_builder_exclude, 3, sap_builder_exclude(P(1, builder), I(2, 0), I(3, 1), error))           \
  X(sap_builder_compile, 2, sap_builder_compile(P(1, builder), P(2, &made.model), error))          \
  X(sap_model_joint_address, 2,                                                                    \
    sap_model_joint_address(P(1, model), I(2, 0), NULL, NULL, NULL, NULL, error))                  \
  X(sap_model_get_shape, 3, sap_model_get_shape(P(1, model), I(2, 0), P(3, &out.shape), error))    \
  X(sap_model_shape_set_field, 4,                                                                  \
    sap_model_shape_set_field(P(1, model), I(2, 1), D(3, 1e5), D(4, 0.1), error))                  \
  X(sap_model_get_body, 3, sap_model_get_body(P(1, model), I(2, 0), P(3, &out.body), error))       \
  X(sap_model_get_joint, 3, sap_model_get_joint(P(1, model), I(2, 0), P(3, &out.joint), error))    \
  X(sap_model_get_tendon, 3, sap_model_get_tendon(P(1, model), I(2, 0), P(3, &out.tendon), error)) \
  X(sap_model_get_actuator, 3,                                                                     \
    sap_model_get_actuator(P(1, model), I(2, 0), P(3, &out.actuator), error))                      \
  X(sap_model_get_equality, 3,                                                                     \
    sap_model_get_equality(P(1, model), I(2, 0), P(3, &out.equality), error))                      \
  X(sap_builder_add_sensor, 2, sap_builder_add_sensor(P(1, builder), P(2, &sensor), NULL, error))  \
  X(sap_builder_add_site, 2, sap_builder_add_site(P(1, builder), P(2, &site), NULL, error))        \
  X(sap_model_get_sensor, 3, sap_model_get_sensor(P(1, model), I(2, 0), P(3, &out.sensor), error)) \
  X(sap_model_get_site, 3, sap_model_get_site(P(1, model), I(2, 0), P(3, &out.site), error))       \
  X(sap_model_get_mesh, 3, sap_model_get_mesh(P(1, model), I(2, 0), P(3, &out.mesh), error))       \
  X(sap_collision_create, 2, sap_collision_create(P(1, model), P(2, &made.collision), error))      \
  X(sap_collision_pair_patch, 3,                                                                   \
    sap_collision_pair_patch(P(1, collision), P(2, &query), P(3, &plane_and_ball), error))         \
  X(sap_model_get_default_state, 2, sap_model_get_default_state(P(1, model), P(2, &copy), error))  \
  X(sap_model_get_keyframe, 3,                                                                     \
    sap_model_get_keyframe(P(1, model), I(2, 0), P(3, &copy), NULL, error))                        \
  X(sap_state_resize, 3, sap_state_resize(P(1, &copy), N(2, 9), N(3, 8), error))                   \
  X(sap_state_resize_with, 4,                                                                      \
    sap_state_resize_with(P(1, &copy), N(2, 9), N(3, 8), N(4, 0), error))                          \
  X(sap_state_copy, 2, sap_state_copy(P(1, &state), P(2, &copy), error))

CALLS(CALL_FUNCTION)
static const call calls[] = {CALLS(CALL_ROW)};

// Functions that have nothing to say but their result: X(name, what must hold).
#define PLAIN(X)                                                                                   \
  X(sap_version, sap_version()[0] != '\0')                                                         \
  X(sap_status_text, sap_status_text((sap_status)999) != NULL)                                     \
  X(sap_law_text, sap_law_text((sap_law)999) != NULL)                                              \
  X(sap_model_get_name, sap_model_get_name(model, (sap_element)999, 0)[0] == '\0' &&               \
                            sap_model_get_name(model, SAP_ELEMENT_BODY, -1)[0] == '\0' &&          \
                            sap_model_get_name(model, SAP_ELEMENT_BODY, INT32_MAX)[0] == '\0')     \
  X(sap_model_find, sap_model_find(model, (sap_element)999, "b") == -1 &&                          \
                        sap_model_find(model, SAP_ELEMENT_BODY, NULL) == -1 &&                     \
                        sap_model_find(model, SAP_ELEMENT_BODY, "b") == 1)                         \
  X(sap_model_actuator_address, sap_model_actuator_address(model, -1) == -1 &&                     \
                                    sap_model_actuator_address(model, INT32_MAX) == -1)            \
  X(sap_model_sensor_values, sap_model_sensor_values(model, 0, NULL) == 3 &&                       \
                                 sap_model_sensor_values(model, -1, NULL) == 0 &&                  \
                                 sap_model_sensor_values(model, INT32_MAX, NULL) == 0)             \
  X(sap_model_get_body_tree, sap_model_get_body_tree(model, -1) == -1 &&                           \
                                 sap_model_get_body_tree(model, INT32_MAX) == -1 &&                \
                                 sap_model_get_body_tree(NULL, 0) == -1)                           \
  X(sap_model_get_tree_dofs,                                                                       \
    sap_model_get_tree_dofs(model, -1) == 0 && sap_model_get_tree_dofs(model, INT32_MAX) == 0)     \
  X(sap_model_excludes,                                                                            \
    !sap_model_excludes(NULL, 0, 1) && !sap_model_excludes(model, -1, INT32_MAX))                  \
  X(sap_model_mesh_has_hollows,                                                                    \
    !sap_model_mesh_has_hollows(NULL, 0) && !sap_model_mesh_has_hollows(model, -1) &&              \
        !sap_model_mesh_has_hollows(model, INT32_MAX) && !sap_model_mesh_has_hollows(model, 0))    \
  X(sap_model_get_body_mass,                                                                       \
    isnan(sap_model_get_body_mass(model, -1)) && isnan(sap_model_get_body_mass(model, INT32_MAX))) \
  X(sap_model_get_sizes, sap_model_get_sizes(model).bodies == 4)                                   \
  X(sap_model_get_options, sap_model_get_options(model) != NULL)                                   \
  X(sap_builder_counts, (sap_builder_counts(builder, NULL, NULL, NULL), true))                     \
  X(sap_body_def_default, sap_body_def_default().q_PB[0] == 1.0)                                   \
  X(sap_joint_def_default, sap_joint_def_default().axis[2] == 1.0)                                 \
  X(sap_shape_def_default, sap_shape_def_default().mesh == -1)                                     \
  X(sap_mesh_def_default, sap_mesh_def_default().vertex_count == 0)                                \
  X(sap_keyframe_def_default, sap_keyframe_def_default().q == NULL)                                \
  X(sap_tendon_def_default, isnan(sap_tendon_def_default().spring_lower))                          \
  X(sap_muscle_default, sap_muscle_default().lmin == 0.5)                                          \
  X(sap_actuator_def_default, sap_actuator_def_default().gear == 1.0)                              \
  X(sap_equality_def_default, sap_equality_def_default().active)                                   \
  X(sap_spring_def_default, sap_spring_def_default().stiffness == 0.0)                             \
  X(sap_bushing_def_default, sap_bushing_def_default().q_AF[0] == 1.0)                             \
  X(sap_pair_def_default, sap_pair_def_default().condim == 3)                                      \
  X(sap_sensor_def_default, sap_sensor_def_default().reference == -1)                              \
  X(sap_site_def_default, sap_site_def_default().q_BX[0] == 1.0)                                   \
  X(sap_model_options_default, sap_model_options_default().timestep == 0.002)                      \
  X(sap_scene_options_default, isnan(sap_scene_options_default().floor))                           \
  X(sap_builder_destroy, (sap_builder_destroy(NULL), true))                                        \
  X(sap_model_destroy, (sap_model_destroy(NULL), true))                                            \
  X(sap_shape_thickness, sap_shape_thickness(&ball, ball.p) == 2.0)                                \
  X(sap_collision_destroy, (sap_collision_destroy(NULL), true))                                    \
  X(sap_state_clear, (sap_state_clear(&(sap_state){0}), true))

static void check_plain(void) {
  PLAIN(CALL_HOLDS)
}

// Two bodies of one joint each, a shape on either.
static void make_builder(void) {
  assert_int_equal(sap_builder_create(NULL, &builder, NULL), SAP_STATUS_OK);
  for (int32_t i = 1; i <= 2; ++i) {
    assert_int_equal(sap_builder_add_body(builder, &body, NULL, NULL), SAP_STATUS_OK);
    joint.body = i;
    assert_int_equal(sap_builder_add_joint(builder, &joint, NULL, NULL), SAP_STATUS_OK);
    shape.body = i;
    assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
  }
  assert_int_equal(sap_builder_add_body(builder, &body, NULL, NULL), SAP_STATUS_OK);
  joint.body = 3;
}

static void cleanup(void) {
  sap_builder_destroy(made.builder);
  sap_collision_destroy(made.collision);
  sap_model_destroy(made.model);
  made = (struct made){0};
  sap_builder_destroy(builder);
  make_builder();
}

static int setup(void** unused) {
  (void)unused;
  static const int32_t joints[] = {0};
  static const double one[] = {1.0};
  body = sap_body_def_default();
  mesh = sap_mesh_def_default();
  mesh.vertex_count = 4;
  mesh.vertices = corners;
  keyframe = sap_keyframe_def_default();
  body.mass = body.I_BCo_B[0] = body.I_BCo_B[1] = body.I_BCo_B[2] = 1.0;
  joint = sap_joint_def_default();
  joint.type = SAP_JOINT_HINGE;
  shape = sap_shape_def_default();
  shape.type = SAP_SHAPE_SPHERE;
  shape.size[0] = 0.1;
  tendon = sap_tendon_def_default();
  tendon.njoints = 1;
  tendon.joints = joints;
  tendon.coefficients = one;
  actuator = sap_actuator_def_default();
  equality = sap_equality_def_default();
  equality.type = SAP_EQUALITY_JOINT;
  equality.b = 1;
  spring = sap_spring_def_default();
  spring.body_b = 1;
  bushing = sap_bushing_def_default();
  bushing.body_b = 1;
  pair = sap_pair_def_default();
  sensor = sap_sensor_def_default();
  site = sap_site_def_default();
  pair.shape_b = 1;
  make_builder();
  scratch_begin(&files);
  (void)scratch_write(&files, "a.xml", scene, sizeof scene - 1, path);
  assert_int_equal(sap_scene_read(path, NULL, &model, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_model_get_default_state(model, &state, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_collision_create(model, &collision, NULL), SAP_STATUS_OK);
  return 0;
}

static int teardown(void** unused) {
  (void)unused;
  sap_collision_destroy(collision);
  sap_state_clear(&copy);
  sap_state_clear(&state);
  sap_model_destroy(model);
  sap_builder_destroy(builder);
  scratch_end(&files);
  assert_int_equal(heap_live(), 0);
  return 0;
}

int main(void) {
  static const calls_file file = {setup, teardown, check_plain, {CALLS_TABLE(calls, cleanup)}};
  return calls_run(&file);
}
