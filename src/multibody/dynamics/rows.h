// SPDX-License-Identifier: BSD-3-Clause
// Up to 6 rows of a Jacobian, zero except on the trees they touch.
#ifndef SAP_MULTIBODY_DYNAMICS_ROWS_H
#define SAP_MULTIBODY_DYNAMICS_ROWS_H

#include "core/memory.h"
#include "multibody/model/model_data.h"

enum { SAP_ROWS_MAX = 6 };

typedef struct sap_rows {
  const sap_model* model;
  int32_t nrows;
  int32_t ntrees;  // number of trees touched
  int32_t* trees;  // their ids                                        (trees)
  bool* touched;   //                                                  (trees)
  double* values;  // row r is at values + r nv                    (SAP_ROWS_MAX nv)
  // Set by sap_rows_pack.
  int32_t nparts;
  int32_t* part_trees;   //                                                  (trees)
  const double** parts;  // J on part_trees[i], column-major                 (trees)
  double* packed;        // their memory                                     (SAP_ROWS_MAX nv)
} sap_rows;

// Allocates the arrays in the pool.
sap_status sap_rows_create(const sap_model* model, sap_pool* pool, sap_rows* rows,
                           sap_error* error);

// Starts `nrows` empty rows.
void sap_rows_begin(sap_rows* rows, int32_t nrows);
// Must be called before entries on a tree's velocities are written.
void sap_rows_touch(sap_rows* rows, int32_t tree);
static inline double* sap_rows_at(const sap_rows* rows, int32_t r) {
  return rows->values + (size_t)r * (size_t)rows->model->sizes.nv;
}
// Row r times v (nv).
double sap_rows_times(const sap_rows* rows, int32_t r, const double* v);
// out += s times row r, on the touched trees (nv).
void sap_rows_add_scaled(const sap_rows* rows, int32_t r, double s, double* out);
// Packs rows first ... first + count - 1 into parts; trees on which all entries are zero have none.
void sap_rows_pack(sap_rows* rows, int32_t first, int32_t count);

#endif
