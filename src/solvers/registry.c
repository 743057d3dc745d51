// SPDX-License-Identifier: BSD-3-Clause
// The tables of solvers and of their options, and the public calls that use them.
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "core/platform.h"
#include "problem/law.h"
#include "problem/problem_data.h"
#include "solvers/dual/dual.h"
#include "solvers/primal/sap.h"
#include "solvers/report.h"
#include "solvers/solver_options.h"

#define CONVEX "Coulomb, maximum dissipation"
#define NONLINEAR "Signorini, Coulomb, maximum dissipation"
#define ALL_BLOCKS "cone, nonnegative, box, free"
#define BLOCKS_3_ROWS "cone of 3 rows, nonnegative, box, free"
#define ALL_SETS (SAP_TAKES_ALL | SAP_TAKES_CONES_N)

// needs_R, signorini, rigid of sap_solver_info.
#define REGULARIZED true, false, false
#define REGULARIZED_NCP true, true, false
#define RELAXED false, false, false
#define STRICT false, true, true

static const sap_solver_row TABLE[] = {
    {{"sap", "convex (SAP)", "Castro, Permenter, Han 2022", CONVEX, ALL_BLOCKS ", similar, lagged",
      REGULARIZED},
     ALL_SETS | SAP_TAKES_POTENTIALS,
     sap_primal_create,
     sap_primal_destroy,
     sap_primal_solve,
     sap_primal_archive,
     NULL,
     true},
    {{"sap-ncp", "NCP", "De Saxce, Feng 1998, around SAP", NONLINEAR, ALL_BLOCKS, REGULARIZED_NCP},
     ALL_SETS,
     sap_ncp_create,
     sap_ncp_destroy,
     sap_ncp_solve,
     sap_ncp_archive,
     NULL,
     true},
#define DUAL(name, model, reference, principles, blocks, sets, flags, method, ncp)                \
  {                                                                                               \
    {name, model, reference, principles, blocks, flags}, sets, sap_dual_create, sap_dual_destroy, \
        sap_dual_solve, sap_dual_archive, method, ncp                                             \
  }
#define DUAL_CCP(name, reference, method) \
  DUAL(name, "convex (CCP)", reference, CONVEX, ALL_BLOCKS, ALL_SETS, RELAXED, method, false)
#define DUAL_NCP(name, reference, method) \
  DUAL(name, "NCP", reference, NONLINEAR, ALL_BLOCKS, ALL_SETS, STRICT, method, true)
#define DUAL_NCP_3_ROWS(name, reference, method) \
  DUAL(name, "NCP", reference, NONLINEAR, BLOCKS_3_ROWS, SAP_TAKES_ALL, STRICT, method, true)
#define DUAL_LCP(name, reference, blocks, sets, method) \
  DUAL(name, "LCP pyramid", reference, "Signorini", blocks, sets, STRICT, method, true)
    DUAL_CCP("pgs-ccp", "Anitescu, Tasora 2010; Le Lidec et al. 2024", sap_pgs_ccp),
    DUAL_CCP("apgd", "Mazhar et al. 2015", sap_apgd),
    DUAL_CCP("admm-ccp", "Tsounis et al. 2025", sap_admm_solve),
    DUAL_CCP("ipm", "Castro et al. 2022, Sec. VI; Vandenberghe 2010", sap_ipm),
    DUAL("proximal", "bilateral", "Carpentier, Budhiraja, Mansard 2021", "", "free", SAP_TAKES_FREE,
         RELAXED, sap_proximal, false),
    DUAL_NCP("pgs-ncp", "Le Lidec et al. 2024", sap_pgs_ncp),
    DUAL_NCP("nbgs", "Bonnefon, Daviet 2011; Tsounis et al. 2025", sap_nbgs),
    DUAL_LCP("pgs-lcp", "Le Lidec et al. 2024", BLOCKS_3_ROWS, SAP_TAKES_ALL, sap_pgs_lcp),
    DUAL_LCP("lemke", "Lemke 1965; Stewart, Trinkle 1996", "cone of 3 rows, nonnegative",
             SAP_TAKES_CONES | SAP_TAKES_NONNEGATIVE, sap_lemke_solve),
    DUAL_LCP("staggered-lcp", "Kaufman et al. 2008; Le Lidec et al. 2024", BLOCKS_3_ROWS,
             SAP_TAKES_ALL, sap_staggered_lcp),
    DUAL_NCP("staggered", "Kaufman et al. 2008; Le Lidec et al. 2024", sap_staggered),
    DUAL("raisim", "Signorini, Coulomb", "Hwangbo, Lee, Hutter 2018", "Signorini, Coulomb",
         BLOCKS_3_ROWS, SAP_TAKES_ALL, STRICT, sap_raisim, true),
    DUAL_NCP_3_ROWS("raisim-ds", "Le Lidec et al. 2024; Tsounis et al. 2025", sap_raisim_ds),
    DUAL_NCP_3_ROWS("raisim-ds-es", "Tsounis et al. 2025, ends early, (160)", sap_raisim_ds_es),
    DUAL_NCP("admm-ncp", "Tsounis et al. 2025", sap_admm_solve),
    DUAL_NCP("newton-ncp", "Alart, Curnier 1991", sap_newton_ncp),
    DUAL_NCP("implicit-complementarity", "Todorov 2010", sap_implicit_complementarity),
    DUAL_NCP("proximal-newton", "Acary, Bremond, Huber 2018", sap_proximal_newton),
};

