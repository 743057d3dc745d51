// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

// The only thing that a signal handler may touch.
static volatile sig_atomic_t came;

static void on_signal(int signal_number) {
  (void)signal_number;
  came = 1;
}

void interrupt_catch(bool once) {
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = once ? (int)SA_RESETHAND : 0};
  (void)sigemptyset(&action.sa_mask);
  (void)sigaction(SIGINT, &action, NULL);
  (void)sigaction(SIGTERM, &action, NULL);
}

bool interrupt_came(void) {
  return came != 0;
}
