// SPDX-License-Identifier: BSD-3-Clause
// Quantities of a run by name, and what they are after a step.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/compare/compare.h"
#include "cli/commands/run/run_statistics.h"
#include "cli/options.h"

typedef enum quantity_kind {
  KIND_ENERGY,
  KIND_KINETIC,
  KIND_PENETRATION,
  KIND_SLIP,
  KIND_NORMAL_FORCE,
  KIND_INTERNAL_FORCE,
  KIND_CONTACTS,
  KIND_ITERATIONS,
  KIND_TIME,
  KIND_DEVIATION,
  KIND_PLAIN,               // those above take no argument
  KIND_DRIFT = KIND_PLAIN,  // drift/JOINT
  KIND_FORCE,               // force/CONTACT/x
  KIND_COORDINATE,          // q/JOINT[part]
  KIND_VELOCITY,
  KIND_RESIDUAL,
} quantity_kind;

static const struct {
  const char *name, *unit;
} plain[KIND_PLAIN] = {
    [KIND_ENERGY] = {"energy", "J"},
    [KIND_KINETIC] = {"kinetic", "J"},
    [KIND_PENETRATION] = {"penetration", "m"},
    [KIND_SLIP] = {"slip", "m/s"},
    [KIND_NORMAL_FORCE] = {"normal_force", "N"},
    [KIND_INTERNAL_FORCE] = {"internal_force", "N"},
    [KIND_CONTACTS] = {"contacts", "-"},
    [KIND_ITERATIONS] = {"iterations", "-"},
    [KIND_TIME] = {"time_us", "µs"},
    [KIND_DEVIATION] = {"deviation", "m, rad"},
};

static void list_quantities(char* out, size_t size) {
  size_t used = 0;
  out[0] = '\0';
  for (int i = 0; i < KIND_PLAIN && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", plain[i].name);
  }
  for (int i = 0; i < COMPARE_RESIDUALS && used < size; ++i) {
    used += (size_t)snprintf(out + used, size - used, "%s, ", compare_residuals[i].name);
  }
  if (used < size) {
    (void)snprintf(out + used, size - used, "drift/JOINT, force/CONTACT/x, q/JOINT, v/JOINT[part]");
  }
}

static int find(const char* name, int* index) {
  for (int i = 0; i < KIND_PLAIN; ++i) {
    if (strcmp(name, plain[i].name) == 0) {
      return i;
    }
  }
  for (*index = 0; *index < COMPARE_RESIDUALS; ++*index) {
    if (strcmp(name, compare_residuals[*index].name) == 0) {
      return KIND_RESIDUAL;
    }
  }
  return strncmp(name, "drift/", 6) == 0   ? KIND_DRIFT
         : strncmp(name, "force/", 6) == 0 ? KIND_FORCE
         : strncmp(name, "q/", 2) == 0     ? KIND_COORDINATE
         : strncmp(name, "v/", 2) == 0     ? KIND_VELOCITY
                                           : -1;
}

static int add(compare_options* o, const char* name, const char** wrong) {
  static char text[1024];
  int index;
  if (strlen(name) >= SWEEP_NAME_SIZE || find(name, &index) < 0) {
    const size_t used = (size_t)snprintf(text, sizeof text, "of ");
    list_quantities(text + used, sizeof text - used);
    *wrong = text;
    return -1;
  }
  if (o->quantity_count == COMPARE_QUANTITIES_MAX) {
    *wrong = "16 quantities at most";
    return -1;
  }
  o->quantities[o->quantity_count] = (compare_quantity){.over = -1};
  strcpy(o->quantities[o->quantity_count].name, name);
  return o->quantity_count++;
}

bool compare_quantity_add(compare_options* o, char* text, const char** wrong) {
  static const char* const statistics[] = {"", "max", "mean", "end", "integral", NULL};
  char* at = strchr(text, '@');
  char* colon = strchr(text, ':');
  int statistic = 0;
  if (at != NULL) {
    *at++ = '\0';
  }
  if (colon != NULL) {
    *colon++ = '\0';
    statistic = cli_read_choice(colon, statistics);
    if (statistic < 1 || at != NULL) {
      *wrong = "QUANTITY:max, mean, end or integral, or Y@X";
      return false;
    }
  }
  const int y = add(o, text, wrong);
  if (y < 0) {
    return false;
  }
  o->quantities[y].drawn = true;
  o->quantities[y].statistic = (compare_statistic)statistic;
  if (at != NULL) {
    const int x = add(o, at, wrong);
    o->quantities[y].over = x;
    return x >= 0;
  }
  return true;
}

void compare_quantity_label(const compare_quantity* q, char out[COMPARE_LABEL_SIZE]) {
  static const char* const words[] = {"", ", largest", ", mean", ", at the end", ", integral"};
  int index;
  const int kind = find(q->name, &index);
  const char* unit = kind < KIND_PLAIN    ? plain[kind].unit
                     : kind == KIND_FORCE ? "N"
                     : kind == KIND_DRIFT ? "m"
                                          : "";
  (void)snprintf(out, COMPARE_LABEL_SIZE, "%.48s%s%s%s%s", q->name, words[q->statistic],
                 unit[0] != '\0' ? " [" : "", unit,
                 unit[0] == '\0'                    ? ""
                 : q->statistic == COMPARE_INTEGRAL ? " s]"
                                                    : "]");
}

