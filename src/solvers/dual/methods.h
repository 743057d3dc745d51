// SPDX-License-Identifier: BSD-3-Clause
// The methods in impulse space, one per row of the solver table. Each runs on the island gathered
// in `d`, from the guess d->z, until sap_dual_check ends it; the best impulses are d->z_best.
#ifndef SAP_SOLVERS_DUAL_METHODS_H
#define SAP_SOLVERS_DUAL_METHODS_H

#include "solvers/dual/dual.h"

// Convex (CCP), files of dual/.
sap_status sap_pgs_ccp(sap_dual* d, sap_error* error);     // gauss_seidel.c
sap_status sap_apgd(sap_dual* d, sap_error* error);        // apgd.c
sap_status sap_admm_solve(sap_dual* d, sap_error* error);  // admm.c; CCP and NCP
sap_status sap_ipm(sap_dual* d, sap_error* error);         // ipm.c
sap_status sap_proximal(sap_dual* d, sap_error* error);    // admm.c; bilateral rows only

// Pyramids (LCP).
sap_status sap_pgs_lcp(sap_dual* d, sap_error* error);        // gauss_seidel.c
sap_status sap_lemke_solve(sap_dual* d, sap_error* error);    // lemke.c
sap_status sap_staggered_lcp(sap_dual* d, sap_error* error);  // ncp/staggered.c

// Coulomb friction (NCP), files of ncp/.
sap_status sap_pgs_ncp(sap_dual* d, sap_error* error);                   // local_ncp.c
sap_status sap_nbgs(sap_dual* d, sap_error* error);                      // local_ncp.c
sap_status sap_raisim(sap_dual* d, sap_error* error);                    // raisim.c
sap_status sap_raisim_ds(sap_dual* d, sap_error* error);                 // raisim.c
sap_status sap_raisim_ds_es(sap_dual* d, sap_error* error);              // raisim.c
sap_status sap_staggered(sap_dual* d, sap_error* error);                 // staggered.c
sap_status sap_newton_ncp(sap_dual* d, sap_error* error);                // newton_ncp.c
sap_status sap_proximal_newton(sap_dual* d, sap_error* error);           // newton_ncp.c
sap_status sap_implicit_complementarity(sap_dual* d, sap_error* error);  // same file name

#endif
