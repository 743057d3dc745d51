// SPDX-License-Identifier: BSD-3-Clause
// Contacts, problems, solvers and their files: broken arguments, and allocations that fail.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sapstep/sapstep.h>

#include "solvers/registry.h"
#include "support/calls.h"
#include "support/heap_count.h"
#include "support/scratch.h"

enum { NV = 6 };

static const int32_t sizes[2] = {3, 3}, trees[2] = {0, 1};
static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                    minus[9] = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
static const double* const jacobians[2] = {unit, minus};
static const double zeros[64], R[3] = {0.1, 0.1, 0.1};

static scratch files;
static char problem_path[SCRATCH_PATH_SIZE];
static char new_path[SCRATCH_PATH_SIZE];
static sap_problem *problem, *other;
static sap_solver* solver;
static sap_gradient* gradient;
static sap_solution solution;
static sap_report report;
static sap_material material;
static sap_regularization regularization;
static sap_solver_options options;
static sap_contact_block contact;
static const sap_block block = {.set = SAP_SET_FREE,
                                .nrows = 3,
                                .ntrees = 2,
                                .trees = trees,
                                .jacobians = jacobians,
                                .R = R,
                                .v_hat = zeros};
static const sap_compliant_block soft = {.nrows = 3,
                                         .ntrees = 2,
                                         .trees = trees,
                                         .jacobians = jacobians,
                                         .g0 = zeros,
                                         .stiffness = 100.0};
static const sap_compliant_row row = {.stiffness = 100.0, .w = 1.0};
static unsigned char bytes[65536], kept[65536];
static size_t size, kept_size;
static int64_t place;
static double numbers[64];
static const sap_problem_cotangent cotangent = {.v_star = numbers};
static const sap_problem_tangent tangent = {.v_star = zeros};
static sap_residual residual;
static sap_block found_block;
static struct made {
  sap_problem* problem;
  sap_solver* solver;
  sap_gradient* gradient;
} made;

