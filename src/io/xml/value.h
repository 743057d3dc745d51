// SPDX-License-Identifier: BSD-3-Clause
// Values of attributes, read strictly. All functions fail with file:line, element and attribute.
#ifndef SAP_IO_XML_VALUE_H
#define SAP_IO_XML_VALUE_H

#include "io/xml/xml.h"

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
sap_status sap_xml_bool(const sap_xml_node* node, const char* attribute, bool* value,
                        sap_error* error);

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
// Checks the rule of a field that `node` gives: "must be >= 0".
sap_status sap_xml_check_field(const sap_xml_field* field, const sap_xml_node* node,
                               const void* target, sap_error* error);

// Converts a word to a finite decimal number; strtod alone also accepts hexadecimal, inf and nan.
// Returns NULL, or why it fails: "is not a number". *value is not finite if that is why.
const char* sap_word_number(const char* word, int length, double* value);
// Returns the number of blank-separated words of the attribute; 0 when absent.
int32_t sap_xml_word_count(const sap_xml_node* node, const char* attribute);
// Returns the position of a word in a blank-separated list, -1 when absent.
int32_t sap_word_index(const char* list, const char* word);

#endif
