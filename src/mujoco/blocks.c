// SPDX-License-Identifier: BSD-3-Clause
// MuJoCo's constraints as blocks of the problem: limits and dry friction here, contacts and
// equalities in contacts.c and equality.c.
#include <math.h>

#include "core/memory.h"
#include "mujoco/adapter.h"

uint64_t sap_mj_blocks_key(const sap_mj* a, int32_t kind, int32_t first, int32_t second,
                           int32_t ordinal) {
  if (!a->options.remember) {
    return 0;
  }
  const uint64_t key = (uint64_t)kind << 60 | (uint64_t)(uint32_t)first << 36 |
                       (uint64_t)(uint32_t)second << 12 | (uint64_t)(uint32_t)(ordinal & 0xfff);
  return key ^
         (a->blocks.epoch * UINT64_C(0x9e3779b97f4a7c15));  // sap_mj_forget starts a new epoch
}

sap_status sap_mj_blocks_add_slot(sap_mj* a, int32_t contact, int32_t first, int32_t count,
                                  sap_error* error) {
  SAP_TRY(SAP_ROOM(&a->pool, &a->blocks.slots, a->blocks.slot_count + 1, error));
  a->blocks.slots[a->blocks.slot_count++] =
      (sap_mj_slot){contact, first, count, sap_problem_row_count(a->problem)};
  return SAP_STATUS_OK;
}

const char* sap_mj_blocks_name(const mjModel* m, int type, int32_t id) {
  const char* name = mj_id2name(m, type, id);
  return name != NULL ? name : "";
}

sap_status sap_mj_blocks_add_row(sap_mj* a, int32_t ntrees, const sap_mj_row_law* law, uint64_t key,
                                 sap_error* error) {
  const sap_block block = {.set = law->set,
                           .nrows = 1,
                           .ntrees = ntrees,
                           .trees = a->rows.trees,
                           .jacobians = a->rows.parts,
                           .R = &law->R,
                           .v_hat = &law->v_hat,
                           .lower = &law->lower,
                           .upper = &law->upper,
                           .key = key};
  return sap_problem_add_block(a->problem, &block, error);
}

sap_status sap_mj_blocks_add_compliant(sap_mj* a, int32_t ntrees, sap_compliant_row* row,
                                       uint64_t key, sap_error* error) {
  sap_mj_row_law law = {.set = SAP_SET_NONNEGATIVE};
  SAP_TRY(sap_problem_delassus_scale(a->problem, 1, ntrees, a->rows.trees, a->rows.parts, &row->w,
                                     error));
  if (!(row->w > 0.0)) {
    --a->blocks.slot_count;
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_problem_compliant_law(a->problem, &a->options.regularization, row, &law.R, &law.v_hat,
                                    error));
  return sap_mj_blocks_add_row(a, ntrees, &law, key, error);
}

static sap_mj_row trimmed_row(const sap_mj* a, const mjData* d, int32_t row) {
  return sap_mj_row_trim(a, sap_mj_constraint_row(&a->shadow, d, row));
}

// Returns true if a limit can be left out: it has no impulse while J v >= v_hat = -g0/h, and
// neither v0 nor v* comes near that. The detection range of a tenth puts many limits into
// MuJoCo's list. sap_mj_blocks_check_limits checks the solution, which is the same as with all of
// them.
static bool is_far(sap_mj* a, const mjData* d, const sap_mj_row* row,
                   const sap_compliant_row* limit, double* bound) {
  static const double share = 0.5;  // of the velocity that reaches the limit
  *bound = -limit->g0 / a->model->opt.timestep;
  const double near = share * *bound;
  return !a->blocks.all_limits && limit->g0 > 0.0 && sap_mj_row_times(row, d->qvel) > near &&
         sap_mj_row_times(row, a->momentum.v_star) > near;
}

bool sap_mj_blocks_check_limits(sap_mj* a, const mjData* d, const double* v) {
  for (int32_t i = 0; i < a->blocks.far_limit_count; ++i) {
    const sap_mj_row row = trimmed_row(a, d, a->blocks.far_limits[i].row);
    if (!(sap_mj_row_times(&row, v) >= a->blocks.far_limits[i].bound)) {
      a->blocks.all_limits = true;
      return true;
    }
  }
  return false;
}

