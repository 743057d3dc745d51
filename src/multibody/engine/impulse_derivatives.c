// SPDX-License-Identifier: BSD-3-Clause
// Derivatives of the impulses p = J' gamma of a step's blocks, with the set of blocks as it is.
//
// A contact at p with the frame R, J v = R' (v_B - v_A), gamma = P(u), u = v_hat - J v, G = dgamma/du:
//   dgamma = G (dv_hat - d(J v)) + (dgamma/dR) dR
//     sticks: -gamma_i/R_i dR_i;  slides: -k gamma (dRn + mu^2 dRt);  open: 0
//   R and v_hat_n are the law's functions of phi0, the scales w of W = J A^-1 J', J v0 and J v*
//   dW_rs = d(J X_s)_r + d(J X_r)_s - X_r' dA X_s,  X = A^-1 J'
// with changes of J by contact_slopes.h.
#include <math.h>
#include <string.h>

#include "integrators/stepper.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"
#include "problem/blocks.h"
#include "problem/factor.h"
#include "problem/law.h"
#include "problem/problem_data.h"

// A kink is close where sides of a condition differ by less than this part of them.
static const double KINK = 1e-6;

enum { LAW_INPUTS = 10, LAW_OUTPUTS = 3, SCALES = SAP_CONTACT_SCALES };
enum { IN_PHI, IN_W, IN_WT, IN_WN, IN_V0, IN_V_STAR = IN_V0 + 3 };
enum { OUT_RN, OUT_RT, OUT_V_HAT };

// --- the law ---

static sap_status evaluate_law(const sap_slopes_call* call, sap_law_contact at,
                               const double x[LAW_INPUTS], double out[LAW_OUTPUTS],
                               sap_error* error) {
  sap_law_rows rows;
  at.phi0 = x[IN_PHI];
  at.w = x[IN_W];
  at.wt = x[IN_WT];
  at.wn = x[IN_WN];
  at.vc0 = x + IN_V0;
  at.vc_star = x + IN_V_STAR;
  SAP_TRY(sap_law_contact_rows(&call->law, &at, &rows, error));
  out[OUT_RN] = rows.R[2];
  out[OUT_RT] = rows.R[0];
  out[OUT_V_HAT] = rows.v_hat[2] - (rows.shifts ? rows.friction * rows.slip : 0.0);
  return SAP_STATUS_OK;
}

// slopes[input][output]
static sap_status differentiate_law(const sap_slopes_call* call, const sap_law_contact* at,
                                    const double x[LAW_INPUTS],
                                    double slopes[LAW_INPUTS][LAW_OUTPUTS], sap_error* error) {
  for (int i = 0; i < LAW_INPUTS; ++i) {
    double moved[LAW_INPUTS], values[2][LAW_OUTPUTS];
    const bool scale = i == IN_W || i == IN_WT || i == IN_WN;
    const double step = SAP_LAW_STEP * (scale ? x[i] : fmax(fabs(x[i]), SAP_LAW_LEAST));
    for (int side = 0; side < 2 && step > 0.0; ++side) {
      memcpy(moved, x, sizeof moved);
      moved[i] += side == 0 ? -step : step;
      SAP_TRY(evaluate_law(call, *at, moved, values[side], error));
    }
    for (int o = 0; o < LAW_OUTPUTS; ++o) {
      slopes[i][o] = step > 0.0 ? (values[1][o] - values[0][o]) / (2.0 * step) : 0.0;
    }
  }
  return SAP_STATUS_OK;
}

// dgamma of dRn, dRt, dv_hat_n; G column-major.
static void law_columns(const sap_block* block, const double u[3], const double gamma[3],
                        const double G[9], double columns[LAW_OUTPUTS][3]) {
  const sap_cone cone = sap_cone_make(block->friction, block->R[0], block->R[2]);
  const sap_cone_region region = sap_cone_classify(&cone, u[0] * u[0] + u[1] * u[1], u[2]);
  const bool slides = region == SAP_CONE_SLIDING;
  memset(columns, 0, LAW_OUTPUTS * sizeof *columns);
  if (region == SAP_CONE_STICTION) {
    columns[OUT_RN][2] = -gamma[2] * cone.inverse_Rn;
    columns[OUT_RT][0] = -gamma[0] * cone.inverse_Rt;
    columns[OUT_RT][1] = -gamma[1] * cone.inverse_Rt;
  }
  for (int i = 0; i < 3; ++i) {
    columns[OUT_RN][i] -= slides ? cone.k * gamma[i] : 0.0;
    columns[OUT_RT][i] -= slides ? cone.k * cone.mu * cone.mu * gamma[i] : 0.0;
    columns[OUT_V_HAT][i] = G[6 + i];
  }
}

