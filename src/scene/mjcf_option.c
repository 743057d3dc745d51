// SPDX-License-Identifier: BSD-3-Clause
// <option>: gravity, step, medium, with what <custom> says of the regularization.
#include <string.h>

#include "math/vector3.h"
#include "scene/mjcf.h"
#include "scene/number.h"

static sap_status read_medium(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_model_options* options) {
  static const char* const names[2] = {"density", "viscosity"};
  double* const values[2] = {&options->fluid_density, &options->fluid_viscosity};
  for (int i = 0; i < 2; ++i) {
    if (sap_xml_get(node, names[i]) == NULL) {
      continue;
    }
    const sap_status status = sap_xml_numbers(node, names[i], 1, 1, values[i], NULL, r->error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (!(*values[i] >= 0.0)) {
      return sap_xml_fail(node, names[i], SAP_STATUS_SYNTAX, r->error, "must be >= 0");
    }
  }
  return sap_xml_get(node, "wind") != NULL
             ? sap_xml_numbers(node, "wind", 3, 3, options->wind, NULL, r->error)
             : SAP_STATUS_OK;
}

static sap_status read_option(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_model_options* options, bool* no_gravity) {
  sap_status status = SAP_STATUS_OK;
  if (sap_xml_get(node, "timestep") != NULL) {
    status = sap_xml_numbers(node, "timestep", 1, 1, &options->timestep, NULL, r->error);
    if (status == SAP_STATUS_OK && !(options->timestep > 0.0)) {
      return sap_xml_fail(node, "timestep", SAP_STATUS_SYNTAX, r->error, "must be > 0 s");
    }
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "gravity") != NULL) {
    status = sap_xml_numbers(node, "gravity", 3, 3, options->gravity, NULL, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = read_medium(r, node, options);
  }
  for (const sap_xml_node* f = node->first_child; f != NULL; f = f->next) {
    const char* gravity = sap_xml_get(f, "gravity");
    if (gravity != NULL) {
      *no_gravity = strcmp(gravity, "disable") == 0;
    }
  }
  return status;
}

sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options) {
  *options = sap_model_options_default();
  options->name = sap_xml_get(r->main->root, "model");
  options->friction_rule = SAP_FRICTION_MAXIMUM;
  bool no_gravity = false;
  for (const sap_xml_node* s = r->main->root->first_child; s != NULL; s = s->next) {
    if (sap_xml_is(s, "option")) {
      const sap_status status = read_option(r, s, options, &no_gravity);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
  }
  if (no_gravity) {
    sap_v3_set(options->gravity, 0.0, 0.0, 0.0);
  }
  const sap_status status =
      sap_mjcf_global_setting(r, r->main, "sapstep:beta", false, &options->regularization.beta);
  return status != SAP_STATUS_OK ? status
                                 : sap_mjcf_global_setting(r, r->main, "sapstep:sigma", true,
                                                           &options->regularization.sigma);
}
