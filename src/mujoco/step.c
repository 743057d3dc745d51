// SPDX-License-Identifier: BSD-3-Clause
// The step: MuJoCo's position and velocity stages, our velocities, MuJoCo's motion.
#include <math.h>
#include <string.h>

#include "core/platform.h"
#include "mujoco/adapter.h"

enum { POSITION = 1, VELOCITY = 2, MOTION = 4 };

// One call: what runs between MuJoCo's functions says no by `status`.
typedef struct call {
  sap_mj* a;
  mjData* d;
  int stages;
  sap_mj_report* report;
  sap_error* error;
  sap_status status;
  double times[4];
  int hidden_rows;  // of constraints that MuJoCo is not to see for now
} call;

// MuJoCo goes on without the contacts and constraints that it has no room for; a step must not.
static int lost_count(const mjData* d) {
  return (int)(d->warning[mjWARN_CONTACTFULL].number + d->warning[mjWARN_CNSTRFULL].number);
}

static sap_status check_room(const mjData* d, int before, sap_error* error) {
  if (lost_count(d) == before) {
    return SAP_STATUS_OK;
  }
  const bool contacts = d->warning[mjWARN_CONTACTFULL].number > 0;
  const int kind = contacts ? (int)mjWARN_CONTACTFULL : (int)mjWARN_CNSTRFULL;
  return sap_fail(error, SAP_STATUS_STEP_FAILED, "MuJoCo: %s", sap_mj_warning_text(d, kind));
}

static void sensors(const mjModel* m, mjData* d, int stage) {
  const bool energy = (m->opt.enableflags & mjENBL_ENERGY) != 0;
  if (stage == mjSTAGE_POS) {
    mj_sensorPos(m, d);
    if (energy) {
      mj_energyPos(m, d);
    } else {
      d->energy[0] = d->energy[1] = 0.0;
    }
  } else if (stage == mjSTAGE_VEL) {
    mj_sensorVel(m, d);
    if (energy) {
      mj_energyVel(m, d);
    }
  } else {
#if SAP_MJ_SINCE(3, 5, 0)
    d->flg_rnepost = 0;
#endif
    mj_sensorAcc(m, d);
  }
}

// Velocities, passive forces and the bias. MuJoCo's reference accelerations of constraints are its
// solver's own: they are left out and zero. The rows' velocities, which sensors of limits read, are
// found here, unless the velocities of surfaces have to be added. Callbacks and plugins that make
// passive forces see all rows.
static void velocity(call* c) {
  const mjModel* s = &c->a->shadow;
  mjData* d = c->d;
  bool rows_move = (c->stages & VELOCITY) == 0;  // someone may go on from here
  rows_move = rows_move || mjcb_passive != NULL;
#if SAP_MJ_SINCE(3, 0, 0)
  rows_move = rows_move || s->nplugin > 0;
#endif
#if SAP_MJ_SINCE(3, 11, 0)
  rows_move = rows_move || s->flg_surfacevel;
#endif
  const int rows = (int)d->nefc;
  if (rows_move || rows == 0) {
    mj_fwdVelocity(s, d);
    return;
  }
  c->hidden_rows = rows;
  d->nefc = 0;
  mj_fwdVelocity(s, d);
  d->nefc = rows;
  c->hidden_rows = 0;
  mj_mulJacVec(s, d, d->efc_vel, d->qvel);
  memset(d->efc_aref, 0, (size_t)rows * sizeof(mjtNum));
}

static sap_status first_half(call* c) {
  sap_mj* a = c->a;
  mjData* d = c->d;
  SAP_TRY(sap_mj_check_state(a->model, d, c->error));
  const int lost = lost_count(d);
  SAP_TRY(sap_mj_position(a, d, c->error));
  SAP_TRY(check_room(d, lost, c->error));
  sensors(&a->shadow, d, mjSTAGE_POS);
  velocity(c);
  sensors(&a->shadow, d, mjSTAGE_VEL);
  if (mjcb_control != NULL && (a->model->opt.disableflags & mjDSBL_ACTUATION) == 0) {
    mjcb_control(a->model, d);
  }
  return SAP_STATUS_OK;
}

static void fill_report(const call* c, const sap_mj_solved* result) {
  const sap_mj* a = c->a;
  sap_mj_report* report = c->report;
  *report = (sap_mj_report){
      .velocities = a->nv,
      .trees = a->ntrees,
      .blocks = sap_problem_block_count(a->problem),
      .rows = sap_problem_row_count(a->problem),
      .solves = result->solves,
      .solver = result->solved ? &a->report : NULL,
      .problem = a->problem,
      .solution = result->solved ? &a->solution : NULL,
  };
  for (int32_t i = 0; i < a->servo_count; ++i) {
    report->servo_blocks += a->servos[i].block >= 0 && !a->servos[i].is_absorbed;
  }
  int32_t sliding = 0;
  for (int32_t i = 0; result->solved && i < a->slot_count; ++i) {
    const sap_mj_slot* slot = &a->slots[i];
    if (slot->contact < 0) {
      continue;
    }
    const mjContact* contact = &c->d->contact[slot->contact];
    report->contacts += 1;
    report->penetration = fmax(report->penetration, contact->includemargin - contact->dist);
    if (contact->dim >= 3) {
      const double* vc = a->solution.vc + slot->first_gamma;
      const double speed = sqrt(vc[0] * vc[0] + vc[1] * vc[1]);
      ++sliding;
      report->mean_slip += speed;
      if (a->solution.gamma[slot->first_gamma + 2] > 0.0) {
        report->slip = fmax(report->slip, speed);
      }
    }
  }
  report->mean_slip = sliding > 0 ? report->mean_slip / sliding : 0.0;
}

