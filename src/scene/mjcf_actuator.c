// SPDX-License-Identifier: BSD-3-Clause
// <actuator>: general, motor, position and velocity on joints, tendons and slider-cranks. All
// kinds share one set of defaults, which each element changes in turn, as in MuJoCo:
//   force = gainprm[0] ctrl + biasprm . (1, length, rate), the bias only if biastype is affine.
#include <math.h>
#include <string.h>

#include "core/memory.h"
#include "math/quaternion.h"
#include "scene/mjcf_instance.h"
#include "scene/number.h"
#include "scene/schema.h"

// Before any default: MuJoCo's.
static const double default_gain = 1.0;

// Elements that exist but cannot be done.
static const char other_kinds[] =
    "intvelocity orientation pid damper cylinder muscle adhesion dcmotor plugin";

typedef struct law {
  double gain[3], bias[3];  // bias[2] > 0 in MuJoCo's files: see damping_ratio
  double damping_ratio, inherit_range;
  int32_t gain_type, bias_type, dynamics;
} law;

static sap_status read_scalar(sap_mjcf_reader* r, const sap_xml_node* node, const char* attribute,
                              bool nonnegative, double* value, bool* given) {
  *given = sap_xml_get(node, attribute) != NULL;
  if (!*given) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_xml_numbers(node, attribute, 1, 1, value, NULL, r->error);
  return status == SAP_STATUS_OK && nonnegative && !(*value >= 0.0)
             ? sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, r->error, "must be >= 0")
             : status;
}

static sap_status apply_position(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double kp = l->gain[0], kv = 0.0;
  bool given, has_kv;
  sap_status status = read_scalar(r, node, "kp", true, &kp, &given);
  if (status == SAP_STATUS_OK) {
    status = read_scalar(r, node, "kv", true, &kv, &has_kv);
  }
  l->gain[0] = kp;
  l->bias[1] = -kp;
  if (status == SAP_STATUS_OK && has_kv) {
    l->bias[2] = -kv;
    l->damping_ratio = 0.0;
  }
  double ratio = 0.0;
  if (status == SAP_STATUS_OK) {
    status = read_scalar(r, node, "dampratio", true, &ratio, &given);
  }
  if (status == SAP_STATUS_OK && given) {
    if (has_kv && kv > 0.0 && ratio > 0.0) {
      return sap_xml_fail(node, "dampratio", SAP_STATUS_SYNTAX, r->error, "not together with 'kv'");
    }
    l->damping_ratio = ratio;
    l->bias[2] = 0.0;
  }
  if (status == SAP_STATUS_OK) {
    status = read_scalar(r, node, "inheritrange", true, &l->inherit_range, &given);
  }
  l->gain_type = 0;
  l->bias_type = 1;
  return status;
}

static sap_status apply_velocity(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double kv = l->gain[0];
  bool given;
  const sap_status status = read_scalar(r, node, "kv", true, &kv, &given);
  *l = (law){.gain = {kv}, .bias = {0.0, 0.0, -kv}, .bias_type = 1};
  return status;
}

static sap_status apply_general(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  sap_status status = SAP_STATUS_OK;
  double gain[10] = {0.0}, bias[10] = {0.0};
  memcpy(gain, l->gain, sizeof l->gain);
  memcpy(bias, l->bias, sizeof l->bias);
  if (sap_xml_get(node, "gaintype") != NULL) {
    status = sap_xml_choice(node, "gaintype", "fixed affine muscle user", &l->gain_type, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "biastype") != NULL) {
    status = sap_xml_choice(node, "biastype", "none affine muscle user", &l->bias_type, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "dyntype") != NULL) {
    status = sap_xml_choice(node, "dyntype", "none integrator filter filterexact muscle user",
                            &l->dynamics, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "gainprm") != NULL) {
    status = sap_xml_numbers(node, "gainprm", 1, 10, gain, NULL, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "biasprm") != NULL) {
    status = sap_xml_numbers(node, "biasprm", 1, 10, bias, NULL, r->error);
    l->damping_ratio = 0.0;
  }
  memcpy(l->gain, gain, sizeof l->gain);
  memcpy(l->bias, bias, sizeof l->bias);
  return status;
}

// What the element and its defaults make of the law, outermost first.
static sap_status read_law(sap_mjcf_reader* r, const sap_mjcf_sources* s, law* l) {
  *l = (law){.gain = {default_gain}};
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; i < s->count && status == SAP_STATUS_OK; ++i) {
    const sap_xml_node* node = s->nodes[i];
    if (sap_xml_is(node, "position")) {
      status = apply_position(r, node, l);
    } else if (sap_xml_is(node, "velocity")) {
      status = apply_velocity(r, node, l);
    } else if (sap_xml_is(node, "motor")) {
      *l = (law){.gain = {1.0}};
    } else if (sap_xml_is(node, "general")) {
      status = apply_general(r, node, l);
    }
  }
  return status;
}

// NULL, or why the law is beyond this engine.
static const char* why_not(const law* l) {
  if (l->gain_type != 0) {
    return "only gaintype fixed is supported";
  }
  if (l->bias_type > 1) {
    return "only biastype none and affine are supported";
  }
  return l->dynamics != 0 ? "actuators with an activation state are not supported" : NULL;
}

