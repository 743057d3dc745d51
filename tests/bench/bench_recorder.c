// SPDX-License-Identifier: BSD-3-Clause
// Cost of recording every step: bench_recorder SCENE STEPS FILE [COMPRESSION [THREAD]]. Prints
// time per row as the run goes on: wall clock and processor time of the thread that steps, in steps
// and in recording; processor time of the recorder's thread; and the memory that the process holds.
// THREAD 0: all is done by the calls.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <sapstep/sapstep.h>

#include "bench_clock.h"

enum { LINES = 10 };

// Clocks of the stepping thread.
typedef struct reading {
  double wall, processor;
} reading;

static reading look(void) {
  return (reading){bench_seconds(CLOCK_MONOTONIC), bench_seconds(CLOCK_THREAD_CPUTIME_ID)};
}

// Difference of two consecutive readings: reading the processor time is a system call.
static reading cost_of_looking(void) {
  enum { TIMES = 20000 };
  const reading start = look();
  reading end = start;
  for (int i = 0; i < TIMES; ++i) {
    end = look();
  }
  return (reading){(end.wall - start.wall) / TIMES, (end.processor - start.processor) / TIMES};
}

static void add(reading* sum, reading from, reading to) {
  sum->wall += to.wall - from.wall;
  sum->processor += to.processor - from.processor;
}

// Resident memory [kB], from Linux.
static long resident(void) {
  long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file != NULL) {
    if (fscanf(file, "%*s %ld", &pages) != 1) {
      pages = 0;
    }
    (void)fclose(file);
  }
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

typedef struct bench {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_recorder* recorder;
  sap_state state;
} bench;

static sap_status create(bench* b, const char* scene, const char* path,
                         const sap_recorder_options* recording, sap_error* error) {
  sap_scene_options lenient = sap_scene_options_default();
  sap_stepper_options options = sap_stepper_options_default();
  lenient.lenient = true;
  sap_status status = sap_scene_read(scene, &lenient, &b->model, error);
  if (status == SAP_STATUS_OK) {
    options.dt = sap_model_get_options(b->model)->timestep;
    options.regularization = sap_model_get_options(b->model)->regularization;
    status = sap_multibody_create(b->model, &b->multibody, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(b->multibody), &options, &b->stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(b->model, &b->state, error);
  }
  return status == SAP_STATUS_OK
             ? sap_recorder_create(path, b->model, recording, &b->recorder, error)
             : status;
}

static void print_line(long rows, const reading* step, const reading* record, double others) {
  const double us = 1e6 / (double)rows;
  (void)printf("%10ld %9.2f %9.2f %9.2f %9.2f %8.2f%% %8.2f%% %9.2f %10ld\n", rows, us * step->wall,
               us * step->processor, us * record->wall, us * record->processor,
               100.0 * record->wall / step->wall, 100.0 * record->processor / step->processor,
               us * others, resident());
}

static sap_status measure(bench* b, long steps, sap_error* error) {
  reading step = {0.0, 0.0}, record = {0.0, 0.0};
  sap_status status = SAP_STATUS_OK;
  const reading looking = cost_of_looking();
  (void)printf("%10s %9s %9s %9s %9s %9s %9s %9s %10s\n", "rows", "step us", "cpu", "record us",
               "cpu", "share", "cpu", "thread us", "memory kB");
  const double others =
      bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - bench_seconds(CLOCK_THREAD_CPUTIME_ID);
  for (long i = 1; status == SAP_STATUS_OK && i <= steps; ++i) {
    sap_step_report report;
    const reading start = look();
    status = sap_stepper_step(b->stepper, &b->state, &report, error);
    const reading middle = look();
    if (status == SAP_STATUS_OK) {
      status = sap_multibody_collect(b->multibody, &report, error);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_recorder_write(b->recorder, b->multibody, &b->state, &report, error);
    }
    add(&step, start, middle);
    add(&record, middle, look());
    step = (reading){step.wall - looking.wall, step.processor - looking.processor};
    record = (reading){record.wall - looking.wall, record.processor - looking.processor};
    if (i * LINES % steps < LINES) {
      print_line(i, &step, &record,
                 bench_seconds(CLOCK_PROCESS_CPUTIME_ID) - bench_seconds(CLOCK_THREAD_CPUTIME_ID) -
                     others);
    }
  }
  return status;
}

int main(int argc, char** argv) {
  const long steps = argc >= 4 ? strtol(argv[2], NULL, 10) : 0;
  if (steps < LINES) {
    (void)fprintf(stderr, "usage: bench_recorder SCENE STEPS FILE [COMPRESSION [THREAD]]\n");
    return 2;
  }
  bench b = {0};
  sap_error error = {0};
  sap_recorder_options recording = sap_recorder_options_default();
  recording.compression = argc > 4 ? (int32_t)strtol(argv[4], NULL, 10) : recording.compression;
  recording.no_thread = argc > 5 && strtol(argv[5], NULL, 10) == 0;
  sap_status status = create(&b, argv[1], argv[3], &recording, &error);
  if (status == SAP_STATUS_OK) {
    status = measure(&b, steps, &error);
  }
  const sap_status closed = sap_recorder_close(b.recorder, status == SAP_STATUS_OK ? &error : NULL);
  status = status == SAP_STATUS_OK ? closed : status;
  if (status != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
  }
  sap_state_clear(&b.state);
  sap_stepper_destroy(b.stepper);
  sap_multibody_destroy(b.multibody);
  sap_model_destroy(b.model);
  return status == SAP_STATUS_OK ? 0 : 1;
}
