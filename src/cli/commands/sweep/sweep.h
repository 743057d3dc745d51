// SPDX-License-Identifier: BSD-3-Clause
// What the files of `sapstep sweep` share.
//   sweep_study.c    the text of a study      sweep_study_parameter.c  its parameters
//   sweep_try.c      whether the scene fits it
//   sweep_case.c     one run                  sweep_parameter.c  what can be changed, and how
//   sweep_journal.c  finished cases on disk   sweep_measure.c    what is measured
//   sweep_jobs.c     all cases, in threads    sweep_mpi.c        and in ranks
//   sweep_report.c   tables                   sweep_chart.c      a picture
#ifndef SAP_CLI_COMMANDS_SWEEP_SWEEP_H
#define SAP_CLI_COMMANDS_SWEEP_SWEEP_H

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/scene_options.h"

enum {
  SWEEP_PARAMETERS_MAX = 64,
  SWEEP_MEASURES_MAX = 64,
  SWEEP_NAME_SIZE = 128,
  SWEEP_TEXT_SIZE = 128,
  SWEEP_MESSAGE_SIZE = 256,
  SWEEP_CASES_MAX = 100 * 1000 * 1000,
};

typedef enum sweep_kind {
  SWEEP_SET,      // one value
  SWEEP_GRID,     // each of its values, with all those of the others
  SWEEP_CHOOSE,   // one of its values at random
  SWEEP_UNIFORM,  // between a and b
  SWEEP_LOG,      // the same for the logarithm
  SWEEP_NORMAL,   // mean a, standard deviation b
} sweep_kind;

typedef struct sweep_parameter {
  char name[SWEEP_NAME_SIZE];
  sweep_kind kind;
  int line;       // of the study
  bool numeric;   // all values are numbers
  int32_t count;  // values
  char** values;  // texts as they stand                                           (count)
  double a, b;    //
} sweep_parameter;

// A coordinate: q/JOINT[part] or v/JOINT[part].
typedef struct sweep_coordinate {
  bool velocity;
  int32_t index;
} sweep_coordinate;

typedef struct sweep_study {
  const char* path;
  char* text;   // the whole file
  char* scene;  // path
  char keyframe[SWEEP_NAME_SIZE];
  double duration;  // [s]
  int64_t samples;  // of the random parameters for each point of the grid
  int32_t seed;
  bool lenient, floating_base;
  double floor;  // of a URDF [m], NaN: none
  int scene_line;
  sweep_parameter parameters[SWEEP_PARAMETERS_MAX];
  int parameter_count;
  struct {
    char name[SWEEP_NAME_SIZE];
    int line;
  } measures[SWEEP_MEASURES_MAX];
  int measure_count;
  int64_t cases;
  uint64_t hash;  // of the study, the files of its scene and the program's version
} sweep_study;

typedef enum sweep_status {
  SWEEP_OK,
  SWEEP_UNCONVERGED,
  SWEEP_FAILED,
  SWEEP_STATUSES
} sweep_status;
extern const char* const sweep_status_names[];

// What a case yields; plain bytes, as they go to the journal and from rank to rank.
typedef struct sweep_row {
  int64_t index;
  int64_t status;
  double measures[SWEEP_MEASURES_MAX];  // NaN: not measured
  char message[SWEEP_MESSAGE_SIZE];
} sweep_row;

// Reads and checks a study; false: the error says "file:line: what". Values are tried on the scene.
bool sweep_study_read(const char* path, sweep_study* study, sap_error* error);
// The last part of it: every scene value with that of the first case, and every measure; the hash
// goes on with the files that are read.
bool sweep_study_try(sweep_study* study, sap_error* error);
// A line "set|grid|random NAME ...", as words.
bool sweep_study_parameter(sweep_study* study, int line, char** words, int count, sap_error* error);
void sweep_study_clear(sweep_study* study);
// Fills the error with "file:line: text" and returns false.
bool sweep_refuse(const sweep_study* study, int line, sap_error* error, const char* format, ...)
    SAP_PRINTF(4, 5);

// The value of a parameter in a case, as text; those of numbers are exact.
void sweep_value(const sweep_study* study, int parameter, int64_t index, char out[SWEEP_TEXT_SIZE]);

// All that a case is run with.
typedef struct sweep_setup {
  sap_stepper_options stepper;
  bool has_dt, has_sigma, has_beta;
  sap_material material;
  sap_scene_edit edits[SWEEP_PARAMETERS_MAX];
  int32_t edit_count;
  struct {
    const char* name;
    double value;
  } states[SWEEP_PARAMETERS_MAX];
  int state_count;
} sweep_setup;

