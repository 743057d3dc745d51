// SPDX-License-Identifier: BSD-3-Clause
// The smallest problem with friction.
#ifndef SAP_TESTS_SUPPORT_ONE_CONTACT_H
#define SAP_TESTS_SUPPORT_ONE_CONTACT_H

#include <sapstep/problem.h>

// One cone on the three velocities of one tree, J = 1; v* is not set. The test fails when a call
// does.
sap_problem* one_contact_problem(const double A[9], double mu, const double R[3],
                                 const double v_hat[3]);
// The same with another law: the set and its numbers of `law`.
sap_problem* one_contact_problem_of(const sap_block* law, const double A[9], const double R[3],
                                    const double v_hat[3]);

#endif
