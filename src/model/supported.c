// SPDX-License-Identifier: BSD-3-Clause
// What a builder takes but the engine cannot do yet: compiling refuses it by name, so that nothing
// is silently ignored. One row each, which goes when dynamics, collision and assembly do it.
#include <math.h>

#include "model/compile.h"

typedef struct feature {
  bool used;
  const char* text;
} feature;

static bool is_nonzero(const double a[3]) {
  return a[0] != 0.0 || a[1] != 0.0 || a[2] != 0.0;
}

// The first of `count` features that is used.
static const char* first_used(const feature* features, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (features[i].used) {
      return features[i].text;
    }
  }
  return NULL;
}

#define FIRST_USED(features) first_used(features, sizeof(features) / sizeof *(features))

static const char* of_shape(const sap_model* model, int32_t id) {
  const sap_shape_def* shape = &model->shapes[id];
  const feature features[] = {
      {shape->condim > 3, "condim 4 and 6"},
      {is_nonzero(shape->surface_velocity), "surface_velocity"},
  };
  return FIRST_USED(features);
}

sap_status sap_compile_supported(const sap_builder* builder, const sap_model* model,
                                 sap_error* error) {
  const struct {
    sap_element kind;
    int32_t count;
    const char* (*unsupported)(const sap_model* model, int32_t id);
  } rows[] = {
      {SAP_ELEMENT_SHAPE, model->sizes.shapes, of_shape},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; ++r) {
    for (int32_t i = 0; i < rows[r].count; ++i) {
      const char* text = rows[r].unsupported(model, i);
      if (text != NULL) {
        const sap_checker checker = sap_builder_checker(builder, rows[r].kind, i, error);
        return sap_check_fail(&checker, SAP_STATUS_UNSUPPORTED, "%s is not supported", text);
      }
    }
  }
  for (int32_t i = 0; i < model->sizes.pairs; ++i) {
    if (model->pairs[i].condim > 3) {
      return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                      "pair of shapes %d and %d: condim 4 and 6 is not supported",
                      (int)model->pairs[i].shape_a, (int)model->pairs[i].shape_b);
    }
  }
  return SAP_STATUS_OK;
}