sap_solver_options sap_solver_options_default(void) {
  sap_solver_options options = {.cookie = SAP_COOKIE};
  sap_options_reset(sap_solver_option_table(), &options);
  return options;
}

sap_status sap_solver_options_check(const sap_solver_options* options, sap_error* error) {
  SAP_TRY(sap_check_cookie("sap_solver_options", options != NULL ? &options->cookie : NULL, error));
  return sap_options_check(sap_solver_option_table(), options, error);
}

struct sap_solver {
  const sap_solver_row* row;
  sap_solver_options options;
  void* workspace;
};

const char* sap_outcome_text(sap_outcome outcome) {
  return SAP_TEXT_OF(SAP_OUTCOME_LIST, SAP_OUTCOME_COUNT, outcome, "unknown outcome");
}

int32_t sap_solver_count(void) {
  return (int32_t)(sizeof TABLE / sizeof TABLE[0]);
}

const sap_solver_info* sap_solver_get_info(int32_t index) {
  return index >= 0 && index < sap_solver_count() ? &TABLE[index].info : NULL;
}

static const sap_solver_row* find_row(const char* name) {
  for (int32_t i = 0; name != NULL && i < sap_solver_count(); ++i) {
    if (strcmp(TABLE[i].info.name, name) == 0) {
      return &TABLE[i];
    }
  }
  return NULL;
}

const sap_solver_info* sap_solver_find(const char* name) {
  const sap_solver_row* row = find_row(name);
  return row == NULL ? NULL : &row->info;
}

// Writes "sap, sap-ncp, ...".
static void list_names(char* out, size_t size) {
  size_t length = 0;
  out[0] = '\0';
  for (int32_t i = 0; i < sap_solver_count() && length < size; ++i) {
    const int n =
        snprintf(out + length, size - length, "%s%s", i > 0 ? ", " : "", TABLE[i].info.name);
    length += n > 0 ? (size_t)n : 0;
  }
}

sap_status sap_solver_create(const char* name, const sap_solver_options* options, sap_solver** out,
                             sap_error* error) {
  SAP_NOT_NULL(error, out);
  *out = NULL;
  const sap_solver_row* row = find_row(name);
  if (row == NULL) {
    char names[SAP_ERROR_MESSAGE_SIZE];
    list_names(names, sizeof names);
    return sap_fail(error, SAP_STATUS_ARGUMENT, "unknown solver '%s'; available: %s",
                    name == NULL ? "(NULL)" : name, names);
  }
  const sap_solver_options chosen = options == NULL ? sap_solver_options_default() : *options;
  SAP_TRY(sap_solver_options_check(&chosen, error));
  sap_solver* solver;
  SAP_TRY(SAP_NEW(&solver, 1, "solver", error));
  solver->row = row;
  solver->options = chosen;
  SAP_TRY_OR(row->create(&solver->workspace, error), sap_free(solver));
  *out = solver;
  return SAP_STATUS_OK;
}

sap_status sap_solver_set_time_limit(sap_solver* solver, double seconds, sap_error* error) {
  SAP_NOT_NULL(error, solver);
  sap_solver_options options = solver->options;
  options.time_limit = seconds;
  SAP_TRY(sap_solver_options_check(&options, error));
  solver->options = options;
  return SAP_STATUS_OK;
}

void sap_solver_set_tolerance(sap_solver* solver, double relative) {
  solver->options.relative_tolerance = relative;
}

