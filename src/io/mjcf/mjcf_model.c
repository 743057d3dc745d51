// SPDX-License-Identifier: BSD-3-Clause
// MJCF models: includes, compiler settings, default classes, assets and options.
#include "io/mjcf/mjcf.h"

#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/xml/schema.h"
#include "math/scalar.h"
#include "math/vector3.h"

static const double degree = SAP_PI / 180.0;  // [rad]

// --- includes -----------------------------------------------------------------------------------

// <include file="..."/> is replaced by the children of the named file's root. Files are relative to
// the folder of the main file. As in MuJoCo a file may be included once only, which also excludes
// cycles.

typedef struct included_file {
  const char* path;
  const struct included_file* next;
} included_file;

typedef struct includer {
  sap_xml_store* store;
  const char* path;  // the main file
  included_file* files;
  sap_error* error;
} includer;

static sap_status add_included(includer* in, const char* path, const sap_xml_node* node) {
  for (const included_file* f = in->files; f != NULL; f = f->next) {
    SAP_RETURN_IF(strcmp(f->path, path) == 0,
                  sap_xml_syntax(node, "file", in->error,
                                 "'%.200s' is included in itself or more than once", path));
  }
  included_file* f;
  SAP_TRY(SAP_POOL_ADD(&in->store->pool, &f, 1, in->error));
  *f = (included_file){path, in->files};
  in->files = f;
  return SAP_STATUS_OK;
}

static sap_status read_included(includer* in, const sap_xml_node* node, sap_xml_node** root) {
  const char* file = sap_xml_get(node, "file");
  const char* path;
  if (file == NULL || node->first_child != NULL || node->nattributes != 1) {
    return sap_xml_syntax(node, NULL, in->error, "must have the attribute 'file' and nothing else");
  }
  SAP_TRY(sap_xml_sibling(in->store, in->path, file, &path, in->error));
  SAP_TRY(add_included(in, path, node));
  const sap_status status = sap_xml_read(in->store, path, root, in->error);
  return status == SAP_STATUS_IO ? sap_xml_locate(node, status, in->error) : status;
}

static sap_status expand_includes(includer* in, sap_xml_node* node) {
  for (sap_xml_node *next, *child = sap_xml_take_children(node); child != NULL; child = next) {
    next = child->next;
    if (!sap_xml_is(child, "include")) {
      SAP_TRY(expand_includes(in, child));
      sap_xml_append(node, child);
      continue;
    }
    sap_xml_node* root = NULL;
    SAP_TRY(read_included(in, child, &root));
    SAP_TRY(expand_includes(in, root));
    for (sap_xml_node *after, *c = root->first_child; c != NULL; c = after) {
      after = c->next;
      sap_xml_append(node, c);
    }
  }
  return SAP_STATUS_OK;
}

// --- compiler -----------------------------------------------------------------------------------

static sap_status read_angles(const sap_xml_node* node, sap_mjcf_compiler* out, sap_error* error) {
  int32_t unit = out->angle_unit == 1.0 ? 0 : 1;
  SAP_TRY(sap_xml_choice(node, "angle", "radian degree", &unit, error));
  out->angle_unit = unit == 0 ? 1.0 : degree;
  const char* sequence = sap_xml_get(node, "eulerseq");
  if (sequence != NULL) {
    SAP_RETURN_IF(strlen(sequence) != 3 || strspn(sequence, "xyzXYZ") != 3,
                  sap_xml_syntax(node, "eulerseq", error, "must be three letters of xyzXYZ"));
    memcpy(out->euler_sequence, sequence, 4);
  }
  return SAP_STATUS_OK;
}

static sap_status read_compiler(const sap_xml_node* node, sap_mjcf_compiler* out,
                                sap_error* error) {
#define FLAG(member, attribute) \
  { attribute, SAP_XML_BOOL, 1, 1, offsetof(sap_mjcf_compiler, member) }
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(sap_mjcf_compiler, bound_mass, "boundmass", NONNEGATIVE),
      SAP_XML_NUMBER(sap_mjcf_compiler, bound_inertia, "boundinertia", NONNEGATIVE),
      SAP_XML_NUMBER(sap_mjcf_compiler, total_mass, "settotalmass", ANY),
      FLAG(auto_limits, "autolimits"),
      FLAG(balance_inertia, "balanceinertia"),
      FLAG(fit_span, "fitaabb"),
      {0},
  };
  static const sap_xml_field length_fields[] = {
      FLAG(use_lengths, "useexisting"),
      FLAG(use_limits, "uselimit"),
      {0},
  };
  double range[2] = {out->group_range[0], out->group_range[1]};
  SAP_TRY(read_angles(node, out, error));
  SAP_TRY(sap_xml_read_fields(node, fields, out, error));
  SAP_TRY(
      sap_xml_choice(node, "inertiafromgeom", "false true auto", &out->inertia_from_geom, error));
  SAP_TRY(sap_xml_optional(node, "inertiagrouprange", 2, 2, range, error));
  out->group_range[0] = (int32_t)fmax(fmin(range[0], 1e6), -1e6);
  out->group_range[1] = (int32_t)fmax(fmin(range[1], 1e6), -1e6);
  for (const sap_xml_node* c = node->first_child; c != NULL; c = c->next) {
    SAP_TRY(sap_xml_read_fields(c, length_fields, out, error));
  }
  return SAP_STATUS_OK;
}

