// SPDX-License-Identifier: BSD-3-Clause
// Laws of actuators, with defaults as MuJoCo 4 takes them:
//   force = gain u + bias,  gain, bias = prm . (1, length, rate) if affine, or a muscle's
#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf_actuator.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"

typedef sap_mjcf_actuator_law law;

static const double circle = 3.14159265358979323846;

static sap_status apply_damping(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double kv = 0.0, ratio = 0.0;
  const bool has_kv = sap_xml_get(node, "kv") != NULL;
  sap_status status = sap_xml_nonnegative(node, "kv", &kv, r->error);
  if (status == SAP_STATUS_OK && has_kv) {
    l->bias[2] = -kv;
    l->damping_ratio = 0.0;
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_nonnegative(node, "dampratio", &ratio, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "dampratio") != NULL) {
    if (kv > 0.0 && ratio > 0.0) {
      return sap_xml_fail(node, "dampratio", SAP_STATUS_SYNTAX, r->error, "not together with 'kv'");
    }
    l->damping_ratio = ratio;
    l->bias[2] = 0.0;
  }
  return status;
}

// Position servos, of the control or of its integral.
static sap_status apply_position(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double kp = l->gain_type == SAP_MJCF_FIXED ? l->gain[0] : 1.0, time = 0.0;
  const bool integrates = sap_xml_is(node, "intvelocity");
  sap_status status = sap_xml_nonnegative(node, "kp", &kp, r->error);
  l->gain[0] = kp;
  l->gain[1] = l->gain[2] = l->bias[0] = 0.0;
  l->bias[1] = -kp;
  if (status == SAP_STATUS_OK) {
    status = apply_damping(r, node, l);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_nonnegative(node, "inheritrange", &l->inherit_range, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_nonnegative(node, "timeconst", &time, r->error);
  }
  if (integrates) {
    l->activation = SAP_ACTIVATION_INTEGRATOR;
    l->inherit_activation = true;
  } else if (sap_xml_get(node, "timeconst") != NULL) {
    l->activation = time > 0.0 ? SAP_ACTIVATION_FILTER_EXACT : SAP_ACTIVATION_NONE;
    l->time[0] = time;
  } else if (l->activation != SAP_ACTIVATION_FILTER_EXACT) {
    l->activation = SAP_ACTIVATION_NONE;
  }
  l->gain_type = SAP_MJCF_FIXED;
  l->bias_type = SAP_MJCF_AFFINE;
  return status;
}

static sap_status apply_velocity(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double kv = l->gain_type == SAP_MJCF_FIXED ? l->gain[0] : 1.0;
  const sap_status status = sap_xml_nonnegative(node, "kv", &kv, r->error);
  memset(l->bias, 0, sizeof l->bias);
  l->gain[0] = kv;
  l->gain[1] = l->gain[2] = 0.0;
  l->bias[2] = -kv;
  l->damping_ratio = 0.0;
  l->gain_type = SAP_MJCF_FIXED;
  l->bias_type = SAP_MJCF_AFFINE;
  l->activation = SAP_ACTIVATION_NONE;
  return status;
}

// The control is the damping.
static sap_status apply_damper(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double kv = -l->gain[2];
  const sap_status status = sap_xml_nonnegative(node, "kv", &kv, r->error);
  *l = (law){.gain = {0.0, 0.0, -kv}, .gain_type = SAP_MJCF_AFFINE};
  return status;
}

static sap_status apply_adhesion(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double gain = l->gain[0];
  const sap_status status = sap_xml_nonnegative(node, "gain", &gain, r->error);
  *l = (law){.gain = {gain}, .time = {1.0}, .activation_count = -1};
  return status;
}

static sap_status apply_cylinder(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double area = l->gain[0], diameter = 0.0;
  sap_status status = sap_xml_nonnegative(node, "timeconst", &l->time[0], r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "area", 1, 1, &area, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "diameter", 1, 1, &diameter, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "bias", 3, 3, l->bias, r->error);
  }
  const bool has_diameter = sap_xml_get(node, "diameter") != NULL;
  l->gain[0] = has_diameter ? 0.25 * circle * diameter * diameter : area;
  l->gain_type = SAP_MJCF_FIXED;
  l->bias_type = SAP_MJCF_AFFINE;
  l->activation = SAP_ACTIVATION_FILTER;
  return status;
}

