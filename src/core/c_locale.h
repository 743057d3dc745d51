// SPDX-License-Identifier: BSD-3-Clause
// Numbers in files have a decimal point whatever the program's locale is: between begin and end
// this thread's strtod and printf are in the C locale.
#ifndef SAP_CORE_C_LOCALE_H
#define SAP_CORE_C_LOCALE_H

#include "core/error.h"

typedef struct sap_c_locale {
  void *previous, *mine;  // locale_t
} sap_c_locale;

sap_status sap_c_locale_begin(sap_c_locale* guard, sap_error* error);
void sap_c_locale_end(sap_c_locale* guard);

#endif
