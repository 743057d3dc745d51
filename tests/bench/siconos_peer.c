// SPDX-License-Identifier: BSD-3-Clause
// Siconos orders components N T1 T2 where we have T1 T2 N.
#include "siconos_peer.h"

#include <limits.h>
#include <stdlib.h>

#include <FrictionContactProblem.h>
#include <Friction_cst.h>
#include <NonSmoothDrivers.h>
#include <NumericsMatrix.h>
#include <SolverOptions.h>
#include <SparseBlockMatrix.h>

// The families of Acary, Bremond, Huber 2018 that Siconos 4.4 has without further libraries.
const siconos_solver siconos_solvers[] = {
    {"siconos-nsgs", SICONOS_FRICTION_3D_NSGS, true},
    {"siconos-prox", SICONOS_FRICTION_3D_PROX, false},
    {"siconos-nsn-ac", SICONOS_FRICTION_3D_NSN_AC, false},
    {"siconos-nsn-fb", SICONOS_FRICTION_3D_NSN_FB, false},
    {"siconos-nsn-nm", SICONOS_FRICTION_3D_NSN_NM, false},
    {"siconos-admm", SICONOS_FRICTION_3D_ADMM, false},
    {"siconos-vi-eg", SICONOS_FRICTION_3D_VI_EG, true},
    {"siconos-aclmfp", SICONOS_FRICTION_3D_ACLMFP, true},
    {NULL, 0, false},
};

static const int place[3] = {1, 2, 0};  // of t1, t2, n in N T1 T2

struct siconos_problem {
  FrictionContactProblem* problem;
  int contacts;
  double *r, *u;
};

static NumericsMatrix* make_matrix(const sap_problem* p, int contacts, bool blocks) {
  NumericsMatrix* W = NM_create(NM_SPARSE, 3 * contacts, 3 * contacts);
  NM_triplet_alloc(W, 9 * contacts);
  for (int a = 0; a < contacts; ++a) {
    for (int b = 0; b < contacts; ++b) {
      const double* block = sap_problem_mobility_block(p, a, b);
      for (int k = 0; block != NULL && k < 9; ++k) {
        if (block[k] != 0.0) {
          NM_entry(W, 3 * a + place[k % 3], 3 * b + place[k / 3], block[k]);
        }
      }
    }
  }
  if (!blocks) {
    return W;
  }
  NumericsMatrix* by_blocks = NM_create(NM_SPARSE_BLOCK, 3 * contacts, 3 * contacts);
  SBM_from_csparse(3, NM_csc(W), by_blocks->matrix1);
  (void)NM_free(W);
  return by_blocks;
}

siconos_problem* siconos_problem_create(const sap_problem* problem, bool blocks) {
  const int contacts = sap_problem_block_count(problem);
  siconos_problem* p = calloc(1, sizeof *p);
  if (p == NULL || !sap_problem_has_mobility(problem) ||
      sap_problem_tree_count(problem) != contacts) {
    free(p);
    return NULL;
  }
  const size_t count = (size_t)contacts;
  double *q = calloc(3 * count, sizeof *q), *mu = calloc(count, sizeof *mu);
  p->r = calloc(3 * count, sizeof *p->r);
  p->u = calloc(3 * count, sizeof *p->u);
  p->contacts = contacts;
  if (q == NULL || mu == NULL || p->r == NULL || p->u == NULL) {
    abort();
  }
  for (int c = 0; c < contacts; ++c) {
    sap_block block;
    if (sap_problem_block(problem, c, &block, NULL, NULL) != SAP_STATUS_OK) {
      abort();
    }
    mu[c] = block.friction;
    for (int i = 0; i < 3; ++i) {
      q[3 * c + place[i]] = sap_problem_v_star(problem)[3 * c + i];
    }
  }
  p->problem = frictionContactProblem_new_with_data(3, contacts,
                                                    make_matrix(problem, contacts, blocks), q, mu);
  return p;
}

void siconos_problem_destroy(siconos_problem* p) {
  if (p != NULL) {
    frictionContactProblem_free(p->problem);
    free(p->r);
    free(p->u);
    free(p);
  }
}

void siconos_solve(siconos_problem* p, const siconos_solver* solver, double tolerance,
                   double* gamma) {
  SolverOptions* options = solver_options_create(solver->id);
  options->dparam[SICONOS_DPARAM_TOL] = tolerance;
  options->iparam[SICONOS_IPARAM_MAX_ITER] = INT_MAX / 2;  // time decides
  for (int i = 0; i < 3 * p->contacts; ++i) {
    p->r[i] = p->u[i] = 0.0;
  }
  (void)fc3d_driver(p->problem, p->r, p->u, options);
  for (int c = 0; c < p->contacts; ++c) {
    for (int i = 0; i < 3; ++i) {
      gamma[3 * c + i] = p->r[3 * c + place[i]];
    }
  }
  solver_options_delete(options);
}
