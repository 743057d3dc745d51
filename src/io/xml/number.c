// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

int32_t sap_word_index(const char* list, const char* word) {
  const size_t length = strlen(word);
  int32_t index = 0;
  for (const char* at = list + strspn(list, blanks); *at != '\0'; ++index) {
    const size_t n = strcspn(at, blanks);
    if (n == length && memcmp(at, word, n) == 0) {
      return index;
    }
    at += n;
    at += strspn(at, blanks);
  }
  return -1;
}

int32_t sap_xml_word_count(const sap_xml_node* node, const char* attribute) {
  const char* at = sap_xml_get(node, attribute);
  int32_t count = 0;
  if (at == NULL) {
    return 0;
  }
  for (at += strspn(at, blanks); *at != '\0'; ++count) {
    at += strcspn(at, blanks);
    at += strspn(at, blanks);
  }
  return count;
}

// One word as a finite number. strtod alone would also take hexadecimal, inf and nan.
static sap_status parse_word(const sap_xml_node* node, const char* attribute, const char* word,
                             double* value, sap_error* error) {
  const int length = (int)strcspn(word, blanks);
  const int shown = length < 40 ? length : 40;
  char* end = NULL;
  *value = strtod(word, &end);
  if (end != word + length || length == 0) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, "'%.*s' is not a number", shown,
                        word);
  }
  if (!isfinite(*value)) {
    return sap_xml_fail(node, attribute, SAP_STATUS_NOT_FINITE, error, "'%.*s' is not finite",
                        shown, word);
  }
  if (strspn(word, "0123456789+-.eE") < (size_t)length) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, "'%.*s' is not a decimal number",
                        shown, word);
  }
  return SAP_STATUS_OK;
}

sap_status sap_xml_numbers(const sap_xml_node* node, const char* attribute, int32_t least,
                           int32_t most, double* values, int32_t* count, sap_error* error) {
  const int32_t given = sap_xml_word_count(node, attribute);
  if (sap_xml_get(node, attribute) == NULL) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, error, "attribute '%s' is missing",
                        attribute);
  }
  const bool fits = given >= least && given <= most;
  const char* at = sap_xml_get(node, attribute);
  for (int32_t i = 0; i < given; ++i) {  // what is no number may be why they are too few
    at += strspn(at, blanks);
    double value;
    const sap_status status = parse_word(node, attribute, at, &value, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (fits) {
      values[i] = value;
    }
    at += strcspn(at, blanks);
  }
  if (!fits) {
    const char* plural = given == 1 ? "" : "s";
    return least == most
               ? sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error,
                              "has %d number%s, must be %d", (int)given, plural, (int)least)
               : sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error,
                              "has %d number%s, must be %d to %d", (int)given, plural, (int)least,
                              (int)most);
  }
  if (count != NULL) {
    *count = given;
  }
  return SAP_STATUS_OK;
}

sap_status sap_xml_optional(const sap_xml_node* node, const char* attribute, int32_t least,
                            int32_t most, double* values, sap_error* error) {
  return sap_xml_get(node, attribute) == NULL
             ? SAP_STATUS_OK
             : sap_xml_numbers(node, attribute, least, most, values, NULL, error);
}

sap_status sap_xml_nonnegative(const sap_xml_node* node, const char* attribute, double* value,
                               sap_error* error) {
  double given = 0.0;
  const sap_status status = sap_xml_optional(node, attribute, 1, 1, &given, error);
  if (status == SAP_STATUS_OK && !(given >= 0.0)) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, "must be >= 0");
  }
  if (status == SAP_STATUS_OK && sap_xml_get(node, attribute) != NULL) {
    *value = given;
  }
  return status;
}

sap_status sap_xml_integer(const sap_xml_node* node, const char* attribute, int32_t* value,
                           sap_error* error) {
  double number;
  const sap_status status = sap_xml_numbers(node, attribute, 1, 1, &number, NULL, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (!(number >= INT32_MIN && number <= INT32_MAX && floor(number) == number)) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, "must be an integer");
  }
  *value = (int32_t)number;
  return SAP_STATUS_OK;
}

sap_status sap_xml_choice(const sap_xml_node* node, const char* attribute, const char* choices,
                          int32_t* value, sap_error* error) {
  const char* text = sap_xml_get(node, attribute);
  const int32_t index = text != NULL ? sap_word_index(choices, text) : -1;
  if (index < 0) {
    return sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, "must be one of: %s", choices);
  }
  *value = index;
  return SAP_STATUS_OK;
}