static bool is_kink(const sap_block* block, const double u[3]) {
  const double t = sqrt(u[0] * u[0] + u[1] * u[1]), mu = block->friction;
  const double rest = mu * u[2] / block->R[2] - t / block->R[0], open = u[2] + mu * t;
  return fabs(rest) < KINK * (t / block->R[0] + mu * fabs(u[2]) / block->R[2]) ||
         fabs(open) < KINK * (fabs(u[2]) + mu * t);
}

// --- scales of W ---

sap_status sap_slopes_solve_rows(const sap_slopes_call* call, const sap_block* block,
                                 sap_error* error) {
  const sap_model* model = call->multibody->model;
  for (int32_t r = 0; r < block->nrows; ++r) {
    double* X = call->w->X[r];
    for (int32_t t = 0; t < block->ntrees; ++t) {
      const int32_t first = model->tree_dofs[block->trees[t]];
      for (int32_t i = 0; i < model->tree_sizes[block->trees[t]]; ++i) {
        X[first + i] = block->jacobians[t][(size_t)block->nrows * (size_t)i + (size_t)r];
      }
      SAP_TRY(sap_problem_solve_tree((sap_problem*)call->problem, block->trees[t], X + first,
                                     X + first, error));
    }
  }
  return SAP_STATUS_OK;
}

void sap_slopes_find_mass_gradients(const sap_slopes_call* call, const sap_block* block) {
  const sap_contact_slopes* w = call->w;
  const sap_step_context* s = call->step;
  const double stiffness = s->dt * s->dt * s->theta * s->theta_vq;
  const bool one = block->nrows == 1;
  const double* const x[SAP_MASS_FIELDS] = {w->X[0], one ? NULL : w->X[1], one ? NULL : w->X[2],
                                            one ? NULL : call->y};
  for (int32_t t = 0; t < block->ntrees; ++t) {
    sap_derivatives_mass_products(call->multibody->derivatives, call->kin_A, block->trees[t], x,
                                  w->gradients);
    sap_multibody_add_spring_products(call->multibody->dynamics, call->out->q_A, block->trees[t],
                                      stiffness, x, w->gradients);
  }
}

void sap_slopes_multiply_rows(const sap_slopes_call* call, const sap_block* block, const double* v,
                              double* out) {
  const sap_rows_view rows = {block->nrows, block->ntrees, block->trees, block->jacobians};
  sap_problem_rows_times(call->problem, &rows, v, out);
}

void sap_slopes_add_rows(const sap_slopes_call* call, const sap_block* block, const double* x,
                         double* column) {
  const sap_model* model = call->multibody->model;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const double* J = block->jacobians[t];
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t i = first; i < first + model->tree_sizes[block->trees[t]]; ++i) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        column[i] += *J++ * x[r];
      }
    }
  }
}

void sap_slopes_add_square(const sap_slopes_call* call, const sap_block* block, double scale,
                           const double* M, double* out) {
  const sap_model* model = call->multibody->model;
  const int32_t n = block->nrows;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const double* J = block->jacobians[t];
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t i = first; i < first + model->tree_sizes[block->trees[t]]; ++i, J += n) {
      double x[SAP_ROWS_MAX] = {0.0};
      bool any = false;
      for (int32_t r = 0; r < n; ++r) {
        for (int32_t c = 0; c < n; ++c) {
          x[r] += scale * M[n * c + r] * J[c];
        }
        any = any || x[r] != 0.0;
      }
      if (any) {
        sap_slopes_add_rows(call, block, x, out + (size_t)model->sizes.nv * (size_t)i);
      }
    }
  }
}

// Adds a change of W_rs to those of w, wt, wn.
static void add_scale(const double W[9], double w, int r, int s, double change,
                      double out[SCALES]) {
  out[0] += W[3 * s + r] * change * (r == s ? 1.0 : 2.0) / (9.0 * w);
  out[1] += r == s && r < 2 ? 0.5 * change : 0.0;
  out[2] += r == s && r == 2 ? change : 0.0;
}

