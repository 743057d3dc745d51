// SPDX-License-Identifier: BSD-3-Clause
// Draws charts as SVG 1.1 of lines, markers and text only, which all viewers show alike. Lengths
// are in pixels. An axis maps a value (or its logarithm to base 10) linearly to the plot area.
#include <sapstep/output.h>

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/platform.h"

static const double PLOT_WIDTH = 400.0, PLOT_HEIGHT = 300.0;
static const double STACKED_WIDTH = 640.0, STACKED_HEIGHT = 200.0;
static const double LEFT = 78.0, RIGHT = 18.0, TOP = 40.0, BOTTOM = 56.0;
static const double LINE_HEIGHT = 20.0, LETTER = 6.6;  // of 12 px text; LETTER is an upper estimate

enum { COLORS = 8, TICKS = 64 };
// Okabe and Ito's colours, which all kinds of colour vision can distinguish, without yellow, which
// is too faint on white.
static const char* const colors[COLORS] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                           "#E69F00", "#56B4E9", "#000000", "#7F7F7F"};

#define SLOPE_STYLE " stroke=\"#888888\" stroke-dasharray=\"5 4\""

// --- axes ---

typedef struct chart_axis {
  bool logarithmic;
  double low, high;      // of the value or its logarithm
  double start, length;  // on paper; length < 0 for y
  int ticks;
  double tick[TICKS];  // values
} chart_axis;

static double scaled(const chart_axis* a, double value) {
  return a->logarithmic ? log10(value) : value;
}

// Returns the place of a value on paper.
static double place(const chart_axis* a, double value) {
  return a->start + a->length * (scaled(a, value) - a->low) / (a->high - a->low);
}

static bool value_shown(double value, bool logarithmic) {
  return isfinite(value) && (!logarithmic || value > 0.0);
}

static bool point_shown(const sap_chart_panel* p, const sap_chart_series* s, int32_t i) {
  return value_shown(s->x[i], p->log_x) && value_shown(s->y[i], p->log_y);
}

