// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_CORE_CLOCK_H
#define SAP_CORE_CLOCK_H

// Monotonic wall clock [s]; only differences mean something.
double sap_clock_seconds(void);

#endif
