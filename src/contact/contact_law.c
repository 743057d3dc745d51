// SPDX-License-Identifier: BSD-3-Clause
// The contact law: R and v_hat of rows whose impulse is  gamma = P_C(-R^-1 (vc - v_hat)).
//
// w: |W_ii|_F/nrows, of contacts min(|W_ii|_F/3, 3 W_nn),  M: mass that may rest on a contact, that
// of the heaviest tree above (loads.h),  k: stiffness,  tau_d: relaxation time,  mu: friction,
// b: velocity of a belt,  phi0, vn0, vt0: distance and velocities at the start of the step.
//
// 1. Compliant rows. With theta = theta_vq = 1 the law acts at the end of the step. The row's
// distance is phi0 at the start and at the end of the step
//   phi   = phi0 + e + dt v_vq,  v_vq = theta_vq vn + (1 - theta_vq) vn0
// with the curvature e where J changes. With the time T and depths d0 = (-phi0)+, d = (-phi)+
//   T       = theta dt + tau_d
//   gamma_n = k (T d + (dt - T) d0)+  =  (dt k (theta d + (1 - theta) d0) + k tau_d (d - d0))+
// the mean elastic force plus the impulse of the damper k tau_d over the change of depth; a contact
// that opens has -phi for d. As R, v_hat:
//   Rn      = max(beta^2/(4 pi^2) w', 1/(dt k theta_vq T)), w' = min(w, 32 pi^2/M)  castro (29)
//   v_hat_n = -(phi0/T  + e/dt + (1 - theta_vq) vn0)/theta_vq  where phi0 <= 0  castro (30)
//             -(phi0/dt + e/dt + (1 - theta_vq) vn0)/theta_vq  where phi0 > 0
//   Rt      = sigma w'                                                          castro (30)
//   v_hat_t = b
// castro has |W_ii|_F/3 for w and w'; so have `castro` of the scheme and problems without v0. It
// softens the normal by W_tt/(3 W_nn) where the tangents move more easily: free bodies have up to
// 2.6 W_nn (a cube on its corner), a light wheel under a heavy body any number. So w is at most
// 3 W_nn; where W_nn is nearly 0, it counts as NORMAL_LEAST |W_ii|_F/3.
// W_nn knows all that joints carry, not what rests on the bodies of the contact. With w' no tree
// sinks deeper under its own weight, wherever it rests, than k lets it or than
//   8 beta^2/M M g dt (dt + tau_d) = 8 beta^2 g dt (dt + tau_d)
// A contact of the heaviest tree itself has w < 32 pi^2/M (corner of a box: 5/M): among bodies
// whose masses differ by less than 60 w' = w. w and M are functions of q0: R does not depend on
// velocities and forces, so that the law stays convex. z below has w. High piles of like bodies
// still sink by more.
// Both lines of v_hat have the same R: phi0 <= 0 gives gamma_n = -dt k (phi0 + T (e/dt + v_vq)),
// phi0 > 0 gives k T d. Hence
//   no action at a distance  phi0 >= 0: gamma_n = 0 exactly if phi >= 0, for every tau_d
//   continuous               d, d0 are Lipschitz in (phi0, vn), and so is gamma_n: no jump at 0
//   convex                   gamma_n falls as vn rises: -int gamma_n dvn is a convex cost
//   no energy gained         theta = 1: dt k d vn = k d (phi - phi0) <= k (d0^2 - d^2)/2
//                            theta = 1/2: k (d0 + d)/2 (phi - phi0) = k (d0^2 - d^2)/2 while closed
//                            and the damper: (d - d0) v_vq <= 0
// The near-rigid limit only replaces k by a smaller one, the same on both sides of phi0 = 0.
// Rn is at least SAP_ROUNDOFF_ROW w: below it the round-off of v changes gamma more than v moves
// anything. Similar and lagged: SAP_ROUNDOFF_ROW w times the largest 1 + d v, by which their slope
// exceeds 1/Rn, and 10: other contacts may be faster.
// Rt is at least SAP_ROUNDOFF_TANGENT W_ii of each of its rows, scaled by their friction.
// A pull F along n that v* has adds Rn dt F to v_hat_n, and so dt F to gamma_n.
// Rigid limits of schemes with theta < 1 have Rn = SAP_RIGID_ROW w. With castro's Rn they would rest
// under a load F at the depth beta^2/(4 pi^2) w F dt^2: at every change of dt the joint would move,
// and error control would take that motion for an error.
// At the end of the step and for phi0 <= 0 this is castro's law to the bit; with `castro` of the
// scheme the first line holds for phi0 > 0, too. Bilateral rows always have the first line.
// Where J is that of a point within the step, the end moves by J_end v: the part of a row that acts
// at the end has v_hat less (J_end - J) v as expected.
//
// 2. Theta point. theta = 1/2 is second order, but reverses motion that the step does not resolve.
// Rows move from the scheme's theta to the end of the step (theta = theta_vq = 1) as
//   z = dt k (dt + tau_d) w
// the square of the step in radians of the contact's vibration when undamped, goes from 1 to 2: up
// to 2 the midpoint rule damps a pure damper's velocity without changing its sign. The positions
// follow (integrators/end_positions.h). Tangents, with gamma_t = -(vt^theta - b)/Rt:
//   R_t     = Rt/theta
//   v_hat_t = b - ((1 - theta)/theta) (vt0 - b)
// move from the theta of the normal to the end as the slip falls from SLIDES to STICKS times
// what friction takes from it in a step, mu w times the larger of dt times the force at its start
// and g~ of (3): a sliding contact that stops, sticks. Rt = sigma w is never resolved. Dry friction
// of one row has the same impulse either way while it slides; it stays at the end.
//
// 3. No gliding. In the convex problem (24) a contact that slides opens until
//   g_n = mu |g_t|,  g = vc - v_hat + R gamma                                  castro, Sec. III
// at the height (dt + tau_d) mu |v_t|, and acts ahead up to the gap dt mu |v_t|. De Saxce's shift
// of v_hat_n by -mu s undoes it where s = |g_t|. s is predicted from v*, v0 and the gap, so that
// the problem stays convex. For the contact alone, with wn = W_nn, wt = tr(W_tt)/2:
//   g~ = (v_hat_n - vn*)+/(wn + Rn)          impulse that stops it
//   p  = (|vt* - v_hat_t| - mu wt g~)+       slip that Coulomb's friction leaves
//   g0 = k dt d0                             load at the start (near rigid: by Rn)
//   s0 = (|vt0 - v_hat_t| - mu Rt g0)+       slip at the start, less the creep of stiction
//   s  = max(min(2 s0, p), p - 16 mu wt g0)
// An open contact has s = p, and gamma = 0 exactly if the gap stays open; a contact at rest has
// s = 0, and the law is unchanged to the bit. A contact that slides has s = p, which is exact
// alone; 2 s0 keeps a contact that rests under others, whose load p does not see, from sinking. The
// 16 does so where others hold up what leans on a contact of little load: p is that of a free fall.
// All parts are Lipschitz.
//
// 4. Similar and lagged, sapstep/contact.h, at the end of the step:
//   Rn      = max(beta^2/(4 pi^2) w, 1/(dt^2 k))
//   v_hat_n = -phi0/dt
//
// 5. Rigid, at the level of velocities: R = 0 and, with g0 = phi0 + e,  Moreau 1988, Jean 1999
//   contact    g0 <= 0:  v_n >= -e_r min(v_n0, 0) + b_r (-g0)/dt    (Newton's restitution e_r,
//                                                                    Baumgarte 1972)
//              g0 > 0:   v_n >= -e_r v_n0  where e_r > 0 and v_n0 closes the gap within the step
//                        v_n >= -g0/dt     else
//              positions then move by v_n - (1 + e_r) g0/dt: to the touch with v_n0, on with v_n
//   limit      as a contact with e_r = 0
//   bilateral  v = -b_r g0/dt
//
// 6. Rigid bilateral rows of a compliant scheme:
//   R     = SAP_RIGID_ROW w
//   v_hat = -g0/(dt + tau_d) - e/dt
//   With a recovery speed the first term stays within it, and R grows with the square of the part
//   of that speed which the term takes, its fourth power under error control (sap_law_giving), up
//   to SAP_GIVING_ROW w: loops that are open, or that nothing can close, give way. Exactly rigid
//   rows would demand any joint speed near singular poses, such as a stretched arm with a welded
//   hand. Under error control steps dt < tau_d have R tau_d/dt: the same impulse in ever shorter
//   steps would be a force without bound there.
//
// 7. Servo, force = offset - kp l - kd dl/dt, moved to the end of the step like 2 with
// z = dt (dt kp + kd) w:
//   c     = dt theta theta_vq kp + theta kd
//   R     = max(1/(dt c), beta^2/(4 pi^2) w)
//   v_hat = (offset - kp l0 - (dt theta (1 - theta_vq) kp + (1 - theta) kd) dl0)/c
//
// 8. Wrong starts. A contact or rigid limit that was closed by motion stores at most the energy of
// that motion: with k' = 1/(R dt T), the stiffness that the step sees, T = dt + tau_d, and M the
// mass of all that moves (loads.h: less within a robot)
//   d <= d_e = V sqrt(M/k')  after an impact at the speed V;  a load F has d = F/k'
// or, in schemes with theta_vq < 1, after a way (1 - theta_vq) dt vn0 that is no longer than that.
// Limits have V/5 in place of V and M = 1/w less what their own damper adds. Where the surfaces
// overlap by less than d, as at a point of a patch with d = f/k and a small k, the energy is at most
// k' d overlap/2: there (d/d_e)^2 has d overlap for d^2. Up to d_e the law is that of 1 to 3 to the
// bit. Overlaps beyond d_e, which V and M do not explain, would leave at d/T and do the work
// k' d^2/2. Their damper is stiffer by f: T becomes f T, w w/f. The spring of contacts is softer by
// g. With m = 1/w, the mass that moves along n, and V_r, a fiftieth of V, for limits too,
//   f = 1 + ((d/d_e)^4 - 1) max(1, sqrt(m/M)),  at most  d/(T V_r) max(1, sqrt(m/M))
//   g = max(1, min((d/d_e)^4, k' d/F)),  F = lift + min(m, M) V_r/HASTE
//   y = -f T vn/d,  gamma_n = dt k' d (1 + y) g^(c - 1),  c = y^2 within y = [0, 1]
// Hence the contact leaves at d/(f T) or slower, and pushes with F at most where k' d is more: that
// lifts all that moves and brings m to V_r soon, while links that cannot part do little work. c is 1
// in a contact that closes at d/(f T) or faster, so that impacts faster than V are stopped (of 8
// m/s, undamped, 0.16 m deep and not 0.08), and loads above F sink in slowly. The row is the tangent
// at y0 = y(vn0) within [0, 1]: with g of vn0 but not its slope, loads made contacts soft and hard
// in turn.  R' = h R/f,  v_hat' = (h gamma_n(y0)/(dt k') - y0 d)/(f T)
//   1/h = g^(c - 1) (1 + 2 y0 (1 + y0) ln g),  h at least STIFFEST
// V is a constant: no function of the state tells the speed at which a contact closed, which is 0
// where it is deepest, and neither gravity, which may be 0, nor sizes bound the height of a fall.
// For the same reason no law of q0, v0 and h that keeps impacts at V gives less than M V^2/2 to a
// wrong start at rest at d_e. Falls by 5 m (10 m/s) keep every bit at k = 1e4 and 1e6 N/m,
// dt = 2 ms.
// The square root: what nearly cannot move, such as a leg pushed along itself, has a mass m far
// above M and gets no more energy than M at V_r. A damper of 1e7 N s/m in a joint is no mass: at V_r
// its limit would press with 1e6 N for as long as it is violated. f and g are continuous functions
// of q0, v0 and h alone. Under error control m has that damper times tau_d, where dt is less.
//
// 9. Thin shapes. A shape that overlaps another by more than half leaves on its other side, so the
// law bounds the depth by a quarter of the thickness D of the thinner shape along n. Where the
// motion without contact would end, a contact alone ends, and may end (less vn0's part of the way):
//   o  = dt theta_vq (v_hat_n - vn*)+      o' = o Rn/(wn + Rn)      L = dt d0/T + (D/4 - d0)+
//   Rn := wn L/(o - L)  where o' > L
// Then o' = L, that is dt v_vq = -(D/4 - d0)+: a contact alone ends at the depth max(D/4, d0). The
// new Rn is smaller and positive, a function of data, so the cost stays convex; it equals the old
// one where o' = L, and is continuous. v_hat_n is unchanged and v_vq <= 0, so that the bound stops
// motion but never reverses it: no energy. A body at rest deeper (v_vq = 0, o' = dt d0/T) stays.
// Where n hardly moves anything (wn nearly 0, o - L round-off), Rn stays at SAP_ROUNDOFF_ROW w.
// Near rigid and at the end of the step o' = o/40.5: at 10 ms shapes of 100 mm are not bounded
// below 100 m/s. castro's law has no bound.
#include "contact/contact_law.h"

