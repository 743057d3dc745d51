// SPDX-License-Identifier: BSD-3-Clause
// A user's program: it must find headers and library where they were installed.
#include <sapstep/sapstep.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  if (strcmp(sap_status_text(SAP_STATUS_OK), "ok") != 0) {
    return 1;
  }
  return printf("sapstep %s\n", sap_version()) > 0 ? 0 : 1;
}
