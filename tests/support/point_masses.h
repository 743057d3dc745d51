// SPDX-License-Identifier: BSD-3-Clause
// Problems of point masses, each a tree of three velocities, and contacts along z: any failure fails
// the test.
#ifndef SAP_TESTS_SUPPORT_POINT_MASSES_H
#define SAP_TESTS_SUPPORT_POINT_MASSES_H

#include <sapstep/problem.h>

// Makes n masses [kg] with v* = v_star [m/s], and a step of 1 ms.
sap_problem* point_masses_create(const double* mass, const double (*v_star)[3], int32_t n);
// Adds a contact of mass a on mass b, or on the ground if b < 0; R of all rows [1/kg].
void point_masses_add_contact(sap_problem* problem, int32_t a, int32_t b, double mu, double R,
                              uint64_t key);

#endif
