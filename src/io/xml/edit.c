// SPDX-License-Identifier: BSD-3-Clause
// Edits of a scene's XML elements by path, sap_scene_edit.
#include "io/xml/schema.h"

#include <stdlib.h>
#include <string.h>

enum { PARTS_MAX = 8, PATH_SIZE = 256 };
static const char blanks[] = " \t\r\n";

// The parts of a path: element, name, children, attribute and the index in its list.
typedef struct edit_path {
  char text[PATH_SIZE];
  char* parts[PARTS_MAX];
  int count;
  long component;  // -1: the whole value
} edit_path;

static bool read_component(edit_path* path) {
  char* open = strchr(path->parts[path->count - 1], '[');
  path->component = -1;
  if (open == NULL) {
    return true;
  }
  char* end;
  path->component = strtol(open + 1, &end, 10);
  *open = '\0';
  return end != open + 1 && strcmp(end, "]") == 0 && path->component >= 0;
}

static bool read_path(const char* text, edit_path* path) {
  path->count = 0;
  if (text == NULL || strlen(text) >= PATH_SIZE) {
    return false;
  }
  strcpy(path->text, text);
  char* part = path->text;
  while (part != NULL && path->count < PARTS_MAX) {
    char* slash = strchr(part, '/');
    if (slash != NULL) {
      *slash++ = '\0';
    }
    if (part[0] == '\0') {
      return false;
    }
    path->parts[path->count++] = part;
    part = slash;
  }
  return part == NULL && path->count >= 3 && read_component(path);
}

static bool is_named(const sap_xml_node* node, const edit_path* path) {
  if (!sap_xml_is(node, path->parts[0])) {
    return false;
  }
  const char* name = sap_xml_get(node, "name");
  const char* key = name == NULL && sap_xml_is(node, "default") ? sap_xml_get(node, "class") : name;
  return strcmp(path->parts[1], "*") == 0 || (key != NULL && strcmp(key, path->parts[1]) == 0);
}

// Writes `list` with one word replaced by `value`; NULL: there is no such word.
static sap_status replace_word(sap_xml_store* store, const char* list, long component,
                               const char* value, const char** out, sap_error* error) {
  const char* at = list + strspn(list, blanks);
  *out = NULL;
  for (long i = 0; i < component && *at != '\0'; ++i) {
    at += strcspn(at, blanks);
    at += strspn(at, blanks);
  }
  if (*at == '\0') {
    return SAP_STATUS_OK;
  }
  const size_t before = (size_t)(at - list);
  char* head;
  SAP_TRY(SAP_POOL_ADD(&store->pool, &head, before + 1, error));
  memcpy(head, list, before);
  return sap_xml_join(store, head, value, at + strcspn(at, blanks), out, error);
}

static sap_status change_attribute(sap_xml_store* store, sap_xml_node* node, int32_t index,
                                   const edit_path* path, const char* value, sap_error* error) {
  sap_xml_attribute* attribute = &node->attributes[index];
  const char* text = NULL;
  SAP_TRY(path->component < 0
              ? sap_xml_join(store, value, NULL, NULL, &text, error)
              : replace_word(store, attribute->value, path->component, value, &text, error));
  SAP_RETURN_IF(text == NULL, sap_xml_fail(node, attribute->name, SAP_STATUS_ARGUMENT, error,
                                           "has no value [%ld] to change", path->component));
  attribute->value = text;
  return SAP_STATUS_OK;
}

static sap_status add_attribute(sap_xml_store* store, sap_xml_node* node, const char* name,
                                const char* value, sap_error* error) {
  const size_t count = (size_t)node->nattributes;
  sap_xml_attribute* grown;
  SAP_TRY(SAP_POOL_ADD(&store->pool, &grown, count + 1, error));
  if (count > 0) {
    memcpy(grown, node->attributes, count * sizeof *grown);
  }
  SAP_TRY(sap_xml_join(store, name, NULL, NULL, &grown[count].name, error));
  SAP_TRY(sap_xml_join(store, value, NULL, NULL, &grown[count].value, error));
  node->attributes = grown;
  ++node->nattributes;
  return SAP_STATUS_OK;
}

static sap_status set_attribute(sap_xml_store* store, sap_xml_node* node, const edit_path* path,
                                const char* value, sap_error* error) {
  const char* name = path->parts[path->count - 1];
  for (int32_t i = 0; i < node->nattributes; ++i) {
    if (strcmp(node->attributes[i].name, name) == 0) {
      return change_attribute(store, node, i, path, value, error);
    }
  }
  return path->component < 0 ? add_attribute(store, node, name, value, error)
                             : sap_xml_fail(node, NULL, SAP_STATUS_ARGUMENT, error,
                                            "has no attribute '%s' with a value [%ld] to change",
                                            name, path->component);
}

// Follows the children of a path; NULL: one is absent.
static sap_xml_node* descend(sap_xml_node* node, const edit_path* path) {
  for (int i = 2; node != NULL && i + 1 < path->count; ++i) {
    sap_xml_node* child = node->first_child;
    while (child != NULL && !sap_xml_is(child, path->parts[i])) {
      child = child->next;
    }
    node = child;
  }
  return node;
}

// Applies an edit to the elements of a subtree that its path names, and counts them.
static sap_status edit_below(sap_xml_store* store, sap_xml_node* node, const edit_path* path,
                             const char* value, int64_t* changed, sap_error* error) {
  sap_xml_node* target = is_named(node, path) ? descend(node, path) : NULL;
  if (target != NULL) {
    SAP_TRY(set_attribute(store, target, path, value, error));
    ++*changed;
  }
  for (sap_xml_node* child = node->first_child; child != NULL; child = child->next) {
    SAP_TRY(edit_below(store, child, path, value, changed, error));
  }
  return SAP_STATUS_OK;
}

static sap_status apply_edit(sap_xml_store* store, sap_xml_node* root, const sap_scene_edit* edit,
                             sap_error* error) {
  edit_path path;
  SAP_FAIL_IF(edit->value == NULL || !read_path(edit->path, &path), error, SAP_STATUS_ARGUMENT,
              "'%.200s' must be ELEMENT/NAME/ATTRIBUTE", edit->path != NULL ? edit->path : "");
  int64_t changed = 0;
  SAP_TRY(edit_below(store, root, &path, edit->value, &changed, error));
  return changed > 0 ? SAP_STATUS_OK
                     : sap_fail(error, SAP_STATUS_ARGUMENT, "%.200s has no element for '%.200s'",
                                root->file, edit->path);
}

sap_status sap_scene_apply_edits(sap_xml_store* store, sap_xml_node* root,
                                 const sap_scene_options* options, sap_error* error) {
  for (int32_t i = 0; i < options->edit_count; ++i) {
    SAP_TRY(apply_edit(store, root, &options->edits[i], error));
  }
  return SAP_STATUS_OK;
}