// MuJoCo's nine parameters of a muscle.
enum { RANGE_LOW, RANGE_HIGH, FORCE, SCALE, LMIN, LMAX, VMAX, FPMAX, FVMAX, MUSCLE_COUNT };

static void from_muscle(const sap_muscle* m, double p[MUSCLE_COUNT]) {
  const double all[] = {m->range[0], m->range[1], m->force, m->scale, m->lmin,
                        m->lmax,     m->vmax,     m->fpmax, m->fvmax};
  memcpy(p, all, sizeof all);
}

static sap_muscle to_muscle(const double p[MUSCLE_COUNT]) {
  return (sap_muscle){.range = {p[RANGE_LOW], p[RANGE_HIGH]},
                      .force = p[FORCE],
                      .scale = p[SCALE],
                      .lmin = p[LMIN],
                      .lmax = p[LMAX],
                      .vmax = p[VMAX],
                      .fpmax = p[FPMAX],
                      .fvmax = p[FVMAX]};
}

// Two times, then the width of a smooth passage between them.
static sap_status read_muscle_times(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  sap_status status = sap_xml_optional(node, "timeconst", 2, 2, l->time, r->error);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "tausmooth", 1, 1, &l->time[2], r->error);
  }
  for (int k = 0; k < 3 && status == SAP_STATUS_OK; ++k) {
    if (!(l->time[k] >= 0.0)) {
      return sap_xml_fail(node, k < 2 ? "timeconst" : "tausmooth", SAP_STATUS_SYNTAX, r->error,
                          "must be >= 0");
    }
  }
  return status;
}

static sap_status apply_muscle(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  static const char* const names[MUSCLE_COUNT] = {
      [FORCE] = "force", [SCALE] = "scale", [LMIN] = "lmin",  [LMAX] = "lmax",
      [VMAX] = "vmax",   [FPMAX] = "fpmax", [FVMAX] = "fvmax"};
  if (l->gain_type != SAP_MJCF_MUSCLE) {  // nothing of a muscle yet
    const sap_muscle usual = sap_muscle_default();
    from_muscle(&usual, l->gain);
    memcpy(l->time, (const double[]){0.01, 0.04, 0.0}, sizeof l->time);
  }
  sap_status status = read_muscle_times(r, node, l);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "range", 2, 2, l->gain, r->error);
  }
  for (int k = FORCE; k < MUSCLE_COUNT && status == SAP_STATUS_OK; ++k) {
    status = sap_xml_optional(node, names[k], 1, 1, &l->gain[k], r->error);
  }
  memcpy(l->bias, l->gain, sizeof l->bias);
  l->gain_type = l->bias_type = SAP_MJCF_MUSCLE;
  l->activation = SAP_ACTIVATION_MUSCLE;
  return status;
}

static sap_status read_types(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  static const sap_activation activations[] = {SAP_ACTIVATION_NONE,   SAP_ACTIVATION_INTEGRATOR,
                                               SAP_ACTIVATION_FILTER, SAP_ACTIVATION_FILTER_EXACT,
                                               SAP_ACTIVATION_MUSCLE, SAP_ACTIVATION_NONE};
  enum { USER = 5 };
  sap_status status = SAP_STATUS_OK;
  if (sap_xml_get(node, "gaintype") != NULL) {
    status = sap_xml_choice(node, "gaintype", "fixed affine muscle user", &l->gain_type, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "biastype") != NULL) {
    int32_t type = 0;
    status = sap_xml_choice(node, "biastype", "none affine muscle user", &type, r->error);
    l->bias_type = type;
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "dyntype") != NULL) {
    int32_t type = 0;
    status = sap_xml_choice(node, "dyntype", "none integrator filter filterexact muscle user",
                            &type, r->error);
    l->activation = activations[status == SAP_STATUS_OK ? type : 0];
    l->user_dynamics = type == USER;
  }
  return status;
}