// Sets x of the scales, and their derivatives to q0.
static sap_status find_scales(const sap_slopes_call* call, const sap_block* block, double W[9],
                              double x[LAW_INPUTS], sap_error* error) {
  sap_contact_slopes* w = call->w;
  double square = 0.0;
  SAP_TRY(sap_slopes_solve_rows(call, block, error));
  for (int s = 0; s < 3; ++s) {
    sap_slopes_multiply_rows(call, block, w->X[s], W + 3 * s);
    sap_contact_slopes_field(w, w->X[s], w->C[3 + s]);
  }
  for (int i = 0; i < 9; ++i) {
    square += W[i] * W[i];
  }
  x[IN_W] = sqrt(square) / 3.0;
  x[IN_WT] = 0.5 * (W[0] + W[4]);
  x[IN_WN] = W[8];
  for (int32_t k = 0; k < w->count; ++k) {
    memset(w->scale[k], 0, sizeof w->scale[k]);
    for (int r = 0; r < 3; ++r) {
      for (int s = r; s < 3; ++s) {
        add_scale(W, x[IN_W], r, s, w->C[3 + s][k][r] + w->C[3 + r][k][s], w->scale[k]);
      }
    }
  }
  sap_slopes_find_mass_gradients(call, block);
  return SAP_STATUS_OK;
}

// --- contacts ---

static sap_status find_variation(const sap_slopes_call* call, const sap_contact* contact,
                                 const sap_block* block, sap_contact_variation* vary,
                                 sap_error* error) {
  const sap_model* model = call->multibody->model;
  const char* what =
      block->set != SAP_SET_FRICTION_CONE            ? "of model similar or lagged"
      : block->nrows != 3                            ? "with spin or rolling friction"
      : contact->friction[0] != contact->friction[1] ? "with anisotropic friction"
      : contact->surface_velocity[0] != 0.0 || contact->surface_velocity[1] != 0.0 ? "with a belt"
      : !sap_collision_vary(call->multibody->collision, contact, vary) ? "whose features change"
                                                                       : NULL;
  SAP_FAIL_IF(what != NULL, error, SAP_STATUS_UNSUPPORTED,
              "derivatives of a contact %s of shapes %d '%s' and %d '%s'", what, contact->shape_A,
              sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_A), contact->shape_B,
              sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_B));
  if (!vary->exact) {
    sap_derivatives_note(call->out->notes, "by differences: contact geometry");
  }
  if (sap_v3_dot(contact->ahead_A, contact->ahead_A) > 0.0 ||
      sap_v3_dot(contact->ahead_B, contact->ahead_B) > 0.0) {
    sap_derivatives_note(call->out->notes, "held: place of contacts ahead");
  }
  return SAP_STATUS_OK;
}

static sap_law_contact law_of(const sap_slopes_call* call, const sap_contact* contact,
                              const sap_block* block, sap_material* material) {
  static const double ones[3] = {1.0, 1.0, 1.0}, zero[3] = {0.0, 0.0, 0.0};
  const sap_assembly* assembly = call->multibody->assembly;
  const sap_model_body* bodies = call->multibody->model->bodies;
  *material = contact->material;
  material->friction = contact->friction[0];
  return (sap_law_contact){.material = material,
                           .model = SAP_CONTACT_SAP,
                           .mass = assembly->mass,
                           .load = sap_loads_get(&assembly->loads, bodies[contact->body_A].tree,
                                                 bodies[contact->body_B].tree, contact->R_WC + 6),
                           .thickness = contact->thickness,
                           .friction = block->friction,
                           .nrows = 3,
                           .scales = ones,
                           .surface_velocity = zero,
                           .velocity_change = zero};
}

