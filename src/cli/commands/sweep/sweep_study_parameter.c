// SPDX-License-Identifier: BSD-3-Clause
// Lines of a study that set parameters: set, grid and random.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/options.h"

static bool keep_values(sweep_parameter* p, char** words, int count) {
  p->values = calloc((size_t)count, sizeof *p->values);
  p->numeric = true;
  for (int i = 0; i < count && p->values != NULL; ++i) {
    double number;
    p->values[i] = malloc(strlen(words[i]) + 1);
    if (p->values[i] == NULL) {
      return false;
    }
    strcpy(p->values[i], words[i]);
    p->numeric = p->numeric && cli_read_real(words[i], &number);
    p->count = i + 1;
  }
  return p->values != NULL;
}

static bool check_values(const sweep_study* s, const sweep_parameter* p, sap_error* error) {
  for (int32_t i = 0; i < p->count; ++i) {
    sweep_setup setup;
    sweep_setup_begin(&setup);
    const char* wrong = sweep_setup_take(&setup, p->name, p->values[i]);
    if (wrong != NULL && wrong[0] == '\0') {
      char list[1024];
      sweep_list_parameters(list, sizeof list);
      return sweep_refuse(s, p->line, error, "unknown parameter '%s'; there are: %s", p->name,
                          list);
    }
    if (wrong != NULL) {
      const char* near = strcmp(p->name, "solver") == 0 ? cli_near_solver(p->values[i]) : NULL;
      return sweep_refuse(s, p->line, error, "%s '%s' must be %s%s%s%s", p->name, p->values[i],
                          wrong, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                          near != NULL ? "'?" : "");
    }
    if (strlen(p->values[i]) >= SWEEP_TEXT_SIZE) {
      return sweep_refuse(s, p->line, error, "a value of %s is too long", p->name);
    }
  }
  return true;
}

// random NAME uniform|log|normal A B, random NAME choose VALUE...
static bool read_random(sweep_study* s, sweep_parameter* p, char** words, int count,
                        sap_error* error) {
  static const char* const kinds[] = {"choose", "uniform", "log", "normal", NULL};
  const int kind = count > 0 ? cli_read_choice(words[0], kinds) : -1;
  if (kind < 0) {
    return sweep_refuse(s, p->line, error,
                        "random %s must be followed by uniform, log, normal or choose", p->name);
  }
  p->kind = (sweep_kind)(SWEEP_CHOOSE + kind);
  if (p->kind == SWEEP_CHOOSE) {
    return count > 1 ? keep_values(p, words + 1, count - 1)
                     : sweep_refuse(s, p->line, error, "choose needs values");
  }
  if (count != 3 || !cli_read_real(words[1], &p->a) || !cli_read_real(words[2], &p->b)) {
    return sweep_refuse(s, p->line, error, "%s needs two numbers", words[0]);
  }
  if (p->kind == SWEEP_NORMAL ? !(p->b >= 0.0) : !(p->a <= p->b)) {
    return sweep_refuse(s, p->line, error, "%s",
                        p->kind == SWEEP_NORMAL ? "the standard deviation must be >= 0"
                                                : "the first number must be the smaller one");
  }
  if (p->kind == SWEEP_LOG && !(p->a > 0.0)) {
    return sweep_refuse(s, p->line, error, "log needs numbers > 0");
  }
  return keep_values(p, words + 1, 1);
}

bool sweep_study_parameter(sweep_study* s, int line, char** words, int count, sap_error* error) {
  sweep_parameter* p = &s->parameters[s->parameter_count];
  if (count < 3) {
    return sweep_refuse(s, line, error, "%s needs a parameter and its values", words[0]);
  }
  if (s->parameter_count == SWEEP_PARAMETERS_MAX || strlen(words[1]) >= SWEEP_NAME_SIZE) {
    return sweep_refuse(s, line, error, "too many parameters, or too long a name");
  }
  for (int i = 0; i < s->parameter_count; ++i) {
    if (strcmp(s->parameters[i].name, words[1]) == 0) {
      return sweep_refuse(s, line, error, "'%s' was given in line %d already", words[1],
                          s->parameters[i].line);
    }
  }
  ++s->parameter_count;
  p->line = line;
  strcpy(p->name, words[1]);
  const bool random = strcmp(words[0], "random") == 0;
  p->kind = strcmp(words[0], "grid") == 0 ? SWEEP_GRID : SWEEP_SET;
  if (!random && p->kind == SWEEP_SET && count != 3) {
    return sweep_refuse(s, line, error, "set takes one value; grid takes many");
  }
  const bool read = random ? read_random(s, p, words + 2, count - 2, error)
                           : keep_values(p, words + 2, count - 2);
  if (!read && error->status == SAP_STATUS_OK) {
    return sweep_refuse(s, line, error, "out of memory");
  }
  return read && check_values(s, p, error);
}
