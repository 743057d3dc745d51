// SPDX-License-Identifier: BSD-3-Clause
// Strict values of attributes. All fail with file:line, element and attribute.
#ifndef SAP_IO_XML_NUMBER_H
#define SAP_IO_XML_NUMBER_H

#include "io/xml/xml.h"

// Between `least` and `most` finite numbers separated by blanks; *count (NULL allowed) says how
// many. SYNTAX: too few, too many, not a number; NOT_FINITE: nan, inf, overflow. The values behind
// those given are left alone.
sap_status sap_xml_numbers(const sap_xml_node* node, const char* attribute, int32_t least,
                           int32_t most, double* values, int32_t* count, sap_error* error);
// The same, where the attribute is there; else all is left alone.
sap_status sap_xml_optional(const sap_xml_node* node, const char* attribute, int32_t least,
                            int32_t most, double* values, sap_error* error);
// One number >= 0, where the attribute is there.
sap_status sap_xml_nonnegative(const sap_xml_node* node, const char* attribute, double* value,
                               sap_error* error);
// How many blank-separated words the attribute has; 0 when absent.
int32_t sap_xml_word_count(const sap_xml_node* node, const char* attribute);
// One integer.
sap_status sap_xml_integer(const sap_xml_node* node, const char* attribute, int32_t* value,
                           sap_error* error);
// Index of the attribute's text in `choices` ("false true auto").
sap_status sap_xml_choice(const sap_xml_node* node, const char* attribute, const char* choices,
                          int32_t* value, sap_error* error);
// Position of a word in a blank-separated list, -1 when absent.
int32_t sap_word_index(const char* list, const char* word);

#endif