// Returns 1, 2 or 5 times a power of ten, about `span`/5.
static double nice_step(double span) {
  const double power = pow(10.0, floor(log10(span / 5.0)));
  const double share = span / 5.0 / power;
  return power * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

static void set_linear_ticks(chart_axis* a) {
  const double step = nice_step(a->high - a->low);
  a->low = step * floor(a->low / step + 1e-9);
  a->high = step * ceil(a->high / step - 1e-9);
  for (int i = 0; i < TICKS && a->low + step * i <= a->high + 1e-9 * step; ++i) {
    const double value = a->low + step * i;
    a->tick[a->ticks++] = fabs(value) < 1e-9 * step ? 0.0 : value;
  }
}

// Ticks are decades: with few decades also 2 and 5, with many every second, third, ...
static void set_logarithmic_ticks(chart_axis* a) {
  const int first = (int)floor(a->low), last = (int)ceil(a->high);
  const int every = 1 + (last - first) / 8;
  const double factors[3] = {1.0, 2.0, 5.0};
  const int fine = last - first <= 2 ? 3 : 1;
  for (int decade = first; decade <= last; decade += every) {
    for (int k = 0; k < fine && a->ticks < TICKS; ++k) {
      const double value = factors[k] * pow(10.0, decade);
      if (log10(value) >= a->low - 1e-9 && log10(value) <= a->high + 1e-9) {
        a->tick[a->ticks++] = value;
      }
    }
  }
}

// Fits an axis to the values that are shown, with a margin. The caller sets start and length.
static void fit_axis(const sap_chart_panel* p, bool vertical, chart_axis* a) {
  *a = (chart_axis){
      .logarithmic = vertical ? p->log_y : p->log_x, .low = HUGE_VAL, .high = -HUGE_VAL};
  for (int32_t k = 0; k < p->series_count; ++k) {
    const sap_chart_series* s = &p->series[k];
    for (int32_t i = 0; i < s->count; ++i) {
      if (point_shown(p, s, i)) {
        const double value = scaled(a, vertical ? s->y[i] : s->x[i]);
        a->low = fmin(a->low, value);
        a->high = fmax(a->high, value);
      }
    }
  }
  if (!vertical && p->x_names != NULL) {  // 0, 1, ... and half a place on either side
    a->low = -0.5;
    a->high = p->x_name_count - 0.5;
    for (int32_t i = 0; i < p->x_name_count && i < TICKS; ++i) {
      a->tick[a->ticks++] = i;
    }
    return;
  }
  if (!(a->low <= a->high)) {
    a->low = 0.0;
    a->high = 1.0;
  }
  const double least = a->logarithmic ? 0.3 : 1e-9 * fmax(fabs(a->low), fabs(a->high)) + DBL_MIN;
  if (a->high - a->low < least) {
    const double middle = 0.5 * (a->low + a->high);
    const double half = a->logarithmic ? 0.5 : fmax(0.5 * fabs(middle), least);
    a->low = middle - half;
    a->high = middle + half;
  }
  const double margin = 0.05 * (a->high - a->low);
  const bool from_zero = !a->logarithmic && a->low >= 0.0 && a->low < margin;  // nothing below 0
  a->low -= (a->logarithmic || vertical) && !from_zero ? margin : 0.0;
  a->high += a->logarithmic || vertical ? margin : 0.0;
  (a->logarithmic ? set_logarithmic_ticks : set_linear_ticks)(a);
}

// --- SVG ---

// Prints text between tags: & < > escaped, control characters left out.
static void print_text(FILE* out, const char* text) {
  for (; *text != '\0'; ++text) {
    switch (*text) {
      case '&':
        (void)fputs("&amp;", out);
        break;
      case '<':
        (void)fputs("&lt;", out);
        break;
      case '>':
        (void)fputs("&gt;", out);
        break;
      default:
        if ((unsigned char)*text >= 0x20) {
          (void)fputc(*text, out);
        }
    }
  }
}

static void print_label(FILE* out, double x, double y, const char* attributes, const char* text) {
  (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
  print_text(out, text != NULL ? text : "");
  (void)fputs("</text>\n", out);
}

// Prints 10 with a raised exponent for a power of ten far from 1, otherwise the shortest decimal.
static void print_tick(FILE* out, double x, double y, const char* anchor, double value,
                       bool logarithmic) {
  const double exponent = value > 0.0 ? log10(value) : 0.0;
  const bool power = logarithmic && fabs(exponent - round(exponent)) < 1e-9;
  (void)fprintf(out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, anchor);
  if (power && fabs(exponent) > 2.5) {
    (void)fprintf(out, "10<tspan dy=\"-5\" font-size=\"9\">%d</tspan></text>\n",
                  (int)round(exponent));
  } else {
    (void)fprintf(out, "%.6g</text>\n", value);
  }
}

static void print_line(FILE* out, double x1, double y1, double x2, double y2,
                       const char* attributes) {
  (void)fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"%s/>\n", x1, y1, x2, y2,
                attributes);
}

// --- a panel ---

static void draw_axes(FILE* out, const sap_chart_panel* p, const chart_axis* x,
                      const chart_axis* y) {
  (void)fputs("<g stroke=\"#dddddd\" stroke-width=\"1\">\n", out);
  for (int i = 0; i < x->ticks; ++i) {
    const double at = place(x, x->tick[i]);
    print_line(out, at, y->start, at, y->start + y->length, "");
  }
  for (int i = 0; i < y->ticks; ++i) {
    const double at = place(y, y->tick[i]);
    print_line(out, x->start, at, x->start + x->length, at, "");
  }
  (void)fprintf(out,
                "</g>\n<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"none\" "
                "stroke=\"#444444\"/>\n",
                x->start, y->start + y->length, x->length, -y->length);
  for (int i = 0; i < x->ticks; ++i) {
    if (p->x_names != NULL) {  // alternate heights keep neighbours apart
      print_label(out, place(x, x->tick[i]), y->start + (i % 2 == 0 ? 18.0 : 32.0),
                  " text-anchor=\"middle\" font-size=\"11\"", p->x_names[i]);
    } else {
      print_tick(out, place(x, x->tick[i]), y->start + 18.0, " text-anchor=\"middle\"", x->tick[i],
                 x->logarithmic);
    }
  }
  for (int i = 0; i < y->ticks; ++i) {
    print_tick(out, x->start - 8.0, place(y, y->tick[i]) + 4.0, " text-anchor=\"end\"", y->tick[i],
               y->logarithmic);
  }
  const double middle = x->start + 0.5 * x->length;
  print_label(out, middle, y->start + 42.0, " text-anchor=\"middle\"", p->x_label);
  print_label(out, middle, y->start + y->length - 14.0,
              " text-anchor=\"middle\" font-size=\"14\" font-weight=\"bold\"", p->title);
  const double at_x = x->start - 58.0, at_y = y->start + 0.5 * y->length;
  char turn[96];
  (void)snprintf(turn, sizeof turn, " text-anchor=\"middle\" transform=\"rotate(-90 %.1f %.1f)\"",
                 at_x, at_y);
  print_label(out, at_x, at_y, turn, p->y_label);
}

// Draws one of five shapes around (x, y), by which lines differ in grey print.
static void draw_marker(FILE* out, int32_t series, double x, double y) {
  static const char* const paths[4] = {"M-4,-4h8v8h-8z", "M0,-5l5,9h-10z", "M0,-5l5,5l-5,5l-5,-5z",
                                       "M0,5l5,-9h-10z"};
  const int shape = (int)(series % 5);
  if (shape == 0) {
    (void)fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"4\" stroke=\"none\"", x, y);
  } else {
    (void)fprintf(out, "<path d=\"%s\" stroke=\"none\" transform=\"translate(%.2f %.2f)\"",
                  paths[shape - 1], x, y);
  }
  (void)fprintf(out, " fill=\"%s\"/>\n", colors[series % COLORS]);
}

