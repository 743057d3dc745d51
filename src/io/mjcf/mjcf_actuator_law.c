// SPDX-License-Identifier: BSD-3-Clause
// Laws of actuators, with defaults as MuJoCo 4 applies them.
#include "io/mjcf/mjcf_actuator_law.h"

#include <math.h>
#include <string.h>

#include "io/xml/schema.h"

typedef sap_mjcf_actuator_law law;

static const double pi = 3.14159265358979323846;

static void set_types(law* l, int32_t gain, int32_t bias, sap_activation activation) {
  l->gain_type = gain;
  l->bias_type = bias;
  l->activation = activation;
}

// --- servos -------------------------------------------------------------------------------------

static sap_status apply_damping(const sap_xml_node* node, law* l, sap_error* error) {
  double kv = 0.0, ratio = 0.0;
  SAP_TRY(sap_xml_nonnegative(node, "kv", &kv, error));
  SAP_TRY(sap_xml_nonnegative(node, "dampratio", &ratio, error));
  if (sap_xml_get(node, "kv") != NULL) {
    l->bias[2] = -kv;
    l->damping_ratio = 0.0;
  }
  if (sap_xml_get(node, "dampratio") != NULL) {
    if (kv > 0.0 && ratio > 0.0) {
      return sap_xml_syntax(node, "dampratio", error, "not together with 'kv'");
    }
    l->damping_ratio = ratio;
    l->bias[2] = 0.0;
  }
  return SAP_STATUS_OK;
}

// Position servos, of the control or of its integral.
static sap_status apply_position(const sap_xml_node* node, law* l, sap_error* error) {
  double kp = l->gain_type == SAP_MJCF_FIXED ? l->gain[0] : 1.0, time = 0.0;
  sap_activation activation =
      l->activation == SAP_ACTIVATION_FILTER_EXACT ? l->activation : SAP_ACTIVATION_NONE;
  SAP_TRY(sap_xml_nonnegative(node, "kp", &kp, error));
  l->gain[0] = kp;
  l->gain[1] = l->gain[2] = l->bias[0] = 0.0;
  l->bias[1] = -kp;
  SAP_TRY(apply_damping(node, l, error));
  SAP_TRY(sap_xml_nonnegative(node, "inheritrange", &l->inherit_range, error));
  SAP_TRY(sap_xml_nonnegative(node, "timeconst", &time, error));
  if (sap_xml_is(node, "intvelocity")) {
    activation = SAP_ACTIVATION_INTEGRATOR;
    l->inherit_activation = true;
  } else if (sap_xml_get(node, "timeconst") != NULL) {
    activation = time > 0.0 ? SAP_ACTIVATION_FILTER_EXACT : SAP_ACTIVATION_NONE;
    l->time[0] = time;
  }
  set_types(l, SAP_MJCF_FIXED, SAP_MJCF_AFFINE, activation);
  return SAP_STATUS_OK;
}

static sap_status apply_velocity(const sap_xml_node* node, law* l, sap_error* error) {
  double kv = l->gain_type == SAP_MJCF_FIXED ? l->gain[0] : 1.0;
  SAP_TRY(sap_xml_nonnegative(node, "kv", &kv, error));
  memset(l->bias, 0, sizeof l->bias);
  l->gain[0] = kv;
  l->gain[1] = l->gain[2] = 0.0;
  l->bias[2] = -kv;
  l->damping_ratio = 0.0;
  set_types(l, SAP_MJCF_FIXED, SAP_MJCF_AFFINE, SAP_ACTIVATION_NONE);
  return SAP_STATUS_OK;
}

// The control is the damping.
static sap_status apply_damper(const sap_xml_node* node, law* l, sap_error* error) {
  double kv = -l->gain[2];
  SAP_TRY(sap_xml_nonnegative(node, "kv", &kv, error));
  *l = (law){.gain = {0.0, 0.0, -kv}, .gain_type = SAP_MJCF_AFFINE};
  return SAP_STATUS_OK;
}

