// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/mujoco/mujoco_output.h"

#include <mujoco/mujoco.h>

#include "core/csv.h"

// Endings of the columns of a joint.
static const char* const free_q[] = {"x_m", "y_m", "z_m", "qw", "qx", "qy", "qz"};
static const char* const free_v[] = {"x_mps", "y_mps", "z_mps", "wx_radps", "wy_radps", "wz_radps"};

static void print_column(FILE* file, char kind, const mjModel* m, int joint, const char* ending) {
  const char* name = mj_id2name(m, mjOBJ_JOINT, joint);
  const char* quote = name != NULL && sap_csv_is_quoted(name) ? "\"" : "";
  (void)fprintf(file, ",%s%c_", quote, kind);
  if (name == NULL || name[0] == '\0') {
    (void)fprintf(file, "joint_%d", joint);
  } else {
    sap_csv_put(file, name);
  }
  (void)fprintf(file, "_%s%s", ending, quote);
}

static void print_header(FILE* file, const mjModel* m) {
  (void)fputs("t_s", file);
  for (int pass = 0; pass < 2; ++pass) {
    for (int j = 0; j < (int)m->njnt; ++j) {
      const int type = m->jnt_type[j];
      const bool scalar = type == mjJNT_HINGE || type == mjJNT_SLIDE;
      const char* const* endings = pass == 0 ? free_q : free_v;
      const int whole = pass == 0 ? 7 : 6;
      for (int i = type == mjJNT_FREE ? 0 : 3; !scalar && i < whole; ++i) {
        print_column(file, pass == 0 ? 'q' : 'v', m, j, endings[i]);
      }
      if (scalar) {
        const char* const units[2][2] = {{"rad", "m"}, {"radps", "mps"}};
        print_column(file, pass == 0 ? 'q' : 'v', m, j, units[pass][type == mjJNT_SLIDE]);
      }
    }
  }
  (void)fputs(",contacts,newton_iterations,penetration_m\n", file);
}

sap_status mujoco_output_open(const char* path, const mjModel* model, sap_file** out,
                              sap_error* error) {
  const sap_status status = sap_file_create(path, out, error);
  if (status == SAP_STATUS_OK) {
    print_header(sap_file_stream(*out), model);
  }
  return status;
}

sap_status mujoco_output_row(sap_file* out, const mjModel* m, const mjData* d,
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
