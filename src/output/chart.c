// SPDX-License-Identifier: BSD-3-Clause
// Draws charts with gnuplot: a script with the data goes in, a picture comes out. Lengths are in
// pixels. Texts are in single quotes, where gnuplot expands nothing.
#define _POSIX_C_SOURCE 200809L
#include <sapstep/output.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"
#include "core/platform.h"

static const double PLOT_SIZE[2] = {400.0, 300.0}, STACKED_SIZE[2] = {640.0, 200.0};
static const double LEFT = 78.0, RIGHT = 18.0, TOP = 40.0, BOTTOM = 56.0;
static const double LINE_HEIGHT = 20.0, LETTER = 7.0;  // of the legend; LETTER is an upper estimate

// Okabe and Ito's colours, which all kinds of colour vision can distinguish, without yellow, which
// is too faint on white; and markers, by which lines differ in grey print.
static const char style[] =
    "set encoding utf8\n"
    "set linetype 1 lc rgb '#0072B2' lw 1.5 pt 7\n"
    "set linetype 2 lc rgb '#D55E00' lw 1.5 pt 5\n"
    "set linetype 3 lc rgb '#009E73' lw 1.5 pt 9\n"
    "set linetype 4 lc rgb '#CC79A7' lw 1.5 pt 13\n"
    "set linetype 5 lc rgb '#E69F00' lw 1.5 pt 11\n"
    "set linetype 6 lc rgb '#56B4E9' lw 1.5 pt 7\n"
    "set linetype 7 lc rgb '#000000' lw 1.5 pt 5\n"
    "set linetype 8 lc rgb '#7F7F7F' lw 1.5 pt 9\n"
    "set border 31 lc rgb '#444444'\n"
    "set grid lt 1 lw 0.5 lc rgb '#dddddd'\n"
    "set pointsize 0.6\n"
    "set multiplot\n";
enum { COLORS = 8, DASHES = 4 };

static bool value_shown(double value, bool logarithmic) {
  return isfinite(value) && (!logarithmic || value > 0.0);
}

static bool point_shown(const sap_chart_panel* p, const sap_chart_series* s, int32_t i) {
  return value_shown(s->x[i], p->log_x) && value_shown(s->y[i], p->log_y);
}

// Finds the range of what is shown; false: nothing is.
static bool find_range(const sap_chart_panel* p, bool vertical, double range[2]) {
  range[0] = HUGE_VAL;
  range[1] = -HUGE_VAL;
  SAP_EACH(const sap_chart_series, s, p->series, p->series_count) {
    for (int32_t i = 0; i < s->count; ++i) {
      if (point_shown(p, s, i)) {
        range[0] = fmin(range[0], vertical ? s->y[i] : s->x[i]);
        range[1] = fmax(range[1], vertical ? s->y[i] : s->x[i]);
      }
    }
  }
  return range[0] <= range[1];
}

// --- script ---

static void print_text(FILE* out, const char* before, const char* text, const char* after) {
  (void)fprintf(out, "%s'", before);
  for (; text != NULL && *text != '\0'; ++text) {
    if ((unsigned char)*text >= 0x20) {
      (void)fprintf(out, *text == '\'' ? "''" : "%c", *text);
    }
  }
  (void)fprintf(out, "'%s", after);
}

// Lines end at points that are not shown.
static void print_data(FILE* out, const sap_chart_panel* p, int32_t k) {
  const sap_chart_series* s = &p->series[k];
  bool open = false;
  (void)fprintf(out, "$line%d << END\n", k);
  for (int32_t i = 0; i < s->count; ++i) {
    if (point_shown(p, s, i)) {
      (void)fprintf(out, "%.9g %.9g\n", s->x[i], s->y[i]);
    } else {
      (void)fputs(open ? "\n" : "", out);
    }
    open = point_shown(p, s, i);
  }
  (void)fputs("END\n", out);
}

// Sets a logarithmic axis: tics at 1, 2 and 5 where it has few decades.
static void print_logarithmic(FILE* out, char axis, const double range[2]) {
  (void)fprintf(out, "set logscale %c\nset format %c '10^{%%T}'\n", axis, axis);
  if (range[1] > 100.0 * range[0]) {
    return;
  }
  (void)fprintf(out, "set format %c '%%g'\nset %ctics (1", axis, axis);
  for (int decade = (int)floor(log10(range[0])); decade <= (int)ceil(log10(range[1])); ++decade) {
    (void)fprintf(out, ", 1e%d, 2e%d, 5e%d", decade, decade, decade);
  }
  (void)fputs(")\n", out);
}