// `other` without a law.
static sap_problem* fresh(void) {
  assert_int_equal(sap_problem_reset(other, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  return other;
}

#define CALLS(X)                                                                                   \
  X(sap_material_combine, 4,                                                                       \
    sap_material_combine(P(1, &material), P(2, &material), (sap_friction_rule)I(4, 0),             \
                         P(3, &material), error))                                                  \
  X(sap_contact_regularize, 7,                                                                     \
    sap_contact_regularize(P(1, &material), P(2, &regularization), D(3, 0.01), D(4, -1e-3),        \
                           D(5, 1.0), P(6, numbers), P(7, numbers + 3), error))                    \
  X(sap_problem_create, 1, sap_problem_create(P(1, &made.problem), error))                         \
  X(sap_problem_reset, 4, sap_problem_reset(P(1, other), D(2, 0.01), N(3, 2), P(4, sizes), error)) \
  X(sap_problem_set_momentum_block, 5,                                                             \
    sap_problem_set_momentum_block(P(1, problem), I(2, 0), I(3, 0), V(4, unit, 9), N(5, 3),        \
                                   error))                                                         \
  X(sap_problem_set_mobility_block, 5,                                                             \
    sap_problem_set_mobility_block(P(1, other), I(2, 0), I(3, 0), V(4, unit, 9), N(5, 3), error))  \
  X(sap_problem_set_v_star, 2, sap_problem_set_v_star(P(1, problem), V(2, zeros, NV), error))      \
  X(sap_problem_set_v_guess, 2, sap_problem_set_v_guess(P(1, problem), V(2, zeros, NV), error))    \
  X(sap_problem_set_gamma_guess, 2,                                                                \
    sap_problem_set_gamma_guess(P(1, problem), V(2, zeros, 3), error))                             \
  X(sap_problem_solve_momentum, 3,                                                                 \
    sap_problem_solve_momentum(P(1, problem), V(2, zeros, NV), P(3, numbers), error))              \
  X(sap_problem_set_law, 6,                                                                        \
    sap_problem_set_law(                                                                           \
        P(1, fresh()),                                                                             \
        P(2, &((sap_contact_scheme){.theta = D(3, 0.5),                                            \
                                    .theta_vq = D(4, 0.5),                                         \
                                    .model = (sap_contact_model)(call_breaks(5, 0) ? 99 : 0),      \
                                    .v0 = V(6, zeros, NV)})),                                      \
        error))                                                                                    \
  X(sap_problem_add_block, 2, sap_problem_add_block(P(1, other), P(2, &block), error))             \
  X(sap_problem_add_contact, 3,                                                                    \
    sap_problem_add_contact(P(1, problem), P(2, &contact), P(3, &regularization), error))          \
  X(sap_problem_add_compliant, 3,                                                                  \
    sap_problem_add_compliant(P(1, problem), P(2, &soft), P(3, &regularization), error))           \
  X(sap_problem_compliant_law, 5,                                                                  \
    sap_problem_compliant_law(P(1, problem), P(2, &regularization), P(3, &row), P(4, numbers),     \
                              P(5, numbers + 1), error))                                           \
  X(sap_problem_keep_impulses, 1, sap_problem_keep_impulses(P(1, problem), zeros, error))          \
  X(sap_problem_save_memory, 2,                                                                    \
    sap_problem_save_memory(P(1, problem), bytes, sizeof bytes, P(2, &size), error))               \
  X(sap_problem_load_memory, 2, sap_problem_load_memory(P(1, problem), P(2, bytes), size, error))  \
  X(sap_problem_delassus_scale, 6,                                                                 \
    sap_problem_delassus_scale(P(1, problem), N(2, 3), N(3, 2), P(4, trees), P(5, jacobians),      \
                               P(6, numbers), error))                                              \
  X(sap_problem_check, 1, sap_problem_check(P(1, problem), error))                                 \
  X(sap_problem_block, 3,                                                                          \
    sap_problem_block(P(1, problem), I(2, 0), P(3, &found_block), NULL, error))                    \
  X(sap_problem_condition, 3,                                                                      \
    sap_problem_condition(P(1, problem), V(2, zeros, NV), P(3, numbers), error))                   \
  X(sap_solver_options_check, 1, sap_solver_options_check(P(1, &options), error))                  \
  X(sap_solver_create, 2, sap_solver_create(P(1, "sap"), NULL, P(2, &made.solver), error))         \
  X(sap_solver_set_time_limit, 2, sap_solver_set_time_limit(P(1, solver), D(2, 1.0), error))       \
  X(sap_solver_save_memory, 2,                                                                     \
    sap_solver_save_memory(P(1, solver), kept, sizeof kept, P(2, &kept_size), error))              \
  X(sap_solver_load_memory, 2, sap_solver_load_memory(P(1, solver), P(2, kept), kept_size, error)) \
  X(sap_solver_solve, 3,                                                                           \
    sap_solver_solve(P(1, solver), P(2, problem), P(3, &solution), &report, error))                \
  X(sap_solver_settle_lags, 4,                                                                     \
    sap_solver_settle_lags(P(1, solver), P(2, problem), P(3, &solution), P(4, &report), error))    \
  X(sap_solution_resize, 3, sap_solution_resize(P(1, &solution), N(2, NV), N(3, 3), error))        \
  X(sap_residuals, 4,                                                                              \
    sap_residuals(P(1, problem), V(2, zeros, NV), V(3, zeros, 3), P(4, &residual), error))         \
  X(sap_gradient_create, 1, sap_gradient_create(NULL, P(1, &made.gradient), error))                \
  X(sap_gradient_problem, 3,                                                                       \
    sap_gradient_problem(P(1, gradient), P(2, problem), P(3, &solution), NULL, error))             \
  X(sap_gradient_vjp, 2, sap_gradient_vjp(P(1, gradient), zeros, zeros, P(2, &cotangent), error))  \
  X(sap_gradient_jvp, 2, sap_gradient_jvp(P(1, gradient), P(2, &tangent), numbers, NULL, error))   \
  X(sap_problem_file_read, 2, sap_problem_file_read(P(1, problem_path), P(2, other), error))       \
  X(sap_problem_file_read_next, 3,                                                                 \
    sap_problem_file_read_next(P(1, problem_path), (place = 0, P(2, &place)), P(3, other), error)) \
  X(sap_problem_file_write, 2,                                                                     \
    sap_problem_file_write(P(1, new_path), P(2, problem), &solution, error))

#define PLAIN(X)                                                                               \
  X(sap_outcome_text, sap_outcome_text((sap_outcome)999) != NULL)                              \
  X(sap_contact_model_text, sap_contact_model_text((sap_contact_model)999) != NULL)            \
  X(sap_contact_scheme_default, sap_contact_scheme_default().theta == 1.0)                     \
  X(sap_material_default, sap_material_default().friction == 0.5)                              \
  X(sap_material_unset, isnan(sap_material_unset().friction))                                  \
  X(sap_regularization_default, sap_regularization_default().beta == 1.0)                      \
  X(sap_friction_combine,                                                                      \
    sap_friction_combine(0.0, 0.0, SAP_FRICTION_HARMONIC) == 0.0 &&                            \
        isnan(sap_friction_combine((double)NAN, 1.0, SAP_FRICTION_HARMONIC)))                  \
  X(sap_friction_scales, sap_friction_scales(zeros, 3, numbers) == 0.0)                        \
  X(sap_solver_options_default, (options = sap_solver_options_default(),                       \
                                 sap_solver_options_check(&options, NULL) == SAP_STATUS_OK))   \
  X(sap_solver_count, sap_solver_count() > 10)                                                 \
  X(sap_solver_get_info,                                                                       \
    sap_solver_get_info(-1) == NULL && sap_solver_get_info(sap_solver_count()) == NULL)        \
  X(sap_solver_find, sap_solver_find(NULL) == NULL && sap_solver_find("none") == NULL)         \
  X(sap_problem_dt, sap_problem_dt(problem) == 0.01)                                           \
  X(sap_problem_tree_count, sap_problem_tree_count(problem) == 2)                              \
  X(sap_problem_tree_size,                                                                     \
    sap_problem_tree_size(problem, -1) == 0 && sap_problem_tree_size(problem, 2) == 0)         \
  X(sap_problem_velocity_count, sap_problem_velocity_count(problem) == NV)                     \
  X(sap_problem_row_count, sap_problem_row_count(problem) == 3)                                \
  X(sap_problem_block_count, sap_problem_block_count(problem) == 1)                            \
  X(sap_problem_v_star, sap_problem_v_star(problem) != NULL)                                   \
  X(sap_problem_v_guess, sap_problem_v_guess(problem) != NULL)                                 \
  X(sap_problem_has_mobility, !sap_problem_has_mobility(problem))                              \
  X(sap_problem_momentum_block, sap_problem_momentum_block(problem, 0, 0) != NULL &&           \
                                    sap_problem_momentum_block(problem, -1, 0) == NULL &&      \
                                    sap_problem_momentum_block(problem, 0, INT32_MAX) == NULL) \
  X(sap_problem_mobility_block, sap_problem_mobility_block(problem, 0, 0) == NULL &&           \
                                    sap_problem_mobility_block(problem, -1, 0) == NULL)        \
  X(sap_gradient_options_default, sap_gradient_options_default().polish == 0)                  \
  X(sap_gradient_count, sap_gradient_count(problem).nv == NV)                                  \
  X(sap_gradient_destroy, (sap_gradient_destroy(NULL), true))                                  \
  X(sap_solver_forget, (sap_solver_forget(NULL), true))                                        \
  X(sap_solver_destroy, (sap_solver_destroy(NULL), true))                                      \
  X(sap_problem_destroy, (sap_problem_destroy(NULL), true))                                    \
  X(sap_solution_clear, (sap_solution_clear(&(sap_solution){0}), true))                        \
  X(sap_report_clear, (sap_report_clear(&(sap_report){0}), true))

CALLS(CALL_FUNCTION)
static const call calls[] = {CALLS(CALL_ROW)};

static void check_plain(void) {
  PLAIN(CALL_HOLDS)
}

// Two trees; `problem` with a contact between them.
static void fill(void) {
  assert_int_equal(sap_problem_reset(other, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_reset(problem, 0.01, 2, sizes, NULL), SAP_STATUS_OK);
  for (int32_t t = 0; t < 2; ++t) {
    assert_int_equal(sap_problem_set_momentum_block(problem, t, t, unit, 3, NULL), 0);
  }
  assert_int_equal(sap_problem_add_contact(problem, &contact, &regularization, NULL), 0);
}

// One without arrays of earlier calls.
static void make_gradient(void) {
  sap_gradient_destroy(gradient);
  assert_int_equal(sap_gradient_create(NULL, &gradient, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_gradient_problem(gradient, problem, &solution, NULL, NULL), SAP_STATUS_OK);
}

// Checks that a failed call changed nothing.
static void cleanup(void) {
  sap_problem_destroy(made.problem);
  sap_solver_destroy(made.solver);
  sap_gradient_destroy(made.gradient);
  made = (struct made){0};
  fill();
  assert_int_equal(sap_solver_solve(solver, problem, &solution, &report, NULL), SAP_STATUS_OK);
  make_gradient();
}

static int setup(void** unused) {
  (void)unused;
  material = sap_material_default();
  regularization = sap_regularization_default();
  options = sap_solver_options_default();
  contact = (sap_contact_block){
      .ntrees = 2, .trees = trees, .jacobians = jacobians, .material = material, .phi0 = -1e-3};
  scratch_begin(&files);
  (void)scratch_path(&files, "a.problem", problem_path);
  (void)scratch_path(&files, "new.problem", new_path);
  assert_int_equal(sap_problem_create(&problem, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_problem_create(&other, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_solver_create("sap", NULL, &solver, NULL), SAP_STATUS_OK);
  fill();
  assert_int_equal(sap_solver_solve(solver, problem, &solution, &report, NULL), SAP_STATUS_OK);
  make_gradient();
  assert_int_equal(sap_solver_save_memory(solver, kept, sizeof kept, &kept_size, NULL), 0);
  assert_int_equal(sap_problem_save_memory(problem, bytes, sizeof bytes, &size, NULL), 0);
  assert_int_equal(sap_problem_file_write(problem_path, problem, NULL, NULL), SAP_STATUS_OK);
  return 0;
}

static int teardown(void** unused) {
  (void)unused;
  sap_solution_clear(&solution);
  sap_report_clear(&report);
  sap_solver_destroy(solver);
  sap_gradient_destroy(gradient);
  gradient = NULL;
  sap_problem_destroy(other);
  sap_problem_destroy(problem);
  scratch_end(&files);
  assert_int_equal(heap_live(), 0);
  return 0;
}

int main(void) {
  static const calls_file file = {setup, teardown, check_plain, {CALLS_TABLE(calls, cleanup)}};
  return calls_run(&file);
}
