// SPDX-License-Identifier: BSD-3-Clause
// Bring your own dynamics and your own loop: only A, v*, J and the contacts go to sapstep. An arm
// of two links with a servo in each joint presses its tip on a table; the loop is all ours:
//   A = M + dt D + dt^2 K,   A (v* - v0) = dt k(q0, v0) - dt^2 K v0,   q = q0 + dt v
#include <math.h>
#include <stdio.h>

#include <sapstep/problem.h>
#include <sapstep/solver.h>

static const double dt = 0.002, g = 9.81;
static const double m[2] = {2.0, 1.0}, length = 0.5;  // uniform rods
static const double servo_stiffness = 400.0, servo_damping = 20.0;
static const double target[2] = {-0.2, -1.2};  // both angles from the horizontal [rad]
static const double table = -0.4;              // height [m]; the arm's root is at 0
static const sap_material surface = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = 0.6};

typedef struct arm {
  double q[2], v[2];  // absolute angles [rad], [rad/s]
  double contact[3];  // the table's force on the tip, [t1 t2 n] [N]
  double phi;         // height of the tip above the table [m]
} arm;

// J of the tip: rows [x, y, z] as [t1, t2, n], column by column. It never moves along y.
static void tip_jacobian(const double q[2], double J[6]) {
  for (int i = 0; i < 2; ++i) {
    J[3 * i] = -length * sin(q[i]);
    J[3 * i + 1] = 0.0;
    J[3 * i + 2] = length * cos(q[i]);
  }
}

// Forces at (q, v), without the contact: servos, gravity, and the links pulling on one another.
static void find_forces(const double q[2], const double v[2], double k[2]) {
  const double coupling = 0.5 * m[1] * length * length * sin(q[1] - q[0]);
  const double weight[2] = {(0.5 * m[0] + m[1]) * g * length, 0.5 * m[1] * g * length};
  for (int i = 0; i < 2; ++i) {
    k[i] = servo_stiffness * (target[i] - q[i]) - servo_damping * v[i] - weight[i] * cos(q[i]);
  }
  k[0] += coupling * v[1] * v[1];
  k[1] -= coupling * v[0] * v[0];
}

static sap_status step(arm* a, sap_problem* problem, sap_solver* solver, sap_solution* solution,
                       sap_error* error) {
  const int32_t tree = 0, size = 2;
  const double coupling = 0.5 * m[1] * length * length * cos(a->q[1] - a->q[0]);
  const double implicit = dt * servo_damping + dt * dt * servo_stiffness;
  const double A[4] = {(m[0] / 3.0 + m[1]) * length * length + implicit, coupling, coupling,
                       m[1] / 3.0 * length * length + implicit};
  double k[2], v_star[2], J[6];
  const double* jacobian = J;
  sap_report report = {0};

  sap_status status = sap_problem_reset(problem, dt, 1, &size, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_momentum_block(problem, tree, tree, A, size, error);
  }
  find_forces(a->q, a->v, k);
  for (int i = 0; i < 2; ++i) {
    k[i] = dt * (k[i] - dt * servo_stiffness * a->v[i]);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_solve_momentum(problem, k, v_star, error);
    v_star[0] += a->v[0];
    v_star[1] += a->v[1];
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_star(problem, v_star, error);
  }
  tip_jacobian(a->q, J);
  a->phi = length * (sin(a->q[0]) + sin(a->q[1])) - table;
  const sap_regularization regularization = sap_regularization_default();
  const sap_contact_block contact = {.ntrees = 1,
                                     .trees = &tree,
                                     .jacobians = &jacobian,
                                     .material = surface,
                                     .phi0 = a->phi,
                                     .key = 1};
  const bool near = a->phi < 0.01;  // farther contacts cost time and change nothing
  if (status == SAP_STATUS_OK && near) {
    status = sap_problem_add_contact(problem, &contact, &regularization, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_solver_solve(solver, problem, solution, &report, error);
  }
  for (int i = 0; status == SAP_STATUS_OK && i < 2; ++i) {
    a->v[i] = solution->v[i];
    a->q[i] += dt * a->v[i];
  }
  for (int i = 0; status == SAP_STATUS_OK && i < 3; ++i) {
    a->contact[i] = near ? solution->gamma[i] / dt : 0.0;
  }
  if (status == SAP_STATUS_OK && report.outcome > SAP_OUTCOME_ROUNDOFF) {
    fprintf(stderr, "own_arm: %s\n", sap_outcome_text(report.outcome));  // best iterate is in v
  }
  sap_report_clear(&report);
  return status;
}

// At rest servos, gravity and the table's force balance in both joints, and the table gives way by
// f/k. The tip creeps as fast as the regularization of friction lets it.
static bool check(const arm* a) {
  double k[2], J[6];
  const double rest[2] = {0.0, 0.0};
  find_forces(a->q, rest, k);
  tip_jacobian(a->q, J);
  bool good = fabs(a->phi + a->contact[2] / surface.stiffness) < 1e-6;
  for (int i = 0; i < 2; ++i) {
    const double torque = J[3 * i] * a->contact[0] + J[3 * i + 2] * a->contact[2];
    good = good && fabs(k[i] + torque) < 1e-2 * fabs(torque);
  }
  return good && fabs(a->contact[0]) <= surface.friction * a->contact[2] && a->contact[2] > 1.0;
}

int main(void) {
  sap_problem* problem = NULL;
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  sap_error error = {0};
  arm a = {.q = {0.3, -0.3}};
  sap_status status = sap_problem_create(&problem, &error);
  if (status == SAP_STATUS_OK) {
    status = sap_solver_create("sap", NULL, &solver, &error);
  }
  printf("%6s %12s %12s %12s %12s\n", "t_s", "tip_gap_m", "friction_N", "normal_N", "speed_radps");
  for (int i = 1; i <= 1000 && status == SAP_STATUS_OK; ++i) {
    status = step(&a, problem, solver, &solution, &error);
    if (i % 100 == 0) {
      printf("%6.2f %12.3e %12.5f %12.5f %12.3e\n", i * dt, a.phi, a.contact[0], a.contact[2],
             hypot(a.v[0], a.v[1]));
    }
  }
  const bool good = status == SAP_STATUS_OK && check(&a);
  if (status != SAP_STATUS_OK) {
    fprintf(stderr, "own_arm: %s\n", error.message);
  } else if (!good) {
    fprintf(stderr, "own_arm: the forces do not balance\n");
  }
  sap_solution_clear(&solution);
  sap_solver_destroy(solver);
  sap_problem_destroy(problem);
  return good ? 0 : 1;
}
