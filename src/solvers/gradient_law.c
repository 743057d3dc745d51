// SPDX-License-Identifier: BSD-3-Clause
// u = v_hat - vc, ur = |u_t|, t = u_t/ur. Where R is tiny, u is round-off: impulses are taken from
// gamma, and from u only the slip of contacts that slide.
//
// Cone, k = 1/(Rn + mu^2 Rt)                                                     contact/cone.h
//   stick   gamma = R^-1 u
//   slide   gamma_n = k (u_n + mu ur),  gamma_t = mu gamma_n t
//           d gamma_n/d mu = k (ur - 2 mu Rt gamma_n),  d gamma_t = (mu d gamma_n + gamma_n dmu) t
//   coulomb gamma_n = u_n/Rn:  G_tn = (mu/Rn) t,  G_nt = 0,  d gamma_n/d mu = 0
// slide if and only if ur > mu Rt gamma_n, in both laws. gamma is a function of u - R gamma and mu
// alone in all modes, so that dR acts like du = -gamma o dR.
//
// Softened, in z = R^1/2 y with m = mu (Rt/Rn)^1/2 and s^2 = 1 + m^2: a along the edge of the cone
// in the plane of z, b outwards, p(x) = (x + (x^2 + 4 kappa^2)^1/2)/2,
//   X = (1 - p'(b)) I + p'(b) p'(a) (e e' + min(1, p(a) m/(s z_r)) (I_t - t t')),  e = (m t, 1)/s
//   G = R^-1/2 X R^-1/2
// and of rows p'(z - lower) - p'(z - upper). kappa -> 0 gives G.
//
// Potentials (contact/cone.h): Y from gamma_n = Y (a + b Y). At a fixed distance z
//   d gamma_n/d v_hat_n = b Y, and a more unless damping ends the contact before v_hat
#include "solvers/gradient_data.h"

#include <math.h>
#include <string.h>

static double smooth_step(double x, double kappa) {
  if (isinf(x)) {
    return x > 0.0 ? 1.0 : 0.0;
  }
  return 0.5 * (1.0 + x / sqrt(x * x + 4.0 * kappa * kappa));
}

static double smooth_ramp(double x, double kappa) {
  const double root = sqrt(x * x + 4.0 * kappa * kappa);
  return x >= 0.0 ? 0.5 * (x + root) : 2.0 * kappa * kappa / (root - x);
}

// A contact at its solution.
typedef struct contact_point {
  const sap_block* block;
  const double *gamma, *t;
  double un, ur;
  bool coulomb;
} contact_point;

static sap_cone_region find_region(const contact_point* c, const sap_cone* cone) {
  const double gamma_n = c->gamma[SAP_NORMAL_ROW];
  if (!(gamma_n > 0.0) ||
      (!c->coulomb && sap_cone_classify(cone, c->ur * c->ur, c->un) == SAP_CONE_NONE)) {
    return SAP_CONE_NONE;
  }
  const double edge = cone->mu * c->block->R[0] * gamma_n;
  return cone->mu > 0.0 && c->ur <= edge ? SAP_CONE_STICTION : SAP_CONE_SLIDING;
}

// G by the softened modes; yn: normal row of y.
static void soften_cone(const contact_point* c, double kappa, double yn, sap_contact_slope* G) {
  const double mu = c->block->friction, Rt = c->block->R[0], Rn = c->block->R[SAP_NORMAL_ROW];
  const double m = mu * sqrt(Rt / Rn), s_2 = 1.0 + m * m, s = sqrt(s_2);
  const double zr = c->ur / sqrt(Rt), zn = yn * sqrt(Rn), a = (m * zr + zn) / s;
  const double outside = mu > 0.0 ? smooth_step((zr - m * zn) / s, kappa) : 1.0;
  const double on = outside * smooth_step(a, kappa), stick = 1.0 - outside;
  const double edge = zr > 0.0 ? fmin(1.0, smooth_ramp(a, kappa) * m / (s * zr)) : 1.0;
  const double nn = stick + on / s_2, coupling = on * m / s_2;
  G->nn = nn / Rn;
  G->from_t = G->to_t = nn > 0.0 ? coupling / nn * sqrt(Rn / Rt) : 0.0;
  G->along = (stick + (nn > 0.0 ? coupling * m * stick / nn : 0.0)) / Rt;
  G->across = (stick + (mu > 0.0 ? on * edge : 0.0)) / Rt;
}