static sap_status apply_adhesion(const sap_xml_node* node, law* l, sap_error* error) {
  double gain = l->gain[0];
  SAP_TRY(sap_xml_nonnegative(node, "gain", &gain, error));
  *l = (law){.gain = {gain}, .time = {1.0}, .activation_count = -1};
  return SAP_STATUS_OK;
}

static sap_status apply_cylinder(const sap_xml_node* node, law* l, sap_error* error) {
  double diameter = 0.0;
  SAP_TRY(sap_xml_nonnegative(node, "timeconst", &l->time[0], error));
  SAP_TRY(sap_xml_optional(node, "area", 1, 1, &l->gain[0], error));
  SAP_TRY(sap_xml_optional(node, "diameter", 1, 1, &diameter, error));
  SAP_TRY(sap_xml_optional(node, "bias", 3, 3, l->bias, error));
  if (sap_xml_get(node, "diameter") != NULL) {
    l->gain[0] = 0.25 * pi * diameter * diameter;
  }
  set_types(l, SAP_MJCF_FIXED, SAP_MJCF_AFFINE, SAP_ACTIVATION_FILTER);
  return SAP_STATUS_OK;
}

// --- muscles ------------------------------------------------------------------------------------

// MuJoCo's nine parameters of a muscle, in gain and bias.
typedef struct muscle_parameters {
  double range[2], force, scale, lmin, lmax, vmax, fpmax, fvmax;
} muscle_parameters;
enum { MUSCLE_COUNT = sizeof(muscle_parameters) / sizeof(double) };

static sap_status apply_muscle(const sap_xml_node* node, law* l, sap_error* error) {
#define PARAMETER(member) SAP_XML_NUMBER(muscle_parameters, member, #member, ANY)
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(muscle_parameters, range, "range", ANY, 2, 2),
      PARAMETER(force),
      PARAMETER(scale),
      PARAMETER(lmin),
      PARAMETER(lmax),
      PARAMETER(vmax),
      PARAMETER(fpmax),
      PARAMETER(fvmax),
      {0},
  };
#undef PARAMETER
  // Two times, then the width of the smooth transition between them.
  static const sap_xml_field time_fields[] = {
      {"timeconst", SAP_XML_NONNEGATIVE, 2, 2, 0},
      {"tausmooth", SAP_XML_NONNEGATIVE, 1, 1, 2 * sizeof(double)},
      {0},
  };
  muscle_parameters p;
  if (l->gain_type != SAP_MJCF_MUSCLE) {  // no class has set a muscle
    const sap_muscle m = sap_muscle_default();
    p = (muscle_parameters){
        {m.range[0], m.range[1]}, m.force, m.scale, m.lmin, m.lmax, m.vmax, m.fpmax, m.fvmax};
    memcpy(l->time, (const double[]){0.01, 0.04, 0.0}, sizeof l->time);
  } else {
    memcpy(&p, l->gain, sizeof p);
  }
  SAP_TRY(sap_xml_read_fields(node, time_fields, l->time, error));
  SAP_TRY(sap_xml_read_fields(node, fields, &p, error));
  memcpy(l->gain, &p, sizeof p);
  memcpy(l->bias, l->gain, sizeof l->bias);
  set_types(l, SAP_MJCF_MUSCLE, SAP_MJCF_MUSCLE, SAP_ACTIVATION_MUSCLE);
  return SAP_STATUS_OK;
}

// --- DC motors ----------------------------------------------------------------------------------

