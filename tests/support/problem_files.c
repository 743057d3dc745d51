// SPDX-License-Identifier: BSD-3-Clause
#include "support/problem_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

sap_status problem_file_read(const char* path, sap_problem* problem, sap_error* error) {
  sap_problem_reader* reader = NULL;
  bool found = false;
  sap_status status = sap_problem_reader_open(path, &reader, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_reader_next(reader, problem, &found, error);
  } else {
    assert_null(reader);
  }
  sap_problem_reader_close(reader);
  assert_int_equal(found, status == SAP_STATUS_OK);
  if (status != SAP_STATUS_OK) {
    assert_int_equal(sap_problem_tree_count(problem), 0);
    assert_int_equal(sap_problem_block_count(problem), 0);
  }
  return status;
}

sap_problem* problem_file_new(const char* path) {
  sap_problem* problem = NULL;
  sap_error error = {0};
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  if (problem_file_read(path, problem, &error) != SAP_STATUS_OK) {
    fail_msg("%s", error.message);
  }
  return problem;
}

sap_status problem_file_write(const char* path, const sap_problem* problem,
                              const sap_solution* solution, sap_error* error) {
  sap_problem_writer* writer = NULL;
  sap_status status = sap_problem_writer_open(path, &writer, error);
  if (status != SAP_STATUS_OK) {
    assert_null(writer);
    return status;
  }
  status = sap_problem_writer_problem(writer, problem, error);
  if (status == SAP_STATUS_OK && solution != NULL) {
    status = sap_problem_writer_solution(writer, solution, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_writer_commit(writer, error);
  }
  sap_problem_writer_close(writer);
  return status;
}
