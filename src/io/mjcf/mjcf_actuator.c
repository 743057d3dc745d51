// SPDX-License-Identifier: BSD-3-Clause
// <actuator>: what acts on joints, tendons, slider-cranks, sites and, by adhesion, bodies.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf_actuator.h"
#include "io/mjcf/mjcf_instance.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

typedef sap_mjcf_actuator_law law;

// Elements that exist but cannot be done.
static const char other_kinds[] = "orientation pid plugin";

static bool has_range(const sap_actuator_def* def) {
  return def->transmission == SAP_TRANSMISSION_JOINT ||
         def->transmission == SAP_TRANSMISSION_TENDON;
}

static sap_mjcf_scope scope_of(const sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  return (sap_mjcf_scope){.model = r->spaces[i->space].model, .child_class = -1};
}

// The control's range from the target's.
static sap_status inherit_range(sap_mjcf_reader* r, const sap_xml_node* node, const law* l,
                                sap_actuator_def* def) {
  if (!has_range(def)) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "inheritrange is for joints and tendons");
  }
  const bool on_joint = def->transmission == SAP_TRANSMISSION_JOINT;
  const double* range = on_joint ? r->joints[def->target].range : r->tendons[def->target].range;
  const bool to_act = l->inherit_activation;
  double* lower = to_act ? &def->activation_lower : &def->control_lower;
  double* upper = to_act ? &def->activation_upper : &def->control_upper;
  if (isfinite(*lower)) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "has both %s and inheritrange",
                        to_act ? "actrange" : "ctrlrange");
  }
  if (!isfinite(range[0]) || !isfinite(range[1])) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "inheritrange, but its joint or tendon has no range");
  }
  const double mean = 0.5 * (range[0] + range[1]);
  const double half = 0.5 * (range[1] - range[0]) * l->inherit_range;
  *lower = mean - half;
  *upper = mean + half;
  return SAP_STATUS_OK;
}

static sap_status read_ranges(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                              const sap_mjcf_scope* scope, sap_actuator_def* def) {
  double gear[6] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  const bool along_gear = def->transmission == SAP_TRANSMISSION_SITE ||
                          (def->transmission == SAP_TRANSMISSION_JOINT &&
                           (r->joints[def->target].type == SAP_JOINT_BALL ||
                            r->joints[def->target].type == SAP_JOINT_FREE));
  sap_mjcf_range control = {"ctrlrange", "ctrllimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_mjcf_range force = {"forcerange", "forcelimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_mjcf_range act = {"actrange", "actlimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_status status = sap_mjcf_numbers(r, s, "gear", (const int32_t[]){1, 6}, gear, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, s, scope, &control);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, s, scope, &force);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, s, scope, &act);
  }
  def->activation_lower = act.lower;
  def->activation_upper = act.upper;
  if (along_gear) {
    memcpy(def->direction, gear, sizeof gear);
  } else if (def->transmission != SAP_TRANSMISSION_ADHESION) {  // which has none
    def->gear = gear[0];
  }
  def->control_lower = control.lower;
  def->control_upper = control.upper;
  def->force_lower = force.lower;
  def->force_upper = force.upper;
  return status;
}

// The range of lengths: given, or that of the joint or tendon if the compiler says so.
static sap_status read_lengths(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_mjcf_compiler* compiler, sap_actuator_def* def) {
  double lengths[2] = {0.0, 0.0};
  const sap_status status =
      sap_mjcf_numbers(r, s, "lengthrange", (const int32_t[]){2, 2}, lengths, NULL);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const bool given = compiler->use_lengths && lengths[0] < lengths[1];
  if (!given && compiler->use_limits && has_range(def)) {
    const double* range = def->transmission == SAP_TRANSMISSION_JOINT
                              ? r->joints[def->target].range
                              : r->tendons[def->target].range;
    memcpy(lengths, range, sizeof lengths);
  }
  if (isfinite(lengths[0]) && isfinite(lengths[1]) && lengths[0] < lengths[1] &&
      (given || compiler->use_limits)) {
    def->length_lower = lengths[0];
    def->length_upper = lengths[1];
  }
  return SAP_STATUS_OK;
}

// All but what it acts on, which `def` knows.
static sap_status read_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                const sap_mjcf_sources* s, const law* l, sap_actuator_def* def) {
  const sap_mjcf_scope scope = scope_of(r, i);
  int32_t early = 0;
  sap_status status = read_ranges(r, s, &scope, def);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_choice(r, s, "actearly", "false true", &early);
  }
  if (status == SAP_STATUS_OK && l->inherit_range > 0.0) {
    status = inherit_range(r, i->node, l, def);
  }
  if (status == SAP_STATUS_OK) {
    status = read_lengths(r, s, &scope.model->compiler, def);
  }
  sap_mjcf_apply_law(l, def);
  def->activation_early = early != 0;
  return status == SAP_STATUS_OK
             ? sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def->name)
             : status;
}

