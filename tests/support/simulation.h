// SPDX-License-Identifier: BSD-3-Clause
// A model with everything that steps it, for tests: any failure fails the test.
#ifndef SAP_TESTS_SUPPORT_SIMULATION_H
#define SAP_TESTS_SUPPORT_SIMULATION_H

#include <stdio.h>

#include <sapstep/model.h>
#include <sapstep/multibody.h>
#include <sapstep/stepper.h>

typedef struct simulation {
  sap_model* model;
  sap_multibody* multibody;
  sap_stepper* stepper;
  sap_state state;         // the model's default at first
  sap_step_report report;  // of the last step
} simulation;

// A builder with this gravity.
sap_builder* simulation_builder(double gx, double gy, double gz);
// Compiles and destroys the builder.
sap_model* simulation_compile(sap_builder* builder);
simulation simulation_begin(sap_builder* builder, sap_scheme scheme, double dt);
simulation simulation_begin_stage(sap_builder* builder, sap_scheme scheme, sap_stage stage,
                                  double dt);
// From a scene file, read leniently; false when it cannot be read (message in error).
bool simulation_read(simulation* s, const char* path, sap_scheme scheme, double dt,
                     sap_error* error);
// Closes the scene that a test has written to `file` at `path`, reads it, and removes it.
simulation simulation_take(FILE* file, const char* path, sap_scheme scheme, double dt);
// From the text of a scene.
simulation simulation_begin_text(const char* text, sap_scheme scheme, double dt);
// Skips the test with a reason if a file is missing (IO), and fails it otherwise.
void simulation_skip_absent(const sap_error* error);
// The same for a model that is there already, the rest zero.
void simulation_complete(simulation* s, sap_scheme scheme, double dt);
// Replaces the stepper by a new one with these options.
void simulation_use(simulation* s, const sap_stepper_options* options);
void simulation_end(simulation* s);
// Steps n times and collects the last step's contacts.
void simulation_step(simulation* s, int32_t n);
sap_diagnostics simulation_diagnose(simulation* s);

// The largest gap of the connects and welds, turning included [m, rad].
double simulation_loop_error(simulation* s);

// A body on the world with one joint; returns its id. Inertia about its centre of mass is
// diag(inertia).
int32_t simulation_body(sap_builder* builder, int32_t parent, double mass, double inertia,
                        const double p[3]);
int32_t simulation_joint(sap_builder* builder, int32_t body, sap_joint_type type, double ax,
                         double ay, double az);
void simulation_shape(sap_builder* builder, int32_t body, sap_shape_type type, const double size[3],
                      sap_material material);

#endif
