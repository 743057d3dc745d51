// SPDX-License-Identifier: BSD-3-Clause
// From a file to the tree of xml.h, by libxml2.
#include <errno.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "io/xml/xml.h"

enum {
  PIECE_BYTES = 1 << 16,
  MAX_FILE_BYTES = 1 << 28,  // 256 MiB: no scene is that long
  MAX_DEPTH = 200,           // nested elements of one file; bounds every recursion over the tree
};

typedef struct parse_state {
  const char* path;
  bool text;    // keep what stands between tags, however long
  bool failed;  // `error` is filled
  sap_error error;
} parse_state;

static void on_error(void* context, xmlErrorPtr problem) {
  xmlParserCtxtPtr parser = context;
  parse_state* state = parser->_private;
  // Namespace complaints are none of ours: prefixes are part of a name here. Nor is the version:
  // some well-known robots say 0.0.
  if (state->failed || problem->level < XML_ERR_ERROR || problem->domain == XML_FROM_NAMESPACE ||
      problem->code == XML_ERR_UNKNOWN_VERSION) {
    return;
  }
  char text[256];
  (void)snprintf(text, sizeof text, "%s", problem->message != NULL ? problem->message : "error");
  const size_t length = strcspn(text, "\n");
  state->failed = true;
  (void)sap_fail(&state->error,
                 problem->code == XML_ERR_NO_MEMORY ? SAP_STATUS_MEMORY : SAP_STATUS_SYNTAX,
                 "%.200s:%d: XML: %.*s", state->path, problem->line, (int)length, text);
}

// Entities can multiply without bound and scenes have no use for them.
static void on_document_type(void* context, const xmlChar* name, const xmlChar* external,
                             const xmlChar* system) {
  (void)name;
  (void)external;
  (void)system;
  xmlParserCtxtPtr parser = context;
  parse_state* state = parser->_private;
  if (!state->failed) {
    state->failed = true;
    (void)sap_fail(&state->error, SAP_STATUS_SYNTAX,
                   "%.200s:%d: XML: a document type definition is not allowed", state->path,
                   parser->input != NULL ? parser->input->line : 1);
  }
  xmlStopParser(parser);
}

static const char* copy_name(sap_xml_store* store, const xmlNs* ns, const xmlChar* name) {
  const char* prefix = ns != NULL ? (const char*)ns->prefix : NULL;
  return sap_xml_join(store, prefix, prefix != NULL ? ":" : NULL, (const char*)name);
}

static bool copy_attributes(sap_xml_store* store, const xmlNode* from, sap_xml_node* to) {
  int32_t count = 0;
  for (const xmlAttr* a = from->properties; a != NULL; a = a->next) {
    ++count;
  }
  to->attributes = sap_xml_allocate(store, (size_t)count * sizeof *to->attributes);
  if (to->attributes == NULL) {
    return false;
  }
  for (const xmlAttr* a = from->properties; a != NULL; a = a->next) {
    xmlChar* value = xmlNodeListGetString(from->doc, a->children, 1);
    sap_xml_attribute* out = &to->attributes[to->nattributes++];
    out->name = copy_name(store, a->ns, a->name);
    out->value = sap_xml_join(store, (const char*)value, NULL, NULL);
    const bool ok = out->name != NULL && out->value != NULL && (value != NULL || !a->children);
    xmlFree(value);
    if (!ok) {
      return false;
    }
  }
  return true;
}

static bool copy_text(sap_xml_store* store, const xmlNode* from, sap_xml_node* to) {
  xmlChar* text = xmlNodeListGetString(from->doc, from->children, 1);
  to->text = text != NULL ? sap_xml_join(store, (const char*)text, NULL, NULL) : NULL;
  const bool good = text == NULL || to->text != NULL;
  xmlFree(text);
  return good;
}

static sap_xml_node* copy_node(sap_xml_store* store, const parse_state* state, const char* file,
                               const xmlNode* from) {
  sap_xml_node* node = sap_xml_allocate(store, sizeof *node);
  if (node == NULL) {
    return NULL;
  }
  node->file = file;
  node->line = (int32_t)xmlGetLineNo(from);
  node->name = copy_name(store, from->ns, from->name);
  if (node->name == NULL || !copy_attributes(store, from, node) ||
      (state->text && !copy_text(store, from, node))) {
    return NULL;
  }
  for (const xmlNode* child = from->children; child != NULL; child = child->next) {
    if (child->type != XML_ELEMENT_NODE) {
      continue;
    }
    sap_xml_node* copy = copy_node(store, state, file, child);
    if (copy == NULL) {
      return NULL;
    }
    copy->parent = node;
    if (node->last_child != NULL) {
      node->last_child->next = copy;
    } else {
      node->first_child = copy;
    }
    node->last_child = copy;
  }
  return node;
}

static int depth_of(const xmlNode* root) {
  int depth = 1, deepest = 1;
  for (const xmlNode* node = root; node != NULL;) {
    if (node->type == XML_ELEMENT_NODE && node->children != NULL) {
      node = node->children;
      ++depth;
      deepest = depth > deepest ? depth : deepest;
      continue;
    }
    while (node != root && node->next == NULL) {
      node = node->parent;
      --depth;
    }
    node = node == root ? NULL : node->next;
  }
  return deepest;
}

