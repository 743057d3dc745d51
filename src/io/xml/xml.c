// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/xml.h"

#include <libxml/parser.h>
#include <libxml/tree.h>
#include <string.h>

#include "core/archive.h"
#include "core/file.h"

enum {
  MAX_FILE_BYTES = 1 << 28,  // 256 MiB: longer than any scene
  MAX_DEPTH = 200,           // nested elements of one file; bounds every recursion over the tree
  MAX_ATTRIBUTES = 1000      // of an element: libxml2 needs time by their square
};

// --- store --------------------------------------------------------------------------------------

sap_status sap_xml_join(sap_xml_store* store, const char* a, const char* b, const char* c,
                        const char** out, sap_error* error) {
  const char* const parts[3] = {a != NULL ? a : "", b != NULL ? b : "", c != NULL ? c : ""};
  char* end;
  SAP_TRY(SAP_POOL_ADD(&store->pool, &end,
                       strlen(parts[0]) + strlen(parts[1]) + strlen(parts[2]) + 1, error));
  *out = end;
  for (int i = 0; i < 3; ++i) {
    const size_t length = strlen(parts[i]);
    memcpy(end, parts[i], length);
    end += length;
  }
  return SAP_STATUS_OK;
}

sap_status sap_xml_folder(sap_xml_store* store, const char* path, const char** out,
                          sap_error* error) {
  const bool pipe = sap_file_readable(path, NULL) == SAP_STATUS_OK &&
                    sap_file_regular(path, NULL) != SAP_STATUS_OK;
  const char* slash = pipe ? NULL : strrchr(path, '/');
  const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  char* folder;
  SAP_TRY(SAP_POOL_ADD(&store->pool, &folder, length + 1, error));
  memcpy(folder, path, length);
  *out = folder;
  return SAP_STATUS_OK;
}

sap_status sap_xml_sibling(sap_xml_store* store, const char* path, const char* file,
                           const char** out, sap_error* error) {
  const char* folder = "";
  if (file[0] != '/') {
    SAP_TRY(sap_xml_folder(store, path, &folder, error));
  }
  return sap_xml_join(store, folder, file, NULL, out, error);
}

sap_status sap_scene_report_file(sap_xml_store* store, const char* path, const void* bytes,
                                 size_t size, sap_error* error) {
  const sap_scene_options* options = store->options;
  if (options == NULL || options->file == NULL) {
    return SAP_STATUS_OK;
  }
  for (const sap_reported_file* f = store->reported; f != NULL; f = f->next) {
    if (strcmp(f->path, path) == 0) {
      return SAP_STATUS_OK;
    }
  }
  sap_reported_file* file;
  SAP_TRY(SAP_POOL_ADD(&store->pool, &file, 1, error));
  SAP_TRY(sap_xml_join(store, path, NULL, NULL, &file->path, error));
  file->next = store->reported;
  store->reported = file;
  options->file(options->file_context, path, bytes, size);
  return SAP_STATUS_OK;
}

// --- reading ------------------------------------------------------------------------------------

typedef struct parse_state {
  const char* path;
  sap_status status;  // not OK: `error` is filled
  sap_error* error;
} parse_state;

// Namespace errors are ignored because prefixes are part of a name here. So is an unknown XML
// version: some well-known robots have version="0.0".
static void on_error(void* context, xmlErrorPtr problem) {
  xmlParserCtxtPtr parser = context;
  parse_state* state = parser->_private;
  if (state->status == SAP_STATUS_OK && problem->level >= XML_ERR_ERROR &&
      problem->domain != XML_FROM_NAMESPACE && problem->code != XML_ERR_UNKNOWN_VERSION) {
    const char* text = problem->message != NULL ? problem->message : "error";
    state->status = sap_fail(
        state->error, problem->code == XML_ERR_NO_MEMORY ? SAP_STATUS_MEMORY : SAP_STATUS_SYNTAX,
        "%.200s:%d: XML: %.*s", state->path, problem->line, (int)strcspn(text, "\n"), text);
  }
}

// Refuses entities: they can multiply without bound, and scenes do not need them.
static void on_document_type(void* context, const xmlChar* name, const xmlChar* external,
                             const xmlChar* system) {
  (void)name;
  (void)external;
  (void)system;
  xmlParserCtxtPtr parser = context;
  parse_state* state = parser->_private;
  if (state->status == SAP_STATUS_OK) {
    state->status = sap_fail(state->error, SAP_STATUS_SYNTAX,
                             "%.200s:%d: XML: a document type definition is not allowed",
                             state->path, parser->input != NULL ? parser->input->line : 1);
  }
  xmlStopParser(parser);
}

