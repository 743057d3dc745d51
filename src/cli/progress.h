// SPDX-License-Identifier: BSD-3-Clause
// Long studies: a progress bar on standard error, drawn only if that is a terminal, Ctrl-C,
// SIGTERM and SIGHUP as a flag, and threads.
#pragma once

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

// Makes a signal set the flag. Call it when inputs have been read: before, signals end the process,
// also while it reads a pipe that never ends.
void interrupt_catch(void);
// True if a signal has come. Any thread may call it.
bool interrupt_came(void);

// Calls work(context) in each of `count` >= 1 threads, or here if none can be started. Meanwhile
// calls `watch` (NULL: none) again and again, from this thread, also after the threads have ended
// until it returns false: nothing is left to wait for.
void cli_run_threads(int count, void (*work)(void* context), bool (*watch)(void* context),
                     void* context);