static sap_status read_bytes(const char* path, char** bytes, size_t* size, sap_error* error) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    return sap_fail(error, SAP_STATUS_IO, "%.300s: cannot open: %s", path, strerror(errno));
  }
  sap_status status = SAP_STATUS_OK;
  int32_t capacity = 0;
  *size = 0;
  for (;;) {
    if (*size >= MAX_FILE_BYTES) {
      status =
          sap_fail(error, SAP_STATUS_IO, "%.300s: larger than %d bytes", path, (int)MAX_FILE_BYTES);
      break;
    }
    status = SAP_GROW(bytes, &capacity, (int32_t)*size + PIECE_BYTES, error);
    if (status != SAP_STATUS_OK) {
      break;
    }
    const size_t got = fread(*bytes + *size, 1, PIECE_BYTES, file);
    *size += got;
    if (got < PIECE_BYTES) {
      if (ferror(file)) {
        status = sap_fail(error, SAP_STATUS_IO, "%.300s: cannot read: %s", path, strerror(errno));
      }
      break;
    }
  }
  (void)fclose(file);
  return status;
}

static sap_status parse(sap_xml_store* store, parse_state* state, const char* bytes, size_t size,
                        sap_xml_node** root) {
  xmlParserCtxtPtr parser = xmlNewParserCtxt();
  if (parser == NULL) {
    return sap_fail(&state->error, SAP_STATUS_MEMORY, "out of memory");
  }
  parser->_private = state;
  parser->sax->serror = on_error;
  parser->sax->internalSubset = on_document_type;
  xmlDocPtr document = xmlCtxtReadMemory(
      parser, bytes, (int)size, NULL, NULL,
      XML_PARSE_NONET | XML_PARSE_NOBLANKS | XML_PARSE_NOCDATA | XML_PARSE_COMPACT |
          XML_PARSE_BIG_LINES | XML_PARSE_RECOVER | (state->text ? XML_PARSE_HUGE : 0));
  sap_status status = SAP_STATUS_OK;
  xmlNode* top = document != NULL ? xmlDocGetRootElement(document) : NULL;
  if (state->failed) {
    status = state->error.status;
  } else if (top == NULL) {
    status =
        sap_fail(&state->error, SAP_STATUS_SYNTAX, "%.200s:1: XML: no root element", state->path);
  } else if (depth_of(top) > MAX_DEPTH) {
    status = sap_fail(&state->error, SAP_STATUS_SYNTAX,
                      "%.200s:1: XML: elements are nested more than %d deep", state->path,
                      (int)MAX_DEPTH);
  } else {
    const char* file = sap_xml_join(store, state->path, NULL, NULL);
    *root = file != NULL ? copy_node(store, state, file, top) : NULL;
    if (*root == NULL) {
      status = sap_fail(&state->error, SAP_STATUS_MEMORY, "%.200s: out of memory", state->path);
    }
  }
  xmlFreeDoc(document);
  xmlFreeParserCtxt(parser);
  return status;
}

static sap_status parse_all(sap_xml_store* store, parse_state* state, const char* bytes,
                            size_t size, sap_xml_node** root, sap_error* error) {
  const sap_status status = parse(store, state, bytes, size, root);
  return status == SAP_STATUS_OK ? status : sap_fail(error, status, "%s", state->error.message);
}

sap_status sap_xml_parse(sap_xml_store* store, const char* path, const char* bytes, size_t size,
                         sap_xml_node** root, sap_error* error) {
  parse_state state = {.path = path, .text = true};
  *root = NULL;
  if (size > MAX_FILE_BYTES) {
    return sap_fail(error, SAP_STATUS_IO, "%.300s: larger than %d bytes", path,
                    (int)MAX_FILE_BYTES);
  }
  return parse_all(store, &state, bytes, size, root, error);
}

sap_status sap_xml_read(sap_xml_store* store, const char* path, sap_xml_node** root,
                        sap_error* error) {
  *root = NULL;
  char* bytes = NULL;
  size_t size = 0;
  sap_status status = read_bytes(path, &bytes, &size, error);
  if (status == SAP_STATUS_OK) {
    sap_scene_tell_file(sap_xml_store_options(store), path, bytes, size);
  }
  if (status == SAP_STATUS_OK && size == 0) {
    status = sap_fail(error, SAP_STATUS_SYNTAX, "%.300s:1: the file is empty", path);
  }
  if (status == SAP_STATUS_OK && size >= 4 && memcmp(bytes, "\x89HDF", 4) == 0) {
    status =
        sap_fail(error, SAP_STATUS_SYNTAX,
                 "%.300s: an HDF5 file, of a recording or of contact problems, is no scene", path);
  }
  if (status == SAP_STATUS_OK) {
    parse_state state = {.path = path};
    status = parse_all(store, &state, bytes, size, root, error);
  }
  sap_free(bytes);
  return status;
}