#include <float.h>

#include "contact/material.h"
#include "math/scalar.h"

static const double FOUR_PI_SQUARED = 39.478417604357434475;  // of the near-rigid limit
// Bounds of z between which rows move from the theta point to the end of the step.
static const double RESOLVED = 1.0, UNRESOLVED = 2.0;
// Bounds of the slip, relative to what friction takes from it in a step, between which tangents
// move from the end of the step to the theta point.
static const double STICKS = 2.0, SLIDES = 4.0;

sap_contact_scheme sap_contact_scheme_default(void) {
  return (sap_contact_scheme){.theta = 1.0, .theta_vq = 1.0, .model = SAP_CONTACT_BY_MATERIAL};
}

// 1. w of a contact is at most this many W_nn, and at least this part of |W_ii|_F/3.
static const double NORMAL_MOST = 3.0, NORMAL_LEAST = 1e-4;
// A wrong start is undone at this part of the impact speed, which what it moves reaches so soon [s].
static const double RECOVERY = 0.02, HASTE = 2e-3;
// 8. R' is at least this part of R/f.
static const double STIFFEST = 0.125;
// Joints reach their rigid limits at this part of the impact speed or slower.
static const double LIMIT_SPEED = 0.2;
// Part of the friction of the load at the start beyond which a contact that rests stays at rest.
static const double BORNE = 16.0;

