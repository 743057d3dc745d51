// SPDX-License-Identifier: BSD-3-Clause
// sapstep mujoco: steps any model that MuJoCo loads, with MuJoCo's collisions and forces.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include <sapstep/sapstep.h>

#include "cli/commands/mujoco/mujoco.h"
#include "cli/commands/run/run_loop.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/scene.h"
#include "core/file.h"
#include "core/memory.h"
#include "mujoco/compat.h"
#include "mujoco/mujoco_options.h"
#include "multibody/model/joint_coordinates.h"

// --- command line ---

typedef struct mujoco_options {
  run_plan plan;
  const char* path;
  const char* plugins;                    // folder of MuJoCo's, NULL: none
  double dt, stiffness, relaxation_time;  // NaN: not given
  sap_mj_options adapter;
} mujoco_options;

static CLI_DEFINE_DEFAULT(mujoco_default, sap_mj_options, sap_mj_options_default())

#define AT(member) .offset = offsetof(mujoco_options, member)
    static const cli_option mujoco_option_list[] = {
        RUN_START_ROWS(mujoco_options),
        CLI_DT_ROW(mujoco_options, dt, "time step (the model's)"),
        CLI_SOLVER_ROW(mujoco_options, adapter.solver),
        {"stiffness", "K", "contact stiffness of every geom [N/m]", CLI_POSITIVE, AT(stiffness), 0,
         1e300},
        {"relaxation-time", "S", "relaxation time of every geom [s]", CLI_REAL, AT(relaxation_time),
         0, 1e300},
        {"plugins", "DIR", "folder of the MuJoCo plugin libraries that the model needs", CLI_PATH,
         AT(plugins)},
        RUN_OUTPUT_ROWS(mujoco_options),
        {0},
};

static void print_warning(void* context, const char* message) {
  (void)context;
  cli_message("warning: MuJoCo: %s", message);
}

typedef struct mujoco_loaded {
  mjModel* model;
  mjData* data;
  sap_mj* adapter;
} mujoco_loaded;

// --- model, data and adapter ---

static sap_status fail(sap_error* error, sap_status status, const char* text, const char* what) {
  return sap_fail(error, status, "%.200s: %.200s", what, text);
}

static void make_data(void* context) {
  mujoco_loaded* l = context;
  l->data = mj_makeData(l->model);
}

#if mjVERSION_HEADER >= 300
static void load_plugins(void* context) {
  mj_loadAllPluginLibraries(context, NULL);
}
#endif

static sap_status find_plugins(const mujoco_options* o, sap_error* error) {
  if (o->plugins == NULL) {
    return SAP_STATUS_OK;
  }
#if mjVERSION_HEADER >= 300
  char folder[4096];
  (void)snprintf(folder, sizeof folder, "%s", o->plugins);
  const sap_status status = sap_mj_call(load_plugins, folder, error);
  return status != SAP_STATUS_OK || mjp_pluginCount() > 0
             ? status
             : fail(error, SAP_STATUS_IO, "no plugins of MuJoCo there", folder);
#else
  return fail(error, SAP_STATUS_UNSUPPORTED, "this MuJoCo has no plugins", o->plugins);
#endif
}

static const char* keyframe_name(const void* model, int32_t id) {
  const bool any = id < (int32_t)((const mjModel*)model)->nkey;
  const char* name = any ? mj_id2name(model, mjOBJ_KEY, id) : NULL;
  return any && name == NULL ? "" : name;
}

static sap_status set_keyframe(const mujoco_options* o, mujoco_loaded* l, sap_error* error) {
  if (o->plan.keyframe != NULL) {
    int32_t index;
    SAP_TRY(cli_find_keyframe(o->path, o->plan.keyframe, keyframe_name, l->model, &index, error));
    mj_resetDataKeyframe(l->model, l->data, index);
  }
  return SAP_STATUS_OK;
}

