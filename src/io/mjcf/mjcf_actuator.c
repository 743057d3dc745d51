// SPDX-License-Identifier: BSD-3-Clause
// <actuator>: forces on joints, tendons, slider-cranks, sites and, by adhesion, bodies. The law of
// an actuator, with defaults as MuJoCo 4 applies them:
//   force = gain u + bias,   gain, bias = prm . (1, length, rate) if affine, or a muscle's
#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"
#include "math/scalar.h"

// gaintype; biastype with none in the place of fixed.
enum { LAW_FIXED, LAW_AFFINE, LAW_MUSCLE, LAW_USER };

typedef struct law {
  int32_t gain_type, bias_type;
  double gain[10], bias[10];  // bias[2] > 0 in MuJoCo's files: a damping ratio
  double time[3];             // dynprm
  sap_activation activation;
  bool user_dynamics;
  int32_t activation_count;  // actdim, -1: by the law
  double damping_ratio, inherit_range;
  bool inherit_activation;  // inheritrange sets the range of the activation, not of the control
} law;

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
    SAP_RETURN_IF(kv > 0.0 && ratio > 0.0,
                  sap_xml_syntax(node, "dampratio", error, "not together with 'kv'"));
    l->damping_ratio = ratio;
    l->bias[2] = 0.0;
  }
  return SAP_STATUS_OK;
}

// Position servos, of the control or of its integral.
static sap_status apply_position(const sap_xml_node* node, law* l, sap_error* error) {
  double kp = l->gain_type == LAW_FIXED ? l->gain[0] : 1.0, time = 0.0;
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
  set_types(l, LAW_FIXED, LAW_AFFINE, activation);
  return SAP_STATUS_OK;
}

static sap_status apply_velocity(const sap_xml_node* node, law* l, sap_error* error) {
  double kv = l->gain_type == LAW_FIXED ? l->gain[0] : 1.0;
  SAP_TRY(sap_xml_nonnegative(node, "kv", &kv, error));
  memset(l->bias, 0, sizeof l->bias);
  l->gain[0] = kv;
  l->gain[1] = l->gain[2] = 0.0;
  l->bias[2] = -kv;
  l->damping_ratio = 0.0;
  set_types(l, LAW_FIXED, LAW_AFFINE, SAP_ACTIVATION_NONE);
  return SAP_STATUS_OK;
}

// The control is the damping.
static sap_status apply_damper(const sap_xml_node* node, law* l, sap_error* error) {
  double kv = -l->gain[2];
  SAP_TRY(sap_xml_nonnegative(node, "kv", &kv, error));
  *l = (law){.gain = {0.0, 0.0, -kv}, .gain_type = LAW_AFFINE};
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
    l->gain[0] = 0.25 * SAP_PI * diameter * diameter;
  }
  set_types(l, LAW_FIXED, LAW_AFFINE, SAP_ACTIVATION_FILTER);
  return SAP_STATUS_OK;
}

// --- muscles ------------------------------------------------------------------------------------

// sap_muscle has MuJoCo's nine parameters in their order in gain and bias.
enum { MUSCLE_COUNT = sizeof(sap_muscle) / sizeof(double) };

static sap_status apply_muscle(const sap_xml_node* node, law* l, sap_error* error) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_muscle, range, "range", ANY, 2, 2),
      SAP_XML_NUMBER(sap_muscle, force, "force", ANY),
      SAP_XML_NUMBER(sap_muscle, scale, "scale", ANY),
      SAP_XML_NUMBER(sap_muscle, lmin, "lmin", ANY),
      SAP_XML_NUMBER(sap_muscle, lmax, "lmax", ANY),
      SAP_XML_NUMBER(sap_muscle, vmax, "vmax", ANY),
      SAP_XML_NUMBER(sap_muscle, fpmax, "fpmax", ANY),
      SAP_XML_NUMBER(sap_muscle, fvmax, "fvmax", ANY),
      {0},
  };
  // Two times, then the width of the smooth transition between them.
  static const sap_xml_field time_fields[] = {
      {"timeconst", SAP_XML_NONNEGATIVE, 2, 2, 0},
      {"tausmooth", SAP_XML_NONNEGATIVE, 1, 1, 2 * sizeof(double)},
      {0},
  };
  sap_muscle p = sap_muscle_default();
  if (l->gain_type == LAW_MUSCLE) {
    memcpy(&p, l->gain, sizeof p);
  } else {  // no class has set a muscle
    memcpy(l->time, (const double[]){0.01, 0.04, 0.0}, sizeof l->time);
  }
  SAP_TRY(sap_xml_read_fields(node, time_fields, l->time, error));
  SAP_TRY(sap_xml_read_fields(node, fields, &p, error));
  memcpy(l->gain, &p, sizeof p);
  memcpy(l->bias, l->gain, sizeof l->bias);
  set_types(l, LAW_MUSCLE, LAW_MUSCLE, SAP_ACTIVATION_MUSCLE);
  return SAP_STATUS_OK;
}

