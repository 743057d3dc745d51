// SPDX-License-Identifier: BSD-3-Clause
// The text of a study: a line per setting, words separated by blanks, # begins a comment.
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands/sweep/sweep.h"
#include "cli/commands/sweep/sweep_hash.h"
#include "cli/options.h"
#include "cli/text_file.h"
#include "core/file.h"

enum { WORDS_MAX = 4096 };
static const char blanks[] = " \t\r";

bool sweep_refuse(const sweep_study* study, int line, sap_error* error, const char* format, ...) {
  va_list arguments;
  char text[400];
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  (void)sap_fail(error, SAP_STATUS_SYNTAX, "%.99s:%d: %.399s", study->path, line, text);
  return false;
}

// A path that stands in the study is relative to its folder; pipes have none.
static char* beside(const char* study, const char* path) {
  const bool file = sap_file_regular(study, NULL) == SAP_STATUS_OK;
  const char* slash = file ? strrchr(study, '/') : NULL;
  const size_t folder = slash != NULL && path[0] != '/' ? (size_t)(slash + 1 - study) : 0;
  char* out = malloc(folder + strlen(path) + 1);
  if (out != NULL) {
    memcpy(out, study, folder);
    strcpy(out + folder, path);
  }
  return out;
}

static bool read_measures(sweep_study* s, int line, char** words, int count, sap_error* error) {
  for (int i = 1; i < count; ++i) {
    if (s->measure_count == SWEEP_MEASURES_MAX || strlen(words[i]) >= SWEEP_NAME_SIZE) {
      return sweep_refuse(s, line, error, "too many measures, or too long a name");
    }
    for (int j = 0; j < s->measure_count; ++j) {
      if (strcmp(s->measures[j].name, words[i]) == 0) {
        return sweep_refuse(s, line, error, "measure '%s' was given already", words[i]);
      }
    }
    s->measures[s->measure_count].line = line;
    strcpy(s->measures[s->measure_count++].name, words[i]);
  }
  return count > 1 || sweep_refuse(s, line, error, "measure needs names");
}

static bool read_setting(sweep_study* s, int line, char** words, int count, sap_error* error) {
  static const char* const settings[] = {"scene", "duration", "samples",       "seed", "keyframe",
                                         "floor", "lenient",  "floating_base", NULL};
  int32_t integer;
  const int id = cli_read_choice(words[0], settings);
  if (id < 0) {
    return sweep_refuse(s, line, error,
                        "unknown word '%s'; a line begins with scene, duration, set, grid, random, "
                        "samples, seed, measure, keyframe, floor, lenient or floating_base",
                        words[0]);
  }
  if (count != (id < 6 ? 2 : 1)) {
    return sweep_refuse(s, line, error, "%s takes %s", words[0], id < 6 ? "one value" : "no value");
  }
  switch (id) {
    case 0:
      free(s->scene);
      s->scene = beside(s->path, words[1]);
      s->scene_line = line;
      return s->scene != NULL || sweep_refuse(s, line, error, "out of memory");
    case 1:
      return (cli_read_real(words[1], &s->duration) && s->duration >= 0.0 && s->duration <= 1e9) ||
             sweep_refuse(s, line, error, "duration '%s' must be between 0 and 1e9 s", words[1]);
    case 2:
      if (!cli_read_integer(words[1], &integer) || integer < 1) {
        return sweep_refuse(s, line, error, "samples '%s' must be an integer >= 1", words[1]);
      }
      s->samples = integer;
      return true;
    case 3:
      return cli_read_integer(words[1], &s->seed) ||
             sweep_refuse(s, line, error, "seed '%s' must be an integer", words[1]);
    case 4:
      (void)snprintf(s->keyframe, sizeof s->keyframe, "%.*s", SWEEP_NAME_SIZE - 1, words[1]);
      return true;
    case 5:
      return (cli_read_real(words[1], &s->floor) && fabs(s->floor) <= 1e6) ||
             sweep_refuse(s, line, error, "floor '%s' must be between -1e6 and 1e6 m", words[1]);
    default:
      *(id == 6 ? &s->lenient : &s->floating_base) = true;
      return true;
  }
}

static bool read_line(sweep_study* s, int line, char* text, sap_error* error) {
  char* words[WORDS_MAX];
  int count = 0;
  text[strcspn(text, "#")] = '\0';
  for (char* at = text + strspn(text, blanks); *at != '\0'; at += strspn(at, blanks)) {
    if (count == WORDS_MAX) {
      return sweep_refuse(s, line, error, "more than %d words", WORDS_MAX);
    }
    words[count++] = at;
    at += strcspn(at, blanks);
    if (*at != '\0') {
      *at++ = '\0';
    }
  }
  if (count == 0) {
    return true;
  }
  if (strcmp(words[0], "grid") == 0 || strcmp(words[0], "random") == 0 ||
      strcmp(words[0], "set") == 0) {
    return sweep_study_parameter(s, line, words, count, error);
  }
  return strcmp(words[0], "measure") == 0 ? read_measures(s, line, words, count, error)
                                          : read_setting(s, line, words, count, error);
}

static bool count_cases(sweep_study* s, int line, sap_error* error) {
  s->cases = s->samples;
  for (int i = 0; i < s->parameter_count; ++i) {
    const int64_t factor = s->parameters[i].kind == SWEEP_GRID ? s->parameters[i].count : 1;
    if (s->cases > SWEEP_CASES_MAX / factor) {
      return sweep_refuse(s, line, error, "more than %d cases", SWEEP_CASES_MAX);
    }
    s->cases *= factor;
  }
  return true;
}

// *end: the number of the line after the last.
static bool read_lines(sweep_study* s, char* text, int* end, sap_error* error) {
  bool good = true;
  *end = 1;
  for (char* line = cli_next_line(&text); good && line != NULL; line = cli_next_line(&text)) {
    good = read_line(s, (*end)++, line, error);
  }
  return good;
}

bool sweep_study_read(const char* path, sweep_study* s, sap_error* error) {
  *s = (sweep_study){.path = path, .duration = 1.0, .samples = 1, .floor = (double)NAN};
  s->text = cli_read_text(path, error);
  if (s->text == NULL) {
    return false;
  }
  char* lines = malloc(strlen(s->text) + 1);
  if (lines == NULL) {
    (void)cli_no_memory(error);
    return false;
  }
  strcpy(lines, s->text);
  int end;
  bool good = read_lines(s, lines, &end, error);
  free(lines);
  if (good && s->scene == NULL) {
    good = sweep_refuse(s, end, error, "a line 'scene FILE' is missing");
  }
  if (good && s->measure_count == 0) {
    good = sweep_refuse(s, end, error, "a line 'measure NAME...' is missing");
  }
  s->hash = sweep_hash(SWEEP_HASH_BEGIN, s->text, strlen(s->text));
  s->hash = sweep_hash(s->hash, sap_version(), strlen(sap_version()));
  return good && count_cases(s, end, error) && sweep_study_try(s, error);
}

void sweep_study_clear(sweep_study* s) {
  for (int i = 0; i < s->parameter_count; ++i) {
    for (int32_t j = 0; j < s->parameters[i].count; ++j) {
      free(s->parameters[i].values[j]);
    }
    free(s->parameters[i].values);
  }
  free(s->text);
  free(s->scene);
}
