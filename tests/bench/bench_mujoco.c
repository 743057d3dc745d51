// SPDX-License-Identifier: BSD-3-Clause
// The adapter beside stock MuJoCo, in one run, as JSON lines:
//   bench_mujoco MODELS [CHARTS [SCENES]]
// MODELS holds mujoco/humanoid/humanoid.xml, menagerie/agility_cassie/scene.xml and so on; what is
// not there, or what this MuJoCo cannot load, is named and left out. CHARTS: where to write SVG.
// SCENES: examples/scenes of the source tree.
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mujoco/mujoco.h>

#include <sapstep/chart.h>
#include <sapstep/mujoco.h>

enum { PATH_SIZE = 1024, MAX_POINTS = 64, MAX_LINES = 6 };

typedef struct line {
  const char* name;
  int count;
  double x[MAX_POINTS], y[MAX_POINTS];
} line;

static double seconds(void) {
  struct timespec t;
  (void)clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void add_point(line* l, double x, double y) {
  if (l->count < MAX_POINTS) {
    l->x[l->count] = x;
    l->y[l->count++] = y;
  }
}

static void write_chart(const char* folder, const char* name, const sap_chart_panel* axes,
                        const line* lines, int count) {
  if (folder == NULL) {
    return;
  }
  char path[PATH_SIZE];
  sap_chart_series series[MAX_LINES];
  sap_error error = {0};
  for (int i = 0; i < count; ++i) {
    series[i] = (sap_chart_series){lines[i].name, lines[i].count, lines[i].x, lines[i].y};
  }
  sap_chart_panel panel = *axes;
  panel.series = series;
  panel.series_count = count;
  (void)snprintf(path, sizeof path, "%s/%s.svg", folder, name);
  if (sap_chart_write(path, &panel, 1, &error) != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s: %s\n", path, error.message);
  }
}

#if mjVERSION_HEADER >= 320
// Stands in for pictures that are not there: 16 x 12 white pixels, a grid of squares 3 by 4 too.
static const unsigned char white[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x0c, 0x08, 0x02, 0x00, 0x00, 0x00, 0xe4, 0x85, 0xaa,
    0xd6, 0x00, 0x00, 0x00, 0x13, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0x4f, 0x22, 0x60,
    0x18, 0xd5, 0x30, 0xaa, 0x01, 0x3b, 0x00, 0x00, 0x13, 0x69, 0x3d, 0xdf, 0xcd, 0xf0, 0x81, 0xc0,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

// Textures do not move anything: those that cannot be opened become white.
static mjModel* load_without_pictures(const char* path, char* error, int size) {
  enum { PICTURES = 64 };
  mjVFS files;
  mjModel* m = NULL;
  mj_defaultVFS(&files);
  for (int i = 0; m == NULL && i < PICTURES; ++i) {
    m = mj_loadXML(path, &files, error, size);
    char* name = m == NULL ? strstr(error, "opening file '") : NULL;
    char* end = name != NULL ? strchr(name + 14, '\'') : NULL;
    if (end == NULL || end - name < 18 || strncmp(end - 4, ".png", 4) != 0) {
      break;
    }
    *end = '\0';
    (void)mj_addBufferVFS(&files, name + 14, white, sizeof white);
  }
  mj_deleteVFS(&files);
  return m;
}
#endif

static mjModel* load(const char* folder, const char* name) {
  char path[PATH_SIZE], text[400] = "";
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
#if mjVERSION_HEADER >= 320
  mjModel* m = load_without_pictures(path, text, sizeof text);
#else
  mjModel* m = mj_loadXML(path, NULL, text, sizeof text);
#endif
  if (m == NULL) {
    (void)printf("{\"left_out\": \"%s\", \"because\": \"", name);
    for (const char* c = text; *c != '\0'; ++c) {
      (void)putchar(*c == '"' || *c == '\\' ? '\'' : *c == '\n' ? ' ' : *c);
    }
    (void)printf("\"}\n");
  }
  return m;
}

static mjModel* load_text(const char* text) {
  char path[] = "/tmp/sapstep_bench_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) {
    return NULL;
  }
  (void)close(file);
  char error[400] = "";
  mjModel* m = mj_loadXML(path, NULL, error, sizeof error);
  (void)unlink(path);
  if (m == NULL) {
    (void)fprintf(stderr, "%s\n", error);
  }
  return m;
}

// Who steps.
typedef enum who { SAPSTEP, EULER, IMPLICIT, IMPLICITFAST, DISCRETE, WHO_COUNT } who;
static const char* const names[WHO_COUNT] = {"sapstep", "Euler", "implicit", "implicitfast",
                                             "discrete"};

static bool choose(mjModel* m, who w) {
  switch (w) {
    case SAPSTEP:
    case EULER:
      m->opt.integrator = mjINT_EULER;
      return true;
    case IMPLICIT:
      m->opt.integrator = mjINT_IMPLICIT;
      return true;
    case IMPLICITFAST:
#if mjVERSION_HEADER >= 300
      m->opt.integrator = mjINT_IMPLICITFAST;
      return true;
#else
      return false;
#endif
    case DISCRETE:
#if mjVERSION_HEADER >= 3013000
      m->opt.integrator = mjINT_DISCRETE;
      return true;
#else
      return false;
#endif
    default:
      return false;
  }
}

typedef struct runner {
  mjModel* m;
  mjData* d;
  sap_mj* a;  // NULL: stock
} runner;

static runner begin(mjModel* m, who w, int key) {
  runner r = {.m = m, .d = mj_makeData(m)};
  if (m->nkey > key && key >= 0) {
    mj_resetDataKeyframe(m, r.d, key);
  }
  sap_error error = {0};
  if (w == SAPSTEP && sap_mj_create(m, NULL, &r.a, &error) != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
    exit(4);
  }
  return r;
}

static void end(runner* r) {
  sap_mj_destroy(r->a);
  mj_deleteData(r->d);
}

// False: the run has diverged: a step failed, or MuJoCo reset what was not a number.
static bool step(runner* r, sap_mj_report* report) {
  if (r->a != NULL) {
    return sap_mj_step(r->a, r->d, report, NULL) == SAP_STATUS_OK;
  }
  mj_step(r->m, r->d);
  return r->d->warning[mjWARN_BADQACC].number + r->d->warning[mjWARN_BADQVEL].number +
             r->d->warning[mjWARN_BADQPOS].number ==
         0;
}

static double fastest(const runner* r) {
  double speed = 0.0;
  for (int i = 0; i < (int)r->m->nv; ++i) {
    speed = fmax(speed, fabs(r->d->qvel[i]));
  }
  return speed;
}

// Simulated seconds until the run diverges or is over.
static double survive(runner* r, double duration) {
  enum { TOO_FAST = 1000 };  // rad/s, m/s
  while (r->d->time < duration - 1e-9) {
    if (!step(r, NULL) || !(fastest(r) < TOO_FAST)) {
      return r->d->time;
    }
  }
  return duration;
}

// Position servos of gain kp on all hinges, that hold the default pose.
static void stiffen(mjModel* m, double kp) {
  for (int i = 0; i < (int)m->nu; ++i) {
    memset(m->actuator_gear + 6 * i, 0, 6 * sizeof(mjtNum));
    m->actuator_gear[6 * i] = 1.0;
    m->actuator_gaintype[i] = mjGAIN_FIXED;
    m->actuator_biastype[i] = mjBIAS_AFFINE;
    m->actuator_gainprm[mjNGAIN * i] = kp;
    m->actuator_biasprm[mjNBIAS * i + 1] = -kp;
    m->actuator_ctrllimited[i] = 0;
    m->actuator_forcelimited[i] = 0;
  }
}

static void sweep_gains(const char* models, const char* charts) {
  static const double durations = 3.0;
  static line lines[WHO_COUNT];
  int count = 0;
  mjModel* m = load(models, "mujoco/humanoid/humanoid.xml");
  if (m == NULL) {
    return;
  }
  for (who w = SAPSTEP; w < WHO_COUNT; ++w) {
    if (!choose(m, w)) {
      continue;
    }
    line* l = &lines[count++];
    l->name = names[w];
    for (double exponent = 2.0; exponent < 7.01; exponent += 0.5) {
      const double kp = pow(10.0, exponent);
      stiffen(m, kp);
      m->opt.timestep = 0.005;
      runner r = begin(m, w, -1);
      const double time = survive(&r, durations);
      (void)printf(
          "{\"experiment\": \"humanoid_kp\", \"stepper\": \"%s\", \"dt_s\": 0.005, "
          "\"kp_Nm\": %.4g, \"holds_s\": %.3f, \"of_s\": %g}\n",
          names[w], kp, time, durations);
      add_point(l, kp, time);
      end(&r);
    }
    for (double dt = 0.01; dt < 0.03; dt *= 2.0) {
      stiffen(m, 1e5);
      m->opt.timestep = dt;
      runner r = begin(m, w, -1);
      (void)printf(
          "{\"experiment\": \"humanoid_dt\", \"stepper\": \"%s\", \"dt_s\": %g, "
          "\"kp_Nm\": 1e5, \"holds_s\": %.3f, \"of_s\": %g}\n",
          names[w], dt, survive(&r, durations), durations);
      end(&r);
    }
  }
  mj_deleteModel(m);
  const sap_chart_panel axes = {.title = "Humanoid, 21 position servos, dt 5 ms",
                                .x_label = "kp [N m/rad]",
                                .y_label = "holds [s], 3 s tried",
                                .log_x = true,
                                .markers = true};
  write_chart(charts, "mujoco_kp", &axes, lines, count);
}

static void run_cassie(const char* models) {
  mjModel* m = load(models, "menagerie/agility_cassie/scene.xml");
  if (m == NULL) {
    return;
  }
  for (who w = SAPSTEP; w < WHO_COUNT; ++w) {
    for (double dt = 0.005; dt < 0.021; dt *= 2.0) {
      if (choose(m, w)) {
        m->opt.timestep = dt;
        runner r = begin(m, w, 0);
        (void)printf(
            "{\"experiment\": \"cassie\", \"stepper\": \"%s\", \"dt_s\": %g, "
            "\"holds_s\": %.3f, \"of_s\": 2}\n",
            names[w], dt, survive(&r, 2.0));
        end(&r);
      }
    }
  }
  mj_deleteModel(m);
}

// Speed down a slope of 10 degrees with mu = 1, after a second of settling [m/s].
static double creep(mjModel* m, who w, double sigma) {
  sap_mj_options options = sap_mj_options_default();
  options.regularization.sigma = sigma;
  runner r = begin(m, w, -1);
  if (w == SAPSTEP) {
    sap_mj_destroy(r.a);
    if (sap_mj_create(m, &options, &r.a, NULL) != SAP_STATUS_OK) {
      exit(4);
    }
  }
  double x = 0.0, t = 0.0;
  while (r.d->time < 3.0 && step(&r, NULL)) {
    if (r.d->time < 1.0) {
      x = r.d->qpos[0];
      t = r.d->time;
    }
  }
  const double speed = (r.d->qpos[0] - x) / (r.d->time - t);
  end(&r);
  return speed;
}

static void run_creep(const char* charts) {
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='1.70349 0 -9.66096'/><worldbody>"
      "<geom type='plane' size='5 5 1' friction='1'/><body pos='0 0 .1'><freejoint/>"
      "<geom type='box' size='.1 .1 .1' density='1000' friction='1'/></body></worldbody></mujoco>";
  static const double impratios[] = {1, 10, 100};
  static line lines[3];
  mjModel* m = load_text(text);
  if (m == NULL) {
    return;
  }
  for (int cone = 0; cone < 2; ++cone) {
    line* l = &lines[cone];
    l->name = cone == 0 ? "MuJoCo, pyramidal" : "MuJoCo, elliptic";
    m->opt.cone = cone == 0 ? mjCONE_PYRAMIDAL : mjCONE_ELLIPTIC;
    for (size_t i = 0; i < sizeof impratios / sizeof *impratios; ++i) {
      m->opt.impratio = impratios[i];
      const double speed = creep(m, EULER, 0.0);
      (void)printf(
          "{\"experiment\": \"creep\", \"stepper\": \"%s\", \"impratio\": %g, "
          "\"speed_um_per_s\": %.4g}\n",
          l->name, impratios[i], 1e6 * speed);
      add_point(l, 1.0 / impratios[i], 1e6 * speed);
    }
  }
  lines[2].name = "sapstep, sigma";
  m->opt.impratio = 1.0;
  for (double sigma = 1e-2; sigma > 5e-6; sigma /= 10.0) {
    const double speed = creep(m, SAPSTEP, sigma);
    (void)printf(
        "{\"experiment\": \"creep\", \"stepper\": \"sapstep\", \"sigma\": %g, "
        "\"speed_um_per_s\": %.4g}\n",
        sigma, 1e6 * speed);
    add_point(&lines[2], sigma, 1e6 * speed);
  }
  mj_deleteModel(m);
  const sap_chart_panel axes = {.title = "Creep of a box on a slope of 10 deg, mu 1",
                                .x_label = "sigma, or 1/impratio",
                                .y_label = "speed [um/s]",
                                .log_x = true,
                                .log_y = true,
                                .markers = true};
  write_chart(charts, "mujoco_creep", &axes, lines, 3);
}

static void run_penetration(const char* charts) {
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='sphere' size='.1' mass='%g'/></body>"
      "</worldbody></mujoco>";
  static const double stiffness = 1e5;  // [N/m]
  static line lines[3];
  lines[0].name = "sapstep, k = 1e5 N/m";
  lines[1].name = "MuJoCo";
  lines[2].name = "m g/k";
  for (double mass = 1.0; mass < 1500.0; mass *= sqrt(10.0)) {
    char model[sizeof text + 32];
    (void)snprintf(model, sizeof model, text, mass);
    mjModel* m = load_text(model);
    double depth[2] = {0.0, 0.0};
    for (int i = 0; m != NULL && i < 2; ++i) {
      runner r = begin(m, i == 0 ? SAPSTEP : EULER, -1);
      if (i == 0) {
        (void)sap_mj_set_geom(r.a, 1, stiffness, 0.02, NULL);
      }
      (void)survive(&r, 20.0);
      depth[i] = 0.1 - r.d->qpos[2];
      add_point(&lines[i], mass, 1e3 * depth[i]);
      end(&r);
    }
    mj_deleteModel(m);
    const double exact = mass * 9.81 / stiffness;
    add_point(&lines[2], mass, 1e3 * exact);
    (void)printf(
        "{\"experiment\": \"penetration\", \"mass_kg\": %g, \"exact_mm\": %.6g, "
        "\"sapstep_mm\": %.6g, \"mujoco_mm\": %.6g}\n",
        mass, 1e3 * exact, 1e3 * depth[0], 1e3 * depth[1]);
  }
  const sap_chart_panel axes = {.title = "Penetration of a sphere at rest",
                                .x_label = "mass [kg]",
                                .y_label = "penetration [mm]",
                                .log_x = true,
                                .log_y = true,
                                .markers = true};
  write_chart(charts, "mujoco_penetration", &axes, lines, 3);
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

// Both step the same model, turn by turn; the first steps are not timed.
static void time_model(const char* folder, const char* name, int key) {
  enum { STEPS = 400, WARM = 100 };
  static double ratio[STEPS], ours[STEPS], stock[STEPS];
  mjModel* m = load(folder, name);
  if (m == NULL) {
    return;
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
  end(&a);
  end(&b);
  mj_deleteModel(m);
}

static void ignore(const char* message) {
  (void)message;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    (void)fprintf(stderr, "bench_mujoco MODELS [CHARTS [SCENES]]\n");
    return 2;
  }
  const char* charts = argc > 2 && argv[2][0] != '\0' ? argv[2] : NULL;
  mju_user_warning = ignore;
  (void)printf("{\"mujoco\": \"%s\", \"compiler\": \"%s\", \"threads\": 1}\n", sap_mj_version(),
               __VERSION__);
  static const struct {
    const char* name;
    int key;
  } models[] = {{"mujoco/humanoid/humanoid.xml", 0},
                {"mujoco/humanoid/22_humanoids.xml", -1},
                {"mujoco/planks.xml", -1},
                {"mujoco/stacked_boxes.xml", -1},
                {"mujoco/cube/cube_3x3x3.xml", -1},
                {"menagerie/shadow_hand/scene_right.xml", -1},
                {"menagerie/wonik_allegro/scene_right.xml", -1},
                {"menagerie/agility_cassie/scene.xml", 0}};
  for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
    time_model(argv[1], models[i].name, models[i].key);
  }
  if (argc > 3) {
    time_model(argv[3], "clutter_40.xml", -1);
  }
  run_creep(charts);
  run_penetration(charts);
  run_cassie(argv[1]);
  sweep_gains(argv[1], charts);
  return 0;
}