// Joint, tendon, crank, site or body; NULL, or why not.
static const char* find_target(const sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_actuator_def* def) {
  const bool crank = sap_xml_get(i->node, "cranksite") != NULL;
  const bool site = sap_xml_get(i->node, "site") != NULL;
  const bool joint =
      sap_xml_get(i->node, "joint") != NULL || sap_xml_get(i->node, "jointinparent") != NULL;
  if (sap_word_index(other_kinds, i->node->name) >= 0) {
    return "this kind of actuator is not supported";
  }
  const bool body = sap_xml_get(i->node, "body") != NULL;
  if (!joint && !crank && !site && !body && sap_xml_get(i->node, "tendon") == NULL) {
    return "only actuators on joints, tendons, slider-cranks, sites and bodies are supported";
  }
  if (body) {
    def->transmission = SAP_TRANSMISSION_ADHESION;
    def->target = i->ids[0];
    return NULL;
  }
  if (crank || site) {
    def->transmission = crank ? SAP_TRANSMISSION_SLIDER_CRANK : SAP_TRANSMISSION_SITE;
    return NULL;
  }
  def->transmission = joint ? SAP_TRANSMISSION_JOINT : SAP_TRANSMISSION_TENDON;
  def->target = i->ids[0];
  def->in_parent = joint && sap_xml_get(i->node, "joint") == NULL &&
                   (r->joints[def->target].type == SAP_JOINT_BALL ||
                    r->joints[def->target].type == SAP_JOINT_FREE);
  return NULL;
}

// The site, and the reference's if there is one.
static void read_sites(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_actuator_def* def) {
  const sap_mjcf_site* site = &r->sites[i->ids[0]];
  def->site_body = site->body;
  memcpy(def->site_point, site->pose.p, sizeof def->site_point);
  memcpy(def->site_q, site->pose.q, sizeof def->site_q);
  if (sap_xml_get(i->node, "refsite") != NULL) {
    const sap_mjcf_site* reference = &r->sites[i->ids[1]];
    def->reference_body = reference->body;
    memcpy(def->reference_point, reference->pose.p, sizeof def->reference_point);
    memcpy(def->reference_q, reference->pose.q, sizeof def->reference_q);
  }
}

// At most one target.
static sap_status check_places(sap_mjcf_reader* r, const sap_xml_node* node) {
  static const char* const places[] = {"joint", "jointinparent", "tendon",
                                       "site",  "cranksite",     "body"};
  int32_t count = 0;
  for (size_t k = 0; k < sizeof places / sizeof *places; ++k) {
    count += sap_xml_get(node, places[k]) != NULL ? 1 : 0;
  }
  if (count > 1) {
    return sap_xml_fail(
        node, NULL, SAP_STATUS_SYNTAX, r->error,
        "must act on one of joint, jointinparent, tendon, site, cranksite and body");
  }
  if (count == 0 && sap_xml_is(node, "adhesion")) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute 'body' is missing");
  }
  if (sap_xml_get(node, "refsite") != NULL && sap_xml_get(node, "site") == NULL) {
    return sap_xml_fail(node, "refsite", SAP_STATUS_SYNTAX, r->error, "needs a site");
  }
  return sap_xml_get(node, "slidersite") != NULL && sap_xml_get(node, "cranksite") == NULL
             ? sap_xml_fail(node, "slidersite", SAP_STATUS_SYNTAX, r->error, "needs a cranksite")
             : SAP_STATUS_OK;
}