// <dcmotor>, driven by its voltage u, with constant K [N m/A] = [V s/rad] and resistance R [ohm]:
//   force = K (u - K rate)/R
// K is the geometric mean of the torque's and the voltage's constants (motorconst; the second also
// as nominal voltage over speed), or the one that is given. R is given, or follows from the stall
// torque at the nominal voltage. saturation bounds the force, directly and by the current; its
// third number is for motors with inductance, which are not supported, nor are cogging and other
// motors with a state.
static sap_status apply_dcmotor(const sap_xml_node* node, law* l, sap_error* error) {
  typedef struct motor {
    double constants[2], resistance, nominal[3], saturation[3];
  } motor;
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(motor, constants, "motorconst", NONNEGATIVE, 1, 2),
      SAP_XML_FIELD(motor, resistance, "resistance", NONNEGATIVE, 1, 1),
      SAP_XML_FIELD(motor, nominal, "nominal", NONNEGATIVE, 1, 3),
      SAP_XML_FIELD(motor, saturation, "saturation", NONNEGATIVE, 1, 3),
      {0},
  };
  motor m = {.resistance = l->motor_resistance};
  SAP_TRY(sap_xml_read_fields(node, fields, &m, error));
  const double voltage = m.nominal[0], torque = m.nominal[1], speed = m.nominal[2];
  const double of_torque = m.constants[0];
  const double of_voltage =
      m.constants[1] > 0.0 || !(speed > 0.0) ? m.constants[1] : voltage / speed;
  const double K = of_torque > 0.0 && of_voltage > 0.0 ? sqrt(of_torque * of_voltage)
                   : of_torque + of_voltage > 0.0      ? of_torque + of_voltage
                                                       : l->motor_constant;
  const double R = m.resistance > 0.0 || !(torque > 0.0) ? m.resistance : K * voltage / torque;
  if (!(K > 0.0) || !(R > 0.0) || !isfinite(K / R) || !isfinite(K * K / R)) {
    return sap_xml_syntax(node, NULL, error,
                          "its constant (motorconst or nominal) = %g and resistance = %g must be "
                          "> 0",
                          K, R);
  }
  l->motor_constant = K;
  l->motor_resistance = R;
  l->gain[0] = K / R;
  l->bias[0] = l->bias[1] = 0.0;
  l->bias[2] = -K * K / R;
  set_types(l, SAP_MJCF_FIXED, SAP_MJCF_AFFINE, SAP_ACTIVATION_NONE);
  for (int i = 0; i < 2; ++i) {
    const double bound = i == 0 ? m.saturation[0] : K * m.saturation[1];
    if (bound > 0.0) {
      l->force_limit = l->force_limit > 0.0 ? fmin(l->force_limit, bound) : bound;
    }
  }
  return SAP_STATUS_OK;
}

// --- general ------------------------------------------------------------------------------------

static sap_status apply_general(const sap_xml_node* node, law* l, sap_error* error) {
  static const sap_activation activations[] = {SAP_ACTIVATION_NONE,   SAP_ACTIVATION_INTEGRATOR,
                                               SAP_ACTIVATION_FILTER, SAP_ACTIVATION_FILTER_EXACT,
                                               SAP_ACTIVATION_MUSCLE, SAP_ACTIVATION_NONE};
  enum { USER = 5 };
  double time[10] = {l->time[0], l->time[1], l->time[2]};
  SAP_TRY(sap_xml_choice(node, "gaintype", "fixed affine muscle user", &l->gain_type, error));
  SAP_TRY(sap_xml_choice(node, "biastype", "none affine muscle user", &l->bias_type, error));
  if (sap_xml_get(node, "dyntype") != NULL) {
    int32_t type = 0;
    SAP_TRY(sap_xml_choice(node, "dyntype", "none integrator filter filterexact muscle user", &type,
                           error));
    l->activation = activations[type];
    l->user_dynamics = type == USER;
  }
  SAP_TRY(sap_xml_optional(node, "gainprm", 1, 10, l->gain, error));
  SAP_TRY(sap_xml_optional(node, "biasprm", 1, 10, l->bias, error));
  SAP_TRY(sap_xml_optional(node, "dynprm", 1, 10, time, error));
  SAP_TRY(sap_xml_integer(node, "actdim", &l->activation_count, error));
  if (sap_xml_get(node, "biasprm") != NULL) {
    l->damping_ratio = 0.0;
  }
  memcpy(l->time, time, sizeof l->time);
  return SAP_STATUS_OK;
}

