// SPDX-License-Identifier: BSD-3-Clause
// Newton iterations of a scene that falls and comes to rest, over several starts:
//   bench_iterations SCENE SIGMA STARTS [SECONDS]
// Every free body of start k > 0 begins up to 3 mm off, each way, as a counter's bits say. A row
// per start and their mean: iterations a step in the first 2 s and the last half, the most of any
// step, contacts and kinetic energy of the end, steps that did not converge.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <sapstep/sapstep.h>

static const double first_part = 2.0;  // [s]
static const double off = 3e-3;        // [m]

typedef struct tally {
  double first, last, factorizations, contacts, energy;
  int most, failures;
} tally;

// In [-1, 1]; splitmix64.
static double noise(uint64_t counter) {
  uint64_t z = counter * UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  z ^= z >> 31;
  return (double)(z >> 11) * 0x1p-52 - 1.0;
}

static sap_status disturb(const sap_model* model, int start, sap_state* state, sap_error* error) {
  const int32_t joints = sap_model_get_sizes(model).joints;
  for (int32_t j = 0; j < joints && start > 0; ++j) {
    sap_joint_type type;
    int32_t q;
    const sap_status status = sap_model_joint_address(model, j, &type, NULL, &q, NULL, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
    for (int32_t k = 0; k < 3 && type == SAP_JOINT_FREE; ++k) {
      state->q[q + k] += off * noise((uint64_t)start << 32 | (uint64_t)(3 * j + k + 1));
    }
  }
  return SAP_STATUS_OK;
}

// Steps through the scene; a failed step counts and ends it.
static void run(sap_stepper* stepper, sap_state* state, double dt, long steps, tally* sum) {
  const long first = lround(first_part / dt), last = steps / 2;
  sap_error error = {0};
  for (long i = 0; i < steps; ++i) {
    sap_step_report report;
    if (sap_stepper_step(stepper, state, &report, &error) != SAP_STATUS_OK) {
      (void)fprintf(stderr, "step %ld: %s\n", i, error.message);
      ++sum->failures;
      return;
    }
    const sap_report* solver = report.solver;
    if (solver == NULL) {
      continue;
    }
    const int iterations = solver->iterations;
    sum->failures +=
        solver->outcome != SAP_OUTCOME_CONVERGED && solver->outcome != SAP_OUTCOME_ROUNDOFF;
    sum->most = iterations > sum->most ? iterations : sum->most;
    sum->first += i < first ? (double)iterations / (double)first : 0.0;
    sum->last += i >= steps - last ? (double)iterations / (double)last : 0.0;
    sum->factorizations += i >= steps - last ? (double)solver->factorizations / (double)last : 0.0;
    sum->contacts += i >= steps - last ? (double)report.blocks / (double)last : 0.0;
  }
}

static sap_status try_start(const sap_model* model, const sap_stepper_options* options, int start,
                            double duration, tally* sum, sap_error* error) {
  sap_multibody* multibody = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  sap_status status = sap_multibody_create(model, &multibody, error);
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(multibody), options, &stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(model, &state, error);
  }
  if (status == SAP_STATUS_OK) {
    status = disturb(model, start, &state, error);
  }
  if (status == SAP_STATUS_OK) {
    sap_diagnostics energies;
    run(stepper, &state, options->dt, lround(duration / options->dt), sum);
    status = sap_multibody_diagnose(multibody, &state, &energies, error);
    sum->energy = energies.kinetic;
  }
  sap_state_clear(&state);
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
  return status;
}

static void print(const char* start, const tally* t) {
  (void)printf("%-6s %8.3f %8.3f %8.3f %6d %9.2f %10.2e %8d\n", start, t->first, t->last,
               t->factorizations, t->most, t->contacts, t->energy, t->failures);
}

int main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    (void)fprintf(stderr, "usage: bench_iterations SCENE SIGMA STARTS [SECONDS]\n");
    return 2;
  }
  const int starts = (int)strtol(argv[3], NULL, 10);
  const double duration = argc > 4 ? strtod(argv[4], NULL) : 10.0;
  sap_error error = {0};
  sap_model* model = NULL;
  sap_stepper_options options = sap_stepper_options_default();
  sap_status status = sap_scene_read(argv[1], NULL, &model, &error);
  tally mean = {0};
  if (status == SAP_STATUS_OK) {
    options.dt = sap_model_get_options(model)->timestep;
    options.regularization = sap_model_get_options(model)->regularization;
    options.regularization.sigma = strtod(argv[2], NULL);
    (void)printf("%-6s %8s %8s %8s %6s %9s %10s %8s\n", "start", "first_2s", "last", "factor",
                 "most", "contacts", "E_J", "failures");
  }
  for (int start = 0; status == SAP_STATUS_OK && start < starts; ++start) {
    tally t = {0};
    char name[16];
    status = try_start(model, &options, start, duration, &t, &error);
    (void)snprintf(name, sizeof name, "%d", start);
    print(name, &t);
    mean.first += t.first / starts;
    mean.last += t.last / starts;
    mean.factorizations += t.factorizations / starts;
    mean.contacts += t.contacts / starts;
    mean.energy += t.energy / starts;
    mean.failures += t.failures;
    mean.most = t.most > mean.most ? t.most : mean.most;
  }
  if (status == SAP_STATUS_OK) {
    print("mean", &mean);
  } else {
    (void)fprintf(stderr, "%s\n", error.message);
  }
  sap_model_destroy(model);
  return status == SAP_STATUS_OK && mean.failures == 0 ? 0 : 1;
}
