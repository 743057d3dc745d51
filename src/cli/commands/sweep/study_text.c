// SPDX-License-Identifier: BSD-3-Clause
// The text of a study: a line per setting, words separated by blanks, # begins a comment.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands/sweep/study.h"
#include "cli/expression.h"
#include "cli/files.h"
#include "cli/options.h"
#include "core/archive.h"
#include "core/file.h"

enum { WORDS_MAX = 4096 };

// Fills the error with "file:line: text" and is false.
#define refuse_line(study, line, error, ...)                \
  ((void)sap_fail((error), SAP_STATUS_SYNTAX, __VA_ARGS__), \
   sap_error_prefix((error), "%.99s:%d", (study)->path, (int)(line)), false)

// --- parameters: set, grid and random ---

static void keep_values(study_parameter* p, char** words, int count) {
  p->values = cli_new((size_t)count, sizeof *p->values);
  p->count = count;
  p->numeric = true;
  for (int i = 0; i < p->count; ++i) {
    double number;
    p->values[i] = words[i];
    p->numeric = p->numeric && cli_read_real(words[i], &number);
  }
}

static bool check_values(const study_spec* s, const study_parameter* p, sap_error* error) {
  for (int32_t i = 0; i < p->count; ++i) {
    study_setup setup;
    study_setup_begin(s, &setup);
    const char* wrong = study_setup_take(&setup, p->name, p->values[i]);
    if (wrong != NULL && wrong[0] == '\0') {
      char list[1024];
      study_list_parameters(list, sizeof list);
      return refuse_line(s, p->line, error, "unknown parameter '%s'; available: %s", p->name, list);
    }
    if (wrong != NULL) {
      const char* near = strcmp(p->name, "solver") == 0 ? cli_near_solver(p->values[i]) : NULL;
      return refuse_line(s, p->line, error, "%s '%s' must be %s%s%s%s", p->name, p->values[i],
                         wrong, near != NULL ? "; did you mean '" : "", near != NULL ? near : "",
                         near != NULL ? "'?" : "");
    }
    SAP_RETURN_IF(strlen(p->values[i]) >= STUDY_TEXT_SIZE,
                  refuse_line(s, p->line, error, "a value of %s is too long", p->name));
  }
  return true;
}

// Reads "random NAME uniform|log|normal A B" or "random NAME choose VALUE...".
static bool read_random(study_spec* s, study_parameter* p, char** words, int count,
                        sap_error* error) {
  static const char* const kinds[] = {"choose", "uniform", "log", "normal", NULL};
  const int kind = count > 0 ? cli_read_choice(words[0], kinds) : -1;
  if (kind < 0) {
    return refuse_line(s, p->line, error,
                       "random %s must be followed by uniform, log, normal or choose", p->name);
  }
  p->kind = (study_kind)(STUDY_CHOOSE + kind);
  if (p->kind == STUDY_CHOOSE) {
    keep_values(p, words + 1, count - 1);
    return count > 1 || refuse_line(s, p->line, error, "choose needs values");
  }
  SAP_RETURN_IF(count != 3 || !cli_read_real(words[1], &p->a) || !cli_read_real(words[2], &p->b),
                refuse_line(s, p->line, error, "%s needs two numbers", words[0]));
  SAP_RETURN_IF(p->kind == STUDY_NORMAL ? !(p->b >= 0.0) : !(p->a <= p->b),
                refuse_line(s, p->line, error, "%s",
                            p->kind == STUDY_NORMAL ? "the standard deviation must be >= 0"
                                                    : "the first number must be the smaller one"));
  SAP_RETURN_IF(p->kind == STUDY_LOG && !(p->a > 0.0),
                refuse_line(s, p->line, error, "log needs numbers > 0"));
  keep_values(p, words + 1, 1);
  return true;
}

// Reads a line "set|grid|random NAME ...", as words.
static bool read_parameter(study_spec* s, int line, char** words, int count, sap_error* error) {
  study_parameter* p = &s->parameters[s->parameter_count];
  SAP_RETURN_IF(count < 3,
                refuse_line(s, line, error, "%s needs a parameter and its values", words[0]));
  SAP_RETURN_IF(s->parameter_count == STUDY_PARAMETERS_MAX || strlen(words[1]) >= STUDY_NAME_SIZE,
                refuse_line(s, line, error, "too many parameters, or too long a name"));
  for (int i = 0; i < s->parameter_count; ++i) {
    SAP_RETURN_IF(strcmp(s->parameters[i].name, words[1]) == 0,
                  refuse_line(s, line, error, "'%s' was given in line %d already", words[1],
                              s->parameters[i].line));
  }
  ++s->parameter_count;
  p->line = line;
  strcpy(p->name, words[1]);
  const bool random = strcmp(words[0], "random") == 0;
  p->kind = strcmp(words[0], "grid") == 0 ? STUDY_GRID : STUDY_SET;
  SAP_RETURN_IF(!random && p->kind == STUDY_SET && count != 3,
                refuse_line(s, line, error, "set takes one value; grid takes many"));
  keep_values(p, words + 2, count - 2);
  return (!random || read_random(s, p, words + 2, count - 2, error)) && check_values(s, p, error);
}