// Applies --stiffness and --relaxation-time.
static sap_status override_materials(const mujoco_options* o, mujoco_loaded* l, sap_error* error) {
  if (isnan(o->stiffness) && isnan(o->relaxation_time)) {
    return SAP_STATUS_OK;
  }
  if (!isnan(o->stiffness) && !isnan(o->relaxation_time)) {
    return sap_mj_set_geom(l->adapter, -1, o->stiffness, o->relaxation_time, error);
  }
  for (int32_t g = 0; g < (int32_t)l->model->ngeom; ++g) {
    double k, tau_d;
    SAP_TRY(sap_mj_get_geom(l->adapter, g, &k, &tau_d, error));
    SAP_TRY(sap_mj_set_geom(l->adapter, g, isnan(o->stiffness) ? k : o->stiffness,
                            isnan(o->relaxation_time) ? tau_d : o->relaxation_time, error));
  }
  return SAP_STATUS_OK;
}

static sap_status mujoco_load(const mujoco_options* o, mujoco_loaded* out, sap_error* error) {
  SAP_TRY(find_plugins(o, error));
  SAP_TRY(sap_mj_load(o->path, &out->model, error));
  out->model->opt.timestep = isnan(o->dt) ? out->model->opt.timestep : o->dt;
  SAP_TRY(sap_mj_call(make_data, out, error));
  SAP_TRY(set_keyframe(o, out, error));
  SAP_TRY(sap_mj_create(out->model, &o->adapter, &out->adapter, error));
  return override_materials(o, out, error);
}

static void mujoco_unload(mujoco_loaded* loaded) {
  sap_mj_destroy(loaded->adapter);
  if (loaded->data != NULL) {
    mj_deleteData(loaded->data);
  }
  if (loaded->model != NULL) {
    mj_deleteModel(loaded->model);
  }
}

static void print_header(FILE* file, const mjModel* m) {
  (void)fputs("t_s", file);
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = 0; j < (int)m->njnt; ++j) {
      const char* name = mj_id2name(m, mjOBJ_JOINT, j);
      char number[32];
      (void)snprintf(number, sizeof number, "joint_%d", j);
      const sap_coordinate* c =
          sap_joint_coordinates(mujoco_joint_types[m->jnt_type[j]], pass == 1);
      for (; c->name != NULL; ++c) {
        sap_csv_column(file, pass == 0 ? "q" : "v", name != NULL && name[0] != '\0' ? name : number,
                       c->name, c->unit);
      }
    }
  }
  (void)fputs(",contacts,newton_iterations,penetration_m\n", file);
}

static sap_status mujoco_output_row(sap_file* out, const mjModel* m, const mjData* d,
                                    const sap_mj_report* report, sap_error* error) {
  FILE* file = sap_file_stream(out);
  (void)fprintf(file, "%.17g", d->time);
  for (int i = 0; i < (int)m->nq; ++i) {
    (void)fprintf(file, ",%.17g", d->qpos[i]);
  }
  for (int i = 0; i < (int)m->nv; ++i) {
    (void)fprintf(file, ",%.17g", d->qvel[i]);
  }
  const bool solved = report != NULL && report->solver != NULL;
  (void)fprintf(file, ",%d,%d,%.17g\n", report != NULL ? (int)report->contacts : (int)d->ncon,
                solved ? (int)report->solver->iterations : 0,
                report != NULL ? report->penetration : 0.0);
  return sap_file_check(out, error);
}

// --- the run ---

typedef struct mujoco_run {
  mujoco_options o;
  mujoco_loaded loaded;
  sap_file* out;  // the trajectory, NULL: none
  mujoco_record* record;
  run_controls controls;
  sap_contact* contacts;  // of the last step, for the statistics
  int32_t contact_capacity;
  run_statistics statistics;
} mujoco_run;

// An error of MuJoCo is one of the model, such as too little memory.
static int report(const sap_error* error) {
  const int code = cli_report(error);
  return error->status == SAP_STATUS_CALLBACK ? CLI_FILE : code;
}

