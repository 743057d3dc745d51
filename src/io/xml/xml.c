// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/xml.h"

#include <errno.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"

enum {
  CHUNK_BYTES = 1 << 16,
  CHUNK_HEADER = 64,         // the payload starts at the next aligned address after the header
  MAX_ALLOCATION = 1 << 29,  // longer than any text of a scene
  PIECE_BYTES = 1 << 16,
  MAX_FILE_BYTES = 1 << 28,  // 256 MiB: longer than any scene
  MAX_DEPTH = 200,           // nested elements of one file; bounds every recursion over the tree
  MAX_ATTRIBUTES = 1000      // of an element: libxml2 needs time by their square
};

// --- store --------------------------------------------------------------------------------------

typedef struct chunk {
  struct chunk* next;
  size_t used, size;
} chunk;

// A file that options->file has been called with.
typedef struct reported_file {
  const char* path;
  struct reported_file* next;
} reported_file;

struct sap_xml_store {
  chunk* chunks;
  const sap_scene_options* options;  // may be NULL
  reported_file* reported;
};

sap_status sap_xml_store_create(const sap_scene_options* options, sap_xml_store** out,
                                sap_error* error) {
  SAP_TRY(SAP_NEW(out, 1, "element", error));
  (*out)->options = options;
  return SAP_STATUS_OK;
}

void sap_xml_store_destroy(sap_xml_store* store) {
  if (store == NULL) {
    return;
  }
  while (store->chunks != NULL) {
    chunk* next = store->chunks->next;
    sap_free(store->chunks);
    store->chunks = next;
  }
  sap_free(store);
}

// Returns NULL for lack of memory.
static void* allocate(sap_xml_store* store, size_t bytes) {
  if (bytes > MAX_ALLOCATION) {
    return NULL;
  }
  const size_t rounded = (bytes + 15) / 16 * 16;
  chunk* top = store->chunks;
  if (top == NULL || top->size - top->used < rounded) {
    const size_t size = rounded > CHUNK_BYTES ? rounded : CHUNK_BYTES;
    top = sap_allocate(CHUNK_HEADER + size, 1);
    if (top == NULL) {
      return NULL;
    }
    top->size = size;
    top->next = store->chunks;
    store->chunks = top;
  }
  void* memory = (char*)top + CHUNK_HEADER + top->used;
  top->used += rounded;
  return memory;
}

sap_status sap_xml_new(sap_xml_store* store, void* array, size_t bytes, sap_error* error) {
  void* memory = allocate(store, bytes);
  memcpy(array, &memory, sizeof memory);
  return memory != NULL ? SAP_STATUS_OK : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
}

// NULL for lack of memory.
static const char* join_texts(sap_xml_store* store, const char* a, const char* b, const char* c) {
  const char* const parts[3] = {a != NULL ? a : "", b != NULL ? b : "", c != NULL ? c : ""};
  char* text = allocate(store, strlen(parts[0]) + strlen(parts[1]) + strlen(parts[2]) + 1);
  char* end = text;
  for (int i = 0; i < 3 && text != NULL; ++i) {
    const size_t length = strlen(parts[i]);
    memcpy(end, parts[i], length);
    end += length;
  }
  return text;
}

sap_status sap_xml_join(sap_xml_store* store, const char* a, const char* b, const char* c,
                        const char** out, sap_error* error) {
  *out = join_texts(store, a, b, c);
  return *out != NULL ? SAP_STATUS_OK : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
}

sap_status sap_xml_folder(sap_xml_store* store, const char* path, const char** out,
                          sap_error* error) {
  const bool pipe = sap_file_readable(path, NULL) == SAP_STATUS_OK &&
                    sap_file_regular(path, NULL) != SAP_STATUS_OK;
  const char* slash = pipe ? NULL : strrchr(path, '/');
  const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  char* folder;
  SAP_TRY(SAP_XML_NEW(store, &folder, length + 1, error));
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
  for (const reported_file* f = store->reported; f != NULL; f = f->next) {
    if (strcmp(f->path, path) == 0) {
      return SAP_STATUS_OK;
    }
  }
  reported_file* file;
  SAP_TRY(SAP_XML_NEW(store, &file, 1, error));
  SAP_TRY(sap_xml_join(store, path, NULL, NULL, &file->path, error));
  file->next = store->reported;
  store->reported = file;
  options->file(options->file_context, path, bytes, size);
  return SAP_STATUS_OK;
}

// --- reading ------------------------------------------------------------------------------------

typedef struct parse_state {
  const char* path;
  bool failed;    // `error` is filled
  bool too_deep;  // elements are nested more than MAX_DEPTH deep
  sap_error error;
} parse_state;

// Namespace errors are ignored because prefixes are part of a name here. So is an unknown XML
// version: some well-known robots have version="0.0".
static void on_error(void* context, xmlErrorPtr problem) {
  xmlParserCtxtPtr parser = context;
  parse_state* state = parser->_private;
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

// Refuses entities: they can multiply without bound, and scenes do not need them.
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
  return join_texts(store, prefix, prefix != NULL ? ":" : NULL, (const char*)name);
}

static bool copy_attributes(sap_xml_store* store, const xmlNode* from, sap_xml_node* to) {
  size_t count = 0;
  for (const xmlAttr* a = from->properties; a != NULL; a = a->next) {
    ++count;
  }
  to->attributes = allocate(store, count * sizeof *to->attributes);
  if (to->attributes == NULL) {
    return false;
  }
  for (const xmlAttr* a = from->properties; a != NULL; a = a->next) {
    xmlChar* value = xmlNodeListGetString(from->doc, a->children, 1);
    sap_xml_attribute* out = &to->attributes[to->nattributes++];
    out->name = copy_name(store, a->ns, a->name);
    out->value = join_texts(store, (const char*)value, NULL, NULL);
    const bool ok = out->name != NULL && out->value != NULL && (value != NULL || !a->children);
    xmlFree(value);
    if (!ok) {
      return false;
    }
  }
  return true;
}

