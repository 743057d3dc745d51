// SPDX-License-Identifier: BSD-3-Clause
// Contacts are treated one by one, with velocities linear in time (J v less and plus J's turn):
//   phi(t) = phi0 + vn0 t + (vn1 - vn0) t^2/(2 h)
//   f(t)   = k (-phi - tau_d dphi/dt)+  where phi < 0, else 0
// Servos likewise, with their bounds in place of the gap:
//   f(t)   = clamp(offset - kp l - kd dl/dt, lower, upper)
// and springs at the ends of their dead band, with the bounds 0 and infinity.
// The impulse of the step has one value of f for all of h. Where phi or f changes sign within the
// step, the velocity is wrong by
//   dv = W_nn |gamma_n - int f dt|
// and the error is dv (T_v + h/2). A step that ends `stay` after the first touch at the time tc has
// half of the accuracy as its error: its depth is u stay, u the speed at the touch, and its impulse
// is at most that of a law at the end of the step, k u stay (tc + tau_d). Such a law touches where
//   phi0 + vn0 t + (1 + end)/2 (vn1 - vn0) t^2/h = 0
// which is sooner for a falling body; end: weight of the end. The next step does the rest. The touch
// of a lone contact is foreseen better: a tenth of the accuracy, and the next step's length.
//
// Contacts and limits that are rigid, or whose damper is far above the critical one,
// tau_d^2 k W_nn/4 > OVERDAMPED, stop a body at once, whatever h is. The step applies the impulse
// from its start: with the time tc of the touch
//   dv = W_nn gamma_n,  error dv tc
// and a step that ends at least accuracy/u before the touch leaves less to the next one.
//
// Contacts that the step does not resolve act at its end: while they stay closed they yield by the
// implicit Euler method, whose positions are wrong by
//   end u h^2/(2 (h + tau_d)),  u = max(|vn0|, |vn1|)
// Their speed follows from their depth, so that the next step does not keep its error.
//
// A contact that slides and stops at the time ts has the impulse of sliding before ts and the one
// that holds it after, along the slip s0 at the start:
//   f  = s1 - s0 - W_tt gamma_t             change of the slip by all but friction
//   ts = h s0/(W_tt mu gamma_n - f)
//   gamma = -mu gamma_n ts/h - clamp(f (1 - ts/h)/W_tt, +-mu gamma_n (1 - ts/h))
// If it is held then, the next step takes the rest of the slip: the error is that of positions.
#include "integrators/kink.h"

#include <math.h>

#include "contact/cone.h"

static const double OVERDAMPED = 25.0;
// Error of a step that ends behind a touch, as a share of the accuracy.
static const double STAY = 0.5, LONE_STAY = 0.1;

// Friction of a step along the slip at its start.
typedef struct slide {
  double h, s0, s1;       // length [s]; slip at the start, at the end [m/s]
  double w, along, most;  // W_tt [1/kg]; impulse, the largest one [N s]
} slide;

// One contact, limit or servo of a step.
typedef struct touch {
  const sap_contact_start* start;
  bool opens;            // contacts and limits push only where the gap is closed
  bool lone;             // of a system with nothing else that could have a kink
  double lower, upper;   // of the force, else [N]
  double v0, a, fall;    // speed at the start, its rate, that without contacts [m/s], [m/s^2]
  double h, gamma, end;  // end: share of the end of the step at which its law acts
} touch;

static double gap(const touch* c, double t) {
  return c->start->phi0 + t * (c->v0 + 0.5 * c->a * t);
}

// The force within its bounds.
static double push(const touch* c, double t) {
  const sap_contact_start* s = c->start;
  const double way = t * (c->v0 + 0.5 * c->a * t);
  const double f = s->force - s->stiffness * way - s->damping * (c->v0 + c->a * t);
  return fmin(fmax(f, c->lower), c->upper);
}

// Adds the roots of x + y t + z t^2 in (0, h) to the times, which rise.
static int add_roots(double x, double y, double z, double h, double* times, int count) {
  const double square = y * y - 4.0 * x * z;
  if (!(square >= 0.0)) {
    return count;
  }
  const double q = -0.5 * (y + copysign(sqrt(square), y));
  const double roots[2] = {x / q, q / z};  // not finite: none
  for (int r = 0; r < 2; ++r) {
    if (!(roots[r] > 0.0 && roots[r] < h)) {
      continue;
    }
    int at = count++;
    for (; at > 0 && times[at - 1] > roots[r]; --at) {
      times[at] = times[at - 1];
    }
    times[at] = roots[r];
  }
  return count;
}

// Adds the times at which the force without its bounds is f.
static int add_force(const touch* c, double f, double* times, int count) {
  const sap_contact_start* s = c->start;
  const double v0 = c->v0, a = c->a, k = s->stiffness, d = s->damping;
  return add_roots(s->force - d * v0 - f, -k * v0 - d * a, -0.5 * k * a, c->h, times, count);
}

