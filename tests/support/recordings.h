// SPDX-License-Identifier: BSD-3-Clause
// Recordings written and read back; any failure fails the test.
#ifndef SAP_TESTS_SUPPORT_RECORDINGS_H
#define SAP_TESTS_SUPPORT_RECORDINGS_H

#include <sapstep/recorder.h>

#include "support/simulation.h"

// A box of 2 kg that falls onto the ground from 2 cm and comes to rest on four points, gravity
// 9.81 m/s^2, steps of 10 ms.
simulation recordings_box(void);
sap_recorder* recordings_create(const char* path, const simulation* s, int32_t flush_rows);
sap_recording* recordings_open(const char* path);
// A whole data set, to be freed by free().
double* recordings_read(const sap_recording* recording, const char* name, int64_t* rows,
                        int64_t* columns);

#endif
