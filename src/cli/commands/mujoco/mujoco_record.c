// SPDX-License-Identifier: BSD-3-Clause
// Rows of recordings. mjData contains contacts and forces at the start of the step and the state at
// its end. Poses and energies at the end are computed in separate data, so that recording does not
// change a run.
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "cli/commands/mujoco/mujoco.h"
#include "mujoco/compat.h"
#include "mujoco/contacts.h"

struct mujoco_record {
  const mjModel* model;
  mjData* look;  // poses and energies
  sap_recorder* recorder;
  sap_contact* contacts;
  sap_recorded_force* forces;
  mjtNum* row_velocity;  // of all constraint rows
  int32_t contact_room, force_room, row_room;
};

// Numbers used by /constraint/id.
enum {
  KIND_LOWER = 0,
  KIND_UPPER,
  KIND_TENDON_LOWER,
  KIND_TENDON_UPPER,
  KIND_FRICTION,
  KIND_TENDON_FRICTION,
  KIND_EQUALITY = 8
};

static void make_data(void* context) {
  mujoco_record* record = context;
  record->look = mj_makeData(record->model);
}

sap_status mujoco_record_open(const char* path, const mjModel* model,
                              const sap_recorder_options* options, mujoco_record** out,
                              sap_error* error) {
  *out = NULL;
  mujoco_record* record = cli_new(1, sizeof *record);
  record->model = model;
  mujoco_description description = {0};
  sap_status status = sap_mj_call(make_data, record, error);
  mujoco_describe(model, &description);
  SAP_THEN(status, sap_recorder_create_foreign(path, &description.model, options, &record->recorder,
                                               error));
  if (status != SAP_STATUS_OK) {
    (void)mujoco_record_close(record, NULL);
    return status;
  }
  *out = record;
  return SAP_STATUS_OK;
}

sap_status mujoco_record_close(mujoco_record* record, sap_error* error) {
  if (record == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_recorder_close(record->recorder, error);
  if (record->look != NULL) {
    mj_deleteData(record->look);
  }
  return status;
}

// Computes kinematics, energies and momentum of the state.
static void look_at(mujoco_record* record, const mjData* d, sap_recorded_row* row) {
  const mjModel* m = record->model;
  mjData* look = record->look;
  memcpy(look->qpos, d->qpos, (size_t)m->nq * sizeof(mjtNum));
  memcpy(look->qvel, d->qvel, (size_t)m->nv * sizeof(mjtNum));
  if (m->nmocap > 0) {
    memcpy(look->mocap_pos, d->mocap_pos, 3 * (size_t)m->nmocap * sizeof(mjtNum));
    memcpy(look->mocap_quat, d->mocap_quat, 4 * (size_t)m->nmocap * sizeof(mjtNum));
  }
  mj_kinematics(m, look);
  mj_comPos(m, look);
  mj_tendon(m, look);
#if SAP_MJ_SINCE(3, 3, 3)
  mj_makeM(m, look);
#else
  mj_crb(m, look);
#endif
  mj_comVel(m, look);
  sap_mj_measure_energy(m, look);
  mj_subtreeVel(m, look);
  double gravity = 0.0;
  for (int b = 1; b < (int)m->nbody && (m->opt.disableflags & mjDSBL_GRAVITY) == 0; ++b) {
    gravity -= m->body_mass[b] * mju_dot3(m->opt.gravity, look->xipos + 3 * b);
  }
  row->energy[0] = look->energy[1];
  row->energy[1] = gravity;
  row->energy[2] = look->energy[0] - gravity;
  mju_scl3(row->momentum, look->subtree_linvel, m->body_subtreemass[0]);
  mju_cross(row->momentum + 3, look->subtree_com, row->momentum);
  mju_addTo3(row->momentum + 3, look->subtree_angmom);
  row->p_WB = look->xpos;
  row->q_WB = look->xquat;
}

// Converts MuJoCo's row velocities to those of a contact's rows [n t1 t2 spin roll1 roll2].
static void decode(const mjModel* m, const mjContact* c, const mjtNum* rows, double out[6]) {
  if (c->dim == 1 || !mj_isPyramidal(m)) {
    for (int i = 0; i < c->dim; ++i) {
      out[i] = rows[i];
    }
    return;
  }
  out[0] = 0.5 * (rows[0] + rows[1]);
  for (int j = 0; j < c->dim - 1; ++j) {  // n + mu t, n - mu t
    out[j + 1] =
        c->friction[j] > 0.0 ? (rows[2 * j] - rows[2 * j + 1]) / (2.0 * c->friction[j]) : 0.0;
  }
}

static void fill_contact(const mujoco_record* record, const mjData* d, int32_t index,
                         sap_contact* out) {
  static const int ours[6] = {1, 2, 0, 3, 4, 5};  // of MuJoCo's n t1 t2 spin roll1 roll2
  const mjModel* m = record->model;
  const mjContact* c = &d->contact[index];
  const double h = m->opt.timestep;
  double velocity[6] = {0.0};
  mjtNum force[6] = {0.0};
  *out = (sap_contact){.condim = c->dim, .phi = c->dist - c->includemargin};
  out->shape_A = c->geom1;
  out->shape_B = c->geom2;
  out->body_A = m->geom_bodyid[c->geom1];
  out->body_B = m->geom_bodyid[c->geom2];
  memcpy(out->point, c->pos, sizeof out->point);
  memcpy(out->R_WC, c->frame + 3, 6 * sizeof(double));
  memcpy(out->R_WC + 6, c->frame, 3 * sizeof(double));
  memcpy(out->friction, c->friction, (size_t)(c->dim - 1) * sizeof(double));
  if (sap_mj_patches_stiffness(c) > 0.0) {
    out->patch = 1 - (int32_t)c->solimp[2];  // from this point on
    out->area = sap_mj_patches_area(c);
  }
  decode(m, c, record->row_velocity + c->efc_address, velocity);
  mj_contactForce(m, d, index, force);
  for (int r = 0; r < 6; ++r) {
    out->vc[r] = velocity[ours[r]];
    out->gamma[r] = h * force[ours[r]];
  }
}

static void find_contacts(mujoco_record* record, const mjData* d, sap_recorded_row* row) {
  CLI_GROW(&record->contacts, &record->contact_room, (int32_t)d->ncon);
  CLI_GROW(&record->row_velocity, &record->row_room, (int32_t)d->nefc);
  if (d->nefc > 0) {
    // The function takes non-const data, but writes only the stack.
    mjData* data = (mjData*)(uintptr_t)d;
    mj_mulJacVec(record->model, data, record->row_velocity, d->qvel);
  }
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    const mjContact* c = &d->contact[i];
    if (c->exclude != 0 || c->efc_address < 0) {
      continue;
    }
    sap_contact* to = &record->contacts[row->contact_count];
    fill_contact(record, d, i, to);
    const bool again =
        row->contact_count > 0 && to[-1].shape_A == to->shape_A && to[-1].shape_B == to->shape_B;
    to->feature = again ? to[-1].feature + 1 : 0;
    row->contact_count += 1;
  }
  row->contacts = record->contacts;
}

