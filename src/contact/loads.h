// SPDX-License-Identifier: BSD-3-Clause
// The mass that may rest on a contact: that of the heaviest tree that rests on its upper body,
// directly or through others, or that is the upper body. The upper body follows from the normal and
// gravity; nothing rests on steep contacts, such as those with walls.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct sap_loads {
  int32_t ntrees;
  double* own;   // masses of the trees [kg]                                   (ntrees)
  double* mass;  // of the heaviest tree that rests on each, or its own [kg]   (ntrees)
  double total;  // of all trees [kg]
  double lift;   // force that may undo a wrong start, src/contact/contact_law.c (8) [N]
  double up[3];  // against gravity, unit; 0: there is none
} sap_loads;

static inline void sap_loads_begin(sap_loads* loads, const double gravity[3]) {
  const double g =
      sqrt(gravity[0] * gravity[0] + gravity[1] * gravity[1] + gravity[2] * gravity[2]);
  for (int i = 0; i < 3; ++i) {
    loads->up[i] = g > 0.0 ? -gravity[i] / g : 0.0;
  }
  loads->total = 0.0;
  for (int32_t t = 0; t < loads->ntrees; ++t) {
    loads->mass[t] = loads->own[t];
    loads->total += loads->own[t];
  }
  loads->lift = 2.0 * loads->total * fmax(g, 10.0);
}

// Returns 1 if b rests on a, -1 if a on b, 0 on a steep contact; n: its normal from a to b.
static inline int sap_loads_upper(const sap_loads* loads, const double n[3]) {
  static const double steep = 0.2;  // sine of its slope from the vertical
  const double height = n[0] * loads->up[0] + n[1] * loads->up[1] + n[2] * loads->up[2];
  return height > steep ? 1 : height < -steep ? -1 : 0;
}

// Adds a contact of trees a and b, -1: static. True: contacts added before may have more load, and
// all are to be added again.
static inline bool sap_loads_link(sap_loads* loads, int32_t a, int32_t b, const double n[3]) {
  const int upper = a < 0 || b < 0 ? 0 : sap_loads_upper(loads, n);
  const int32_t above = upper > 0 ? b : a, below = upper > 0 ? a : b;
  if (upper == 0 || loads->mass[below] >= loads->mass[above]) {
    return false;
  }
  loads->mass[below] = loads->mass[above];
  return true;
}

// Returns the mass of an impact that may close a contact. Links of one robot reach each other as
// joints reach their limits, at a fifth of the impact speed: with a 25th of the energy.
static inline double sap_loads_impact(const sap_loads* loads, bool one_robot) {
  return one_robot ? 0.04 * loads->total : loads->total;
}

// Returns the load of a contact, 0: nothing rests on it [kg].
static inline double sap_loads_get(const sap_loads* loads, int32_t a, int32_t b,
                                   const double n[3]) {
  const int upper = sap_loads_upper(loads, n);
  const int32_t above = upper > 0 ? b : a;
  return upper == 0 || above < 0 ? 0.0 : loads->mass[above];
}
