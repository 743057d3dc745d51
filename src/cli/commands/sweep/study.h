// SPDX-License-Identifier: BSD-3-Clause
// Studies of `sapstep sweep`: the command, its cases in threads and MPI ranks and their journal
// (study.c), the text of a study and its check against the scene (study_text.c), parameters, one
// run and its measures (study_case.c), tables and charts (study_report.c).
#ifndef SAP_CLI_COMMANDS_SWEEP_STUDY_H
#define SAP_CLI_COMMANDS_SWEEP_STUDY_H

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/scene.h"

enum {
  STUDY_PARAMETERS_MAX = 64,
  STUDY_MEASURES_MAX = 64,
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
  char**
      values;  // texts, words of the study                                                        (count)
  double a, b;  //
} study_parameter;

// A coordinate: q/JOINT[part] or v/JOINT[part].
typedef struct study_coordinate {
  bool velocity;
  int32_t index;
} study_coordinate;

typedef struct study_spec {
  const char* path;
  char* text;              // the whole file
  char* lines;             // the same, cut into words
  const char* scene_name;  // as given
  char* scene;             // path
  const char* keyframe;    // NULL: the default pose
  double duration;         // [s]
  int32_t samples;         // of the random parameters for each point of the grid
  int32_t seed;
  bool lenient, floating_base;
  double floor;  // of a URDF [m], NaN: none
  int scene_line;
  study_parameter parameters[STUDY_PARAMETERS_MAX];
  int parameter_count;
  struct {
    char name[STUDY_NAME_SIZE];
    int line;
  } measures[STUDY_MEASURES_MAX];
  int measure_count;
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

// Result of a case; plain bytes, stored in the journal and sent between ranks.
typedef struct study_row {
  int64_t index;
  int64_t status;
  double measures[STUDY_MEASURES_MAX];  // NaN: not measured
  char message[STUDY_MESSAGE_SIZE];
} study_row;

// Reads and checks a study; false: the error is "file:line: text". Values are tried on the scene.
bool study_read(const char* path, study_spec* study, sap_error* error);
void study_clear(study_spec* study);

// Writes the value of a parameter in a case as text; numbers are exact.
void study_value(const study_spec* study, int parameter, int64_t index, char out[STUDY_TEXT_SIZE]);

// Settings of a case. dt, sigma and beta of the stepper are NaN until set: the scene's.
typedef struct study_setup {
  sap_stepper_options stepper;
  sap_material material;
  sap_scene_edit edits[STUDY_PARAMETERS_MAX];
  int32_t edit_count;
  struct {
    const char* name;
    double value;
  } states[STUDY_PARAMETERS_MAX];
  int state_count;
} study_setup;

void study_setup_begin(study_setup* setup);
// Sets a parameter; both texts must outlive the setup. Returns NULL if done, "" if there is no such
// parameter, else the values allowed.
const char* study_setup_take(study_setup* setup, const char* name, const char* value);
void study_list_parameters(char* out, size_t size);
// Finds a coordinate "q/JOINT", "v/JOINT[2]".
bool study_find_coordinate(const sap_model* model, const char* name, study_coordinate* out);
// Reads the scene with the setup, and its start. warning NULL: warnings are ignored.
sap_status study_read_scene(const cli_scene* scene, sap_message_function warning,
                            const study_setup* setup, sap_model** model, sap_state* state,
                            double** control, sap_error* error);
// Returns the stepper's options: the setup's, else the scene's.
sap_stepper_options study_stepper_options(const study_setup* setup, const sap_model* model);
cli_scene study_scene(const study_spec* study);
void study_case_run(const study_spec* study, int64_t index, study_row* row);

// Sums over a run that measures are made from.
enum { STUDY_HISTOGRAM = 512 };
typedef struct study_sums {
  int64_t histogram[STUDY_HISTOGRAM];  // steps by their iterations, all beyond in the last
  int64_t steps, unconverged, contacts, contacts_max, iterations, iterations_max;
  double kinetic_start, potential_start, kinetic_max, penetration_max, momentum_error_max;
  double hessian_condition;  // of the last step, NaN: not measured
} study_sums;
bool study_measure_known(const sap_model* model, const char* name);
// Returns the unit of a measure, " [J]"; "" of numbers and coordinates.
const char* study_measure_unit(const char* name);
void study_list_measures(char* out, size_t size);

// Writes the table as HDF5 and CSV; NULL: not.
sap_status study_write(const study_spec* study, const study_row* rows, const char* hdf5,
                       const char* csv, sap_error* error);
// Checks that a chart over the grid can be drawn.
bool study_chart_possible(const study_spec* study, sap_error* error);
// Writes each measure over a parameter of the grid as SVG.
sap_status study_chart_write(const study_spec* study, const study_row* rows, const char* path,
                             sap_error* error);
// Prints the summary and returns the exit code.
int study_print(const study_spec* study, const study_row* rows);

#endif
