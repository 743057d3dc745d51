// SPDX-License-Identifier: BSD-3-Clause
// The attributes and children of every element of a format: each is read, has no influence on the
// physics, or is not supported. One walk over a file finds everything that is unknown (an error) or
// not supported (an error, or a warning if lenient).
#pragma once

#include <sapstep/scene.h>

#include "io/xml/xml.h"

// An attribute with a restricted set of supported values.
typedef struct sap_schema_value {
  const char* attribute;
  const char* allowed;  // blank-separated
  bool keep;            // lenient: keep the value after the warning (else drop the attribute)
} sap_schema_value;

typedef struct sap_schema_element sap_schema_element;

typedef struct sap_schema_child {
  const char* names;                  // blank-separated
  const sap_schema_element* element;  // its contents; NULL: not checked
  const char* unsupported;            // why, or NULL
} sap_schema_child;

struct sap_schema_element {
  const char* used;               // attributes that are read
  const char* skipped;            // attributes without influence on the physics
  const char* neglected;          // ignored with a warning; common, and robots move without
  const char* zero;               // attributes that are supported only as zero
  const char* unsupported;        // attributes that are not supported
  const sap_schema_value* value;  // restricted to some values; ended by {0}, or NULL
  const sap_schema_child* child;  // ended by {0}, or NULL
  bool open;                      // unknown elements and attributes are ignored
  bool extensible;                // of the root: in the whole file unknown elements and attributes
                                  // are an error, or a warning if lenient
};

// Rows of a table of children. The variable arguments are further members of the element.
#define SAP_CHILD(names, ...) \
  { names, &(const sap_schema_element){__VA_ARGS__}, NULL }
// An element that has attributes only.
#define SAP_LEAF(names, attributes) SAP_CHILD(names, .used = (attributes))
// A child whose contents are not checked.
#define SAP_UNCHECKED(names) \
  { names, NULL, NULL }
#define SAP_REFUSED(names, why) \
  { names, NULL, why }
#define SAP_CHILDREN(...)      \
  (const sap_schema_child[]) { \
    __VA_ARGS__, {             \
      0                        \
    }                          \
  }

// Checks `node` and its subtree. If lenient, removes from the tree what is not supported.
sap_status sap_schema_check(const sap_schema_element* schema, sap_xml_node* node,
                            const sap_scene_options* options, sap_error* error);

// Fails with UNSUPPORTED, or warns and returns OK if lenient.
sap_status sap_scene_unsupported(const sap_scene_options* options, const sap_xml_node* node,
                                 const char* attribute, const char* why, sap_error* error);
void sap_scene_warn(const sap_scene_options* options, const sap_xml_node* node,
                    const char* attribute, const char* text);

// Replaces the fields of the material that options->override_material sets.
void sap_scene_override(const sap_scene_options* options, sap_material* material);

// edit.c. Applies the edits of the options to a tree whose includes have been expanded.
sap_status sap_scene_apply_edits(sap_xml_store* store, sap_xml_node* root,
                                 const sap_scene_options* options, sap_error* error);

extern const sap_schema_element sap_mjcf_schema;
extern const sap_schema_element sap_urdf_schema;
