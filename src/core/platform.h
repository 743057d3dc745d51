// SPDX-License-Identifier: BSD-3-Clause
// The clock, and the locale in which numbers are read and written.
#pragma once

#include "core/error.h"

// Returns a monotonic wall-clock time [s]; only differences are meaningful.
double sap_clock_seconds(void);

// Switches this thread to the C locale between begin and end, so that numbers in files have a
// decimal point in every locale of the program.
typedef struct sap_c_locale {
  void *previous, *mine;  // locale_t
} sap_c_locale;

sap_status sap_c_locale_begin(sap_c_locale* guard, sap_error* error);
void sap_c_locale_end(sap_c_locale* guard);

// Opens a new file without a name in the folder, for reading and writing. Returns its descriptor;
// < 0 where the system or the file system has none.
int sap_open_nameless(const char* folder);
