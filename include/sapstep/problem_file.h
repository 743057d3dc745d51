// SPDX-License-Identifier: BSD-3-Clause
// Reads and writes contact problems and solutions.
#pragma once

#include <sapstep/base.h>
#include <sapstep/problem.h>
#include <sapstep/solver.h>

SAP_C_BEGIN

// HDF5 in FCLIB's layout, one problem per file: /fclib_global (M v = H r + f, u = H' v + w, and G,
// b for bilateral rows) or /fclib_local (u = W r + q, and V, R, s), components N T1 T2. A local
// problem has a mobility in place of A (see sap_problem_set_mobility_block) and a tree per contact,
// whose velocities are u. A global problem whose M is not symmetric also gets a mobility. Contacts
// are rigid unless vectors/R is given; dt is 1 s.

// Or text: problems stacked in a file, each in lines of numbers,
//   sapstep_problem 1 / dt ntrees / n A (a line for each tree) / v_star / v_guess / ncontacts
//   treeA treeB mu R v_hat J_A [J_B] (a line for each contact; treeB -1: one tree; rows t1 t2 n)

// Reads the problem of a file, of stacked ones the first. Errors name file and dataset, or line,
// and leave `problem` reset to empty.
// Fails with IO if the file cannot be read, or with SYNTAX, NOT_FINITE, NOT_SPD, UNSUPPORTED.
SAP_API sap_status sap_problem_file_read(const char* path, sap_problem* problem, sap_error* error);

// Reads stacked problems one after the other: *at is 0 at first, and -1 behind the last one.
SAP_API sap_status sap_problem_file_read_next(const char* path, int64_t* at, sap_problem* problem,
                                              sap_error* error);

// Writes a problem as global, and its solution (NULL: none) as /solution: v, r, u, l. The file appears whole or not at all. Data that FCLIB cannot express (dt,
// v_guess, trees, keys, R, limits, boxes, cones of 4 or 6 rows) are in /sapstep and are restored
// bit by bit. Fails with UNSUPPORTED for problems with a mobility and
// contacts with a potential, or with IO.
SAP_API sap_status sap_problem_file_write(const char* path, const sap_problem* problem,
                                          const sap_solution* solution, sap_error* error);

SAP_C_END