// The crank's site and the slider's, whose z is the axis.
static sap_status read_crank(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                             sap_actuator_def* def) {
  static const double z[3] = {0.0, 0.0, 1.0};
  if (sap_xml_get(i->node, "slidersite") == NULL || sap_xml_get(i->node, "cranklength") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "a cranksite needs slidersite and cranklength");
  }
  const sap_mjcf_site *crank = &r->sites[i->ids[0]], *slider = &r->sites[i->ids[1]];
  def->crank_body = crank->body;
  def->slider_body = slider->body;
  memcpy(def->crank_point, crank->pose.p, sizeof def->crank_point);
  memcpy(def->slider_point, slider->pose.p, sizeof def->slider_point);
  sap_quaternion_rotate(def->slider_axis, slider->pose.q, z);
  return sap_xml_numbers(i->node, "cranklength", 1, 1, &def->crank_length, NULL, r->error);
}

// Without actuation there are no forces; activations follow their controls all the same.
static void apply_flags(const sap_mjcf_reader* r, sap_actuator_def* def) {
  if (r->disabled.control_range) {
    def->control_lower = -(double)INFINITY;
    def->control_upper = (double)INFINITY;
  }
  if (r->disabled.actuation) {
    def->gain = def->damping_ratio = 0.0;
    def->muscle_gain = def->muscle_bias = false;
    memset(def->gain_slope, 0, sizeof def->gain_slope);
    memset(def->bias, 0, sizeof def->bias);
  }
}

sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  int32_t id = -1;
  sap_status status = SAP_GROW(&r->controls, &r->control_capacity, r->control_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const sap_mjcf_scope scope = scope_of(r, i);
  sap_mjcf_sources s;
  law l = {0};
  status = check_places(r, i->node);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_find_sources(r, i->node, "motor", &scope, &s);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_law(r, &s, &l);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_actuator_def def = sap_actuator_def_default();
  const char* why = find_target(r, i, &def);
  if (why == NULL && def.transmission == SAP_TRANSMISSION_SLIDER_CRANK) {
    status = read_crank(r, i, &def);
  }
  if (why == NULL && def.transmission == SAP_TRANSMISSION_SITE) {
    read_sites(r, i, &def);
  }
  if (status == SAP_STATUS_OK && why == NULL) {
    status = read_actuator(r, i, &s, &l, &def);
    if (status == SAP_STATUS_OK && sap_xml_is(i->node, "adhesion") &&
        !(def.control_lower >= 0.0 && isfinite(def.control_upper))) {
      status = sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error,
                            "needs a ctrlrange that is not negative");
    }
    why = sap_mjcf_law_unsupported(&l);
  }
  if (status == SAP_STATUS_OK && why != NULL) {
    status = sap_scene_unsupported(r->options, i->node, NULL, why, r->error);
  } else if (status == SAP_STATUS_OK) {
    apply_flags(r, &def);
    status = sap_xml_locate(i->node, sap_builder_add_actuator(r->builder, &def, &id, r->error),
                            r->error);
  }
  // Also one that is left out may have an activation in keyframes.
  r->controls[r->control_count++] =
      (sap_mjcf_control){.node = i->node,
                         .space = i->space,
                         .id = id,
                         .has_activation = l.activation != SAP_ACTIVATION_NONE};
  return status;
}