sap_status sap_solver_archive(void* solver, sap_archive* archive, sap_error* error) {
  const sap_solver* s = solver;
  return s->row->archive(s->workspace, archive, error);
}

sap_status sap_solver_save_memory(sap_solver* solver, void* bytes, size_t capacity, size_t* size,
                                  sap_error* error) {
  SAP_NOT_NULL(error, solver, size);
  return sap_archive_to_bytes(sap_solver_archive, solver, bytes, capacity, size, error);
}

sap_status sap_solver_load_memory(sap_solver* solver, const void* bytes, size_t size,
                                  sap_error* error) {
  SAP_NOT_NULL(error, solver, bytes);
  return sap_archive_from_bytes(sap_solver_archive, solver, bytes, size, error);
}

void sap_solver_forget(sap_solver* solver) {
  if (solver != NULL) {
    sap_archive archive = {.mode = SAP_ARCHIVE_FORGET};
    (void)sap_solver_archive(solver, &archive, NULL);  // forgetting cannot fail
  }
}

void sap_solver_destroy(sap_solver* solver) {
  if (solver == NULL) {
    return;
  }
  solver->row->destroy(solver->workspace);
  sap_free(solver);
}

// Fails with UNSUPPORTED and the first block that the solver does not accept.
static sap_status check_blocks(const sap_solver_row* row, const sap_problem* p, sap_error* error) {
  SAP_FAIL_IF(row->info.needs_R && p->has_mobility, error, SAP_STATUS_UNSUPPORTED,
              "the problem stores the inverse of A, solver '%s' needs A", row->info.name);
  static const char* const names[] = {"friction cone",
                                      "nonnegative",
                                      "box",
                                      "free",
                                      "similar contact: set contact model sap",
                                      "lagged contact: set contact model sap"};
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    SAP_FAIL_IF((row->sets & (1 << (int)block->set)) == 0, error, SAP_STATUS_UNSUPPORTED,
                "block %d: solver '%s' takes %s, not %s", b, row->info.name, row->info.blocks,
                names[(int)block->set]);
    SAP_FAIL_IF(block->set == SAP_SET_FRICTION_CONE && block->nrows > 3 &&
                    (row->sets & SAP_TAKES_CONES_N) == 0,
                error, SAP_STATUS_UNSUPPORTED,
                "block %d: solver '%s' takes friction cones of 3 rows, not %d (spin or "
                "rolling friction)",
                b, row->info.name, block->nrows);
    for (int32_t i = 0; row->info.needs_R && i < block->nrows; ++i) {
      SAP_FAIL_IF(!(p->R[block->first_row + i] > 0.0), error, SAP_STATUS_UNSUPPORTED,
                  "block %d, row %d: R = 0, solver '%s' needs R > 0", b, i, row->info.name);
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_solver_solve(sap_solver* solver, const sap_problem* problem, sap_solution* solution,
                            sap_report* report, sap_error* error) {
  const double start = sap_clock_seconds();
  SAP_NOT_NULL(error, solver, problem, solution);
  SAP_TRY(check_blocks(solver->row, problem, error));
  if (solver->options.check_input) {
    SAP_TRY(sap_problem_check(problem, error));
  }
  const sap_solve_call call = {&solver->options, problem, solution, report, NULL};
  SAP_TRY(solver->row->solve(solver->workspace, solver->row, &call, error));
  if (report != NULL) {
    report->time = sap_clock_seconds() - start;
  }
  return SAP_STATUS_OK;
}

sap_status sap_solver_solve_again(sap_solver* solver, sap_problem* problem, sap_solution* solution,
                                  sap_report* report, sap_error* error) {
  const sap_report before = *report;
  SAP_TRY(sap_problem_set_v_guess(problem, solution->v, error));
  SAP_TRY(sap_solver_solve(solver, problem, solution, report, error));
  problem->solved = true;
  sap_report_add_work(report, &before);
  return SAP_STATUS_OK;
}

sap_status sap_solver_settle_lags(sap_solver* solver, sap_problem* problem, sap_solution* solution,
                                  sap_report* report, sap_error* error) {
  enum { LAGS_MAX = 12 };  // each solve leaves a tenth or less of the error before
  SAP_NOT_NULL(error, solver, problem, solution, report);
  for (int i = 0; i < LAGS_MAX && report->outcome != SAP_OUTCOME_TIME_LIMIT &&
                  sap_problem_relag(problem, solution->gamma);
       ++i) {
    SAP_TRY(sap_solver_solve_again(solver, problem, solution, report, error));
  }
  return SAP_STATUS_OK;
}