// 1. w' of a row on which the mass `load` may rest; 0: unknown.
static double find_loaded_w(double w, double load) {
  return w * load > 8.0 * FOUR_PI_SQUARED ? 8.0 * FOUR_PI_SQUARED / load : w;
}

static double near_rigid(const sap_law_settings* s, double loaded_w) {
  return s->regularization->beta * s->regularization->beta / FOUR_PI_SQUARED * loaded_w;
}

// Returns true if laws may act before the end of the step.
static bool acts_within(const sap_contact_scheme* scheme) {
  return scheme != NULL && (scheme->theta < 1.0 || scheme->theta_vq < 1.0);
}

// The least Rn of a row; a rigid limit has a recovery speed.
static double find_least_R(const sap_law_settings* s, const sap_compliant_row* row) {
  const double w = find_loaded_w(row->w, row->load);
  return row->recovery_speed > 0.0 && acts_within(s->scheme) ? SAP_RIGID_ROW * w : near_rigid(s, w);
}

static bool is_castro(const sap_contact_scheme* scheme) {
  return scheme == NULL || scheme->castro || scheme->v0 == NULL;
}

// The point of the step at which a row acts, between the scheme's theta point and the end.
typedef struct law_point {
  double end;              // share of the end, in [0, 1]
  double theta, theta_vq;  // 1 at the end
} law_point;