static sap_status refuse(const char* name, const char* why, sap_error* error) {
  return sap_fail(error, SAP_STATUS_ARGUMENT, "--plot '%.100s': %s", name, why);
}

sap_status compare_probe_find(const compare_quantity* q, const sap_model* model, compare_probe* out,
                              sap_error* error) {
  *out = (compare_probe){.kind = find(q->name, &out->index)};
  sweep_coordinate coordinate;
  char name[SWEEP_NAME_SIZE];
  switch (out->kind) {
    case KIND_RESIDUAL:
      (void)find(q->name, &out->index);
      return SAP_STATUS_OK;
    case KIND_DRIFT: {
      sap_joint_type type;
      int32_t at, v;
      const int32_t joint = sap_model_find(model, SAP_ELEMENT_JOINT, q->name + 6);
      if (joint < 0 ||
          sap_model_joint_address(model, joint, &type, NULL, &at, &v, NULL) != SAP_STATUS_OK ||
          type != SAP_JOINT_FREE) {
        return refuse(q->name, "the scene has no free joint of that name", error);
      }
      out->index = at;
      out->component = v;
      return SAP_STATUS_OK;
    }
    case KIND_FORCE: {
      (void)snprintf(name, sizeof name, "%s", q->name + 6);
      char* axis = strrchr(name, '/');
      if (axis == NULL || axis[1] < 'x' || axis[1] > 'z' || axis[2] != '\0') {
        return refuse(q->name, "it must be force/CONTACT/x, y or z", error);
      }
      *axis = '\0';
      out->component = axis[1] - 'x';
      return cli_read_integer(name, &out->index) && out->index >= 0
                 ? SAP_STATUS_OK
                 : refuse(q->name, "CONTACT must be an integer >= 0", error);
    }
    case KIND_COORDINATE:
    case KIND_VELOCITY:
      if (!sweep_find_coordinate(model, q->name, &coordinate)) {
        return refuse(q->name, "the scene has no such coordinate", error);
      }
      out->index = coordinate.index;
      return SAP_STATUS_OK;
    default:
      return SAP_STATUS_OK;
  }
}

// How far to the left of the straight line along which the start's velocity points, seen from above
// [m]; 0 where that is vertical.
static double drift(const compare_probe* p, const sap_state* start, const sap_state* now) {
  const double* direction = start->v + p->component;
  const double speed = hypot(direction[0], direction[1]);
  const double x = now->q[p->index] - start->q[p->index];
  const double y = now->q[p->index + 1] - start->q[p->index + 1];
  return speed > 0.0 ? (direction[0] * y - direction[1] * x) / speed : 0.0;
}

static double contact_value(const compare_probe* p, const compare_run* run) {
  const sap_contact* contacts = sap_multibody_contacts(run->multibody);
  const int32_t count = sap_multibody_contact_count(run->multibody);
  double value = 0.0;
  if (p->kind == KIND_FORCE) {
    if (p->index >= count) {
      return 0.0;
    }
    const sap_contact* c = &contacts[p->index];
    for (int k = 0; k < 3; ++k) {
      value += c->R_WC[3 * k + p->component] * c->gamma[k] / run->dt;
    }
    return value;
  }
  for (int32_t i = 0; i < count; ++i) {
    const sap_contact* c = &contacts[i];
    if (p->kind == KIND_NORMAL_FORCE) {
      value += c->gamma[2] / run->dt;
    } else if (c->gamma[2] > 0.0) {  // slip
      value = fmax(value, hypot(c->vc[0], c->vc[1]));
    }
  }
  return value;
}

sap_status compare_probe_value(const compare_probe* p, compare_run* run,
                               const compare_sample* sample, double* out, sap_error* error) {
  const sap_step_report* report = sample->report;
  sap_diagnostics d;
  sap_status status = SAP_STATUS_OK;
  switch (p->kind) {
    case KIND_ENERGY:
    case KIND_KINETIC:
      status = sap_multibody_diagnose(run->multibody, &run->state, &d, error);
      *out = p->kind == KIND_KINETIC ? d.kinetic
                                     : d.kinetic + d.potential_gravity + d.potential_springs;
      return status;
    case KIND_PENETRATION:
      *out = run_penetration(sap_multibody_contacts(run->multibody),
                             sap_multibody_contact_count(run->multibody));
      return status;
    case KIND_INTERNAL_FORCE:
      *out = 0.0;
      if (report->blocks > 0) {
        status = compare_internal_impulse(report->problem, report->solution->gamma, out, error);
        *out /= run->dt;
      }
      return status;
    case KIND_CONTACTS:
      *out = sap_multibody_contact_count(run->multibody);
      return status;
    case KIND_ITERATIONS:
      *out = run_newton_iterations(report);
      return status;
    case KIND_TIME:
      *out = report->solver != NULL ? 1e6 * report->solver->time : 0.0;
      return status;
    case KIND_DEVIATION:
      *out = sample->deviation;
      return status;
    case KIND_DRIFT:
      *out = drift(p, sample->start, &run->state);
      return status;
    case KIND_COORDINATE:
      *out = run->state.q[p->index];
      return status;
    case KIND_VELOCITY:
      *out = run->state.v[p->index];
      return status;
    case KIND_RESIDUAL:
      *out = sample->residual != NULL ? compare_residual_value(sample->residual, p->index) : 0.0;
      return status;
    default:
      *out = contact_value(p, run);
      return status;
  }
}