// Adds what dgamma/dx of the law's inputs gives to dq_A: by W, and by J v*.
static void add_mass_changes(const sap_slopes_call* call, const sap_block* block, const double W[9],
                             double scale, const double g[3 * LAW_INPUTS]) {
  const sap_contact_slopes* w = call->w;
  const sap_model* model = call->multibody->model;
  for (int32_t t = 0; t < block->ntrees; ++t) {
    const int32_t first = model->tree_dofs[block->trees[t]];
    for (int32_t k = first; k < first + model->tree_sizes[block->trees[t]]; ++k) {
      const double* gradients = w->gradients[k];
      double changes[SCALES] = {0.0}, x[3] = {0.0};
      for (int r = 0, i = 0; r < 3; ++r) {
        for (int s = r; s < 3; ++s, ++i) {
          add_scale(W, scale, r, s, -gradients[i], changes);
        }
      }
      for (int i = 0; i < 3; ++i) {
        sap_v3_add_scaled(x, g + 3 * (IN_W + i), changes[i]);
        if (call->y != NULL) {
          sap_v3_add_scaled(x, g + 3 * (IN_V_STAR + i), gradients[6 + i]);
        }
      }
      sap_slopes_add_rows(call, block, x, call->out->dq_A + (size_t)model->sizes.nv * (size_t)k);
    }
  }
}

// Adds what dgamma = -G d(J v) and dgamma/dx of the law's inputs give.
static void add_law(const sap_slopes_call* call, const sap_block* block, const double G[9],
                    const double g[3 * LAW_INPUTS]) {
  const sap_contact_slopes* w = call->w;
  const size_t nv = (size_t)call->multibody->model->sizes.nv;
  for (int32_t k = 0; k < w->count; ++k) {
    double x[3];
    sap_m3_mul_v3(x, G, w->C[0][k]);
    sap_v3_scale(x, x, -1.0);
    sap_v3_add_scaled(x, g + 3 * IN_PHI, w->dphi[k]);
    for (int i = 0; i < 3; ++i) {
      sap_v3_add_scaled(x, g + 3 * (IN_W + i), w->scale[k][i]);
      sap_v3_add_scaled(x, g + 3 * (IN_V0 + i), w->C[1][k][i]);
      sap_v3_add_scaled(x, g + 3 * (IN_V_STAR + i), w->C[2][k][i]);
    }
    sap_slopes_add_rows(call, block, x, call->out->dq0 + nv * (size_t)w->dofs[k]);
  }
  sap_slopes_add_square(call, block, -1.0, G, call->out->dv);
  sap_slopes_add_square(call, block, 1.0, g + 3 * IN_V0, call->out->dv0);
  sap_slopes_add_square(call, block, 1.0, g + 3 * IN_V_STAR, call->out->dv_star);
}

// Notes a contact whose depth is bounded by the thickness of its shapes, which counts as constant.
static sap_status note_thickness(const sap_slopes_call* call, const sap_law_contact* law,
                                 const double x[LAW_INPUTS], const double values[LAW_OUTPUTS],
                                 sap_error* error) {
  sap_law_contact unbounded = *law;
  double others[LAW_OUTPUTS];
  unbounded.thickness = 0.0;
  SAP_TRY(evaluate_law(call, unbounded, x, others, error));
  if (others[OUT_RN] != values[OUT_RN]) {
    sap_derivatives_note(call->out->notes, "held: thickness of shapes");
  }
  return SAP_STATUS_OK;
}

static sap_status add_contact(const sap_slopes_call* call, const sap_contact* contact,
                              const sap_block* block, sap_error* error) {
  sap_contact_slopes* w = call->w;
  double vc[SAP_ROWS_MAX], gamma[SAP_ROWS_MAX];  // contacts of more than 3 rows are refused below
  double u[3], G[9], W[9], x[LAW_INPUTS], values[LAW_OUTPUTS];
  double g[3 * LAW_INPUTS] = {0.0};  // dgamma/dx, by columns
  double slopes[LAW_INPUTS][LAW_OUTPUTS], columns[LAW_OUTPUTS][3];
  sap_slopes_multiply_rows(call, block, call->out->v, vc);
  (void)sap_set_impulse(block, vc, gamma);
  for (int i = 0; i < 3; ++i) {
    u[i] = block->v_hat[i] - vc[i];
  }
  call->out->kinks += is_kink(block, u);
  if (gamma[0] == 0.0 && gamma[1] == 0.0 && gamma[2] == 0.0) {
    return SAP_STATUS_OK;
  }
  sap_contact_variation vary;
  SAP_TRY(find_variation(call, contact, block, &vary, error));
  sap_contact_slopes_set(w, call->kin, contact, &vary);
  sap_set_hessian(block, vc, G);
  const double* fields[3] = {call->out->v, call->step->v0_free, call->out->v_star};
  for (int i = 0; i < 3; ++i) {
    sap_contact_slopes_field(w, fields[i], w->C[i]);
  }
  x[IN_PHI] = contact->phi;
  sap_slopes_multiply_rows(call, block, fields[1], x + IN_V0);
  sap_slopes_multiply_rows(call, block, fields[2], x + IN_V_STAR);
  SAP_TRY(find_scales(call, block, W, x, error));
  sap_material material;
  const sap_law_contact law = law_of(call, contact, block, &material);
  SAP_TRY(evaluate_law(call, law, x, values, error));
  if (fabs(values[OUT_V_HAT] - block->v_hat[2]) > KINK * (fabs(block->v_hat[2]) + SAP_LAW_LEAST)) {
    sap_derivatives_note(call->out->notes, "held: corrected shifts against gliding");
  }
  SAP_TRY(differentiate_law(call, &law, x, slopes, error));
  SAP_TRY(note_thickness(call, &law, x, values, error));
  law_columns(block, u, gamma, G, columns);
  for (int i = 0; i < LAW_INPUTS; ++i) {
    for (int o = 0; o < LAW_OUTPUTS; ++o) {
      sap_v3_add_scaled(g + 3 * i, columns[o], slopes[i][o]);
    }
  }
  add_law(call, block, G, g);
  add_mass_changes(call, block, W, x[IN_W], g);
  sap_contact_slopes_add_stiffness(w, gamma, call->out->dq0);
  return SAP_STATUS_OK;
}

