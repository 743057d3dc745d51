// SPDX-License-Identifier: BSD-3-Clause
// sapstep sweep: runs a scene over grids and random values of parameters. Cases run in threads and
// MPI ranks, and are kept in a journal.
#include "cli/commands/sweep/study.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/files.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/file.h"

// --- MPI ranks: only the main thread calls MPI; without it there is one rank, 0 ---

static int mpi_rank, mpi_size = 1;

#ifdef SAPSTEP_MPI
#include <mpi.h>

// Starts MPI if mpirun of Open MPI or MPICH's Hydra started the program.
static void study_mpi_begin(void) {
  int provided;
  if (getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_SIZE") != NULL) {
    (void)MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &mpi_rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &mpi_size);
  }
}

static void study_mpi_end(void) {
  int begun = 0;
  (void)MPI_Initialized(&begun);
  if (begun != 0) {
    (void)MPI_Finalize();
  }
}

#else

// Ranks that cannot talk would all do the same work and write the same files.
static void study_mpi_begin(void) {
  const char* size = getenv("OMPI_COMM_WORLD_SIZE");
  if (size != NULL && atoi(size) > 1) {
    cli_message("this build has no MPI: install libopenmpi-dev and build again");
    _Exit(CLI_USAGE);  // no library has failed
  }
}

#endif

// True if `good` is true and `hash` is the same in all ranks.
static bool study_mpi_agree(bool good, uint64_t hash) {
  // The largest of h and of ~h tell whether all h are equal.
  uint64_t all[3] = {good ? 0u : 1u, hash, ~hash};
#ifdef SAPSTEP_MPI
  if (mpi_size > 1) {
    (void)MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  }
#endif
  return all[0] == 0 && all[1] == ~all[2];
}

// --- cases ---
//
// Threads of rank 0 and all other ranks take the next case when they are free.
// Rows are stored by case, so that the table does not depend on the threads.

typedef struct jobs {
  const study_spec* study;
  FILE* journal;
  study_row* rows;
  pthread_mutex_t mutex;  // of all below
  int64_t next, done;
  sap_error error;  // of the journal
  progress bar;
  int away;  // ranks that have not been sent home
} jobs;

// Returns the next case that is not done; -1: none.
static int64_t take_case(jobs* j) {
  int64_t index = -1;
  (void)pthread_mutex_lock(&j->mutex);
  if (!interrupt_came() && j->error.status == SAP_STATUS_OK) {
    while (j->next < j->study->cases && j->rows[j->next].index >= 0) {
      ++j->next;
    }
    if (j->next < j->study->cases) {
      index = j->next++;
    }
  }
  (void)pthread_mutex_unlock(&j->mutex);
  return index;
}

// Keeps a finished row, or frees its series.
static void keep_row(jobs* j, study_row* row) {
  (void)pthread_mutex_lock(&j->mutex);
  if (row->index >= 0 && study_journal_add(j->journal, j->study, row, &j->error) == SAP_STATUS_OK) {
    j->rows[row->index] = *row;
    row->series = NULL;
    ++j->done;
  }
  (void)pthread_mutex_unlock(&j->mutex);
  free(row->series);
}

static void run_cases(void* context) {
  jobs* j = context;
  study_row row;
  int64_t index;
  while ((index = take_case(j)) >= 0) {
    study_case_run(j->study, index, &row);
    keep_row(j, &row);
  }
}

