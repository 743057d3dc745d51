// SPDX-License-Identifier: BSD-3-Clause
// Equalities of flexes: rows that keep edge lengths or strains. All of them rigid, a triangulated
// sheet could not bend: without a stiffness of their own (negative solref) they are as soft as
// MuJoCo has them at rest. Its law a + R f = -B v - K d r is a spring and a damper
//   k = K d/R,  tau_d = B/(K d)
// with its constants in efc_KBIP and efc_R.
#include <math.h>

#include "mujoco/adapter.h"

bool sap_mj_equality_is_of_flex(const mjModel* m, int32_t equality) {
#if SAP_MJ_SINCE(3, 0, 0)
  return m->eq_type[equality] >= mjEQ_FLEX && m->eq_type[equality] < mjEQ_DISTANCE;
#else
  (void)m;
  (void)equality;
  return false;
#endif
}

// Stiffness and relaxation time of a row.
static void find_law(const sap_mj* a, const mjData* d, int32_t row, sap_compliant_row* soft) {
  const double* law = a->equality_law + 2 * d->efc_id[row];
  soft->stiffness = law[0];
  soft->relaxation_time = law[1];
  if (isinf(law[0])) {
    const mjtNum* constants = d->efc_KBIP + 4 * row;
    const double slope = constants[0] * constants[2];
    soft->stiffness = slope / d->efc_R[row];
    soft->relaxation_time = constants[1] / slope;
  }
}

sap_status sap_mj_add_flex_equality(sap_mj* a, const mjData* d, int32_t first, int32_t count,
                                    sap_error* error) {
  for (int32_t r = first; r < first + count; ++r) {
    const sap_mj_row row = sap_mj_constraint_row(&a->shadow, d, r);
    const int32_t ntrees = sap_mj_gather(a, &row, 1, error);
    if (ntrees < 0) {
      return SAP_STATUS_MEMORY;
    }
    if (ntrees == 0) {
      continue;
    }
    sap_compliant_row soft = {.g0 = d->efc_pos[r]};
    find_law(a, d, r, &soft);
    SAP_TRY(sap_mj_add_slot(a, -1, r, 1, error));
    const uint64_t key = sap_mj_key(a, SAP_MJ_KEY_FLEX_EQUALITY, d->efc_id[r], r - first, 0);
    SAP_TRY(sap_mj_add_compliant_row(a, ntrees, &soft, key, error));
  }
  return SAP_STATUS_OK;
}
