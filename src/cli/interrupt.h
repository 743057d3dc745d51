// SPDX-License-Identifier: BSD-3-Clause
// Ctrl-C and SIGTERM as a flag that long loops look at.
#ifndef SAP_CLI_INTERRUPT_H
#define SAP_CLI_INTERRUPT_H

#include <stdbool.h>

// From now on a signal sets the flag; `once`: a second one kills.
void interrupt_catch(bool once);
// Has one come? Any thread may ask.
bool interrupt_came(void);

#endif