#ifdef SAPSTEP_MPI
// Rank 0: takes the row of each rank that has finished a case or is new (index -1), and answers
// with the next case; -1: there is none. Returns the number of ranks that were sent home.
static int serve(jobs* j) {
  int waiting = 0, home = 0;
  MPI_Status status;
  for (;;) {
    (void)MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &waiting, &status);
    if (waiting == 0) {
      return home;
    }
    const int rank = status.MPI_SOURCE;
    study_row row = {0};
    (void)MPI_Recv(&row, STUDY_ROW_SIZE, MPI_BYTE, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const size_t size = study_series_size(j->study, &row);
    row.series = cli_allocate(size, 1);
    (void)MPI_Recv(row.series, (int)size, MPI_BYTE, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    keep_row(j, &row);
    const int64_t index = take_case(j);
    (void)MPI_Send(&index, 1, MPI_INT64_T, rank, 0, MPI_COMM_WORLD);
    home += index < 0 ? 1 : 0;
  }
}

// Other ranks: hand in a row and run the case of the answer, until there is none.
static void serve_rank_0(const study_spec* study) {
  study_row row = {.index = -1};
  for (int64_t index = 0;;) {
    (void)MPI_Send(&row, STUDY_ROW_SIZE, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    (void)MPI_Send(row.series, (int)study_series_size(study, &row), MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    (void)MPI_Recv(&index, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    free(row.series);
    if (index < 0) {
      return;
    }
    study_case_run(study, index, &row);
  }
}
#endif

// Serves the ranks and draws the progress. False: all ranks were sent home.
static bool watch(void* context) {
  jobs* j = context;
#ifdef SAPSTEP_MPI
  j->away -= j->away > 0 ? serve(j) : 0;
#endif
  const struct timespec pause = {.tv_nsec = j->away > 0 ? 500 * 1000 : 10 * 1000 * 1000};
  (void)nanosleep(&pause, NULL);
  if (progress_due(&j->bar)) {
    char note[64];
    (void)pthread_mutex_lock(&j->mutex);
    const int64_t done = j->done;
    (void)pthread_mutex_unlock(&j->mutex);
    (void)snprintf(note, sizeof note, "%lld of %lld cases", (long long)done,
                   (long long)j->study->cases);
    progress_draw(&j->bar, (double)done / (double)j->study->cases, note);
  }
  return j->away > 0;
}

static int run_jobs(const study_spec* study, int count, FILE* journal, study_row* rows) {
#ifdef SAPSTEP_MPI
  if (mpi_rank > 0) {
    serve_rank_0(study);
    return CLI_OK;
  }
#endif
  jobs j = {.study = study, .journal = journal, .rows = rows, .away = mpi_size - 1};
  for (int64_t i = 0; i < study->cases; ++i) {
    j.done += rows[i].index >= 0 ? 1 : 0;
  }
  (void)pthread_mutex_init(&j.mutex, NULL);
  progress_begin(&j.bar);
  cli_run_threads(count, run_cases, watch, &j);
  progress_end(&j.bar);
  (void)pthread_mutex_destroy(&j.mutex);
  SAP_RETURN_IF(j.error.status != SAP_STATUS_OK, cli_report(&j.error));
  return j.done == study->cases ? CLI_OK : CLI_UNCONVERGED;
}

// --- the command ---

typedef struct study_options {
  const char *study, *output, *csv, *svg, *lines;
  int32_t jobs;  // 0: choose
  bool restart;
} study_options;

#define AT(member) .offset = offsetof(study_options, member)
static const cli_option option_list[] = {
    {"output", "FILE", "write the table as HDF5, also -o (the study's name with .h5)", CLI_PATH,
     AT(output)},
    {"csv", "FILE", "write the table as CSV, too", CLI_PATH, AT(csv)},
    {"svg", "FILE", "write a chart: plots, and measures over the longest grid of numbers", CLI_PATH,
     AT(svg)},
    {"lines", "FILE", "write the lines of that chart as CSV", CLI_PATH, AT(lines)},
    {"jobs", "N", "cases at the same time (one per processor; 1 under mpirun)", CLI_INTEGER,
     AT(jobs), 1, 256},
    {"restart", NULL, "discard the finished cases of an earlier run", CLI_FLAG, AT(restart)},
    {0},
};

static int count_jobs(const study_options* o) {
  const long processors = mpi_size > 1 ? 1 : sysconf(_SC_NPROCESSORS_ONLN);
  return o->jobs > 0 ? o->jobs : processors > 0 && processors < 256 ? (int)processors : 1;
}

// Writes the tables and removes the journal (rank 0, after the cases).
static int finish(const study_spec* study, const study_options* o, const char* output,
                  const char* journal, const study_row* rows, int code) {
  sap_error error = {0};
  if (code == CLI_UNCONVERGED) {
    cli_message("%s; the finished cases are kept in '%s': the same command continues from there",
                interrupt_came() ? "interrupted" : "cases could not be run", journal);
  }
  if (code != CLI_OK) {
    return code;
  }
  SAP_RETURN_IF(study_write(study, rows, output, o->csv, &error) != SAP_STATUS_OK ||
                    study_chart_write(study, rows, o->svg, o->lines, &error) != SAP_STATUS_OK,
                cli_report(&error));
  (void)remove(journal);
  return study_print(study, rows);
}

// Checks names of outputs: the table is named after the study, the journal after the table.
static sap_status check_outputs(const study_spec* study, const study_options* o, const char* output,
                                const char* journal, sap_error* error) {
  const cli_path paths[] = {
      {"the study", o->study, CLI_PATH_READ},  {"the scene", study->scene, CLI_PATH_READ},
      {"the table", output, CLI_PATH_WRITTEN}, {"the journal", journal, CLI_PATH_WRITTEN},
      {"--csv", o->csv, CLI_PATH_WRITTEN},     {"--svg", o->svg, CLI_PATH_WRITTEN},
      {"--lines", o->lines, CLI_PATH_WRITTEN}};
  SAP_FAIL_IF(o->output == NULL && sap_file_regular(o->study, NULL) != SAP_STATUS_OK, error,
              SAP_STATUS_ARGUMENT,
              "a study from a pipe gives the table no name: --output is needed");
  struct stat info;
  SAP_FAIL_IF(stat(output, &info) == 0 && !S_ISREG(info.st_mode), error, SAP_STATUS_IO,
              "cannot write the table '%.300s': not a regular file", output);
  return cli_check_paths(paths, (int)(sizeof paths / sizeof *paths), error);
}

// Runs a study that all ranks have read.
static int execute(const study_spec* study, const study_options* o) {
  const char* output = o->output != NULL ? o->output : cli_sibling_path(o->study, ".h5");
  char* path = strcat(strcpy(cli_new(strlen(output) + 16, 1), output), ".journal");
  study_row* rows = cli_new((size_t)study->cases, sizeof *rows);
  FILE* journal = NULL;
  sap_error error = {0};
  int code = CLI_OK;
  if (mpi_rank == 0 &&
      (check_outputs(study, o, output, path, &error) != SAP_STATUS_OK ||
       study_journal_open(path, study, o->restart, rows, &journal, &error) != SAP_STATUS_OK)) {
    code = cli_report(&error);
  }
  if (study_mpi_agree(code == CLI_OK, study->hash)) {
    code = run_jobs(study, count_jobs(o), journal, rows);
    if (mpi_rank == 0) {
      code = finish(study, o, output, path, rows, code);
    }
  } else if (code == CLI_OK) {
    code = CLI_FILE;  // another rank said why
  }
  if (journal != NULL) {
    (void)fclose(journal);
  }
  return code;
}

static int sweep(const cli_command* command, int argc, char** argv) {
  study_options options = {0};
  sap_error error = {0};
  cli_parser parser;
  int code;
  SAP_RETURN_IF(!cli_parse(&parser, command, &options, argc, argv), parser.exit_code);
  options.study = parser.operands[0];
  SAP_RETURN_IF(strstr(options.study, ".xml") != NULL || strstr(options.study, ".urdf") != NULL,
                cli_usage_error(command, "'%s' is a scene: write a study with the line 'scene %s'",
                                options.study, options.study));
  study_spec* study = cli_new(1, sizeof *study);
  study_mpi_begin();
  const bool good = study_read(options.study, study, &error) &&
                    ((options.svg == NULL && options.lines == NULL) ||
                     study_chart_check(study, &error) == SAP_STATUS_OK);
  if (!good && mpi_rank == 0) {
    (void)cli_report(&error);
  }
  code = CLI_FILE;
  interrupt_catch();
  if (study_mpi_agree(good, study->hash)) {
    code = execute(study, &options);
  } else if (good && mpi_rank == 0) {
    cli_message("the ranks read different studies or scenes");
  }
#ifdef SAPSTEP_MPI
  study_mpi_end();
#endif
  return code;
}

const cli_command cli_command_sweep = {
    .name = "sweep",
    .operands = "STUDY",
    .summary = "run a scene over grids and random values of parameters",
    .text = cli_text_sweep,
    .options = option_list,
    .run = sweep,
};
