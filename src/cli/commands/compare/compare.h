// SPDX-License-Identifier: BSD-3-Clause
// Parts of `sapstep compare`: the command and its judge (compare.c), the command line and studies
// (compare_options.c), scenes stepped by a reference or by each solver (compare_run.c), quantities
// and classes (compare_quantity.c), tables and charts (compare_report.c).
#ifndef SAP_CLI_COMMANDS_COMPARE_COMPARE_H
#define SAP_CLI_COMMANDS_COMPARE_COMPARE_H

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/commands/sweep/study.h"
#include "cli/lines.h"
#include "cli/table.h"

enum {
  COMPARE_CONTENDERS_MAX = 128,
  COMPARE_VALUES_MAX = 64,
  COMPARE_QUANTITIES_MAX = 16,
  COMPARE_FORCES_MAX = 16,
  COMPARE_TEXTS_MAX = 256,
};

enum { COMPARE_LABEL_SIZE = 96 };

// Start of the contenders: nothing, the solution of the previous problem, or the guess in the file.
typedef enum compare_start { COMPARE_COLD, COMPARE_WARM, COMPARE_BOTH, COMPARE_FILE } compare_start;
extern const char* const compare_start_names[];

// A force on a body along a world axis, a formula of t [N].
typedef struct compare_force {
  const char *body, *formula;
  int axis;
} compare_force;

// A quantity of a run: NAME, NAME:STATISTIC or Y@X.
typedef enum compare_statistic {
  COMPARE_OVER_TIME,  // no statistic: a line over time
  COMPARE_MAX,
  COMPARE_MEAN,
  COMPARE_END,
  COMPARE_INTEGRAL,  // of |x| over time
} compare_statistic;
typedef struct compare_quantity {
  char name[STUDY_NAME_SIZE];
  compare_statistic statistic;
  bool drawn;         // on an axis y; else one of x only
  int over;           // the quantity on the axis x, -1: time
  const char* exact;  // formula of t, NULL: none is known
} compare_quantity;

typedef struct compare_options {
  const char* names;  // of solvers, NULL: all
  compare_start start;
  bool self, classes, summary;
  cli_scene scene;  // keyframe, floor, floating_base, lenient
  double duration;  // [s]
  int32_t every;    // steps per problem
  const char* reference;
  double reference_dt;  // [s], 0: the scene's
  study_setup setup;    // what is set
  const char* vary;     // a name for study_setup_take, NULL: nothing
  const char* values[COMPARE_VALUES_MAX];
  int value_count;  // >= 1; one of no meaning without `vary`
  compare_force forces[COMPARE_FORCES_MAX];
  int force_count;
  compare_quantity quantities[COMPARE_QUANTITIES_MAX];
  int quantity_count;
  const char *profile, *svg, *convergence, *timings, *rows;  // paths, NULL: none
  double profile_tolerance;
  cli_format format;
  char** operands;
  int operand_count;
  bool scenes;                     // the operands are scenes
  char* texts[COMPARE_TEXTS_MAX];  // that pointers above point into
  int text_count;
} compare_options;

// Residuals that tables show, in the order of compare_residuals.
enum { COMPARE_RESIDUALS = 18 };
typedef struct compare_residual {
  const char* name;  // with unit
  size_t offset;     // in sap_residual
  bool narrow;       // in tables for the eye as well
} compare_residual;
extern const compare_residual compare_residuals[COMPARE_RESIDUALS];
// Returns the scaled natural map of the nonlinear or the convex problem.
double compare_map(const sap_residual* residual, bool nonlinear);
double compare_residual_value(const sap_residual* residual, int index);

typedef struct compare_contender {
  const sap_solver_info* info;
  char name[COMPARE_LABEL_SIZE];  // with its options: "admm-ncp:penalty=fixed"
  sap_solver_options options;
  bool warm;
  bool nonlinear;  // solves the NCP: judged by that natural map
  char label[COMPARE_LABEL_SIZE];
  sap_solver* solver;
} compare_contender;

// Classes of problems by their constraints, tsounis Sec. VII-C.
typedef enum compare_class {
  COMPARE_FREE,  // no constraints
  COMPARE_INDEPENDENT_JOINTS,
  COMPARE_REDUNDANT_JOINTS,
  COMPARE_DENSE_JOINTS,
  COMPARE_SINGLE_CONTACT,
  COMPARE_SPARSE_CONTACTS,
  COMPARE_DENSE_CONTACTS,
  COMPARE_DENSE_CONSTRAINTS,
  COMPARE_CLASSES
} compare_class;
extern const char* const compare_class_names[COMPARE_CLASSES];
// Classifies the problem of a step of the model.
sap_status compare_classify(const sap_problem* problem, const sap_model* model, compare_class* out,
                            sap_error* error);