typedef struct row_law {
  double Rn, Rt, v_hat;
  double T;         // theta dt + tau_d
  double realised;  // stiffness, as a part of what was asked
  law_point at;
} row_law;

static law_point find_point(const sap_contact_scheme* scheme, double end) {
  return (law_point){end, scheme->theta + end * (1.0 - scheme->theta),
                     scheme->theta_vq + end * (1.0 - scheme->theta_vq)};
}

// z = dt (dt k + d) w of a row of stiffness k and damping d. Where the near-rigid limit acts, the
// row acts at the end.
static law_point find_normal_point(const sap_law_settings* s, double z) {
  if (!acts_within(s->scheme)) {
    return (law_point){1.0, 1.0, 1.0};
  }
  const double beta = s->regularization->beta;
  const double limit = sap_most(1.0, UNRESOLVED * beta * beta / FOUR_PI_SQUARED);
  const double end = (z * limit - RESOLVED) / (UNRESOLVED - RESOLVED);
  return find_point(s->scheme, fmin(fmax(end, 0.0), 1.0));
}

double sap_law_end_share(const sap_law_settings* s, const sap_compliant_row* row) {
  return find_normal_point(s, s->dt * row->stiffness * (s->dt + row->relaxation_time) * row->w).end;
}

bool sap_law_needs_v0(const sap_contact_scheme* scheme, sap_contact_model model) {
  return scheme->rigid || acts_within(scheme) || model != SAP_CONTACT_SAP || !is_castro(scheme);
}

static double bound_recovery(const sap_compliant_row* row, double v_hat) {
  const double most = row->recovery_speed > 0.0 ? row->recovery_speed : (double)INFINITY;
  return fmin(row->unilateral ? v_hat : fmax(v_hat, -most), most);
}

// Returns how deep the surfaces of a contact overlap whose law has the depth d >= 0.
static double find_overlap(double d, double overlap) {
  return overlap > 0.0 && overlap < d ? overlap : d;
}

// 8. Softens the spring of a row that f has slowed down.
static void soften(const sap_law_settings* s, sap_compliant_row* row, double g) {
  if (!(g > 1.0)) {
    return;
  }
  const double speed = -row->g0 / (s->dt + row->relaxation_time);
  const double y = fmin(sap_most(-row->rate0 / speed, 0.0), 1.0), force = pow(g, y * y - 1.0);
  const double slope = force * (1.0 + 2.0 * y * (1.0 + y) * log(g));
  const double h = sap_most(1.0 / slope, STIFFEST);
  row->g0 *= h * force * (1.0 + y);
  row->curvature += s->dt * y * speed;
  row->stiffness /= h;
  row->w *= h;
  row->load /= h;
}

