// SPDX-License-Identifier: BSD-3-Clause
// Long loops: a progress bar on standard error, drawn only if that is a terminal, and Ctrl-C and
// SIGTERM as a flag.
#ifndef SAP_CLI_PROGRESS_H
#define SAP_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
  bool shown;        // standard error is a terminal
  double start;      // wall clock at the beginning [s]
  double next_draw;  // wall clock of the next drawing [s]
} progress;

void progress_begin(progress* bar);
// True if it is time to draw again; cheap to call often.
bool progress_due(progress* bar);
// Draws the bar at `fraction` in [0, 1], with `note` after it.
void progress_draw(progress* bar, double fraction, const char* note);
// Removes the bar, so that other text can follow.
void progress_end(progress* bar);

// Makes a signal set the flag; `once`: a second signal kills.
void interrupt_catch(bool once);
// True if a signal has come. Any thread may call it.
bool interrupt_came(void);

#endif
