// SPDX-License-Identifier: BSD-3-Clause
// Velocities that the system locks in the momentum balance.
#include "integrators/balance.h"

void sap_balance_release(const sap_balance* balance, double* v) {
  const bool* locked = balance->system->locked;
  for (int32_t i = 0; locked != NULL && i < balance->system->nv; ++i) {
    v[i] = locked[i] ? 0.0 : v[i];
  }
}

void sap_balance_lock_residual(const sap_balance* balance, const double* v, double* m) {
  const bool* locked = balance->system->locked;
  for (int32_t i = 0; locked != NULL && i < balance->system->nv; ++i) {
    m[i] = locked[i] ? v[i] : m[i];
  }
}

static bool any(const bool* flags, int32_t count) {
  for (int32_t i = 0; i < count; ++i) {
    if (flags[i]) {
      return true;
    }
  }
  return false;
}

static void lock_trees(sap_balance* balance, const int32_t* tree_dof) {
  const sap_system* system = balance->system;
  for (int32_t t = 0; system->locked != NULL && t < system->ntrees; ++t) {
    const bool* locked = system->locked + tree_dof[t];
    const int32_t n = system->tree_sizes[t];
    double* A = balance->A.view.diagonal[t];
    const int32_t columns = any(locked, n) ? n : 0;
    for (int32_t j = 0; j < columns; ++j) {
      for (int32_t i = j; i < n; ++i) {
        double* entry = A + (size_t)j * (size_t)n + (size_t)i;
        *entry = locked[i] || locked[j] ? (i == j ? 1.0 : 0.0) : *entry;
      }
    }
  }
}

static void lock_couplings(sap_balance* balance, const int32_t* tree_dof) {
  const sap_system* system = balance->system;
  const bool* locked = system->locked;
  for (int32_t c = 0; locked != NULL && c < system->ncouplings; ++c) {
    const int32_t a = system->couplings[c][0];
    const int32_t b = system->couplings[c][1];
    const int32_t rows = system->tree_sizes[a];
    for (int32_t j = 0; j < system->tree_sizes[b]; ++j) {
      for (int32_t i = 0; i < rows; ++i) {
        if (locked[tree_dof[a] + i] || locked[tree_dof[b] + j]) {
          balance->A.view.coupling[c][(size_t)j * (size_t)rows + (size_t)i] = 0.0;
        }
      }
    }
  }
}

void sap_balance_lock_matrix(sap_balance* balance, const int32_t* tree_dof) {
  lock_trees(balance, tree_dof);
  lock_couplings(balance, tree_dof);
}
