// SPDX-License-Identifier: BSD-3-Clause
// Options of the adapter: defaults, those that the model gives in <custom>, and MuJoCo's own as
// they are stepped.
#include <math.h>

#include "mujoco/adapter.h"

sap_mj_options sap_mj_options_default(void) {
  sap_mj_options options = {.solver = "sap",
                            .solver_options = sap_solver_options_default(),
                            .regularization = {(double)NAN, (double)NAN},
                            .implicit = true,
                            .warm_start = true,
                            .mocap_speed_limit = 20.0};
  options.solver_options.check_input = false;
  const sap_material standard = sap_material_default();
  options.contact_model = standard.model;
  options.dissipation = standard.dissipation;
  options.stiction_tolerance = standard.stiction_tolerance;
  return options;
}

void sap_mj_refresh(sap_mj* a) {
  mjOption* opt = &a->shadow.opt;
  *opt = a->model->opt;
  opt->integrator = mjINT_EULER;
  opt->solver = mjSOL_NEWTON;
  opt->noslip_iterations = 0;
  opt->enableflags &= ~mjENBL_FWDINV;
#if SAP_MJ_SINCE(3, 0, 0)
  opt->disableflags |= mjDSBL_EULERDAMP;  // dampers are in A already
#endif
#if SAP_MJ_SINCE(3, 0, 0)
  if (a->has_few_geoms) {  // the same contacts, sooner
    opt->disableflags |= mjDSBL_MIDPHASE;
  }
#endif
#if SAP_MJ_SINCE(3, 3, 6)
  opt->disableflags |= mjDSBL_ISLAND;
#elif SAP_MJ_SINCE(3, 0, 0)
  opt->enableflags &= ~mjENBL_ISLAND;
#endif
#if SAP_MJ_SINCE(3, 4, 0)
  opt->enableflags &= ~mjENBL_SLEEP;
#endif
#if SAP_MJ_SINCE(3, 6, 0)
  a->shadow.flex_passive = a->no_flexes;  // their contacts are contacts here
#endif
#if SAP_MJ_SINCE(3, 14, 0)
  opt->enableflags &= ~mjENBL_IPC;
#endif
}

// A number that the model gives in <custom>, or `otherwise`.
double sap_mj_numeric(const mjModel* m, const char* name, double otherwise) {
  const int id = mj_name2id(m, mjOBJ_NUMERIC, name);
  return id >= 0 && m->numeric_size[id] > 0 ? m->numeric_data[m->numeric_adr[id]] : otherwise;
}

sap_status sap_mj_choose_regularization(sap_mj* a, sap_error* error) {
  const sap_regularization standard = sap_regularization_default();
  sap_regularization* r = &a->regularization;
  *r = a->options.regularization;
  r->beta = isnan(r->beta) ? sap_mj_numeric(a->model, "sapstep:beta", standard.beta) : r->beta;
  r->sigma = isnan(r->sigma) ? sap_mj_numeric(a->model, "sapstep:sigma", standard.sigma) : r->sigma;
  if (!(r->beta >= 0.0 && r->beta < HUGE_VAL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "beta = %g must be finite and >= 0", r->beta);
  }
  if (!(r->sigma > 0.0 && r->sigma < HUGE_VAL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sigma = %g must be finite and > 0", r->sigma);
  }
  return SAP_STATUS_OK;
}

// What contacts have in common.
sap_status sap_mj_choose_contact_law(sap_mj* a, sap_error* error) {
  const sap_mj_options* o = &a->options;
  a->contact_law = sap_material_default();
  a->contact_law.model = o->contact_model;
  a->contact_law.dissipation = o->dissipation;
  a->contact_law.stiction_tolerance = o->stiction_tolerance;
  const int model = (int)o->contact_model;
  if (model < 0 || model >= (int)SAP_CONTACT_MODEL_COUNT) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "contact_model = %d is not a sap_contact_model",
                    model);
  }
  if (!(o->dissipation >= 0.0 && o->dissipation < HUGE_VAL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "dissipation = %g must be finite and >= 0 s/m",
                    o->dissipation);
  }
  if (!(o->stiction_tolerance >= 0.0 && o->stiction_tolerance < HUGE_VAL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "stiction_tolerance = %g must be finite and >= 0 m/s", o->stiction_tolerance);
  }
  return SAP_STATUS_OK;
}