static run_energy measure_energy(const mujoco_run* r) {
  sap_mj_measure_energy(r->loaded.model, r->loaded.data);
  return (run_energy){.kinetic = r->loaded.data->energy[1], .potential = r->loaded.data->energy[0]};
}

// Writes a row of the trajectory and of the recording; report NULL: the start.
static sap_status write_row(mujoco_run* r, const sap_mj_report* report, sap_error* error) {
  if (r->out != NULL) {
    SAP_TRY(mujoco_output_row(r->out, r->loaded.model, r->loaded.data, report, error));
  }
  return r->record != NULL ? mujoco_record_row(r->record, r->loaded.data, report, error)
                           : SAP_STATUS_OK;
}

static sap_status resume(mujoco_run* r, sap_error* error) {
  return r->o.plan.resume == NULL
             ? SAP_STATUS_OK
             : sap_mj_checkpoint_read(r->o.plan.resume, r->loaded.adapter, r->loaded.data,
                                      &r->statistics.before, error);
}

// Evaluates contacts, forces and energies at the start and writes the first row.
static sap_status look_at_start(mujoco_run* r, sap_error* error) {
  SAP_TRY(sap_mj_forward(r->loaded.adapter, r->loaded.data, NULL, error));
  run_statistics* s = &r->statistics;
  s->start = s->end = measure_energy(r);
  s->dt = r->loaded.model->opt.timestep;
  run_plan_steps(&r->o.plan, s);
  interrupt_catch();
  if (r->o.plan.output != NULL) {
    SAP_TRY(sap_file_create(r->o.plan.output, &r->out, error));
    print_header(sap_file_stream(r->out), r->loaded.model);
  }
  if (r->o.plan.record != NULL) {
    SAP_TRY(mujoco_record_open(r->o.plan.record, r->loaded.model, &r->o.plan.recorder, &r->record,
                               error));
  }
  return write_row(r, NULL, error);
}

static int32_t find_actuator(const void* model, const char* name) {
  return mj_name2id(model, mjOBJ_ACTUATOR, name);
}

// --controls: the keyframe of that name, unless a file has it; else the file.
static sap_status read_controls(mujoco_run* r, sap_error* error) {
  const char* from = r->o.plan.controls;
  const mjModel* m = r->loaded.model;
  const int key = from != NULL ? mj_name2id(m, mjOBJ_KEY, from) : -1;
  if (key >= 0 && access(from, F_OK) != 0) {
    mju_copy(r->loaded.data->ctrl, m->key_ctrl + key * m->nu, (int)m->nu);
  } else if (from != NULL) {
    return run_controls_read(from, (int32_t)m->nu, find_actuator, m, &r->controls, error);
  }
  return SAP_STATUS_OK;
}

static sap_status prepare(mujoco_run* r, sap_error* error) {
  SAP_TRY(mujoco_load(&r->o, &r->loaded, error));
  SAP_TRY(resume(r, error));
  SAP_TRY(read_controls(r, error));
  SAP_TRY(look_at_start(r, error));
  return resume(r, error);  // sap_mj_forward changed the data
}

// Copies the fields of contacts needed by the statistics; returns their number.
static int32_t collect(mujoco_run* r, const sap_mj_report* report) {
  CLI_GROW(&r->contacts, &r->contact_capacity, report->contacts);
  int32_t count = 0;
  for (int32_t i = 0; i < (int32_t)r->loaded.data->ncon && count < report->contacts; ++i) {
    const mjContact* c = &r->loaded.data->contact[i];
    if (c->exclude == 0 && c->efc_address >= 0) {
      r->contacts[count++] = (sap_contact){.phi = c->dist - c->includemargin, .condim = 3};
    }
  }
  for (int32_t i = 0; i < count; ++i) {
    r->contacts[i].vc[0] = report->mean_slip;
  }
  return count;
}

