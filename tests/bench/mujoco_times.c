// SPDX-License-Identifier: BSD-3-Clause
// Times of the adapter over those of stock MuJoCo.
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench_clock.h"
#include "mujoco_runner.h"

// CPU time of this thread: what else the machine does counts little.
static double seconds(void) {
  return bench_seconds(CLOCK_THREAD_CPUTIME_ID);
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

// A timed case: the file, the keyframe (-1: none), and from how many starts.
typedef struct subject {
  const char* file;
  int key, starts;
} subject;

// Steps timed so far.
enum { STEPS = 400, WARM = 100, BLOCK = 50, STARTS = 8, MOST = STEPS * STARTS };
typedef struct times {
  double ratio[MOST], ours[MOST], stock[MOST];
  int count;
  double iterations, stock_iterations, contacts, rows, error;
} times;

// Start 0 is the model's, others have velocities of up to 1 cm/s and 0.01 rad/s besides.
static void disturb(const mjModel* m, mjData* d, int start) {
  enum { SHIFT = 8 };
  uint32_t number = (uint32_t)start;
  for (int i = 0; start > 0 && i < (int)m->nv; ++i) {
    number = number * 1664525u + 1013904223u;
    d->qvel[i] += 0.02 * ((double)(number >> SHIFT) / (double)(UINT32_MAX >> SHIFT) - 0.5);
  }
}

// BLOCK steps of ours.
static bool step_ours(runner* r, times* t, bool timed) {
  for (int i = 0; i < BLOCK; ++i) {
    sap_mj_report report = {0};
    const double began = seconds();
    if (!step(r, &report)) {
      return false;
    }
    if (timed) {
      t->ours[t->count + i] = seconds() - began;
      t->iterations += report.solver != NULL ? report.solver->iterations : 0;
      t->error = fmax(t->error, report.solver != NULL ? report.solver->momentum_error : 0.0);
      t->contacts += report.contacts;
      t->rows += report.rows;
    }
  }
  return true;
}

static void step_stock(runner* r, times* t, bool timed) {
  for (int i = 0; i < BLOCK; ++i) {
    const double began = seconds();
    (void)step(r, NULL);
    if (timed) {
      t->stock[t->count + i] = seconds() - began;
      t->stock_iterations += stock_iterations(r->d);
    }
  }
}

// Both step the same model, by turns of so many steps that each finds its own memory in the caches,
// as it does alone (by single steps in turns stock MuJoCo's humanoid would take a sixth longer).
// The first steps are not timed. False: a step failed.
static bool time_start(mjModel* m, const subject* what, int start, double limit, times* t) {
  runner a = begin(m, SAPSTEP, what->key), b = begin(m, EULER, what->key);
  disturb(m, a.d, start);
  disturb(m, b.d, start);
  bool good = true;
  for (int i = 0; good && i < WARM + STEPS && (i <= WARM || seconds() < limit); i += BLOCK) {
    const bool timed = i >= WARM;
    good = step_ours(&a, t, timed);
    if (!good) {
      (void)printf("{\"experiment\": \"time\", \"model\": \"%s\", \"failed_after_step\": %d}\n",
                   what->file, i);
      break;
    }
    step_stock(&b, t, timed);
    for (int k = 0; timed && k < BLOCK; ++k, ++t->count) {
      t->ratio[t->count] = t->ours[t->count] / t->stock[t->count];
    }
  }
  end(&a);
  end(&b);
  return good;
}

static void time_model(const char* folder, const subject* what) {
  static times t;
  mjModel* m = load(folder, what->file);
  if (m == NULL) {
    return;
  }
  t = (times){0};
  const double limit = seconds() + 20.0;
  bool good = true;
  for (int start = 0; good && start < what->starts; ++start) {
    good = time_start(m, what, start, limit, &t);
  }
  const int n = t.count;
  if (n > 0) {
    const size_t count = (size_t)n;
    qsort(t.ours, count, sizeof *t.ours, compare);
    qsort(t.stock, count, sizeof *t.stock, compare);
    qsort(t.ratio, count, sizeof *t.ratio, compare);
    (void)printf(
        "{\"experiment\": \"time\", \"model\": \"%s\", \"nv\": %d, \"starts\": %d, "
        "\"steps\": %d, \"sapstep_us\": %.1f, \"mujoco_us\": %.1f, \"sapstep_min_us\": %.1f, "
        "\"mujoco_min_us\": %.1f, \"ratio\": %.2f, \"sapstep_iterations\": %.2f, "
        "\"mujoco_iterations\": %.2f, \"contacts\": %.1f, \"rows\": %.1f, "
        "\"largest_momentum_error\": %.1e}\n",
        what->file, (int)m->nv, what->starts, n, 1e6 * t.ours[n / 2], 1e6 * t.stock[n / 2],
        1e6 * t.ours[0], 1e6 * t.stock[0], t.ratio[n / 2], t.iterations / n, t.stock_iterations / n,
        t.contacts / n, t.rows / n, t.error);
  }
  mj_deleteModel(m);
}

void time_models(const char* models, const char* scenes) {
  static const subject all[] = {
      {"mujoco/humanoid/humanoid.xml", 0, 1},
      {"mujoco/humanoid/22_humanoids.xml", -1, 1},
      {"mujoco/planks.xml", -1, 1},
      {"mujoco/stacked_boxes.xml", -1, 1},
      {"mujoco/cube/cube_3x3x3.xml", -1, 1},
      {"menagerie/shadow_hand/scene_right.xml", -1, 1},
      {"menagerie/wonik_allegro/scene_right.xml", -1, 1},
      {"menagerie/agility_cassie/scene.xml", 0, 1},
      {"clutter_40.xml", -1, 1},
      {"clutter_40.xml", -1, STARTS},
  };
  enum { COUNT = sizeof all / sizeof *all, SCENES = 2 };  // the last are scenes
  for (int i = 0; i < COUNT; ++i) {
    const char* folder = i >= COUNT - SCENES ? scenes : models;
    if (folder != NULL) {
      time_model(folder, &all[i]);
    }
  }
}