// True if a limit's row is that of the lower limit; the limit of a ball joint is an upper one.
static bool is_lower(const mjModel* m, const mjData* d, int32_t row) {
  const int id = d->efc_id[row];
  if (d->efc_type[row] == mjCNSTR_LIMIT_TENDON) {
    const double to_lower = d->ten_length[id] - m->tendon_range[2 * id];
    const double to_upper = m->tendon_range[2 * id + 1] - d->ten_length[id];
    return fabs(d->efc_pos[row] - to_lower) < fabs(d->efc_pos[row] - to_upper);
  }
  const sap_mj_row jacobian = sap_mj_constraint_row(m, d, row);
  for (int32_t k = 0; m->jnt_type[id] != mjJNT_BALL && k < jacobian.count; ++k) {
    const int32_t column = jacobian.columns != NULL ? jacobian.columns[k] : k;
    if (column == m->jnt_dofadr[id]) {
      return jacobian.values[k] > 0.0;
    }
  }
  return false;
}

static sap_recorded_force describe_force(const mjModel* m, const mjData* d, int32_t row) {
  const int id = d->efc_id[row];
  const double force = d->efc_force[row];
  switch (d->efc_type[row]) {
    case mjCNSTR_FRICTION_DOF:
      return (sap_recorded_force){KIND_FRICTION, m->dof_jntid[id], id, force};
    case mjCNSTR_FRICTION_TENDON:
      return (sap_recorded_force){KIND_TENDON_FRICTION, id, 0, force};
    case mjCNSTR_LIMIT_JOINT:
      return (sap_recorded_force){is_lower(m, d, row) ? KIND_LOWER : KIND_UPPER, id, 0, force};
    case mjCNSTR_LIMIT_TENDON:
      return (sap_recorded_force){is_lower(m, d, row) ? KIND_TENDON_LOWER : KIND_TENDON_UPPER, id,
                                  0, force};
    default:
      return (sap_recorded_force){KIND_EQUALITY, id, 0, force};
  }
}

static void find_forces(mujoco_record* record, const mjData* d, sap_recorded_row* row) {
  CLI_GROW(&record->forces, &record->force_room, (int32_t)d->nefc);
  int32_t first = 0;  // row of the equality that this row belongs to
  for (int32_t i = 0; i < (int32_t)d->nefc; ++i) {
    const int type = d->efc_type[i];
    const bool contact = type >= mjCNSTR_CONTACT_FRICTIONLESS;
    first = i > 0 && type == d->efc_type[i - 1] && d->efc_id[i] == d->efc_id[i - 1] ? first : i;
    if (contact || d->efc_force[i] == 0.0) {
      continue;
    }
    sap_recorded_force* to = &record->forces[row->force_count++];
    *to = describe_force(record->model, d, i);
    to->row += type == mjCNSTR_EQUALITY ? i - first : 0;
  }
  row->forces = record->forces;
}

sap_status mujoco_record_row(mujoco_record* record, const mjData* d, const sap_mj_report* report,
                             sap_error* error) {
  sap_recorded_row row = {.t = d->time,
                          .q = d->qpos,
                          .v = d->qvel,
                          .act = d->act,
                          .actuator_force = report != NULL ? d->actuator_force : NULL,
                          .sensor = d->sensordata};
  find_contacts(record, d, &row);
  if (report != NULL) {
    find_forces(record, d, &row);
    row.stepped = true;
    row.solver = report->solver;
    row.constraint_rows = report->rows;
    row.dt = record->model->opt.timestep;
    row.time_total = report->time_total;
    row.time_solver = report->time_solver;
  }
  look_at(record, d, &row);
  return sap_recorder_write_row(record->recorder, &row, error);
}
