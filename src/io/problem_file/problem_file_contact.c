// SPDX-License-Identifier: BSD-3-Clause
// The contacts of a problem in text.
#include <stdio.h>

#include "core/memory.h"
#include "io/problem_file/problem_file_reader.h"

// The trees of the contact in the current line.
static sap_status read_contact_trees(const sap_problem_reader* reader, const char* name,
                                     int32_t trees[2], int32_t* ntrees, sap_error* error) {
  const sap_text_reader* text = &reader->text;
  for (int32_t i = 0; i < 2; ++i) {
    char label[SAP_PROBLEM_NAME_SIZE + 16];
    (void)snprintf(label, sizeof label, "%s: tree%c", name, i == 0 ? 'A' : 'B');
    const sap_status status = sap_text_integer(text, i, i == 0 ? 0 : -1, label, &trees[i], error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (trees[i] >= reader->ntrees) {
      return sap_text_fail(text, error, SAP_STATUS_SYNTAX,
                           "%s = %ld is out of range, there are %ld trees", label, (long)trees[i],
                           (long)reader->ntrees);
    }
  }
  if (trees[0] == trees[1]) {
    return sap_text_fail(text, error, SAP_STATUS_SYNTAX, "%s: treeA and treeB are both %ld", name,
                         (long)trees[0]);
  }
  *ntrees = trees[1] < 0 ? 1 : 2;
  return SAP_STATUS_OK;
}

enum { CONTACT_HEAD = 3 };  // treeA treeB mu, before R, v_hat and J

// How many rows a contact has whose line holds `count` numbers; 0: a count that none has.
static int32_t rows_of(int32_t count, int64_t columns) {
  static const int32_t rows[] = {3, 4, 6};
  for (int i = 0; i < 3; ++i) {
    if (count == CONTACT_HEAD + rows[i] * (2 + columns)) {
      return rows[i];
    }
  }
  return 0;
}

static sap_status read_contact(sap_problem_reader* reader, sap_problem* problem, const char* name,
                               sap_error* error) {
  sap_text_reader* text = &reader->text;
  sap_status status = sap_text_numbers(text, NULL, -1, name, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (text->value_count < CONTACT_HEAD) {
    return sap_text_fail(text, error, SAP_STATUS_SYNTAX,
                         "%s needs %d numbers before its Jacobian, found %ld", name, CONTACT_HEAD,
                         (long)text->value_count);
  }
  int32_t trees[2];
  int32_t ntrees = 0;
  status = read_contact_trees(reader, name, trees, &ntrees, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  const int64_t columns =
      (int64_t)reader->tree_sizes[trees[0]] + (ntrees == 2 ? reader->tree_sizes[trees[1]] : 0);
  const int32_t nrows = rows_of(text->value_count, columns);
  if (nrows == 0) {
    return sap_text_fail(text, error, SAP_STATUS_SYNTAX,
                         "%s needs %lld numbers for 3 rows, %lld for 4 or %lld for 6, found %ld",
                         name, (long long)(CONTACT_HEAD + 3 * (2 + columns)),
                         (long long)(CONTACT_HEAD + 4 * (2 + columns)),
                         (long long)(CONTACT_HEAD + 6 * (2 + columns)), (long)text->value_count);
  }
  status = SAP_GROW(&reader->scratch, &reader->scratch_capacity, nrows * (int32_t)columns, error);
  if (status != SAP_STATUS_OK) {
    return sap_text_pass(text, error, status);
  }
  const double* rows = text->values + CONTACT_HEAD + 2 * nrows;
  double* jacobian = reader->scratch;
  const double* jacobians[2] = {NULL, NULL};
  for (int32_t i = 0; i < ntrees; ++i) {
    const int32_t n = reader->tree_sizes[trees[i]];
    jacobians[i] = jacobian;
    for (int32_t j = 0; j < n; ++j) {
      for (int32_t row = 0; row < nrows; ++row) {
        *jacobian++ = rows[(size_t)row * (size_t)n + (size_t)j];
      }
    }
    rows += (size_t)nrows * (size_t)n;
  }
  const sap_block block = {.set = SAP_SET_FRICTION_CONE,
                           .nrows = nrows,
                           .ntrees = ntrees,
                           .trees = trees,
                           .jacobians = jacobians,
                           .friction = text->values[2],
                           .R = text->values + CONTACT_HEAD,
                           .v_hat = text->values + CONTACT_HEAD + nrows};
  status = sap_problem_add_block(problem, &block, error);
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "%s", name);
    return sap_text_pass(text, error, status);
  }
  return SAP_STATUS_OK;
}

sap_status sap_problem_reader_contacts(sap_problem_reader* reader, sap_problem* problem,
                                       sap_error* error) {
  sap_text_reader* text = &reader->text;
  sap_status status = sap_text_numbers(text, NULL, 1, "the line 'ncontacts'", error);
  int32_t count = 0;
  if (status == SAP_STATUS_OK) {
    status = sap_text_integer(text, 0, 0, "ncontacts", &count, error);
  }
  for (int32_t i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    char name[SAP_PROBLEM_NAME_SIZE];
    (void)snprintf(name, sizeof name, "contact %ld of %ld", (long)i, (long)count);
    status = read_contact(reader, problem, name, error);
  }
  return status;
}
