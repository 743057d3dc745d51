// SPDX-License-Identifier: BSD-3-Clause
// The same from C++: every header is usable there.
#include <sapstep/sapstep.h>

#include <iostream>
#include <string>

int main() {
  std::cout << "sapstep " << sap_version() << ": " << sap_status_text(SAP_STATUS_OK) << '\n';
  return sap_status_text(SAP_STATUS_OK) == std::string("ok") ? 0 : 1;
}
