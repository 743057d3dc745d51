// SPDX-License-Identifier: BSD-3-Clause
// XML files as a small tree: elements and attributes with file and line; no text, no entities, no
// network. Only xml.c includes libxml2.
#pragma once

#include <sapstep/scene.h>

#include "core/memory.h"

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

// A file that options->file has been called with.
typedef struct sap_reported_file {
  const char* path;
  struct sap_reported_file* next;
} sap_reported_file;

// Memory of any number of files that belong together; pool.owner is set, and sap_pool_free frees.
enum { SAP_XML_SHARED_NAMES = 256 };
typedef struct sap_xml_store {
  sap_pool pool;
  const sap_scene_options* options;  // `file` is called with every file; may be NULL
  sap_reported_file* reported;
  const char* names[SAP_XML_SHARED_NAMES];  // by hash
} sap_xml_store;

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
// Calls options->file, where there is one, at the first call with this path.
sap_status sap_scene_report_file(sap_xml_store* store, const char* path, const void* bytes,
                                 size_t size, sap_error* error);

// Returns the value of an attribute, NULL when absent.
const char* sap_xml_get(const sap_xml_node* node, const char* attribute);
bool sap_xml_is(const sap_xml_node* node, const char* name);
// Return the first child of that name, and the next one after it; NULL without one.
const sap_xml_node* sap_xml_child(const sap_xml_node* node, const char* name);
const sap_xml_node* sap_xml_twin(const sap_xml_node* child);
// Loops over the children of that name.
#define SAP_XML_EACH(child, node, name)                                          \
  for (const sap_xml_node* child = sap_xml_child((node), (name)); child != NULL; \
       child = sap_xml_twin(child))
// Iterates over the children of all elements `section` of the root; last NULL: returns the first.
const sap_xml_node* sap_xml_next(const sap_xml_node* root, const char* section,
                                 const sap_xml_node* last);

// Change the children: removes all, and returns the first, from which `next` leads to the others;
// adds one behind the last.
sap_xml_node* sap_xml_take_children(sap_xml_node* node);
void sap_xml_append(sap_xml_node* parent, sap_xml_node* child);

// Puts "file:line: <element attribute="value">" before the message of a failed call (attribute NULL
// or absent: the element alone); returns `status`.
sap_status sap_xml_locate_at(const sap_xml_node* node, const char* attribute, sap_status status,
                             sap_error* error);
#define sap_xml_locate(node, status, error) sap_xml_locate_at((node), NULL, (status), (error))
// Fails with "file:line: <element attribute="value">: text".
#define sap_xml_fail(node, attribute, status, error, ...) \
  sap_xml_locate_at((node), (attribute), sap_fail((error), (status), __VA_ARGS__), (error))
// The same with SYNTAX.
#define sap_xml_syntax(node, attribute, error, ...) \
  sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, __VA_ARGS__)
// Calls a builder's function that adds an element, with the builder and error of the reader r.
#define SAP_XML_ADD(r, node, function, definition, id) \
  sap_xml_locate((node), function((r)->builder, (definition), (id), (r)->error), (r)->error)

// --- values of attributes (value.c) -------------------------------------------------------------

// Values are read strictly. All functions fail with file:line, element and attribute.

// Gets the attribute. SYNTAX: it is absent.
sap_status sap_xml_require(const sap_xml_node* node, const char* attribute, const char** value,
                           sap_error* error);
// Reads between `least` and `most` finite numbers separated by blanks; *count (NULL allowed) is
// their number, values beyond it are left unchanged. SYNTAX: attribute absent, too few, too many,
// not a number; NOT_FINITE: nan, inf, overflow.
sap_status sap_xml_numbers(const sap_xml_node* node, const char* attribute, int32_t least,
                           int32_t most, double* values, int32_t* count, sap_error* error);
// The functions below leave *value unchanged where the attribute is absent.
sap_status sap_xml_optional(const sap_xml_node* node, const char* attribute, int32_t least,
                            int32_t most, double* values, sap_error* error);
sap_status sap_xml_nonnegative(const sap_xml_node* node, const char* attribute, double* value,
                               sap_error* error);
sap_status sap_xml_integer(const sap_xml_node* node, const char* attribute, int32_t* value,
                           sap_error* error);
// Index of the attribute's text in `choices` ("false true auto").
sap_status sap_xml_choice(const sap_xml_node* node, const char* attribute, const char* choices,
                          int32_t* value, sap_error* error);

// Finds the only child of that name, NULL: none. SYNTAX: two.
sap_status sap_xml_only_child(const sap_xml_node* node, const char* name, const sap_xml_node** out,
                              sap_error* error);
// The same; SYNTAX: none.
sap_status sap_xml_require_child(const sap_xml_node* node, const char* name,
                                 const sap_xml_node** out, sap_error* error);

// One attribute that is a field of a struct: a row of a table that ends with {0}.
typedef enum sap_xml_rule {
  SAP_XML_ANY,          // doubles
  SAP_XML_NONNEGATIVE,  // doubles >= 0
  SAP_XML_POSITIVE,     // doubles > 0
  SAP_XML_INTEGER,      // an int32_t
  SAP_XML_BOOL,         // a bool, "false" or "true"
} sap_xml_rule;

typedef struct sap_xml_field {
  const char* attribute;
  sap_xml_rule rule;
  int32_t least, most;  // numbers
  size_t offset;        // of the field in its struct
} sap_xml_field;

#define SAP_XML_FIELD(struct_type, member, attribute, rule, least, most) \
  { attribute, SAP_XML_##rule, least, most, offsetof(struct_type, member) }
// A field that is one number.
#define SAP_XML_NUMBER(struct_type, member, attribute, rule) \
  SAP_XML_FIELD(struct_type, member, attribute, rule, 1, 1)

// Reads the attributes that are present into the struct `target`.
sap_status sap_xml_read_fields(const sap_xml_node* node, const sap_xml_field* fields, void* target,
                               sap_error* error);
// The same; SYNTAX where one is absent.
sap_status sap_xml_require_fields(const sap_xml_node* node, const sap_xml_field* fields,
                                  void* target, sap_error* error);
// Reads fields from children: the attribute of a field is the child's name, its value is in the
// child's attribute "value".
sap_status sap_xml_read_children(const sap_xml_node* node, const sap_xml_field* fields,
                                 bool required, void* target, sap_error* error);
// Checks the rule of a field that `node` gives: "must be >= 0".
sap_status sap_xml_check_field(const sap_xml_field* field, const sap_xml_node* node,
                               const void* target, sap_error* error);

// Converts a word to a finite decimal number; strtod alone also accepts hexadecimal, inf and nan.
// Returns NULL, or why it fails: "is not a number". *value is not finite if that is why.
const char* sap_word_number(const char* word, int length, double* value);
// The beginning of a word, or of other text, for "%.*s%s".
#define SAP_SHOWN(text, length) \
  ((length) < 40 ? (int)(length) : 40), (text), ((length) > 40 ? "..." : "")
// Returns the number of blank-separated words of the attribute; 0 when absent.
int32_t sap_xml_word_count(const sap_xml_node* node, const char* attribute);
// Returns the position of a word in a blank-separated list, -1 when absent.
int32_t sap_word_index(const char* list, const char* word);
