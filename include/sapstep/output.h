// SPDX-License-Identifier: BSD-3-Clause
// What runs leave behind: trajectories as CSV, tables of results as HDF5 and CSV.
#ifndef SAPSTEP_OUTPUT_H
#define SAPSTEP_OUTPUT_H

#include <sapstep/base.h>
#include <sapstep/multibody.h>
#include <sapstep/model.h>
#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

// A trajectory in CSV. One header line; columns, units in the names: t_s, q and v by joint name
// ("q_hip_rad", "v_root_wx_radps", ...), activations by actuator ("act_biceps"), contacts,
// newton_iterations, kinetic_J, potential_J, penetration_m.
typedef struct sap_trajectory sap_trajectory;

typedef struct sap_trajectory_row {
  const sap_state* state;
  int32_t contacts;           // contact points
  int32_t newton_iterations;  // of the contact solver
  double kinetic;             // [J]
  double potential;           // gravity and springs [J]
  double penetration;         // the largest, >= 0 [m]
} sap_trajectory_row;

// Writes go to a temporary file beside `path`. sap_trajectory_commit puts it in place; IO when
// anything could not be written. Closing without commit leaves no trace.
SAP_API sap_status sap_trajectory_create(const char* path, const sap_model* model,
                                         sap_trajectory** out, sap_error* error);
SAP_API sap_status sap_trajectory_write(sap_trajectory* trajectory, const sap_trajectory_row* row,
                                        sap_error* error);
SAP_API sap_status sap_trajectory_commit(sap_trajectory* trajectory, sap_error* error);
// After a write or a commit failed with IO, as where the disk is full: puts the rows that could be
// written in place, unless an earlier file stands there. False: there are none, or nothing failed.
SAP_API bool sap_trajectory_keep(sap_trajectory* trajectory);
SAP_API void sap_trajectory_close(sap_trajectory* trajectory);

// A column of a table: numbers or texts.
typedef struct sap_result_column {
  const char* name;
  const char* units;         // NULL: none
  const double* values;      // (rows), or NULL and
  const char* const* texts;  // (rows)
} sap_result_column;

typedef struct sap_result_table {
  const sap_result_column* columns;  // (column_count)
  int32_t column_count;
  int64_t rows;
  const char* note;  // what the table comes from; NULL: nothing
} sap_result_table;

// HDF5: a one-dimensional data set per column (float64, or UTF-8 padded by zeros) with the
// attribute `units`; the file's attributes are `format`, `version`, `program` and the note as
// `study`. Equal tables make equal files. Either file appears whole or not at all; IO when it
// cannot be written, UNSUPPORTED in a build without HDF5. In CSV what is not finite is empty.
SAP_API sap_status sap_result_table_write(const char* path, const sap_result_table* table,
                                          sap_error* error);
SAP_API sap_status sap_result_table_write_csv(const char* path, const sap_result_table* table,
                                              sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
