// SPDX-License-Identifier: BSD-3-Clause
// What a solver keeps from one solve to the next, as bytes.
#include "solvers/solver_table.h"

static sap_status archive(void* solver, sap_archive* to, sap_error* error) {
  return sap_solver_archive(solver, to, error);
}

sap_status sap_solver_save_memory(sap_solver* solver, void* bytes, size_t capacity, size_t* size,
                                  sap_error* error) {
  if (solver == NULL || size == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_save_memory: %s is NULL",
                    solver == NULL ? "solver" : "size");
  }
  return sap_archive_to_bytes(archive, solver, bytes, capacity, size, error);
}

sap_status sap_solver_load_memory(sap_solver* solver, const void* bytes, size_t size,
                                  sap_error* error) {
  if (solver == NULL || bytes == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_load_memory: %s is NULL",
                    solver == NULL ? "solver" : "bytes");
  }
  return sap_archive_from_bytes(archive, solver, bytes, size, error);
}
