// SPDX-License-Identifier: BSD-3-Clause
// Numbers, links and positions of DAE files. A <source> has numbers in one long text, which its
// <accessor> divides into groups.
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"
#include "io/mesh/mesh_dae.h"

static bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

// NULL for NULL.
static const char* skip_space(const char* at) {
  while (at != NULL && is_space(*at)) {
    ++at;
  }
  return at;
}

static sap_status refuse_word(const sap_xml_node* node, const char* at, sap_error* error) {
  return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, error, "'%.*s' is not a number",
                      (int)strcspn(at, " \t\r\n") < 40 ? (int)strcspn(at, " \t\r\n") : 40, at);
}

sap_status sap_dae_next_real(const sap_xml_node* node, const char** at, double* value, bool* found,
                             sap_error* error) {
  *at = skip_space(*at);
  *found = *at != NULL && **at != '\0';
  if (!*found) {
    return SAP_STATUS_OK;
  }
  char* end = NULL;
  *value = strtod(*at, &end);
  if (end == *at || !(is_space(*end) || *end == '\0')) {
    return refuse_word(node, *at, error);
  }
  *at = end;
  return SAP_STATUS_OK;
}

sap_status sap_dae_next_integer(const sap_xml_node* node, const char** at, int32_t* value,
                                bool* found, sap_error* error) {
  *at = skip_space(*at);
  *found = *at != NULL && **at != '\0';
  if (!*found) {
    return SAP_STATUS_OK;
  }
  char* end = NULL;
  const long number = strtol(*at, &end, 10);
  if (end == *at || !(is_space(*end) || *end == '\0') || number < INT32_MIN || number > INT32_MAX) {
    return refuse_word(node, *at, error);
  }
  *value = (int32_t)number;
  *at = end;
  return SAP_STATUS_OK;
}

sap_status sap_dae_read_count(const sap_xml_node* node, const char* attribute, int32_t otherwise,
                              int32_t* out, sap_error* error) {
  const char* text = sap_xml_get(node, attribute);
  bool found = true;
  *out = otherwise;
  if (text == NULL) {
    return SAP_STATUS_OK;
  }
  const sap_status status = sap_dae_next_integer(node, &text, out, &found, error);
  return status == SAP_STATUS_OK && (!found || *out < 0)
             ? sap_xml_fail(node, attribute, SAP_STATUS_SYNTAX, error, "must be a count")
             : status;
}

const sap_xml_node* sap_dae_find(const sap_xml_node* parent, const sap_xml_node* node,
                                 const char* attribute) {
  const char* link = sap_xml_get(node, attribute);
  if (link == NULL || link[0] != '#') {
    return NULL;
  }
  for (const sap_xml_node* child = parent->first_child; child != NULL; child = child->next) {
    const char* id = sap_xml_get(child, "id");
    if (id != NULL && strcmp(id, link + 1) == 0) {
      return child;
    }
  }
  return NULL;
}

// Which of a group's values are x, y and z, by the names of the parameters.
static void find_axes(const sap_xml_node* accessor, int32_t axes[3]) {
  int32_t index = 0;
  for (const sap_xml_node* p = accessor->first_child; p != NULL; p = p->next) {
    const char* name = sap_xml_is(p, "param") ? sap_xml_get(p, "name") : NULL;
    for (int32_t k = 0; k < 3 && name != NULL; ++k) {
      axes[k] = name[0] == "XYZ"[k] && name[1] == '\0' ? index : axes[k];
    }
    index += sap_xml_is(p, "param") ? 1 : 0;
  }
}

// Takes each group's x, y and z.
static sap_status take_groups(sap_dae_positions* out, const sap_xml_node* array, int32_t skip,
                              int32_t stride, const int32_t axes[3], sap_error* error) {
  const char* at = array->text;
  double p[3] = {0.0};
  for (int64_t i = -(int64_t)skip;; ++i) {
    double value = 0.0;
    bool found = false;
    sap_status status = sap_dae_next_real(array, &at, &value, &found, error);
    if (status != SAP_STATUS_OK || !found) {
      return status;
    }
    const int32_t place = i < 0 ? -1 : (int32_t)(i % stride);
    for (int k = 0; k < 3; ++k) {
      p[k] = axes[k] == place ? value : p[k];
    }
    if (place != stride - 1) {
      continue;
    }
    if (out->count == SAP_DAE_MOST) {
      return sap_xml_fail(array, NULL, SAP_STATUS_MEMORY, error, "too many positions");
    }
    status = SAP_GROW(&out->p, &out->capacity, 3 * (out->count + 1), error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    memcpy(out->p + 3 * (size_t)out->count++, p, sizeof p);
  }
}

sap_status sap_dae_read_positions(const sap_xml_node* source, sap_dae_positions* out,
                                  sap_error* error) {
  if (out->source == source) {
    return SAP_STATUS_OK;
  }
  out->source = NULL;
  out->count = 0;
  const sap_xml_node* array = sap_xml_child(source, "float_array");
  const sap_xml_node* common = sap_xml_child(source, "technique_common");
  const sap_xml_node* accessor = common != NULL ? sap_xml_child(common, "accessor") : NULL;
  if (array == NULL) {
    return sap_xml_fail(source, NULL, SAP_STATUS_SYNTAX, error, "positions need a <float_array>");
  }
  int32_t stride = 3, skip = 0, axes[3] = {0, 1, 2};
  sap_status status = SAP_STATUS_OK;
  if (accessor != NULL) {
    status = sap_dae_read_count(accessor, "stride", 3, &stride, error);
    if (status == SAP_STATUS_OK) {
      status = sap_dae_read_count(accessor, "offset", 0, &skip, error);
    }
    find_axes(accessor, axes);
  }
  if (status == SAP_STATUS_OK &&
      (stride < 3 || axes[0] >= stride || axes[1] >= stride || axes[2] >= stride)) {
    status =
        sap_xml_fail(source, NULL, SAP_STATUS_SYNTAX, error, "positions have three coordinates");
  }
  if (status == SAP_STATUS_OK) {
    status = take_groups(out, array, skip, stride, axes, error);
  }
  out->source = status == SAP_STATUS_OK ? source : NULL;
  return status;
}
