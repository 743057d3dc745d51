// SPDX-License-Identifier: BSD-3-Clause
// sapstep info: what a scene contains, and what the reader ignored.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/scene.h"
#include "cli/table.h"
#include "core/file.h"

typedef struct request {
  cli_scene scene;
  cli_format format;
} request;

static const cli_option options[] = {
    CLI_FORMAT_ROW(request, cli_formats_without_csv, "table or json (table)"),
    CLI_SCENE_CONTACT_ROWS(request),
    CLI_SCENE_URDF_ROWS(request),
    {0},
};

typedef struct info_section {
  const char* title;  // NULL ends the list
  const char* columns;
  size_t count;  // where sap_model_sizes has their number [bytes]
  void (*add)(cli_table* table, const sap_model* model, int32_t id);  // one row
} info_section;

// --- sections: limits that do not exist are infinite ---

// An element's name, or its number where it has none; nothing for an id below 0.
static void add_reference(cli_table* table, const sap_model* model, sap_element kind, int32_t id) {
  const char* name = sap_model_get_name(model, kind, id);
  char number[16];
  (void)snprintf(number, sizeof number, "%d", (int)id);
  CLI_CELLS(table, CLI_T(id < 0 ? "" : name[0] != '\0' ? name : number));
}

static void add_id(cli_table* table, const sap_model* model, sap_element kind, int32_t id) {
  CLI_CELLS(table, CLI_I(id), CLI_T(sap_model_get_name(model, kind, id)));
}

static void add_reals(cli_table* table, const double* values, int count) {
  for (int i = 0; i < count; ++i) {
    CLI_CELLS(table, CLI_R(values[i]));
  }
}

static void add_body(cli_table* table, const sap_model* model, int32_t id) {
  sap_body_def def = {0};
  (void)sap_model_get_body(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_BODY, id);
  add_reference(table, model, SAP_ELEMENT_BODY, id == 0 ? -1 : def.parent);
  CLI_CELLS(table, CLI_I(sap_model_get_body_tree(model, id)), CLI_R(def.mass));
  add_reals(table, def.I_BCo_B, 3);
}

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
  CLI_CELLS(table, CLI_I(id));
  add_reference(table, model, SAP_ELEMENT_BODY, root);
  CLI_CELLS(table, CLI_I(count), CLI_I(sap_model_get_tree_dofs(model, id)), CLI_R(mass));
}

static void add_joint(cli_table* table, const sap_model* model, int32_t id) {
  static const char* const types[] = {"free", "ball", "hinge", "slide"};
  sap_joint_def def = {0};
  int32_t dof = -1;
  (void)sap_model_get_joint(model, id, &def, NULL);
  (void)sap_model_joint_address(model, id, NULL, NULL, NULL, &dof, NULL);
  add_id(table, model, SAP_ELEMENT_JOINT, id);
  CLI_CELLS(table, CLI_T(types[def.type]));
  add_reference(table, model, SAP_ELEMENT_BODY, def.body);
  CLI_CELLS(table, CLI_I(dof), CLI_R(def.lower), CLI_R(def.upper), CLI_R(def.stiffness),
            CLI_R(def.damping), CLI_R(def.armature), CLI_R(def.friction_loss));
}

// Returns the depth m g/k to which the shape sinks into a rigid floor if one contact carries the
// mass m of its tree; 0 for a shape that does not move, is rigid, or touches in patches.
static double find_rest_depth(const sap_model* model, const sap_shape_def* shape) {
  const double* g = sap_model_get_options(model)->gravity;
  const bool patches = shape->material.modulus > 0.0;
  const int32_t tree = patches ? -1 : sap_model_get_body_tree(model, shape->body);
  double mass = 0.0;
  for (int32_t b = 0; tree >= 0 && b < sap_model_get_sizes(model).bodies; ++b) {
    mass += sap_model_get_body_tree(model, b) == tree ? sap_model_get_body_mass(model, b) : 0.0;
  }
  return mass * sqrt(g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) / shape->material.stiffness;
}

