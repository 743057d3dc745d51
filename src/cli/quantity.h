// SPDX-License-Identifier: BSD-3-Clause
// Quantities of a recording by name, as columns over its rows: "energy", "energy:kinetic",
// "q:hip", "position:torso:z", "contact_force:box". After the name an element or a component, or
// both, choose some of the columns.
#pragma once

#include <sapstep/sapstep.h>

#include "cli/command.h"

enum { QUANTITY_LABEL_SIZE = 128, QUANTITY_UNIT_SIZE = 16 };

typedef struct quantity_column {
  char label[QUANTITY_LABEL_SIZE];  // "kinetic", "torso:z"; "" for a quantity of one column
  char unit[QUANTITY_UNIT_SIZE];
  int32_t source;  // where its values come from, for quantity_read
  double* values;  //                                                         (rows)
} quantity_column;

typedef struct quantity {
  const char* name;  // of its kind
  int64_t rows;
  int32_t count, capacity;
  quantity_column* columns;
} quantity;

// Reads a quantity. Fails with ARGUMENT for an unknown name; the message lists the known ones.
sap_status quantity_read(const sap_recording* recording, const char* text, quantity* out,
                         sap_error* error);

// Reads the iterations of the step of a row (-1: the step with most iterations): cost above the
// last one [J] and momentum error of each iteration, the guess first.
sap_status quantity_read_history(const sap_recording* recording, int64_t row, quantity* out,
                                 sap_error* error);
