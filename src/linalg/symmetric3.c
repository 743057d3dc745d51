// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/symmetric3.h"

#include <math.h>
#include <string.h>

// Rotates entry (p, q) of the symmetric a to zero and applies the rotation to the columns of v.
static void jacobi_rotate(double a[9], double v[9], int p, int q) {
  if (a[3 * p + q] == 0.0) {
    return;
  }
  const double theta = (a[4 * q] - a[4 * p]) / (2.0 * a[3 * p + q]);
  const double t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
  const double c = 1.0 / sqrt(t * t + 1.0), s = t * c;
  for (int k = 0; k < 3; ++k) {
    const double kp = a[3 * k + p], kq = a[3 * k + q];
    a[3 * k + p] = c * kp - s * kq;
    a[3 * k + q] = s * kp + c * kq;
  }
  for (int k = 0; k < 3; ++k) {
    const double pk = a[3 * p + k], qk = a[3 * q + k];
    a[3 * p + k] = c * pk - s * qk;
    a[3 * q + k] = s * pk + c * qk;
    const double vp = v[3 * p + k], vq = v[3 * q + k];
    v[3 * p + k] = c * vp - s * vq;
    v[3 * q + k] = s * vp + c * vq;
  }
}

void sap_symmetric3_eigen(const double S[6], double eigenvalues[3], double V[9]) {
  double a[9] = {S[0], S[3], S[4], S[3], S[1], S[5], S[4], S[5], S[2]};
  double v[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  enum { SWEEPS = 12 };  // convergence is quadratic: 6 are enough for doubles
  for (int sweep = 0; sweep < SWEEPS; ++sweep) {
    jacobi_rotate(a, v, 0, 1);
    jacobi_rotate(a, v, 0, 2);
    jacobi_rotate(a, v, 1, 2);
  }
  eigenvalues[0] = a[0];
  eigenvalues[1] = a[4];
  eigenvalues[2] = a[8];
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 2; ++i) {
      if (eigenvalues[i] > eigenvalues[i + 1]) {
        const double swap = eigenvalues[i];
        eigenvalues[i] = eigenvalues[i + 1];
        eigenvalues[i + 1] = swap;
        for (int k = 0; k < 3; ++k) {
          const double column = v[3 * i + k];
          v[3 * i + k] = v[3 * i + 3 + k];
          v[3 * i + 3 + k] = column;
        }
      }
    }
  }
  if (V != NULL) {
    memcpy(V, v, sizeof v);
  }
}
