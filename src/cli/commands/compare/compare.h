// SPDX-License-Identifier: BSD-3-Clause
// Parts of `sapstep compare`: the command, its judge and the problems of files and scenes
// (compare.c), the command line (compare_options.c), classes of problems (compare_classes.c), tables
// and charts (compare_report.c).
#ifndef SAP_CLI_COMMANDS_COMPARE_COMPARE_H
#define SAP_CLI_COMMANDS_COMPARE_COMPARE_H

#include <sapstep/sapstep.h>

#include "cli/command.h"
#include "cli/lines.h"
#include "cli/residual_list.h"
#include "cli/scene.h"
#include "cli/table.h"

enum { COMPARE_CONTENDERS_MAX = 128, COMPARE_SCENES_MAX = 64 };
enum { COMPARE_LABEL_SIZE = 96 };

// Start of the contenders: nothing, or the solution of the previous problem.
typedef enum compare_start { COMPARE_COLD, COMPARE_WARM, COMPARE_BOTH } compare_start;
extern const char* const compare_start_names[];

typedef struct compare_options {
  const char* names;  // of solvers, NULL: all
  compare_start start;
  bool classes, summary;
  cli_scene scene;
  double duration;  // [s]
  int32_t every;    // steps per problem
  sap_stepper_options stepper;
  const char *convergence, *timings, *rows;  // paths, NULL: none
  cli_format format;
  char** operands;
  int operand_count;
  bool scenes;  // the operands are scenes
} compare_options;

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
compare_class compare_classify(const sap_problem* problem, const sap_model* model);

// A row of the summary: a scene, a class, a contender.
typedef struct compare_group {
  int64_t problems, refused, solved_4, solved_8, iterations, iterations_max;
  double time_max;         // [s]
  double* times;           // of solves [s]                                      (problems)
  int32_t times_capacity;  //
  double worst[CLI_RESIDUALS];
  double penetration;  // the deepest contact or row [m]
} compare_group;

typedef struct compare_where {
  int scene;
  compare_class class;
  const char* name;  // of the file
  int64_t index;     // problem of the file, step of the scene
} compare_where;

typedef struct compare_convergence compare_convergence;

typedef struct compare_job {
  compare_options options;
  compare_contender contenders[COMPARE_CONTENDERS_MAX];
  int count;
  compare_group* groups;  // (scenes, COMPARE_CLASSES, contenders)
  int scene_count;
  compare_convergence* convergence;  // NULL: none
  cli_table* rows;                   // a row per problem and contender; NULL: not wanted
  sap_problem* problem;
  sap_solution solution, first;
  sap_report report;
} compare_job;

// Reads the command line; false: return *exit_code.
extern const cli_option compare_option_list[];
bool compare_options_read(const cli_command* command, int argc, char** argv,
                          compare_options* options, int* exit_code);
// Returns the default of an option of the stepper or solvers.
double compare_default(const sap_option* option);
// Reads NAME[:OPTION=VALUE...] up to a comma and moves *text behind it; the contender has default
// options. Returns NULL, or what the text must be.
const char* compare_read_solver(const char** text, compare_contender* contender);

compare_group* compare_group_of(const compare_job* job, const compare_where* where, int contender);
// Returns the median time of a solve [s]; NaN without problems.
double compare_median_time(const compare_group* group);
// Returns the median of the finite values, which it sorts; NaN of none.
double compare_median(double* values, int64_t count);
sap_status compare_convergence_add(compare_job* job, const sap_problem* problem, sap_error* error);
sap_status compare_convergence_write(compare_job* job, sap_error* error);

sap_status compare_timings_write(compare_job* job, sap_error* error);

// Writes the file and its folder: "unitree_go1/scene.xml".
void compare_scene_name(const char* path, char out[COMPARE_LABEL_SIZE]);
cli_table* compare_rows_create(void);
void compare_rows_add(compare_job* job, const compare_contender* contender,
                      const compare_where* where, const sap_problem* problem,
                      const sap_residual* residual, double difference);
void compare_print_summary(const compare_job* job);

#endif
