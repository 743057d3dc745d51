// SPDX-License-Identifier: BSD-3-Clause
// The table of solvers, their options, and the calls that go through the table.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sapstep/solver.h>

#include "core/clock.h"
#include "core/memory.h"
#include "problem/problem_data.h"
#include "solvers/dual/admm.h"
#include "solvers/dual/apgd.h"
#include "solvers/dual/gauss_seidel.h"
#include "solvers/dual/ipm.h"
#include "solvers/dual/lemke.h"
#include "solvers/dual/proximal.h"
#include "solvers/ncp/implicit_complementarity.h"
#include "solvers/ncp/local_ncp.h"
#include "solvers/ncp/newton_ncp.h"
#include "solvers/ncp/raisim.h"
#include "solvers/ncp/sap_ncp.h"
#include "solvers/ncp/staggered.h"
#include "solvers/primal/sap.h"
#include "solvers/solver_table.h"

#define CONVEX "Coulomb, maximum dissipation"
#define NONLINEAR "Signorini, Coulomb, maximum dissipation"
#define ALL_BLOCKS "cone, nonnegative, box, free"
#define NARROW_BLOCKS "cone of 3 rows, nonnegative, box, free"
#define ALL_SETS (SAP_TAKES_ALL | SAP_TAKES_WIDE_CONES)

// Of sap_solver_info: needs_R, signorini, rigid.
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
     sap_primal_archive},
    {{"sap-ncp", "NCP", "De Saxce, Feng 1998, around SAP", NONLINEAR, ALL_BLOCKS, REGULARIZED_NCP},
     ALL_SETS,
     sap_ncp_create,
     sap_ncp_destroy,
     sap_ncp_solve,
     sap_ncp_archive},
#define DUAL(name, model, reference, principles, blocks, sets, flags, solve)                      \
  {                                                                                               \
    {name, model, reference, principles, blocks, flags}, sets, sap_dual_create, sap_dual_destroy, \
        solve, sap_dual_archive                                                                   \
  }
#define DUAL_CCP(name, reference, solve) \
  DUAL(name, "convex (CCP)", reference, CONVEX, ALL_BLOCKS, ALL_SETS, RELAXED, solve)
#define DUAL_NCP(name, reference, solve) \
  DUAL(name, "NCP", reference, NONLINEAR, ALL_BLOCKS, ALL_SETS, STRICT, solve)
#define DUAL_NCP_NARROW(name, reference, solve) \
  DUAL(name, "NCP", reference, NONLINEAR, NARROW_BLOCKS, SAP_TAKES_ALL, STRICT, solve)
#define DUAL_LCP(name, reference, blocks, sets, solve) \
  DUAL(name, "LCP pyramid", reference, "Signorini", blocks, sets, STRICT, solve)
    DUAL_CCP("pgs-ccp", "Anitescu, Tasora 2010; Le Lidec et al. 2024", sap_pgs_ccp_solve),
    DUAL_CCP("apgd", "Mazhar et al. 2015", sap_apgd_solve),
    DUAL_CCP("admm-ccp", "Tsounis et al. 2025", sap_admm_ccp_solve),
    DUAL_CCP("ipm", "Castro et al. 2022, Sec. VI; Vandenberghe 2010", sap_ipm_solve),
    DUAL("proximal", "bilateral", "Carpentier, Budhiraja, Mansard 2021", "", "free", SAP_TAKES_FREE,
         RELAXED, sap_proximal_solve),
    DUAL_NCP("pgs-ncp", "Le Lidec et al. 2024", sap_pgs_ncp_solve),
    DUAL_NCP("nbgs", "Bonnefon, Daviet 2011; Tsounis et al. 2025", sap_nbgs_solve),
    DUAL_LCP("pgs-lcp", "Le Lidec et al. 2024", NARROW_BLOCKS, SAP_TAKES_ALL, sap_pgs_lcp_solve),
    DUAL_LCP("lemke", "Lemke 1965; Stewart, Trinkle 1996", "cone of 3 rows, nonnegative",
             SAP_TAKES_CONES | SAP_TAKES_NONNEGATIVE, sap_lemke_solve),
    DUAL_LCP("staggered-lcp", "Kaufman et al. 2008; Le Lidec et al. 2024", NARROW_BLOCKS,
             SAP_TAKES_ALL, sap_staggered_lcp_solve),
    DUAL_NCP("staggered", "Kaufman et al. 2008; Le Lidec et al. 2024", sap_staggered_solve),
    DUAL("raisim", "Signorini, Coulomb", "Hwangbo, Lee, Hutter 2018", "Signorini, Coulomb",
         NARROW_BLOCKS, SAP_TAKES_ALL, STRICT, sap_raisim_solve),
    DUAL_NCP_NARROW("raisim-ds", "Le Lidec et al. 2024; Tsounis et al. 2025", sap_raisim_ds_solve),
    DUAL_NCP_NARROW("raisim-ds-es", "Tsounis et al. 2025, ends early, (160)",
                    sap_raisim_ds_es_solve),
    DUAL_NCP("admm-ncp", "Tsounis et al. 2025", sap_admm_ncp_solve),
    DUAL_NCP("newton-ncp", "Alart, Curnier 1991", sap_newton_ncp_solve),
    DUAL_NCP("implicit-complementarity", "Todorov 2010", sap_implicit_complementarity_solve),
    DUAL_NCP("proximal-newton", "Acary, Bremond, Huber 2018", sap_proximal_newton_solve),
};