static sap_status step(void* context, sap_error* error) {
  mujoco_run* r = context;
  run_statistics* s = &r->statistics;
  sap_mj_report done;
  run_controls_apply(&r->controls, r->loaded.data->time, r->loaded.data->ctrl);
  const sap_status status = sap_mj_step(r->loaded.adapter, r->loaded.data, &done, error);
  if (status != SAP_STATUS_OK) {
    s->failures += status != SAP_STATUS_MEMORY && status != SAP_STATUS_INTERNAL;
    return status;
  }
  SAP_TRY(run_dump(&r->o.plan, s->before + s->steps + 1, done.problem, error));
  const int32_t contacts = collect(r, &done);
  const sap_step_report common = {.time_free_motion = done.time_position,
                                  .time_constraints = done.time_assembly,
                                  .time_solver = done.time_solver,
                                  .time_total = done.time_total,
                                  .solver = done.solver};
  run_statistics_add(s, &common, r->contacts, contacts);
  s->penetration_end = done.penetration;
  return run_row_due(&r->o.plan, s) ? write_row(r, &done, error) : SAP_STATUS_OK;
}

static sap_status write_checkpoint(void* context, const char* path, int64_t steps,
                                   sap_error* error) {
  mujoco_run* r = context;
  return sap_mj_checkpoint_write(path, r->loaded.adapter, r->loaded.data, steps, error);
}

// Reports an error and keeps the rows of the trajectory so far, if possible.
static int leave(mujoco_run* r, const sap_error* error) {
  const int code = cli_report(error);
  if (r->out != NULL &&
      (sap_file_commit(r->out, NULL) == SAP_STATUS_OK || sap_file_keep_lines(r->out))) {
    cli_message("the trajectory's rows so far are in '%s'", r->o.plan.output);
  }
  return code;
}

static int execute(mujoco_run* r) {
  run_statistics* s = &r->statistics;
  sap_error error = {0};
  int code = CLI_OK;
  const run_engine engine = {r, &r->loaded.data->time, step, write_checkpoint};
  SAP_RETURN_IF(run_all_steps(&r->o.plan, &engine, s, &code, &error) != SAP_STATUS_OK,
                leave(r, &error));
  s->time = (double)s->steps * s->dt;
  if (s->failures == 0 &&
      sap_mj_forward(r->loaded.adapter, r->loaded.data, NULL, &error) == SAP_STATUS_OK) {
    s->end = measure_energy(r);
  }
  mujoco_record* record = r->record;
  r->record = NULL;
  SAP_RETURN_IF(mujoco_record_close(record, &error) != SAP_STATUS_OK ||
                    (r->out != NULL && sap_file_commit(r->out, &error) != SAP_STATUS_OK),
                leave(r, &error));
  run_statistics_print(s, r->o.path, r->o.plan.format, r->o.plan.stats, stdout);
  return cli_flush() == CLI_OK ? code : CLI_FILE;
}

static int run_mujoco(const cli_command* command, int argc, char** argv) {
  const double nan = (double)NAN;
  mujoco_run r = {.o = {.plan = run_plan_default(),
                        .dt = nan,
                        .stiffness = nan,
                        .relaxation_time = nan,
                        .adapter = sap_mj_options_default()}};
  r.o.adapter.warning = print_warning;
  cli_parser parser;
  SAP_RETURN_IF(!cli_parse(&parser, command, &r.o, argc, argv), parser.exit_code);
  int code = run_plan_check(&r.o.plan, command, &parser);
  if (code != CLI_OK) {
    return code;
  }
  r.o.path = parser.operands[0];

  sap_error error = {0};
  code = prepare(&r, &error) == SAP_STATUS_OK ? execute(&r) : report(&error);
  sap_file_close(r.out);
  (void)mujoco_record_close(r.record, NULL);
  mujoco_unload(&r.loaded);
  return code;
}

const cli_command cli_command_mujoco = {
    .name = "mujoco",
    .operands = "MODEL",
    .summary = "step a model with MuJoCo's collisions and forces",
    .text = cli_text_mujoco,
    .options = mujoco_option_list,
    .tables = {CLI_TABLE(sap_mj_option_table, mujoco_options, adapter, mujoco_default)},
    .run = run_mujoco,
};
