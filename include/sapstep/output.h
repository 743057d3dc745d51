// SPDX-License-Identifier: BSD-3-Clause
// Files that runs leave behind: trajectories (CSV), tables of results (HDF5, CSV), charts, 3D
// pages (HTML) and checkpoints.
#pragma once

#include <sapstep/base.h>
#include <sapstep/model.h>
#include <sapstep/recorder.h>
#include <sapstep/stepper.h>

SAP_C_BEGIN

// --- trajectories as CSV ---

// One header line. Column names hold the units: t_s, q and v by joint name ("q_hip_rad",
// "v_root_wx_radps", ...), activations by actuator ("act_biceps"), contacts, newton_iterations,
// kinetic_J, potential_J, penetration_m.
typedef struct sap_trajectory sap_trajectory;

typedef struct sap_trajectory_row {
  const sap_state* state;
  int32_t contacts;           // contact points
  int32_t newton_iterations;  // of the contact solver
  double kinetic;             // [J]
  double potential;           // gravity and springs [J]
  double penetration;         // the largest, >= 0 [m]
} sap_trajectory_row;

// Writes to a temporary file beside `path`, which sap_trajectory_commit puts in place. Commit fails
// with IO if any row could not be written. Closing without commit leaves no trace.
SAP_API sap_status sap_trajectory_create(const char* path, const sap_model* model,
                                         sap_trajectory** out, sap_error* error);
SAP_API sap_status sap_trajectory_write(sap_trajectory* trajectory, const sap_trajectory_row* row,
                                        sap_error* error);
SAP_API sap_status sap_trajectory_commit(sap_trajectory* trajectory, sap_error* error);
// After a write or commit failed with IO (a full disk): puts the complete rows in place. Returns
// false if there are none, if nothing had failed, or if `path` exists already.
SAP_API bool sap_trajectory_keep(sap_trajectory* trajectory);
SAP_API void sap_trajectory_close(sap_trajectory* trajectory);

// --- tables of results ---

// A column of numbers or of texts.
typedef struct sap_result_column {
  const char* name;
  const char* units;         // NULL: none
  const double* values;      // (rows); NULL: texts
  const char* const* texts;  // (rows); NULL: values
} sap_result_column;

typedef struct sap_result_table {
  const sap_result_column* columns;  // (column_count)
  int32_t column_count;
  int64_t rows;
  const char* note;  // origin of the table; NULL: none
} sap_result_table;

// Writes HDF5: a one-dimensional data set per column (float64, or UTF-8 padded by zeros) with the
// attribute `units`. Attributes of the file: `format`, `version`, `program`, and the note as
// `study`. Equal tables give equal files. The file appears whole or not at all. Fails with IO.
SAP_API sap_status sap_result_table_write(const char* path, const sap_result_table* table,
                                          sap_error* error);
// Writes CSV; numbers that are not finite are empty cells. The file appears whole or not at all.
SAP_API sap_status sap_result_table_write_csv(const char* path, const sap_result_table* table,
                                              sap_error* error);

// --- charts, drawn by gnuplot: lines with markers on linear or logarithmic axes ---

// One line. Points that are not finite, or not > 0 on a logarithmic axis, are left out.
typedef struct sap_chart_series {
  const char* name;     // in the legend
  int32_t count;        // points
  const double *x, *y;  //                                                          (count)
} sap_chart_series;

// One pair of axes.
typedef struct sap_chart_panel {
  const char *title, *x_label, *y_label;  // UTF-8
  bool log_x, log_y;
  bool markers;          // a marker at every point
  bool dashes;           // lines have different dash patterns, so that overlaps are visible
  int32_t slopes;        // with both axes logarithmic: dashed lines of slope 1 ... slopes
  int32_t series_count;  // lines
  const sap_chart_series* series;
} sap_chart_panel;

// Draws the panels side by side, with the legend of the panel that has the most series; `stacked`:
// below one another, each wide and with its own legend. PNG or PDF where `path` ends so, else SVG.
// The file appears whole or not at all. Fails with ARGUMENT if there is nothing to draw, with
// UNSUPPORTED if the program gnuplot cannot be started, or with IO.
SAP_API sap_status sap_chart_write(const char* path, const sap_chart_panel* panels, int32_t count,
                                   bool stacked, sap_error* error);

// --- 3D pages: one HTML file that replays a recording in any browser, without a network ---

// Start with sap_page_options_default(), which sets the cookie.
typedef struct sap_page_options {
  uint32_t cookie;
  const char* title;     // NULL: the model's name                                         (NULL)
  double frame_rate;     // most frames per simulated second [1/s] >= 0; 0: every row      (60)
  int32_t max_contacts;  // of all frames together, >= 0; keeps the strongest        (1000000)
} sap_page_options;

typedef struct sap_page_summary {
  int64_t frames, bytes;           // of the page
  int64_t contacts, contacts_all;  // on the page; in its frames of the recording
} sap_page_summary;

SAP_API sap_page_options sap_page_options_default(void);

// Returns true in a build with three.js.
SAP_API bool sap_page_available(void);

// Writes a page; the file appears whole or not at all. options and summary may be NULL. Fails with
// UNSUPPORTED if pages are not available, with ARGUMENT if the recording has no rows, or with IO.
SAP_API sap_status sap_page_write(const sap_recording* recording, const char* path,
                                  const sap_page_options* options, sap_page_summary* summary,
                                  sap_error* error);

// --- checkpoints: state and memory of a stepper, from which a run continues bit for bit ---

// Writes t, q, v, act, the number of steps, the stepper's memory and options, and a fingerprint of
// the system's masses at q, with a checksum. The file appears whole or not at all; an existing file
// is unchanged until then. Fails with ARGUMENT, NOT_FINITE (state), MEMORY, IO or CALLBACK.
SAP_API sap_status sap_checkpoint_write(const char* path, sap_stepper* stepper,
                                        const sap_state* state, int64_t steps, sap_error* error);

// Restores the state and the stepper's memory. Fails with IO if the file cannot be read; with
// SYNTAX if it is not a checkpoint of this version, damaged or incomplete; with ARGUMENT if the
// system differs (sizes, or masses by more than 1e-9), the solver or an option. The message names
// the option and both values; time_limit, threads and check_input may differ. On failure state,
// *steps and stepper are unchanged.
SAP_API sap_status sap_checkpoint_read(const char* path, sap_stepper* stepper, sap_state* state,
                                       int64_t* steps, sap_error* error);

SAP_C_END