struct sap_solver {
  const sap_solver_row* row;
  sap_solver_options options;
  void* workspace;
};

const char* sap_outcome_text(sap_outcome outcome) {
  static const char* const texts[] = {
#define SAP_X(name, text) text,
      SAP_OUTCOME_LIST(SAP_X)
#undef SAP_X
  };
  const int index = (int)outcome;
  return index >= 0 && index < (int)SAP_OUTCOME_COUNT ? texts[index] : "unknown outcome";
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

// "sap, pgs-ccp, ..."
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
  if (out == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_create: out is NULL");
  }
  *out = NULL;
  const sap_solver_row* row = find_row(name);
  if (row == NULL) {
    char names[SAP_ERROR_MESSAGE_SIZE];
    list_names(names, sizeof names);
    return sap_fail(error, SAP_STATUS_ARGUMENT, "unknown solver '%s'; available: %s",
                    name == NULL ? "(NULL)" : name, names);
  }
  const sap_solver_options chosen = options == NULL ? sap_solver_options_default() : *options;
  sap_status status = sap_solver_options_check(&chosen, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_solver* solver = sap_allocate(1, sizeof *solver);
  if (solver == NULL) {
    return sap_fail(error, SAP_STATUS_MEMORY, "out of memory for solver '%s'", name);
  }
  solver->row = row;
  solver->options = chosen;
  status = row->create(&solver->workspace, error);
  if (status != SAP_STATUS_OK) {
    sap_free(solver);
    return status;
  }
  *out = solver;
  return SAP_STATUS_OK;
}

sap_status sap_solver_set_time_limit(sap_solver* solver, double seconds, sap_error* error) {
  if (solver == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_set_time_limit: solver is NULL");
  }
  sap_solver_options options = solver->options;
  options.time_limit = seconds;
  const sap_status status = sap_solver_options_check(&options, error);
  if (status == SAP_STATUS_OK) {
    solver->options = options;
  }
  return status;
}

sap_status sap_solver_archive(sap_solver* solver, sap_archive* archive, sap_error* error) {
  return solver->row->archive(solver->workspace, archive, error);
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

// UNSUPPORTED names the first block that the solver does not take.
static sap_status check_blocks(const sap_solver_row* row, const sap_problem* p, sap_error* error) {
  if (row->info.needs_R && p->has_mobility) {
    return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                    "the problem gives the inverse of A, solver '%s' needs A", row->info.name);
  }
  static const char* const names[] = {"friction cone", "nonnegative",     "box",
                                      "free",          "similar contact", "lagged contact"};
  for (int32_t b = 0; b < p->nblocks; ++b) {
    const sap_block_data* block = &p->blocks[b];
    if ((row->sets & (1 << (int)block->set)) == 0) {
      return sap_fail(error, SAP_STATUS_UNSUPPORTED, "block %d: solver '%s' takes %s, not %s", b,
                      row->info.name, row->info.blocks, names[(int)block->set]);
    }
    if (block->set == SAP_SET_FRICTION_CONE && block->nrows > 3 &&
        (row->sets & SAP_TAKES_WIDE_CONES) == 0) {
      return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                      "block %d: solver '%s' takes friction cones of 3 rows, not %d (spin or "
                      "rolling friction)",
                      b, row->info.name, block->nrows);
    }
    for (int32_t i = 0; row->info.needs_R && i < block->nrows; ++i) {
      if (!(p->R[block->first_row + i] > 0.0)) {
        return sap_fail(error, SAP_STATUS_UNSUPPORTED,
                        "block %d, row %d: R = 0, solver '%s' needs R > 0", b, i, row->info.name);
      }
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_solver_solve(sap_solver* solver, const sap_problem* problem, sap_solution* solution,
                            sap_report* report, sap_error* error) {
  const double start = sap_clock_seconds();
  if (solver == NULL || problem == NULL || solution == NULL) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "sap_solver_solve: %s is NULL",
                    solver == NULL    ? "solver"
                    : problem == NULL ? "problem"
                                      : "solution");
  }
  sap_status status = check_blocks(solver->row, problem, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  if (solver->options.check_input) {
    status = sap_problem_check(problem, error);
    if (status != SAP_STATUS_OK) {
      return status;
    }
  }
  status =
      solver->row->solve(solver->workspace, &solver->options, problem, solution, report, error);
  if (status == SAP_STATUS_OK && report != NULL) {
    report->time = sap_clock_seconds() - start;
  }
  return status;
}