// Names without a prefix are shared, because most of them are frequent.
static sap_status copy_name(sap_xml_store* store, const xmlNs* ns, const xmlChar* name,
                            const char** out, sap_error* error) {
  const char *prefix = ns != NULL ? (const char*)ns->prefix : NULL, *text = (const char*)name;
  if (prefix != NULL) {
    return sap_xml_join(store, prefix, ":", text, out, error);
  }
  const char** shared =
      &store->names[sap_hash(SAP_HASH_START, text, strlen(text)) % SAP_XML_SHARED_NAMES];
  if (*shared == NULL || strcmp(*shared, text) != 0) {
    SAP_TRY(sap_xml_join(store, text, NULL, NULL, shared, error));
  }
  *out = *shared;
  return SAP_STATUS_OK;
}

static sap_status copy_attributes(sap_xml_store* store, const xmlNode* from, sap_xml_node* to,
                                  sap_error* error) {
  size_t count = 0;
  for (const xmlAttr* a = from->properties; a != NULL; a = a->next) {
    ++count;
  }
  SAP_TRY(SAP_POOL_ADD(&store->pool, &to->attributes, count, error));
  for (const xmlAttr* a = from->properties; a != NULL; a = a->next) {
    sap_xml_attribute* out = &to->attributes[to->nattributes++];
    SAP_TRY(copy_name(store, a->ns, a->name, &out->name, error));
    xmlChar* value = xmlNodeListGetString(from->doc, a->children, 1);
    const sap_status status =
        value == NULL && a->children != NULL
            ? sap_fail(error, SAP_STATUS_MEMORY, "out of memory")
            : sap_xml_join(store, (const char*)value, NULL, NULL, &out->value, error);
    xmlFree(value);
    SAP_TRY(status);
  }
  return SAP_STATUS_OK;
}

// Copies a subtree at `depth` to the end of the parent's children (NULL: none).
static sap_status copy_node(sap_xml_store* store, const char* file, const xmlNode* from, int depth,
                            sap_xml_node* parent, sap_xml_node** out, sap_error* error) {
  SAP_FAIL_IF(depth > MAX_DEPTH, error, SAP_STATUS_SYNTAX,
              "%.200s:1: XML: elements are nested more than %d deep", file, (int)MAX_DEPTH);
  sap_xml_node* node;
  SAP_TRY(SAP_POOL_ADD(&store->pool, &node, 1, error));
  *out = node;
  node->file = file;
  node->line = (int32_t)xmlGetLineNo(from);
  if (parent != NULL) {
    sap_xml_append(parent, node);
  }
  SAP_TRY(copy_name(store, from->ns, from->name, &node->name, error));
  SAP_TRY(copy_attributes(store, from, node, error));
  for (const xmlNode* c = from->children; c != NULL; c = c->next) {
    sap_xml_node* child;
    SAP_TRY(c->type == XML_ELEMENT_NODE ? copy_node(store, file, c, depth + 1, node, &child, error)
                                        : SAP_STATUS_OK);
  }
  return SAP_STATUS_OK;
}

static sap_status copy_document(sap_xml_store* store, const parse_state* state, const xmlNode* top,
                                sap_xml_node** root) {
  const char* file;
  SAP_TRY(state->status);
  SAP_FAIL_IF(top == NULL, state->error, SAP_STATUS_SYNTAX, "%.200s:1: XML: no root element",
              state->path);
  SAP_TRY(sap_xml_join(store, state->path, NULL, NULL, &file, state->error));
  return copy_node(store, file, top, 1, NULL, root, state->error);
}

static sap_status parse_bytes(sap_xml_store* store, const char* path, const char* bytes,
                              size_t size, sap_xml_node** root, sap_error* error) {
  parse_state state = {.path = path, .error = error};
  xmlParserCtxtPtr parser = xmlNewParserCtxt();
  SAP_FAIL_IF(parser == NULL, error, SAP_STATUS_MEMORY, "out of memory");
  parser->_private = &state;
  parser->sax->serror = on_error;
  parser->sax->internalSubset = on_document_type;
  xmlDocPtr document =
      xmlCtxtReadMemory(parser, bytes, (int)size, NULL, NULL,
                        XML_PARSE_NONET | XML_PARSE_NOBLANKS | XML_PARSE_NOCDATA |
                            XML_PARSE_COMPACT | XML_PARSE_BIG_LINES | XML_PARSE_RECOVER);
  const xmlNode* top = document != NULL ? xmlDocGetRootElement(document) : NULL;
  const sap_status status = copy_document(store, &state, top, root);
  xmlFreeDoc(document);
  xmlFreeParserCtxt(parser);
  return status;
}