// --- general ------------------------------------------------------------------------------------

static sap_status apply_general(const sap_xml_node* node, law* l, sap_error* error) {
  enum { USER = 5 };  // of dyntype, whose others have the order of sap_activation
  double time[10] = {l->time[0], l->time[1], l->time[2]};
  SAP_TRY(sap_xml_choice(node, "gaintype", "fixed affine muscle user", &l->gain_type, error));
  SAP_TRY(sap_xml_choice(node, "biastype", "none affine muscle user", &l->bias_type, error));
  if (sap_xml_get(node, "dyntype") != NULL) {
    int32_t type = 0;
    SAP_TRY(sap_xml_choice(node, "dyntype", "none integrator filter filterexact muscle user", &type,
                           error));
    l->user_dynamics = type == USER;
    l->activation = l->user_dynamics ? SAP_ACTIVATION_NONE : (sap_activation)type;
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
  } kinds[] = {{"position", apply_position}, {"intvelocity", apply_position},
               {"velocity", apply_velocity}, {"damper", apply_damper},
               {"adhesion", apply_adhesion}, {"cylinder", apply_cylinder},
               {"muscle", apply_muscle},     {"general", apply_general}};
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

// Reads the law from the element and its defaults.
static sap_status read_law(const sap_mjcf_sources* s, law* l) {
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

// Returns NULL, or why the law is not supported.
static const char* find_unsupported(const law* l) {
  if (l->gain_type > LAW_MUSCLE || l->bias_type > LAW_MUSCLE || l->user_dynamics) {
    return "gain, bias and dynamics of type user are not supported";
  }
  if (l->gain_type == LAW_MUSCLE && l->bias_type == LAW_MUSCLE &&
      memcmp(l->gain, l->bias, MUSCLE_COUNT * sizeof(double)) != 0) {
    return "a muscle whose gain and bias have different parameters is not supported";
  }
  return l->activation_count > 1 ? "more than one activation per actuator is not supported" : NULL;
}

static void apply_law(const law* l, sap_actuator_def* def) {
  def->muscle_gain = l->gain_type == LAW_MUSCLE;
  def->muscle_bias = l->bias_type == LAW_MUSCLE;
  if (def->muscle_gain || def->muscle_bias) {
    memcpy(&def->muscle, def->muscle_gain ? l->gain : l->bias, sizeof def->muscle);
  }
  if (!def->muscle_gain) {
    def->gain = l->gain[0];
  }
  if (l->gain_type == LAW_AFFINE) {
    memcpy(def->gain_slope, l->gain + 1, sizeof def->gain_slope);
  }
  if (l->bias_type == LAW_AFFINE) {
    memcpy(def->bias, l->bias, sizeof def->bias);
    def->damping_ratio = l->damping_ratio;
    if (l->bias[2] > 0.0 && l->bias[1] == -l->gain[0]) {  // MuJoCo's encoding of a damping ratio
      def->damping_ratio = l->bias[2];
      def->bias[2] = 0.0;
    }
  }
  def->activation = l->activation;
  memcpy(def->activation_time, l->time, sizeof def->activation_time);
}

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
  SAP_RETURN_IF(
      count > 1,
      sap_xml_syntax(node, NULL, r->error,
                     "must act on one of joint, jointinparent, tendon, site, cranksite and body"));
  SAP_RETURN_IF(count == 0 && sap_xml_is(node, "adhesion"),
                sap_xml_syntax(node, NULL, r->error, "attribute 'body' is missing"));
  SAP_RETURN_IF(sap_xml_get(node, "refsite") != NULL && sap_xml_get(node, "site") == NULL,
                sap_xml_syntax(node, "refsite", r->error, "needs a site"));
  return sap_xml_get(node, "slidersite") != NULL && sap_xml_get(node, "cranksite") == NULL
             ? sap_xml_syntax(node, "slidersite", r->error, "needs a cranksite")
             : SAP_STATUS_OK;
}

// Sets transmission and target; returns NULL, or why the actuator is not supported.
static const char* find_target(const sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_actuator_def* def) {
  if (sap_word_index("orientation pid dcmotor plugin", i->node->name) >= 0) {
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
static sap_status inherit_range(sap_mjcf_reader* r, const sap_xml_node* node, const law* l,
                                sap_actuator_def* def) {
  const double* range = target_range(r, def);
  SAP_RETURN_IF(range == NULL,
                sap_xml_syntax(node, NULL, r->error, "inheritrange is for joints and tendons"));
  const bool to_act = l->inherit_activation;
  double* lower = to_act ? &def->activation_lower : &def->control_lower;
  double* upper = to_act ? &def->activation_upper : &def->control_upper;
  SAP_RETURN_IF(isfinite(*lower),
                sap_xml_syntax(node, NULL, r->error, "has both %s and inheritrange",
                               to_act ? "actrange" : "ctrlrange"));
  SAP_RETURN_IF(
      !isfinite(range[0]) || !isfinite(range[1]),
      sap_xml_syntax(node, NULL, r->error, "inheritrange, but its joint or tendon has no range"));
  const double mean = 0.5 * (range[0] + range[1]);
  const double half = 0.5 * (range[1] - range[0]) * l->inherit_range;
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
static sap_status read_actuator(const sap_mjcf_sources* s, const sap_mjcf_instance* i, const law* l,
                                sap_actuator_def* def) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_actuator_def, activation_early, "actearly", BOOL, 1, 1), {0}};
  const struct {
    const char* attribute;
    double *lower, *upper;
  } ranges[] = {{"ctrlrange", &def->control_lower, &def->control_upper},
                {"forcerange", &def->force_lower, &def->force_upper},
                {"actrange", &def->activation_lower, &def->activation_upper}};
  // Their control is always limited, whatever autolimits says.
  const bool bounded = sap_xml_is(i->node, "damper") || sap_xml_is(i->node, "adhesion");
  SAP_TRY(read_gear(s, def));
  for (size_t k = 0; k < sizeof ranges / sizeof *ranges; ++k) {
    double range[2] = {0.0, 0.0};
    SAP_TRY(bounded && k == 0 ? sap_mjcf_numbers(s, ranges[k].attribute, 2, 2, range, NULL)
                              : sap_mjcf_read_range(s, ranges[k].attribute, 1.0, range));
    *ranges[k].lower = range[0];
    *ranges[k].upper = range[1];
  }
  def->activation_early = false;
  SAP_TRY(sap_mjcf_read_fields(s, fields, def));
  if (l->inherit_range > 0.0) {
    SAP_TRY(inherit_range(s->r, i->node, l, def));
  }
  SAP_TRY(read_lengths(s, def));
  apply_law(l, def);
  SAP_TRY(sap_mjcf_full_name(s->r, i->space, sap_xml_get(i->node, "name"), &def->name));
  if (bounded && !(def->control_lower >= 0.0 && def->control_lower < def->control_upper)) {
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
                                 const law* l, int32_t* id) {
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
    SAP_TRY(read_actuator(s, i, l, &def));
    why = find_unsupported(l);
  }
  SAP_RETURN_IF(why != NULL, sap_scene_unsupported(r->options, i->node, NULL, why, r->error));
  apply_flags(r, &def);
  return SAP_XML_ADD(r, i->node, sap_builder_add_actuator, &def, id);
}

sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  sap_mjcf_sources s;
  law l;
  int32_t id;
  SAP_TRY(SAP_ROOM(&r->pool, &r->controls, r->control_count + 1, r->error));
  SAP_TRY(check_target(r, i->node));
  SAP_TRY(sap_mjcf_instance_sources(r, i, "motor", &s));
  SAP_TRY(read_law(&s, &l));
  SAP_TRY(add_to_builder(&s, i, &l, &id));
  // An actuator that is left out may still have an activation in keyframes.
  r->controls[r->control_count++] = (sap_mjcf_control){
      .space = i->space, .id = id, .has_activation = l.activation != SAP_ACTIVATION_NONE};
  const char* name;
  SAP_TRY(sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &name));
  return sap_name_map_add(&r->actuator_names, name, r->control_count - 1, NULL, r->error);
}
