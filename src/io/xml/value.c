// SPDX-License-Identifier: BSD-3-Clause
// Values of XML attributes: words, numbers and lists of them.
#include "io/xml/xml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char blanks[] = " \t\r\n";

static const char* skip_word(const char* at) {
  at += strcspn(at, blanks);
  return at + strspn(at, blanks);
}

int32_t sap_word_index(const char* list, const char* word) {
  const size_t length = strlen(word);
  int32_t index = 0;
  for (const char* at = list + strspn(list, blanks); *at != '\0'; at = skip_word(at), ++index) {
    if (strcspn(at, blanks) == length && memcmp(at, word, length) == 0) {
      return index;
    }
  }
  return -1;
}

int32_t sap_xml_word_count(const sap_xml_node* node, const char* attribute) {
  const char* at = sap_xml_get(node, attribute);
  int32_t count = 0;
  if (at == NULL) {
    return 0;
  }
  for (at += strspn(at, blanks); *at != '\0'; at = skip_word(at)) {
    ++count;
  }
  return count;
}

sap_status sap_xml_require(const sap_xml_node* node, const char* attribute, const char** value,
                           sap_error* error) {
  *value = sap_xml_get(node, attribute);
  return *value != NULL ? SAP_STATUS_OK
                        : sap_xml_syntax(node, NULL, error, "attribute '%s' is missing", attribute);
}

const char* sap_word_number(const char* word, int length, double* value) {
  char* end = NULL;
  *value = length > 0 ? strtod(word, &end) : 0.0;
  if (length == 0 || end != word + length) {
    *value = 0.0;
    return "is not a number";
  }
  if (!isfinite(*value)) {
    return "is not finite";
  }
  return strspn(word, "0123456789+-.eE") >= (size_t)length ? NULL : "is not a decimal number";
}