// Integrates f over the step and returns the number of its kinks. first: the earliest one [s].
static int integrate_force(const touch* c, double* impulse, double* first) {
  double times[7] = {0.0};
  int count = add_force(c, c->lower, times, 0);
  count = add_force(c, c->upper, times, count);
  count = c->opens ? add_roots(c->start->phi0, c->v0, 0.5 * c->a, c->h, times, count) : count;
  *first = count > 0 ? times[0] : c->h;
  times[count] = c->h;
  *impulse = 0.0;
  double from = 0.0;
  for (int i = 0; i <= count; ++i) {
    const double to = times[i], middle = 0.5 * (from + to);
    if (!c->opens || gap(c, middle) < 0.0) {  // Simpson's rule is exact here
      *impulse += (to - from) / 6.0 * (push(c, from) + 4.0 * push(c, middle) + push(c, to));
    }
    from = to;
  }
  return count;
}

// Sets *t to the time from `start` until the first touch, as if there were no contact, and returns
// the speed then; 0 if there is none.
static double find_touch(const touch* c, double start, double* t) {
  const double share = c->fall < 0.0 ? 0.5 * (1.0 + c->end) : 0.5;
  const double phi = c->start->phi0 + start * (c->v0 + 0.5 * start * c->fall);
  const double v = c->v0 + start * c->fall;
  double times[3];
  if (!(phi > 0.0) || add_roots(phi, v, share * c->fall, c->h, times, 0) == 0) {
    return 0.0;
  }
  *t = times[0];
  return fabs(v + c->fall * times[0]);
}

// The time that a step goes on after a touch at the time t with the speed u.
static double find_stay(const touch* c, double t, double u, const sap_adaptive_options* options) {
  const double impulse_per_depth = c->start->stiffness * t + c->start->damping;
  return (c->lone ? LONE_STAY : STAY) * options->accuracy /
         (c->start->wn * impulse_per_depth * u * (options->velocity_time + 0.5 * t));
}

// Sets the kink of an overdamped contact if it is worse.
static void take_impact(const touch* c, const sap_adaptive_options* options, sap_kink* kink) {
  double t = 0.0;
  const double u = find_touch(c, 0.0, &t), error = c->start->wn * c->gamma * t;
  if (error > kink->error) {
    const double before = t - 0.5 * options->accuracy / u;
    *kink = (sap_kink){error, before > 0.0 ? before : 0.5 * c->h, 0.0, SAP_ADAPTIVE_KINK, NULL};
  }
}

// Sets the kink of a servo, or of a normal, if it is worse.
static void take_normal(const touch* c, const sap_adaptive_options* options, sap_kink* kink) {
  const sap_contact_start* s = c->start;
  double impulse, first;
  const double tau = s->damping / s->stiffness;  // not a number if rigid
  if (c->opens && !(0.25 * tau * s->damping * s->wn <= OVERDAMPED)) {
    take_impact(c, options, kink);
    return;
  }
  if (integrate_force(c, &impulse, &first) == 0 && !(c->opens && s->phi0 > 0.0)) {
    return;
  }
  const double T = options->velocity_time + 0.5 * c->h;
  const double v1 = fabs(c->v0 + c->a * c->h), wrong = s->wn * fabs(c->gamma - impulse);
  // A closed contact that opens at v0 and closes again within the step does so at that speed.
  const bool again = c->opens && s->phi0 <= 0.0 && c->v0 > 0.0 && -c->fall * c->h > 2.0 * c->v0;
  const double error = (again ? fmin(wrong, c->v0 + v1) : wrong) * T;
  if (!(error > kink->error)) {
    return;
  }
  if (!c->opens) {
    *kink = (sap_kink){error, first, 0.0, SAP_ADAPTIVE_SERVO, NULL};
    return;
  }
  const double closing = find_touch(c, 0.0, &first), u = closing > 0.0 ? closing : v1;
  const double stay = find_stay(c, first, u, options);
  double next;
  *kink = (sap_kink){error, first + stay, 0.0, SAP_ADAPTIVE_KINK, NULL};
  if (c->lone && closing > 0.0 && find_touch(c, first, &next) > 0.0 && next > stay) {
    kink->time = first;
    kink->next = next + find_stay(c, next, u, options);
  }
}

// Sets the error of a contact that stays closed and acts at the end of the step, if it is worse.
static void take_end(const touch* c, const sap_block_data* block, sap_kink* kink) {
  const sap_contact_start* s = c->start;
  const double u = fmax(fabs(c->v0), fabs(c->v0 + c->a * c->h));
  const double error = 0.5 * c->end * u * c->h * c->h / (c->h + s->damping / s->stiffness);
  const bool holds = s->phi0 <= 0.0 && gap(c, c->h) < 0.0 && c->gamma > 0.0;
  if (error > kink->error && holds && block->wrong_depth == 0.0) {
    *kink = (sap_kink){error, c->h, 0.0, SAP_ADAPTIVE_SMOOTH, NULL};
  }
}

