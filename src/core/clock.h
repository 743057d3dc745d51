// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_CORE_CLOCK_H
#define SAP_CORE_CLOCK_H

// Returns a monotonic wall-clock time [s]; only differences are meaningful.
double sap_clock_seconds(void);

#endif
