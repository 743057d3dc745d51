// SPDX-License-Identifier: BSD-3-Clause
#define _GNU_SOURCE  // O_TMPFILE
#include "core/platform.h"

#include <fcntl.h>
#include <locale.h>
#include <time.h>

double sap_clock_seconds(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) {
    return 0.0;
  }
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

sap_status sap_c_locale_begin(sap_c_locale* guard, sap_error* error) {
  const locale_t mine = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  SAP_FAIL_IF(mine == (locale_t)0, error, SAP_STATUS_MEMORY, "out of memory");
  guard->mine = mine;
  guard->previous = uselocale(mine);
  return SAP_STATUS_OK;
}

void sap_c_locale_end(sap_c_locale* guard) {
  (void)uselocale((locale_t)guard->previous);
  freelocale((locale_t)guard->mine);
}

int sap_open_nameless(const char* folder) {
#ifdef O_TMPFILE
  return open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
#else
  (void)folder;
  return -1;
#endif
}
