// SPDX-License-Identifier: BSD-3-Clause
// <actuator>: forces on joints, tendons, slider-cranks, sites and, by adhesion, bodies.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "io/mjcf/mjcf_actuator_law.h"
#include "io/mjcf/mjcf_name.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

// --- target -------------------------------------------------------------------------------------

static const struct target_kind {
  const char* attribute;
  sap_transmission transmission;
} targets[] = {{"joint", SAP_TRANSMISSION_JOINT},
               {"jointinparent", SAP_TRANSMISSION_JOINT},
               {"tendon", SAP_TRANSMISSION_TENDON},
               {"site", SAP_TRANSMISSION_SITE},
               {"cranksite", SAP_TRANSMISSION_SLIDER_CRANK},
               {"body", SAP_TRANSMISSION_ADHESION}};
enum { TARGETS = sizeof targets / sizeof *targets };

static bool is_rotation(const sap_mjcf_joint* joint) {
  return joint->type == SAP_JOINT_BALL || joint->type == SAP_JOINT_FREE;
}

// Checks that the element names at most one target.
static sap_status check_target(sap_mjcf_reader* r, const sap_xml_node* node) {
  int32_t count = 0;
  for (int k = 0; k < TARGETS; ++k) {
    count += sap_xml_get(node, targets[k].attribute) != NULL ? 1 : 0;
  }
  if (count > 1) {
    return sap_xml_syntax(
        node, NULL, r->error,
        "must act on one of joint, jointinparent, tendon, site, cranksite and body");
  }
  if (count == 0 && sap_xml_is(node, "adhesion")) {
    return sap_xml_syntax(node, NULL, r->error, "attribute 'body' is missing");
  }
  if (sap_xml_get(node, "refsite") != NULL && sap_xml_get(node, "site") == NULL) {
    return sap_xml_syntax(node, "refsite", r->error, "needs a site");
  }
  return sap_xml_get(node, "slidersite") != NULL && sap_xml_get(node, "cranksite") == NULL
             ? sap_xml_syntax(node, "slidersite", r->error, "needs a cranksite")
             : SAP_STATUS_OK;
}

// Sets transmission and target; returns NULL, or why the actuator is not supported.
static const char* find_target(const sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_actuator_def* def) {
  if (sap_word_index("orientation pid plugin", i->node->name) >= 0) {
    return "this kind of actuator is not supported";
  }
  for (int k = 0; k < TARGETS; ++k) {
    if (sap_xml_get(i->node, targets[k].attribute) == NULL) {
      continue;
    }
    def->transmission = targets[k].transmission;
    if (def->transmission != SAP_TRANSMISSION_SITE &&
        def->transmission != SAP_TRANSMISSION_SLIDER_CRANK) {
      def->target = i->ids[0];
    }
    def->in_parent =
        strcmp(targets[k].attribute, "jointinparent") == 0 && is_rotation(&r->joints[def->target]);
    return NULL;
  }
  return "only actuators on joints, tendons, slider-cranks, sites and bodies are supported";
}

static void read_sites(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_actuator_def* def) {
  const sap_mjcf_site* site = &r->sites[i->ids[0]];
  def->site_body = site->body;
  sap_pose_get(&site->pose, def->site_point, def->site_q);
  if (sap_xml_get(i->node, "refsite") != NULL) {
    const sap_mjcf_site* reference = &r->sites[i->ids[1]];
    def->reference_body = reference->body;
    sap_pose_get(&reference->pose, def->reference_point, def->reference_q);
  }
}

// Reads the crank's site and the slider's, whose z is the axis.
static sap_status read_crank(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                             sap_actuator_def* def) {
  static const double z[3] = {0.0, 0.0, 1.0};
  if (sap_xml_get(i->node, "slidersite") == NULL || sap_xml_get(i->node, "cranklength") == NULL) {
    return sap_xml_syntax(i->node, NULL, r->error, "a cranksite needs slidersite and cranklength");
  }
  const sap_mjcf_site *crank = &r->sites[i->ids[0]], *slider = &r->sites[i->ids[1]];
  def->crank_body = crank->body;
  def->slider_body = slider->body;
  memcpy(def->crank_point, crank->pose.p, sizeof def->crank_point);
  memcpy(def->slider_point, slider->pose.p, sizeof def->slider_point);
  sap_quaternion_rotate(def->slider_axis, slider->pose.q, z);
  return sap_xml_numbers(i->node, "cranklength", 1, 1, &def->crank_length, NULL, r->error);
}

// --- ranges -------------------------------------------------------------------------------------

// Returns the range of the joint or tendon, NULL for other targets.
static const double* target_range(const sap_mjcf_reader* r, const sap_actuator_def* def) {
  return def->transmission == SAP_TRANSMISSION_JOINT    ? r->joints[def->target].range
         : def->transmission == SAP_TRANSMISSION_TENDON ? r->tendons[def->target].range
                                                        : NULL;
}

// Computes the range of the control or of the activation from that of the target.
static sap_status inherit_range(sap_mjcf_reader* r, const sap_xml_node* node,
                                const sap_mjcf_actuator_law* law, sap_actuator_def* def) {
  const double* range = target_range(r, def);
  if (range == NULL) {
    return sap_xml_syntax(node, NULL, r->error, "inheritrange is for joints and tendons");
  }
  const bool to_act = law->inherit_activation;
  double* lower = to_act ? &def->activation_lower : &def->control_lower;
  double* upper = to_act ? &def->activation_upper : &def->control_upper;
  if (isfinite(*lower)) {
    return sap_xml_syntax(node, NULL, r->error, "has both %s and inheritrange",
                          to_act ? "actrange" : "ctrlrange");
  }
  if (!isfinite(range[0]) || !isfinite(range[1])) {
    return sap_xml_syntax(node, NULL, r->error,
                          "inheritrange, but its joint or tendon has no range");
  }
  const double mean = 0.5 * (range[0] + range[1]);
  const double half = 0.5 * (range[1] - range[0]) * law->inherit_range;
  *lower = mean - half;
  *upper = mean + half;
  return SAP_STATUS_OK;
}