static void count_contact(sap_gradient_report* counts, sap_cone_region region, bool near_kink) {
  counts->open += region == SAP_CONE_NONE;
  counts->sticking += region == SAP_CONE_STICTION;
  counts->sliding += region == SAP_CONE_SLIDING;
  counts->kinks += near_kink;
}

static void cone_slopes(const sap_gradient_options* o, const contact_point* c,
                        const sap_slopes* out, sap_gradient_report* counts) {
  const double mu = c->block->friction, Rt = c->block->R[0], Rn = c->block->R[SAP_NORMAL_ROW];
  const sap_cone cone = sap_cone_make(mu, Rt, Rn);
  const sap_cone_region region = find_region(c, &cone);
  const double gamma_n = c->gamma[SAP_NORMAL_ROW];
  sap_contact_slope* G = out->contact;
  double yn = gamma_n;
  switch (region) {
    case SAP_CONE_NONE:
      yn = c->un / Rn;
      break;
    case SAP_CONE_STICTION:
      G->nn = 1.0 / Rn;
      G->along = G->across = 1.0 / Rt;
      break;
    case SAP_CONE_SLIDING:
      G->nn = c->coulomb ? 1.0 / Rn : cone.k;
      G->from_t = c->coulomb ? 0.0 : mu;
      G->to_t = mu;
      G->across = c->ur > 0.0 ? mu * gamma_n / c->ur : 0.0;
      G->mu = gamma_n;
      G->by_mu = c->coulomb ? 0.0 : c->ur - 2.0 * mu * Rt * gamma_n;
      yn = c->coulomb ? gamma_n : (gamma_n / cone.k - mu * c->ur) / Rn;
      break;
  }
  for (int32_t i = 0; region != SAP_CONE_NONE && i < c->block->nrows; ++i) {
    out->by_R[i] = -c->gamma[i];
  }
  const double yr = c->ur / Rt, rise = c->coulomb ? 0.0 : mu * c->ur / Rn;
  const bool near_edge = mu > 0.0 && yn > 0.0 && fabs(yr - mu * yn) <= o->kink_margin;
  count_contact(counts, region, near_edge || fabs(yn + rise) <= o->kink_margin);
  if (o->smoothing > 0.0) {
    soften_cone(c, o->smoothing, yn, G);
  }
}

static void potential_slopes(const sap_gradient_options* o, const contact_point* c,
                             const sap_slopes* out, sap_gradient_report* counts) {
  const sap_potential p = sap_potential_make(c->block);
  const double gamma_n = fmax(c->gamma[SAP_NORMAL_ROW], 0.0), Rn = c->block->R[SAP_NORMAL_ROW];
  const double a = p.linear, b = p.quadratic, ur = c->ur, vs = p.slip_speed;
  const bool on = gamma_n > 0.0, creeps = ur < vs;
  const double Y = on ? 2.0 * gamma_n / (a + sqrt(a * a + 4.0 * b * gamma_n)) : 0.0;
  const double nn = on ? a + 2.0 * b * Y : 0.0;
  const double h = creeps ? 0.5 * ur * ur / vs : ur - 0.5 * vs, h1 = creeps ? ur / vs : 1.0;
  const bool frozen = p.lagged && !c->coulomb;  // friction of n0
  const bool lifts = !p.lagged && !c->coulomb;  // slip raises the normal impulse
  const double bound = frozen ? p.limit : p.mu * gamma_n;
  sap_contact_slope* G = out->contact;
  G->nn = nn;
  G->from_t = lifts ? p.mu * h1 : 0.0;
  G->to_t = frozen ? 0.0 : p.mu * h1;
  G->along = creeps ? bound / vs : 0.0;
  G->across = bound / (creeps ? vs : ur);
  if (on) {
    out->by_R[SAP_NORMAL_ROW] = -gamma_n / (Rn * nn);
    G->by_v_hat = -(b * Y + (p.offset > 0.0 ? a : 0.0)) / nn;
    G->by_mu = lifts ? h : 0.0;
  }
  G->mu = (frozen ? c->block->lagged_impulse : gamma_n) * h1;
  G->lagged = frozen ? p.mu * h1 : 0.0;
  const double gap = c->un - p.offset + (lifts ? p.mu * h : 0.0);
  count_contact(counts,
                !on      ? SAP_CONE_NONE
                : creeps ? SAP_CONE_STICTION
                         : SAP_CONE_SLIDING,
                a * fabs(on ? Y : gap) <= o->kink_margin ||
                    (bound > 0.0 && bound * fabs(ur / vs - 1.0) <= o->kink_margin));
}

