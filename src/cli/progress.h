// SPDX-License-Identifier: BSD-3-Clause
// A progress bar on standard error, drawn only where that is a terminal.
#ifndef SAP_CLI_PROGRESS_H
#define SAP_CLI_PROGRESS_H

#include <stdbool.h>

typedef struct progress {
  bool shown;        // whether standard error is a terminal
  double start;      // wall clock at the beginning [s]
  double next_draw;  // wall clock of the next drawing [s]
} progress;

void progress_begin(progress* bar);
// Whether it is time to draw again; cheap to call often.
bool progress_due(progress* bar);
// Draws: `fraction` of the work is done, in [0, 1]; `note` stands behind the bar.
void progress_draw(progress* bar, double fraction, const char* note);
// Removes the bar, so that other text can follow.
void progress_end(progress* bar);

#endif
