// SPDX-License-Identifier: BSD-3-Clause
// The attributes and children of every element of a format: each is read, has no influence on the
// physics, or is not supported. One walk over a file finds everything that is unknown (an error) or
// not supported (an error, or a warning if lenient).
#pragma once

#include <sapstep/scene.h>

#include "io/xml/xml.h"

// A schema is the lines of a text, mjcf_schema.txt for instance, whose first is the root. A line
// without indentation and those below it are one array: sap_schema_mjcf_mujoco.
// "<box sphere> size" is a child of either name that may have the attribute size. Lines below it
// that are indented by two more blanks are its children and its lists:
//   used: attributes that are read, further to those behind ">"
//   skipped: attributes without influence on the physics
//   neglected: attributes that are ignored with a warning; common, and robots move without
//   zero: attributes that are supported only as zero
//   unsupported: attributes that are not supported
//   only ATTRIBUTE: the supported values of an attribute
//   keep: attributes whose other values lenient readers keep after the warning (else drop)
//   unchecked: children whose contents are not checked
//   refused: why the element is not supported
//   open: unknown children and attributes are ignored
//   extensible: of the root: all that is unknown is an error, or a warning if lenient
//   like: the array whose children and lists are added
typedef struct sap_schema_line sap_schema_line;
struct sap_schema_line {
  int32_t indent;               // 0: the name of the array, and its end
  const char* text;             // "<box sphere"; the next line is "used: size"
  const sap_schema_line* like;  // or NULL
};

// Checks `node` and its subtree. If lenient, removes from the tree what is not supported.
sap_status sap_schema_check(const sap_schema_line* root, sap_xml_node* node,
                            const sap_scene_options* options, sap_error* error);

// Fails with UNSUPPORTED, or warns and returns OK if lenient.
sap_status sap_scene_unsupported(const sap_scene_options* options, const sap_xml_node* node,
                                 const char* attribute, const char* why, sap_error* error);
void sap_scene_warn(const sap_scene_options* options, const sap_xml_node* node,
                    const char* attribute, const char* text);

// Replaces the fields of the material that options->override_material sets, and the contact model
// BY_MATERIAL.
void sap_scene_override(const sap_scene_options* options, sap_material* material);

// Reads Drake's <drake:proximity_properties> in collision elements or geoms; later nodes overrule
// earlier ones. SYNTAX: both rigid and compliant; UNSUPPORTED (if lenient, a warning): compliant
// without a modulus.
sap_status sap_scene_read_proximity(const sap_scene_options* options,
                                    const sap_xml_node* const* nodes, int32_t count,
                                    sap_material* material, sap_error* error);

// edit.c. Applies the edits of the options to a tree whose includes have been expanded.
sap_status sap_scene_apply_edits(sap_xml_store* store, sap_xml_node* root,
                                 const sap_scene_options* options, sap_error* error);

extern const sap_schema_line sap_schema_mjcf_mujoco[], sap_schema_urdf_robot[];  // their roots
