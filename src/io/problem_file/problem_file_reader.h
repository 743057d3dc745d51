// SPDX-License-Identifier: BSD-3-Clause
// What the reader of problems in text keeps.
#ifndef SAP_IO_PROBLEM_FILE_PROBLEM_FILE_READER_H
#define SAP_IO_PROBLEM_FILE_PROBLEM_FILE_READER_H

#include <sapstep/problem_file.h>

#include "io/problem_file/problem_file_text.h"

enum { SAP_PROBLEM_NAME_SIZE = 96 };  // "contact 2147483647 of 2147483647" and the like

struct sap_problem_reader {
  char* hdf5_path;  // NULL: text
  bool hdf5_done;
  sap_text_reader text;
  double dt;
  int32_t ntrees;
  int64_t nv;
  int32_t* tree_sizes;   // (ntrees)
  double* matrices;      // the trees' blocks of A, one after the other
  int32_t matrix_count;  // numbers in it
  double* scratch;       // factor of a block, or the Jacobians of a contact, column-major
  int32_t tree_capacity, matrix_capacity, scratch_capacity;
};

// problem_file_contact.c: "ncontacts" and the lines of the contacts.
sap_status sap_problem_reader_contacts(sap_problem_reader* reader, sap_problem* problem,
                                       sap_error* error);

#endif
