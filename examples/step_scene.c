// SPDX-License-Identifier: BSD-3-Clause
// Loads a scene (MJCF or URDF) and steps it: step_scene SCENE [seconds [dt_seconds]].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/multibody.h>
#include <sapstep/scene.h>

typedef struct simulation {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;
} simulation;

static sap_status load(const char* path, double dt, simulation* s, sap_error* error) {
  sap_scene_options scene = sap_scene_options_default();
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  scene.lenient = true;
  sap_status status = sap_scene_read(path, &scene, &s->model, error);
  if (status == SAP_STATUS_OK) {
    status = sap_multibody_create(s->model, &s->multibody, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(s->multibody), &options, &s->stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(s->model, &s->state, error);
  }
  return status;
}

static sap_status print_row(simulation* s, sap_error* error) {
  sap_diagnostics d;
  const sap_status status = sap_multibody_diagnose(s->multibody, &s->state, &d, error);
  if (status == SAP_STATUS_OK) {
    double penetration = 0.0;
    const sap_contact* contacts = sap_multibody_contacts(s->multibody);
    for (int32_t i = 0; i < sap_multibody_contact_count(s->multibody); ++i) {
      penetration = fmax(penetration, -contacts[i].phi);
    }
    printf("%8.3f %12.5e %12.5e %9d %14.3e\n", s->state.t, d.kinetic,
           d.potential_gravity + d.potential_springs, sap_multibody_contact_count(s->multibody),
           penetration);
  }
  return status;
}

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    fprintf(stderr, "usage: step_scene SCENE [seconds [dt_seconds]]\n");
    return 2;
  }
  const double duration = argc > 2 ? strtod(argv[2], NULL) : 1.0;
  const double dt = argc > 3 ? strtod(argv[3], NULL) : 0.005;
  simulation s = {0};
  sap_error error = {0};
  sap_status status = load(argv[1], dt, &s, &error);
  if (status == SAP_STATUS_OK) {
    printf("%8s %12s %12s %9s %14s\n", "t_s", "kinetic_J", "potential_J", "contacts",
           "penetration_m");
    status = print_row(&s, &error);
  }
  const long steps = lround(duration / dt);
  for (long i = 1; status == SAP_STATUS_OK && i <= steps; ++i) {
    status = sap_stepper_step(s.stepper, &s.state, NULL, &error);
    if (status == SAP_STATUS_OK && (i % (steps / 10 + 1) == 0 || i == steps)) {
      status = print_row(&s, &error);
    }
  }
  if (status != SAP_STATUS_OK) {
    fprintf(stderr, "step_scene: %s\n", error.message);
  }
  sap_stepper_destroy(s.stepper);
  sap_multibody_destroy(s.multibody);
  sap_model_destroy(s.model);
  sap_state_clear(&s.state);
  return status == SAP_STATUS_OK ? 0 : 1;
}
