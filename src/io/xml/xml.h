// SPDX-License-Identifier: BSD-3-Clause
// XML files as a small tree: elements and attributes with file and line; no text, no entities, no
// network. Only xml.c includes libxml2.
#ifndef SAP_IO_XML_XML_H
#define SAP_IO_XML_XML_H

#include <sapstep/scene.h>

#include "core/error.h"

typedef struct sap_xml_attribute {
  const char* name;  // qualified, "drake:mu_static"; empty once dropped
  const char* value;
} sap_xml_attribute;

typedef struct sap_xml_node sap_xml_node;
struct sap_xml_node {
  const char* name;  // qualified
  const char* file;  // as the user gave it
  int32_t line;      // of the end of the start tag
  sap_xml_attribute* attributes;
  int32_t nattributes;
  sap_xml_node *parent, *first_child, *last_child, *next;
};

// Memory of any number of files that belong together.
typedef struct sap_xml_store sap_xml_store;

// options (NULL allowed, borrowed): `file` is called with every file read into the store.
sap_status sap_xml_store_create(const sap_scene_options* options, sap_xml_store** out,
                                sap_error* error);
void sap_xml_store_destroy(sap_xml_store* store);

// Returns zeroed memory that lives as long as the store; NULL for lack of memory.
void* sap_xml_allocate(sap_xml_store* store, size_t bytes);
// Writes a + b + c (NULL: empty) to the store.
sap_status sap_xml_join(sap_xml_store* store, const char* a, const char* b, const char* c,
                        const char** out, sap_error* error);
// Finds the folder of `path` with its slash ("": none), which file names in `path` are relative to.
// A pipe has none: its text, from xacro for instance, was made in the working folder.
sap_status sap_xml_folder(sap_xml_store* store, const char* path, const char** out,
                          sap_error* error);
// Resolves `file` relative to the folder of `path`.
sap_status sap_xml_sibling(sap_xml_store* store, const char* path, const char* file,
                           const char** out, sap_error* error);

// Reads a file. IO: missing, unreadable. SYNTAX: not well formed, a document type definition,
// nested too deep.
sap_status sap_xml_read(sap_xml_store* store, const char* path, sap_xml_node** root,
                        sap_error* error);
// Calls options->file, where there is one. options NULL: does nothing.
void sap_scene_report_file(const sap_scene_options* options, const char* path, const void* bytes,
                           size_t size);

// Returns the value of an attribute, NULL when absent.
const char* sap_xml_get(const sap_xml_node* node, const char* attribute);
bool sap_xml_is(const sap_xml_node* node, const char* name);
// Returns the first child of that name, NULL without one.
const sap_xml_node* sap_xml_child(const sap_xml_node* node, const char* name);
// Iterates over the children of all elements `section` of the root; last NULL: returns the first.
const sap_xml_node* sap_xml_next(const sap_xml_node* root, const char* section,
                                 const sap_xml_node* last);

// Fails with "file:line: <element attribute="value">: text" (attribute NULL: the element alone).
sap_status sap_xml_fail(const sap_xml_node* node, const char* attribute, sap_status status,
                        sap_error* error, const char* format, ...) SAP_PRINTF(5, 6);
// The same with SYNTAX.
#define sap_xml_syntax(node, attribute, error, ...) \
  sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, __VA_ARGS__)
// Puts "file:line: <element>" before the message of a failed call; returns `status`.
sap_status sap_xml_locate(const sap_xml_node* node, sap_status status, sap_error* error);
// Calls a builder's function that adds an element, with the builder and error of the reader r.
#define SAP_XML_ADD(r, node, function, definition, id) \
  sap_xml_locate((node), function((r)->builder, (definition), (id), (r)->error), (r)->error)

#endif
