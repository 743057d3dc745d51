// SPDX-License-Identifier: BSD-3-Clause
#include "contact/eigenvalues.h"

#include <float.h>
#include <math.h>

// Trigonometric solution of the characteristic cubic.
void sap_eigenvalues_3(const double a[9], double values[3]) {
  const double m = (a[0] + a[4] + a[8]) / 3.0;
  const double b0 = a[0] - m, b1 = a[4] - m, b2 = a[8] - m;
  const double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
  const double p = sqrt((b0 * b0 + b1 * b1 + b2 * b2 + 2.0 * off) / 6.0);
  if (!(p > 0.0)) {
    values[0] = values[1] = values[2] = m;
    return;
  }
  const double determinant = b0 * (b1 * b2 - a[5] * a[5]) - a[1] * (a[1] * b2 - a[5] * a[2]) +
                             a[2] * (a[1] * a[5] - b1 * a[2]);
  const double half = fmin(1.0, fmax(-1.0, 0.5 * determinant / (p * p * p)));
  const double angle = acos(half) / 3.0;
  const double third = 2.0943951023931953;  // 2 pi/3
  values[2] = m + 2.0 * p * cos(angle);
  values[0] = m + 2.0 * p * cos(angle + third);
  values[1] = 3.0 * m - values[0] - values[2];
}

// The rotation of rows and columns p, q that makes a_pq zero; V, where given, turns along.
static void rotate(double* a, double* V, int32_t n, int32_t p, int32_t q) {
  const double apq = a[q * n + p];
  const double theta = 0.5 * (a[q * n + q] - a[p * n + p]) / apq;
  const double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + hypot(theta, 1.0));
  const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
  for (int32_t k = 0; k < n; ++k) {
    const double x = a[p * n + k], y = a[q * n + k];
    a[p * n + k] = c * x - s * y;
    a[q * n + k] = s * x + c * y;
  }
  for (int32_t k = 0; k < n; ++k) {
    const double x = a[k * n + p], y = a[k * n + q];
    a[k * n + p] = c * x - s * y;
    a[k * n + q] = s * x + c * y;
  }
  for (int32_t k = 0; V != NULL && k < n; ++k) {
    const double x = V[p * n + k], y = V[q * n + k];
    V[p * n + k] = c * x - s * y;
    V[q * n + k] = s * x + c * y;
  }
}

void sap_eigen_small(double* a, int32_t n, double* V) {
  enum { SWEEPS = 30 };
  for (int32_t i = 0; V != NULL && i < n * n; ++i) {
    V[i] = i % (n + 1) == 0 ? 1.0 : 0.0;
  }
  bool done = false;
  for (int sweep = 0; sweep < SWEEPS && !done; ++sweep) {
    done = true;
    for (int32_t p = 0; p < n; ++p) {
      for (int32_t q = p + 1; q < n; ++q) {
        const double limit = DBL_EPSILON * sqrt(fabs(a[p * n + p]) * fabs(a[q * n + q]));
        if (fabs(a[q * n + p]) > limit && fabs(a[q * n + p]) > DBL_MIN) {
          rotate(a, V, n, p, q);
          done = false;
        }
      }
    }
  }
}

double sap_largest_eigenvalue(const double* a, int32_t n) {
  if (n == 1) {
    return a[0];
  }
  double values[3], copy[SAP_EIGEN_MAX * SAP_EIGEN_MAX];
  if (n == 3) {
    sap_eigenvalues_3(a, values);
    return values[2];
  }
  for (int32_t i = 0; i < n * n; ++i) {
    copy[i] = a[i];
  }
  sap_eigen_small(copy, n, NULL);
  double largest = copy[0];
  for (int32_t i = 1; i < n; ++i) {
    largest = copy[i * (n + 1)] > largest || isnan(copy[i * (n + 1)]) ? copy[i * (n + 1)] : largest;
  }
  return largest;
}