sap_status sap_xml_numbers(const sap_xml_node* node, const char* attribute, int32_t least,
                           int32_t most, double* values, int32_t* count, sap_error* error) {
  const char* at;
  SAP_TRY(sap_xml_require(node, attribute, &at, error));
  const int32_t given = sap_xml_word_count(node, attribute);
  const bool fits = given >= least && given <= most;
  at += strspn(at, blanks);
  for (int32_t i = 0; i < given; ++i, at = skip_word(at)) {
    double value;  // a word that is not a number is reported before a wrong count
    const int length = (int)strcspn(at, blanks);
    const char* why = sap_word_number(at, length, &value);
    SAP_RETURN_IF(
        why != NULL,
        sap_xml_fail(node, attribute, isfinite(value) ? SAP_STATUS_SYNTAX : SAP_STATUS_NOT_FINITE,
                     error, "'%.*s%s' %s", SAP_SHOWN(at, length), why));
    if (fits) {
      values[i] = value;
    }
  }
  if (!fits) {
    const char* plural = given == 1 ? "" : "s";
    return least == most
               ? sap_xml_syntax(node, attribute, error, "has %d number%s, must be %d", (int)given,
                                plural, (int)least)
               : sap_xml_syntax(node, attribute, error, "has %d number%s, must be %d to %d",
                                (int)given, plural, (int)least, (int)most);
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
  const sap_xml_field field[2] = {{attribute, SAP_XML_NONNEGATIVE, 1, 1, 0}, {0}};
  return sap_xml_read_fields(node, field, value, error);
}

sap_status sap_xml_integer(const sap_xml_node* node, const char* attribute, int32_t* value,
                           sap_error* error) {
  double number;
  if (sap_xml_get(node, attribute) == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_numbers(node, attribute, 1, 1, &number, NULL, error));
  SAP_RETURN_IF(!(number >= INT32_MIN && number <= INT32_MAX && floor(number) == number),
                sap_xml_syntax(node, attribute, error, "must be an integer"));
  *value = (int32_t)number;
  return SAP_STATUS_OK;
}

sap_status sap_xml_choice(const sap_xml_node* node, const char* attribute, const char* choices,
                          int32_t* value, sap_error* error) {
  const char* text = sap_xml_get(node, attribute);
  const int32_t index = text != NULL ? sap_word_index(choices, text) : *value;
  SAP_RETURN_IF(text != NULL && index < 0,
                sap_xml_syntax(node, attribute, error, "must be one of: %s", choices));
  *value = index;
  return SAP_STATUS_OK;
}

static sap_status read_bool(const sap_xml_node* node, const char* attribute, bool* value,
                            sap_error* error) {
  int32_t index = *value ? 1 : 0;
  SAP_TRY(sap_xml_choice(node, attribute, "false true", &index, error));
  *value = index == 1;
  return SAP_STATUS_OK;
}

sap_status sap_xml_check_field(const sap_xml_field* field, const sap_xml_node* node,
                               const void* target, sap_error* error) {
  const double* values = (const double*)((const char*)target + field->offset);
  if (field->rule != SAP_XML_NONNEGATIVE && field->rule != SAP_XML_POSITIVE) {
    return SAP_STATUS_OK;
  }
  const bool positive = field->rule == SAP_XML_POSITIVE;
  const int32_t given = sap_xml_word_count(node, field->attribute);
  for (int32_t i = 0; i < given; ++i) {
    if (!(positive ? values[i] > 0.0 : values[i] >= 0.0)) {
      return sap_xml_syntax(node, field->attribute, error, "must be %s 0", positive ? ">" : ">=");
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_xml_read_fields(const sap_xml_node* node, const sap_xml_field* fields, void* target,
                               sap_error* error) {
  for (const sap_xml_field* f = fields; f->attribute != NULL; ++f) {
    void* value = (char*)target + f->offset;
    if (f->rule == SAP_XML_INTEGER) {
      SAP_TRY(sap_xml_integer(node, f->attribute, value, error));
    } else if (f->rule == SAP_XML_BOOL) {
      SAP_TRY(read_bool(node, f->attribute, value, error));
    } else {
      SAP_TRY(sap_xml_optional(node, f->attribute, f->least, f->most, value, error));
      SAP_TRY(sap_xml_check_field(f, node, target, error));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_xml_require_fields(const sap_xml_node* node, const sap_xml_field* fields,
                                  void* target, sap_error* error) {
  const char* text;
  for (const sap_xml_field* f = fields; f->attribute != NULL; ++f) {
    SAP_TRY(sap_xml_require(node, f->attribute, &text, error));
  }
  return sap_xml_read_fields(node, fields, target, error);
}

sap_status sap_xml_only_child(const sap_xml_node* node, const char* name, const sap_xml_node** out,
                              sap_error* error) {
  *out = sap_xml_child(node, name);
  const sap_xml_node* second = *out != NULL ? sap_xml_twin(*out) : NULL;
  return second == NULL ? SAP_STATUS_OK
                        : sap_xml_syntax(second, NULL, error, "given twice in <%s>", node->name);
}

sap_status sap_xml_require_child(const sap_xml_node* node, const char* name,
                                 const sap_xml_node** out, sap_error* error) {
  SAP_TRY(sap_xml_only_child(node, name, out, error));
  return *out != NULL ? SAP_STATUS_OK : sap_xml_syntax(node, NULL, error, "has no <%s>", name);
}

sap_status sap_xml_read_children(const sap_xml_node* node, const sap_xml_field* fields,
                                 bool required, void* target, sap_error* error) {
  for (const sap_xml_field* f = fields; f->attribute != NULL; ++f) {
    const sap_xml_node* child;
    SAP_TRY(required ? sap_xml_require_child(node, f->attribute, &child, error)
                     : sap_xml_only_child(node, f->attribute, &child, error));
    sap_xml_field value[2] = {*f, {0}};
    value[0].attribute = "value";
    if (child != NULL) {
      SAP_TRY(sap_xml_require_fields(child, value, target, error));
    }
  }
  return SAP_STATUS_OK;
}