// qacc and forces.
static sap_status accelerate(call* c) {
  sap_mj* a = c->a;
  mjData* d = c->d;
  SAP_TRY(sap_mj_check_inputs(a->model, d, c->error));
  mj_fwdActuation(&a->shadow, d);
  mj_fwdAcceleration(&a->shadow, d);
  c->times[1] = sap_clock_seconds();
  sap_mj_mocap_update(a, d);
  if (a->model->neq > 0 && d->ne > 0) {
    sap_mj_bias_accelerations(a, d);
  }
  sap_mj_solved result;
  SAP_TRY(sap_mj_solve(a, d, c->times[0], &result, c->error));
  const bool solved = result.solved;
  const double* v = solved ? a->solution.v : a->v_star;
  SAP_TRY(sap_mj_check_numbers("the step's qvel", v, a->nv, c->error));
  if (a->options.contact_model == SAP_CONTACT_LAGGED) {
    SAP_TRY(sap_problem_keep_impulses(a->problem, solved ? a->solution.gamma : NULL, c->error));
  }
  sap_mj_keep_velocity(a, d, v);
  sap_mj_write_outputs(a, d, v, solved);
  c->times[2] = sap_clock_seconds() - c->times[1] - result.time;
  c->times[3] = result.time;
  sensors(&a->shadow, d, mjSTAGE_ACC);
  if (c->report != NULL) {
    fill_report(c, &result);
  }
  return SAP_STATUS_OK;
}

static void move(sap_mj* a, mjData* d) {
#if SAP_MJ_SINCE(3, 0, 0)
  (void)a;
  mj_Euler(&a->shadow, d);
#else
  mjModel still = a->shadow;  // without dampers mj_Euler takes qacc as it is
  memset(a->v_star, 0, (size_t)a->nv * sizeof(double));
  still.dof_damping = a->v_star;
  mj_Euler(&still, d);
#endif
}

static void run(void* context) {
  call* c = context;
  c->status = SAP_STATUS_OK;
  if ((c->stages & POSITION) != 0) {
    c->status = first_half(c);
  }
  if (c->status == SAP_STATUS_OK && (c->stages & VELOCITY) != 0) {
    c->status = accelerate(c);
  }
  if (c->status == SAP_STATUS_OK && (c->stages & MOTION) != 0) {
    sap_mj_mocap_keep(c->a, c->d);
    move(c->a, c->d);
  }
}

static sap_status advance(sap_mj* a, mjData* d, int stages, sap_mj_report* report,
                          sap_error* error) {
  if (a == NULL || d == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "%s is NULL", a == NULL ? "adapter" : "data");
  }
  call c = {.a = a, .d = d, .stages = stages, .report = report, .error = error};
  c.times[0] = sap_clock_seconds();
  sap_mj_refresh(a);
  SAP_TRY(sap_mj_keep_state(a, d, error));
#if SAP_MJ_SINCE(3, 0, 0)
  const size_t stack = d->pstack, base = d->pbase;
#else
  const int stack = d->pstack;
#endif
  sap_status status = sap_mj_guard(run, &c, a->guard, error);
  if (status != SAP_STATUS_OK) {
    d->pstack = stack;
#if SAP_MJ_SINCE(3, 0, 0)
    d->pbase = base;
#endif
    d->nefc = c.hidden_rows > 0 ? c.hidden_rows : d->nefc;
  } else {
    status = c.status;
  }
  if (status != SAP_STATUS_OK) {
    sap_mj_restore_state(a, d);
    return status;
  }
  if (report != NULL) {
    report->time_position = c.times[1] - c.times[0];
    report->time_assembly = c.times[2];
    report->time_solver = c.times[3];
    report->time_total = sap_clock_seconds() - c.times[0];
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_step(sap_mj* a, mjData* d, sap_mj_report* report, sap_error* error) {
  return advance(a, d, POSITION | VELOCITY | MOTION, report, error);
}

sap_status sap_mj_step1(sap_mj* a, mjData* d, sap_error* error) {
  return advance(a, d, POSITION, NULL, error);
}

sap_status sap_mj_step2(sap_mj* a, mjData* d, sap_mj_report* report, sap_error* error) {
  return advance(a, d, VELOCITY | MOTION, report, error);
}

sap_status sap_mj_forward(sap_mj* a, mjData* d, sap_mj_report* report, sap_error* error) {
  return advance(a, d, POSITION | VELOCITY, report, error);
}
