// SPDX-License-Identifier: BSD-3-Clause
// What the names of quantities mean, and the columns they stand for.
#include "cli/quantity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static sap_status unknown_kind(const char* text, sap_error* error) {
  enum { KINDS = 32 };
  char list[256] = "", kind[64];
  const char* names[KINDS] = {"history"};
  int count = 1;
  (void)snprintf(kind, sizeof kind, "%.*s", (int)strcspn(text, ":"), text);
  for (int i = 0; quantity_kinds[i].name != NULL && count < KINDS; ++i) {
    names[count++] = quantity_kinds[i].name;
    (void)strcat(strcat(list, i > 0 ? ", " : ""), quantity_kinds[i].name);
  }
  const char* near = cli_suggest(kind, names, count);
  return near != NULL ? sap_fail(error, SAP_STATUS_ARGUMENT,
                                 "unknown quantity '%.80s', did you mean '%s'?", text, near)
                      : sap_fail(error, SAP_STATUS_ARGUMENT,
                                 "unknown quantity '%.80s'; there are %s and history", text, list);
}

// Some of the labels, as many as fit.
static sap_status unknown_column(const quantity* q, const char* part, sap_error* error) {
  char list[320] = "";
  for (int32_t i = 0; i < q->count; ++i) {
    const size_t used = strlen(list);
    if (used + strlen(q->columns[i].label) + 8 > sizeof list) {
      (void)strcat(list, ", ...");
      break;
    }
    (void)strcat(strcat(list, i > 0 ? ", " : ""), q->columns[i].label);
  }
  return sap_fail(error, SAP_STATUS_ARGUMENT, "'%s' has no '%.80s'; there %s%s", q->name, part,
                  q->count > 0 && q->columns[0].label[0] != '\0' ? "are " : "is nothing to choose",
                  list);
}

// "part" keeps "part" and "part:..."; of one label's parts the last may stand alone.
static sap_status filter(quantity* q, const char* part, sap_error* error) {
  const size_t length = strlen(part);
  int32_t kept = 0;
  for (int32_t i = 0; i < q->count; ++i) {
    const char* label = q->columns[i].label;
    if (strncmp(label, part, length) == 0 && (label[length] == '\0' || label[length] == ':')) {
      kept += 1;
    }
  }
  if (kept == 0 || length == 0) {
    return unknown_column(q, part, error);
  }
  kept = 0;
  for (int32_t i = 0; i < q->count; ++i) {
    const char* label = q->columns[i].label;
    if (strncmp(label, part, length) == 0 && (label[length] == '\0' || label[length] == ':')) {
      q->columns[kept++] = q->columns[i];
    }
  }
  q->count = kept;
  return SAP_STATUS_OK;
}

static sap_status allocate(quantity* q, sap_error* error) {
  for (int32_t i = 0; i < q->count; ++i) {
    q->columns[i].values = calloc((size_t)q->rows + 1, sizeof(double));
    if (q->columns[i].values == NULL) {
      return cli_no_memory(error);
    }
  }
  return SAP_STATUS_OK;
}

// From a data set, a piece at a time.
static sap_status read_columns(const sap_recording* recording, const char* data, quantity* q,
                               sap_error* error) {
  enum { VALUES = 1 << 18 };
  int64_t rows = 0, width = 0;
  sap_status status = sap_recording_size(recording, data, &rows, &width, error);
  const bool total = strcmp(data, "energy") == 0;
  const int64_t piece = width > 0 && width < VALUES ? VALUES / width : 1;
  double* values =
      status == SAP_STATUS_OK ? malloc((size_t)(piece * width) * sizeof *values) : NULL;
  if (status == SAP_STATUS_OK && values == NULL) {
    status = cli_no_memory(error);
  }
  for (int64_t at = 0; at < q->rows && status == SAP_STATUS_OK; at += piece) {
    const int64_t n = q->rows - at < piece ? q->rows - at : piece;
    status = sap_recording_read(recording, data, at, n, values, error);
    for (int64_t i = 0; i < n && status == SAP_STATUS_OK; ++i) {
      const double* row = values + width * i;
      for (int32_t c = 0; c < q->count; ++c) {
        const int32_t k = q->columns[c].source;
        q->columns[c].values[at + i] =
            total && k == QUANTITY_TOTAL_ENERGY ? row[0] + row[1] + row[2] : row[k];
      }
    }
  }
  free(values);
  return status;
}

sap_status quantity_read(const sap_recording* recording, const char* text, quantity* out,
                         sap_error* error) {
  const size_t length = strcspn(text, ":");
  *out = (quantity){.text = text, .rows = sap_recording_rows(recording)};
  const quantity_kind* found = NULL;
  for (int i = 0; quantity_kinds[i].name != NULL; ++i) {
    if (strlen(quantity_kinds[i].name) == length &&
        strncmp(text, quantity_kinds[i].name, length) == 0) {
      found = &quantity_kinds[i];
    }
  }
  if (found == NULL) {
    return unknown_kind(text, error);
  }
  out->name = found->name;
  out->title = text;
  sap_status status = found->label(recording, out, error);
  if (status == SAP_STATUS_OK && text[length] == ':') {
    status = filter(out, text + length + 1, error);
  }
  if (status == SAP_STATUS_OK && out->count == 0) {
    status = sap_fail(error, SAP_STATUS_ARGUMENT, "the recording has no '%s'", found->name);
  }
  if (status == SAP_STATUS_OK) {
    status = allocate(out, error);
  }
  if (status == SAP_STATUS_OK) {
    status = found->data != NULL ? read_columns(recording, found->data, out, error)
                                 : quantity_read_contacts(recording, out, error);
  }
  if (status != SAP_STATUS_OK) {
    quantity_clear(out);
  }
  return status;
}

void quantity_clear(quantity* q) {
  for (int32_t i = 0; i < q->count; ++i) {
    free(q->columns[i].values);
  }
  free(q->columns);
  *q = (quantity){0};
}