// Returns NULL for lack of memory, or if elements are nested too deep.
static sap_xml_node* copy_node(sap_xml_store* store, parse_state* state, const char* file,
                               const xmlNode* from, int depth) {
  sap_xml_node* node = allocate(store, sizeof *node);
  state->too_deep = depth > MAX_DEPTH;
  if (node == NULL || state->too_deep) {
    return NULL;
  }
  node->file = file;
  node->line = (int32_t)xmlGetLineNo(from);
  node->name = copy_name(store, from->ns, from->name);
  if (node->name == NULL || !copy_attributes(store, from, node)) {
    return NULL;
  }
  for (const xmlNode* child = from->children; child != NULL; child = child->next) {
    if (child->type != XML_ELEMENT_NODE) {
      continue;
    }
    sap_xml_node* copy = copy_node(store, state, file, child, depth + 1);
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

// Reads in pieces, because the file may be a pipe. *bytes belongs to the caller, also on failure.
static sap_status read_pieces(FILE* file, const char* path, size_t most, char** bytes, size_t* size,
                              sap_error* error) {
  int32_t capacity = 0;
  for (size_t got = PIECE_BYTES; got == PIECE_BYTES; *size += got) {
    if (*size >= most) {
      return sap_fail(error, SAP_STATUS_IO, "%.300s: larger than %zu bytes", path, most);
    }
    SAP_TRY(SAP_GROW(bytes, &capacity, (int32_t)*size + PIECE_BYTES, error));
    got = fread(*bytes + *size, 1, PIECE_BYTES, file);
  }
  return ferror(file)
             ? sap_fail(error, SAP_STATUS_IO, "%.300s: cannot read: %s", path, strerror(errno))
             : SAP_STATUS_OK;
}

sap_status sap_scene_read_bytes(const char* path, size_t most, char** bytes, size_t* size,
                                sap_error* error) {
  FILE* file = fopen(path, "rb");
  if (file == NULL) {
    return sap_fail(error, SAP_STATUS_IO, "%.300s: cannot open: %s", path, strerror(errno));
  }
  const sap_status status = read_pieces(file, path, most, bytes, size, error);
  (void)fclose(file);
  return status;
}

// Copies the document to the store; fills state->error.
static sap_status copy_document(sap_xml_store* store, parse_state* state, const xmlNode* top,
                                sap_xml_node** root) {
  if (state->failed) {
    return state->error.status;
  }
  if (top == NULL) {
    return sap_fail(&state->error, SAP_STATUS_SYNTAX, "%.200s:1: XML: no root element",
                    state->path);
  }
  const char* file = join_texts(store, state->path, NULL, NULL);
  *root = file != NULL ? copy_node(store, state, file, top, 1) : NULL;
  if (state->too_deep) {
    return sap_fail(&state->error, SAP_STATUS_SYNTAX,
                    "%.200s:1: XML: elements are nested more than %d deep", state->path,
                    (int)MAX_DEPTH);
  }
  return *root != NULL
             ? SAP_STATUS_OK
             : sap_fail(&state->error, SAP_STATUS_MEMORY, "%.200s: out of memory", state->path);
}

static sap_status parse_bytes(sap_xml_store* store, const char* path, const char* bytes,
                              size_t size, sap_xml_node** root, sap_error* error) {
  parse_state state = {.path = path};
  xmlParserCtxtPtr parser = xmlNewParserCtxt();
  if (parser == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
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
  return status == SAP_STATUS_OK ? status : sap_fail(error, status, "%s", state.error.message);
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
    if (count > MAX_ATTRIBUTES) {
      return sap_fail(error, SAP_STATUS_SYNTAX,
                      "%.300s:%d: XML: an element has more than %d attributes", path, tag_line,
                      (int)MAX_ATTRIBUTES);
    }
  }
  return SAP_STATUS_OK;
}

static sap_status read_root(sap_xml_store* store, const char* path, const char* bytes, size_t size,
                            sap_xml_node** root, sap_error* error) {
  SAP_TRY(sap_scene_report_file(store, path, bytes, size, error));
  if (size == 0) {
    return sap_fail(error, SAP_STATUS_SYNTAX, "%.300s:1: the file is empty", path);
  }
  if (size >= 4 && memcmp(bytes, "\x89HDF", 4) == 0) {
    return sap_fail(error, SAP_STATUS_SYNTAX,
                    "%.300s: an HDF5 file (a recording or contact problems), not a scene", path);
  }
  SAP_TRY(check_tags(path, bytes, size, error));
  return parse_bytes(store, path, bytes, size, root, error);
}

sap_status sap_xml_read(sap_xml_store* store, const char* path, sap_xml_node** root,
                        sap_error* error) {
  char* bytes = NULL;
  size_t size = 0;
  *root = NULL;
  sap_status status = sap_scene_read_bytes(path, MAX_FILE_BYTES, &bytes, &size, error);
  if (status == SAP_STATUS_OK) {
    status = read_root(store, path, bytes, size, root, error);
  }
  sap_free(bytes);
  return status;
}

// --- tree ---------------------------------------------------------------------------------------

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

const sap_xml_node* sap_xml_child(const sap_xml_node* node, const char* name) {
  const sap_xml_node* child = node->first_child;
  while (child != NULL && !sap_xml_is(child, name)) {
    child = child->next;
  }
  return child;
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
