// SPDX-License-Identifier: BSD-3-Clause
// <option>: gravity, step, medium, with what <custom> says of the regularization.
#include <string.h>

#include "io/mjcf/mjcf.h"
#include "io/xml/number.h"
#include "math/vector3.h"

static sap_status read_medium(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_model_options* options) {
  sap_status status = sap_xml_nonnegative(node, "density", &options->fluid_density, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_nonnegative(node, "viscosity", &options->fluid_viscosity, r->error);
  }
  return status == SAP_STATUS_OK ? sap_xml_optional(node, "wind", 3, 3, options->wind, r->error)
                                 : status;
}

// Each flag is as the last <flag> that names it says.
static void read_flag(sap_mjcf_reader* r, const sap_xml_node* node, bool* no_gravity,
                      bool* no_constraint) {
  const struct {
    const char* name;
    bool* disabled;
  } flags[] = {{"gravity", no_gravity},
               {"constraint", no_constraint},
               {"contact", &r->disabled.contact},
               {"equality", &r->disabled.equality},
               {"limit", &r->disabled.limit},
               {"frictionloss", &r->disabled.frictionloss},
               {"passive", &r->disabled.spring},  // as older files have it
               {"passive", &r->disabled.damper},
               {"spring", &r->disabled.spring},
               {"damper", &r->disabled.damper},
               {"actuation", &r->disabled.actuation},
               {"clampctrl", &r->disabled.control_range}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    const char* text = sap_xml_get(node, flags[i].name);
    if (text != NULL) {
      *flags[i].disabled = strcmp(text, "disable") == 0;
    }
  }
  const char* text = sap_xml_get(node, "override");
  r->override.on = text != NULL ? strcmp(text, "enable") == 0 : r->override.on;
}

static sap_status read_option(sap_mjcf_reader* r, const sap_xml_node* node,
                              sap_model_options* options, bool* no_gravity, bool* no_constraint) {
  sap_status status = sap_xml_optional(node, "timestep", 1, 1, &options->timestep, r->error);
  if (status == SAP_STATUS_OK && !(options->timestep > 0.0)) {
    return sap_xml_fail(node, "timestep", SAP_STATUS_SYNTAX, r->error, "must be > 0 s");
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "gravity", 3, 3, options->gravity, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = read_medium(r, node, options);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_override(r, node);
  }
  for (const sap_xml_node* f = node->first_child; f != NULL; f = f->next) {
    read_flag(r, f, no_gravity, no_constraint);
  }
  return status;
}

sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options) {
  *options = sap_model_options_default();
  options->name = sap_xml_get(r->main->root, "model");
  options->friction_rule = SAP_FRICTION_MAXIMUM;
  r->override =
      (sap_mjcf_override){.friction = {1.0, 1.0, 0.005, 0.0001, 0.0001}, .solref = {0.02, 1.0}};
  bool no_gravity = false, no_constraint = false;
  for (const sap_xml_node* s = r->main->root->first_child; s != NULL; s = s->next) {
    if (sap_xml_is(s, "option")) {
      const sap_status status = read_option(r, s, options, &no_gravity, &no_constraint);
      if (status != SAP_STATUS_OK) {
        return status;
      }
    }
  }
  if (no_constraint) {
    r->disabled.contact = r->disabled.equality = true;
    r->disabled.limit = r->disabled.frictionloss = true;
  }
  if (r->disabled.spring && r->disabled.damper) {
    options->fluid_density = options->fluid_viscosity = 0.0;
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