static void add_shape(cli_table* table, const sap_model* model, int32_t id) {
  static const char* const types[] = {"plane", "sphere",    "capsule", "cylinder",
                                      "box",   "ellipsoid", "mesh"};
  sap_shape_def def = {0};
  (void)sap_model_get_shape(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_SHAPE, id);
  CLI_CELLS(table, CLI_T(types[def.type]));
  add_reference(table, model, SAP_ELEMENT_BODY, def.body);
  add_reals(table, def.size, 3);
  add_reference(table, model, SAP_ELEMENT_MESH, def.type == SAP_SHAPE_MESH ? def.mesh : -1);
  CLI_CELLS(table, CLI_I(def.condim), CLI_R(def.material.friction), CLI_R(def.material.stiffness),
            CLI_R(def.material.modulus), CLI_R(def.margin), CLI_R(def.rest_distance),
            CLI_R(find_rest_depth(model, &def)));
}

static void add_mesh(cli_table* table, const sap_model* model, int32_t id) {
  sap_mesh_def def = {0};
  (void)sap_model_get_mesh(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_MESH, id);
  CLI_CELLS(table, CLI_I(def.vertex_count));
}

static void add_actuator(cli_table* table, const sap_model* model, int32_t id) {
  static const struct {
    const char* name;
    sap_element target;
  } transmissions[] = {[SAP_TRANSMISSION_JOINT] = {"joint", SAP_ELEMENT_JOINT},
                       [SAP_TRANSMISSION_TENDON] = {"tendon", SAP_ELEMENT_TENDON},
                       [SAP_TRANSMISSION_SLIDER_CRANK] = {"slider-crank", SAP_ELEMENT_BODY},
                       [SAP_TRANSMISSION_SITE] = {"site", SAP_ELEMENT_BODY},
                       [SAP_TRANSMISSION_ADHESION] = {"adhesion", SAP_ELEMENT_BODY}};
  sap_actuator_def def = {0};
  (void)sap_model_get_actuator(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_ACTUATOR, id);
  const int32_t target = def.transmission == SAP_TRANSMISSION_SLIDER_CRANK ? def.crank_body
                         : def.transmission == SAP_TRANSMISSION_SITE       ? def.site_body
                                                                           : def.target;
  CLI_CELLS(table, CLI_T(transmissions[def.transmission].name));
  add_reference(table, model, transmissions[def.transmission].target, target);
  CLI_CELLS(table, CLI_R(def.gear), CLI_R(def.gain));
  add_reals(table, def.bias, 3);
  CLI_CELLS(table, CLI_R(def.control_lower), CLI_R(def.control_upper), CLI_R(def.force_lower),
            CLI_R(def.force_upper));
}

static void add_tendon(cli_table* table, const sap_model* model, int32_t id) {
  sap_tendon_def def = {0};
  (void)sap_model_get_tendon(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_TENDON, id);
  CLI_CELLS(table, CLI_T(def.npoints > 0 ? "spatial" : "fixed"),
            CLI_I(def.npoints > 0 ? def.npoints : def.njoints), CLI_R(def.lower), CLI_R(def.upper),
            CLI_R(def.stiffness), CLI_R(def.damping), CLI_R(def.friction_loss));
}

static void add_equality(cli_table* table, const sap_model* model, int32_t id) {
  static const char* const types[] = {"connect", "weld", "joint", "tendon", "distance"};
  static const sap_element kinds[] = {SAP_ELEMENT_BODY, SAP_ELEMENT_BODY, SAP_ELEMENT_JOINT,
                                      SAP_ELEMENT_TENDON, SAP_ELEMENT_BODY};
  sap_equality_def def = {0};
  (void)sap_model_get_equality(model, id, &def, NULL);
  add_id(table, model, SAP_ELEMENT_EQUALITY, id);
  CLI_CELLS(table, CLI_T(types[def.type]));
  add_reference(table, model, kinds[def.type], def.a);
  add_reference(table, model, kinds[def.type], def.b);
  CLI_CELLS(table, CLI_T(def.active ? "yes" : "no"));
}