// Checks that the scene has the bodies and coordinates that forces and quantities name.
static bool check_names(const study_spec* s, const sap_model* model, sap_error* error) {
  for (int i = 0; i < s->force_count; ++i) {
    SAP_RETURN_IF(
        sap_model_find(model, SAP_ELEMENT_BODY, s->forces[i].body) < 1,
        refuse_line(s, s->forces[i].line, error, "the scene has no body '%s'", s->forces[i].body));
  }
  for (int i = 0; i < s->quantity_count; ++i) {
    study_probe probe;
    sap_error reason;
    SAP_RETURN_IF(study_probe_find(s->quantities[i].name, model, &probe, &reason) != SAP_STATUS_OK,
                  refuse_line(s, s->quantities[i].line, error, "%s", reason.message));
  }
  return true;
}

// Checks before the first case that the scene accepts every value of the first case and every
// measure; the hash continues with the files of the scene.
static bool check_scene(study_spec* s, sap_error* error) {
  sap_error refusal;
  SAP_RETURN_IF(cli_check_reread(s->scene, &refusal) != SAP_STATUS_OK,
                refuse_line(s, s->scene_line, error, "%s", refusal.message));
  for (int i = -1; i < s->parameter_count; ++i) {
    char value[STUDY_TEXT_SIZE];
    study_setup setup;
    cli_run run;
    sap_error reason = {0};
    study_setup_begin(s, &setup);
    setup.scene.reading.file = cli_hash_file;
    setup.scene.reading.file_context = &s->hash;
    if (i >= 0) {
      if (strchr(s->parameters[i].name, '/') == NULL) {
        continue;
      }
      study_value(s, i, 0, value);
      (void)study_setup_take(&setup, s->parameters[i].name, value);
    }
    const int line = i < 0 ? s->scene_line : s->parameters[i].line;
    bool good = study_open(&setup, &run, &reason) == SAP_STATUS_OK ||
                refuse_line(s, line, error, "%s", reason.message);
    good = good && (i >= 0 || check_names(s, run.model, error));
    cli_run_close(&run);
    if (!good) {
      return false;
    }
  }
  return true;
}

// --- the study ---

// Returns the path of a file named in a study, relative to its folder; pipes have none.
static char* path_beside(const char* study, const char* path) {
  const bool file = sap_file_regular(study, NULL) == SAP_STATUS_OK;
  const char* slash = file ? strrchr(study, '/') : NULL;
  const size_t folder = slash != NULL && path[0] != '/' ? (size_t)(slash + 1 - study) : 0;
  char* out = cli_new(folder + strlen(path) + 1, 1);
  memcpy(out, study, folder);
  return strcat(out, path);
}

// --- measures, plots and forces ---

// Adds a quantity unless it is there, and returns its index; -1: it is refused.
static int add_quantity(study_spec* s, int line, const char* name, sap_error* error) {
  int i = 0;
  while (i < s->quantity_count && strcmp(s->quantities[i].name, name) != 0) {
    ++i;
  }
  if (i < s->quantity_count) {
    return i;
  }
  if (strlen(name) >= STUDY_NAME_SIZE || !study_quantity_known(name)) {
    char list[400];
    study_list_quantities(list, sizeof list);
    (void)refuse_line(s, line, error, "unknown quantity '%.99s'; available: %s", name, list);
    return -1;
  }
  s->quantities[i] = (study_quantity){.line = line};
  strcpy(s->quantities[i].name, name);
  return s->quantity_count++;
}