// Returns the dash pattern of line k: with `dashes` in turn, otherwise where colours repeat.
static const char* dashes_of(const sap_chart_panel* p, int32_t k) {
  static const char* const kinds[] = {"", " stroke-dasharray=\"9 5\"", " stroke-dasharray=\"3 4\"",
                                      " stroke-dasharray=\"9 4 2 4\""};
  return kinds[p->dashes ? k % 4 : k >= COLORS ? 1 : 0];
}

static void draw_series(FILE* out, const sap_chart_panel* p, int32_t k, const chart_axis* x,
                        const chart_axis* y) {
  const sap_chart_series* s = &p->series[k];
  bool open = false;
  for (int32_t i = 0; i < s->count; ++i) {
    if (!point_shown(p, s, i)) {
      (void)fputs(open ? "\"/>\n" : "", out);
      open = false;
      continue;
    }
    if (!open) {
      (void)fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"%s points=\"",
                    colors[k % COLORS], dashes_of(p, k));
      open = true;
    }
    (void)fprintf(out, "%.2f,%.2f ", place(x, s->x[i]), place(y, s->y[i]));
  }
  (void)fputs(open ? "\"/>\n" : "", out);
  for (int32_t i = 0; p->markers && i < s->count; ++i) {
    if (point_shown(p, s, i)) {
      draw_marker(out, k, place(x, s->x[i]), place(y, s->y[i]));
    }
  }
}

// Draws dashed lines y ~ x^n that end at the right or upper edge of the area.
static void draw_slopes(FILE* out, const sap_chart_panel* p, const chart_axis* x,
                        const chart_axis* y) {
  if (!p->log_x || !p->log_y) {
    return;
  }
  for (int32_t n = 1; n <= p->slopes; ++n) {
    const double width = fmin(x->high - x->low, (y->high - y->low) / n);
    const double x2 = x->high, y2 = fmin(y->high, y->low + n * width);
    const double left = place(x, pow(10.0, x2 - width)), top = place(y, pow(10.0, y2));
    print_line(out, left, place(y, pow(10.0, y2 - n * width)), place(x, pow(10.0, x2)), top,
               SLOPE_STYLE);
  }
}

static void draw_legend(FILE* out, const sap_chart_panel* p, double x, double y) {
  for (int32_t k = 0; k < p->series_count; ++k) {
    const double at = y + LINE_HEIGHT * k;
    char style[96];
    (void)snprintf(style, sizeof style, " stroke=\"%s\" stroke-width=\"1.5\"%s", colors[k % COLORS],
                   dashes_of(p, k));
    print_line(out, x, at, x + 26.0, at, style);
    if (p->markers) {
      draw_marker(out, k, x + 13.0, at);
    }
    print_label(out, x + 34.0, at + 4.0, "", p->series[k].name);
  }
  if (p->slopes > 0) {
    const double at = y + LINE_HEIGHT * p->series_count;
    print_line(out, x, at, x + 26.0, at, SLOPE_STYLE);
    char text[32];
    (void)snprintf(text, sizeof text, p->slopes > 1 ? "slopes 1 to %ld" : "slope 1",
                   (long)p->slopes);
    print_label(out, x + 34.0, at + 4.0, "", text);
  }
}

static double legend_width(const sap_chart_panel* p) {
  size_t letters = 0;
  for (int32_t k = 0; k < p->series_count; ++k) {
    const size_t length = p->series[k].name != NULL ? strlen(p->series[k].name) : 0;
    letters = length > letters ? length : letters;
  }
  return 46.0 + LETTER * (double)letters;
}

