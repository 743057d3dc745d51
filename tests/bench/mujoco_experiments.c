// SPDX-License-Identifier: BSD-3-Clause
// Stability, creep and penetration with the adapter and with stock MuJoCo.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "mujoco_runner.h"
#include "support/mujoco_servos.h"

void sweep_gains(const char* models) {
  static const double durations = 3.0;
  mjModel* m = load(models, "mujoco/humanoid/humanoid.xml");
  if (m == NULL) {
    return;
  }
  for (who w = SAPSTEP; w < WHO_COUNT; ++w) {
    if (!choose(m, w)) {
      continue;
    }
    for (double exponent = 2.0; exponent < 7.01; exponent += 0.5) {
      const double kp = pow(10.0, exponent);
      mujoco_stiffen(m, kp);
      m->opt.timestep = 0.005;
      runner r = begin(m, w, -1);
      const double time = survive(&r, durations);
      (void)printf(
          "{\"experiment\": \"humanoid_kp\", \"stepper\": \"%s\", \"dt_s\": 0.005, "
          "\"kp_Nm\": %.4g, \"holds_s\": %.3f, \"of_s\": %g}\n",
          who_names[w], kp, time, durations);
      end(&r);
    }
    for (double dt = 0.01; dt < 0.03; dt *= 2.0) {
      mujoco_stiffen(m, 1e5);
      m->opt.timestep = dt;
      runner r = begin(m, w, -1);
      (void)printf(
          "{\"experiment\": \"humanoid_dt\", \"stepper\": \"%s\", \"dt_s\": %g, "
          "\"kp_Nm\": 1e5, \"holds_s\": %.3f, \"of_s\": %g}\n",
          who_names[w], dt, survive(&r, durations), durations);
      end(&r);
    }
  }
  mj_deleteModel(m);
}

void run_cassie(const char* models) {
  static const double duration = 2.0;
  mjModel* m = load(models, "menagerie/agility_cassie/scene.xml");
  if (m == NULL) {
    return;
  }
  for (who w = SAPSTEP; w < WHO_COUNT; ++w) {
    if (!choose(m, w)) {
      continue;
    }
    for (int i = 0; i < 3; ++i) {
      m->opt.timestep = 0.005 * (1 << i);
      runner r = begin(m, w, 0);
      const double time = survive(&r, duration);
      (void)printf(
          "{\"experiment\": \"cassie\", \"stepper\": \"%s\", \"dt_s\": %g, "
          "\"holds_s\": %.3f, \"of_s\": %g}\n",
          who_names[w], m->opt.timestep, time, duration);
      end(&r);
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

void run_creep(void) {
  static const char text[] =
      "<mujoco><option timestep='0.005' gravity='1.70349 0 -9.66096'/><worldbody>"
      "<geom type='plane' size='5 5 1' friction='1'/><body pos='0 0 .1'><freejoint/>"
      "<geom type='box' size='.1 .1 .1' density='1000' friction='1'/></body></worldbody></mujoco>";
  static const double impratios[] = {1, 10, 100};
  mjModel* m = load_text(text);
  if (m == NULL) {
    return;
  }
  for (int cone = 0; cone < 2; ++cone) {
    const char* name = cone == 0 ? "MuJoCo, pyramidal" : "MuJoCo, elliptic";
    m->opt.cone = cone == 0 ? mjCONE_PYRAMIDAL : mjCONE_ELLIPTIC;
    for (size_t i = 0; i < sizeof impratios / sizeof *impratios; ++i) {
      m->opt.impratio = impratios[i];
      const double speed = creep(m, EULER, 0.0);
      (void)printf(
          "{\"experiment\": \"creep\", \"stepper\": \"%s\", \"impratio\": %g, "
          "\"speed_um_per_s\": %.4g}\n",
          name, impratios[i], 1e6 * speed);
    }
  }
  m->opt.impratio = 1.0;
  for (double sigma = 1e-2; sigma > 5e-6; sigma /= 10.0) {
    const double speed = creep(m, SAPSTEP, sigma);
    (void)printf(
        "{\"experiment\": \"creep\", \"stepper\": \"sapstep\", \"sigma\": %g, "
        "\"speed_um_per_s\": %.4g}\n",
        sigma, 1e6 * speed);
  }
  mj_deleteModel(m);
}

void run_penetration(void) {
  static const char text[] =
      "<mujoco><option timestep='0.005'/><worldbody><geom type='plane' size='5 5 1'/>"
      "<body pos='0 0 .1'><freejoint/><geom type='sphere' size='.1' mass='%g'/></body>"
      "</worldbody></mujoco>";
  static const double stiffness = 1e5;  // [N/m]
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
      end(&r);
    }
    mj_deleteModel(m);
    const double exact = mass * 9.81 / stiffness;
    (void)printf(
        "{\"experiment\": \"penetration\", \"mass_kg\": %g, \"exact_mm\": %.6g, "
        "\"sapstep_mm\": %.6g, \"mujoco_mm\": %.6g}\n",
        mass, 1e3 * exact, 1e3 * depth[0], 1e3 * depth[1]);
  }
}