// 8. Slows a unilateral row down, a limit or a contact; returns f.
static double slow_down(const sap_law_settings* s, sap_compliant_row* row) {
  const bool limit = row->recovery_speed > 0.0;
  const double part = limit ? LIMIT_SPEED : 1.0;
  const double mass =
      limit ? fmax(1.0 / row->w - row->damper, SAP_ROUNDOFF_ROW / row->w) : row->mass;
  const double V = part * s->regularization->impact_speed, T = s->dt + row->relaxation_time;
  if (!(row->g0 < 0.0 && V > 0.0 && mass > 0.0 && row->w > 0.0)) {
    return 1.0;
  }
  const double R = sap_most(find_least_R(s, row), 1.0 / (s->dt * row->stiffness * T));
  const double d = -row->g0, overlap = find_overlap(d, row->overlap);
  const double square = d * overlap / (V * V * mass * R * s->dt * T);  // (d/d_e)^2
  if (!(square > 1.0)) {
    return 1.0;
  }
  const double tau = s->scheme != NULL && s->scheme->settled > 0.0 ? row->relaxation_time : 0.0;
  const double damped = sap_most(tau / s->dt - 1.0, 0.0) * row->damper / mass;
  const double ratio = sqrt(sap_most(1.0, 1.0 / (row->w * mass) + damped));  // m/M
  const double f =
      fmin(1.0 + (square * square - 1.0) * ratio, d * part / (T * RECOVERY * V) * ratio);
  if (!(f > 1.0 && isfinite(f))) {
    return 1.0;
  }
  const double most = row->lift > 0.0 ? row->lift + fmin(1.0 / row->w, mass) * RECOVERY * V / HASTE
                                      : (double)INFINITY;
  row->relaxation_time = f * T - s->dt;
  row->w /= f;
  row->load *= f;
  if (s->scheme != NULL && s->scheme->rigid) {
    row->g0 /= f;
  } else {
    soften(s, row, fmin(square * square, d / (R * s->dt * T * most)));
  }
  return f;
}

bool sap_law_limit_is_wrong(const sap_law_settings* s, double g0, double relaxation_time) {
  sap_compliant_row row = {.stiffness = (double)INFINITY, .relaxation_time = relaxation_time};
  row.g0 = g0;
  row.w = row.recovery_speed = 1.0;
  return slow_down(s, &row) > 1.0;
}

static sap_status check_gap(double phi0, sap_error* error) {
  return isfinite(phi0) ? SAP_STATUS_OK
                        : sap_fail(error, SAP_STATUS_NOT_FINITE, "phi0 = %g must be finite", phi0);
}

// 1. Rn, v_hat_n and the point of a row of the pair's stiffness and relaxation time.
static sap_status find_row_law(const sap_law_settings* s, const sap_material* pair,
                               const sap_compliant_row* row, row_law* law, sap_error* error) {
  SAP_TRY(sap_material_check(pair, error));
  SAP_TRY(sap_contact_check_number("dt", s->dt, true, error));
  SAP_TRY(sap_contact_check_number("w", row->w, true, error));
  SAP_TRY(sap_contact_check_number("beta", s->regularization->beta, false, error));
  SAP_TRY(sap_contact_check_number("sigma", s->regularization->sigma, true, error));
  SAP_TRY(check_gap(row->g0, error));
  const double dt = s->dt, k = row->stiffness, tau_d = row->relaxation_time;
  const law_point at = find_normal_point(s, dt * k * (dt + tau_d) * row->w);
  const double T = dt * at.theta + tau_d;
  const bool ahead = row->unilateral && row->g0 > 0.0 && !is_castro(s->scheme);
  const double back = bound_recovery(row, -row->g0 / (ahead ? dt : T)) - row->curvature / dt;
  law->at = at;
  law->T = T;
  const double w = find_loaded_w(row->w, row->load), asked = 1.0 / (dt * k * T * at.theta_vq);
  law->Rn = sap_most(find_least_R(s, row), asked);
  law->Rt = s->regularization->sigma * w;
  law->realised = asked / law->Rn;
  law->v_hat = (back - (1.0 - at.theta_vq) * row->rate0) / at.theta_vq + law->Rn * dt * row->pull;
  SAP_FAIL_IF(!isfinite(law->Rn) || !isfinite(law->Rt) || !isfinite(law->v_hat), error,
              SAP_STATUS_NOT_FINITE,
              "contact: Rn = %g, Rt = %g, v_hat = %g overflow (k = %g, tau_d = %g, w = %g)",
              law->Rn, law->Rt, law->v_hat, k, tau_d, row->w);
  SAP_FAIL_IF(!(law->Rn >= DBL_MIN) || !(law->Rt >= DBL_MIN), error, SAP_STATUS_ARGUMENT,
              "contact: Rn = %g, Rt = %g must be > 0: beta = %g, stiffness = %g, sigma = %g",
              law->Rn, law->Rt, s->regularization->beta, k, s->regularization->sigma);
  law->Rn = sap_most(law->Rn, SAP_ROUNDOFF_ROW * row->w);
  return SAP_STATUS_OK;
}

