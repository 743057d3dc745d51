// SPDX-License-Identifier: BSD-3-Clause
// Attributes of an element after those of its default classes, and settings of <custom>.
#pragma once

#include "io/mjcf/mjcf.h"

enum { SAP_MJCF_MAX_SOURCES = 256 };

typedef struct sap_mjcf_sources {
  sap_mjcf_reader* r;
  const sap_mjcf_model* model;
  const sap_xml_node* nodes[SAP_MJCF_MAX_SOURCES];  // outermost class first, the element last
  int32_t count;
} sap_mjcf_sources;

// kind: the element's name in <default> ("geom"); "motor" uses those of all actuators.
sap_status sap_mjcf_find_sources(sap_mjcf_reader* r, const sap_xml_node* node, const char* kind,
                                 const sap_mjcf_scope* scope, sap_mjcf_sources* out);
// Returns the last node that has the attribute, NULL without one.
const sap_xml_node* sap_mjcf_source(const sap_mjcf_sources* s, const char* attribute);
// Fails with SYNTAX at the last node that has the attribute; else at the element.
sap_status sap_mjcf_refuse(const sap_mjcf_sources* s, const char* attribute, const char* why);

// The functions below leave values unchanged where no source has the attribute. Later sources
// overwrite the first values of earlier ones; *count (NULL allowed): the most given.
sap_status sap_mjcf_numbers(const sap_mjcf_sources* s, const char* attribute, int32_t least,
                            int32_t most, double* values, int32_t* count);
sap_status sap_mjcf_choice(const sap_mjcf_sources* s, const char* attribute, const char* choices,
                           int32_t* value);
sap_status sap_mjcf_read_fields(const sap_mjcf_sources* s, const sap_xml_field* fields,
                                void* target);
// Reads "range" or "XYZrange" with its "limited"; -inf, inf when not limited. unit: of the values.
sap_status sap_mjcf_read_range(const sap_mjcf_sources* s, const char* attribute, double unit,
                               double range[2]);
// Shrinks the range of a limit by the margin, at which the limit rests.
sap_status sap_mjcf_apply_margin(const sap_mjcf_sources* s, double* lower, double* upper);
// Applies a negative solref = (-k, -k tau_d); else returns false: positive values are MuJoCo's
// solver tuning (time constant, damping ratio).
bool sap_mjcf_apply_solref(const double solref[2], double* k, double* tau_d);
// Reads and applies a solref.
sap_status sap_mjcf_read_solref(const sap_mjcf_sources* s, const char* attribute, double* k,
                                double* tau_d);
// Reads stiffness and relaxation time of a limit: settings, then a negative solreflimit.
sap_status sap_mjcf_read_limit_material(const sap_mjcf_sources* s, double* k, double* tau_d);

// Reads the orientation; the innermost source that has one decides.
sap_status sap_mjcf_orientation(const sap_mjcf_sources* s, double q[4]);
void sap_mjcf_euler(const sap_mjcf_model* model, const double angles[3], double q[4]);
// Reads `fromto`: center, length and z axis from the second point to the first.
sap_status sap_mjcf_fromto(const sap_mjcf_sources* s, sap_pose* pose, double* length);
// Reads pos and orientation of an element without defaults.
sap_status sap_mjcf_pose(sap_mjcf_reader* r, const sap_xml_node* node, const sap_mjcf_scope* scope,
                         sap_pose* pose);

// Reads a setting <custom><numeric name="sapstep:..."/> of the model or else of the main file, >= 0
// or, if `positive`, > 0.
sap_status sap_mjcf_global_setting(sap_mjcf_reader* r, const sap_mjcf_model* model,
                                   const char* name, bool positive, double* value);
// Reads the material of a geom, whose friction is set to that of the attribute.
sap_status sap_mjcf_geom_material(const sap_mjcf_sources* s, const sap_mjcf_item* item,
                                  const char* full_name, sap_material* material);
// Replaces the velocity and the angular velocity of a geom's surface by the custom setting.
sap_status sap_mjcf_surface_setting(sap_mjcf_reader* r, const sap_mjcf_item* item,
                                    const char* full_name, double surface[6]);
// Checks all settings of the main file and of attached models, after all geoms are read.
sap_status sap_mjcf_check_settings(sap_mjcf_reader* r);

// mjcf_name.c. Elements that name others exist once per copy of the named elements: in each copy of
// a replicate, for each attachment of a model. An element is left out if one of the named is not
// attached.
enum { SAP_MJCF_MAX_NAMES = 256 };  // that one element may hold

// Returns the space of the model that a space belongs to.
int32_t sap_mjcf_model_space(const sap_mjcf_reader* r, int32_t space);

// An element in a space.
typedef struct sap_mjcf_instance {
  const sap_xml_node* node;
  int32_t space;
  int32_t ids[SAP_MJCF_MAX_NAMES];  // of the named elements, in the file's order; a geom's may be
                                    // SAP_MJCF_LEFT_OUT
} sap_mjcf_instance;

typedef sap_status (*sap_mjcf_adder)(sap_mjcf_reader* r, const sap_mjcf_instance* instance);

// Calls `add` for every instance of the elements (blank-separated names, NULL: all) in a section
// of the main file and of all attached models, space by space.
sap_status sap_mjcf_add_section(sap_mjcf_reader* r, const char* section, const char* elements,
                                sap_mjcf_adder add);
// sap_mjcf_find_sources for an instance.
sap_status sap_mjcf_instance_sources(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                     const char* kind, sap_mjcf_sources* out);

// Adders: mjcf_coupling.c, mjcf_actuator.c, mjcf_sensor.c.
sap_status sap_mjcf_add_tendon(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
sap_status sap_mjcf_add_equality(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
sap_status sap_mjcf_add_actuator(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
sap_status sap_mjcf_add_sensor(sap_mjcf_reader* r, const sap_mjcf_instance* instance);
// Returns the kind of name of a sensor's objtype or reftype; NULL: not supported, or no such
// attribute.
const char* sap_mjcf_sensed_kind(const sap_xml_node* node, const char* attribute);
