// SPDX-License-Identifier: BSD-3-Clause
// Made-up contact problems of every kind: free bodies and other trees, contacts between them and
// with the ground, limits, dry friction, bilateral rows, blocks on three trees, couplings in A.
#ifndef SAP_TESTS_SUPPORT_PILE_H
#define SAP_TESTS_SUPPORT_PILE_H

#include <sapstep/problem.h>

typedef struct pile_options {
  int32_t trees;      // sizes 6, 6, 3, 6, 6, 8, ...
  int32_t contacts;   // half of them with the ground
  double mass_ratio;  // of the heaviest tree to the lightest
  double stiffness;   // of contacts [N/m]
  sap_regularization regularization;
  bool mixed;                   // the other sets, three trees, couplings
  bool keyed;                   // blocks have keys: solvers may keep impulses from solve to solve
  sap_contact_model models[3];  // taken in turn
  double dissipation, stiction_tolerance;
  uint32_t seed;
} pile_options;

pile_options pile_options_default(void);
// Fills the problem; the first failing call's status. The same options give the same bits.
sap_status pile_fill(const pile_options* options, sap_problem* problem, sap_error* error);
// A new problem, filled; the test fails when a call fails.
sap_problem* pile_problem(const pile_options* options);

#endif