// --- classes and assets -------------------------------------------------------------------------

int32_t sap_mjcf_find_class(const sap_mjcf_model* model, const char* name) {
  for (int32_t i = model->class_count - 1; i >= 0; --i) {
    if (strcmp(model->classes[i].name, name) == 0) {
      return i;
    }
  }
  return -1;
}

// A class starts with the defaults of its parent so far: several <default> at the top continue each
// other, and the parent of a nested class is the part that contains it.
static sap_status read_class(sap_mjcf_reader* r, sap_mjcf_model* model, const sap_xml_node* node,
                             int32_t parent) {
  const bool top = sap_xml_is(node->parent, "mujoco") || node->parent == model->root;
  const char* name = sap_xml_get(node, "class");
  if (name == NULL && !top) {
    return sap_xml_require(node, "class", &name, r->error);
  }
  name = name != NULL ? name : "main";
  SAP_RETURN_IF(!top && sap_mjcf_find_class(model, name) >= 0,
                sap_xml_syntax(node, "class", r->error, "the class is defined twice"));
  SAP_TRY(SAP_ROOM(&r->pool, &model->classes, model->class_count + 1, r->error));
  const int32_t index = model->class_count++;
  model->classes[index] = (sap_mjcf_class){.name = name, .parent = parent, .node = node};
  if (top) {
    model->main_class = index;
  }
  SAP_XML_EACH(child, node, "default") {
    SAP_TRY(read_class(r, model, child, index));
  }
  return SAP_STATUS_OK;
}

static sap_status read_asset(sap_mjcf_reader* r, sap_mjcf_model* model, const sap_xml_node* node) {
  const char *file, *path;
  SAP_TRY(sap_xml_require(node, "file", &file, r->error));
  SAP_TRY(sap_xml_sibling(r->store, model->root->file, file, &path, r->error));
  for (const sap_mjcf_model* m = model; m != NULL; m = m->user) {
    SAP_RETURN_IF(strcmp(m->root->file, path) == 0,
                  sap_xml_syntax(node, "file", r->error, "the model contains itself"));
  }
  sap_xml_node* root = NULL;
  const sap_status status = sap_xml_read(r->store, path, &root, r->error);
  if (status != SAP_STATUS_OK) {
    return status == SAP_STATUS_IO ? sap_xml_locate(node, status, r->error) : status;
  }
  SAP_RETURN_IF(!sap_xml_is(root, "mujoco"),
                sap_xml_fail(root, NULL, SAP_STATUS_UNSUPPORTED, r->error,
                             "only MJCF models can be attached"));
  sap_mjcf_model* asset = NULL;
  SAP_TRY(sap_mjcf_load_model(r, path, root, model, &asset));
  const char* name = sap_xml_get(node, "name");
  asset->name = name != NULL ? name : sap_xml_get(root, "model");
  asset->next = model->assets;
  model->assets = asset;
  return SAP_STATUS_OK;
}

