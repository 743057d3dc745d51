// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/dynamics/muscle.h"

// A value and its slope.
typedef struct curve {
  double value, slope;
} curve;

// (x/width)^2/2.
static curve rising(double x, double width) {
  const double s = x / width;
  return (curve){0.5 * s * s, s / width};
}

// FL: parabolas, convex below lmin ... the middle, concave about 1, convex again.
static curve active_length(const sap_muscle* m, double L) {
  const double a = 0.5 * (m->lmin + 1.0), b = 0.5 * (1.0 + m->lmax);
  if (!(L >= m->lmin && L <= m->lmax)) {
    return (curve){0.0, 0.0};
  }
  if (L <= a) {
    return rising(L - m->lmin, a - m->lmin);
  }
  if (L > b) {
    const curve c = rising(m->lmax - L, m->lmax - b);
    return (curve){c.value, -c.slope};
  }
  const curve c = L <= 1.0 ? rising(1.0 - L, 1.0 - a) : rising(L - 1.0, b - 1.0);
  return (curve){1.0 - c.value, L <= 1.0 ? c.slope : -c.slope};
}

// FV.
static curve active_rate(const sap_muscle* m, double V) {
  const double y = m->fvmax - 1.0;
  if (V <= -1.0) {
    return (curve){0.0, 0.0};
  }
  if (V <= 0.0) {
    return (curve){(V + 1.0) * (V + 1.0), 2.0 * (V + 1.0)};
  }
  if (V <= y) {
    return (curve){m->fvmax - (y - V) * (y - V) / y, 2.0 * (y - V) / y};
  }
  return (curve){m->fvmax, 0.0};
}

// FP.
static curve passive_length(const sap_muscle* m, double L) {
  const double b = 0.5 * (1.0 + m->lmax);
  if (L <= 1.0) {
    return (curve){0.0, 0.0};
  }
  if (L <= b) {
    const curve c = rising(L - 1.0, b - 1.0);
    return (curve){m->fpmax * c.value, m->fpmax * c.slope};
  }
  return (curve){m->fpmax * (0.5 + (L - b) / (b - 1.0)), m->fpmax / (b - 1.0)};
}

// The length at L = 1, and L.
static double normal_length(const sap_model_actuator* a, double length, double* L0) {
  const double* range = a->muscle.range;
  *L0 = (a->length_upper - a->length_lower) / (range[1] - range[0]);
  return range[0] + (length - a->length_lower) / *L0;
}

sap_muscle_force sap_muscle_active(const sap_model_actuator* actuator, double length, double rate) {
  const sap_muscle* m = &actuator->muscle;
  double L0;
  const double L = normal_length(actuator, length, &L0);
  const curve fl = active_length(m, L), fv = active_rate(m, rate / (L0 * m->vmax));
  return (sap_muscle_force){-m->force * fl.value * fv.value, -m->force * fl.slope * fv.value / L0,
                            -m->force * fl.value * fv.slope / (L0 * m->vmax)};
}

sap_muscle_force sap_muscle_passive(const sap_model_actuator* actuator, double length) {
  const sap_muscle* m = &actuator->muscle;
  double L0;
  const curve fp = passive_length(m, normal_length(actuator, length, &L0));
  return (sap_muscle_force){-m->force * fp.value, -m->force * fp.slope / L0, 0.0};
}
