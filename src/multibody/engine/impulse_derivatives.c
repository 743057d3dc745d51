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

#include "contact/contact_law.h"
#include "multibody/assembly/assembly_data.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/contact_slopes.h"
#include "multibody/engine/multibody_data.h"
#include "problem/blocks.h"
#include "problem/factor.h"
#include "problem/law.h"
#include "problem/problem_data.h"

// Differences of the law, a function of few numbers: relative, and least [m], [m/s].
static const double LAW_STEP = 3e-7, LAW_LEAST = 1e-3;
// A kink is close where sides of a condition differ by less than this part of them.
static const double KINK = 1e-6;

enum { LAW_INPUTS = 10, LAW_OUTPUTS = 3, SCALES = SAP_CONTACT_SCALES };
enum { IN_PHI, IN_W, IN_WT, IN_WN, IN_V0, IN_V_STAR = IN_V0 + 3 };
enum { OUT_RN, OUT_RT, OUT_V_HAT };

typedef struct slopes_call {
  sap_multibody* multibody;
  sap_contact_slopes* w;
  const sap_step_context* step;
  const sap_problem* problem;
  sap_impulse_derivatives* out;
  const sap_kinematics *kin, *kin_A;  // at q0 and q_A
  sap_law_settings law;
} slopes_call;

// --- the law ---