static sap_status read_sections(sap_mjcf_reader* r, sap_mjcf_model* model) {
  for (const sap_xml_node* s = model->root->first_child; s != NULL; s = s->next) {
    if (sap_xml_is(s, "compiler")) {
      SAP_TRY(read_compiler(s, &model->compiler, r->error));
    } else if (sap_xml_is(s, "default")) {
      SAP_TRY(read_class(r, model, s, model->main_class));
    } else if (sap_xml_is(s, "asset")) {
      SAP_XML_EACH(c, s, "model") {
        SAP_TRY(read_asset(r, model, c));
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_load_model(sap_mjcf_reader* r, const char* path, sap_xml_node* root,
                               const sap_mjcf_model* user, sap_mjcf_model** out) {
  *out = NULL;
  includer in = {.store = r->store, .path = path, .error = r->error};
  SAP_TRY(add_included(&in, path, root));
  SAP_TRY(expand_includes(&in, root));
  if (user == NULL) {
    SAP_TRY(sap_scene_apply_edits(r->store, root, r->options, r->error));
  }
  SAP_TRY(sap_schema_check(sap_schema_mjcf_mujoco, root, r->options, r->error));
  sap_mjcf_model* model;
  SAP_TRY(SAP_POOL_ADD(&r->pool, &model, 1, r->error));
  model->root = root;
  model->user = user;
  model->main_class = -1;
  model->compiler = (sap_mjcf_compiler){.angle_unit = degree,
                                        .euler_sequence = "xyz",
                                        .auto_limits = true,
                                        .inertia_from_geom = SAP_MJCF_AUTO,
                                        .group_range = {0, 5},
                                        .use_lengths = true};
  SAP_TRY(read_sections(r, model));
  *out = model;
  return SAP_STATUS_OK;
}

// --- options ------------------------------------------------------------------------------------

// Reads the flags of a <flag>; the last one that names a flag decides.
static void read_flags(sap_mjcf_reader* r, const sap_xml_node* node, bool* no_gravity,
                       bool* no_constraint) {
  sap_mjcf_disabled* d = &r->disabled;
  const struct {
    const char* name;
    bool* disabled;
  } flags[] = {{"gravity", no_gravity},
               {"constraint", no_constraint},
               {"contact", &d->contact},
               {"equality", &d->equality},
               {"limit", &d->limit},
               {"frictionloss", &d->frictionloss},
               {"passive", &d->spring},  // of older files
               {"passive", &d->damper},
               {"spring", &d->spring},
               {"damper", &d->damper},
               {"actuation", &d->actuation},
               {"clampctrl", &d->control_range}};
  for (size_t i = 0; i < sizeof flags / sizeof *flags; ++i) {
    const char* text = sap_xml_get(node, flags[i].name);
    if (text != NULL) {
      *flags[i].disabled = strcmp(text, "disable") == 0;
    }
  }
  const char* text = sap_xml_get(node, "override");
  r->override.on = text != NULL ? strcmp(text, "enable") == 0 : r->override.on;
}

sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options) {
  static const sap_xml_field fields[] = {
      SAP_XML_NUMBER(sap_model_options, timestep, "timestep", POSITIVE),
      SAP_XML_FIELD(sap_model_options, gravity, "gravity", ANY, 3, 3),
      SAP_XML_NUMBER(sap_model_options, fluid_density, "density", NONNEGATIVE),
      SAP_XML_NUMBER(sap_model_options, fluid_viscosity, "viscosity", NONNEGATIVE),
      SAP_XML_FIELD(sap_model_options, wind, "wind", ANY, 3, 3),
      SAP_XML_FIELD(sap_model_options, magnetic_field, "magnetic", ANY, 3, 3),
      {0},
  };
  static const sap_xml_field override_fields[] = {
      SAP_XML_NUMBER(sap_mjcf_override, margin, "o_margin", ANY),
      SAP_XML_FIELD(sap_mjcf_override, friction, "o_friction", ANY, 1, 5),
      SAP_XML_FIELD(sap_mjcf_override, solref, "o_solref", ANY, 1, 2),
      {0},
  };
  *options = sap_model_options_default();
  options->name = sap_xml_get(r->main->root, "model");
  r->override =
      (sap_mjcf_override){.friction = {1.0, 1.0, 0.005, 0.0001, 0.0001}, .solref = {0.02, 1.0}};
  bool no_gravity = false, no_constraint = false;
  SAP_XML_EACH(s, r->main->root, "option") {
    SAP_TRY(sap_xml_read_fields(s, fields, options, r->error));
    SAP_TRY(sap_xml_read_fields(s, override_fields, &r->override, r->error));
    for (const sap_xml_node* f = s->first_child; f != NULL; f = f->next) {
      read_flags(r, f, &no_gravity, &no_constraint);
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
  double harmonic = 0.0;
  SAP_TRY(sap_mjcf_global_setting(r, r->main, "sapstep:harmonic_friction", false, &harmonic));
  options->friction_rule = harmonic > 0.0 ? SAP_FRICTION_HARMONIC : SAP_FRICTION_MAXIMUM;
  SAP_TRY(
      sap_mjcf_global_setting(r, r->main, "sapstep:beta", false, &options->regularization.beta));
  return sap_mjcf_global_setting(r, r->main, "sapstep:sigma", true, &options->regularization.sigma);
}