static void interval_slopes(const sap_gradient_options* o, const sap_block* block, const double* vc,
                            const double* gamma, const sap_slopes* out,
                            sap_gradient_report* counts) {
  for (int32_t i = 0; i < block->nrows; ++i) {
    const double lower = sap_set_lower(block, i), upper = sap_set_upper(block, i);
    const double inverse_R = 1.0 / block->R[i], u = block->v_hat[i] - vc[i];
    const bool inside = sap_interval_is_inside(u, inverse_R, lower, upper);
    const double y = inside ? gamma[i] : u * inverse_R;
    out->G[i] = inside ? inverse_R : 0.0;
    out->by_R[i] = inside ? -gamma[i] : 0.0;
    out->bound[i] = inside || block->set != SAP_SET_BOX ? 0 : y <= lower ? -1 : 1;
    counts->inside += inside;
    counts->at_bound += !inside;
    counts->kinks += fabs(y - lower) <= o->kink_margin || fabs(y - upper) <= o->kink_margin;
    if (o->smoothing > 0.0) {
      const double root = sqrt(block->R[i]);
      out->G[i] = (smooth_step(root * (y - lower), o->smoothing) -
                   smooth_step(root * (y - upper), o->smoothing)) *
                  inverse_R;
    }
  }
}

void sap_block_slopes(const sap_gradient_options* o, const sap_block* block, const double* vc,
                      const double* gamma, const sap_slopes* out, sap_gradient_report* counts) {
  const size_t n = (size_t)block->nrows;
  memset(out->by_R, 0, n * sizeof *out->by_R);
  memset(out->bound, 0, n * sizeof *out->bound);
  *out->contact = (sap_contact_slope){0};
  if (!sap_set_is_contact(block->set)) {
    interval_slopes(o, block, vc, gamma, out, counts);
    return;
  }
  double u[SAP_CONE_ROWS_MAX];
  for (size_t i = 0; i < n; ++i) {
    u[i] = block->v_hat[i] - vc[i];
  }
  const double ur = sqrt(sap_cone_n_dot(block->nrows, u, u));
  const double gr = sqrt(sap_cone_n_dot(block->nrows, gamma, gamma));
  for (size_t i = 0; (gr > 0.0 || ur > 0.0) && i < n; ++i) {
    out->contact->t[i] = i == SAP_NORMAL_ROW ? 0.0 : gr > 0.0 ? gamma[i] / gr : u[i] / ur;
  }
  const contact_point c = {block, gamma, out->contact->t, u[SAP_NORMAL_ROW], ur, o->coulomb};
  if (sap_set_is_potential(block->set)) {
    potential_slopes(o, &c, out, counts);
  } else {
    cone_slopes(o, &c, out, counts);
  }
}

void sap_contact_slope_multiply(const sap_contact_slope* c, int32_t n, bool transposed,
                                const double* x, double* y) {
  const double slip = sap_cone_n_dot(n, c->t, x), to_t = transposed ? c->from_t : c->to_t;
  const double normal = c->nn * ((transposed ? c->to_t : c->from_t) * slip + x[SAP_NORMAL_ROW]);
  const double along = to_t * normal + c->along * slip;
  for (int32_t i = 0; i < n; ++i) {
    y[i] = c->t[i] * along + c->across * (x[i] - c->t[i] * slip);
  }
  y[SAP_NORMAL_ROW] = normal;
}
