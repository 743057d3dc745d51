// SPDX-License-Identifier: BSD-3-Clause
// What of the built-in multibody engine can be switched while it runs.
#include <string.h>

#include "core/memory.h"
#include "multibody/dynamics/actuators.h"
#include "multibody/dynamics/elements.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

sap_status sap_multibody_lock(sap_multibody* multibody, int32_t joint, bool locked,
                              sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  if (joint < 0 || joint >= multibody->model->sizes.joints) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "joint = %d must be 0 to %d", joint,
                    multibody->model->sizes.joints - 1);
  }
  const sap_model_joint_data* data = &multibody->model->joints[joint];
  for (int32_t i = data->v_start; i < data->v_start + data->nv; ++i) {
    sap_dynamics_locked(multibody->dynamics)[i] = locked;
  }
  sap_momentum_records_forget(&multibody->momenta);
  sap_multibody_find_carriers(multibody);
  return SAP_STATUS_OK;
}

// The switches of a kind; NULL for a kind that there is not.
static bool* switches(sap_multibody* multibody, sap_switch kind, int32_t* count) {
  const sap_model_sizes* sizes = &multibody->model->sizes;
  switch (kind) {
    case SAP_SWITCH_EQUALITY:
      *count = sizes->equalities;
      return sap_assembly_switches(multibody->assembly, SAP_ASSEMBLY_EQUALITY);
    case SAP_SWITCH_SPRING:
      *count = sizes->springs;
      return sap_dynamics_element_switches(multibody->dynamics, SAP_FORCE_SPRING);
    case SAP_SWITCH_BUSHING:
      *count = sizes->bushings;
      return sap_dynamics_element_switches(multibody->dynamics, SAP_FORCE_BUSHING);
    case SAP_SWITCH_ACTUATOR:
      *count = sizes->actuators;
      return sap_dynamics_actuator_switches(multibody->dynamics);
    case SAP_SWITCH_JOINT_LIMIT:
      *count = sizes->joints;
      return sap_assembly_switches(multibody->assembly, SAP_ASSEMBLY_JOINT_LIMIT);
    case SAP_SWITCH_JOINT_FRICTION:
      *count = sizes->joints;
      return sap_assembly_switches(multibody->assembly, SAP_ASSEMBLY_JOINT_FRICTION);
    case SAP_SWITCH_TENDON_LIMIT:
      *count = sizes->tendons;
      return sap_assembly_switches(multibody->assembly, SAP_ASSEMBLY_TENDON_LIMIT);
    case SAP_SWITCH_TENDON_FRICTION:
      *count = sizes->tendons;
      return sap_assembly_switches(multibody->assembly, SAP_ASSEMBLY_TENDON_FRICTION);
    case SAP_SWITCH_SHAPE:
      *count = sizes->shapes;
      return multibody->shape_on;
  }
  return NULL;
}

sap_status sap_multibody_enable(sap_multibody* multibody, sap_switch kind, int32_t id, bool enabled,
                                sap_error* error) {
  int32_t count = 0;
  bool* flags = multibody != NULL ? switches(multibody, kind, &count) : NULL;
  if (flags == NULL) {
    return multibody == NULL
               ? sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL")
               : sap_fail(error, SAP_STATUS_ARGUMENT, "kind = %d is no sap_switch", (int)kind);
  }
  if (id < 0 || id >= count) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "id = %d must be 0 to %d", id, count - 1);
  }
  flags[id] = enabled;
  return SAP_STATUS_OK;
}

// Where (a, b) is among the sorted pairs, or would be.
static int32_t place_of(const sap_multibody* multibody, int32_t a, int32_t b) {
  int32_t low = 0, high = multibody->pair_off_count;
  while (low < high) {
    const int32_t middle = low + (high - low) / 2;
    const int32_t* pair = multibody->pairs_off[middle];
    if (pair[0] < a || (pair[0] == a && pair[1] < b)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

static bool stands_at(const sap_multibody* multibody, int32_t place, int32_t a, int32_t b) {
  return place < multibody->pair_off_count && multibody->pairs_off[place][0] == a &&
         multibody->pairs_off[place][1] == b;
}

bool sap_multibody_touches(const sap_multibody* multibody, int32_t shape_a, int32_t shape_b) {
  const int32_t a = shape_a < shape_b ? shape_a : shape_b;
  const int32_t b = shape_a < shape_b ? shape_b : shape_a;
  return multibody->shape_on[a] && multibody->shape_on[b] &&
         (multibody->pair_off_count == 0 || !stands_at(multibody, place_of(multibody, a, b), a, b));
}

sap_status sap_multibody_enable_contacts(sap_multibody* multibody, int32_t shape_a, int32_t shape_b,
                                         bool enabled, sap_error* error) {
  if (multibody == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "multibody is NULL");
  }
  const int32_t shapes = multibody->model->sizes.shapes;
  const int32_t a = shape_a < shape_b ? shape_a : shape_b;
  const int32_t b = shape_a < shape_b ? shape_b : shape_a;
  if (a < 0 || b >= shapes || a == b) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "shape_a = %d, shape_b = %d must be two different shapes of 0 to %d", shape_a,
                    shape_b, shapes - 1);
  }
  const int32_t place = place_of(multibody, a, b);
  const bool off = stands_at(multibody, place, a, b);
  if (off != enabled) {
    return SAP_STATUS_OK;
  }
  const int32_t count = multibody->pair_off_count;
  const sap_status status =
      SAP_GROW(&multibody->pairs_off, &multibody->pair_off_capacity, count + 1, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t(*pair)[2] = multibody->pairs_off + place;
  if (enabled) {
    memmove(pair, pair + 1, (size_t)(count - place - 1) * sizeof *pair);
  } else {
    memmove(pair + 1, pair, (size_t)(count - place) * sizeof *pair);
    pair[0][0] = a;
    pair[0][1] = b;
  }
  multibody->pair_off_count += enabled ? -1 : 1;
  return SAP_STATUS_OK;
}