static bool has_slopes(const sap_chart_panel* p) {
  return p->slopes > 0 && p->log_x && p->log_y;
}

static void print_axes(FILE* out, const sap_chart_panel* p, bool any, double range[2][2]) {
  (void)fputs("unset logscale\nset format '%h'\nset tics autofreq\nset autoscale\n", out);
  if (!any) {
    (void)fputs("set xrange [0:1]\nset yrange [0:1]\n", out);
  } else if (has_slopes(p)) {  // which would widen the axes
    (void)fprintf(out, "set yrange [%g:%g]\n", range[1][0] / 2.0, range[1][1] * 2.0);
    (void)fprintf(out, "set xrange [%g:%g]\n", range[0][0] / 1.1, range[0][1] * 1.1);
  }
  for (int i = 0; i < 2; ++i) {
    if (any && (i == 0 ? p->log_x : p->log_y)) {
      print_logarithmic(out, "xy"[i], range[i]);
    }
  }
  print_text(out, "set title ", p->title, " font titles noenhanced\n");
  print_text(out, "set xlabel ", p->x_label, " noenhanced\n");
  print_text(out, "set ylabel ", p->y_label, " noenhanced\n");
}

// Prints the command that draws all lines.
static void print_plot(FILE* out, const sap_chart_panel* p, bool any, double range[2][2]) {
  (void)fputs("plot ", out);
  for (int32_t k = 0; k < p->series_count; ++k) {
    const int dash = p->dashes ? k % DASHES : k >= COLORS ? 1 : 0;
    (void)fprintf(out, "%s%d%s with lines%s dt %d lt %d", any ? "$line" : "NaN*", k,
                  any ? " using 1:2" : "", p->markers ? "points" : "", dash + 1,
                  (int)(k % COLORS) + 1);
    print_text(out, " title ", p->series[k].name, " noenhanced, ");
  }
  for (int32_t n = 1; n <= p->slopes && any && has_slopes(p); ++n) {
    (void)fprintf(out, "%g*(x/%g)**%d with lines dt 2 lc rgb '#888888' title '", range[1][1] * 2.0,
                  range[0][1] * 1.1, n);
    (void)fprintf(out, n == 1 ? (p->slopes > 1 ? "slopes 1 to %d', " : "slope %d', ") : "', ",
                  p->slopes);
  }
  (void)fputc('\n', out);
}

static double legend_width(const sap_chart_panel* p) {
  size_t letters = 12;  // of the slopes
  for (int32_t k = 0; k < p->series_count; ++k) {
    const size_t length = p->series[k].name != NULL ? strlen(p->series[k].name) : 0;
    letters = length > letters ? length : letters;
  }
  return 60.0 + LETTER * (double)letters;
}

static double panel_height(const sap_chart_panel* p, double plot) {
  return fmax(TOP + plot + BOTTOM, TOP + LINE_HEIGHT * (p->series_count + 2));
}

static void print_terminal(FILE* out, const char* path, double width, double height) {
  const size_t n = strlen(path);
  if (n > 4 && strcmp(path + n - 4, ".pdf") == 0) {
    (void)fprintf(out, "set terminal pdfcairo size %g,%g font 'DejaVu Sans,9'\ntitles = ',11'\n",
                  width / 96.0, height / 96.0);
  } else if (n > 4 && strcmp(path + n - 4, ".png") == 0) {
    (void)fprintf(out,
                  "set terminal pngcairo size %.0f,%.0f font 'DejaVu Sans,9'\ntitles = ',11'\n",
                  width, height);
  } else {
    (void)fprintf(out,
                  "set terminal svg size %.0f,%.0f font 'DejaVu Sans,12' background "
                  "'#ffffff'\ntitles = ',14'\n",
                  width, height);
  }
}