// Checks that no element has more than MAX_ATTRIBUTES attributes. An attribute is an equals sign
// before a quote; '<' begins an element (in a comment or string too) unless "! ?" follow, which
// begin comments and instructions. Zeros are half of UTF-16.
static sap_status check_tags(const char* path, const char* bytes, size_t size, sap_error* error) {
  static const char between[] = " \t\r\n";
  int line = 1, tag_line = 1, count = 0;
  bool element = false, equals = false;
  for (const char* at = bytes; at < bytes + size; ++at) {
    line += *at == '\n' ? 1 : 0;
    tag_line = *at == '<' ? line : tag_line;
    element = *at == '<' ? memchr("! ?", at[1], 3) == NULL : element;
    count = *at == '<' ? 0 : count + (element && equals && memchr("\"'", *at, 2) != NULL ? 1 : 0);
    equals = *at == '=' || (equals && memchr(between, *at, sizeof between) != NULL);
    SAP_FAIL_IF(count > MAX_ATTRIBUTES, error, SAP_STATUS_SYNTAX,
                "%.300s:%d: XML: an element has more than %d attributes", path, tag_line,
                (int)MAX_ATTRIBUTES);
  }
  return SAP_STATUS_OK;
}

static sap_status read_root(sap_xml_store* store, const char* path, const char* bytes, size_t size,
                            sap_xml_node** root, sap_error* error) {
  SAP_TRY(sap_scene_report_file(store, path, bytes, size, error));
  SAP_FAIL_IF(size == 0, error, SAP_STATUS_SYNTAX, "%.300s:1: the file is empty", path);
  SAP_FAIL_IF(size >= 4 && memcmp(bytes, "\x89HDF", 4) == 0, error, SAP_STATUS_SYNTAX,
              "%.300s: an HDF5 file (a recording or contact problems), not a scene", path);
  SAP_TRY(check_tags(path, bytes, size, error));
  return parse_bytes(store, path, bytes, size, root, error);
}

sap_status sap_xml_read(sap_xml_store* store, const char* path, sap_xml_node** root,
                        sap_error* error) {
  sap_pool pool = {.owner = "scene"};
  char* bytes;
  size_t size;
  *root = NULL;
  sap_status status = sap_file_read(path, MAX_FILE_BYTES, &pool, &bytes, &size, error);
  SAP_THEN(status, read_root(store, path, bytes, size, root, error));
  sap_pool_free(&pool);
  return status;
}

// --- tree ---------------------------------------------------------------------------------------

sap_xml_node* sap_xml_take_children(sap_xml_node* node) {
  sap_xml_node* children = node->first_child;
  node->first_child = node->last_child = NULL;
  return children;
}

void sap_xml_append(sap_xml_node* parent, sap_xml_node* child) {
  *(parent->last_child != NULL ? &parent->last_child->next : &parent->first_child) = child;
  parent->last_child = child;
  child->parent = parent;
  child->next = NULL;
}

const char* sap_xml_get(const sap_xml_node* node, const char* attribute) {
  for (int32_t i = 0; i < node->nattributes; ++i) {
    if (strcmp(node->attributes[i].name, attribute) == 0) {
      return node->attributes[i].value;
    }
  }
  return NULL;
}

bool sap_xml_is(const sap_xml_node* node, const char* name) {
  return strcmp(node->name, name) == 0;
}

static const sap_xml_node* find_named(const sap_xml_node* node, const char* name) {
  while (node != NULL && !sap_xml_is(node, name)) {
    node = node->next;
  }
  return node;
}

const sap_xml_node* sap_xml_child(const sap_xml_node* node, const char* name) {
  return find_named(node->first_child, name);
}

const sap_xml_node* sap_xml_twin(const sap_xml_node* child) {
  return find_named(child->next, child->name);
}

const sap_xml_node* sap_xml_next(const sap_xml_node* root, const char* section,
                                 const sap_xml_node* last) {
  const sap_xml_node* node = last != NULL ? last->next : NULL;
  const sap_xml_node* s = last != NULL ? last->parent->next : root->first_child;
  for (; node == NULL && s != NULL; s = s->next) {
    node = sap_xml_is(s, section) ? s->first_child : NULL;
  }
  return node;
}

sap_status sap_xml_locate_at(const sap_xml_node* node, const char* attribute, sap_status status,
                             sap_error* error) {
  const char* value = attribute != NULL ? sap_xml_get(node, attribute) : NULL;
  if (status != SAP_STATUS_OK && value != NULL) {
    sap_error_prefix(error, "%.200s:%d: <%.60s %.60s=\"%.60s%s\">", node->file, (int)node->line,
                     node->name, attribute, value, strlen(value) > 60 ? "..." : "");
  } else if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "%.200s:%d: <%.60s>", node->file, (int)node->line, node->name);
  }
  return status;
}
