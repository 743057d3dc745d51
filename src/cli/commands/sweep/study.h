// SPDX-License-Identifier: BSD-3-Clause
// Studies of `sapstep sweep`: the command, its cases in threads and MPI ranks (study.c), their
// journal (study_journal.c), the text of a study and its check against the scene (study_text.c),
// parameters (study_setup.c), one run and the statistics of its quantities (study_case.c), the
// quantities (study_quantity.c), tables and charts (study_report.c).
#pragma once

#include <stddef.h>
#include <stdio.h>

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/scene.h"

enum {
  STUDY_PARAMETERS_MAX = 64,
  STUDY_MEASURES_MAX = 64,
  STUDY_PLOTS_MAX = 16,
  STUDY_QUANTITIES_MAX = STUDY_MEASURES_MAX + 2 * STUDY_PLOTS_MAX,
  STUDY_FORCES_MAX = 16,
  STUDY_NAME_SIZE = 128,
  STUDY_TEXT_SIZE = 128,
  STUDY_MESSAGE_SIZE = 256,
  STUDY_CASES_MAX = 100 * 1000 * 1000,
};

typedef enum study_kind {
  STUDY_SET,      // one value
  STUDY_GRID,     // each of its values, with all those of the others
  STUDY_CHOOSE,   // one of its values at random
  STUDY_UNIFORM,  // between a and b
  STUDY_LOG,      // the same for the logarithm
  STUDY_NORMAL,   // mean a, standard deviation b
} study_kind;

typedef struct study_parameter {
  char name[STUDY_NAME_SIZE];
  study_kind kind;
  int line;       // of the study
  bool numeric;   // all values are numbers
  int32_t count;  // values
  char** values;  // texts, words of the study (count)
  double a, b;
} study_parameter;

// A coordinate: q/JOINT[part] or v/JOINT[part].
typedef struct study_coordinate {
  bool velocity;
  int32_t index;
} study_coordinate;

// A quantity of a run, measured or plotted. If only its last value is needed, it is
// evaluated at the end only.
typedef struct study_quantity {
  char name[STUDY_NAME_SIZE];
  int line;  // of the study
  bool each_step;
  bool kept;  // all its values: for a plot or the median
} study_quantity;

typedef enum study_statistic {
  STUDY_END,
  STUDY_CHANGE,  // end - start
  STUDY_MAX,     // of |x|, with its sign
  STUDY_MEAN,
  STUDY_MEDIAN,  // the lower one of two
  STUDY_SUM,
  STUDY_INTEGRAL,  // of |x| over time
} study_statistic;

// A quantity over the time, or over another one.
typedef struct study_plot {
  const char* name;
  int x, y;           // quantities
  const char* exact;  // formula of t, NULL: none is known
} study_plot;

// A force on a body along a world axis, a formula of t [N].
typedef struct study_force {
  const char *body, *formula;
  int axis, line;
} study_force;

typedef struct study_spec {
  const char* path;
  char* text;              // the whole file
  const char* scene_name;  // as given
  char* scene;             // path
  const char* keyframe;    // NULL: the default pose
  double duration;         // [s]
  int32_t samples;         // of the random parameters for each point of the grid
  int32_t seed;
  sap_scene_options reading;
  int scene_line;
  study_parameter parameters[STUDY_PARAMETERS_MAX];
  int parameter_count;
  study_quantity quantities[STUDY_QUANTITIES_MAX];  // each once
  int quantity_count;
  struct {
    const char* name;
    int quantity;
    study_statistic statistic;
  } measures[STUDY_MEASURES_MAX];
  int measure_count;
  study_plot plots[STUDY_PLOTS_MAX];
  int plot_count;
  study_force forces[STUDY_FORCES_MAX];
  int force_count;
  const char* reference;  // solver of the run that `deviation` is measured from, "own"; NULL: none
  double reference_dt;    // [s], 0: the same
  int64_t cases;
  uint64_t hash;  // of the study, the files of its scene and the program's version
} study_spec;

typedef enum study_status {
  STUDY_OK,
  STUDY_UNCONVERGED,
  STUDY_FAILED,
  STUDY_STATUSES
} study_status;
extern const char* const study_status_names[];

