// SPDX-License-Identifier: BSD-3-Clause
// Gradients to mass, centre and inertia of bodies, by differences of what one link adds to the
// residual r = m/dt and to A. With the link's mass m, centre c and inertia I about c:
//   lambda' r = m v_c(lambda) . (a_c - g) + omega(lambda) . (I alpha + omega x I omega)
//   lambda' r = m v_c(lambda) . ((v_c - v_c0)/dt - g)
//             + omega(lambda) . (I omega - I0 omega0)/dt               by momenta of a step
//   sum_ab Q_ab x_a' dM x_b = sum_ab Q_ab V_a . dI_O V_b               about the tree's point O
#include <string.h>

#include "math/quaternion.h"
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/dynamics/forces.h"
#include "multibody/engine/impulse_slopes.h"

// Sets the inertia of a body's link, in the link's axes about its origin, with the number h larger;
// returns h.
static double move_inertia(const sap_multibody* multibody, const sap_kinematics* kin, int32_t link,
                           const sap_parameter* p, int side, sap_inertia* out) {
  const sap_model_body* body = &multibody->model->bodies[p->id];
  const int32_t first = multibody->dynamics->links[link].body;
  sap_model_body changed = *body;
  sap_inertia parts[2] = {{.mass = 0.0}, {.mass = 0.0}};
  const int i = (int)p->kind - SAP_PARAMETER_CENTRE_X;
  double r[3], arm[3], q[4];
  double* x = i < 0 ? &changed.mass : i < 3 ? &changed.p_BCo[i] : &changed.I_BCo_B[i - 3];
  const double h = SAP_LAW_STEP * fmax(fabs(*x), SAP_LAW_LEAST);
  *x += side * h;
  sap_v3_sub(r, kin->p_WB + 3 * p->id, kin->p_WB + 3 * first);
  sap_m3_tmul_v3(arm, kin->R_WB + 9 * (size_t)first, r);
  sap_quaternion_conjugate(q, kin->q_WB + 4 * first);
  sap_quaternion_multiply(q, q, kin->q_WB + 4 * p->id);
  sap_dynamics_weld_inertia(&parts[0], body, arm, q);
  sap_dynamics_weld_inertia(&parts[1], &changed, arm, q);
  *out = multibody->dynamics->links[link].body_inertia;
  for (int k = 0; k < 10; ++k) {
    ((double*)out)[k] += ((double*)&parts[1])[k] - ((double*)&parts[0])[k];
  }
  return side * h;
}

// A link at a time of the step: its pose and motions.
typedef struct link_point {
  const sap_kinematics* kin;
  double V[6], A[6];  // [omega; v], [alpha; a - g] of its origin
} link_point;

// lambda' r of the link. dt > 0: its inertial force is the change of its momenta since `start`, its
// point at (q0, v0), over dt; dt = 0: by its accelerations.
static double find_work(const link_point* at, const link_point* start, const link_point* lambda,
                        const double g[3], double dt, int32_t body, const sap_inertia* B) {
  static const double zero[3] = {0.0, 0.0, 0.0};
  sap_inertia I, I0;
  double H[6], H0[6], T[6], A[6], x[3], y[3];
  sap_inertia_move(&I, B, at->kin->R_WB + 9 * (size_t)body, zero);
  sap_inertia_mul(H, &I, at->V);
  if (dt > 0.0) {
    sap_inertia_move(&I0, B, start->kin->R_WB + 9 * (size_t)body, zero);
    sap_inertia_mul(H0, &I0, start->V);
    sap_v3_sub(x, I0.h, I.h);  // momenta of the start act at the centre of the end
    sap_v3_cross(y, x, H0 + 3);
    sap_v3_add_scaled(H0, y, -1.0 / B->mass);
    for (int i = 0; i < 6; ++i) {
      T[i] = (H[i] - H0[i]) / dt;
    }
    sap_v3_cross(x, I.h, g);
    sap_v3_sub(T, T, x);
    sap_v3_add_scaled(T + 3, g, -B->mass);
  } else {
    memcpy(A, at->A, sizeof A);
    sap_v3_cross(x, at->V, at->V + 3);
    sap_v3_sub(A + 3, A + 3, x);
    sap_inertia_mul(T, &I, A);
    sap_spatial_add_force_cross(T, at->V, H);
  }
  return sap_spatial_dot(lambda->V, T);
}

static void set_point(const sap_kinematics* kin, const double* v, int32_t body,
                      double (*velocities)[6], link_point* out) {
  *out = (link_point){.kin = kin};
  sap_kinematics_velocities(kin, v, velocities);
  memcpy(out->V, velocities[body], sizeof out->V);
}

double sap_slopes_inertia_work(sap_multibody* multibody, const sap_step_context* step,
                               const sap_balance_derivatives* of, const double* lambda,
                               const sap_parameter* p) {
  const sap_kinematics* kin0 = sap_multibody_start_kinematics(multibody, step->q0);
  const sap_kinematics* kin = sap_multibody_kinematics(multibody, of->q);
  const bool momenta = step->theta == 1.0 && step->theta_vq == 1.0;
  const sap_model_body* of_body = &multibody->model->bodies[p->id];
  double sum = 0.0, width = 0.0;
  if (of_body->tree < 0) {
    return 0.0;
  }
  const int32_t l = multibody->dynamics->link_of[of_body->weld];
  const int32_t body = multibody->dynamics->links[l].body;
  link_point at, start, turned;
  set_point(kin0, step->v0, body, multibody->velocities, &start);
  set_point(kin, lambda, body, multibody->velocities, &turned);
  set_point(kin, of->v, body, multibody->velocities, &at);
  if (!momenta) {
    const sap_dynamics_state state = {kin, of->v, NULL};
    sap_dynamics_motions(multibody->dynamics, &state, of->a, multibody->motions);
    memcpy(at.A, multibody->motions[body].A, sizeof at.A);
  }
  for (int side = -1; side <= 1; side += 2) {
    sap_inertia B;
    width += side * move_inertia(multibody, kin, l, p, side, &B);
    sum += side * find_work(&at, &start, &turned, multibody->model->options.gravity,
                            momenta ? step->dt : 0.0, body, &B);
  }
  return sum / width;
}

double sap_slopes_inertia_in_A(const sap_slopes_call* call, const sap_parameter* p) {
  const sap_kinematics* kin = call->kin_A;
  const sap_dynamics* d = call->multibody->dynamics;
  const sap_model* model = call->multibody->model;
  const int32_t l = d->link_of[model->bodies[p->id].weld];
  double V[6], S[6], T[6], r[3], sum = 0.0, width = 0.0;
  const int32_t body = d->links[l].body;
  sap_v3_sub(r, kin->p_WB + 3 * body, kin->p_WB + 3 * d->tree_root[d->links[l].tree]);
  for (int side = -1; side <= 1; side += 2) {
    sap_inertia B, W;
    width += side * move_inertia(call->multibody, kin, l, p, side, &B);
    sap_inertia_move(&W, &B, kin->R_WB + 9 * (size_t)body, r);
    for (int32_t k = model->bodies[body].last_dof; k >= 0; k = model->dof_parent[k]) {
      memset(V, 0, sizeof V);
      for (int32_t a = model->bodies[body].last_dof; a >= 0; a = model->dof_parent[a]) {
        sap_derivatives_direction(kin, a, S);
        sap_spatial_add_scaled(V, S, sap_slopes_mass_entry(call, k, a));
      }
      sap_derivatives_direction(kin, k, S);
      sap_inertia_mul(T, &W, V);
      sum += side * sap_spatial_dot(S, T);
    }
  }
  return sum / width;
}