// Sets the kink of friction that holds what slid, if it is worse. s0, s1: slip at the start and the
// end along the slip at the start, along: impulse in that direction, most: the largest one.
static void take_stop(const slide* c, const sap_adaptive_options* options, sap_kink* kink) {
  const double others = c->s1 - c->s0 - c->w * c->along;
  const double stop = c->s0 / (c->w * c->most - others);  // ts/h
  if (!(stop > 0.0 && stop < 1.0)) {
    return;
  }
  const double left = c->most * (1.0 - stop), needed = -others * (1.0 - stop) / c->w;
  const double hold = fmax(-left, fmin(left, needed));
  const double T = 0.5 * c->h + (hold == needed ? 0.0 : options->velocity_time);
  const double error = c->w * fabs(c->along + c->most * stop - hold) * T;
  if (error > kink->error) {
    *kink = (sap_kink){error, stop * c->h, 0.0, SAP_ADAPTIVE_STOP, NULL};
  }
}

static void take_tangents(const sap_problem* p, const sap_block_data* block,
                          const sap_solution* solution, const sap_adaptive_options* options,
                          sap_kink* kink) {
  const sap_contact_start* s = &block->start;
  const double *vc = solution->vc + block->first_row, *gamma = solution->gamma + block->first_row;
  // J is that at the theta point, between the start and the end.
  const double slip[2] = {s->vc0[0] - s->turn[0], s->vc0[1] - s->turn[1]};
  const double s0 = hypot(slip[0], slip[1]);
  // Spin and rolling take their share of friction.
  const double most = block->friction * gamma[SAP_NORMAL_ROW] * s0 / hypot(s0, s->spin);
  // Slower contacts creep, held by R_t.
  if (!(s0 > p->R[block->first_row] * most && most > 0.0 && s->wt > 0.0)) {
    return;
  }
  const double e[2] = {slip[0] / s0, slip[1] / s0};
  const double end[2] = {vc[0] + s->turn[0] - s->belt[0], vc[1] + s->turn[1] - s->belt[1]};
  const double s1 = e[0] * end[0] + e[1] * end[1];
  const slide c = {p->dt, s0, s1, s->wt, e[0] * gamma[0] + e[1] * gamma[1], most};
  take_stop(&c, options, kink);
}

// Dry friction of one row.
static void take_friction(const sap_problem* p, const sap_block_data* block,
                          const sap_solution* solution, const sap_adaptive_options* options,
                          sap_kink* kink) {
  const int32_t row = block->first_row;
  const double v0 = block->start.vc0[SAP_NORMAL_ROW], e = copysign(1.0, v0), most = p->upper[row];
  const double s1 = e * solution->vc[row], along = e * solution->gamma[row];
  const slide c = {p->dt, fabs(v0), s1, block->start.wn, along, most};
  if (c.s0 > p->R[row] * most && most > 0.0) {
    take_stop(&c, options, kink);
  }
}

sap_kink sap_kink_find(const sap_problem* p, const sap_solution* solution,
                       const sap_adaptive_options* options) {
  sap_kink kink = {.time = p->dt};
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    const sap_contact_start* start = &block->start;
    const double before = kink.error;
    if (!(start->wn > 0.0)) {
      continue;
    }
    const bool contact = sap_set_is_contact(block->set), box = block->set == SAP_SET_BOX;
    const int32_t normal = block->first_row + (contact ? SAP_NORMAL_ROW : 0);
    const double turn = start->turn[SAP_NORMAL_ROW], v0 = start->vc0[SAP_NORMAL_ROW] - turn;
    const double v1 = solution->vc[normal] + turn;
    touch c = {.start = start,
               .opens = !box,
               .lone = p->ntrees == 1 && p->nblocks == 1,
               .lower = box ? p->lower[normal] / p->dt : 0.0,
               .upper = box ? p->upper[normal] / p->dt : (double)INFINITY,
               .h = p->dt,
               .v0 = v0,
               .a = (v1 - v0) / p->dt,
               .fall = (start->vn_star + turn - v0) / p->dt,
               .gamma = solution->gamma[normal],
               .end = contact ? block->end : 1.0};
    if (box && start->phi0 != 0.0) {  // a spring with a dead band, as it acts at the theta point
      const double way = 0.25 * c.h * (v0 + v1);
      c.upper = (double)INFINITY;
      c.gamma = c.h * fmax(start->force - start->stiffness * way, 0.0);
    }
    if (box && !(start->stiffness > 0.0 || start->damping > 0.0)) {
      take_friction(p, block, solution, options, &kink);
    } else {
      take_normal(&c, options, &kink);
    }
    if (contact) {
      take_tangents(p, block, solution, options, &kink);
      take_end(&c, block, &kink);
    }
    if (kink.error > before) {
      kink.block = block;
      kink.reason = !contact && kink.reason == SAP_ADAPTIVE_KINK ? SAP_ADAPTIVE_BOUND : kink.reason;
    }
  }
  return kink;
}
