// SPDX-License-Identifier: BSD-3-Clause
// The adapter's options as a table.
#pragma once

#include <sapstep/mujoco.h>

#include "solvers/solver_options.h"

// All options of sap_mj_options: its own, those of the regularization, those of the solver.
SAP_DEFINE_OPTION_TABLE(sap_mj, sap_mj_options, SAP_ALL_ROWS(SAP_MJ_OPTIONS))
