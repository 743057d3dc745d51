// SPDX-License-Identifier: BSD-3-Clause
// What assembly.c and assembly_joints.c share.
#ifndef SAP_PROBLEM_ASSEMBLY_DATA_H
#define SAP_PROBLEM_ASSEMBLY_DATA_H

#include "problem/assembly.h"

// Kinds of block identities, the top four bits of a key; the ids follow, 20 bits each.
enum sap_key_kind {
  SAP_KEY_CONTACT = 1,
  SAP_KEY_LOWER,
  SAP_KEY_UPPER,
  SAP_KEY_TENDON_LOWER,
  SAP_KEY_TENDON_UPPER,
  SAP_KEY_FRICTION,
};

static inline uint64_t sap_assembly_key(int kind, int32_t a, int32_t b, int32_t c) {
  const uint64_t mask = 0xFFFFF;
  return (uint64_t)kind << 60 | ((uint64_t)a & mask) << 40 | ((uint64_t)b & mask) << 20 |
         ((uint64_t)c & mask);
}

struct sap_assembly {
  const sap_model* model;
  double* jacobians[2];  // of a contact's trees             (3 x largest tree)
  double* row;           // one row, zero between calls      (nv)
  int32_t* trees;        // of one row                       (ntrees)
  const double** parts;  // of the row, tree by tree         (ntrees)
};

#endif
