// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the impulses p = J' gamma of a step's blocks, with the set of blocks as it is.
//
// A contact at p, frame R, J v = R' (v_B - v_A), gamma = P(u), u = v_hat - J v, G = dgamma/du:
//   dgamma = G (dv_hat - d(J v) + by_R dR) + ...       solvers/gradient_data.h
//   R, v_hat, mu and n0 are the law's functions of phi0, the scales w of W = J A^-1 J', J v0, J v*
//   dW_rs = d(J X_s)_r + d(J X_r)_s - X_r' dA X_s,  X = A^-1 J'
// with changes of J by contact_slopes.c. Lagged contacts are solved until their friction is that of
// their own normal impulse.
#include <math.h>
#include <string.h>

#include "contact/material.h"
#include "integrators/stepper.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"
#include "problem/law.h"
#include "problem/problem_data.h"
#include "solvers/gradient_data.h"

enum { ROWS = SAP_CONE_ROWS_MAX, SLOTS = ROWS + 1 };
// Inputs and outputs of the law of a contact; SHIFT is what v_hat_n of the law is lowered by, MOVE is
// J_n d of corrected positions.
enum { IN_PHI, IN_W, IN_WT, IN_WN, IN_V0, IN_V_STAR = IN_V0 + ROWS, IN_CHANGE = IN_V_STAR + ROWS };
enum { LAW_INPUTS = IN_CHANGE + 3 };
enum { OUT_R, OUT_V_HAT = ROWS, OUT_SHIFT = 2 * ROWS, OUT_MU, OUT_LAGGED, OUT_MOVE };
enum { LAW_OUTPUTS = OUT_MOVE + 1 };

// --- the law ---

typedef struct contact_law {
  int32_t inputs;  // the first of them have effects
  bool apart;      // phi has on v_hat alone, w on R alone
  sap_law_contact contact;
  sap_material material;
  double scales[ROWS], x[LAW_INPUTS], out[LAW_OUTPUTS];
  double vn;  // J_n v
} contact_law;

static sap_status evaluate_law(const sap_slopes_call* call, const contact_law* law,
                               const double x[LAW_INPUTS], sap_law_rows* all,
                               double out[LAW_OUTPUTS], sap_error* error) {
  sap_law_contact at = law->contact;
  at.phi0 = x[IN_PHI];
  at.w = x[IN_W];
  at.wt = x[IN_WT];
  at.wn = x[IN_WN];
  at.vc0 = x + IN_V0;
  at.vc_star = x + IN_V_STAR;
  at.velocity_change = x + IN_CHANGE;
  SAP_TRY(sap_law_contact_rows(&call->law, &at, all, error));
  memcpy(out + OUT_R, all->R, sizeof all->R);
  memcpy(out + OUT_V_HAT, all->v_hat, sizeof all->v_hat);
  const sap_set set = at.model == SAP_CONTACT_SIMILAR ? SAP_SET_SIMILAR : SAP_SET_FRICTION_CONE;
  out[OUT_SHIFT] =
      all->shifts ? all->friction * sap_law_rise(set, all->slip_speed, all->slip) : 0.0;
  out[OUT_MU] = all->friction;
  out[OUT_LAGGED] = all->new_impulse;
  const double change = law->vn - x[IN_V0 + SAP_NORMAL_ROW];
  out[OUT_MOVE] = all->end * (call->data->end_bound != 0.0
                                  ? call->data->end_bound
                                  : (1.0 - call->step->stage_theta_vq) * change + all->end_change);
  return SAP_STATUS_OK;
}

