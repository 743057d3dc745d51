// SPDX-License-Identifier: BSD-3-Clause
// Writes trajectories as CSV (RFC 4180): one header line, one line per row, numbers with 17 digits,
// which restore every state bit by bit.
#include <stdio.h>

#include <sapstep/output.h>

#include "core/file.h"
#include "core/memory.h"
#include "core/platform.h"
#include "multibody/model/joint_coordinates.h"

enum { NUMBER_SIZE = 32 };  // "joint_" and an id

struct sap_trajectory {
  sap_file* file;
  int32_t nq, nv, na;
};

// Returns the joint's name; without one, a free joint has its body's name, and any other its
// number, printed into `number`.
static const char* joint_label(const sap_model* model, int32_t joint, sap_joint_type type,
                               int32_t body, char number[NUMBER_SIZE]) {
  const char* name = sap_model_get_name(model, SAP_ELEMENT_JOINT, joint);
  if (name[0] == '\0' && type == SAP_JOINT_FREE) {
    name = sap_model_get_name(model, SAP_ELEMENT_BODY, body);
    if (sap_model_find(model, SAP_ELEMENT_JOINT, name) >= 0) {
      name = "";
    }
  }
  if (name[0] != '\0') {
    return name;
  }
  (void)snprintf(number, NUMBER_SIZE, "joint_%d", joint);
  return number;
}

// Prints the columns of q, or of v, in the order of the coordinates. joint_at[i]: joint whose
// coordinates start at i, + 1; 0: none.
static void print_joint_columns(FILE* stream, const sap_model* model, bool velocities,
                                const int32_t* joint_at, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    sap_joint_type type;
    int32_t body;
    if (joint_at[i] == 0 || sap_model_joint_address(model, joint_at[i] - 1, &type, &body, NULL,
                                                    NULL, NULL) != SAP_STATUS_OK) {
      continue;
    }
    char number[NUMBER_SIZE];
    const char* label = joint_label(model, joint_at[i] - 1, type, body, number);
    for (const sap_coordinate* c = sap_joint_coordinates(type, velocities); c->name; ++c) {
      sap_csv_column(stream, velocities ? "v" : "q", label, c->name, c->unit);
    }
  }
}

static void print_activation_columns(FILE* stream, const sap_model* model, int32_t nu) {
  for (int32_t i = 0; i < nu; ++i) {
    if (sap_model_actuator_address(model, i) < 0) {
      continue;
    }
    char number[NUMBER_SIZE];
    (void)snprintf(number, sizeof number, "actuator_%d", i);
    const char* name = sap_model_get_name(model, SAP_ELEMENT_ACTUATOR, i);
    sap_csv_column(stream, "act", name[0] != '\0' ? name : number, "", "");
  }
}

static sap_status print_header(FILE* stream, const sap_model* model, sap_error* error) {
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  int32_t* q_joint;
  SAP_TRY(SAP_NEW(&q_joint, (size_t)sizes.nq + (size_t)sizes.nv, "trajectory", error));
  int32_t* v_joint = q_joint + sizes.nq;
  for (int32_t joint = 0; joint < sizes.joints; ++joint) {
    int32_t q_start = 0, v_start = 0;
    (void)sap_model_joint_address(model, joint, NULL, NULL, &q_start, &v_start, NULL);
    q_joint[q_start] = joint + 1;
    v_joint[v_start] = joint + 1;
  }
  (void)fprintf(stream, "t_s");
  print_joint_columns(stream, model, false, q_joint, sizes.nq);
  print_joint_columns(stream, model, true, v_joint, sizes.nv);
  print_activation_columns(stream, model, sizes.nu);
  (void)fprintf(stream, ",contacts,newton_iterations,kinetic_J,potential_J,penetration_m\n");
  sap_free(q_joint);
  return SAP_STATUS_OK;
}

sap_status sap_trajectory_create(const char* path, const sap_model* model, sap_trajectory** out,
                                 sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  SAP_NOT_NULL(error, path, model);
  sap_trajectory* trajectory;
  SAP_TRY(SAP_NEW(&trajectory, 1, "trajectory", error));
  const sap_model_sizes sizes = sap_model_get_sizes(model);
  trajectory->nq = sizes.nq;
  trajectory->nv = sizes.nv;
  trajectory->na = sizes.na;
  sap_status status = sap_file_create(path, &trajectory->file, error);
  SAP_THEN(status, print_header(sap_file_stream(trajectory->file), model, error));
  if (status != SAP_STATUS_OK) {
    sap_trajectory_close(trajectory);
    return status;
  }
  *out = trajectory;
  return SAP_STATUS_OK;
}

static void print_numbers(FILE* stream, const double* x, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    (void)fprintf(stream, ",%.17g", x[i]);
  }
}

sap_status sap_trajectory_write(sap_trajectory* trajectory, const sap_trajectory_row* row,
                                sap_error* error) {
  SAP_NOT_NULL(error, trajectory, row);
  SAP_NOT_NULL(error, row->state);
  const sap_state* state = row->state;
  SAP_FAIL_IF(
      state->nq != trajectory->nq || state->nv != trajectory->nv || state->na != trajectory->na,
      error, SAP_STATUS_ARGUMENT,
      "row->state has nq = %d, nv = %d, na = %d; the model has %d, %d, %d", (int)state->nq,
      (int)state->nv, (int)state->na, (int)trajectory->nq, (int)trajectory->nv,
      (int)trajectory->na);
  sap_c_locale locale;
  SAP_TRY(sap_c_locale_begin(&locale, error));
  FILE* stream = sap_file_stream(trajectory->file);
  (void)fprintf(stream, "%.17g", state->t);
  print_numbers(stream, state->q, state->nq);
  print_numbers(stream, state->v, state->nv);
  print_numbers(stream, state->act, state->na);
  (void)fprintf(stream, ",%d,%d,%.17g,%.17g,%.17g\n", row->contacts, row->newton_iterations,
                row->kinetic, row->potential, row->penetration);
  sap_c_locale_end(&locale);
  return sap_file_check(trajectory->file, error);
}

sap_status sap_trajectory_commit(sap_trajectory* trajectory, sap_error* error) {
  SAP_NOT_NULL(error, trajectory);
  return sap_file_commit(trajectory->file, error);
}

bool sap_trajectory_keep(sap_trajectory* trajectory) {
  return trajectory != NULL && sap_file_keep_lines(trajectory->file);
}

void sap_trajectory_close(sap_trajectory* trajectory) {
  if (trajectory != NULL) {
    sap_file_close(trajectory->file);
    sap_free(trajectory);
  }
}
