// SPDX-License-Identifier: BSD-3-Clause
//   Of the box of the joints' ranges (a hinge without one: a whole turn; a ball: rotation vectors
//   of its angle) the corners, if they are few, and points spread evenly (Weyl's sequence of the
//   generalised golden ratio) are looked at; from the best of them a compass search goes on,
//   halving its steps. Lengths may jump where a string slips off an obstacle: no gradients.
#include "multibody/model/reach.h"

#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"

enum {
  CORNER_DIMENSIONS = 6,  // up to 64 corners
  SPREAD = 256,           // points
  STARTS = 6,             // that are searched from
  HALVINGS = 26           // of steps, from half the range to 1e-8 of it
};

static const double PI = 3.14159265358979323846;

typedef struct variable {
  int32_t joint;  // of a ball three follow each other, its rotation vector
  double lower, upper;
} variable;

typedef struct search {
  sap_placed* placed;
  const sap_model_actuator* actuator;
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

// The box; false: the length has no bound.
static bool list_variables(search* s, const bool* moves) {
  const sap_model* model = s->placed->model;
  const bool angles_close = s->actuator->transmission != SAP_TRANSMISSION_JOINT &&
                            !(s->actuator->transmission == SAP_TRANSMISSION_TENDON &&
                              model->tendons[s->actuator->target].count > 0);
  for (int32_t j = 0; j < model->sizes.joints; ++j) {
    const sap_model_joint_data* joint = &model->joints[j];
    if (!moves[j] || coupling_of(model, j) != NULL || joint->locked) {
      continue;
    }
    if (joint->type == SAP_JOINT_FREE) {
      return false;
    }
    if (joint->type == SAP_JOINT_BALL) {
      const double angle = fmin(joint->upper, PI);
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
      lower = isfinite(lower) ? lower : isfinite(upper) ? upper - 2.0 * PI : -PI;
      upper = isfinite(upper) ? upper : lower + 2.0 * PI;
    }
    add_variable(s, j, lower, upper);
  }
  return true;
}

static void apply_couplings(sap_placed* placed) {
  const sap_model* model = placed->model;
  // As often as couplings may hang on couplings.
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
        x = placed->q[b->q_start] - b->reference;
      }
      const double* p = c->polynomial;
      placed->q[a->q_start] = a->reference + p[0] + x * (p[1] + x * (p[2] + x * (p[3] + x * p[4])));
    }
  }
}

static double evaluate(const search* s, const double* x) {
  const sap_model* model = s->placed->model;
  for (int32_t i = 0; i < s->count; ++i) {
    const sap_model_joint_data* joint = &model->joints[s->variables[i].joint];
    double* q = s->placed->q + joint->q_start;
    if (joint->type == SAP_JOINT_BALL) {
      sap_quaternion_exp(q, x + i);
      i += 2;
    } else {
      q[0] = x[i];
    }
  }
  apply_couplings(s->placed);
  sap_placed_move(s->placed);
  return s->sign * sap_placed_length(s->placed, s->actuator);
}

// Keeps the best places, best first.
static void look(search* s) {
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

// The root of g^(n+1) = g + 1.
static double golden(int32_t n) {
  double g = 1.5;
  for (int i = 0; i < 60; ++i) {
    g = pow(1.0 + g, 1.0 / (double)(n + 1));
  }
  return g;
}

static void look_around(search* s) {
  for (int32_t k = 0; k < STARTS; ++k) {
    s->best[k] = -(double)INFINITY;
  }
  for (int32_t c = 0; s->count <= CORNER_DIMENSIONS && c < 1 << s->count; ++c) {
    for (int32_t i = 0; i < s->count; ++i) {
      s->x[i] = (c >> i & 1) != 0 ? s->variables[i].upper : s->variables[i].lower;
    }
    look(s);
  }
  const double g = golden(s->count);
  for (int32_t n = 0; n < SPREAD; ++n) {
    double step = 1.0;
    for (int32_t i = 0; i < s->count; ++i) {
      step /= g;
      const double share = fmod(0.5 + (double)n * step, 1.0);
      s->x[i] = s->variables[i].lower + share * (s->variables[i].upper - s->variables[i].lower);
    }
    look(s);
  }
}

// The best that a compass search finds from a start.
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
  look_around(s);
  double best = -(double)INFINITY;
  for (int32_t k = 0; k < STARTS; ++k) {
    if (isfinite(s->best[k])) {
      best = fmax(best, climb(s, s->starts + (size_t)(k * s->count), s->best[k]));
    }
  }
  return sign * best;
}

// Only bodies that the joints move, and those above them, need placing.
static void want(sap_placed* placed, const sap_model_actuator* a) {
  const sap_model* model = placed->model;
  if (a->transmission != SAP_TRANSMISSION_TENDON || model->tendons[a->target].npoints == 0) {
    return;
  }
  memset(placed->wanted, 0, (size_t)model->sizes.bodies * sizeof *placed->wanted);
  const sap_model_tendon* t = &model->tendons[a->target];
  placed->wanted[0] = true;
  for (int32_t k = t->first_point; k < t->first_point + t->npoints; ++k) {
    const sap_tendon_wrap* wrap = &model->tendon_wraps[k];
    for (int32_t b = model->tendon_point_bodies[k]; b > 0; b = model->bodies[b].parent) {
      placed->wanted[b] = true;
    }
    for (int32_t b = wrap->side_body; b > 0; b = model->bodies[b].parent) {
      placed->wanted[b] = true;
    }
  }
}

static void measure(search* s, const bool* moves, double range[2]) {
  sap_placed* placed = s->placed;
  const sap_model* model = placed->model;
  if (!list_variables(s, moves)) {
    range[0] = -(double)INFINITY;
    range[1] = (double)INFINITY;
    return;
  }
  want(placed, s->actuator);
  range[0] = extreme(s, -1.0);
  range[1] = extreme(s, 1.0);
  memcpy(placed->q, model->q_default, (size_t)model->sizes.nq * sizeof(double));
  memset(placed->wanted, true, (size_t)model->sizes.bodies * sizeof *placed->wanted);
}

sap_status sap_find_reach(sap_placed* placed, const sap_model_actuator* actuator, double range[2],
                          sap_error* error) {
  const sap_model* model = placed->model;
  const size_t joints = (size_t)model->sizes.joints, most = 3 * joints + 1;
  search s = {.placed = placed, .actuator = actuator};
  bool* moves = sap_allocate(joints, sizeof *moves);
  s.variables = sap_allocate(most, sizeof *s.variables);
  s.x = sap_allocate(most, sizeof *s.x);
  s.starts = sap_allocate(STARTS * most, sizeof *s.starts);
  sap_status status = SAP_STATUS_OK;
  if (moves == NULL || s.variables == NULL || s.x == NULL || s.starts == NULL) {
    status = sap_fail(error, SAP_STATUS_MEMORY, "out of memory: range of an actuator");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_find_reach_joints(model, actuator, moves, error);
  }
  if (status == SAP_STATUS_OK) {
    measure(&s, moves, range);
  }
  sap_free(moves);
  sap_free(s.variables);
  sap_free(s.x);
  sap_free(s.starts);
  return status;
}
