// SPDX-License-Identifier: BSD-3-Clause
// sapstep info: what a scene is made of, and what reading left out.

#include <stdio.h>

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/commands/info.h"
#include "cli/options.h"
#include "cli/scene_options.h"
#include "cli/table.h"

enum { ID_FORMAT = 1 };

static const cli_option options[] = {
    {"format", "NAME", ID_FORMAT, "table or json (table)"},
    CLI_SCENE_URDF_ROWS,
    {0},
};

typedef struct request {
  cli_scene scene;
  cli_format format;
} request;

// The warnings of reading, as one column.
typedef struct skipped {
  cli_table* table;
  int32_t count;
} skipped;

static void keep_warning(void* context, const char* message) {
  skipped* s = context;
  ++s->count;
  cli_table_text(s->table, message);
}

static bool read_request(const cli_command* command, int argc, char** argv, request* out,
                         int* exit_code) {
  cli_parser parser;
  cli_parser_begin(&parser, command, NULL, argc, argv);
  const char* argument;
  int id;
  while ((id = cli_parse_next(&parser, &argument)) > 0) {
    bool known;
    const char* allowed = cli_scene_take(&out->scene, id, argument, &known);
    if (allowed != NULL) {
      *exit_code = cli_refuse_value(command, "floor", argument, allowed);
      return false;
    }
    if (known) {
      continue;
    }
    allowed = cli_take_format(argument, false, &out->format);
    if (allowed != NULL) {
      *exit_code = cli_refuse_value(command, "format", argument, allowed);
      return false;
    }
  }
  *exit_code = parser.exit_code;
  if (id == CLI_PARSE_LEAVE) {
    return false;
  }
  if (parser.noperands != 1) {
    *exit_code = cli_usage_error(command, "a scene file is needed, found %d", parser.noperands);
    return false;
  }
  out->scene.path = parser.operands[0];
  return true;
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
    cli_print_json_string(stdout, name);
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
static bool print_section(const char* title, const cli_table* table, int32_t count,
                          cli_format format) {
  if (format == CLI_FORMAT_JSON) {
    (void)printf(",\n\"%s\": ", title);
    return cli_table_print(table, format, stdout);
  }
  if (count == 0) {
    return true;
  }
  (void)printf("\n%s\n", title);
  return cli_table_print(table, format, stdout);
}

static bool print_all(const sap_model* model, const skipped* left_out, cli_format format) {
  print_sizes(model, format);
  bool printed = true;
  for (const info_section* s = info_sections; s->title != NULL && printed; ++s) {
    cli_table* table = cli_table_create(s->columns, s->ncolumns);
    const int32_t count = s->count(model);
    for (int32_t i = 0; i < count && table != NULL; ++i) {
      s->add(table, model, i);
    }
    printed = table != NULL && print_section(s->title, table, count, format);
    cli_table_destroy(table);
  }
  printed = printed && print_section("skipped", left_out->table, left_out->count, format);
  if (format == CLI_FORMAT_JSON) {
    (void)printf("}\n");
  }
  return printed;
}

static int run(const cli_command* command, int argc, char** argv) {
  static const cli_column column = {"warning", CLI_CELL_TEXT, 0};
  request r = {.scene = cli_scene_default(), .format = CLI_FORMAT_TABLE};
  int exit_code;
  if (!read_request(command, argc, argv, &r, &exit_code)) {
    return exit_code;
  }
  skipped left_out = {.table = cli_table_create(&column, 1)};
  r.scene.lenient = true;
  sap_model* model = NULL;
  sap_error error = {0};
  if (left_out.table == NULL) {
    return cli_out_of_memory();
  }
  exit_code = CLI_OK;
  if (cli_scene_read(&r.scene, keep_warning, &left_out, &model, &error) != SAP_STATUS_OK) {
    exit_code = cli_report(&error);
  } else if (!print_all(model, &left_out, r.format)) {
    exit_code = cli_out_of_memory();
  }
  sap_model_destroy(model);
  cli_table_destroy(left_out.table);
  return exit_code;
}

const cli_command cli_command_info = {
    .name = "info",
    .operands = "SCENE",
    .summary = "tell what a scene is made of",
    .description =
        "Reads a scene (MJCF or URDF) as 'run --lenient' does and prints its bodies, joints,\n"
        "dofs per tree, shapes, meshes, actuators, tendons, equalities and keyframes, and\n"
        "what reading left out because it is not supported.",
    .examples =
        "  sapstep info robot.xml\n"
        "  sapstep info --format json robot.urdf\n",
    .options = options,
    .run = run,
};