// A row of the summary: a scene, a value, a class, a contender.
typedef struct compare_group {
  int64_t problems, refused, solved_4, solved_8, iterations, iterations_max;
  double time_max;         // [s]
  double* times;           // of solves [s]                                      (problems)
  int32_t times_capacity;  //
  double worst[COMPARE_RESIDUALS];
  double penetration;  // the deepest contact or row [m]
  int64_t steps;       // --self: made
  bool failed;         // --self: a step failed
  double statistics[COMPARE_QUANTITIES_MAX];
} compare_group;

typedef struct compare_where {
  int scene, value;
  compare_class class;
  const char* name;  // of the file
  int64_t index;     // problem of the file, step of the scene
} compare_where;

typedef struct compare_convergence compare_convergence;

typedef struct compare_job {
  compare_options options;
  compare_contender contenders[COMPARE_CONTENDERS_MAX];
  int count;
  compare_group* groups;  // (scenes, values, COMPARE_CLASSES, contenders)
  int scene_count;
  profile profile;
  compare_convergence* convergence;  // NULL: none
  cli_lines lines;
  cli_table* rows;  // a row per problem and contender; NULL: not wanted
  sap_problem* problem;
  sap_solution solution, first;
  sap_report report;
} compare_job;

// Reads the command line; false: return *exit_code.
extern const cli_option compare_option_list[];
bool compare_options_read(const cli_command* command, int argc, char** argv,
                          compare_options* options, int* exit_code);
void compare_options_clear(compare_options* options);
// Reads NAME[:OPTION=VALUE...] up to a comma and moves *text behind it; the contender has default
// options. Returns NULL, or what the text must be.
const char* compare_read_solver(const char** text, compare_contender* contender);
// Expands a command line whose first operand ends in .study: the lines of the study, followed by
// its own options. Other command lines are unchanged. False: return *exit_code.
typedef struct compare_arguments {
  int argc;
  char** argv;
  char** owned;  // copies, ended by NULL; NULL: argv is the program's
} compare_arguments;
bool compare_study_expand(const cli_command* command, int argc, char** argv, compare_arguments* out,
                          int* exit_code);
void compare_arguments_clear(compare_arguments* arguments);

compare_group* compare_group_of(const compare_job* job, const compare_where* where, int contender);
// Adds a solve to a row of the summary; false: out of memory.
bool compare_count(compare_group* group, const compare_contender* contender,
                   const sap_report* report, const sap_residual* residual);
// Returns the median time of a solve [s]; NaN without problems.
double compare_median_time(const compare_group* group);
// Returns the median of the finite values, which it sorts; NaN of none.
double compare_median(double* values, int64_t count);
// Solves the problem with all contenders and computes the same residuals for each. A solver that
// does not accept the problem's blocks counts as refused.
sap_status compare_problem(compare_job* job, const sap_problem* problem, const compare_where* where,
                           double dt, sap_error* error);

// A scene about to be stepped.
typedef struct compare_run {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
  double* control;
  double dt;
  int64_t planned;  // steps
  bool refused;     // the solver does not take the scene's law of contact
  int32_t force_bodies[COMPARE_FORCES_MAX];
} compare_run;
// Make all steps by the reference, or by each solver itself; return the exit code.
int compare_scene(compare_job* job, int scene);
int compare_self(compare_job* job, int scene);

// Quantities of a run, resolved for its model.
typedef struct compare_probe {
  int kind;
  int index, component;
} compare_probe;
// Parses "NAME[:STATISTIC][@X]" and adds its quantities; false: `wrong` is what it must be.
bool compare_quantity_add(compare_options* options, char* text, const char** wrong);
sap_status compare_probe_find(const compare_quantity* quantity, const sap_model* model,
                              compare_probe* out, sap_error* error);
// The step that quantities are measured from.
typedef struct compare_sample {
  const sap_step_report* report;
  const sap_residual* residual;  // NULL: there was no block
  double deviation;              // [m, rad], NaN: no reference
  const sap_state* start;        // of the run
} compare_sample;
sap_status compare_probe_value(const compare_probe* probe, compare_run* run,
                               const compare_sample* sample, double* out, sap_error* error);
// Writes a label, "energy [J]".
void compare_quantity_label(const compare_quantity* quantity, char out[COMPARE_LABEL_SIZE]);

sap_status compare_convergence_add(compare_job* job, const sap_problem* problem, sap_error* error);
sap_status compare_convergence_write(compare_job* job, sap_error* error);
void compare_convergence_destroy(compare_convergence* convergence);

sap_status compare_timings_write(compare_job* job, sap_error* error);
sap_status compare_self_write(compare_job* job, sap_error* error);

// Writes the file and its folder: "unitree_go1/scene.xml".
void compare_scene_name(const char* path, char out[COMPARE_LABEL_SIZE]);
cli_table* compare_rows_create(void);
void compare_rows_add(compare_job* job, const compare_contender* contender,
                      const compare_where* where, const sap_problem* problem,
                      const sap_residual* residual, double difference);
// Prints the summary; false: out of memory.
bool compare_print_summary(const compare_job* job);

#endif