// 9.
static void bound_depth(const sap_law_settings* s, const sap_law_contact* c, const row_law* law,
                        sap_law_rows* rows) {
  const double quarter = 0.25 * c->thickness, d0 = sap_most(-c->phi0, 0.0);
  if (!(quarter > 0.0 && c->wn > 0.0) || is_castro(s->scheme)) {
    return;
  }
  const double approach = rows->v_hat[SAP_NORMAL_ROW] - c->vc_star[SAP_NORMAL_ROW];
  const double o = s->dt * law->at.theta_vq * approach;
  const double most = s->dt * d0 / law->T + sap_most(quarter - find_overlap(d0, c->overlap), 0.0);
  if (o * law->Rn > most * (c->wn + law->Rn)) {
    const double least = fmin(law->Rn, SAP_ROUNDOFF_ROW * c->w);
    rows->bounded = true;
    rows->R[SAP_NORMAL_ROW] = fmax(c->wn * most / (o - most), least);
  }
}

// |vc - v_hat| of the tangents.
static double find_slip(const sap_law_contact* c, const sap_law_rows* rows, const double* vc) {
  double slip_2 = 0.0;
  for (int32_t i = 0; i < c->nrows; ++i) {
    const double slip = i == SAP_NORMAL_ROW ? 0.0 : vc[i] - rows->v_hat[i];
    slip_2 += slip * slip;
  }
  return sqrt(slip_2);
}

// 3. g~, the impulse that stops the contact alone.
static double stop_alone(const sap_law_contact* c, const sap_law_rows* rows) {
  const double approach = rows->v_hat[SAP_NORMAL_ROW] - c->vc_star[SAP_NORMAL_ROW];
  return sap_most(approach, 0.0) / (c->wn + rows->R[SAP_NORMAL_ROW]);
}

// 2. Moves a contact's tangents towards the theta point, as far as the normal and as it slides.
static void move_tangents(const sap_law_settings* s, const sap_law_contact* c,
                          const row_law* normal, sap_law_rows* rows) {
  double end = 1.0;
  if (normal->at.end < 1.0) {
    const double force =
        -c->material->stiffness * (c->phi0 + c->material->relaxation_time * c->vc0[SAP_NORMAL_ROW]);
    const double stopped = c->friction * c->w * fmax(s->dt * force, stop_alone(c, rows));
    const double slip = find_slip(c, rows, c->vc0);
    const double sticks = (SLIDES * stopped - slip) / ((SLIDES - STICKS) * stopped);
    end = slip >= SLIDES * stopped ? normal->at.end
                                   : fmax(normal->at.end, fmin(fmax(sticks, 0.0), 1.0));
  }
  const double theta = end < 1.0 ? find_point(s->scheme, end).theta : 1.0;
  for (int32_t i = 0; i < c->nrows; ++i) {
    if (i != SAP_NORMAL_ROW && theta < 1.0) {
      rows->R[i] /= theta;
      rows->v_hat[i] -= (1.0 - theta) / theta * (c->vc0[i] - rows->v_hat[i]);
    }
  }
  rows->v_hat[0] -= end * (c->scales[0] * c->velocity_change[0]);
  rows->v_hat[1] -= end * (c->scales[1] * c->velocity_change[1]);
}

// 1. The normal row of a contact.
static sap_compliant_row find_normal(const sap_law_settings* s, const sap_law_contact* c,
                                     double relaxation_time) {
  const bool castro = is_castro(s->scheme);
  const double most = sap_most(NORMAL_MOST * c->wn, NORMAL_LEAST * c->w);
  return (sap_compliant_row){.stiffness = c->material->stiffness,
                             .relaxation_time = relaxation_time,
                             .g0 = c->phi0,
                             .overlap = c->overlap,
                             .rate0 = c->vc0 != NULL ? c->vc0[SAP_NORMAL_ROW] : 0.0,
                             .w = castro || c->w < most ? c->w : most,
                             .load = castro ? 0.0 : c->load,
                             .pull = c->pull,
                             .mass = c->mass,
                             .lift = c->lift,
                             .unilateral = true};
}

// 4. Similar and lagged.

// mu at a slip speed: static up to v_s, dynamic from 3 v_s on, a cubic between. A contact without
// friction (condim 1) has no static friction either.
static double friction_at(double mu, double static_mu, double tolerance, double slip) {
  const double s = 0.5 * (slip / tolerance - 1.0);
  if (!(static_mu > mu) || !(mu > 0.0) || s >= 1.0) {
    return mu;
  }
  const double share = s <= 0.0 ? 0.0 : s * s * (3.0 - 2.0 * s);
  return static_mu + share * (mu - static_mu);
}

