// SPDX-License-Identifier: BSD-3-Clause
// Predictive control by sampling (MPPI): before each control step a batch of rollouts starts from
// the state measured, each with its own noise on the plan, and the plan becomes their mean,
// weighted by exp(-cost). A cart swings its pole up and balances it. mpc_cart_pole SCENE [threads]
// The same run in one and in several threads must come to the same bits: rollouts depend on the
// state alone (sap_stepper_forget), and threads change nothing.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/multibody.h>
#include <sapstep/scene.h>

enum { ROLLOUTS = 48, HORIZON = 40, TICKS = 150, COMPARED = 25 };

static const double dt = 0.02, force = 15.0, noise = 5.0, temperature = 0.5;
static const double deadline = 1.0;  // of a step [s]; on a robot: what the control period leaves

typedef struct controller {
  sap_batch* batch;
  sap_state states[ROLLOUTS];
  double plan[HORIZON];
  double controls[HORIZON][ROLLOUTS];
  double cost[ROLLOUTS];
  uint64_t seed;
} controller;

// Normally distributed, by the sum of twelve uniform numbers.
static double random_normal(uint64_t* seed) {
  double sum = -6.0;
  for (int i = 0; i < 12; ++i) {
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    sum += (double)(*seed >> 11) / 9007199254740992.0;
  }
  return sum;
}

// q = (cart [m], angle from hanging [rad])
static double running_cost(const sap_state* s, double u) {
  const double upright = 1.0 + cos(s->q[1]);
  return dt * (20.0 * upright + 0.3 * s->v[1] * s->v[1] * exp(-5.0 * upright) +
               2.0 * s->q[0] * s->q[0] + 0.1 * s->v[0] * s->v[0] + 1e-3 * u * u);
}

static sap_status roll_out(controller* c, const sap_state* now, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (int i = 0; i < ROLLOUTS && status == SAP_STATUS_OK; ++i) {
    status = sap_state_copy(now, &c->states[i], error);
    sap_stepper_forget(sap_batch_stepper(c->batch, i));
    c->cost[i] = 0.0;
    for (int k = 0; k < HORIZON; ++k) {  // the first one tries the plan as it is
      const double u = c->plan[k] + (i > 0 ? noise * random_normal(&c->seed) : 0.0);
      c->controls[k][i] = fmax(-force, fmin(force, u));
    }
  }
  for (int k = 0; k < HORIZON && status == SAP_STATUS_OK; ++k) {
    status = sap_batch_step(c->batch, c->states, c->controls[k], 1, NULL, error);
    for (int i = 0; i < ROLLOUTS; ++i) {
      c->cost[i] += running_cost(&c->states[i], c->controls[k][i]);
    }
  }
  return status;
}

// The control of this step; the plan moves on by one.
static sap_status control(controller* c, const sap_state* now, double* u, sap_error* error) {
  const sap_status status = roll_out(c, now, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  double least = c->cost[0], sum = 0.0, weight[ROLLOUTS];
  for (int i = 1; i < ROLLOUTS; ++i) {
    least = fmin(least, c->cost[i]);
  }
  for (int i = 0; i < ROLLOUTS; ++i) {
    weight[i] = exp(-(c->cost[i] - least) / temperature);
    sum += weight[i];
  }
  for (int k = 0; k < HORIZON; ++k) {
    c->plan[k] = 0.0;
    for (int i = 0; i < ROLLOUTS; ++i) {
      c->plan[k] += weight[i] / sum * c->controls[k][i];
    }
  }
  *u = c->plan[0];
  memmove(c->plan, c->plan + 1, (HORIZON - 1) * sizeof c->plan[0]);
  return SAP_STATUS_OK;
}

typedef struct outcome {
  double q[2], v[2];   // after COMPARED steps
  double worst_angle;  // from upright in the last half second [rad]
  int late;            // steps that met the deadline
} outcome;

static sap_status run(const sap_model* model, int32_t threads, int ticks, outcome* out,
                      sap_error* error) {
  static controller c;
  c = (controller){.seed = 1};
  sap_multibody* robot = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  sap_status status = sap_batch_create(model, &options, ROLLOUTS, threads, &c.batch, error);
  for (int i = 0; i < ROLLOUTS && status == SAP_STATUS_OK; ++i) {
    status = sap_state_resize(&c.states[i], 2, 2, error);
  }
  options.solver_options.time_limit = deadline;
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_create(model, &robot, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(robot), &options, &stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(model, &state, error);
  }
  *out = (outcome){.late = 0};
  for (int i = 0; i < ticks && status == SAP_STATUS_OK; ++i) {
    double u = 0.0;
    sap_step_report report = {0};
    status = control(&c, &state, &u, error);
    if (status == SAP_STATUS_OK) {
      status = sap_multibody_set_control(robot, &u, error);
    }
    if (status == SAP_STATUS_OK) {
      status = sap_stepper_step(stepper, &state, &report, error);
    }
    out->late += report.solver != NULL && report.solver->outcome == SAP_OUTCOME_TIME_LIMIT;
    if (status == SAP_STATUS_OK && i == COMPARED - 1) {
      memcpy(out->q, state.q, sizeof out->q);
      memcpy(out->v, state.v, sizeof out->v);
    }
    if (status == SAP_STATUS_OK && i >= TICKS - 25) {
      out->worst_angle = fmax(out->worst_angle, acos(fmax(-1.0, -cos(state.q[1]))));
    }
    if (status == SAP_STATUS_OK && ticks == TICKS && i % 20 == 19) {
      printf("%6.2f %9.4f %10.4f %9.3f\n", state.t, state.q[0], state.q[1], u);
    }
  }
  for (int i = 0; i < ROLLOUTS; ++i) {
    sap_state_clear(&c.states[i]);
  }
  sap_batch_destroy(c.batch);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(robot);
  sap_state_clear(&state);
  return status;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: mpc_cart_pole SCENE [threads]\n");
    return 2;
  }
  const int32_t threads = argc > 2 ? (int32_t)strtol(argv[2], NULL, 10) : 2;
  sap_model* model = NULL;
  sap_error error = {0};
  outcome several, one;
  const sap_scene_options scene = sap_scene_options_default();
  printf("%6s %9s %10s %9s\n", "t_s", "cart_m", "angle_rad", "force_N");
  sap_status status = sap_scene_read(argv[1], &scene, &model, &error);
  if (status == SAP_STATUS_OK) {
    status = run(model, threads, TICKS, &several, &error);
  }
  if (status == SAP_STATUS_OK) {
    status = run(model, 1, COMPARED, &one, &error);
  }
  sap_model_destroy(model);
  if (status != SAP_STATUS_OK) {
    fprintf(stderr, "mpc_cart_pole: %s\n", error.message);
    return 1;
  }
  printf("within %.3f rad of upright in the last half second; %d steps met the deadline\n",
         several.worst_angle, several.late);
  if (memcmp(several.q, one.q, sizeof one.q) != 0 || memcmp(several.v, one.v, sizeof one.v) != 0) {
    fprintf(stderr, "mpc_cart_pole: %d threads come elsewhere than one\n", (int)threads);
    return 1;
  }
  if (!(several.worst_angle < 0.5)) {
    fprintf(stderr, "mpc_cart_pole: the pole is not up\n");
    return 1;
  }
  return 0;
}
