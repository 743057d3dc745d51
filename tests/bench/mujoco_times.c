// SPDX-License-Identifier: BSD-3-Clause
// Times of the adapter over those of stock MuJoCo.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "mujoco_chart.h"
#include "mujoco_runner.h"

// CPU time of this thread: what else the machine does counts little.
static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int compare(const void* x, const void* y) {
  const double a = *(const double*)x, b = *(const double*)y;
  return (a > b) - (a < b);
}

static int stock_iterations(const mjData* d) {
#if mjVERSION_HEADER >= 300
  int sum = 0;
  for (int i = 0; i < (d->nisland > 0 ? (int)d->nisland : 1) && i < mjNISLAND; ++i) {
    sum = d->solver_niter[i] > sum ? d->solver_niter[i] : sum;
  }
  return d->nefc > 0 ? sum : 0;
#else
  return d->solver_iter;
#endif
}

typedef struct result {
  double ours, stock;  // median time of a step [us]
  double iterations, stock_iterations;
} result;

// Both step the same model, turn by turn; the first steps are not timed. False: it is not there.
static bool time_model(const char* folder, const char* name, int key, result* out) {
  enum { STEPS = 400, WARM = 100 };
  static double ratio[STEPS], ours[STEPS], stock[STEPS];
  mjModel* m = load(folder, name);
  if (m == NULL) {
    return false;
  }
  runner a = begin(m, SAPSTEP, key), b = begin(m, EULER, key);
  const double limit = seconds() + 20.0;
  double iterations = 0.0, stock_sum = 0.0, contacts = 0.0, rows = 0.0, error = 0.0;
  int n = 0;
  for (int i = 0; i < WARM + STEPS && (n < 10 || seconds() < limit); ++i) {
    sap_mj_report report = {0};
    const double t0 = seconds();
    const bool good = step(&a, &report);
    const double t1 = seconds();
    (void)step(&b, NULL);
    const double t2 = seconds();
    if (!good) {
      (void)printf("{\"experiment\": \"time\", \"model\": \"%s\", \"failed_at_step\": %d}\n", name,
                   i);
      break;
    }
    if (i >= WARM) {
      ours[n] = t1 - t0;
      stock[n] = t2 - t1;
      ratio[n] = ours[n] / stock[n];
      ++n;
      iterations += report.solver != NULL ? report.solver->iterations : 0;
      error = fmax(error, report.solver != NULL ? report.solver->momentum_error : 0.0);
      stock_sum += stock_iterations(b.d);
      contacts += report.contacts;
      rows += report.rows;
    }
  }
  if (n > 0) {
    qsort(ours, (size_t)n, sizeof *ours, compare);
    qsort(stock, (size_t)n, sizeof *stock, compare);
    qsort(ratio, (size_t)n, sizeof *ratio, compare);
    (void)printf(
        "{\"experiment\": \"time\", \"model\": \"%s\", \"nv\": %d, \"steps\": %d, "
        "\"sapstep_us\": %.1f, \"mujoco_us\": %.1f, \"sapstep_min_us\": %.1f, "
        "\"mujoco_min_us\": %.1f, \"ratio\": %.2f, \"sapstep_iterations\": %.2f, "
        "\"mujoco_iterations\": %.2f, \"contacts\": %.1f, \"rows\": %.1f, "
        "\"largest_momentum_error\": %.1e}\n",
        name, (int)m->nv, n, 1e6 * ours[n / 2], 1e6 * stock[n / 2], 1e6 * ours[0], 1e6 * stock[0],
        ratio[n / 2], iterations / n, stock_sum / n, contacts / n, rows / n, error);
  }
  *out = (result){1e6 * ours[n / 2], 1e6 * stock[n / 2], iterations / n, stock_sum / n};
  end(&a);
  end(&b);
  mj_deleteModel(m);
  return n > 0;
}

void time_models(const char* models, const char* scenes, const char* charts) {
  static const struct {
    const char *file, *name;
    int key;
  } all[] = {{"mujoco/humanoid/humanoid.xml", "humanoid", 0},
             {"mujoco/humanoid/22_humanoids.xml", "22 humanoids", -1},
             {"mujoco/planks.xml", "planks", -1},
             {"mujoco/stacked_boxes.xml", "stacked boxes", -1},
             {"mujoco/cube/cube_3x3x3.xml", "cube 3x3x3", -1},
             {"menagerie/shadow_hand/scene_right.xml", "Shadow hand", -1},
             {"menagerie/wonik_allegro/scene_right.xml", "Allegro", -1},
             {"menagerie/agility_cassie/scene.xml", "Cassie", 0},
             {"clutter_40.xml", "clutter", -1}};
  enum { COUNT = sizeof all / sizeof *all };
  static line times[2] = {{.name = "sapstep"}, {.name = "MuJoCo"}};
  static line iterations[2] = {{.name = "sapstep"}, {.name = "MuJoCo"}};
  const char* names[COUNT];
  int count = 0;
  for (int i = 0; i < COUNT; ++i) {
    const bool is_scene = i == COUNT - 1;
    const char* folder = is_scene ? scenes : models;
    result r;
    if (folder == NULL || !time_model(folder, all[i].file, all[i].key, &r)) {
      continue;
    }
    add_point(&times[0], count, r.ours);
    add_point(&times[1], count, r.stock);
    add_point(&iterations[0], count, r.iterations);
    add_point(&iterations[1], count, r.stock_iterations);
    names[count++] = all[i].name;
  }
  const sap_chart_panel axes[2] = {{.title = "Processor time of a step, median",
                                    .y_label = "time [us]",
                                    .log_y = true,
                                    .x_names = names,
                                    .x_name_count = count},
                                   {.title = "Newton iterations of a step, mean",
                                    .y_label = "iterations",
                                    .x_names = names,
                                    .x_name_count = count}};
  const line* const lines[2] = {times, iterations};
  if (count > 0) {
    write_panels(charts, "mujoco_times", axes, 2, lines, 2);
  }
}
