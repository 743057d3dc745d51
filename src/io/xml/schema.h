// SPDX-License-Identifier: BSD-3-Clause
// What the readers know of a format: for every element its attributes and children, each as read,
// without influence on the physics, or not supported. One walk over a file finds everything that
// is unknown (an error) or not supported (an error, or a warning if lenient).
#ifndef SAP_IO_XML_SCHEMA_H
#define SAP_IO_XML_SCHEMA_H

#include <sapstep/scene.h>

#include "io/xml/xml.h"

// An attribute of which only some values are supported.
typedef struct sap_schema_value {
  const char* attribute;
  const char* allowed;  // blank-separated
  bool keep;            // lenient: keep the value after the warning (else forget the attribute)
} sap_schema_value;

typedef struct sap_schema_element sap_schema_element;

// A child element: `element` says what it may contain; NULL: its inside is not looked at.
typedef struct sap_schema_child {
  const char* names;  // blank-separated
  const sap_schema_element* element;
  const char* unsupported;  // why, or NULL
} sap_schema_child;

struct sap_schema_element {
  const char* used;               // attributes that are read
  const char* skipped;            // attributes without influence on the physics
  const char* neglected;          // left out with a warning: robots use it, and move without
  const char* zero;               // attributes that are supported only as zero
  const char* unsupported;        // attributes that are not supported
  const sap_schema_value* value;  // supported for some values only; ended by {0}, or NULL
  const sap_schema_child* child;  // ended by {0}, or NULL
  bool open;                      // other elements and attributes are extensions: ignored
  bool extensible;                // the format allows extensions: unknown ones are an error, or a
                                  // warning if lenient
};

// Checks `node` and what is below it. What is not supported is removed from the tree if lenient.
sap_status sap_schema_check(const sap_schema_element* schema, sap_xml_node* node,
                            const sap_scene_options* options, sap_error* error);

// UNSUPPORTED, or a warning and OK if lenient.
sap_status sap_scene_unsupported(const sap_scene_options* options, const sap_xml_node* node,
                                 const char* attribute, const char* why, sap_error* error);
void sap_scene_warn(const sap_scene_options* options, const sap_xml_node* node,
                    const char* attribute, const char* text);

// options->override_material's fields that are not NaN.
void sap_scene_override(const sap_scene_options* options, sap_material* material);

extern const sap_schema_element sap_mjcf_schema;
extern const sap_schema_element sap_urdf_schema;

#endif