static void print_script(FILE* out, const char* path, const sap_chart_panel* panels, int32_t count,
                         bool stacked) {
  const double* size = stacked ? STACKED_SIZE : PLOT_SIZE;
  const sap_chart_panel* longest = &panels[0];
  double legend = 0.0, all = 0.0, tallest = 0.0, top = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    longest = panels[i].series_count > longest->series_count ? &panels[i] : longest;
    legend = fmax(legend, legend_width(&panels[i]));
    all += panel_height(&panels[i], size[1]);
    tallest = fmax(tallest, panel_height(&panels[i], size[1]));
  }
  const double panel = LEFT + size[0] + RIGHT, height = stacked ? all : tallest;
  const double legend_left = panel * (stacked ? 1 : count), width = legend_left + legend;
  print_terminal(out, path, width, height);
  (void)fputs(style, out);
  for (int32_t i = 0; i < count; ++i) {
    const sap_chart_panel* p = &panels[i];
    const double left = LEFT + (stacked ? 0.0 : panel * i);
    double range[2][2];
    const bool any = find_range(p, false, range[0]) && find_range(p, true, range[1]);
    (void)fprintf(out,
                  "set lmargin at screen %.6f\nset rmargin at screen %.6f\n"
                  "set tmargin at screen %.6f\nset bmargin at screen %.6f\n",
                  left / width, (left + size[0]) / width, 1.0 - (top + TOP) / height,
                  1.0 - (top + TOP + size[1]) / height);
    if (stacked || p == longest) {
      (void)fprintf(out, "set key at screen %.6f,%.6f left top Left reverse samplen 2\n",
                    legend_left / width, 1.0 - (top + TOP) / height);
    } else {
      (void)fputs("unset key\n", out);
    }
    for (int32_t k = 0; k < p->series_count; ++k) {
      print_data(out, p, k);
    }
    print_axes(out, p, any, range);
    print_plot(out, p, any, range);
    top += stacked ? panel_height(p, size[1]) : 0.0;
  }
}

// --- gnuplot ---

extern char** environ;

// Starts gnuplot with the script as its input; returns 0 or an error number.
static int start_gnuplot(FILE* script, const int out[2], pid_t* process) {
  char* const arguments[] = {"gnuplot", "--default-settings", "-", NULL};
  posix_spawn_file_actions_t actions;
  int failure = posix_spawn_file_actions_init(&actions);
  if (failure == 0) {
    (void)posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    (void)posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    failure = posix_spawnp(process, arguments[0], &actions, NULL, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
  }
  return failure;
}

// Prints the picture that gnuplot makes of the script to the stream; the caller checks its errors.
static sap_status draw(FILE* script, FILE* picture, sap_error* error) {
  char bytes[1 << 14];
  int out[2], state = -1;
  pid_t process = -1;
  SAP_FAIL_IF(fflush(script) != 0 || lseek(fileno(script), 0, SEEK_SET) != 0 || pipe(out) != 0,
              error, SAP_STATUS_IO, "cannot hand a chart to gnuplot: %s", strerror(errno));
  (void)fcntl(out[0], F_SETFD, FD_CLOEXEC);
  (void)fcntl(out[1], F_SETFD, FD_CLOEXEC);
  const int failure = start_gnuplot(script, out, &process);
  (void)close(out[1]);
  for (ssize_t got = 1; failure == 0 && (got > 0 || errno == EINTR);) {
    errno = 0;
    got = read(out[0], bytes, sizeof bytes);
    (void)fwrite(bytes, 1, got > 0 ? (size_t)got : 0, picture);
  }
  (void)close(out[0]);
  SAP_FAIL_IF(failure != 0, error, SAP_STATUS_UNSUPPORTED,
              "charts need gnuplot (package gnuplot-nox): %s", strerror(failure));
  while (waitpid(process, &state, 0) < 0 && errno == EINTR) {
  }
  SAP_FAIL_IF(!WIFEXITED(state) || WEXITSTATUS(state) != 0, error, SAP_STATUS_IO,
              "gnuplot could not draw the chart");
  return SAP_STATUS_OK;
}

sap_status sap_chart_write(const char* path, const sap_chart_panel* panels, int32_t count,
                           bool stacked, sap_error* error) {
  SAP_FAIL_IF(path == NULL || panels == NULL || count < 1, error, SAP_STATUS_ARGUMENT,
              "chart: a path and at least one panel are needed");
  for (int32_t i = 0; i < count; ++i) {
    SAP_FAIL_IF(panels[i].series_count < 1 || panels[i].series == NULL, error, SAP_STATUS_ARGUMENT,
                "chart: panel %d has no series", i);
  }
  sap_file* file = NULL;
  sap_c_locale locale;
  SAP_TRY(sap_file_create(path, &file, error));
  FILE* script = tmpfile();
  sap_status status =
      script != NULL ? sap_c_locale_begin(&locale, error)
                     : sap_fail(error, SAP_STATUS_IO, "no temporary file: %s", strerror(errno));
  if (status == SAP_STATUS_OK) {
    print_script(script, path, panels, count, stacked);
    sap_c_locale_end(&locale);
    status = draw(script, sap_file_stream(file), error);
  }
  if (script != NULL) {
    (void)fclose(script);
  }
  return sap_file_finish(file, status, error);
}