// Reads "measure QUANTITY[:STATISTIC]...".
static bool read_measures(study_spec* s, int line, char** words, int count, sap_error* error) {
  static const char* const statistics[] = {"end",    "change", "max",      "mean",
                                           "median", "sum",    "integral", NULL};
  for (int i = 1; i < count; ++i) {
    char name[STUDY_NAME_SIZE];
    SAP_RETURN_IF(s->measure_count == STUDY_MEASURES_MAX || strlen(words[i]) >= sizeof name,
                  refuse_line(s, line, error, "too many measures, or too long a name"));
    for (int j = 0; j < s->measure_count; ++j) {
      SAP_RETURN_IF(strcmp(s->measures[j].name, words[i]) == 0,
                    refuse_line(s, line, error, "measure '%s' was given already", words[i]));
    }
    char* colon = strrchr(strcpy(name, words[i]), ':');
    if (colon != NULL) {
      *colon = '\0';
    }
    const int statistic = colon != NULL ? cli_read_choice(colon + 1, statistics) : STUDY_END;
    const int quantity = statistic >= 0 ? add_quantity(s, line, name, error) : -1;
    if (statistic < 0) {
      return refuse_line(s, line, error,
                         "'%s' must be QUANTITY or QUANTITY:end, change, max, mean, median, sum or "
                         "integral",
                         words[i]);
    }
    if (quantity < 0) {
      return false;
    }
    s->quantities[quantity].each_step |= statistic > STUDY_CHANGE;
    s->quantities[quantity].kept |= statistic == STUDY_MEDIAN;
    s->measures[s->measure_count].name = words[i];
    s->measures[s->measure_count].quantity = quantity;
    s->measures[s->measure_count++].statistic = (study_statistic)statistic;
  }
  return count > 1 || refuse_line(s, line, error, "measure needs quantities");
}

// Reads "plot QUANTITY|Y@X...".
static bool read_plots(study_spec* s, int line, char** words, int count, sap_error* error) {
  for (int i = 1; i < count; ++i) {
    SAP_RETURN_IF(s->plot_count == STUDY_PLOTS_MAX,
                  refuse_line(s, line, error, "more than %d plots", STUDY_PLOTS_MAX));
    char* at = strchr(words[i], '@');
    if (at != NULL) {
      *at = '\0';
    }
    const int y = add_quantity(s, line, words[i], error);
    const int x = y >= 0 ? add_quantity(s, line, at != NULL ? at + 1 : "time", error) : -1;
    if (x < 0) {
      return false;
    }
    s->quantities[x].each_step = s->quantities[x].kept = true;
    s->quantities[y].each_step = s->quantities[y].kept = true;
    s->plots[s->plot_count++] = (study_plot){.name = words[i], .x = x, .y = y};
  }
  return count > 1 || refuse_line(s, line, error, "plot needs quantities");
}

static bool is_formula(const char* text) {
  const char* wrong;
  (void)expression_value(text, 0.0, &wrong);
  return wrong == NULL;
}

// Reads "exact QUANTITY FORMULA".
static bool read_exact(study_spec* s, int line, char** words, int count, sap_error* error) {
  for (int i = 0; count == 3 && is_formula(words[2]) && i < s->plot_count; ++i) {
    if (strcmp(s->plots[i].name, words[1]) == 0) {
      s->plots[i].exact = words[2];
      return true;
    }
  }
  return refuse_line(s, line, error,
                     "exact needs a quantity that a line before plots, and a formula of t without "
                     "blanks");
}

// Reads "force BODY/x FORMULA".
static bool read_force(study_spec* s, int line, char** words, int count, sap_error* error) {
  char* slash = count == 3 ? strrchr(words[1], '/') : NULL;
  SAP_RETURN_IF(
      slash == NULL || slash[1] < 'x' || slash[1] > 'z' || slash[2] != '\0' ||
          !is_formula(words[2]),
      refuse_line(s, line, error, "force needs BODY/x, y or z and a formula of t without blanks"));
  SAP_RETURN_IF(s->force_count == STUDY_FORCES_MAX,
                refuse_line(s, line, error, "more than %d forces", STUDY_FORCES_MAX));
  *slash = '\0';
  s->forces[s->force_count++] =
      (study_force){.body = words[1], .formula = words[2], .axis = slash[1] - 'x', .line = line};
  return true;
}

// --- settings ---

static const char* take_reference(void* study, const char* text) {
  ((study_spec*)study)->reference = text;
  return strcmp(text, "own") == 0 || sap_solver_find(text) != NULL ? NULL : "own or a solver";
}

