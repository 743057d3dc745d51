// SPDX-License-Identifier: BSD-3-Clause
// <include file="..."/> of MJCF: replaced by the children of the named file's root. Files are
// looked for in the folder of the main file. As in MuJoCo a file may be included once only, which
// also rules out cycles.
#include <string.h>

#include "io/mjcf/mjcf.h"

// A path that is being or has been included.
typedef struct included {
  const char* path;
  const struct included* next;
} included;

typedef struct includer {
  sap_xml_store* store;
  const char* path;  // the main file
  included* files;
  sap_error* error;
} includer;

const char* sap_mjcf_sibling(sap_xml_store* store, const char* path, const char* file) {
  const char* folder = file[0] == '/' ? "" : sap_xml_folder(store, path);
  return folder != NULL ? sap_xml_join(store, folder, file, NULL) : NULL;
}

static sap_status note_file(includer* in, const char* path, const sap_xml_node* node) {
  for (const included* f = in->files; f != NULL; f = f->next) {
    if (strcmp(f->path, path) == 0) {
      return sap_xml_fail(node, "file", SAP_STATUS_SYNTAX, in->error,
                          "'%.200s' is included in itself or more than once", path);
    }
  }
  included* f = sap_xml_allocate(in->store, sizeof *f);
  if (f == NULL) {
    return sap_fail(in->error, SAP_STATUS_MEMORY, "out of memory");
  }
  *f = (included){path, in->files};
  in->files = f;
  return SAP_STATUS_OK;
}

static sap_status read_included(includer* in, const sap_xml_node* node, sap_xml_node** root) {
  const char* file = sap_xml_get(node, "file");
  if (file == NULL || node->first_child != NULL || node->nattributes != 1) {
    return sap_xml_fail(node, NULL, SAP_STATUS_SYNTAX, in->error,
                        "must have the attribute 'file' and nothing else");
  }
  const char* path = sap_mjcf_sibling(in->store, in->path, file);
  if (path == NULL) {
    return sap_fail(in->error, SAP_STATUS_MEMORY, "out of memory");
  }
  sap_status status = note_file(in, path, node);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_read(in->store, path, root, in->error);
    status = status == SAP_STATUS_IO ? sap_xml_locate(node, status, in->error) : status;
  }
  return status;
}

static sap_status expand(includer* in, sap_xml_node* node) {
  sap_xml_node* previous = NULL;
  for (sap_xml_node* child = node->first_child; child != NULL;) {
    if (!sap_xml_is(child, "include")) {
      const sap_status status = expand(in, child);
      if (status != SAP_STATUS_OK) {
        return status;
      }
      previous = child;
      child = child->next;
      continue;
    }
    sap_xml_node* root = NULL;
    const sap_status status = read_included(in, child, &root);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    for (sap_xml_node* c = root->first_child; c != NULL; c = c->next) {
      c->parent = node;
    }
    sap_xml_node* first = root->first_child != NULL ? root->first_child : child->next;
    if (root->last_child != NULL) {
      root->last_child->next = child->next;
    }
    if (node->last_child == child) {
      node->last_child = root->last_child != NULL ? root->last_child : previous;
    }
    if (previous != NULL) {
      previous->next = first;
    } else {
      node->first_child = first;
    }
    child = first;  // what came in may include more
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_include(sap_xml_store* store, const char* path, sap_xml_node* root,
                            sap_error* error) {
  includer in = {.store = store, .path = path, .error = error};
  const sap_status status = note_file(&in, path, root);
  return status == SAP_STATUS_OK ? expand(&in, root) : status;
}
