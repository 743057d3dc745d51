// SPDX-License-Identifier: BSD-3-Clause
// Bring your own system: castro's spring-cylinder (Sec. VI-B). A cylinder on compliant ground is
// tied to a wall by a spring; friction makes it roll. q = v' = (x, z, turn).
#include <math.h>
#include <stdio.h>

#include <sapstep/stepper.h>

typedef struct cylinder {
  double mass, radius, spring, gravity;
  sap_material ground;
} cylinder;

static double inertia(const cylinder* c) {
  return 0.5 * c->mass * c->radius * c->radius;
}

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  const cylinder* c = context;
  (void)q;
  M->diagonal[0][0] = c->mass;  // 3 x 3, column by column
  M->diagonal[0][4] = c->mass;
  M->diagonal[0][8] = inertia(c);
  return 0;
}

static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  const cylinder* c = context;
  (void)t;
  (void)v;
  k1[0] = -c->spring * q[0];      // implicit: has a stiffness
  k2[1] = -c->mass * c->gravity;  // the rest
  return 0;
}

static int stiffness_damping(void* context, double t, const double* q, const double* v,
                             const sap_tree_matrix* K, const sap_tree_matrix* D) {
  const cylinder* c = context;
  (void)t;
  (void)q;
  (void)v;
  (void)D;
  K->diagonal[0][0] = c->spring;
  return 0;
}

static int integrate_positions(void* context, const double* q0, const double* v, double dt,
                               double* q) {
  (void)context;
  for (int i = 0; i < 3; ++i) {
    q[i] = q0[i] + dt * v[i];
  }
  return 0;
}

static int constraints(void* context, const sap_step_context* step, sap_problem* problem,
                       sap_error* error) {
  const cylinder* c = context;
  const double phi0 = step->q0[1] - c->radius;
  if (phi0 >= 0.0) {
    return 0;
  }
  const int32_t tree = 0;
  const double J[9] = {1.0, 0.0, 0.0, 0.0, 0.0, 1.0, c->radius, 0.0, 0.0};  // rows t1, t2, n
  const double* jacobian = J;
  const sap_contact_block contact = {.ntrees = 1,
                                     .trees = &tree,
                                     .jacobians = &jacobian,
                                     .material = c->ground,
                                     .phi0 = phi0,
                                     .key = 1};
  return (int)sap_problem_add_contact(problem, &contact, &step->regularization, error);
}

typedef struct outcome {
  double energy_band;     // peak to peak, of the first energy [-]
  double position_error;  // castro's L2 norm over 5 s [m]
} outcome;

// 5 s from 0.1 m beside the spring's rest, standing at static penetration.
static sap_status run(const cylinder* c, sap_scheme scheme, double dt, outcome* out,
                      sap_error* error) {
  const double x0 = 0.1;
  const int32_t tree_size = 3;
  const sap_system system = {.context = (void*)c,
                             .nq = 3,
                             .nv = 3,
                             .ntrees = 1,
                             .tree_sizes = &tree_size,
                             .mass_matrix = mass_matrix,
                             .forces = forces,
                             .integrate_positions = integrate_positions,
                             .stiffness_damping = stiffness_damping,
                             .constraints = constraints};
  double q[3] = {x0, c->radius - c->mass * c->gravity / c->ground.stiffness, 0.0};
  double v[3] = {0.0, 0.0, 0.0};
  sap_state state = {.t = 0.0, .q = q, .v = v, .nq = 3, .nv = 3};
  sap_stepper_options options = sap_stepper_options_default();
  sap_stepper* stepper = NULL;
  options.dt = dt;
  sap_status status = sap_stepper_options_set_scheme(&options, scheme, error);
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(&system, &options, &stepper, error);
  }
  const double rolling = c->ground.friction > 0.0 ? inertia(c) / (c->radius * c->radius) : 0.0;
  const double w = sqrt(c->spring / (c->mass + rolling));
  const double first = 0.5 * c->spring * x0 * x0;
  double low = first, high = first, sum = 0.0;
  const int steps = (int)lround(5.0 / dt);
  for (int i = 1; status == SAP_STATUS_OK && i <= steps; ++i) {
    status = sap_stepper_step(stepper, &state, NULL, error);
    const double energy =
        0.5 * (c->mass * v[0] * v[0] + inertia(c) * v[2] * v[2] + c->spring * q[0] * q[0]);
    const double difference = q[0] - x0 * cos(w * i * dt);
    low = fmin(low, energy);
    high = fmax(high, energy);
    sum += difference * difference;
  }
  out->energy_band = (high - low) / first;
  out->position_error = sqrt(sum / steps);
  sap_stepper_destroy(stepper);
  return status;
}

int main(void) {
  const sap_scheme schemes[] = {SAP_SCHEME_SYMPLECTIC_EULER, SAP_SCHEME_MIDPOINT,
                                SAP_SCHEME_IMPLICIT_EULER};
  printf("%-17s %8s %9s %15s %17s %6s\n", "scheme", "friction", "dt_s", "energy_band", "error_m",
         "order");
  for (int friction = 0; friction <= 1; ++friction) {
    const cylinder c = {
        0.5, 0.05, 100.0, 9.81, {.stiffness = 1e4, .relaxation_time = 0.02, .friction = friction}};
    for (int s = 0; s < 3; ++s) {
      double last = (double)NAN;  // no order for the first
      for (double dt = 0.02; dt > 5e-4; dt *= 0.5) {
        outcome o;
        sap_error error;
        if (run(&c, schemes[s], dt, &o, &error) != SAP_STATUS_OK) {
          fprintf(stderr, "spring_cylinder: %s\n", error.message);
          return 1;
        }
        printf("%-17s %8d %9.6f %15.3e %17.4e %6.3f\n", sap_scheme_text(schemes[s]), friction, dt,
               o.energy_band, o.position_error, log2(last / o.position_error));
        last = o.position_error;
      }
    }
  }
  return 0;
}
