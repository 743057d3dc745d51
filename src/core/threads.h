// SPDX-License-Identifier: BSD-3-Clause
// A few threads that wait for work. Jobs are numbered; which thread does which is left to chance,
// so a job may touch only what belongs to its number.
#ifndef SAP_CORE_THREADS_H
#define SAP_CORE_THREADS_H

#include "core/error.h"

enum { SAP_THREADS_MAX = 256 };

typedef struct sap_threads sap_threads;
typedef void sap_task(void* context, int32_t job);
typedef void sap_part_task(void* context, int32_t first, int32_t end);

// `count` >= 1 threads in all, the caller's among them: 1 starts none. MEMORY also when the system
// gives no more threads.
sap_status sap_threads_create(int32_t count, sap_threads** out, sap_error* error);
// The same threads for another owner, who destroys them too: the last one ends them. NULL: NULL.
sap_threads* sap_threads_share(sap_threads* threads);
void sap_threads_destroy(sap_threads* threads);
int32_t sap_threads_count(const sap_threads* threads);  // NULL: 1
// `count` threads in place of *threads, unless there are as many: 1 is NULL. Those that there are
// stay where it fails.
sap_status sap_threads_set_count(sap_threads** threads, int32_t count, sap_error* error);
// Threads that others have, or NULL, in place of *to.
void sap_threads_lend(sap_threads** to, sap_threads* threads);

// task(context, job) for all jobs from 0 to njobs - 1; returns when all are done. From one thread
// at a time, and not from within a task. threads NULL: one after the other. The caller takes jobs
// from 0 on, the others from the last one back. After a run they look out for the next one for some
// 200 us before they sleep, where there is a processor for each thread.
void sap_threads_run(sap_threads* threads, int32_t njobs, sap_task* task, void* context);

// Into how many jobs `items` are best divided that take about `work` instructions together: some
// for each thread, so that one that comes late does not hold up the rest, and one where all is too
// little to be shared.
int32_t sap_threads_divide(const sap_threads* threads, int32_t items, int64_t work);
// task(context, first, end) for parts of the items 0 ... items - 1, divided like that. The parts
// depend on the threads: what is found for an item must not depend on its part.
void sap_threads_run_parts(sap_threads* threads, int32_t items, int64_t work, sap_part_task* task,
                           void* context);

// The first item of a job; that of job `njobs` is `items`.
static inline int32_t sap_job_first(int32_t items, int32_t njobs, int32_t job) {
  return (int32_t)((int64_t)items * job / njobs);
}

#endif
