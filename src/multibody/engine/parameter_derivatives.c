// SPDX-License-Identifier: BSD-3-Clause
// Gradients to parameters of the momentum balance, and of A where the laws of impulses read it.
#include "multibody/dynamics/dynamics_data.h"
#include "multibody/engine/impulse_slopes.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

static sap_status check(const sap_multibody* multibody, const sap_parameter* p, sap_error* error) {
  const sap_model* model = multibody->model;
  const bool shape = p->kind <= SAP_PARAMETER_RELAXATION_TIME;
  const int32_t count = shape                              ? model->sizes.shapes
                        : p->kind == SAP_PARAMETER_GRAVITY ? 3
                                                           : model->sizes.joints;
  SAP_FAIL_IF((int)p->kind < 0 || p->kind >= SAP_PARAMETER_COUNT || p->id < 0 || p->id >= count,
              error, SAP_STATUS_ARGUMENT, "parameter: kind %d, id %d of %d", (int)p->kind, p->id,
              count);
  SAP_FAIL_IF(p->kind == SAP_PARAMETER_SPRING && !sap_joint_is_scalar(model->joints[p->id].type),
              error, SAP_STATUS_UNSUPPORTED,
              "derivatives to the spring of joint %d '%s', no hinge "
              "or slide",
              p->id, sap_model_get_name(model, SAP_ELEMENT_JOINT, p->id));
  SAP_FAIL_IF(p->kind == SAP_PARAMETER_GRAVITY && multibody->dynamics->nfloating > 0, error,
              SAP_STATUS_UNSUPPORTED, "derivatives to gravity with gravity compensation");
  return SAP_STATUS_OK;
}

// Weight of the links times their velocities V by lambda: sum of m u + w x h.
static double add_gravity(const sap_multibody* multibody, const sap_kinematics* kin,
                          const double* lambda, int32_t axis) {
  const sap_dynamics* d = multibody->dynamics;
  double sum = 0.0;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    sap_inertia I;
    double V[6] = {0.0}, S[6], x[3];
    sap_derivatives_inertia(kin, l, &I);
    for (int32_t i = d->links[l].first_dof + d->links[l].ndofs - 1; i >= 0;
         i = d->model->dof_parent[i]) {
      sap_derivatives_direction(kin, i, S);
      sap_spatial_add_scaled(V, S, lambda[i]);
    }
    sap_v3_cross(x, V, I.h);
    sum += I.mass * V[3 + axis] + x[axis];
  }
  return sum;
}

// Adds the sum of weights (nv) of a joint's velocities, times x or 1, times scale.
static void add_joint(const sap_model* model, const sap_parameter_gradient* out, int32_t k,
                      double scale, const double* weights, const double* x) {
  const sap_model_joint_data* joint = &model->joints[out->parameters[k].id];
  for (int32_t i = joint->v_start; i < joint->v_start + joint->nv; ++i) {
    out->out[k] += scale * weights[i] * (x != NULL ? x[i] : 1.0);
  }
}

sap_status sap_multibody_parameter_derivatives(void* context, const sap_step_context* step,
                                               const sap_balance_derivatives* at,
                                               const double* lambda,
                                               const sap_parameter_gradient* out,
                                               sap_error* error) {
  sap_multibody* multibody = context;
  const sap_model* model = multibody->model;
  (void)step;
  for (int32_t k = 0; k < out->count; ++k) {
    const sap_parameter* p = &out->parameters[k];
    SAP_TRY(check(multibody, p, error));
    if (p->kind == SAP_PARAMETER_GRAVITY) {
      out->out[k] -=
          add_gravity(multibody, sap_multibody_kinematics(multibody, at->q), lambda, p->id);
    } else if (p->kind == SAP_PARAMETER_SPRING) {
      const sap_model_joint_data* joint = &model->joints[p->id];
      add_joint(model, out, k, at->q[joint->q_start] - joint->spring_reference, lambda, NULL);
    } else if (p->kind == SAP_PARAMETER_DAMPING || p->kind == SAP_PARAMETER_ARMATURE) {
      add_joint(model, out, k, 1.0, lambda, p->kind == SAP_PARAMETER_DAMPING ? at->v : at->a);
    }
  }
  return SAP_STATUS_OK;
}

// A = M + theta theta_vq dt^2 K + theta dt D.
void sap_slopes_add_A_parameters(const sap_slopes_call* call) {
  const sap_parameter_gradient* out = call->out->parameters;
  const sap_step_context* s = call->step;
  const double scales[SAP_PARAMETER_COUNT] = {
      [SAP_PARAMETER_DAMPING] = s->theta * s->dt,
      [SAP_PARAMETER_ARMATURE] = 1.0,
      [SAP_PARAMETER_SPRING] = s->theta * s->theta_vq * s->dt * s->dt};
  for (int32_t k = 0; out != NULL && k < out->count; ++k) {
    const double scale = scales[out->parameters[k].kind];
    if (scale > 0.0) {
      add_joint(call->multibody->model, out, k, scale, call->w->A_bar, NULL);
    }
  }
}