static sap_status apply_general(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  double time[10] = {l->time[0], l->time[1], l->time[2]};
  sap_status status = read_types(r, node, l);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "gainprm", 1, 10, l->gain, r->error);
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, "biasprm") != NULL) {
    status = sap_xml_numbers(node, "biasprm", 1, 10, l->bias, NULL, r->error);
    l->damping_ratio = 0.0;
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(node, "dynprm", 1, 10, time, r->error);
  }
  memcpy(l->time, time, sizeof l->time);
  if (status == SAP_STATUS_OK && sap_xml_get(node, "actdim") != NULL) {
    status = sap_xml_integer(node, "actdim", &l->activation_count, r->error);
  }
  return status;
}

sap_status sap_mjcf_apply_element(sap_mjcf_reader* r, const sap_xml_node* node, law* l) {
  if (sap_xml_is(node, "position") || sap_xml_is(node, "intvelocity")) {
    return apply_position(r, node, l);
  }
  if (sap_xml_is(node, "velocity")) {
    return apply_velocity(r, node, l);
  }
  if (sap_xml_is(node, "damper")) {
    return apply_damper(r, node, l);
  }
  if (sap_xml_is(node, "adhesion")) {
    return apply_adhesion(r, node, l);
  }
  if (sap_xml_is(node, "cylinder")) {
    return apply_cylinder(r, node, l);
  }
  if (sap_xml_is(node, "muscle")) {
    return apply_muscle(r, node, l);
  }
  if (sap_xml_is(node, "dcmotor")) {
    return sap_mjcf_apply_dcmotor(r, node, l);
  }
  return sap_xml_is(node, "general") ? apply_general(r, node, l) : SAP_STATUS_OK;
}

const char* sap_mjcf_law_unsupported(const law* l) {
  if (l->gain_type > SAP_MJCF_MUSCLE || l->bias_type > SAP_MJCF_MUSCLE || l->user_dynamics) {
    return "gain, bias and dynamics of type user are not supported";
  }
  if (l->gain_type == SAP_MJCF_MUSCLE && l->bias_type == SAP_MJCF_MUSCLE &&
      memcmp(l->gain, l->bias, MUSCLE_COUNT * sizeof(double)) != 0) {
    return "a muscle whose gain and bias have different parameters is not supported";
  }
  return l->activation_count > 1 ? "more than one activation per actuator is not supported" : NULL;
}

void sap_mjcf_apply_law(const law* l, sap_actuator_def* def) {
  const double* p = l->gain_type == SAP_MJCF_MUSCLE ? l->gain : l->bias;
  def->muscle_gain = l->gain_type == SAP_MJCF_MUSCLE;
  def->muscle_bias = l->bias_type == SAP_MJCF_MUSCLE;
  if (def->muscle_gain || def->muscle_bias) {
    def->muscle = to_muscle(p);
  }
  if (!def->muscle_gain) {
    def->gain = l->gain[0];
  }
  if (l->gain_type == SAP_MJCF_AFFINE) {
    memcpy(def->gain_slope, l->gain + 1, sizeof def->gain_slope);
  }
  if (l->bias_type == SAP_MJCF_AFFINE) {
    memcpy(def->bias, l->bias, sizeof def->bias);
    def->damping_ratio = l->damping_ratio;
    if (l->bias[2] > 0.0 && l->bias[1] == -l->gain[0]) {  // so MuJoCo reads a position servo's
      def->damping_ratio = l->bias[2];
      def->bias[2] = 0.0;
    }
  }
  if (l->force_limit > 0.0) {
    def->force_lower = fmax(def->force_lower, -l->force_limit);
    def->force_upper = fmin(def->force_upper, l->force_limit);
  }
  def->activation = l->activation;
  memcpy(def->activation_time, l->time, sizeof def->activation_time);
}