// n0 of a contact without one from the step before: the law's impulse at the start of the step,
// at most the one that stops v* at the speed where the contact ends.
static double find_new_impulse(const sap_law_contact* c, double Rn, double v_hat) {
  const double d = c->material->dissipation;
  const double end = d * v_hat > 1.0 ? 1.0 / d : v_hat;
  const double impulse = sap_most(0.0, v_hat) * sap_most(0.0, 1.0 - d * c->vc0[2]) / Rn;
  const double enough = sap_most(0.0, end - c->vc_star[2]) / c->w;
  return impulse < enough ? impulse : enough;
}

static sap_status find_potential(const sap_law_settings* s, const sap_law_contact* c,
                                 sap_law_rows* rows, sap_error* error) {
  const sap_material* pair = c->material;
  SAP_TRY(sap_material_check(pair, error));
  SAP_TRY(sap_contact_check_number("w", c->w, true, error));
  SAP_TRY(sap_contact_check_number("beta", s->regularization->beta, false, error));
  SAP_TRY(check_gap(c->phi0, error));
  sap_compliant_row normal = find_normal(s, c, 0.0);
  rows->is_wrong = slow_down(s, &normal) > 1.0;
  const double T = s->dt + normal.relaxation_time;
  const double asked = 1.0 / (s->dt * T * normal.stiffness);
  double Rn = sap_most(find_least_R(s, &normal), asked);
  rows->realised = asked / Rn;
  const double v_hat = -normal.g0 / T - normal.curvature / s->dt + Rn * s->dt * c->pull;
  SAP_FAIL_IF(!isfinite(Rn) || !isfinite(v_hat), error, SAP_STATUS_NOT_FINITE,
              "contact: Rn = %g, v_hat = %g overflow (k = %g)", Rn, v_hat, pair->stiffness);
  SAP_FAIL_IF(!(Rn >= DBL_MIN), error, SAP_STATUS_ARGUMENT,
              "contact: Rn = %g must be > 0: beta = %g, stiffness = %g", Rn,
              s->regularization->beta, pair->stiffness);
  const double speed = fabs(v_hat) + 2.0 * fabs(c->vc_star[SAP_NORMAL_ROW]) +
                       c->friction * find_slip(c, rows, c->vc_star);
  Rn = sap_most(Rn, 10.0 * SAP_ROUNDOFF_ROW * c->w * (1.0 + pair->dissipation * speed));
  for (int32_t i = 0; i < c->nrows; ++i) {
    rows->R[i] = Rn;
  }
  rows->v_hat[SAP_NORMAL_ROW] = v_hat;
  bound_depth(s, c, &(row_law){.Rn = Rn, .T = T, .at.theta_vq = 1.0}, rows);
  rows->slip_speed =
      pair->stiction_tolerance > 0.0 ? pair->stiction_tolerance : SAP_STICTION_TOLERANCE;
  rows->friction =
      friction_at(c->friction, pair->static_friction, rows->slip_speed, find_slip(c, rows, c->vc0));
  rows->new_impulse = find_new_impulse(c, rows->R[SAP_NORMAL_ROW], v_hat);
  return SAP_STATUS_OK;
}

// 5. Rigid: v_hat of a row whose velocity may not be less (bilateral: must be equal).
static double find_rigid_bias(const sap_law_settings* s, const sap_compliant_row* row,
                              double restitution) {
  const double gap = row->g0 + row->curvature;
  const bool open = row->unilateral && gap > 0.0;
  const bool closes = gap + s->dt * row->rate0 <= 0.0;
  if (open && !(restitution > 0.0 && closes)) {
    return -gap / s->dt;
  }
  const double bounce = row->unilateral ? -restitution * fmin(row->rate0, 0.0) : 0.0;
  return open ? bounce : bounce - s->scheme->baumgarte * gap / s->dt;
}

static sap_status find_cone(const sap_law_settings* s, const sap_law_contact* c, sap_law_rows* rows,
                            sap_error* error) {
  const double theta = s->scheme->theta;
  sap_compliant_row normal = find_normal(s, c, c->material->relaxation_time);
  row_law law = {0};
  rows->reads_wn = normal.w < c->w;
  rows->is_wrong = slow_down(s, &normal) > 1.0;
  SAP_TRY(find_row_law(s, c->material, &normal, &law, error));
  for (int32_t i = 0; i < c->nrows; ++i) {
    rows->R[i] = sap_most(law.Rt, SAP_ROUNDOFF_TANGENT * c->largest_w);
  }
  rows->realised = law.realised;
  // J is that at q^theta: phi0 + gap_change + J way = phi(q^theta) = phi0 + ... of second order in
  // the way, so that the end is at phi0 + J (end) + gap_change (2 theta - 1)/theta^2.
  const double e = (1.0 - law.at.end) * c->gap_change * (2.0 * theta - 1.0) / (theta * theta);
  rows->R[SAP_NORMAL_ROW] = law.Rn;
  rows->v_hat[SAP_NORMAL_ROW] = law.v_hat - e / (s->dt * law.at.theta_vq) -
                                law.at.end * (c->scales[2] * c->velocity_change[2]);
  rows->end = law.at.end;
  bound_depth(s, c, &law, rows);
  move_tangents(s, c, &law, rows);
  if (s->scheme->rigid) {
    normal.curvature = c->gap_change;
    for (int32_t i = 0; i < c->nrows; ++i) {
      rows->R[i] = 0.0;
    }
    rows->realised = 1.0;
    const double e_r = s->scheme->restitution, gap = normal.g0 + normal.curvature;
    rows->v_hat[SAP_NORMAL_ROW] = find_rigid_bias(s, &normal, e_r);
    if (e_r > 0.0 && gap > 0.0 && gap + s->dt * normal.rate0 <= 0.0) {
      rows->end_change = -(1.0 + e_r) * gap / s->dt;
    }
  }
  return SAP_STATUS_OK;
}