// The control's range from the target's.
static sap_status inherit_range(sap_mjcf_reader* r, const sap_xml_node* node, const law* l,
                                sap_actuator_def* def) {
  if (def->transmission == SAP_TRANSMISSION_SLIDER_CRANK) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "inheritrange is for joints and tendons");
  }
  const bool on_joint = def->transmission == SAP_TRANSMISSION_JOINT;
  const double* range =
      on_joint ? r->joints[def->target].range : r->tendon_ranges[def->target].range;
  if (isfinite(def->control_lower)) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "has both ctrlrange and inheritrange");
  }
  if (!isfinite(range[0]) || !isfinite(range[1])) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "inheritrange, but its joint or tendon has no range");
  }
  const double mean = 0.5 * (range[0] + range[1]);
  const double half = 0.5 * (range[1] - range[0]) * l->inherit_range;
  def->control_lower = mean - half;
  def->control_upper = mean + half;
  return SAP_STATUS_OK;
}

static sap_status read_ranges(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                              const sap_mjcf_scope* scope, sap_actuator_def* def) {
  double gear[6] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  sap_mjcf_range control = {"ctrlrange", "ctrllimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_mjcf_range force = {"forcerange", "forcelimited", 1.0, -(double)INFINITY, (double)INFINITY};
  sap_status status = sap_mjcf_numbers(r, s, "gear", (const int32_t[]){1, 6}, gear, NULL);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, s, scope, &control);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_read_range(r, s, scope, &force);
  }
  def->gear = gear[0];
  def->control_lower = control.lower;
  def->control_upper = control.upper;
  def->force_lower = force.lower;
  def->force_upper = force.upper;
  return status;
}

// *why: NULL, or why the element is left out.
static sap_status read_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                sap_actuator_def* def, const char** why) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  law l = {0};
  sap_status status = sap_mjcf_find_sources(r, i->node, "motor", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = read_law(r, &s, &l);
  }
  if (status == SAP_STATUS_OK) {
    status = read_ranges(r, &s, &scope, def);
  }
  *why = why_not(&l);
  if (status == SAP_STATUS_OK && l.inherit_range > 0.0) {
    status = inherit_range(r, i->node, &l, def);
  }
  def->gain = l.gain[0];
  if (l.bias_type == 1) {
    memcpy(def->bias, l.bias, sizeof def->bias);
    def->damping_ratio = l.damping_ratio;
    if (l.bias[2] > 0.0 && l.bias[1] == -l.gain[0]) {  // so MuJoCo reads a position servo's
      def->damping_ratio = l.bias[2];
      def->bias[2] = 0.0;
    }
  }
  return status == SAP_STATUS_OK
             ? sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def->name)
             : status;
}

// Joint or tendon; NULL, or why not.
static const char* find_target(const sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_actuator_def* def) {
  const bool crank = sap_xml_get(i->node, "cranksite") != NULL;
  const bool joint =
      sap_xml_get(i->node, "joint") != NULL || sap_xml_get(i->node, "jointinparent") != NULL;
  if (sap_word_index(other_kinds, i->node->name) >= 0) {
    return "this kind of actuator is not supported";
  }
  if (!joint && !crank && sap_xml_get(i->node, "tendon") == NULL) {
    return "only actuators on joints, tendons and slider-cranks are supported";
  }
  if (crank) {
    def->transmission = SAP_TRANSMISSION_SLIDER_CRANK;
    return NULL;
  }
  def->transmission = joint ? SAP_TRANSMISSION_JOINT : SAP_TRANSMISSION_TENDON;
  def->target = i->ids[0];
  if (def->target == SAP_MJCF_LEFT_OUT) {
    return "what it acts on was left out";
  }
  const sap_joint_type type = joint ? r->joints[def->target].type : SAP_JOINT_HINGE;
  return type == SAP_JOINT_FREE || type == SAP_JOINT_BALL
             ? "actuators on free and ball joints are not supported"
             : NULL;
}

// The crank's site and the slider's, whose z is the axis.
static sap_status read_crank(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                             sap_actuator_def* def) {
  static const double z[3] = {0.0, 0.0, 1.0};
  if (sap_xml_get(i->node, "slidersite") == NULL || sap_xml_get(i->node, "cranklength") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "a cranksite needs slidersite and cranklength");
  }
  if (sap_xml_get(i->node, "joint") != NULL || sap_xml_get(i->node, "jointinparent") != NULL ||
      sap_xml_get(i->node, "tendon") != NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "must act on one of joint, tendon and cranksite");
  }
  const sap_mjcf_site *crank = &r->sites[i->ids[0]], *slider = &r->sites[i->ids[1]];
  def->crank_body = crank->body;
  def->slider_body = slider->body;
  memcpy(def->crank_point, crank->pose.p, sizeof def->crank_point);
  memcpy(def->slider_point, slider->pose.p, sizeof def->slider_point);
  sap_quaternion_rotate(def->slider_axis, slider->pose.q, z);
  return sap_xml_numbers(i->node, "cranklength", 1, 1, &def->crank_length, NULL, r->error);
}

sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  int32_t id = -1;
  sap_status status = SAP_GROW(&r->controls, &r->control_capacity, r->control_count + 1, r->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_actuator_def def = sap_actuator_def_default();
  const char* why = find_target(r, i, &def);
  if (why == NULL && def.transmission == SAP_TRANSMISSION_SLIDER_CRANK) {
    status = read_crank(r, i, &def);
  }
  if (status == SAP_STATUS_OK && why == NULL) {
    status = read_actuator(r, i, &def, &why);
  }
  if (status == SAP_STATUS_OK && why != NULL) {
    status = sap_scene_unsupported(r->options, i->node, NULL, why, r->error);
  } else if (status == SAP_STATUS_OK) {
    status = sap_mjcf_locate(r, i->node, sap_builder_add_actuator(r->builder, &def, &id, r->error));
  }
  r->controls[r->control_count++] =
      (sap_mjcf_control){.node = i->node, .space = i->space, .id = id};
  return status;
}
