// SPDX-License-Identifier: BSD-3-Clause
// A model as rows of numbers, one per element, for comparison with another program's view of it.
#ifndef SAP_TESTS_SUPPORT_MODEL_ROWS_H
#define SAP_TESTS_SUPPORT_MODEL_ROWS_H

#include "multibody/model/model_data.h"

enum { MODEL_ROW_INTS = 72, MODEL_ROW_VALUES = 2048 };

// Rotations are 3x3, column-major; symmetric matrices xx yy zz xy xz yz.
//   body      parent | p_PB R_PB mass p_BCo I_BCo_B                               (not the world)
//   joint     type body q_start v_start | anchor axis reference lower upper stiffness
//             spring_reference damping armature friction_loss
//   shape     type body condim contact_type contact_affinity priority | p_BS R_BS size friction
//   tendon    count joints... | lower upper coefficients...
//   actuator  target | gear control_lower control_upper force_lower force_upper
//   exclude   body body |
//   key       | t q v control
//   options   | gravity timestep
typedef struct model_row {
  const char* kind;
  const char* name;  // "" without one
  int32_t nints, nvalues;
  int32_t ints[MODEL_ROW_INTS];
  double values[MODEL_ROW_VALUES];
} model_row;

typedef void model_row_function(void* context, const model_row* row);
void model_rows(const sap_model* model, model_row_function* function, void* context);

#endif
