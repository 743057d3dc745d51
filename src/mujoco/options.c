// SPDX-License-Identifier: BSD-3-Clause
// Options of the adapter: defaults, those that the model gives in <custom>, and MuJoCo's own as
// they are stepped.
#include <math.h>

#include "core/options.h"
#include "mujoco/adapter.h"
#include "solvers/solver_options.h"

#define SAP_X(name, text) text,
static const char* const model_words[] = {SAP_CONTACT_MODEL_LIST(SAP_X)};
#undef SAP_X

#define SAP_OPTION_KIND_contact_model SAP_OPTION_WORD
#define SAP_OPTION_WORDS_contact_model model_words

sap_option_table sap_mj_option_table(void) {
  static const sap_option OPTIONS[] = {
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_mj_options, name, type, name, value, low, high, meaning)
      SAP_MJ_OPTIONS(SAP_X)
#undef SAP_X
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_mj_options, regularization.name, type, name, value, low, high, meaning)
          SAP_REGULARIZATION_OPTIONS(SAP_X)
#undef SAP_X
#define SAP_X(type, name, value, low, high, meaning) \
  SAP_OPTION_ROW(sap_mj_options, solver_options.name, type, name, value, low, high, meaning)
              SAP_SOLVER_OPTIONS(SAP_X)
#undef SAP_X
  };
  return (sap_option_table){OPTIONS, (int32_t)(sizeof OPTIONS / sizeof OPTIONS[0])};
}

sap_mj_options sap_mj_options_default(void) {
  sap_mj_options options = {.cookie = SAP_OPTIONS_COOKIE,
                            .solver = "sap",
                            .solver_options = sap_solver_options_default()};
  sap_options_reset(sap_mj_option_table(), &options);
  options.regularization = (sap_regularization){.beta = (double)NAN, .sigma = (double)NAN};
  options.solver_options.check_input = false;
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

sap_status sap_mj_options_check(const sap_mj_options* options, sap_error* error) {
  SAP_TRY(sap_options_check_cookie("sap_mj_options", &options->cookie, error));
  SAP_TRY(sap_options_check_cookie("sap_solver_options", &options->solver_options.cookie, error));
  return sap_options_check(sap_mj_option_table(), options, error);
}

void sap_mj_complete_options(const mjModel* m, sap_mj_options* options) {
  const sap_regularization standard = sap_regularization_default();
  sap_regularization* r = &options->regularization;
  r->beta = isnan(r->beta) ? sap_mj_numeric(m, "sapstep:beta", standard.beta) : r->beta;
  r->sigma = isnan(r->sigma) ? sap_mj_numeric(m, "sapstep:sigma", standard.sigma) : r->sigma;
}

void sap_mj_choose_contact_law(sap_mj* a) {
  a->regularization = a->options.regularization;
  a->contact_law = sap_material_default();
  a->contact_law.model = a->options.contact_model;
  a->contact_law.dissipation = a->options.dissipation;
  a->contact_law.stiction_tolerance = a->options.stiction_tolerance;
}
