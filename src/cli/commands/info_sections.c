// SPDX-License-Identifier: BSD-3-Clause
// Rows of `sapstep info`. Limits that are not there are infinite.
#include "cli/commands/info.h"

#include <stdio.h>

// An element's name, or its number where it has none.
static void add_reference(cli_table* table, const sap_model* model, sap_element kind, int32_t id) {
  const char* name = sap_model_get_name(model, kind, id);
  char number[16];
  (void)snprintf(number, sizeof number, "%d", (int)id);
  cli_table_text(table, name[0] != '\0' ? name : number);
}

static void add_id(cli_table* table, const sap_model* model, sap_element kind, int32_t id) {
  cli_table_integer(table, id);
  cli_table_text(table, sap_model_get_name(model, kind, id));
}

static void add_reals(cli_table* table, const double* values, int count) {
  for (int i = 0; i < count; ++i) {
    cli_table_real(table, values[i]);
  }
}

#define COUNT(what)                                     \
  static int32_t count_##what(const sap_model* model) { \
    return sap_model_get_sizes(model).what;             \
  }
COUNT(bodies)
COUNT(trees)
COUNT(joints)
COUNT(shapes)
COUNT(meshes)
COUNT(actuators)
COUNT(tendons)
COUNT(equalities)
COUNT(keyframes)
#undef COUNT

static const cli_column body_columns[] = {
    {"id", CLI_CELL_INTEGER, 0},    {"name", CLI_CELL_TEXT, 0},    {"parent", CLI_CELL_TEXT, 0},
    {"tree", CLI_CELL_INTEGER, 0},  {"mass_kg", CLI_CELL_REAL, 6}, {"Ixx_kgm2", CLI_CELL_REAL, 6},
    {"Iyy_kgm2", CLI_CELL_REAL, 6}, {"Izz_kgm2", CLI_CELL_REAL, 6}};

static void add_body(cli_table* table, const sap_model* model, int32_t id) {
  sap_body_def def = {0};
  (void)sap_model_get_body(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_BODY, id);
  if (id == 0) {
    cli_table_text(table, "");
  } else {
    add_reference(table, model, SAP_ELEMENT_BODY, def.parent);
  }
  cli_table_integer(table, sap_model_get_body_tree(model, id));
  cli_table_real(table, def.mass);
  add_reals(table, def.I_BCo_B, 3);
}

static const cli_column tree_columns[] = {{"id", CLI_CELL_INTEGER, 0},
                                          {"root", CLI_CELL_TEXT, 0},
                                          {"bodies", CLI_CELL_INTEGER, 0},
                                          {"dofs", CLI_CELL_INTEGER, 0},
                                          {"mass_kg", CLI_CELL_REAL, 6}};

static void add_tree(cli_table* table, const sap_model* model, int32_t id) {
  const int32_t bodies = sap_model_get_sizes(model).bodies;
  int32_t root = -1, count = 0;
  double mass = 0.0;
  for (int32_t b = 0; b < bodies; ++b) {
    if (sap_model_get_body_tree(model, b) == id) {
      root = root < 0 ? b : root;
      ++count;
      mass += sap_model_get_body_mass(model, b);
    }
  }
  cli_table_integer(table, id);
  add_reference(table, model, SAP_ELEMENT_BODY, root);
  cli_table_integer(table, count);
  cli_table_integer(table, sap_model_get_tree_dofs(model, id));
  cli_table_real(table, mass);
}

static const cli_column joint_columns[] = {
    {"id", CLI_CELL_INTEGER, 0},        {"name", CLI_CELL_TEXT, 0},
    {"type", CLI_CELL_TEXT, 0},         {"body", CLI_CELL_TEXT, 0},
    {"dof", CLI_CELL_INTEGER, 0},       {"lower", CLI_CELL_REAL, 6},
    {"upper", CLI_CELL_REAL, 6},        {"stiffness", CLI_CELL_REAL, 6},
    {"damping", CLI_CELL_REAL, 6},      {"armature", CLI_CELL_REAL, 6},
    {"friction_loss", CLI_CELL_REAL, 6}};

