// SPDX-License-Identifier: BSD-3-Clause
// The problem level alone: your own dynamics give A, v*, Jacobians and contact parameters; sapstep
// gives velocities and impulses. Here: a point mass of 2 kg on the ground, pushed sideways.
#include <math.h>
#include <stdio.h>

#include <sapstep/problem.h>
#include <sapstep/solver.h>

static const double dt = 0.01, mass = 2.0, gravity = 9.81, mu = 0.5;

// One step from rest under a push [N]; v and gamma come back as [x y z].
static sap_status push(sap_problem* problem, sap_solver* solver, double force,
                       sap_solution* solution, sap_report* report, sap_error* error) {
  const int32_t tree = 0, size = 3;
  const double A[9] = {mass, 0.0, 0.0, 0.0, mass, 0.0, 0.0, 0.0, mass};
  const double v_star[3] = {dt * force / mass, 0.0, -dt * gravity};
  const double J[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
  const double* jacobian = J;
  const sap_regularization regularization = sap_regularization_default();
  const sap_contact_block contact = {
      .ntrees = 1,
      .trees = &tree,
      .jacobians = &jacobian,
      .material = {.stiffness = 1e5, .relaxation_time = 0.01, .friction = mu},
      .phi0 = -mass * gravity / 1e5,  // where the ground carries the weight
  };
  sap_status status = sap_problem_reset(problem, dt, 1, &size, error);
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_momentum_block(problem, tree, tree, A, size, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_set_v_star(problem, v_star, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_add_contact(problem, &contact, &regularization, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_solver_solve(solver, problem, solution, report, error);
  }
  return status;
}

// The closed form of a sliding contact: |gamma_t| = mu gamma_n and
//   gamma_n (Rn + mu^2 Rt + (1 + mu^2)/m) = v_hat_n + dt g + mu dt F/m.
// Below break-away the mass creeps by sigma mu dt g at most.
static bool check(const sap_problem* problem, const sap_solution* solution, double force) {
  sap_block block;
  if (sap_problem_block(problem, 0, &block, NULL, NULL) != SAP_STATUS_OK) {
    return false;
  }
  const double* gamma = solution->gamma;
  if (fabs(gamma[0]) < mu * gamma[2] * (1.0 - 1e-9)) {
    return fabs(solution->v[0]) < 1e-3 * mu * dt * gravity;
  }
  const double sliding = (block.v_hat[2] + dt * gravity + mu * dt * force / mass) /
                         (block.R[2] + mu * mu * block.R[0] + (1.0 + mu * mu) / mass);
  return fabs(gamma[2] - sliding) < 1e-6 * sliding;
}

int main(void) {
  sap_problem* problem = NULL;
  sap_solver* solver = NULL;
  sap_solution solution = {0};
  sap_report report = {0};
  sap_error error = {0};
  sap_status status = sap_problem_create(&problem, &error);
  if (status == SAP_STATUS_OK) {
    status = sap_solver_create("sap", NULL, &solver, &error);
  }
  int wrong = 0;
  printf("%8s %13s %13s %13s %11s %s\n", "push_N", "v_x_mps", "gamma_x_Ns", "gamma_z_Ns",
         "iterations", "outcome");
  for (double force = 0.0; status == SAP_STATUS_OK && force <= 20.0; force += 4.0) {
    status = push(problem, solver, force, &solution, &report, &error);
    if (status == SAP_STATUS_OK) {
      printf("%8.1f %13.5e %13.5e %13.5e %11d %s\n", force, solution.v[0], solution.gamma[0],
             solution.gamma[2], report.iterations, sap_outcome_text(report.outcome));
      wrong += !check(problem, &solution, force);
    }
  }
  if (status != SAP_STATUS_OK) {
    fprintf(stderr, "contact_problem: %s\n", error.message);
  }
  if (wrong > 0) {
    fprintf(stderr, "contact_problem: %d solutions are not those of a sliding block\n", wrong);
  }
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  sap_problem_destroy(problem);
  return status == SAP_STATUS_OK && wrong == 0 ? 0 : 1;
}