static sap_status evaluate_law(const slopes_call* call, sap_law_contact at,
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
static sap_status differentiate_law(const slopes_call* call, const sap_law_contact* at,
                                    const double x[LAW_INPUTS],
                                    double slopes[LAW_INPUTS][LAW_OUTPUTS], sap_error* error) {
  for (int i = 0; i < LAW_INPUTS; ++i) {
    double moved[LAW_INPUTS], values[2][LAW_OUTPUTS];
    const bool scale = i == IN_W || i == IN_WT || i == IN_WN;
    const double step = LAW_STEP * (scale ? x[i] : fmax(fabs(x[i]), LAW_LEAST));
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

// -x' dA y to q_A; the stiffness in A counts as constant.
static void find_mass_gradient(const slopes_call* call, const sap_block* block, const double* x,
                               const double* y) {
  memset(call->w->gradient, 0, (size_t)call->multibody->model->sizes.nv * sizeof(double));
  for (int32_t t = 0; t < block->ntrees; ++t) {
    sap_derivatives_add_mass_product(call->multibody->derivatives, call->kin_A, block->trees[t], x,
                                     y, -1.0, call->w->gradient);
  }
}

// X = A^-1 J' on the block's trees, zero elsewhere.
static sap_status solve_rows(const slopes_call* call, const sap_block* block, sap_error* error) {
  const sap_model* model = call->multibody->model;
  for (int32_t r = 0; r < block->nrows; ++r) {
    double* X = call->w->X[r];
    memset(X, 0, (size_t)model->sizes.nv * sizeof *X);
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

static void multiply_rows(const slopes_call* call, const sap_block* block, const double* v,
                          double* out) {
  const sap_rows_view rows = {block->nrows, block->ntrees, block->trees, block->jacobians};
  sap_problem_rows_times(call->problem, &rows, v, out);
}

// Adds a change of W_rs to those of w, wt, wn.
static void add_scale(const double W[9], double w, int r, int s, double change,
                      double out[SCALES]) {
  out[0] += W[3 * s + r] * change * (r == s ? 1.0 : 2.0) / (9.0 * w);
  out[1] += r == s && r < 2 ? 0.5 * change : 0.0;
  out[2] += r == s && r == 2 ? change : 0.0;
}

// Sets x of the scales, and their derivatives.
static sap_status find_scales(const slopes_call* call, const sap_block* block, double x[LAW_INPUTS],
                              sap_error* error) {
  sap_contact_slopes* w = call->w;
  const int32_t nv = call->multibody->model->sizes.nv;
  double W[9], square = 0.0;
  SAP_TRY(solve_rows(call, block, error));
  for (int s = 0; s < 3; ++s) {
    multiply_rows(call, block, w->X[s], W + 3 * s);
    sap_contact_slopes_field(w, w->X[s], w->C[3 + s]);
  }
  for (int i = 0; i < 9; ++i) {
    square += W[i] * W[i];
  }
  x[IN_W] = sqrt(square) / 3.0;
  x[IN_WT] = 0.5 * (W[0] + W[4]);
  x[IN_WN] = W[8];
  memset(w->scale, 0, (size_t)nv * sizeof *w->scale);
  memset(w->scale_A, 0, (size_t)nv * sizeof *w->scale_A);
  for (int r = 0; r < 3; ++r) {
    for (int s = r; s < 3; ++s) {
      for (int32_t k = 0; k < w->count; ++k) {
        add_scale(W, x[IN_W], r, s, w->C[3 + s][k][r] + w->C[3 + r][k][s], w->scale[k]);
      }
      find_mass_gradient(call, block, w->X[r], w->X[s]);
      for (int32_t i = 0; i < nv; ++i) {
        if (w->gradient[i] != 0.0) {
          add_scale(W, x[IN_W], r, s, w->gradient[i], w->scale_A[i]);
        }
      }
    }
  }
  return SAP_STATUS_OK;
}

// --- contacts ---

// out += J' X of columns X (3 each) at `columns`, NULL: all dofs.
static void add_columns(const slopes_call* call, double (*X)[3], int32_t count,
                        const int32_t* columns, double* out) {
  const sap_contact_slopes* w = call->w;
  const size_t n = (size_t)call->multibody->model->sizes.nv;
  for (int32_t k = 0; k < count; ++k) {
    double* column = out + n * (size_t)(columns != NULL ? columns[k] : k);
    if (X[k][0] != 0.0 || X[k][1] != 0.0 || X[k][2] != 0.0) {
      for (int32_t j = 0; j < w->count; ++j) {
        column[w->dofs[j]] += sap_v3_dot(w->J[j], X[k]);
      }
    }
  }
}

// out += J' M J of a 3x3 matrix of columns.
static void add_square(const slopes_call* call, const double M[9], double scale, double* out) {
  sap_contact_slopes* w = call->w;
  for (int32_t k = 0; k < w->count; ++k) {
    sap_m3_mul_v3(w->C[3][k], M, w->J[k]);
    sap_v3_scale(w->C[3][k], w->C[3][k], scale);
  }
  add_columns(call, w->C[3], w->count, w->dofs, out);
}

static sap_status check_contact(const slopes_call* call, const sap_contact* contact,
                                const sap_block* block, sap_error* error) {
  const sap_model* model = call->multibody->model;
  const char* what = block->set != SAP_SET_FRICTION_CONE ? "of model similar or lagged"
                     : block->nrows != 3                 ? "with spin or rolling friction"
                     : contact->friction[0] != contact->friction[1] ? "with anisotropic friction"
                     : contact->surface_velocity[0] != 0.0 || contact->surface_velocity[1] != 0.0
                         ? "with a belt"
                         : NULL;
  return what == NULL ? SAP_STATUS_OK
                      : sap_fail(error, SAP_STATUS_UNSUPPORTED,
                                 "derivatives of a contact %s of shapes %d '%s' and %d '%s'", what,
                                 contact->shape_A,
                                 sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_A),
                                 contact->shape_B,
                                 sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_B));
}

static sap_status find_variation(const slopes_call* call, const sap_contact* contact,
                                 sap_contact_variation* vary, sap_error* error) {
  const sap_model* model = call->multibody->model;
  SAP_FAIL_IF(!sap_collision_vary(call->multibody->collision, contact, vary), error,
              SAP_STATUS_UNSUPPORTED,
              "derivatives of a contact of shapes %d '%s' and %d '%s': its features change",
              contact->shape_A, sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_A),
              contact->shape_B, sap_model_get_name(model, SAP_ELEMENT_SHAPE, contact->shape_B));
  if (!vary->exact) {
    sap_derivatives_note(call->out->notes, "by differences: contact geometry");
  }
  if (sap_v3_dot(contact->ahead_A, contact->ahead_A) > 0.0 ||
      sap_v3_dot(contact->ahead_B, contact->ahead_B) > 0.0) {
    sap_derivatives_note(call->out->notes, "held: place of contacts ahead");
  }
  return SAP_STATUS_OK;
}

static sap_law_contact law_of(const slopes_call* call, const sap_contact* contact,
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

// Adds what dgamma/dx of the law's inputs gives to B, BA, dv0 and dv_star.
static void add_law(const slopes_call* call, double slopes[LAW_INPUTS][LAW_OUTPUTS],
                    double columns[LAW_OUTPUTS][3]) {
  sap_contact_slopes* w = call->w;
  double g[3 * LAW_INPUTS] = {0.0};  // dgamma/dx, by columns
  for (int i = 0; i < LAW_INPUTS; ++i) {
    for (int o = 0; o < LAW_OUTPUTS; ++o) {
      sap_v3_add_scaled(g + 3 * i, columns[o], slopes[i][o]);
    }
  }
  for (int32_t k = 0; k < w->count; ++k) {
    sap_v3_add_scaled(w->B[k], g + 3 * IN_PHI, w->dphi[k]);
    for (int i = 0; i < 3; ++i) {
      sap_v3_add_scaled(w->B[k], g + 3 * (IN_W + i), w->scale[k][i]);
      sap_v3_add_scaled(w->B[k], g + 3 * (IN_V0 + i), w->C[1][k][i]);
      sap_v3_add_scaled(w->B[k], g + 3 * (IN_V_STAR + i), w->C[2][k][i]);
    }
  }
  for (int32_t j = 0; j < call->multibody->model->sizes.nv; ++j) {
    for (int i = 0; i < SCALES; ++i) {
      sap_v3_add_scaled(w->BA[j], g + 3 * (IN_W + i), w->scale_A[j][i]);
    }
  }
  add_square(call, g + 3 * IN_V0, 1.0, call->out->dv0);
  add_square(call, g + 3 * IN_V_STAR, 1.0, call->out->dv_star);
}

static sap_status add_contact(const slopes_call* call, const sap_contact* contact,
                              const sap_block* block, sap_error* error) {
  sap_contact_slopes* w = call->w;
  const int32_t nv = call->multibody->model->sizes.nv;
  double vc[3], u[3], gamma[3], G[9], x[LAW_INPUTS], values[LAW_OUTPUTS];
  double slopes[LAW_INPUTS][LAW_OUTPUTS], columns[LAW_OUTPUTS][3];
  multiply_rows(call, block, call->out->v, vc);
  (void)sap_set_impulse(block, vc, gamma);
  for (int i = 0; i < 3; ++i) {
    u[i] = block->v_hat[i] - vc[i];
  }
  call->out->kinks += is_kink(block, u);
  if (gamma[0] == 0.0 && gamma[1] == 0.0 && gamma[2] == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(check_contact(call, contact, block, error));
  sap_contact_variation vary;
  SAP_TRY(find_variation(call, contact, &vary, error));
  sap_contact_slopes_set(w, call->kin, contact, &vary);
  sap_set_hessian(block, vc, G);
  const double* fields[3] = {call->out->v, call->step->v0_free, call->out->v_star};
  for (int i = 0; i < 3; ++i) {
    sap_contact_slopes_field(w, fields[i], w->C[i]);
  }
  x[IN_PHI] = contact->phi;
  multiply_rows(call, block, fields[1], x + IN_V0);
  multiply_rows(call, block, fields[2], x + IN_V_STAR);
  SAP_TRY(find_scales(call, block, x, error));
  sap_material material;
  const sap_law_contact law = law_of(call, contact, block, &material);
  SAP_TRY(evaluate_law(call, law, x, values, error));
  if (fabs(values[OUT_V_HAT] - block->v_hat[2]) > KINK * (fabs(block->v_hat[2]) + LAW_LEAST)) {
    sap_derivatives_note(call->out->notes, "held: corrected shifts against gliding");
  }
  SAP_TRY(differentiate_law(call, &law, x, slopes, error));
  law_columns(block, u, gamma, G, columns);
  memset(w->BA, 0, (size_t)nv * sizeof *w->BA);
  for (int32_t k = 0; k < w->count; ++k) {
    sap_m3_mul_v3(w->B[k], G, w->C[0][k]);
    sap_v3_scale(w->B[k], w->B[k], -1.0);
  }
  add_law(call, slopes, columns);
  add_columns(call, w->B, w->count, w->dofs, call->out->dq0);
  add_columns(call, w->BA, nv, NULL, call->out->dq_A);
  add_square(call, G, -1.0, call->out->dv);
  sap_contact_slopes_add_stiffness(w, gamma, call->out->dq0);
  return SAP_STATUS_OK;
}

// --- limits and dry friction of hinges and slides ---

// R and v_hat of a limit at x = {g0, w, rate0}.
static sap_status limit_law(const slopes_call* call, const sap_model_joint_data* joint,
                            const double x[3], double out[2], sap_error* error) {
  const sap_compliant_row row = {
      .stiffness = joint->limit_stiffness,
      .relaxation_time = joint->limit_relaxation_time,
      .g0 = x[0],
      .rate0 = x[2],
      .w = x[1],
      .recovery_speed = isinf(joint->limit_stiffness) ? SAP_RECOVERY_SPEED : 0.0,
      .unilateral = true};
  return sap_law_row(&call->law, &row, &out[0], &out[1], error);
}

static sap_status limit_slopes(const slopes_call* call, const sap_model_joint_data* joint,
                               const double x[3], double slopes[3][2], sap_error* error) {
  for (int i = 0; i < 3; ++i) {
    double moved[3], values[2][2];
    const double step = LAW_STEP * (i == 1 ? x[1] : fmax(fabs(x[i]), LAW_LEAST));
    for (int side = 0; side < 2; ++side) {
      memcpy(moved, x, sizeof moved);
      moved[i] += side == 0 ? -step : step;
      SAP_TRY(limit_law(call, joint, moved, values[side], error));
    }
    slopes[i][0] = (values[1][0] - values[0][0]) / (2.0 * step);
    slopes[i][1] = (values[1][1] - values[0][1]) / (2.0 * step);
  }
  return SAP_STATUS_OK;
}

static sap_status add_joint_row(const slopes_call* call, const sap_block* block, sap_error* error) {
  const sap_model* model = call->multibody->model;
  const int kind = sap_assembly_key_kind(block->key);
  const sap_model_joint_data* joint = &model->joints[sap_assembly_key_id(block->key, 0)];
  const int32_t dof =
      joint->v_start + (kind == SAP_KEY_FRICTION ? sap_assembly_key_id(block->key, 1) : 0);
  const size_t n = (size_t)model->sizes.nv, i = (size_t)dof;
  double vc, gamma, G, slopes[3][2] = {{0.0}};
  multiply_rows(call, block, call->out->v, &vc);
  (void)sap_set_impulse(block, &vc, &gamma);
  sap_set_hessian(block, &vc, &G);
  if (G == 0.0) {
    return SAP_STATUS_OK;
  }
  SAP_FAIL_IF(kind != SAP_KEY_FRICTION && joint->type == SAP_JOINT_BALL, error,
              SAP_STATUS_UNSUPPORTED, "derivatives of the limit of a ball joint");
  SAP_TRY(solve_rows(call, block, error));
  const double sign =
      block->jacobians[0][dof - model->tree_dofs[block->trees[0]]];  // of the row at the dof
  double w;
  multiply_rows(call, block, call->w->X[0], &w);
  if (kind == SAP_KEY_FRICTION) {
    slopes[1][0] = call->law.regularization->sigma;
  } else {
    const double q = call->step->q0[joint->q_start];
    const double x[3] = {sign > 0.0 ? q - joint->lower : joint->upper - q, w,
                         sign * call->step->v0_free[dof]};
    SAP_TRY(limit_slopes(call, joint, x, slopes, error));
  }
  find_mass_gradient(call, block, call->w->X[0], call->w->X[0]);
  const double to_R = -gamma * G;  // dgamma = G (dv_hat - dvc - gamma dR)
  call->out->dv[(n + 1) * i] -= G;
  call->out->dq0[(n + 1) * i] += G * slopes[0][1] + to_R * slopes[0][0];
  call->out->dv0[(n + 1) * i] += G * slopes[2][1] + to_R * slopes[2][0];
  for (size_t k = 0; k < n; ++k) {
    call->out->dq_A[n * k + i] +=
        sign * (G * slopes[1][1] + to_R * slopes[1][0]) * call->w->gradient[k];
  }
  return SAP_STATUS_OK;
}

// --- all blocks ---

static sap_status add_block(const slopes_call* call, int32_t index, const sap_block* block,
                            sap_error* error) {
  static const char* const names[SAP_BLOCK_KINDS] = {
      [SAP_BLOCKS_TENDON_LIMIT] = "tendon limits",
      [SAP_BLOCKS_TENDON_FRICTION] = "friction of tendons",
      [SAP_BLOCKS_SERVO] = "servos at their bounds, or of schemes other than implicit Euler",
      [SAP_BLOCKS_ADHESION] = "adhesion",
      [SAP_BLOCKS_EQUALITY] = "equalities"};
  int kind = 0;
  sap_block_range range = sap_assembly_blocks(call->multibody->assembly, 0);
  while (index < range.first || index >= range.end) {
    range = sap_assembly_blocks(call->multibody->assembly, (sap_block_kind)++kind);
  }
  SAP_FAIL_IF(names[kind] != NULL, error, SAP_STATUS_UNSUPPORTED, "derivatives of a step with %s",
              names[kind]);
  return kind == SAP_BLOCKS_CONTACT
             ? add_contact(call, &call->multibody->contacts[index - range.first], block, error)
             : add_joint_row(call, block, error);
}

static void add_impulse(const slopes_call* call, const sap_block* block) {
  const sap_model* model = call->multibody->model;
  double vc[SAP_ROWS_MAX], gamma[SAP_ROWS_MAX];
  multiply_rows(call, block, call->out->v, vc);
  (void)sap_set_impulse(block, vc, gamma);
  for (int32_t t = 0; t < block->ntrees; ++t) {
    double* p = call->out->impulse + model->tree_dofs[block->trees[t]];
    for (int32_t i = 0; i < model->tree_sizes[block->trees[t]]; ++i) {
      for (int32_t r = 0; r < block->nrows; ++r) {
        p[i] += block->jacobians[t][(size_t)block->nrows * (size_t)i + (size_t)r] * gamma[r];
      }
    }
  }
}

sap_status sap_multibody_impulse_derivatives(void* context, const sap_step_context* step,
                                             const sap_problem* problem,
                                             sap_impulse_derivatives* out, sap_error* error) {
  sap_multibody* multibody = context;
  SAP_TRY(sap_multibody_derivatives(multibody, error));
  if (multibody->slopes == NULL) {
    SAP_TRY(sap_contact_slopes_create(multibody->model->sizes.nv, &multibody->pool,
                                      &multibody->slopes, error));
  }
  slopes_call call = {.multibody = multibody,
                      .w = multibody->slopes,
                      .step = step,
                      .problem = problem,
                      .out = out,
                      .law = sap_problem_law_settings(problem, &step->regularization)};
  if (out->dv != NULL) {
    call.kin = sap_multibody_start_kinematics(multibody, step->q0);
    call.kin_A = sap_multibody_kinematics(multibody, out->q_A);
    if (multibody->dynamics->nelastic > 0 || multibody->dynamics->fluid.count > 0) {
      sap_derivatives_note(out->notes, "held: stiffness and drag in A");
    }
  }
  for (int32_t b = 0; b < problem->nblocks; ++b) {
    sap_block block;
    SAP_TRY(sap_problem_block(problem, b, &block, NULL, error));
    add_impulse(&call, &block);
    if (out->dv != NULL) {
      SAP_TRY(add_block(&call, b, &block, error));
    }
  }
  return SAP_STATUS_OK;
}