static double legend_height(const sap_chart_panel* p) {
  return TOP + LINE_HEIGHT * (p->series_count + 2);
}

static void print_head(FILE* out, double width, double height) {
  (void)fprintf(out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                "viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Arial, sans-serif\" "
                "font-size=\"12\" fill=\"#222222\">\n"
                "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
                width, height, width, height);
}

// Draws a panel whose plot area has its upper left corner at `corner`.
static void draw_panel(FILE* out, const sap_chart_panel* p, const double corner[2],
                       const double size[2]) {
  chart_axis x, y;
  fit_axis(p, false, &x);
  fit_axis(p, true, &y);
  x.start = corner[0];
  x.length = size[0];
  y.start = corner[1] + size[1];
  y.length = -size[1];
  draw_axes(out, p, &x, &y);
  draw_slopes(out, p, &x, &y);
  for (int32_t k = 0; k < p->series_count; ++k) {
    draw_series(out, p, k, &x, &y);
  }
}

// --- the chart ---

static void draw_side_by_side(FILE* out, const sap_chart_panel* panels, int32_t count) {
  const sap_chart_panel* longest = &panels[0];
  for (int32_t i = 1; i < count; ++i) {
    longest = panels[i].series_count > longest->series_count ? &panels[i] : longest;
  }
  const double panel_width = LEFT + PLOT_WIDTH + RIGHT, size[2] = {PLOT_WIDTH, PLOT_HEIGHT};
  print_head(out, panel_width * count + legend_width(longest),
             fmax(TOP + PLOT_HEIGHT + BOTTOM, legend_height(longest)));
  for (int32_t i = 0; i < count; ++i) {
    draw_panel(out, &panels[i], (const double[]){panel_width * i + LEFT, TOP}, size);
  }
  draw_legend(out, longest, panel_width * count, TOP + 0.5 * LINE_HEIGHT);
  (void)fputs("</svg>\n", out);
}

static void draw_stacked(FILE* out, const sap_chart_panel* panels, int32_t count) {
  double width = 0.0, height = 0.0, top = 0.0;
  const double size[2] = {STACKED_WIDTH, STACKED_HEIGHT};
  for (int32_t i = 0; i < count; ++i) {
    width = fmax(width, legend_width(&panels[i]));
    height += fmax(TOP + STACKED_HEIGHT + BOTTOM, legend_height(&panels[i]));
  }
  print_head(out, LEFT + STACKED_WIDTH + RIGHT + width, height);
  for (int32_t i = 0; i < count; ++i) {
    draw_panel(out, &panels[i], (const double[]){LEFT, top + TOP}, size);
    draw_legend(out, &panels[i], LEFT + STACKED_WIDTH + RIGHT, top + TOP + 0.5 * LINE_HEIGHT);
    top += fmax(TOP + STACKED_HEIGHT + BOTTOM, legend_height(&panels[i]));
  }
  (void)fputs("</svg>\n", out);
}

static sap_status write_chart(const char* path, const sap_chart_panel* panels, int32_t count,
                              bool stacked, sap_error* error) {
  SAP_FAIL_IF(path == NULL || panels == NULL || count < 1, error, SAP_STATUS_ARGUMENT,
              "chart: a path and at least one panel are needed");
  for (int32_t i = 0; i < count; ++i) {
    SAP_FAIL_IF(panels[i].series_count < 1 || panels[i].series == NULL, error, SAP_STATUS_ARGUMENT,
                "chart: panel %d has no series", i);
  }
  sap_file* file = NULL;
  SAP_TRY(sap_file_create(path, &file, error));
  sap_c_locale locale;
  sap_status status = sap_c_locale_begin(&locale, error);
  if (status == SAP_STATUS_OK) {
    (stacked ? draw_stacked : draw_side_by_side)(sap_file_stream(file), panels, count);
    sap_c_locale_end(&locale);
    status = sap_file_commit(file, error);
  }
  sap_file_close(file);
  return status;
}

sap_status sap_chart_write(const char* path, const sap_chart_panel* panels, int32_t count,
                           sap_error* error) {
  return write_chart(path, panels, count, false, error);
}

sap_status sap_chart_write_stacked(const char* path, const sap_chart_panel* panels, int32_t count,
                                   sap_error* error) {
  return write_chart(path, panels, count, true, error);
}