// --- all blocks ---

static sap_status add_block(const sap_slopes_call* call, int32_t index, const sap_block* block,
                            sap_error* error) {
  static const char* const names[SAP_BLOCK_KINDS] = {
      [SAP_BLOCKS_ADHESION] = "adhesion", [SAP_BLOCKS_EQUALITY] = "equalities"};
  int kind = 0;
  sap_block_range range = call->multibody->assembly->ranges[0];
  while (index < range.first || index >= range.end) {
    range = call->multibody->assembly->ranges[++kind];
  }
  SAP_FAIL_IF(names[kind] != NULL, error, SAP_STATUS_UNSUPPORTED, "derivatives of a step with %s",
              names[kind]);
  return kind == SAP_BLOCKS_CONTACT
             ? add_contact(call, &call->multibody->contacts[index - range.first], block, error)
             : sap_slopes_add_row(call, block, error);
}

// Adds J' gamma, and -J' G J to dv if that is wanted alone.
static void add_impulse(const sap_slopes_call* call, const sap_block* block) {
  double vc[SAP_ROWS_MAX], gamma[SAP_ROWS_MAX], G[SAP_ROWS_MAX * SAP_ROWS_MAX];
  sap_slopes_multiply_rows(call, block, call->out->v, vc);
  (void)sap_set_impulse(block, vc, gamma);
  sap_slopes_add_rows(call, block, gamma, call->out->impulse);
  if (call->out->dv != NULL && call->out->dq0 == NULL) {
    sap_set_hessian(block, vc, G);
    sap_slopes_add_square(call, block, -1.0, G, call->out->dv);
  }
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
    SAP_TRY(sap_contact_slopes_create(multibody->model->sizes.nv, &multibody->pool,
                                      &multibody->slopes, error));
  }
  sap_slopes_call call = {.multibody = multibody,
                          .w = multibody->slopes,
                          .step = step,
                          .problem = problem,
                          .out = out,
                          .law = sap_problem_law_settings(problem, &step->regularization)};
  if (out->dq0 != NULL) {
    call.kin = sap_multibody_start_kinematics(multibody, step->q0);
    call.kin_A = sap_multibody_kinematics(multibody, out->q_A);
    if (out->v_near != out->v_star) {
      call.y = multibody->acceleration;
      for (int32_t i = 0; i < multibody->model->sizes.nv; ++i) {
        multibody->acceleration[i] = out->v_near[i] - out->v_star[i];
      }
    }
    if (multibody->dynamics->nelastic > 0 || multibody->dynamics->fluid.count > 0) {
      sap_derivatives_note(out->notes, "held: stiffness and drag in A");
    }
  }
  for (int32_t b = 0; b < problem->nblocks; ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, error));
    add_impulse(&call, &block);
    if (out->dq0 != NULL) {
      SAP_TRY(add_block(&call, b, &block, error));
    }
  }
  return SAP_STATUS_OK;
}