// Sets dgamma at fixed vc of a change of the law's outputs, and that of J_n d.
static void change_impulse(const sap_slopes_call* call, const sap_block_point* at, int32_t n,
                           const double d[LAW_OUTPUTS], double out[SLOTS]) {
  const sap_contact_slope* s = &at->contact;
  const double shift = call->settled ? 0.0 : d[OUT_SHIFT];
  double du[ROWS] = {0.0};
  for (int32_t r = 0; r < n; ++r) {
    du[r] = d[OUT_V_HAT + r] + at->by_R[r] * d[OUT_R + r];
  }
  du[SAP_NORMAL_ROW] += s->by_v_hat * d[OUT_V_HAT + SAP_NORMAL_ROW] + s->by_mu * d[OUT_MU] - shift;
  sap_contact_slope_multiply(s, n, false, du, out);
  for (int32_t r = 0; r < n; ++r) {
    out[r] += s->t[r] * (s->mu * d[OUT_MU] + s->lagged * d[OUT_LAGGED]);
  }
  out[n] = d[OUT_MOVE];
}

// Sets g, dgamma of the law's inputs at fixed vc: columns of block->nrows.
static sap_status differentiate_law(const sap_slopes_call* call, const sap_block* block,
                                    const contact_law* law, const sap_block_point* at,
                                    double g[LAW_INPUTS][SLOTS], sap_error* error) {
  const double* x = law->x;
  const bool apart = law->apart;
  memset(g, 0, LAW_INPUTS * sizeof *g);
  for (int i = 0; i < (apart ? 1 : law->inputs); ++i) {
    const bool scale = i == IN_W || i == IN_WT || i == IN_WN;
    const double step = SAP_LAW_STEP * (scale ? x[i] : fmax(fabs(x[i]), SAP_LAW_LEAST));
    double moved[LAW_INPUTS], d[2][LAW_OUTPUTS], of_w[LAW_OUTPUTS] = {0.0};
    sap_law_rows rows;
    if (!(step > 0.0) || (i >= IN_V0 && (i - IN_V0) % ROWS >= block->nrows)) {
      continue;
    }
    memcpy(d[0], law->out, sizeof d[0]);
    for (int side = apart ? 1 : 0; side < 2; ++side) {
      memcpy(moved, x, sizeof moved);
      moved[i] += side == 0 ? -step : step;
      moved[IN_W] *= apart ? 1.0 + SAP_LAW_STEP : 1.0;
      SAP_TRY(evaluate_law(call, law, moved, &rows, d[side], error));
    }
    for (int o = 0; o < LAW_OUTPUTS; ++o) {
      d[0][o] = (d[1][o] - d[0][o]) / (apart ? step : 2.0 * step);
    }
    if (apart) {
      for (int r = 0; r < OUT_V_HAT; ++r) {
        of_w[r] = d[0][r] * step / (SAP_LAW_STEP * x[IN_W]);
        d[0][r] = 0.0;
      }
      change_impulse(call, at, block->nrows, of_w, g[IN_W]);
    }
    change_impulse(call, at, block->nrows, d[0], g[i]);
  }
  return SAP_STATUS_OK;
}

// --- contacts ---

// Sets W and x of its scales.
static sap_status find_scales(const sap_slopes_call* call, const sap_block* block, double W[9],
                              double x[LAW_INPUTS], sap_error* error) {
  sap_contact_slopes* w = call->w;
  double square = 0.0;
  SAP_TRY(sap_slopes_solve_rows(call, block, 0, error));
  for (int s = 0; s < 3; ++s) {
    double y[ROWS];
    sap_slopes_multiply_rows(call, w->X[s], y);
    for (int r = 0; r < 3; ++r) {
      W[3 * s + r] = y[r] / call->scales[r];
      square += W[3 * s + r] * W[3 * s + r];
    }
  }
  x[IN_W] = sqrt(square) / 3.0;
  x[IN_WT] = 0.5 * (W[0] + W[4]);
  x[IN_WN] = W[8];
  return SAP_STATUS_OK;
}

