// SPDX-License-Identifier: BSD-3-Clause
// The step: MuJoCo's position and velocity stages, our velocities, MuJoCo's motion.
#include <math.h>
#include <string.h>

#include "core/platform.h"
#include "mujoco/adapter.h"
#include "solvers/report.h"

enum { POSITION = 1, VELOCITY = 2, MOTION = 4 };

// One call of a public function; `status` is set inside the guard.
typedef struct call {
  sap_mj* a;
  mjData* d;
  int stages;
  sap_mj_report* report;
  sap_error* error;
  sap_status status;
  double times[4];
  int hidden_rows;  // constraint rows hidden from MuJoCo at the moment
} call;

static int lost_count(const mjData* d) {
  return (int)(d->warning[mjWARN_CONTACTFULL].number + d->warning[mjWARN_CNSTRFULL].number);
}

// Fails with STEP_FAILED if MuJoCo has dropped contacts or constraints for lack of room.
static sap_status check_room(const mjData* d, int before, sap_error* error) {
  if (lost_count(d) == before) {
    return SAP_STATUS_OK;
  }
  const bool contacts = d->warning[mjWARN_CONTACTFULL].number > 0;
  const int kind = contacts ? (int)mjWARN_CONTACTFULL : (int)mjWARN_CNSTRFULL;
  return sap_fail(error, SAP_STATUS_STEP_FAILED, "MuJoCo: %s", sap_mj_warning_text(d, kind));
}

