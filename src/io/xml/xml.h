// SPDX-License-Identifier: BSD-3-Clause
// XML files as a small tree of our own: elements and attributes with file and line, text where it
// is asked for, no entities, no network. The only file that knows libxml2 is xml_parse.c.
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
  const char* text;  // between its tags; NULL: none, or not asked for
  int32_t line;      // where its start tag ends
  sap_xml_attribute* attributes;
  int32_t nattributes;
  sap_xml_node *parent, *first_child, *last_child, *next;
};

// Memory of any number of files that belong together.
typedef struct sap_xml_store sap_xml_store;

// options NULL: nobody wants to know.
static inline void sap_scene_tell_file(const sap_scene_options* options, const char* path,
                                       const void* bytes, size_t size) {
  if (options != NULL && options->file != NULL) {
    options->file(options->file_context, path, bytes, size);
  }
}

sap_status sap_xml_store_create(sap_xml_store** out, sap_error* error);
// Files that are read into the store are told to the options' function.
void sap_xml_store_tell(sap_xml_store* store, const sap_scene_options* options);
const sap_scene_options* sap_xml_store_options(const sap_xml_store* store);  // NULL: not told
void sap_xml_store_destroy(sap_xml_store* store);

// Zeroed memory that lives as long as the store; NULL for lack of memory.
void* sap_xml_allocate(sap_xml_store* store, size_t bytes);
// a + b + c (NULL: empty) in the store; NULL for lack of memory.
const char* sap_xml_join(sap_xml_store* store, const char* a, const char* b, const char* c);

// The folder, with its slash, that what a file names is relative to: its own, "" without one. A
// pipe has none: what comes through it, out of xacro for one, was made in the working folder. NULL
// for lack of memory.
char* sap_xml_folder(sap_xml_store* store, const char* path);

// Reads a file. IO: missing, unreadable. SYNTAX: not well formed, a document type definition,
// nested too deep.
sap_status sap_xml_read(sap_xml_store* store, const char* path, sap_xml_node** root,
                        sap_error* error);
// Reads `size` bytes of the file `path`, texts of elements included.
sap_status sap_xml_parse(sap_xml_store* store, const char* path, const char* bytes, size_t size,
                         sap_xml_node** root, sap_error* error);

// Value of an attribute, NULL when absent.
const char* sap_xml_get(const sap_xml_node* node, const char* attribute);
const sap_xml_node* sap_xml_child(const sap_xml_node* node, const char* name);
bool sap_xml_is(const sap_xml_node* node, const char* name);

// "file:line: <element attribute="value">: text" (attribute NULL: the element alone).
sap_status sap_xml_fail(const sap_xml_node* node, const char* attribute, sap_status status,
                        sap_error* error, const char* format, ...) SAP_PRINTF(5, 6);
// "file:line: <element>" before the message of what failed for the node; returns `status`.
sap_status sap_xml_locate(const sap_xml_node* node, sap_status status, sap_error* error);

#endif