// change: of the block, as in sap_evaluation_point. Its velocity_change is an input.
static void set_law(const sap_slopes_call* call, const sap_contact* contact, const sap_block* block,
                    const double change[4], contact_law* law) {
  const sap_assembly* assembly = call->multibody->assembly;
  const sap_model_body* bodies = call->multibody->model->bodies;
  const bool isotropic = block->nrows == 3 && contact->friction[0] == contact->friction[1];
  double mu = contact->friction[0];
  law->material = contact->material;
  for (int i = 0; i < ROWS; ++i) {
    law->scales[i] = 1.0;
  }
  if (isotropic) {
    law->material.friction = mu;
  } else {
    mu = sap_friction_scales(contact->friction, block->nrows, law->scales);
  }
  law->contact = (sap_law_contact){
      .material = &law->material,
      .model = block->set == SAP_SET_SIMILAR  ? SAP_CONTACT_SIMILAR
               : block->set == SAP_SET_LAGGED ? SAP_CONTACT_LAGGED
                                              : SAP_CONTACT_SAP,
      .mass = sap_loads_impact(&assembly->loads,
                               bodies[contact->body_A].root == bodies[contact->body_B].root),
      .lift = assembly->loads.lift,
      .load = sap_loads_get(&assembly->loads, bodies[contact->body_A].tree,
                            bodies[contact->body_B].tree, contact->R_WC + 6),
      .thickness = contact->thickness,
      .friction = mu,
      .nrows = block->nrows,
      .scales = law->scales,
      .surface_velocity = contact->surface_velocity,
      .gap_change = change[3]};
  memcpy(law->x + IN_CHANGE, change, 3 * sizeof *change);
}

// u' dgamma at fixed vc, as of phi, of A, and of J v, J v0, J v* of rows without their scales.
typedef struct law_pull {
  double phi, v[ROWS], v0[ROWS], v_star[ROWS];
} law_pull;

static void pull_law(const sap_slopes_call* call, const contact_law* law, const double* G,
                     double (*g)[SLOTS], const double W[9], const double* u, law_pull* out,
                     sap_mass_pull* mass) {
  const sap_contact_slopes* w = call->w;
  const int32_t n = w->rows;
  const double by_w = sap_slopes_dot(w, u, g[IN_W]) / (9.0 * law->x[IN_W]);
  *out = (law_pull){.phi = sap_slopes_dot(w, u, g[IN_PHI])};
  for (int i = 0; i < 9; ++i) {
    mass->W[i] = by_w * W[i];
  }
  mass->W[0] += 0.5 * sap_slopes_dot(w, u, g[IN_WT]);
  mass->W[4] += 0.5 * sap_slopes_dot(w, u, g[IN_WT]);
  mass->W[8] += sap_slopes_dot(w, u, g[IN_WN]);
  for (int32_t i = 0; i < n; ++i) {
    for (int32_t r = 0; r < n; ++r) {
      out->v[i] -= law->scales[i] * u[r] * G[n * i + r];
    }
    out->v0[i] = law->scales[i] * sap_slopes_dot(w, u, g[IN_V0 + i]);
    out->v_star[i] = law->scales[i] * sap_slopes_dot(w, u, g[IN_V_STAR + i]);
  }
  sap_v3_copy(mass->y, out->v_star);
  if (w->slots > n && call->data->end_bound == 0.0) {
    out->v[SAP_NORMAL_ROW] += (1.0 - call->step->stage_theta_vq) * call->data->end * u[n];
  }
}

