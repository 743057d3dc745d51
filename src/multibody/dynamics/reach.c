// SPDX-License-Identifier: BSD-3-Clause
// Range of the length of a transmission over the ranges of the joints that move it.
//   The box of the joints' ranges (a hinge without range: a whole turn; a ball: rotation vectors of
//   its angle) is sampled at its corners, if they are few, and at points spread evenly (Weyl's
//   sequence of the generalised golden ratio). A compass search continues from the best of them,
//   halving its steps. It uses no gradients: lengths may jump where a string slips off an obstacle.
#include <math.h>
#include <string.h>

#include "math/quaternion.h"
#include "math/scalar.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/dynamics_data.h"

// Marks joints that move at least one of the bodies but not all of them alike; above: zeros
// (joints).
static void mark_between(const sap_model* model, const int32_t* bodies, int32_t count, bool* moves,
                         int32_t* above) {
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t b = bodies[i]; b > 0; b = model->bodies[b].parent) {
      for (int32_t k = 0; k < model->bodies[b].njoints; ++k) {
        ++above[model->body_joints[model->bodies[b].first_joint + k]];
      }
    }
  }
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    moves[j] = moves[j] || (above[j] > 0 && above[j] < count);
  }
}

// Marks the joints that change the length. bodies: room for the bodies of a tendon's points, or of
// both ends of another transmission.
static void mark_joints(const sap_model* model, const sap_model_actuator* a, int32_t* bodies,
                        bool* moves, int32_t* above) {
  if (a->transmission == SAP_TRANSMISSION_JOINT) {
    moves[a->target] = true;
    return;
  }
  if (a->transmission == SAP_TRANSMISSION_SLIDER_CRANK ||
      (a->transmission == SAP_TRANSMISSION_SITE && a->reference_body >= 0)) {
    const bool crank = a->transmission == SAP_TRANSMISSION_SLIDER_CRANK;
    bodies[0] = crank ? a->crank_body : a->site_body;
    bodies[1] = crank ? a->slider_body : a->reference_body;
    mark_between(model, bodies, 2, moves, above);
    return;
  }
  if (a->transmission == SAP_TRANSMISSION_SITE || a->transmission == SAP_TRANSMISSION_ADHESION) {
    return;  // its length is always zero
  }
  const sap_model_tendon* t = &model->tendons[a->target];
  for (int32_t k = t->first; k < t->first + t->count; ++k) {
    moves[model->tendon_joints[k]] = true;
  }
  int32_t count = 0;
  for (int32_t k = t->first_point; k < t->first_point + t->npoints; ++k) {
    const sap_tendon_wrap* wrap = &model->tendon_wraps[k];
    if (wrap->way != SAP_TENDON_PULLEY) {
      bodies[count++] = model->tendon_point_bodies[k];
      if (wrap->way != SAP_TENDON_POINT && wrap->side_body >= 0) {
        bodies[count++] = wrap->side_body;
      }
    }
  }
  mark_between(model, bodies, count, moves, above);
}

// Marks the joint that leads a marked coupled joint.
static void follow_couplings(const sap_model* model, bool* moves) {
  for (int32_t pass = 0; pass < model->sizes.equalities; ++pass) {
    for (int32_t e = 0; e < model->sizes.equalities; ++e) {
      const sap_equality_def* equality = &model->equalities[e];
      if (equality->type == SAP_EQUALITY_JOINT && equality->active && moves[equality->a] &&
          equality->b >= 0) {
        moves[equality->b] = true;
      }
    }
  }
}

// Finds the joints (joints) that change the length; a coupled joint counts as the joint that leads
// it.
static sap_status find_joints(sap_pool* pool, const sap_model* model,
                              const sap_model_actuator* actuator, bool* moves, sap_error* error) {
  const int32_t npoints = actuator->transmission == SAP_TRANSMISSION_TENDON
                              ? model->tendons[actuator->target].npoints
                              : 0;
  int32_t *bodies, *above;
  SAP_TRY(SAP_POOL_ADD(pool, &above, model->sizes.joints, error));
  SAP_TRY(SAP_POOL_ADD(pool, &bodies, 2 * (size_t)npoints + 2, error));
  mark_joints(model, actuator, bodies, moves, above);
  follow_couplings(model, moves);
  return SAP_STATUS_OK;
}

enum {
  CORNER_DIMENSIONS = 6,  // up to 64 corners
  SPREAD = 256,           // points
  STARTS = 6,             // of the compass search
  HALVINGS = 26           // of steps, from half the range to 1e-8 of it
};

typedef struct variable {
  int32_t joint;  // of a ball three follow each other, its rotation vector
  double lower, upper;
} variable;

typedef struct search {
  sap_kinematics* kin;
  const sap_model* model;
  int32_t actuator;
  double* q;    // (nq)
  double sign;  // +1: the largest, -1: the least
  int32_t count;
  variable* variables;
  double* x;                     // (count)
  double best[STARTS], *starts;  // (STARTS, STARTS count)
} search;

static const sap_equality_def* coupling_of(const sap_model* model, int32_t joint) {
  for (int32_t e = 0; e < model->sizes.equalities; ++e) {
    const sap_equality_def* equality = &model->equalities[e];
    if (equality->type == SAP_EQUALITY_JOINT && equality->active && equality->a == joint) {
      return equality;
    }
  }
  return NULL;
}

