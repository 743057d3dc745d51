// SPDX-License-Identifier: BSD-3-Clause
// Scenes from MJCF or URDF, from files and strings.
#include <sapstep/scene.h>

#include <math.h>

#include "contact/material.h"
#include "core/options.h"
#include "core/platform.h"
#include "io/mjcf/mjcf.h"
#include "io/urdf/urdf.h"
#include "io/xml/schema.h"
#include "io/xml/xml.h"

sap_scene_options sap_scene_options_default(void) {
  sap_scene_options options = {
      .cookie = SAP_COOKIE, .format = SAP_SCENE_AUTO, .default_material = sap_material_default()};
  options.default_material.stiffness = 0.0;
  options.default_material.model = SAP_CONTACT_BY_MATERIAL;
  options.floor = (double)NAN;
  return options;
}

// Checks a material whose stiffness of 0 is chosen by mass.
static sap_status check_material(sap_material m, const char* name, sap_error* error) {
  sap_error found;
  m.stiffness = m.stiffness == 0.0 ? HUGE_VAL : m.stiffness;
  return sap_material_check(&m, &found) == SAP_STATUS_OK
             ? SAP_STATUS_OK
             : sap_fail(error, found.status, "%s.%s", name, found.message);
}

static sap_status check_options(const char* path, const sap_scene_options* options,
                                sap_error* error) {
  SAP_TRY(sap_check_cookie("sap_scene_options", &options->cookie, error));
  SAP_FAIL_IF(path == NULL || path[0] == '\0', error, SAP_STATUS_ARGUMENT, "path is empty");
  SAP_FAIL_IF(isinf(options->floor), error, SAP_STATUS_ARGUMENT,
              "floor = %g must be finite, or NaN for none", options->floor);
  const sap_scene_options plain = {.override_material = NULL};
  sap_material material = options->default_material;
  sap_scene_override(&plain, &material);
  SAP_TRY(check_material(material, "default_material", error));
  sap_scene_override(options, &material);
  return check_material(material, "override_material", error);
}

// Warns about options that MJCF ignores.
static void warn_of_urdf_options(const sap_xml_node* root, const sap_scene_options* options) {
  if (!isnan(options->floor)) {
    sap_scene_warn(options, root, NULL, "a floor is for URDF only, this MJCF scene has its own");
  } else if (options->floating_base) {
    sap_scene_warn(options, root, NULL,
                   "a floating base is for URDF only, this MJCF scene has its own");
  }
}

static sap_status read_format(const char* path, sap_xml_store* store, sap_xml_node* root,
                              const sap_scene_options* options, sap_model** out, sap_error* error) {
  const bool mjcf = sap_xml_is(root, "mujoco"), urdf = sap_xml_is(root, "robot");
  if (options->format != SAP_SCENE_URDF && mjcf) {
    warn_of_urdf_options(root, options);
    return sap_mjcf_read(path, store, root, options, out, error);
  }
  if (options->format != SAP_SCENE_MJCF && urdf) {
    return sap_urdf_read(path, store, root, options, out, error);
  }
  const char* wanted = options->format == SAP_SCENE_MJCF   ? "<mujoco>"
                       : options->format == SAP_SCENE_URDF ? "<robot>"
                                                           : "<mujoco> or <robot>";
  return sap_xml_syntax(root, NULL, error, "the root element must be %s", wanted);
}

static sap_status read_scene(const char* path, const sap_scene_options* options, sap_model** out,
                             sap_error* error) {
  sap_xml_store store = {.pool.owner = "scene", .options = options};
  sap_xml_node* root;
  sap_status status = sap_xml_read(&store, path, &root, error);
  SAP_THEN(status, read_format(path, &store, root, options, out, error));
  sap_pool_free(&store.pool);
  return status;
}

sap_status sap_scene_read(const char* path, const sap_scene_options* options, sap_model** out,
                          sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  const sap_scene_options defaults = sap_scene_options_default();
  options = options != NULL ? options : &defaults;
  sap_c_locale guard;
  SAP_TRY(check_options(path, options, error));
  SAP_TRY(sap_c_locale_begin(&guard, error));
  sap_error failure = {0};  // a lenient reader goes on after some failures
  const sap_status status = read_scene(path, options, out, &failure);
  sap_c_locale_end(&guard);
  if (status != SAP_STATUS_OK && error != NULL) {
    *error = failure;
  }
  return status;
}