// Pulls the effect of J on W, alone to w->row_way; of lambda, all of J, with d(J lambda)' force.
static void pull_moves(const sap_slopes_call* call, const contact_law* law, const law_pull* pull,
                       const sap_mass_pull* mass, const double* force) {
  sap_contact_slopes* w = call->w;
  sap_contact_field fields[SAP_CONTACT_FIELDS];
  const bool one = call->out->lambda != NULL;
  const int count = !one ? 3 : law->inputs > IN_V0 ? 7 : 5;
  const double* const y[] = {w->X[0],          w->X[1],           w->X[2],
                             call->out->v,     call->out->lambda, call->step->v0_free,
                             call->out->v_star};
  const double* const f[] = {mass->W, mass->W + 3, mass->W + 6, pull->v,
                             force,   pull->v0,    pull->v_star};
  for (int s = 0; s < count; ++s) {
    fields[s] = (sap_contact_field){.y = y[s]};
    for (int32_t r = 0; r < (s < 3 ? 3 : w->rows); ++r) {
      fields[s].f[r] = (s < 3 ? 2.0 : 1.0) * f[s][r];
    }
  }
  sap_contact_pull* sum = &w->pulls[call->within];
  sap_contact_slopes_pull(w, fields, count, call->within || !one ? 0.0 : pull->phi, sum);
  if (!one) {
    for (int32_t k = 0; k < w->count; ++k) {
      w->row_way[w->dofs[k]] = 0.0;
    }
    sap_contact_slopes_end_pull(w, sum, w->dofs, w->count, w->row_way);
  } else if (w->slots > w->rows) {
    const double* const* x = call->problem->end;
    const sap_contact_field end[] = {{x[0], {[SAP_NORMAL_ROW] = -call->data->end_pull}},
                                     {x[1], {[SAP_NORMAL_ROW] = call->data->end_impulse}},
                                     {x[2], {[SAP_NORMAL_ROW] = call->data->end_push}}};
    double by_point[3];
    sap_v3_copy(by_point, w->by_point);
    sap_contact_slopes_pull(w, end, 3, 0.0, sum);
    sap_v3_add(w->by_point, w->by_point, by_point);
  }
}

// Adds what dgamma to velocity_change gives by dofs[k].
static void add_velocity_change(const sap_slopes_call* call, int32_t k, double (*g)[SLOTS]) {
  const sap_contact_slopes* w = call->w;
  double* const to[] = {call->out->dq0, call->out->dq_theta, call->out->dv0};
  for (int kind = 0; kind < 3; ++kind) {
    const double* by = w->by_change[k][kind];
    double x[SLOTS];
    for (int32_t r = 0; r < w->slots; ++r) {
      x[r] = by[0] * g[0][r] + by[1] * g[1][r] + by[2] * g[2][r];
    }
    sap_slopes_add_rows(call, x, to[kind], w->dofs[k]);
  }
}

// Sets w->changes, dgamma to q0 by J and phi, and masses and pulls of the rows; of u' dgamma these alone.
// Where the law reads w and phi alone, masses[0] is the one of w.
static void find_changes(const sap_slopes_call* call, const contact_law* law, const double* G,
                         double (*g)[SLOTS], const double W[9], const double* force,
                         sap_mass_pull masses[ROWS], law_pull pulls[ROWS]) {
  sap_contact_slopes* w = call->w;
  const bool one = call->out->lambda != NULL, by_w = !one && law->inputs <= IN_WT;
  const int32_t rows = one ? 1 : w->rows;
  for (int32_t r = 0; r < rows; ++r) {
    double e[SLOTS] = {0.0};
    e[r] = 1.0;
    pull_law(call, law, G, g, W, one ? w->u : e, &pulls[r], &masses[r]);
    if (r == 0 && by_w) {
      for (int i = 0; i < 9; ++i) {
        masses->W[i] = W[i] / (9.0 * law->x[IN_W]);
      }
    }
    if (r == 0 || !by_w) {
      pull_moves(call, law, &pulls[r], &masses[r], force);
    }
    for (int32_t k = 0; k < w->count && !one; ++k) {
      w->changes[k][r] = (by_w ? g[IN_W][r] : 1.0) * w->row_way[w->dofs[k]] +
                         (call->within ? 0.0 : pulls[r].phi * w->dphi[k]);
    }
  }
  for (int s = 0; !one && s < (law->inputs > IN_V0 ? 3 : 1); ++s) {
    const double* const y[] = {call->out->v, call->step->v0_free, call->out->v_star};
    const double* const f[] = {pulls->v, pulls->v0, pulls->v_star};
    sap_contact_slopes_add(w, y[s], f[s], sizeof *pulls / sizeof(double));
  }
}

