// SPDX-License-Identifier: BSD-3-Clause
// The mass that may rest on a contact: that of the heaviest tree among those which contacts link,
// directly or through others. A union of trees whose root is its smallest one.
#ifndef SAP_CONTACT_LOADS_H
#define SAP_CONTACT_LOADS_H

#include <stdint.h>

typedef struct sap_loads {
  int32_t ntrees;
  double* own;   // masses of the trees [kg]                         (ntrees)
  double* mass;  // of a root: the largest of its trees [kg]         (ntrees)
  int32_t* up;   // a smaller tree of the same union, or itself      (ntrees)
} sap_loads;

static inline void sap_loads_begin(sap_loads* loads) {
  for (int32_t t = 0; t < loads->ntrees; ++t) {
    loads->up[t] = t;
    loads->mass[t] = loads->own[t];
  }
}

static inline int32_t sap_loads_root(const sap_loads* loads, int32_t tree) {
  int32_t* up = loads->up;
  while (up[tree] != tree) {
    tree = up[tree] = up[up[tree]];
  }
  return tree;
}

// Links the trees of a contact, -1: static.
static inline void sap_loads_link(sap_loads* loads, int32_t a, int32_t b) {
  if (a < 0 || b < 0 || a == b) {
    return;
  }
  a = sap_loads_root(loads, a);
  b = sap_loads_root(loads, b);
  const int32_t root = a < b ? a : b, other = a < b ? b : a;
  loads->up[other] = root;
  loads->mass[root] = loads->mass[a] > loads->mass[b] ? loads->mass[a] : loads->mass[b];
}

// Makes sap_loads_get valid, after the last link.
static inline void sap_loads_end(sap_loads* loads) {
  for (int32_t t = 0; t < loads->ntrees; ++t) {
    loads->up[t] = loads->up[loads->up[t]];
  }
}

// Returns the load of a contact with this tree, >= 0 [kg].
static inline double sap_loads_get(const sap_loads* loads, int32_t tree) {
  return loads->mass[loads->up[tree]];
}

#endif
