// SPDX-License-Identifier: BSD-3-Clause
// Reads solutions from text.
#include <string.h>

#include <sapstep/problem_file.h>

#include "core/c_locale.h"
#include "core/memory.h"
#include "io/problem_file/fclib.h"
#include "io/problem_file/problem_file_text.h"

struct sap_solution_reader {
  sap_text_reader text;
  double cost;
  double* v;  // (nv)
  int32_t nv, v_capacity;
};

sap_status sap_solution_reader_open(const char* path, sap_solution_reader** out, sap_error* error) {
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "out is NULL");
  }
  *out = NULL;
  if (path == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "path is NULL");
  }
  sap_solution_reader* reader = sap_allocate(1, sizeof *reader);
  if (reader == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory");
  }
  const sap_status status = sap_text_open(&reader->text, path, error);
  if (status != SAP_STATUS_OK) {
    sap_free(reader);
    return status;
  }
  *out = reader;
  return SAP_STATUS_OK;
}

void sap_solution_reader_close(sap_solution_reader* reader) {
  if (reader != NULL) {
    sap_text_close(&reader->text);
    sap_free(reader->v);
    sap_free(reader);
  }
}

// Reads all of one solution before the caller's is touched: gamma is left in text.values.
static sap_status read_solution(sap_solution_reader* reader, bool* found, sap_error* error) {
  sap_text_reader* text = &reader->text;
  sap_status status = sap_text_header(text, "sapstep_solution 1", found, error);
  if (status != SAP_STATUS_OK || !*found) {
    return status;
  }
  status = sap_text_numbers(text, "cost", 1, "the line 'cost'", error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  reader->cost = text->values[0];
  status = sap_text_numbers(text, "v", -1, "the line 'v'", error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  reader->nv = text->value_count;
  status = SAP_GROW(&reader->v, &reader->v_capacity, reader->nv, error);
  if (status != SAP_STATUS_OK) {
    return sap_text_pass(text, error, status);
  }
  if (reader->nv > 0) {
    memcpy(reader->v, text->values, (size_t)reader->nv * sizeof *reader->v);
  }
  return sap_text_numbers(text, "gamma", -1, "the line 'gamma'", error);
}

sap_status sap_solution_reader_next(sap_solution_reader* reader, sap_solution* solution,
                                    bool* found, sap_error* error) {
  if (reader == NULL || solution == NULL || found == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "reader, solution or found is NULL");
  }
  *found = false;
  sap_text_reader* text = &reader->text;
  if (text->failed) {
    return sap_text_fail(text, error, SAP_STATUS_SYNTAX, "reading ended here before");
  }
  sap_c_locale guard;
  sap_status status = sap_c_locale_begin(&guard, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  status = read_solution(reader, found, error);
  sap_c_locale_end(&guard);
  if (status == SAP_STATUS_OK && *found) {
    status = sap_solution_resize(solution, reader->nv, text->value_count, error);
  }
  if (status != SAP_STATUS_OK) {
    *found = false;
    text->failed = true;
    return status;
  }
  if (!*found) {
    return SAP_STATUS_OK;
  }
  solution->cost = reader->cost;
  if (reader->nv > 0) {
    memcpy(solution->v, reader->v, (size_t)reader->nv * sizeof *reader->v);
    memset(solution->impulse, 0, (size_t)reader->nv * sizeof *solution->impulse);
  }
  if (text->value_count > 0) {
    const size_t bytes = (size_t)text->value_count * sizeof *text->values;
    memcpy(solution->gamma, text->values, bytes);
    memset(solution->vc, 0, bytes);
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_file_solution(const char* path, const sap_problem* problem, int32_t index,
                                     sap_solution* solution, bool* found, sap_error* error) {
  if (path == NULL || problem == NULL || solution == NULL || found == NULL || index < 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "path, problem, solution or found is NULL, or index = %ld < 0", (long)index);
  }
  *found = false;
  return sap_fclib_is_file(path)
             ? sap_fclib_read_solution(path, problem, index, solution, found, error)
             : SAP_STATUS_OK;
}