// Adds what dgamma/dx of the law's inputs and dgamma = -G d(J v) give, with d(J' force).
static void add_law(const sap_slopes_call* call, const sap_block* block, const contact_law* law,
                    const double* G, double (*g)[SLOTS], const double W[9], const double* force) {
  const sap_contact_slopes* w = call->w;
  const bool one = call->out->lambda != NULL;
  double* to = call->within ? call->out->dq_theta : call->out->dq0;
  law_pull pulls[ROWS];
  sap_mass_pull masses[ROWS];
  find_changes(call, law, G, g, W, force, masses, pulls);
  for (int32_t k = 0; k < w->count && (!one || call->within); ++k) {
    double x[SLOTS];
    if (!one) {
      sap_slopes_add_rows(call, w->changes[k], to, w->dofs[k]);
    }
    for (int32_t r = 0; call->within && r < w->slots; ++r) {
      x[r] = g[IN_PHI][r] * w->dphi0[k];
    }
    if (call->within) {
      sap_slopes_add_rows(call, x, call->out->dq0, w->dofs[k]);
      add_velocity_change(call, k, g + IN_CHANGE);
    }
  }
  sap_slopes_add_mass(call, block, masses, law->inputs <= IN_WT ? g[IN_W] : NULL);
  if (!one) {
    sap_contact_slopes_add_stiffness(w, force, to);
  }
  if (law->inputs > IN_V0) {
    sap_slopes_add_square(call, g[IN_V0], SLOTS, call->out->dv0);
    sap_slopes_add_square(call, g[IN_V_STAR], SLOTS, call->out->dv_star);
  }
}

// Evaluates the law, notes what it has that is held constant, and finds its inputs: at the end of
// the step velocities have effects by slips and the thickness alone.
static sap_status note_law(const sap_slopes_call* call, const sap_block* block, contact_law* law,
                           sap_error* error) {
  sap_law_rows rows;
  SAP_TRY(evaluate_law(call, law, law->x, &rows, law->out, error));
  const double shift = law->out[OUT_SHIFT];
  const bool rests = shift == 0.0 && !rows.is_wrong && !rows.bounded &&
                     law->contact.model == SAP_CONTACT_SAP && call->law.scheme->theta == 1.0 &&
                     call->law.scheme->theta_vq == 1.0;
  law->apart = rests && !rows.reads_wn;
  law->inputs = law->apart ? IN_WT : rests ? IN_V0 : call->within ? LAW_INPUTS : IN_CHANGE;
  sap_derivatives_note(rows.bounded, call->out->notes, "held: thickness of shapes");
  sap_derivatives_note(!call->settled && fabs(shift - block->shift) >
                                             SAP_KINK * (fabs(block->shift) + SAP_LAW_LEAST),
                       call->out->notes, "held: corrected shifts against gliding");
  return SAP_STATUS_OK;
}

// Adds u' dgamma and the motion of p by a parameter of one of the shapes.
static sap_status add_shape_parameter(const sap_slopes_call* call, const sap_contact* contact,
                                      const sap_block* block, const contact_law* law,
                                      const sap_block_point* at, int32_t index, sap_error* error) {
  const sap_parameter* p = &call->out->parameters->parameters[index];
  sap_shape_def changed = call->multibody->model->shapes[p->id];
  double* const values[] = {&changed.material.friction, &changed.material.stiffness,
                            &changed.material.relaxation_time};
  double *value = values[p->kind], d[2][LAW_OUTPUTS], points[2][3], dgamma[SLOTS], change[4];
  sap_law_rows rows;
  const double before = *value, step = SAP_LAW_STEP * fmax(before, SAP_LAW_LEAST);
  const double ends[2] = {fmax(before - step, 0.0), before + step};
  if (isinf(before)) {
    return SAP_STATUS_OK;
  }
  memcpy(change, law->x + IN_CHANGE, 3 * sizeof *change);
  change[3] = law->contact.gap_change;
  for (int side = 0; side < 2; ++side) {
    sap_contact moved = *contact;
    contact_law of;
    *value = ends[side];
    SAP_TRY(sap_collision_change(call->multibody->collision, &changed, p->id, &moved, error));
    set_law(call, &moved, block, change, &of);
    memcpy(of.x, law->x, sizeof of.x);
    of.vn = law->vn;
    for (int32_t r = 0; r < block->nrows; ++r) {
      SAP_FAIL_IF(!(fabs(of.scales[r] - law->scales[r]) <= 1e-15 * law->scales[r]), error,
                  SAP_STATUS_UNSUPPORTED,
                  "derivatives to the friction of shape %d '%s', which has "
                  "other friction than of sliding",
                  p->id, sap_model_get_name(call->multibody->model, SAP_ELEMENT_SHAPE, p->id));
    }
    SAP_TRY(evaluate_law(call, &of, of.x, &rows, d[side], error));
    sap_v3_copy(points[side], moved.point);
  }
  for (int o = 0; o < LAW_OUTPUTS; ++o) {
    d[0][o] = (d[1][o] - d[0][o]) / (ends[1] - ends[0]);
  }
  change_impulse(call, at, block->nrows, d[0], dgamma);
  sap_v3_sub(points[1], points[1], points[0]);
  call->out->parameters->out[index] +=
      sap_slopes_dot(call->w, call->w->u, dgamma) +
      sap_v3_dot(call->w->by_point, points[1]) / (ends[1] - ends[0]);
  return SAP_STATUS_OK;
}