// Applies one element to the law of those before it.
static sap_status apply_element(const sap_xml_node* node, law* l, sap_error* error) {
  static const struct {
    const char* element;
    sap_status (*apply)(const sap_xml_node* node, law* l, sap_error* error);
  } kinds[] = {
      {"position", apply_position}, {"intvelocity", apply_position}, {"velocity", apply_velocity},
      {"damper", apply_damper},     {"adhesion", apply_adhesion},    {"cylinder", apply_cylinder},
      {"muscle", apply_muscle},     {"dcmotor", apply_dcmotor},      {"general", apply_general}};
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; ++k) {
    if (sap_xml_is(node, kinds[k].element)) {
      return kinds[k].apply(node, l, error);
    }
  }
  return SAP_STATUS_OK;
}

// --- defaults -----------------------------------------------------------------------------------

static bool is_general(const sap_xml_node* node) {
  return sap_xml_is(node, "general");
}

// A class holds the law of the kind that it names last; <general> continues a law of any kind. So
// an element of some kind, or a class that begins with it, builds on the nearest class that holds
// its own kind or <general>.
static bool builds_on(const sap_mjcf_sources* s, int32_t last, const char* kind) {
  return strcmp(kind, "general") == 0 || is_general(s->nodes[last]) ||
         sap_xml_is(s->nodes[last], kind);
}

// used[i]: source i contributes to the element's law.
static void find_used(const sap_mjcf_sources* s, bool* used) {
  const int32_t element = s->count - 1;
  const char* kind = s->nodes[element]->name;
  used[element] = true;
  for (int32_t last = element - 1; last >= 0;) {
    int32_t first = last;
    while (first > 0 && s->nodes[first - 1]->parent == s->nodes[last]->parent) {
      --first;
    }
    const bool use = builds_on(s, last, kind);
    for (int32_t i = first; i <= last; ++i) {
      used[i] = use;
    }
    kind = use ? s->nodes[first]->name : kind;
    last = first - 1;
  }
}

sap_status sap_mjcf_read_law(const sap_mjcf_sources* s, law* l) {
  // MuJoCo's, before any default.
  const law none = {.gain = {1.0}, .time = {1.0}, .activation_count = -1};
  bool used[SAP_MJCF_MAX_SOURCES];
  const sap_xml_node* before = NULL;
  find_used(s, used);
  *l = none;
  for (int32_t i = 0; i < s->count; ++i) {
    const sap_xml_node* node = s->nodes[i];
    if (!used[i]) {
      continue;
    }
    const bool other = before != NULL && !is_general(before) && !sap_xml_is(before, node->name);
    if (sap_xml_is(node, "motor") || (other && !is_general(node))) {
      *l = none;  // a kind inherits nothing from another kind
    }
    SAP_TRY(apply_element(node, l, s->r->error));
    before = node;
  }
  return SAP_STATUS_OK;
}

// --- use ----------------------------------------------------------------------------------------

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
  def->muscle_gain = l->gain_type == SAP_MJCF_MUSCLE;
  def->muscle_bias = l->bias_type == SAP_MJCF_MUSCLE;
  if (def->muscle_gain || def->muscle_bias) {
    muscle_parameters p;
    memcpy(&p, def->muscle_gain ? l->gain : l->bias, sizeof p);
    def->muscle = (sap_muscle){.range = {p.range[0], p.range[1]},
                               .force = p.force,
                               .scale = p.scale,
                               .lmin = p.lmin,
                               .lmax = p.lmax,
                               .vmax = p.vmax,
                               .fpmax = p.fpmax,
                               .fvmax = p.fvmax};
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
    if (l->bias[2] > 0.0 && l->bias[1] == -l->gain[0]) {  // MuJoCo's encoding of a damping ratio
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
