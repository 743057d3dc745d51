// SPDX-License-Identifier: BSD-3-Clause
// A few threads that wait for work. Jobs are numbered; which thread does which is left to chance,
// so a job may touch only what belongs to its number.
#ifndef SAP_CORE_THREADS_H
#define SAP_CORE_THREADS_H

#include "core/error.h"

typedef struct sap_threads sap_threads;
typedef void sap_task(void* context, int32_t job);

// `count` >= 1 threads in all, the caller's among them: 1 starts none. MEMORY also when the system
// gives no more threads.
sap_status sap_threads_create(int32_t count, sap_threads** out, sap_error* error);
void sap_threads_destroy(sap_threads* threads);
// task(context, job) for all jobs from 0 to njobs - 1; returns when all are done. From one thread
// at a time, and not from within a task. threads NULL: one after the other.
void sap_threads_run(sap_threads* threads, int32_t njobs, sap_task* task, void* context);

#endif
