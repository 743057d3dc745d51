// SPDX-License-Identifier: BSD-3-Clause
// Range of the length of a transmission over the ranges of the joints that move it.
//   The box of the joints' ranges (a hinge without range: a whole turn; a ball: rotation vectors of
//   its angle) is sampled, and a compass search continues from the best sample, halving its steps;
//   this from several sets of samples. It uses no gradients: lengths may jump where a string slips
//   off an obstacle.
#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "math/scalar.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"

enum {
  PROBES = 8,    // poses in which joints are tried
  SAMPLES = 64,  // before each compass search
  STARTS = 6,    // of the compass search
  HALVINGS = 26  // of steps, from half the range to 1e-8 of it
};

// Changes of a length below this are round-off [m, rad].
static const double SAME = 1e-9;

typedef struct variable {
  int32_t joint;    // three of a ball follow each other, its rotation vector, and of a free joint
  bool is_bounded;  // false: lower and upper are for trial only
  double lower, upper;
} variable;

typedef struct search {
  sap_kinematics* kin;
  const sap_model* model;
  int32_t actuator;
  double* q;      // (nq)
  double sign;    // +1: the largest, -1: the least
  uint32_t seed;  // of samples
  int32_t count;
  variable* variables;
  double *x, *start;  // (count)
} search;

static const sap_equality_def* coupling_of(const sap_model* model, int32_t joint) {
  SAP_EACH(const sap_equality_def, equality, model->equalities, model->sizes.equalities) {
    if (equality->type == SAP_EQUALITY_JOINT && equality->active && equality->a == joint) {
      return equality;
    }
  }
  return NULL;
}

// Lists the coordinates of all joints that no other joint leads; positions alone of free joints.
static void list_variables(search* s) {
  const sap_model* model = s->model;
  const sap_model_actuator* actuator = &model->actuators[s->actuator];
  const bool angles_close = actuator->transmission != SAP_TRANSMISSION_JOINT &&
                            !(actuator->transmission == SAP_TRANSMISSION_TENDON &&
                              model->tendons[actuator->target].count > 0);
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    const bool ball = joint->type == SAP_JOINT_BALL, free = joint->type == SAP_JOINT_FREE;
    const double span = 2.0 * SAP_PI;
    variable v = {j, true, joint->lower, joint->upper};
    if (coupling_of(model, j) != NULL || joint->locked) {
      continue;
    }
    if (ball || free) {
      v.is_bounded = ball;
      v.upper = ball ? fmin(joint->upper, SAP_PI) : 1.0;
      v.lower = -v.upper;
    } else if (!(isfinite(v.lower) && isfinite(v.upper))) {
      v.is_bounded = joint->type == SAP_JOINT_HINGE && angles_close;
      v.lower = isfinite(v.lower) ? v.lower : isfinite(v.upper) ? v.upper - span : -SAP_PI;
      v.upper = isfinite(v.upper) ? v.upper : v.lower + span;
    }
    for (int32_t part = 0; part < (ball || free ? 3 : 1); ++part) {
      s->variables[s->count++] = v;
    }
  }
}

static void apply_couplings(const sap_model* model, double* q) {
  // Couplings may depend on couplings.
  for (int32_t pass = 0; pass < model->sizes.equalities; ++pass) {
    SAP_EACH(const sap_equality_def, c, model->equalities, model->sizes.equalities) {
      if (c->type != SAP_EQUALITY_JOINT || !c->active) {
        continue;
      }
      const sap_model_joint_data *a = &model->joints[c->a], *b = NULL;
      double x = 0.0;
      if (c->b >= 0) {
        b = &model->joints[c->b];
        x = q[b->q_start] - b->reference;
      }
      const double* p = c->polynomial;
      q[a->q_start] = a->reference + p[0] + x * (p[1] + x * (p[2] + x * (p[3] + x * p[4])));
    }
  }
}

static double evaluate(const search* s, const double* x) {
  for (int32_t i = 0; i < s->count; ++i) {
    const sap_model_joint_data* joint = &s->model->joints[s->variables[i].joint];
    double* q = s->q + joint->q_start;
    if (joint->type == SAP_JOINT_BALL) {
      double r[3];  // no longer than the limit
      sap_v3_scale(r, x + i, fmin(1.0, s->variables[i].upper / sap_v3_norm(x + i)));
      sap_quaternion_exp(q, r);
      i += 2;
    } else if (joint->type == SAP_JOINT_FREE) {
      sap_v3_add(q, s->model->q_default + joint->q_start, x + i);
      i += 2;
    } else {
      q[0] = x[i];
    }
  }
  apply_couplings(s->model, s->q);
  sap_kinematics_set(s->kin, s->q);
  return s->sign *
         (s->model->actuators[s->actuator].gear * sap_transmission_length(s->kin, s->actuator));
}