static sap_status add_contact(sap_slopes_call* call, const sap_contact* contact,
                              const sap_block* block, sap_block_point* at, sap_error* error) {
  const double* change;
  double W[9], g[LAW_INPUTS][SLOTS], force[ROWS] = {0.0};
  contact_law law;
  sap_contact moving;
  double any = 0.0;
  for (int32_t i = 0; i < block->nrows; ++i) {
    any = fmax(any, fabs(at->gamma[i]));
  }
  if (any == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_slopes_find_contact(call, contact, &moving, &change, error));
  set_law(call, contact, block, change, &law);
  call->scales = law.scales;
  law.x[IN_PHI] = contact->law_phi;
  law.vn = at->vc[SAP_NORMAL_ROW];
  if (call->problem->end[0] != NULL && call->out->lambda != NULL) {
    call->w->slots = block->nrows + 1;
    call->w->u[block->nrows] = call->data->end_pull;
  }
  memset(law.x + IN_V0, 0, 2 * ROWS * sizeof(double));
  sap_slopes_multiply_rows(call, call->step->v0_free, law.x + IN_V0);
  sap_slopes_multiply_rows(call, call->out->v_star, law.x + IN_V_STAR);
  SAP_TRY(find_scales(call, block, W, law.x, error));
  SAP_TRY(note_law(call, block, &law, error));
  SAP_TRY(differentiate_law(call, block, &law, at, g, error));
  for (int32_t i = 0; i < block->nrows; ++i) {
    force[i] = law.scales[i] * at->gamma[i];
  }
  add_law(call, block, &law, at->G, g, W, force);
  const sap_parameter_gradient* p = call->out->parameters;
  for (int32_t i = 0; p != NULL && i < p->count; ++i) {
    const int32_t id = p->parameters[i].id;
    if (p->parameters[i].kind <= SAP_PARAMETER_RELAXATION_TIME &&
        (id == contact->shape_A || id == contact->shape_B)) {
      SAP_TRY(add_shape_parameter(call, &moving, block, &law, at, i, error));
    }
  }
  return SAP_STATUS_OK;
}

// --- all blocks ---

static sap_status add_block(sap_slopes_call* call, int32_t index, const sap_block* block,
                            sap_block_point* at, sap_error* error) {
  int kind = 0;
  sap_block_range range = call->multibody->assembly->ranges[0];
  while (index < range.first || index >= range.end) {
    range = call->multibody->assembly->ranges[++kind];
  }
  SAP_FAIL_IF(kind == SAP_BLOCKS_ADHESION, error, SAP_STATUS_UNSUPPORTED,
              "derivatives of a step with adhesion");
  call->scales = NULL;
  call->within = false;
  if (kind == SAP_BLOCKS_EQUALITY) {
    return sap_slopes_add_equality(call, block, at->gamma, at->G, error);
  }
  if (call->out->dq0 == NULL) {
    return SAP_STATUS_OK;
  }
  return kind == SAP_BLOCKS_CONTACT
             ? add_contact(call, &call->multibody->contacts[index - range.first], block, at, error)
             : sap_slopes_add_row(call, block, at->gamma[0], at->G[0], at->bound[0], error);
}