// Result of a case. The bytes before `series` and those of the series are stored in the journal and
// sent between ranks.
typedef struct study_row {
  int64_t index;
  int64_t status;
  int64_t steps;                        // in the series
  double measures[STUDY_MEASURES_MAX];  // NaN: not measured
  char message[STUDY_MESSAGE_SIZE];
  double* series;  // x and y of each plot, one after the other           (2 plot_count, steps)
} study_row;
enum { STUDY_ROW_SIZE = offsetof(study_row, series) };  // of what is stored and sent  [bytes]
// Returns the size of a row's series [bytes].
size_t study_series_size(const study_spec* study, const study_row* row);

// Reads and checks a study; false: the error is "file:line: text". Values are tried on the scene.
bool study_read(const char* path, study_spec* study, sap_error* error);

// Writes the value of a parameter in a case as text; numbers are exact.
void study_value(const study_spec* study, int parameter, int64_t index, char out[STUDY_TEXT_SIZE]);

// Settings of a case. dt, sigma and beta of the stepper are NaN until set: the scene's.
typedef struct study_setup {
  cli_scene scene;
  sap_stepper_options stepper;
  sap_scene_edit edits[STUDY_PARAMETERS_MAX];
  struct {
    const char* name;
    double value;
  } states[STUDY_PARAMETERS_MAX];
  int state_count;
} study_setup;

void study_setup_begin(const study_spec* study, study_setup* setup);
// Sets a parameter; both texts must outlive the setup. Returns NULL if done, "" if there is no such
// parameter, else the values allowed.
const char* study_setup_take(study_setup* setup, const char* name, const char* value);
void study_list_parameters(char* out, size_t size);
// Finds a coordinate "q/JOINT", "v/JOINT[2]".
bool study_find_coordinate(const sap_model* model, const char* name, study_coordinate* out);
// Opens the scene with the setup. Warnings are ignored. Close the run also after a failure.
sap_status study_open(const study_setup* setup, cli_run* run, sap_error* error);
void study_case_run(const study_spec* study, int64_t index, study_row* row);

// Opens or creates a journal, locks it for this process and fills `rows` (cases; index -1: not
// done) with its cases; `fresh` discards them. *out is to be closed, also after a failure, unless
// NULL. Fails with IO, or with ARGUMENT if it belongs to another study.
sap_status study_journal_open(const char* path, const study_spec* study, bool fresh,
                              study_row* rows, FILE** out, sap_error* error);
// Appends a finished case. After a failure the journal ends at the previous one.
sap_status study_journal_add(FILE* journal, const study_spec* study, const study_row* row,
                             sap_error* error);

// --- quantities ---

// A run about to be stepped, and its last step.
typedef struct study_run study_run;
struct study_run {
  cli_run on;
  sap_state start;
  double* delta;  // memory for differences of positions                                (nv)
  int64_t steps, unconverged;
  sap_step_report report;  // of the last step
  int32_t force_bodies[STUDY_FORCES_MAX];
  study_run* reference;  // NULL: none
};

// A quantity resolved for a model.
typedef struct study_probe {
  int kind, index, component;
} study_probe;

// Values of the last step that several quantities use, computed when the first needs them.
typedef struct study_moment {
  double deviation;  // from the reference [m, rad], NaN: it has no such time
  bool diagnosed, judged;
  sap_diagnostics diagnostics;
  sap_residual residual;
} study_moment;

bool study_quantity_known(const char* name);
// Returns its unit; "" of numbers and coordinates.
const char* study_quantity_unit(const char* name);
void study_list_quantities(char* out, size_t size);
// Fails with ARGUMENT if the model has no such joint.
sap_status study_probe_find(const char* name, const sap_model* model, study_probe* out,
                            sap_error* error);
// Computes the value after the last step; before the first, that of the start. The moment begins
// with its deviation alone after each step.
sap_status study_probe_value(const study_probe* probe, study_run* run, study_moment* moment,
                             double* out, sap_error* error);
// Writes the table as HDF5 and CSV; NULL: not.
sap_status study_write(const study_spec* study, const study_row* rows, const char* hdf5,
                       const char* csv, sap_error* error);
// Checks that a chart can be drawn.
sap_status study_chart_check(const study_spec* study, sap_error* error);
// Writes the plots, and each measure over a parameter of the grid, as SVG and their lines as CSV;
// NULL: not.
sap_status study_chart_write(const study_spec* study, const study_row* rows, const char* svg,
                             const char* csv, sap_error* error);
// Prints the summary and returns the exit code.
int study_print(const study_spec* study, const study_row* rows);
