// SPDX-License-Identifier: BSD-3-Clause
// What recording every step costs: bench_recorder SCENE STEPS FILE [COMPRESSION]. Prints processor
// time of steps and of recording, and the memory that the process holds as the run goes on.
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <sapstep/sapstep.h>

enum { LINES = 10 };

static double processor_time(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
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

static sap_status create(bench* b, const char* scene, const char* path, int32_t compression,
                         sap_error* error) {
  sap_scene_options reading = sap_scene_options_default();
  sap_stepper_options options = sap_stepper_options_default();
  sap_recorder_options recording = sap_recorder_options_default();
  reading.lenient = true;
  recording.compression = compression >= 0 ? compression : recording.compression;
  sap_status status = sap_scene_read(scene, &reading, &b->model, error);
  if (status == SAP_STATUS_OK) {
    options.dt = sap_model_get_options(b->model)->timestep;
    options.regularization = sap_model_get_options(b->model)->regularization;
    status = sap_multibody_create(b->model, &b->multibody, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(b->multibody), &options, &b->stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_default_state(b->model, &b->state, error);
  }
  return status == SAP_STATUS_OK
             ? sap_recorder_create(path, b->model, &recording, &b->recorder, error)
             : status;
}

static sap_status measure(bench* b, long steps, sap_error* error) {
  double stepping = 0.0, recording = 0.0;
  sap_status status = SAP_STATUS_OK;
  (void)printf("%12s %14s %14s %10s %14s\n", "rows", "step us", "record us", "share", "memory kB");
  for (long i = 1; status == SAP_STATUS_OK && i <= steps; ++i) {
    sap_step_report report;
    const double start = processor_time();
    status = sap_stepper_step(b->stepper, &b->state, &report, error);
    const double middle = processor_time();
    if (status == SAP_STATUS_OK) {
      status = sap_multibody_collect(b->multibody, &report, error);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_recorder_write(b->recorder, b->multibody, &b->state, &report, error);
    }
    stepping += middle - start;
    recording += processor_time() - middle;
    if (i * LINES % steps < LINES) {
      (void)printf("%12ld %14.3f %14.3f %9.2f%% %14ld\n", i, 1e6 * stepping / (double)i,
                   1e6 * recording / (double)i, 100.0 * recording / stepping, resident());
    }
  }
  return status;
}

int main(int argc, char** argv) {
  const long steps = argc >= 4 ? strtol(argv[2], NULL, 10) : 0;
  if (steps < LINES) {
    (void)fprintf(stderr, "usage: bench_recorder SCENE STEPS FILE [COMPRESSION]\n");
    return 2;
  }
  bench b = {0};
  sap_error error = {0};
  const int32_t compression = argc > 4 ? (int32_t)strtol(argv[4], NULL, 10) : -1;
  sap_status status = create(&b, argv[1], argv[3], compression, &error);
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