static void add_variable(search* s, int32_t joint, double lower, double upper) {
  s->variables[s->count++] = (variable){joint, lower, upper};
}

// Lists the box of variables; false: the length has no bound.
static bool list_variables(search* s, const bool* moves) {
  const sap_model* model = s->model;
  const sap_model_actuator* actuator = &model->actuators[s->actuator];
  const bool angles_close = actuator->transmission != SAP_TRANSMISSION_JOINT &&
                            !(actuator->transmission == SAP_TRANSMISSION_TENDON &&
                              model->tendons[actuator->target].count > 0);
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    if (!moves[j] || coupling_of(model, j) != NULL || joint->locked) {
      continue;
    }
    SAP_RETURN_IF(joint->type == SAP_JOINT_FREE, false);
    if (joint->type == SAP_JOINT_BALL) {
      const double angle = fmin(joint->upper, SAP_PI);
      for (int32_t part = 0; part < 3; ++part) {
        add_variable(s, j, -angle, angle);
      }
      continue;
    }
    double lower = joint->lower, upper = joint->upper;
    if (!(isfinite(lower) && isfinite(upper))) {
      if (joint->type == SAP_JOINT_SLIDE || !angles_close) {
        return false;
      }
      lower = isfinite(lower) ? lower : isfinite(upper) ? upper - 2.0 * SAP_PI : -SAP_PI;
      upper = isfinite(upper) ? upper : lower + 2.0 * SAP_PI;
    }
    add_variable(s, j, lower, upper);
  }
  return true;
}

static void apply_couplings(const sap_model* model, double* q) {
  // Couplings may depend on couplings.
  for (int32_t pass = 0; pass < model->sizes.equalities; ++pass) {
    for (int32_t e = 0; e < model->sizes.equalities; ++e) {
      const sap_equality_def* c = &model->equalities[e];
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
    } else {
      q[0] = x[i];
    }
  }
  apply_couplings(s->model, s->q);
  sap_kinematics_set(s->kin, s->q);
  return s->sign *
         (s->model->actuators[s->actuator].gear * sap_transmission_length(s->kin, s->actuator));
}

// Evaluates s->x and inserts it into the best starts, best first.
static void try_point(search* s) {
  const double value = evaluate(s, s->x);
  const size_t bytes = (size_t)s->count * sizeof *s->x;
  int32_t at = STARTS;
  while (at > 0 && !(s->best[at - 1] >= value)) {
    --at;
  }
  if (at == STARTS) {
    return;
  }
  for (int32_t i = STARTS - 1; i > at; --i) {
    s->best[i] = s->best[i - 1];
    memcpy(s->starts + (size_t)(i * s->count), s->starts + (size_t)((i - 1) * s->count), bytes);
  }
  s->best[at] = value;
  memcpy(s->starts + (size_t)(at * s->count), s->x, bytes);
}

// Returns the root of g^(n+1) = g + 1.
static double golden(int32_t n) {
  double g = 1.5;
  for (int i = 0; i < 60; ++i) {
    g = pow(1.0 + g, 1.0 / (double)(n + 1));
  }
  return g;
}

static void sample_box(search* s) {
  for (int32_t k = 0; k < STARTS; ++k) {
    s->best[k] = -(double)INFINITY;
  }
  for (int32_t c = 0; s->count <= CORNER_DIMENSIONS && c < 1 << s->count; ++c) {
    for (int32_t i = 0; i < s->count; ++i) {
      s->x[i] = (c >> i & 1) != 0 ? s->variables[i].upper : s->variables[i].lower;
    }
    try_point(s);
  }
  const double g = golden(s->count);
  for (int32_t n = 0; n < SPREAD; ++n) {
    double step = 1.0;
    for (int32_t i = 0; i < s->count; ++i) {
      step /= g;
      const double share = fmod(0.5 + (double)n * step, 1.0);
      s->x[i] = s->variables[i].lower + share * (s->variables[i].upper - s->variables[i].lower);
    }
    try_point(s);
  }
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
  s->sign = sign;
  sample_box(s);
  double best = -(double)INFINITY;
  for (int32_t k = 0; k < STARTS; ++k) {
    if (isfinite(s->best[k])) {
      best = fmax(best, climb(s, s->starts + (size_t)(k * s->count), s->best[k]));
    }
  }
  return sign * best;
}

static sap_status find_reach(sap_pool* pool, sap_kinematics* kin, int32_t actuator, double range[2],
                             sap_error* error) {
  const sap_model* model = kin->dynamics->model;
  const size_t joints = (size_t)model->sizes.joints, most = 3 * joints + 1;
  search s = {.kin = kin, .model = model, .actuator = actuator};
  bool* moves;
  SAP_TRY(SAP_POOL_ADD_ALL(pool, error, SAP_ARRAY(&moves, joints), SAP_ARRAY(&s.q, model->sizes.nq),
                           SAP_ARRAY(&s.variables, most), SAP_ARRAY(&s.x, most),
                           SAP_ARRAY(&s.starts, STARTS * most)));
  SAP_TRY(find_joints(pool, model, &model->actuators[actuator], moves, error));
  memcpy(s.q, model->q_default, (size_t)model->sizes.nq * sizeof *s.q);
  const bool bounded = list_variables(&s, moves);
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