static void add_joint(cli_table* table, const sap_model* model, int32_t id) {
  static const char* const types[] = {"free", "ball", "hinge", "slide"};
  sap_joint_def def = {0};
  int32_t dof = -1;
  (void)sap_model_get_joint(model, id, &def, NULL);
  (void)sap_model_joint_address(model, id, NULL, NULL, NULL, &dof, NULL);
  add_id(table, model, SAP_ELEMENT_JOINT, id);
  cli_table_text(table, types[def.type]);
  add_reference(table, model, SAP_ELEMENT_BODY, def.body);
  cli_table_integer(table, dof);
  const double values[] = {def.lower,   def.upper,    def.stiffness,
                           def.damping, def.armature, def.friction_loss};
  add_reals(table, values, 6);
}

static const cli_column shape_columns[] = {
    {"id", CLI_CELL_INTEGER, 0},          {"name", CLI_CELL_TEXT, 0},
    {"type", CLI_CELL_TEXT, 0},           {"body", CLI_CELL_TEXT, 0},
    {"size_x_m", CLI_CELL_REAL, 5},       {"size_y_m", CLI_CELL_REAL, 5},
    {"size_z_m", CLI_CELL_REAL, 5},       {"mesh", CLI_CELL_TEXT, 0},
    {"condim", CLI_CELL_INTEGER, 0},      {"friction", CLI_CELL_REAL, 5},
    {"stiffness_Npm", CLI_CELL_REAL, 5},  {"margin_m", CLI_CELL_REAL, 5},
    {"rest_distance_m", CLI_CELL_REAL, 5}};

static void add_shape(cli_table* table, const sap_model* model, int32_t id) {
  static const char* const types[] = {"plane", "sphere",    "capsule", "cylinder",
                                      "box",   "ellipsoid", "mesh"};
  sap_shape_def def = {0};
  (void)sap_model_get_shape(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_SHAPE, id);
  cli_table_text(table, types[def.type]);
  add_reference(table, model, SAP_ELEMENT_BODY, def.body);
  add_reals(table, def.size, 3);
  if (def.type == SAP_SHAPE_MESH) {
    add_reference(table, model, SAP_ELEMENT_MESH, def.mesh);
  } else {
    cli_table_text(table, "");
  }
  cli_table_integer(table, def.condim);
  cli_table_real(table, def.material.friction);
  cli_table_real(table, def.material.stiffness);
  cli_table_real(table, def.margin);
  cli_table_real(table, def.rest_distance);
}

static const cli_column mesh_columns[] = {{"id", CLI_CELL_INTEGER, 0},
                                          {"name", CLI_CELL_TEXT, 0},
                                          {"hull_vertices", CLI_CELL_INTEGER, 0}};

static void add_mesh(cli_table* table, const sap_model* model, int32_t id) {
  sap_mesh_def def = {0};
  (void)sap_model_get_mesh(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_MESH, id);
  cli_table_integer(table, def.vertex_count);
}

static const cli_column actuator_columns[] = {{"id", CLI_CELL_INTEGER, 0},
                                              {"name", CLI_CELL_TEXT, 0},
                                              {"on", CLI_CELL_TEXT, 0},
                                              {"target", CLI_CELL_TEXT, 0},
                                              {"gear", CLI_CELL_REAL, 6},
                                              {"gain", CLI_CELL_REAL, 6},
                                              {"bias_0", CLI_CELL_REAL, 6},
                                              {"bias_1", CLI_CELL_REAL, 6},
                                              {"bias_2", CLI_CELL_REAL, 6},
                                              {"control_lower", CLI_CELL_REAL, 6},
                                              {"control_upper", CLI_CELL_REAL, 6},
                                              {"force_lower", CLI_CELL_REAL, 6},
                                              {"force_upper", CLI_CELL_REAL, 6}};

