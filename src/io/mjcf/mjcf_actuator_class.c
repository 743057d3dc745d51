// SPDX-License-Identifier: BSD-3-Clause
// Which of an actuator's defaults have a word in its law.
#include <string.h>

#include "io/mjcf/mjcf_actuator.h"

typedef sap_mjcf_actuator_law law;

static bool is_general(const sap_xml_node* node) {
  return sap_xml_is(node, "general");
}

// A class holds the law of the kind that it names last; <general> takes what stands before it for
// any kind. So an element of some kind, or a class that begins with it, builds on the nearest class
// that holds its own kind or <general>.
static bool builds_on(const sap_mjcf_sources* s, int32_t last, const char* kind) {
  return strcmp(kind, "general") == 0 || is_general(s->nodes[last]) ||
         sap_xml_is(s->nodes[last], kind);
}

// used[i]: has source i a word in the element's law?
static void find_words(const sap_mjcf_sources* s, bool* used) {
  const int32_t element = s->count - 1;
  const char* kind = s->nodes[element]->name;
  used[element] = true;
  for (int32_t last = element - 1; last >= 0;) {
    int32_t first = last;
    while (first > 0 && s->nodes[first - 1]->parent == s->nodes[last]->parent) {
      --first;
    }
    const bool use = builds_on(s, last, kind);
    for (int32_t i = first; i <= last; ++i) {
      used[i] = use;
    }
    kind = use ? s->nodes[first]->name : kind;
    last = first - 1;
  }
}

sap_status sap_mjcf_read_law(sap_mjcf_reader* r, const sap_mjcf_sources* s, law* l) {
  // MuJoCo's, before any default.
  const law none = {.gain = {1.0}, .time = {1.0}, .activation_count = -1};
  bool used[SAP_MJCF_MAX_SOURCES];
  const sap_xml_node* before = NULL;
  sap_status status = SAP_STATUS_OK;
  find_words(s, used);
  *l = none;
  for (int32_t i = 0; i < s->count && status == SAP_STATUS_OK; ++i) {
    const sap_xml_node* node = s->nodes[i];
    if (!used[i]) {
      continue;
    }
    const bool other = before != NULL && !is_general(before) && !sap_xml_is(before, node->name);
    if (sap_xml_is(node, "motor") || (other && !is_general(node))) {
      *l = none;  // one kind takes nothing of another
    }
    status = sap_mjcf_apply_element(r, node, l);
    before = node;
  }
  return status;
}
