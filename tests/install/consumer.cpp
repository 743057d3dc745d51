// SPDX-License-Identifier: BSD-3-Clause
// The same from C++: every header is usable there.
#include <sapstep/sapstep.h>

#include <iostream>

int main() {
  const sap_material material = sap_material_default();
  std::cout << "sapstep " << sap_version() << ": friction " << material.friction << '\n';
  return material.friction == 0.5 ? 0 : 1;
}
