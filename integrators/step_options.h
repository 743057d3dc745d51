// SPDX-License-Identifier: BSD-3-Clause
// The stepper's options as a table.
#ifndef SAP_INTEGRATORS_STEP_OPTIONS_H
#define SAP_INTEGRATORS_STEP_OPTIONS_H

#include <sapstep/stepper.h>

#include "core/options.h"

// All options of sap_stepper_options: its own, those of the regularization, those of the solver.
sap_option_table sap_stepper_option_table(void);

#endif
