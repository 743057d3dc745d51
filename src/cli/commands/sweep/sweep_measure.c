// SPDX-License-Identifier: BSD-3-Clause
// What is measured of a run. Nothing here depends on the clock: a case gives the same bits always.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/run/run_statistics.h"
#include "cli/commands/sweep/sweep.h"

typedef enum measure_id {
  MEASURE_KINETIC_END,
  MEASURE_POTENTIAL_END,
  MEASURE_ENERGY_END,
  MEASURE_ENERGY_DRIFT,
  MEASURE_KINETIC_MAX,
  MEASURE_PENETRATION_MAX,
  MEASURE_PENETRATION_END,
  MEASURE_SLIP_END,
  MEASURE_ITERATIONS_MEAN,
  MEASURE_ITERATIONS_MEDIAN,
  MEASURE_ITERATIONS_MAX,
  MEASURE_CONTACTS_MEAN,
  MEASURE_CONTACTS_MAX,
  MEASURE_MOMENTUM_ERROR_MAX,
  MEASURE_HESSIAN_CONDITION,
  MEASURE_UNCONVERGED_STEPS,
  MEASURE_STEPS,
  MEASURE_CENTER_X,
  MEASURE_CENTER_Y,
  MEASURE_CENTER_Z,
  MEASURE_MASS,
  MEASURE_COUNT
} measure_id;

static const char* const names[MEASURE_COUNT] = {
    [MEASURE_KINETIC_END] = "kinetic_end",
    [MEASURE_POTENTIAL_END] = "potential_end",
    [MEASURE_ENERGY_END] = "energy_end",
    [MEASURE_ENERGY_DRIFT] = "energy_drift",
    [MEASURE_KINETIC_MAX] = "kinetic_max",
    [MEASURE_PENETRATION_MAX] = "penetration_max",
    [MEASURE_PENETRATION_END] = "penetration_end",
    [MEASURE_SLIP_END] = "slip_end",
    [MEASURE_ITERATIONS_MEAN] = "iterations_mean",
    [MEASURE_ITERATIONS_MEDIAN] = "iterations_median",
    [MEASURE_ITERATIONS_MAX] = "iterations_max",
    [MEASURE_CONTACTS_MEAN] = "contacts_mean",
    [MEASURE_CONTACTS_MAX] = "contacts_max",
    [MEASURE_MOMENTUM_ERROR_MAX] = "momentum_error_max",
    [MEASURE_HESSIAN_CONDITION] = "hessian_condition",
    [MEASURE_UNCONVERGED_STEPS] = "unconverged_steps",
    [MEASURE_STEPS] = "steps",
    [MEASURE_CENTER_X] = "center_x",
    [MEASURE_CENTER_Y] = "center_y",
    [MEASURE_CENTER_Z] = "center_z",
    [MEASURE_MASS] = "mass",
};

static int find(const char* name) {
  int i = 0;
  while (i < MEASURE_COUNT && strcmp(names[i], name) != 0) {
    ++i;
  }
  return i;
}

bool sweep_measure_known(const sap_model* model, const char* name) {
  sweep_coordinate coordinate;
  return find(name) < MEASURE_COUNT || sweep_find_coordinate(model, name, &coordinate);
}

const char* sweep_measure_unit(const char* name) {
  const int id = find(name);
  if (id <= MEASURE_KINETIC_MAX) {
    return " [J]";
  } else if (id <= MEASURE_PENETRATION_END || (id >= MEASURE_CENTER_X && id <= MEASURE_CENTER_Z)) {
    return " [m]";
  }
  return id == MEASURE_SLIP_END ? " [m/s]" : id == MEASURE_MASS ? " [kg]" : "";
}

void sweep_list_measures(char* out, size_t size) {
  size_t used = 0;
  for (int i = 0; i < MEASURE_COUNT && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", names[i]);
  }
  if (used < size) {
    (void)snprintf(out + used, size - used, "q/JOINT, v/JOINT[part] at the end");
  }
}

bool sweep_measure_of_hessian(const char* name) {
  return find(name) == MEASURE_HESSIAN_CONDITION;
}

// Mean tangential speed over the contacts [m/s]; 0 without any.
static double mean_slip(const sap_multibody* multibody) {
  const int32_t count = sap_multibody_contact_count(multibody);
  const sap_contact* contacts = sap_multibody_contacts(multibody);
  double sum = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    sum += hypot(contacts[i].vc[0], contacts[i].vc[1]);
  }
  return count > 0 ? sum / count : 0.0;
}

static double mean(int64_t sum, int64_t count) {
  return count > 0 ? (double)sum / (double)count : (double)NAN;
}

// Of the steps' iterations, the lower one of two.
static double median(const sweep_sums* s) {
  int64_t below = 0;
  for (int i = 0; i < SWEEP_HISTOGRAM; ++i) {
    below += s->histogram[i];
    if (2 * below >= s->steps) {
      return s->steps > 0 ? i : (double)NAN;
    }
  }
  return (double)NAN;
}

static double value(measure_id id, const sweep_sums* s, const sap_diagnostics* d,
                    const sap_multibody* multibody) {
  const double potential = d->potential_gravity + d->potential_springs;
  switch (id) {
    case MEASURE_KINETIC_END:
      return d->kinetic;
    case MEASURE_POTENTIAL_END:
      return potential;
    case MEASURE_ENERGY_END:
      return d->kinetic + potential;
    case MEASURE_ENERGY_DRIFT:
      return d->kinetic + potential - s->kinetic_start - s->potential_start;
    case MEASURE_KINETIC_MAX:
      return s->kinetic_max;
    case MEASURE_PENETRATION_MAX:
      return s->penetration_max;
    case MEASURE_PENETRATION_END:
      return run_penetration(sap_multibody_contacts(multibody),
                             sap_multibody_contact_count(multibody));
    case MEASURE_SLIP_END:
      return mean_slip(multibody);
    case MEASURE_ITERATIONS_MEAN:
      return mean(s->iterations, s->steps);
    case MEASURE_ITERATIONS_MEDIAN:
      return median(s);
    case MEASURE_ITERATIONS_MAX:
      return (double)s->iterations_max;
    case MEASURE_CONTACTS_MEAN:
      return mean(s->contacts, s->steps);
    case MEASURE_CONTACTS_MAX:
      return (double)s->contacts_max;
    case MEASURE_MOMENTUM_ERROR_MAX:
      return s->momentum_error_max;
    case MEASURE_HESSIAN_CONDITION:
      return s->hessian_condition;
    case MEASURE_UNCONVERGED_STEPS:
      return (double)s->unconverged;
    case MEASURE_STEPS:
      return (double)s->steps;
    case MEASURE_MASS:
      return d->mass;
    default:
      return d->p_WCm[id - MEASURE_CENTER_X];
  }
}

sap_status sweep_measure(const sweep_study* study, const sweep_sums* sums, sap_multibody* multibody,
                         const sap_model* model, const sap_state* state, double* out,
                         sap_error* error) {
  sap_diagnostics d;
  const sap_status status = sap_multibody_diagnose(multibody, state, &d, error);
  for (int i = 0; status == SAP_STATUS_OK && i < study->measure_count; ++i) {
    sweep_coordinate at;
    const int id = find(study->measures[i].name);
    if (id < MEASURE_COUNT) {
      out[i] = value((measure_id)id, sums, &d, multibody);
    } else if (sweep_find_coordinate(model, study->measures[i].name, &at)) {
      out[i] = at.velocity ? state->v[at.index] : state->q[at.index];
    }
  }
  return status;
}