static void add_actuator(cli_table* table, const sap_model* model, int32_t id) {
  sap_actuator_def def = {0};
  (void)sap_model_get_actuator(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_ACTUATOR, id);
  switch (def.transmission) {
    case SAP_TRANSMISSION_JOINT:
      cli_table_text(table, "joint");
      add_reference(table, model, SAP_ELEMENT_JOINT, def.target);
      break;
    case SAP_TRANSMISSION_TENDON:
      cli_table_text(table, "tendon");
      add_reference(table, model, SAP_ELEMENT_TENDON, def.target);
      break;
    case SAP_TRANSMISSION_SLIDER_CRANK:
      cli_table_text(table, "slider-crank");
      add_reference(table, model, SAP_ELEMENT_BODY, def.crank_body);
      break;
    case SAP_TRANSMISSION_SITE:
      cli_table_text(table, "site");
      add_reference(table, model, SAP_ELEMENT_BODY, def.site_body);
      break;
    case SAP_TRANSMISSION_ADHESION:
      cli_table_text(table, "adhesion");
      add_reference(table, model, SAP_ELEMENT_BODY, def.target);
      break;
  }
  cli_table_real(table, def.gear);
  cli_table_real(table, def.gain);
  add_reals(table, def.bias, 3);
  const double ranges[] = {def.control_lower, def.control_upper, def.force_lower, def.force_upper};
  add_reals(table, ranges, 4);
}

static const cli_column tendon_columns[] = {
    {"id", CLI_CELL_INTEGER, 0},        {"name", CLI_CELL_TEXT, 0},
    {"type", CLI_CELL_TEXT, 0},         {"parts", CLI_CELL_INTEGER, 0},
    {"lower", CLI_CELL_REAL, 6},        {"upper", CLI_CELL_REAL, 6},
    {"stiffness", CLI_CELL_REAL, 6},    {"damping", CLI_CELL_REAL, 6},
    {"friction_loss", CLI_CELL_REAL, 6}};

static void add_tendon(cli_table* table, const sap_model* model, int32_t id) {
  sap_tendon_def def = {0};
  (void)sap_model_get_tendon(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_TENDON, id);
  cli_table_text(table, def.npoints > 0 ? "spatial" : "fixed");
  cli_table_integer(table, def.npoints > 0 ? def.npoints : def.njoints);
  const double values[] = {def.lower, def.upper, def.stiffness, def.damping, def.friction_loss};
  add_reals(table, values, 5);
}

static const cli_column equality_columns[] = {
    {"id", CLI_CELL_INTEGER, 0}, {"name", CLI_CELL_TEXT, 0}, {"type", CLI_CELL_TEXT, 0},
    {"a", CLI_CELL_TEXT, 0},     {"b", CLI_CELL_TEXT, 0},    {"active", CLI_CELL_TEXT, 0}};

static void add_equality(cli_table* table, const sap_model* model, int32_t id) {
  static const char* const types[] = {"connect", "weld", "joint", "tendon", "distance"};
  static const sap_element kinds[] = {SAP_ELEMENT_BODY, SAP_ELEMENT_BODY, SAP_ELEMENT_JOINT,
                                      SAP_ELEMENT_TENDON, SAP_ELEMENT_BODY};
  sap_equality_def def = {0};
  (void)sap_model_get_equality(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_EQUALITY, id);
  cli_table_text(table, types[def.type]);
  add_reference(table, model, kinds[def.type], def.a);
  if (def.b < 0) {
    cli_table_text(table, "");
  } else {
    add_reference(table, model, kinds[def.type], def.b);
  }
  cli_table_text(table, def.active ? "yes" : "no");
}

static const cli_column keyframe_columns[] = {{"id", CLI_CELL_INTEGER, 0},
                                              {"name", CLI_CELL_TEXT, 0}};

static void add_keyframe(cli_table* table, const sap_model* model, int32_t id) {
  add_id(table, model, SAP_ELEMENT_KEYFRAME, id);
}

#define SECTION(title, columns, count, add) \
  { title, columns, sizeof(columns) / sizeof *(columns), count, add }
const info_section info_sections[] = {
    SECTION("trees", tree_columns, count_trees, add_tree),
    SECTION("bodies", body_columns, count_bodies, add_body),
    SECTION("joints", joint_columns, count_joints, add_joint),
    SECTION("shapes", shape_columns, count_shapes, add_shape),
    SECTION("meshes", mesh_columns, count_meshes, add_mesh),
    SECTION("actuators", actuator_columns, count_actuators, add_actuator),
    SECTION("tendons", tendon_columns, count_tendons, add_tendon),
    SECTION("equalities", equality_columns, count_equalities, add_equality),
    SECTION("keyframes", keyframe_columns, count_keyframes, add_keyframe),
    {0},
};