static void update_sensors(const mjModel* m, mjData* d, int stage) {
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

// Finds velocities, passive forces and the bias. The reference accelerations of constraints serve
// MuJoCo's own solver only: they are skipped and set to zero, with the rows hidden from MuJoCo. The
// rows' velocities, which sensors of limits read, are found here. MuJoCo sees the rows if surfaces
// move, or if callbacks and plugins make passive forces.
static void update_velocity(call* c) {
  const mjModel* s = &c->a->shadow;
  mjData* d = c->d;
  bool rows_move = (c->stages & VELOCITY) == 0;  // the caller may continue with mj_step2
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

static sap_status update_position(call* c) {
  sap_mj* a = c->a;
  mjData* d = c->d;
  SAP_TRY(sap_mj_state_check(a->model, d, c->error));
  const int lost = lost_count(d);
  SAP_TRY(sap_mj_position_update(a, d, c->error));
  SAP_TRY(check_room(d, lost, c->error));
  update_sensors(&a->shadow, d, mjSTAGE_POS);
  update_velocity(c);
  update_sensors(&a->shadow, d, mjSTAGE_VEL);
  if (mjcb_control != NULL && (a->model->opt.disableflags & mjDSBL_ACTUATION) == 0) {
    mjcb_control(a->model, d);
  }
  return SAP_STATUS_OK;
}

// Error of an island below which a solve that stalls or reaches the iteration limit still makes a
// step. A looser tolerance of the caller replaces it.
#define ACCEPTED_ERROR 1e-3

static sap_status look_ahead(sap_mj* a, mjData* d, const double* v, bool is_solution, bool* added,
                             sap_error* error) {
  const int lost = lost_count(d);
  SAP_TRY(sap_mj_ahead_add(a, d, v, is_solution, added, error));
  return check_room(d, lost, error);
}

// Assembles A, v* and the blocks for the current choice of servos in A and in blocks.
static sap_status assemble(sap_mj* a, mjData* d, sap_error* error) {
  bool added = false;
  sap_mj_momentum_add_mass(a, d);
  SAP_TRY(sap_mj_momentum_add_elements(a, d, error));
  SAP_TRY(sap_mj_servos_add(a, error));
  SAP_TRY(sap_mj_momentum_set_problem(a, d, error));
  SAP_TRY(look_ahead(a, d, a->momentum.v_star, false, &added, error));
  SAP_TRY(sap_mj_servos_add_blocks(a, error));
  return sap_mj_blocks_add(a, d, error);
}

static sap_status solve(sap_mj* a, double began, sap_error* error) {
  const double limit = a->options.solver_options.time_limit;
  if (limit > 0.0) {  // the solver has what is left of it, at least 1 ns
    const double left = limit - (sap_clock_seconds() - began);
    SAP_TRY(sap_solver_set_time_limit(a->solver, fmax(left, 1e-9), error));
  }
  SAP_TRY(sap_solver_solve(a->solver, a->problem, &a->solution, &a->report, error));
  SAP_TRY(sap_solver_settle_lags(a->solver, a->problem, &a->solution, &a->report, error));
  const double accepted = fmax(ACCEPTED_ERROR, a->options.solver_options.relative_tolerance);
  return sap_report_check(&a->report, accepted, error);
}

typedef struct step_result {
  bool solved;  // there were blocks: v is a->solution.v, else a->momentum.v_star
  int32_t solves;
  double time;  // in the solver [s]
} step_result;

static const double* end_velocity(const sap_mj* a, const step_result* result) {
  return result->solved ? a->solution.v : a->momentum.v_star;
}

// Solves the contact problem of a step that began at that time (core/platform.h). Solves again
// while a servo met its range, or v reached a limit or closed a contact that was left out.
static sap_status solve_step(sap_mj* a, mjData* d, double began, step_result* out,
                             sap_error* error) {
  *out = (step_result){0};
  sap_mj_contacts_begin(a);
  a->blocks.all_limits = false;
  sap_mj_elements_update(a, d);
  SAP_TRY(sap_mj_servos_find(a, d, error));
  bool again = true;
  while (again) {
    SAP_TRY(assemble(a, d, error));
    out->solved = sap_problem_block_count(a->problem) > 0;
    if (out->solved) {
      SAP_TRY(solve(a, began, error));
      out->time += a->report.time;
    }
    ++out->solves;
    const double* v = end_velocity(a, out);
    const bool servos = sap_mj_servos_check(a, v), limits = sap_mj_blocks_check_limits(a, d, v);
    SAP_TRY(look_ahead(a, d, v, true, &again, error));
    again = again || servos || limits;
  }
  return SAP_STATUS_OK;
}

// Writes the forces of a contact's rows, [t1 t2 n ...] / h. A pyramidal model has forces along its
// edges, from which mj_contactForce finds n and t again:
//   p_2j,2j+1 = (n/(dim - 1) +- t_j/mu_j)/2
static void write_contact(const sap_mj* a, mjData* d, const sap_mj_slot* slot,
                          const double* gamma) {
  static const int32_t ours[6] = {2, 0, 1, 3, 4, 5};  // row of MuJoCo's [n t1 t2 spin roll1 roll2]
  const mjContact* c = &d->contact[slot->contact];
  const double rate = 1.0 / a->model->opt.timestep;
  mjtNum* force = d->efc_force + slot->first_row;
  double unscaled[6];
  if (c->dim > 1 && (c->dim > 3 || c->friction[0] != c->friction[1])) {  // see sap_friction_scales
    double scales[6];
    (void)sap_friction_scales(c->friction, c->dim, scales);
    for (int32_t i = 0; i < c->dim; ++i) {
      unscaled[i] = scales[i] * gamma[i];
    }
    gamma = unscaled;
  }
  if (c->dim == 1 || !mj_isPyramidal(&a->shadow)) {
    for (int32_t i = 0; i < c->dim; ++i) {
      force[i] = rate * gamma[c->dim == 1 ? 0 : ours[i]];
    }
    return;
  }
  const double share = rate * gamma[2] / (double)(c->dim - 1);
  for (int32_t j = 0; j < c->dim - 1; ++j) {
    const double edge = rate * gamma[ours[j + 1]] / c->friction[j];
    force[2 * j] = 0.5 * (share + edge);
    force[2 * j + 1] = 0.5 * (share - edge);
  }
}

static void write_constraints(const sap_mj* a, mjData* d, bool solved) {
  const double rate = 1.0 / a->model->opt.timestep;
  if (d->nefc == 0) {
    memset(d->qfrc_constraint, 0, (size_t)a->nv * sizeof(mjtNum));
    return;
  }
  memset(d->efc_force, 0, (size_t)d->nefc * sizeof(mjtNum));
  for (int32_t i = 0; solved && i < a->blocks.slot_count; ++i) {
    const sap_mj_slot* slot = &a->blocks.slots[i];
    const double* gamma = a->solution.gamma + slot->first_gamma;
    if (slot->contact >= 0) {
      write_contact(a, d, slot, gamma);
      continue;
    }
    for (int32_t r = 0; r < slot->nrows; ++r) {
      d->efc_force[slot->first_row + r] = rate * gamma[r];
    }
  }
  for (int32_t i = 0; i < (int32_t)d->nefc; ++i) {
    d->efc_state[i] =
        d->efc_force[i] != 0.0 ? (int)mjCNSTRSTATE_QUADRATIC : (int)mjCNSTRSTATE_SATISFIED;
  }
  if (solved && a->blocks.slot_count == sap_problem_block_count(a->problem)) {
    for (int32_t i = 0; i < a->nv; ++i) {
      d->qfrc_constraint[i] = rate * a->solution.impulse[i];
    }
  } else {  // servos and far limits have impulses of their own
    mj_mulJacTVec(&a->shadow, d, d->qfrc_constraint, d->efc_force);
  }
}

// Writes the forces of springs and dampers at the end of the step:
//   F - (h k + b)(v - v0) - h k v0
static void write_passive(sap_mj* a, mjData* d, const double* v) {
  const mjModel* m = a->model;
  const sap_mj_elements* elements = &a->elements;
  const double h = m->opt.timestep;
  for (int32_t i = 0; i < a->nv; ++i) {
    const double k = elements->dof_stiffness[i], b = elements->dof_damping[i];
    const double spring = h * k * v[i], damper = b * (v[i] - d->qvel[i]);
    d->qfrc_passive[i] -= spring + damper;
#if SAP_MJ_SINCE(3, 4, 0)
    d->qfrc_spring[i] -= spring;
    d->qfrc_damper[i] -= damper;
#endif
  }
  for (int32_t t = 0; a->options.implicit && t < (int32_t)m->ntendon; ++t) {
    const double k = elements->tendon_stiffness[t], b = elements->tendon_damping[t];
    if (!(k > 0.0 || b > 0.0)) {
      continue;
    }
    const sap_mj_row row = sap_mj_tendon_row(&a->shadow, d, t);
    const double V = sap_mj_row_times(&row, v), V0 = sap_mj_row_times(&row, d->qvel);
    sap_mj_row_add(&row, -(h * k * V + b * (V - V0)), d->qfrc_passive);
#if SAP_MJ_SINCE(3, 4, 0)
    sap_mj_row_add(&row, -h * k * V, d->qfrc_spring);
    sap_mj_row_add(&row, -b * (V - V0), d->qfrc_damper);
#endif
  }
}

// Writes what mj_fwdConstraint would have written, and the forces of springs, dampers and servos at
// the end of the step:
//   qacc   = (v - v0)/h
//   M qacc = qfrc_smooth + qfrc_constraint
static void write_outputs(sap_mj* a, mjData* d, const double* v, bool solved) {
  const double rate = 1.0 / a->model->opt.timestep;
  write_constraints(a, d, solved);
  for (int32_t i = 0; i < a->nv; ++i) {
    d->qacc[i] = rate * (v[i] - d->qvel[i]);
    d->qacc_warmstart[i] = d->qacc[i];
    d->qfrc_smooth[i] -= d->qfrc_passive[i] + d->qfrc_actuator[i];
  }
  write_passive(a, d, v);
  sap_mj_servos_write(a, d, v);
  for (int32_t i = 0; i < a->nv; ++i) {
    d->qfrc_smooth[i] += d->qfrc_passive[i] + d->qfrc_actuator[i];
  }
  const int iterations = solved ? a->report.iterations : 0;
#if SAP_MJ_SINCE(3, 0, 0)
  d->solver_niter[0] = iterations;
#else
  d->solver_iter = iterations;
#endif
}

static void fill_report(const call* c, const step_result* result) {
  const sap_mj* a = c->a;
  sap_mj_report* report = c->report;
  *report = (sap_mj_report){
      .velocities = a->nv,
      .trees = a->trees.count,
      .blocks = sap_problem_block_count(a->problem),
      .rows = sap_problem_row_count(a->problem),
      .solves = result->solves,
      .solver = result->solved ? &a->report : NULL,
      .problem = a->problem,
      .solution = result->solved ? &a->solution : NULL,
  };
  for (int32_t i = 0; i < a->servos.count; ++i) {
    report->servo_blocks += a->servos.list[i].block >= 0 && !a->servos.list[i].is_absorbed;
  }
  int32_t sliding = 0;
  for (int32_t i = 0; result->solved && i < a->blocks.slot_count; ++i) {
    const sap_mj_slot* slot = &a->blocks.slots[i];
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

// Finds the velocities at the end of the step; writes qacc and forces.
static sap_status update_acceleration(call* c) {
  sap_mj* a = c->a;
  mjData* d = c->d;
  SAP_TRY(sap_mj_state_check_inputs(a->model, d, c->error));
  mj_fwdActuation(&a->shadow, d);
  mj_fwdAcceleration(&a->shadow, d);
  c->times[1] = sap_clock_seconds();
  sap_mj_mocap_update(a, d);
  if (a->model->neq > 0 && d->ne > 0) {
    sap_mj_equality_update_bias(a, d);
  }
  step_result result;
  SAP_TRY(solve_step(a, d, c->times[0], &result, c->error));
  const bool solved = result.solved;
  const double* v = end_velocity(a, &result);
  SAP_TRY(sap_mj_state_check_numbers("the step's qvel", v, a->nv, c->error));
  if (a->options.contact_model == SAP_CONTACT_LAGGED) {
    SAP_TRY(sap_problem_keep_impulses(a->problem, solved ? a->solution.gamma : NULL, c->error));
  }
  sap_mj_momentum_save_velocity(a, d, v);
  write_outputs(a, d, v, solved);
  c->times[2] = sap_clock_seconds() - c->times[1] - result.time;
  c->times[3] = result.time;
  update_sensors(&a->shadow, d, mjSTAGE_ACC);
  if (c->report != NULL) {
    fill_report(c, &result);
  }
  return SAP_STATUS_OK;
}

// Moves the state with qacc.
static void move(sap_mj* a, mjData* d) {
#if SAP_MJ_SINCE(3, 0, 0)
  (void)a;
  mj_Euler(&a->shadow, d);
#else
  mjModel still = a->shadow;  // without dampers mj_Euler uses qacc unchanged
  memset(a->momentum.v_star, 0, (size_t)a->nv * sizeof(double));
  still.dof_damping = a->momentum.v_star;
  mj_Euler(&still, d);
#endif
}

static sap_status run_stages(call* c) {
  if ((c->stages & POSITION) != 0) {
    SAP_TRY(update_position(c));
  }
  if ((c->stages & VELOCITY) != 0) {
    SAP_TRY(update_acceleration(c));
  }
  if ((c->stages & MOTION) != 0) {
    if (!(c->a->mocap.interval > 0.0)) {
      sap_mj_mocap_save(c->a, c->d);
    }
    move(c->a, c->d);
  }
  return SAP_STATUS_OK;
}

static void run_guarded(void* context) {
  call* c = context;
  c->status = run_stages(c);
}

// Runs the stages of one call under the guard. A failure leaves the state as it was.
static sap_status advance(sap_mj* a, mjData* d, int stages, sap_mj_report* report,
                          sap_error* error) {
  SAP_FAIL_IF(a == NULL || d == NULL, error, SAP_STATUS_ARGUMENT, "%s is NULL",
              a == NULL ? "adapter" : "data");
  call c = {.a = a, .d = d, .stages = stages, .report = report, .error = error};
  c.times[0] = sap_clock_seconds();
  sap_mj_refresh(a);
  SAP_TRY(sap_mj_state_save(a, d, error));
#if SAP_MJ_SINCE(3, 0, 0)
  const size_t stack = d->pstack, base = d->pbase;
#else
  const int stack = d->pstack;
#endif
  sap_status status = sap_mj_guard(run_guarded, &c, &a->guard, error);
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
    sap_mj_state_load(a, d);
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