// Draws a point of the box (Numerical Recipes' linear congruential generator).
static void draw(search* s) {
  for (int32_t i = 0; i < s->count; ++i) {
    const variable* v = &s->variables[i];
    s->seed = s->seed * 1664525u + 1013904223u;
    s->x[i] = v->lower + (double)s->seed / 4294967296.0 * (v->upper - v->lower);
  }
}

// Keeps the variables of the joints (`moves`) that change the length. Returns false if one of them
// has no bounds.
static bool select_variables(search* s, bool* moves) {
  for (int32_t n = 0; n < PROBES; ++n) {
    draw(s);
    const double here = evaluate(s, s->x);
    for (int32_t i = 0; i < s->count; ++i) {
      const variable* v = &s->variables[i];
      const double x = s->x[i], ends[] = {v->lower, v->upper};
      for (int end = 0; end < 2; ++end) {
        s->x[i] = ends[end];
        moves[v->joint] = moves[v->joint] || fabs(evaluate(s, s->x) - here) > SAME;
      }
      s->x[i] = x;
    }
  }
  const int32_t count = s->count;
  bool bounded = true;
  s->count = 0;
  for (int32_t i = 0; i < count; ++i) {
    if (moves[s->variables[i].joint]) {
      bounded = bounded && s->variables[i].is_bounded;
      s->variables[s->count++] = s->variables[i];
    }
  }
  return bounded;
}

// Returns the best value of a compass search from x.
static double climb(search* s, double* x, double value) {
  double share = 0.25;
  for (int32_t h = 0; h < HALVINGS; share *= 0.5, ++h) {
    bool better = true;
    for (int32_t round = 0; better && round < 64; ++round) {
      better = false;
      for (int32_t i = 0; i < s->count; ++i) {
        const variable* v = &s->variables[i];
        const double before = x[i];
        for (int side = -1; side <= 1; side += 2) {
          const double to = before + side * share * (v->upper - v->lower);
          x[i] = fmin(fmax(to, v->lower), v->upper);
          const double there = evaluate(s, x);
          if (there > value) {
            value = there;
            better = true;
            break;
          }
          x[i] = before;
        }
      }
    }
  }
  return value;
}

static double extreme(search* s, double sign) {
  double result = -(double)INFINITY;
  s->sign = sign;
  for (int32_t start = 0; start < STARTS; ++start) {
    double best = -(double)INFINITY;
    for (int32_t n = 0; n < SAMPLES; ++n) {
      draw(s);
      const double value = evaluate(s, s->x);
      if (value > best) {
        best = value;
        memcpy(s->start, s->x, (size_t)s->count * sizeof *s->x);
      }
    }
    result = isfinite(best) ? fmax(result, climb(s, s->start, best)) : result;
  }
  return sign * result;
}

static sap_status find_reach(sap_pool* pool, sap_kinematics* kin, int32_t actuator, double range[2],
                             sap_error* error) {
  const sap_model* model = kin->dynamics->model;
  const int64_t joints = model->sizes.joints, most = 3 * joints + 1;
  search s = {.kin = kin, .model = model, .actuator = actuator, .sign = 1.0};
  bool* moves;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&moves, joints), SAP_ARRAY(&s.q, model->sizes.nq),
                           SAP_ARRAY(&s.variables, most), SAP_ARRAY(&s.x, most),
                           SAP_ARRAY(&s.start, most)));
  memcpy(s.q, model->q_default, (size_t)model->sizes.nq * sizeof *s.q);
  list_variables(&s);
  const bool bounded = select_variables(&s, moves);
  range[0] = bounded ? extreme(&s, -1.0) : -(double)INFINITY;
  range[1] = bounded ? extreme(&s, 1.0) : (double)INFINITY;
  return SAP_STATUS_OK;
}

sap_status sap_find_reach(sap_kinematics* kin, int32_t actuator, double range[2],
                          sap_error* error) {
  sap_pool pool = {.owner = "range of an actuator"};
  const sap_status status = find_reach(&pool, kin, actuator, range, error);
  sap_pool_free(&pool);
  return status;
}