// 3. Predicts the slip |g_t| of a contact at the end of the step.
static double predict_slip(const sap_law_settings* s, const sap_law_contact* c,
                           const sap_law_rows* rows) {
  const double Rn = rows->R[SAP_NORMAL_ROW];
  // Friction of similar contacts has no R.
  const double Rt = c->model == SAP_CONTACT_SAP ? rows->R[0] : 0.0;
  const double tau_d = c->model == SAP_CONTACT_SAP ? c->material->relaxation_time : 0.0;
  const double load = sap_most(-c->phi0, 0.0) / ((s->dt + tau_d) * Rn);
  const double p =
      sap_most(find_slip(c, rows, c->vc_star) - c->friction * c->wt * stop_alone(c, rows), 0.0);
  const double s0 = sap_most(find_slip(c, rows, c->vc0) - c->friction * Rt * load, 0.0);
  return sap_most(2.0 * s0 < p ? 2.0 * s0 : p, p - BORNE * c->friction * c->wt * load);
}

sap_status sap_law_contact_rows(const sap_law_settings* settings, const sap_law_contact* contact,
                                sap_law_rows* rows, sap_error* error) {
  const double* belt = contact->surface_velocity;
  *rows = (sap_law_rows){
      .friction = contact->friction, .end = 1.0, .end_change = contact->velocity_change[2]};
  for (int32_t i = 0; i < contact->nrows && i < 4; ++i) {
    if (i != SAP_NORMAL_ROW) {
      rows->v_hat[i] = (0.0 - belt[i < SAP_NORMAL_ROW ? i : i - 1]) * contact->scales[i];
    }
  }
  SAP_TRY(contact->model == SAP_CONTACT_SAP ? find_cone(settings, contact, rows, error)
                                            : find_potential(settings, contact, rows, error));
  const sap_contact_scheme* scheme = settings->scheme;
  rows->shifts = !is_castro(scheme) && !scheme->glides && !scheme->rigid &&
                 contact->model != SAP_CONTACT_LAGGED && rows->friction > 0.0;
  if (rows->shifts) {
    rows->slip = predict_slip(settings, contact, rows);
  }
  return SAP_STATUS_OK;
}

sap_status sap_law_row(const sap_law_settings* s, const sap_compliant_row* row, double* R,
                       double* v_hat, sap_error* error) {
  SAP_FAIL_IF(!isfinite(row->rate0) || !isfinite(row->curvature), error, SAP_STATUS_NOT_FINITE,
              "rate0 = %g, curvature = %g must be finite", row->rate0, row->curvature);
  SAP_FAIL_IF(!(row->recovery_speed >= 0.0 && row->damper >= 0.0), error, SAP_STATUS_ARGUMENT,
              "recovery_speed = %g and damper = %g must be >= 0", row->recovery_speed, row->damper);
  sap_compliant_row slowed = *row;
  if (row->unilateral) {
    (void)slow_down(s, &slowed);
    row = &slowed;
  }
  const sap_material material = {.stiffness = row->stiffness,
                                 .relaxation_time = row->relaxation_time};
  row_law law = {0};
  SAP_TRY(find_row_law(s, &material, row, &law, error));
  *R = law.Rn;
  *v_hat = law.v_hat;
  if (s->scheme->rigid) {
    *R = 0.0;
    *v_hat = find_rigid_bias(s, row, 0.0);
  }
  return SAP_STATUS_OK;
}

// 7. Servo.
void sap_law_servo_row(const sap_law_settings* s, const sap_law_servo* servo, double* R,
                       double* v_hat) {
  const law_point at = find_normal_point(s, s->dt * (s->dt * servo->kp + servo->kd) * servo->w);
  sap_law_servo_at(servo, s->dt, at.theta, at.theta_vq, R, v_hat);
  *R = fmax(*R, near_rigid(s, servo->w));
}