static sap_status read_gear(const sap_mjcf_sources* s, sap_actuator_def* def) {
  double gear[6] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  SAP_TRY(sap_mjcf_numbers(s, "gear", 1, 6, gear, NULL));
  const bool along_gear =
      def->transmission == SAP_TRANSMISSION_SITE ||
      (def->transmission == SAP_TRANSMISSION_JOINT && is_rotation(&s->r->joints[def->target]));
  if (along_gear) {
    memcpy(def->direction, gear, sizeof gear);
  } else if (def->transmission != SAP_TRANSMISSION_ADHESION) {  // which has no gear
    def->gear = gear[0];
  }
  return SAP_STATUS_OK;
}

// Reads the range of lengths: given, or that of the joint or tendon if the compiler uses limits.
static sap_status read_lengths(const sap_mjcf_sources* s, sap_actuator_def* def) {
  const sap_mjcf_compiler* compiler = &s->model->compiler;
  double lengths[2] = {0.0, 0.0};
  SAP_TRY(sap_mjcf_numbers(s, "lengthrange", 2, 2, lengths, NULL));
  const bool given = compiler->use_lengths && lengths[0] < lengths[1];
  const double* range = target_range(s->r, def);
  if (!given && compiler->use_limits && range != NULL) {
    memcpy(lengths, range, sizeof lengths);
  }
  if (isfinite(lengths[0]) && isfinite(lengths[1]) && lengths[0] < lengths[1] &&
      (given || compiler->use_limits)) {
    def->length_lower = lengths[0];
    def->length_upper = lengths[1];
  }
  return SAP_STATUS_OK;
}

// Reads all but the target, which `def` has.
static sap_status read_actuator(const sap_mjcf_sources* s, const sap_mjcf_instance* i,
                                const sap_mjcf_actuator_law* law, sap_actuator_def* def) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_actuator_def, activation_early, "actearly", BOOL, 1, 1), {0}};
  const struct {
    const char* attribute;
    double *lower, *upper;
  } ranges[] = {{"ctrlrange", &def->control_lower, &def->control_upper},
                {"forcerange", &def->force_lower, &def->force_upper},
                {"actrange", &def->activation_lower, &def->activation_upper}};
  SAP_TRY(read_gear(s, def));
  for (size_t k = 0; k < sizeof ranges / sizeof *ranges; ++k) {
    double range[2];
    SAP_TRY(sap_mjcf_read_range(s, ranges[k].attribute, 1.0, range));
    *ranges[k].lower = range[0];
    *ranges[k].upper = range[1];
  }
  def->activation_early = false;
  SAP_TRY(sap_mjcf_read_fields(s, fields, def));
  if (law->inherit_range > 0.0) {
    SAP_TRY(inherit_range(s->r, i->node, law, def));
  }
  SAP_TRY(read_lengths(s, def));
  sap_mjcf_apply_law(law, def);
  SAP_TRY(sap_mjcf_full_name(s->r, i->space, sap_xml_get(i->node, "name"), &def->name));
  if (sap_xml_is(i->node, "adhesion") &&
      !(def->control_lower >= 0.0 && isfinite(def->control_upper))) {
    return sap_xml_syntax(i->node, NULL, s->r->error, "needs a ctrlrange that is not negative");
  }
  return SAP_STATUS_OK;
}

// --- actuator -----------------------------------------------------------------------------------

// Without actuation there are no forces; activations still follow their controls.
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

// *id: -1 if the actuator is not supported and left out.
static sap_status add_to_builder(const sap_mjcf_sources* s, const sap_mjcf_instance* i,
                                 const sap_mjcf_actuator_law* law, int32_t* id) {
  sap_mjcf_reader* r = s->r;
  sap_actuator_def def = sap_actuator_def_default();
  const char* why = find_target(r, i, &def);
  *id = -1;
  if (why == NULL) {
    if (def.transmission == SAP_TRANSMISSION_SLIDER_CRANK) {
      SAP_TRY(read_crank(r, i, &def));
    } else if (def.transmission == SAP_TRANSMISSION_SITE) {
      read_sites(r, i, &def);
    }
    SAP_TRY(read_actuator(s, i, law, &def));
    why = sap_mjcf_law_unsupported(law);
  }
  if (why != NULL) {
    return sap_scene_unsupported(r->options, i->node, NULL, why, r->error);
  }
  apply_flags(r, &def);
  return SAP_XML_ADD(r, i->node, sap_builder_add_actuator, &def, id);
}

sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  sap_mjcf_sources s;
  sap_mjcf_actuator_law law;
  int32_t id;
  SAP_TRY(SAP_GROW(&r->controls, &r->control_capacity, r->control_count + 1, r->error));
  SAP_TRY(check_target(r, i->node));
  SAP_TRY(sap_mjcf_instance_sources(r, i, "motor", &s));
  SAP_TRY(sap_mjcf_read_law(&s, &law));
  SAP_TRY(add_to_builder(&s, i, &law, &id));
  // An actuator that is left out may still have an activation in keyframes.
  r->controls[r->control_count++] =
      (sap_mjcf_control){.node = i->node,
                         .space = i->space,
                         .id = id,
                         .has_activation = law.activation != SAP_ACTIVATION_NONE};
  return SAP_STATUS_OK;
}