sap_status sap_multibody_impulse_derivatives(void* context, const sap_step_context* step,
                                             const sap_problem* problem,
                                             sap_impulse_derivatives* out, sap_error* error) {
  sap_multibody* multibody = context;
  const sap_block_range contacts = multibody->assembly->ranges[SAP_BLOCKS_CONTACT];
  SAP_FAIL_IF(contacts.end - contacts.first != multibody->contact_count ||
                  (multibody->contact_count > 0 && !multibody->detected),
              error, SAP_STATUS_ARGUMENT,
              "derivatives of a step whose contacts sap_multibody_detect has replaced");
  SAP_TRY(sap_multibody_derivatives(multibody, error));
  if (multibody->slopes == NULL) {
    SAP_TRY(
        sap_contact_slopes_create(multibody->model, &multibody->pool, &multibody->slopes, error));
  }
  sap_slopes_call call = {.multibody = multibody,
                          .w = multibody->slopes,
                          .step = step,
                          .problem = problem,
                          .out = out,
                          .law = sap_problem_law_settings(problem, &step->regularization)};
  out->constant = true;
  if (out->dq0 != NULL) {
    memset(multibody->masses->used, 0, (size_t)multibody->model->sizes.trees);
    for (int i = 0; i < 2; ++i) {
      memset(call.w->pulls[i].on, 0, (size_t)multibody->model->sizes.nv);
    }
    call.kin = sap_multibody_start_kinematics(multibody, step->q0);
    call.kin_A = sap_multibody_kinematics(multibody, out->q_A);
    call.kin_theta = &multibody->snapshots[SAP_SNAPSHOT_POINT];
    if (out->v_near != out->v_star) {
      call.y = call.w->X[3];
      for (int32_t i = 0; i < multibody->model->sizes.nv; ++i) {
        call.w->X[3][i] = out->v_near[i] - out->v_star[i];
      }
    }
    sap_derivatives_note(multibody->dynamics->nelastic > 0 || multibody->dynamics->fluid.count > 0,
                         out->notes, "held: stiffness and drag in A");
  }
  for (int32_t b = 0; b < problem->nblocks; ++b) {
    sap_block block;
    sap_block_point at;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, error));
    call.data = &problem->blocks[b];
    sap_slopes_set_rows(&call, &block);
    call.settled = call.data->no_gliding && (call.data->end < 1.0 || problem->scheme.settled > 0.0);
    sap_slopes_find_point(&call, &block, out->minus_dv != NULL || out->dq0 != NULL, &at);
    if (out->impulse != NULL) {
      sap_slopes_add_transposed(call.w, at.gamma, out->impulse);
    }
    if (out->minus_dv != NULL) {
      sap_slopes_add_square(&call, at.G, block.nrows, out->minus_dv);
    }
    SAP_TRY(add_block(&call, b, &block, &at, error));
  }
  const bool pulls = out->lambda != NULL && out->dq0 != NULL;
  if (pulls && problem->end[0] != NULL) {
    sap_slopes_add_end_mass(&call);
  }
  for (int i = 0; i < 2 && pulls; ++i) {
    sap_contact_slopes_end_pull(call.w, &call.w->pulls[i], NULL, multibody->model->sizes.nv,
                                i == 0 ? out->dq0 : out->dq_theta);
  }
  for (int32_t t = 0; t < multibody->model->sizes.trees && pulls; ++t) {
    if (multibody->masses->used[t]) {
      sap_slopes_add_mass_gradient(&call, t, out->dq_A);
      sap_slopes_add_A_parameters(&call, t);
    }
  }
  return SAP_STATUS_OK;
}