static sap_status add_limit(sap_mj* a, const mjData* d, int32_t row, sap_error* error) {
  const bool tendon = d->efc_type[row] == mjCNSTR_LIMIT_TENDON;
  const int32_t id = d->efc_id[row];
  const double damping =
      tendon ? a->elements.tendon_damping[id] : a->elements.dof_damping[a->model->jnt_dofadr[id]];
  const sap_mj_law* law = &(tendon ? a->materials.tendons : a->materials.joints)[id];
  const sap_mj_row source = trimmed_row(a, d, row);
  sap_compliant_row limit = {.stiffness = law->stiffness,
                             .relaxation_time = law->relaxation_time,
                             .g0 = d->efc_pos[row] - d->efc_margin[row],
                             .damper = a->options.implicit ? a->model->opt.timestep * damping : 0.0,
                             .recovery_speed = isinf(law->stiffness) ? SAP_RECOVERY_SPEED : 0.0,
                             .unilateral = true};
  double bound;
  if (is_far(a, d, &source, &limit, &bound)) {
    SAP_TRY(SAP_ROOM(&a->pool, &a->blocks.far_limits, a->blocks.far_limit_count + 1, error));
    a->blocks.far_limits[a->blocks.far_limit_count++] = (sap_mj_far_limit){row, bound};
    return SAP_STATUS_OK;
  }
  int32_t ntrees;
  SAP_TRY(sap_mj_rows_gather(a, &source, 1, &ntrees, error));
  SAP_RETURN_IF(ntrees == 0, SAP_STATUS_OK);
  SAP_TRY(sap_mj_blocks_add_slot(a, -1, row, 1, error));
  // The sign of the row tells the lower limit of a joint from the upper one.
  const int32_t side = source.values[0] > 0.0 ? 1 : 2;
  return sap_mj_blocks_add_compliant(
      a, ntrees, &limit, sap_mj_blocks_key(a, SAP_MJ_KEY_LIMIT, id, tendon, side), error);
}

static sap_status add_friction(sap_mj* a, const mjData* d, int32_t row, sap_error* error) {
  const sap_mj_row source = trimmed_row(a, d, row);
  int32_t ntrees;
  SAP_TRY(sap_mj_rows_gather(a, &source, 1, &ntrees, error));
  SAP_RETURN_IF(ntrees == 0, SAP_STATUS_OK);
  double w = 0.0;
  SAP_TRY(sap_mj_blocks_add_slot(a, -1, row, 1, error));
  SAP_TRY(
      sap_problem_delassus_scale(a->problem, 1, ntrees, a->rows.trees, a->rows.parts, &w, error));
  const double most = a->model->opt.timestep * d->efc_frictionloss[row];
  const int32_t tendon = d->efc_type[row] == mjCNSTR_FRICTION_TENDON;
  const sap_mj_row_law law = {SAP_SET_BOX, a->options.regularization.sigma * w, 0.0, -most, most};
  return sap_mj_blocks_add_row(
      a, ntrees, &law, sap_mj_blocks_key(a, SAP_MJ_KEY_FRICTION, d->efc_id[row], tendon, 0), error);
}

// Returns the number of rows of the equality that begins at row `first`.
static int32_t equality_rows(const mjData* d, int32_t first) {
  int32_t count = 1;
  while (first + count < (int32_t)d->nefc && d->efc_type[first + count] == mjCNSTR_EQUALITY &&
         d->efc_id[first + count] == d->efc_id[first]) {
    ++count;
  }
  return count;
}

sap_status sap_mj_blocks_add(sap_mj* a, const mjData* d, sap_error* error) {
  const mjModel* m = a->model;
  a->blocks.slot_count = 0;
  a->blocks.far_limit_count = 0;
  sap_status status = sap_mj_contacts_add(a, d, error);  // the solver orders them first
  for (int32_t row = 0; status == SAP_STATUS_OK && row < (int32_t)d->nefc; ++row) {
    const int32_t id = d->efc_id[row];
    switch (d->efc_type[row]) {
      case mjCNSTR_EQUALITY: {
        const int32_t count = equality_rows(d, row);
        status = sap_mj_equality_add(a, d, row, count, error);
        if (status != SAP_STATUS_OK) {
          sap_error_prefix(error, "equality %d '%s'", id,
                           sap_mj_blocks_name(m, mjOBJ_EQUALITY, id));
        }
        row += count - 1;
        break;
      }
      case mjCNSTR_FRICTION_DOF:
      case mjCNSTR_FRICTION_TENDON:
        status = add_friction(a, d, row, error);
        break;
      case mjCNSTR_LIMIT_JOINT:
      case mjCNSTR_LIMIT_TENDON:
        status = add_limit(a, d, row, error);
        if (status != SAP_STATUS_OK) {
          sap_error_prefix(error, "limit of %s %d",
                           d->efc_type[row] == mjCNSTR_LIMIT_JOINT ? "joint" : "tendon", id);
        }
        break;
      default:
        break;  // contacts have been added
    }
  }
  return status;
}