#define AT(member) .offset = offsetof(study_spec, member)
static const cli_option settings[] = {
    {"scene", "FILE", "", CLI_PATH, AT(scene_name)},
    {"duration", "S", "[s]", CLI_REAL, AT(duration), 0, 1e9},
    {"samples", "N", "", CLI_INTEGER, AT(samples), 1, INT32_MAX},
    {"seed", "N", "", CLI_INTEGER, AT(seed), INT32_MIN, INT32_MAX},
    {"keyframe", "NAME", "", CLI_TEXT, AT(keyframe)},
    {"floor", "Z", "[m]", CLI_REAL, AT(reading.floor), -1e6, 1e6},
    {"lenient", NULL, "", CLI_FLAG, AT(reading.lenient)},
    {"floating_base", NULL, "", CLI_FLAG, AT(reading.floating_base)},
    {"reference", "NAME", "", CLI_CALL, .take = take_reference},
    {"reference_dt", "S", "[s]", CLI_POSITIVE, AT(reference_dt), 0, 1e9},
    {0},
};

static bool read_setting(study_spec* s, int line, char** words, int count, sap_error* error) {
  const cli_option* o = settings;
  while (o->name != NULL && strcmp(o->name, words[0]) != 0) {
    ++o;
  }
  if (o->name == NULL) {
    return refuse_line(s, line, error,
                       "unknown word '%s'; a line begins with scene, duration, set, grid, random, "
                       "samples, seed, measure, plot, exact, force, reference, reference_dt, "
                       "keyframe, floor, lenient or floating_base",
                       words[0]);
  }
  SAP_RETURN_IF(count != (o->argument != NULL ? 2 : 1),
                refuse_line(s, line, error, "%s takes %s", words[0],
                            o->argument != NULL ? "one value" : "no value"));
  const char* allowed = cli_take_option(o, s, count > 1 ? words[1] : NULL);
  SAP_RETURN_IF(allowed != NULL,
                refuse_line(s, line, error, "%s '%s' must be %s", words[0], words[1], allowed));
  if (o == settings) {
    s->scene = path_beside(s->path, s->scene_name);
    s->scene_line = line;
  }
  return true;
}

static bool read_line(study_spec* s, int line, char* text, sap_error* error) {
  char* words[WORDS_MAX];
  const int count = cli_split_words(text, words, WORDS_MAX);
  SAP_RETURN_IF(count < 0, refuse_line(s, line, error, "more than %d words", WORDS_MAX));
  if (count == 0) {
    return true;
  }
  static const struct {
    const char* word;
    bool (*read)(study_spec* s, int line, char** words, int count, sap_error* error);
  } lists[] = {{"set", read_parameter},    {"grid", read_parameter}, {"random", read_parameter},
               {"measure", read_measures}, {"plot", read_plots},     {"exact", read_exact},
               {"force", read_force}};
  for (size_t i = 0; i < sizeof lists / sizeof *lists; ++i) {
    if (strcmp(words[0], lists[i].word) == 0) {
      return lists[i].read(s, line, words, count, error);
    }
  }
  return read_setting(s, line, words, count, error);
}

static bool count_cases(study_spec* s, int line, sap_error* error) {
  s->cases = s->samples;
  for (int i = 0; i < s->parameter_count; ++i) {
    const int64_t factor = s->parameters[i].kind == STUDY_GRID ? s->parameters[i].count : 1;
    SAP_RETURN_IF(s->cases > STUDY_CASES_MAX / factor,
                  refuse_line(s, line, error, "more than %d cases", STUDY_CASES_MAX));
    s->cases *= factor;
  }
  return true;
}

bool study_read(const char* path, study_spec* s, sap_error* error) {
  *s = (study_spec){
      .path = path, .duration = 1.0, .samples = 1, .reading = sap_scene_options_default()};
  s->text = cli_read_text(path, error);
  if (s->text == NULL) {
    return false;
  }
  char* rest = cli_copy(s->text);
  int end = 1;  // the line after the last
  bool good = true;
  for (char* line = cli_next_line(&rest); good && line != NULL; line = cli_next_line(&rest)) {
    good = read_line(s, end++, line, error);
  }
  if (good && s->scene == NULL) {
    good = refuse_line(s, end, error, "a line 'scene FILE' is missing");
  }
  if (good && s->quantity_count == 0) {
    good =
        refuse_line(s, end, error, "a line 'measure QUANTITY...' or 'plot QUANTITY...' is missing");
  }
  for (int i = 0; good && i < s->quantity_count; ++i) {
    if (strcmp(s->quantities[i].name, "deviation") == 0 && s->reference == NULL) {
      good = refuse_line(s, s->quantities[i].line, error,
                         "deviation needs a line 'reference own' or 'reference SOLVER'");
    }
  }
  s->hash = sap_hash(SAP_HASH_START, s->text, strlen(s->text));
  s->hash = sap_hash(s->hash, sap_version(), strlen(sap_version()));
  return good && count_cases(s, end, error) && check_scene(s, error);
}
