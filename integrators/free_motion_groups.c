// SPDX-License-Identifier: BSD-3-Clause
// Groups side by side.
#include "integrators/free_motion_data.h"

typedef struct groups_task {
  sap_free_motion* fm;
  sap_group_task* task;
  const void* context;
} groups_task;

static void run_groups(void* context, int32_t first, int32_t end) {
  const groups_task* of = context;
  for (int32_t g = first; g < end; ++g) {
    of->task(of->fm, g, of->context);
  }
}

void sap_free_motion_each_group(sap_free_motion* fm, int32_t work, sap_group_task* task,
                                const void* context) {
  groups_task of = {fm, task, context};
  sap_threads_run_parts(fm->balance.threads, fm->factor.ngroups, (int64_t)work * fm->system->nv,
                        run_groups, &of);
}

sap_status sap_free_motion_factor_status(sap_free_motion* fm, sap_error* error) {
  for (int32_t g = 0; g < fm->factor.ngroups; ++g) {
    const sap_status failed = fm->group_status[g];
    if (failed != SAP_STATUS_OK) {
      const sap_status again = sap_momentum_factor_group(&fm->factor, g, &fm->balance.A, error);
      return again != SAP_STATUS_OK
                 ? again
                 : sap_fail(error, failed, "no factor of A of group %d of trees", g);
    }
  }
  return SAP_STATUS_OK;
}
