// SPDX-License-Identifier: BSD-3-Clause
// Threads that wait for work. Jobs are numbered and run on any thread, so that a job may write only
// to data of its number.
#pragma once

#include "core/error.h"

enum { SAP_THREADS_MAX = 256 };

typedef struct sap_threads sap_threads;
typedef void sap_task(void* context, int32_t job);

// Creates `count` >= 1 threads, including the caller's: 1 starts none. fails: MEMORY, also if the
// system refuses more threads.
sap_status sap_threads_create(int32_t count, sap_threads** out, sap_error* error);
void sap_threads_destroy(sap_threads* threads);
// Replaces *threads by `count` threads, unless it has as many; 1 thread is NULL. On failure
// *threads is unchanged.
sap_status sap_threads_set_count(sap_threads** threads, int32_t count, sap_error* error);

// Runs task(context, job) for all jobs from 0 to njobs - 1 and returns when all are done. Call it
// from one thread at a time, not from within a task. threads NULL: the jobs run in order. The
// caller takes jobs from 0 on, the others from the last one back. After a run the threads spin for
// about 200 us before they sleep, if every thread has a core.
void sap_threads_run(sap_threads* threads, int32_t njobs, sap_task* task, void* context);
