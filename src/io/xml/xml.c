// SPDX-License-Identifier: BSD-3-Clause
#include "io/xml/xml.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/file.h"
#include "core/memory.h"

enum {
  CHUNK_BYTES = 1 << 16,
  MAX_ALLOCATION = 1 << 29,  // no text of a scene is that long
};

typedef struct chunk {
  struct chunk* next;
  size_t used, size;
} chunk;

// The payload starts at the next aligned address behind the header.
enum { CHUNK_HEADER = 64 };

struct sap_xml_store {
  chunk* chunks;
  const sap_scene_options* options;  // may be NULL
};

sap_status sap_xml_store_create(sap_xml_store** out, sap_error* error) {
  *out = sap_allocate(1, sizeof **out);
  return *out != NULL ? SAP_STATUS_OK : sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
}

void sap_xml_store_tell(sap_xml_store* store, const sap_scene_options* options) {
  store->options = options;
}

const sap_scene_options* sap_xml_store_options(const sap_xml_store* store) {
  return store->options;
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

void* sap_xml_allocate(sap_xml_store* store, size_t bytes) {
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

char* sap_xml_folder(sap_xml_store* store, const char* path) {
  const bool pipe = sap_file_readable(path, NULL) == SAP_STATUS_OK &&
                    sap_file_regular(path, NULL) != SAP_STATUS_OK;
  const char* slash = pipe ? NULL : strrchr(path, '/');
  const size_t length = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  char* folder = sap_xml_allocate(store, length + 1);
  if (folder != NULL) {
    memcpy(folder, path, length);
  }
  return folder;
}

const char* sap_xml_join(sap_xml_store* store, const char* a, const char* b, const char* c) {
  const char* const parts[3] = {a, b, c};
  size_t length = 0;
  for (int i = 0; i < 3; ++i) {
    length += parts[i] != NULL ? strlen(parts[i]) : 0;
  }
  char* text = sap_xml_allocate(store, length + 1);
  if (text == NULL) {
    return NULL;
  }
  size_t at = 0;
  for (int i = 0; i < 3; ++i) {
    const size_t n = parts[i] != NULL ? strlen(parts[i]) : 0;
    memcpy(text + at, parts[i] != NULL ? parts[i] : "", n);
    at += n;
  }
  return text;
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

const sap_xml_node* sap_xml_child(const sap_xml_node* node, const char* name) {
  for (const sap_xml_node* child = node->first_child; child != NULL; child = child->next) {
    if (sap_xml_is(child, name)) {
      return child;
    }
  }
  return NULL;
}

sap_status sap_xml_fail(const sap_xml_node* node, const char* attribute, sap_status status,
                        sap_error* error, const char* format, ...) {
  char text[SAP_ERROR_MESSAGE_SIZE];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  const char* value = attribute != NULL ? sap_xml_get(node, attribute) : NULL;
  if (value != NULL) {
    return sap_fail(error, status, "%.200s:%d: <%.60s %.60s=\"%.60s%s\">: %s", node->file,
                    (int)node->line, node->name, attribute, value, strlen(value) > 60 ? "..." : "",
                    text);
  }
  return sap_fail(error, status, "%.200s:%d: <%.60s>: %s", node->file, (int)node->line, node->name,
                  text);
}

sap_status sap_xml_locate(const sap_xml_node* node, sap_status status, sap_error* error) {
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "%.200s:%d: <%.60s>", node->file, (int)node->line, node->name);
  }
  return status;
}
