// SPDX-License-Identifier: BSD-3-Clause
// Switches this thread to the C locale between begin and end, so that numbers in files have a
// decimal point in every locale of the program.
#ifndef SAP_CORE_C_LOCALE_H
#define SAP_CORE_C_LOCALE_H

#include "core/error.h"

typedef struct sap_c_locale {
  void *previous, *mine;  // locale_t
} sap_c_locale;

sap_status sap_c_locale_begin(sap_c_locale* guard, sap_error* error);
void sap_c_locale_end(sap_c_locale* guard);

#endif