void sweep_setup_begin(sweep_setup* setup);
// Takes a value of a parameter; both texts must outlive the setup. NULL: done; else what is wrong.
const char* sweep_setup_take(sweep_setup* setup, const char* name, const char* value);
void sweep_list_parameters(char* out, size_t size);
// Finds "q/JOINT", "v/JOINT[2]".
bool sweep_find_coordinate(const sap_model* model, const char* name, sweep_coordinate* out);
// Reads the scene with the setup, and the state that it starts from. NULL: warnings are not told.
sap_status sweep_read_scene(const cli_scene* scene, sap_message_function warning,
                            const sweep_setup* setup, sap_model** model, sap_state* state,
                            double** control, sap_error* error);
// The stepper's options: the setup's, and the scene's where it has none.
sap_stepper_options sweep_stepper_options(const sweep_setup* setup, const sap_model* model);
cli_scene sweep_study_scene(const sweep_study* study);
void sweep_case_run(const sweep_study* study, int64_t index, sweep_row* row);

// Sums over a run that measures are made from.
enum { SWEEP_HISTOGRAM = 512 };
typedef struct sweep_sums {
  int64_t histogram[SWEEP_HISTOGRAM];  // steps by their iterations, all beyond in the last
  int64_t steps, unconverged, contacts, contacts_max, iterations, iterations_max;
  double kinetic_start, potential_start, kinetic_max, penetration_max, momentum_error_max;
  double hessian_condition;  // of the last step, NaN: not asked for
} sweep_sums;
bool sweep_measure_known(const sap_model* model, const char* name);
// Does it need the condition number of the last step's Hessian?
bool sweep_measure_of_hessian(const char* name);
// " [J]"; "" of numbers and coordinates.
const char* sweep_measure_unit(const char* name);
void sweep_list_measures(char* out, size_t size);
sap_status sweep_measure(const sweep_study* study, const sweep_sums* sums, sap_multibody* multibody,
                         const sap_model* model, const sap_state* state, double* out,
                         sap_error* error);

// Finished cases on disk: rows are appended and synced one by one.
typedef struct sweep_journal sweep_journal;
// Opens or begins it and fills `rows` (study->cases; index -1: not yet done) with what it holds;
// `fresh` forgets that. Refuses another study's (ARGUMENT) and one that is being written (IO).
sap_status sweep_journal_open(const char* path, const sweep_study* study, bool fresh,
                              sweep_row* rows, sweep_journal** out, sap_error* error);
sap_status sweep_journal_add(sweep_journal* journal, const sweep_row* row, sap_error* error);
void sweep_journal_close(sweep_journal* journal);

// Runs what is not done in `jobs` threads, and in the other ranks. Returns an exit code.
int sweep_jobs_run(const sweep_study* study, int jobs, sweep_journal* journal, sweep_row* rows);

// Writes HDF5 (NULL: not) and CSV (NULL: not).
sap_status sweep_write(const sweep_study* study, const sweep_row* rows, const char* hdf5,
                       const char* csv, sap_error* error);
// Whether a chart over the grid can be drawn.
bool sweep_chart_possible(const sweep_study* study, sap_error* error);
// Each measure over a parameter of the grid, as SVG.
sap_status sweep_chart_write(const sweep_study* study, const sweep_row* rows, const char* path,
                             sap_error* error);
// Prints the summary and returns the exit code.
int sweep_print(const sweep_study* study, const sweep_row* rows);

// Ranks of an MPI run; without MPI there is one, 0. sweep_mpi_begin starts MPI only under mpirun.
void sweep_mpi_begin(void);
void sweep_mpi_end(void);
int sweep_mpi_rank(void);
int sweep_mpi_size(void);
// Whether `good` holds in all ranks, and `hash` is the same.
bool sweep_mpi_agree(bool good, uint64_t hash);
// Of rank 0: serves one rank that has finished a case or is new; false: none is waiting. `row` has
// index -1 when no case came along. Answer with the next case; -1: there is none.
bool sweep_mpi_poll(sweep_row* row, int* rank);
void sweep_mpi_answer(int rank, int64_t index);
// Of the others: hands in a row (index -1 at first) and returns the next case, -1: the end.
int64_t sweep_mpi_ask(const sweep_row* row);

#endif
