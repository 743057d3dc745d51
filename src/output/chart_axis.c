// SPDX-License-Identifier: BSD-3-Clause
#include "output/chart_axis.h"

#include <float.h>
#include <math.h>

static double scaled(const sap_chart_axis* a, double value) {
  return a->logarithmic ? log10(value) : value;
}

double sap_chart_place(const sap_chart_axis* a, double value) {
  return a->start + a->length * (scaled(a, value) - a->low) / (a->high - a->low);
}

static bool shown(double value, bool logarithmic) {
  return isfinite(value) && (!logarithmic || value > 0.0);
}

bool sap_chart_point_shown(const sap_chart_panel* p, const sap_chart_series* s, int32_t i) {
  return shown(s->x[i], p->log_x) && shown(s->y[i], p->log_y);
}

// 1, 2 or 5 times a power of ten, about `span`/5.
static double nice_step(double span) {
  const double power = pow(10.0, floor(log10(span / 5.0)));
  const double share = span / 5.0 / power;
  return power * (share < 1.5 ? 1.0 : share < 3.5 ? 2.0 : share < 7.5 ? 5.0 : 10.0);
}

static void set_linear_ticks(sap_chart_axis* a) {
  const double step = nice_step(a->high - a->low);
  a->low = step * floor(a->low / step + 1e-9);
  a->high = step * ceil(a->high / step - 1e-9);
  for (int i = 0; i < SAP_CHART_TICKS && a->low + step * i <= a->high + 1e-9 * step; ++i) {
    const double value = a->low + step * i;
    a->tick[a->ticks++] = fabs(value) < 1e-9 * step ? 0.0 : value;
  }
}

// Decades; with few of them 2 and 5 as well; with many every second, third ...
static void set_logarithmic_ticks(sap_chart_axis* a) {
  const int first = (int)floor(a->low), last = (int)ceil(a->high);
  const int every = 1 + (last - first) / 8;
  const double factors[3] = {1.0, 2.0, 5.0};
  const int fine = last - first <= 2 ? 3 : 1;
  for (int decade = first; decade <= last; decade += every) {
    for (int k = 0; k < fine && a->ticks < SAP_CHART_TICKS; ++k) {
      const double value = factors[k] * pow(10.0, decade);
      if (log10(value) >= a->low - 1e-9 && log10(value) <= a->high + 1e-9) {
        a->tick[a->ticks++] = value;
      }
    }
  }
}

// From the smallest to the largest value that is shown, and a little more.
void sap_chart_fit_axis(const sap_chart_panel* p, bool vertical, sap_chart_axis* a) {
  *a = (sap_chart_axis){
      .logarithmic = vertical ? p->log_y : p->log_x, .low = HUGE_VAL, .high = -HUGE_VAL};
  for (int32_t k = 0; k < p->series_count; ++k) {
    const sap_chart_series* s = &p->series[k];
    for (int32_t i = 0; i < s->count; ++i) {
      if (sap_chart_point_shown(p, s, i)) {
        const double value = scaled(a, vertical ? s->y[i] : s->x[i]);
        a->low = fmin(a->low, value);
        a->high = fmax(a->high, value);
      }
    }
  }
  if (!vertical && p->x_names != NULL) {  // 0, 1, ... with half a place on either side
    a->low = -0.5;
    a->high = p->x_name_count - 0.5;
    for (int32_t i = 0; i < p->x_name_count && i < SAP_CHART_TICKS; ++i) {
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
  if (a->logarithmic) {
    set_logarithmic_ticks(a);
  } else {
    set_linear_ticks(a);
  }
}