static void add_keyframe(cli_table* table, const sap_model* model, int32_t id) {
  add_id(table, model, SAP_ELEMENT_KEYFRAME, id);
}

#define SECTION(plural, one, columns) \
  { #plural, columns, offsetof(sap_model_sizes, plural), add_##one }
static const info_section info_sections[] = {
    SECTION(trees, tree, "id# root bodies# dofs# mass_kg:6"),
    SECTION(bodies, body, "id# name parent tree# mass_kg:6 Ixx_kgm2:6 Iyy_kgm2:6 Izz_kgm2:6"),
    SECTION(
        joints, joint,
        "id# name type body dof# lower:6 upper:6 stiffness:6 damping:6 armature:6 friction_loss:6"),
    SECTION(shapes, shape,
            "id# name type body size_x_m:5 size_y_m:5 size_z_m:5 mesh condim# friction:5 "
            "stiffness_Npm:5 modulus_Pa:5 margin_m:5 rest_distance_m:5 rest_depth_m:3"),
    SECTION(meshes, mesh, "id# name hull_vertices#"),
    SECTION(actuators, actuator,
            "id# name on target gear:6 gain:6 bias_0:6 bias_1:6 bias_2:6 control_lower:6 "
            "control_upper:6 force_lower:6 force_upper:6"),
    SECTION(tendons, tendon,
            "id# name type parts# lower:6 upper:6 stiffness:6 damping:6 friction_loss:6"),
    SECTION(equalities, equality, "id# name type a b active"),
    SECTION(keyframes, keyframe, "id# name"),
    {0},
};

// --- the command ---

// The warnings of reading, as one column.
typedef struct skipped {
  cli_table* table;
  int32_t count;
} skipped;

static void keep_warning(void* context, const char* message) {
  skipped* s = context;
  ++s->count;
  CLI_CELLS(s->table, CLI_T(message));
}

// The head of the output: sizes and what holds for the whole.
static void print_sizes(const sap_model* model, cli_format format) {
  const sap_model_sizes n = sap_model_get_sizes(model);
  const sap_model_options* o = sap_model_get_options(model);
  const struct {
    const char* name;
    int32_t value;
  } sizes[] = {{"bodies", n.bodies},
               {"joints", n.joints},
               {"trees", n.trees},
               {"nq", n.nq},
               {"nv", n.nv},
               {"nu", n.nu},
               {"shapes", n.shapes},
               {"meshes", n.meshes},
               {"actuators", n.actuators},
               {"tendons", n.tendons},
               {"equalities", n.equalities},
               {"springs", n.springs},
               {"bushings", n.bushings},
               {"pairs", n.pairs},
               {"keyframes", n.keyframes}};
  double mass = 0.0;
  for (int32_t b = 0; b < n.bodies; ++b) {
    mass += sap_model_get_body_mass(model, b);
  }
  const char* name = o->name != NULL ? o->name : "";
  const size_t count = sizeof sizes / sizeof *sizes;
  if (format == CLI_FORMAT_JSON) {
    (void)printf("{\n\"name\": ");
    sap_json_put(stdout, name);
    (void)printf(",\n\"mass_kg\": ");
    cli_print_json_real(stdout, mass);
    (void)printf(",\n\"timestep_s\": ");
    cli_print_json_real(stdout, o->timestep);
    (void)printf(",\n\"gravity_mps2\": [%.17g, %.17g, %.17g]", o->gravity[0], o->gravity[1],
                 o->gravity[2]);
    (void)printf(",\n\"fluid_density_kgpm3\": %.17g,\n\"fluid_viscosity_Pas\": %.17g",
                 o->fluid_density, o->fluid_viscosity);
    (void)printf(",\n\"wind_mps\": [%.17g, %.17g, %.17g]", o->wind[0], o->wind[1], o->wind[2]);
    (void)printf(",\n\"sizes\": {");
    for (size_t i = 0; i < count; ++i) {
      (void)printf("%s\"%s\": %d", i > 0 ? ", " : "", sizes[i].name, (int)sizes[i].value);
    }
    (void)printf("}");
    return;
  }
  (void)printf(
      "model       %s\nmass        %.6g kg\ntimestep    %g s\ngravity     %g %g %g m/s^2\n", name,
      mass, o->timestep, o->gravity[0], o->gravity[1], o->gravity[2]);
  if (o->fluid_density > 0.0 || o->fluid_viscosity > 0.0) {
    (void)printf("medium      density %g kg/m^3, viscosity %g Pa s, wind %g %g %g m/s\n",
                 o->fluid_density, o->fluid_viscosity, o->wind[0], o->wind[1], o->wind[2]);
  }
  for (size_t i = 0; i < count; ++i) {
    if (sizes[i].value > 0) {
      (void)printf("%-10s  %d\n", sizes[i].name, (int)sizes[i].value);
    }
  }
}

// Titles the sections that are not empty; in JSON all are there.
static void print_section(const char* title, const cli_table* table, int32_t count,
                          cli_format format) {
  if (format == CLI_FORMAT_JSON || count > 0) {
    (void)printf(format == CLI_FORMAT_JSON ? ",\n\"%s\": " : "\n%s\n", title);
    cli_table_print(table, format, stdout);
  }
}

// Says which shape sinks deepest, if that can be seen: a soft contact in a file is easily meant
// otherwise. MuJoCo reads a negative solref per unit of mass, this reader in N/m.
static void print_rest_depth(const sap_model* model) {
  static const double visible = 1e-3;  // [m]
  double deepest = 0.0, stiffness = 0.0;
  int32_t shape = -1;
  for (int32_t s = 0; s < sap_model_get_sizes(model).shapes; ++s) {
    sap_shape_def def = {0};
    (void)sap_model_get_shape(model, s, &def, NULL);
    const double depth = find_rest_depth(model, &def);
    if (depth > deepest) {
      deepest = depth;
      stiffness = def.material.stiffness;
      shape = s;
    }
  }
  if (deepest > visible) {
    (void)printf(
        "rest depth  %.3g m where its tree stands on one contact of shape %d '%s' (%g N/m)\n",
        deepest, (int)shape, sap_model_get_name(model, SAP_ELEMENT_SHAPE, shape), stiffness);
  }
}

// Prints which shapes touch in patches, and what meshes with a field that are not convex do.
static void print_fields(const sap_model* model) {
  const int32_t shapes = sap_model_get_sizes(model).shapes;
  int32_t asked = 0, fields = 0, resting = 0, meshes = 0, hollow = 0;
  for (int32_t s = 0; s < shapes; ++s) {
    sap_shape_def def = {0};
    (void)sap_model_get_shape(model, s, &def, NULL);
    const bool has = def.material.modulus > 0.0 &&
                     (def.type != SAP_SHAPE_PLANE || def.material.field_depth > 0.0);
    asked += def.material.modulus > 0.0;
    fields += has;
    resting += has && def.rest_distance > 0.0;
    meshes += has && def.type == SAP_SHAPE_MESH;
    hollow += has && def.type == SAP_SHAPE_MESH && sap_model_mesh_has_hollows(model, def.mesh);
  }
  if (asked > 0) {
    (void)printf(
        "patches     %d of %d shapes have a pressure field; pairs of two without one, as planes "
        "without field_depth, or with a rest distance, touch in points\n",
        (int)fields, (int)shapes);
  }
  if (resting > 0) {
    (void)printf("            %d of them have a rest distance: points\n", (int)resting);
  }
  if (hollow > 0) {
    (void)printf(
        "            %d of them are meshes that are not convex: their triangles, rigid, "
        "touch convex shapes that have a field; against others the field is that of their hull\n",
        (int)hollow);
  }
  if (meshes > hollow) {
    (void)printf(
        "            %d of them are meshes that are convex, or whose faces are not closed: their "
        "hull\n",
        (int)(meshes - hollow));
  }
}

// --- wrong starts ---

typedef struct starts {
  const sap_model* model;
  cli_table* table;
  int32_t count;
} starts;

static void add_start(void* context, const sap_wrong_start* at) {
  starts* s = context;
  const bool shapes = at->kind == SAP_ELEMENT_SHAPE;
  ++s->count;
  CLI_CELLS(s->table, CLI_T(shapes                          ? "shapes"
                            : at->kind == SAP_ELEMENT_JOINT ? "joint limit"
                                                            : "tendon limit"));
  add_reference(s->table, s->model, at->kind, at->a);
  if (shapes) {
    add_reference(s->table, s->model, at->kind, at->b);
  } else {
    CLI_CELLS(s->table, CLI_T(at->b == 0 ? "lower" : "upper"));
  }
  CLI_CELLS(s->table, CLI_R(at->depth),
            CLI_T(at->kind == SAP_ELEMENT_TENDON ? "m or rad"
                  : at->is_angle                 ? "rad"
                                                 : "m"));
}

// Overlaps and violated limits of the default pose, which the first step finds; none if it fails.
static void print_starts(const cli_scene* scene, const sap_model* model, cli_format format) {
  starts s = {model, cli_table_create("kind a b depth:4 unit"), 0};
  sap_stepper_options stepping = sap_stepper_options_default();
  sap_multibody* multibody = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  sap_step_report report;
  cli_scene_stepper(model, &stepping);
  if (cli_scene_start(scene, model, &state, NULL, NULL) == SAP_STATUS_OK &&
      sap_multibody_create(model, &multibody, NULL) == SAP_STATUS_OK &&
      sap_stepper_create(sap_multibody_system(multibody), &stepping, &stepper, NULL) ==
          SAP_STATUS_OK &&
      sap_stepper_step(stepper, &state, &report, NULL) == SAP_STATUS_OK) {
    (void)sap_multibody_wrong_starts(multibody, &report, add_start, &s, NULL);
  }
  print_section("wrong_starts", s.table, s.count, format);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
  sap_state_clear(&state);
}

static void print_all(const cli_scene* scene, const sap_model* model, const skipped* left_out,
                      cli_format format) {
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  print_sizes(model, format);
  if (format == CLI_FORMAT_TABLE) {
    print_rest_depth(model);
    print_fields(model);
  }
  for (const info_section* s = info_sections; s->title != NULL; ++s) {
    cli_table* table = cli_table_create(s->columns);
    int32_t count;
    memcpy(&count, (const char*)&sizes + s->count, sizeof count);
    for (int32_t i = 0; i < count; ++i) {
      s->add(table, model, i);
    }
    print_section(s->title, table, count, format);
  }
  print_starts(scene, model, format);
  print_section("skipped", left_out->table, left_out->count, format);
  if (format == CLI_FORMAT_JSON) {
    (void)printf("}\n");
  }
}

static int run(const cli_command* command, int argc, char** argv) {
  request r = {.scene = cli_scene_default(), .format = CLI_FORMAT_TABLE};
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &r, argc, argv), parser.exit_code);
  r.scene.path = parser.operands[0];
  skipped left_out = {.table = cli_table_create("warning")};
  r.scene.reading.lenient = true;
  sap_model* model = NULL;
  sap_error error = {0};
  SAP_RETURN_IF(cli_scene_read(&r.scene, keep_warning, &left_out, &model, &error) != SAP_STATUS_OK,
                cli_report(&error));
  print_all(&r.scene, model, &left_out, r.format);
  sap_model_destroy(model);
  return CLI_OK;
}

const cli_command cli_command_info = {
    .name = "info",
    .operands = "SCENE",
    .summary = "list what a scene contains and what the reader ignores",
    .text = cli_text_info,
    .options = options,
    .run = run,
};
