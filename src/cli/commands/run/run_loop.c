// SPDX-License-Identifier: BSD-3-Clause
#include "cli/commands/run/run_loop.h"

#include <stdio.h>

#include "cli/progress.h"

run_plan run_plan_default(void) {
  return (run_plan){.duration = 5.0, .every = 1, .recorder = sap_recorder_options_default()};
}

int run_plan_check(const run_plan* plan, const cli_command* command, const cli_parser* parser,
                   const char* what) {
  if (parser->noperands != 1) {
    return parser->noperands == 0 ? cli_usage_error(command, "a %s file is needed", what)
                                  : cli_usage_error(command, "one %s file at a time", what);
  }
  if (cli_given(parser, "every") && plan->output == NULL && plan->record == NULL) {
    return cli_usage_error(command, "--every needs --output or --record");
  }
  if (cli_given(parser, "compression") && plan->record == NULL) {
    return cli_usage_error(command, "--compression needs --record");
  }
  if (plan->checkpoint_every > 0 && plan->checkpoint == NULL) {
    return cli_usage_error(command, "--checkpoint-every needs --checkpoint");
  }
  if (plan->resume != NULL && plan->keyframe != NULL) {
    return cli_usage_error(command, "--resume starts from the checkpoint, not from a --keyframe");
  }
  return CLI_OK;
}

void run_plan_steps(const run_plan* plan, run_statistics* statistics) {
  const int64_t whole = cli_step_count(plan->duration, statistics->dt);
  statistics->planned = whole > statistics->before ? whole - statistics->before : 0;
}

bool run_row_due(const run_plan* plan, const run_statistics* statistics) {
  return (statistics->before + statistics->steps) % plan->every == 0 ||
         statistics->steps == statistics->planned;
}

// Writes a checkpoint at the end, and after a multiple of --checkpoint-every.
static sap_status write_checkpoint(const run_plan* plan, const run_engine* engine,
                                   const run_statistics* s, bool end, sap_error* error) {
  const int64_t steps = s->before + s->steps;
  const int32_t every = plan->checkpoint_every;
  if (plan->checkpoint == NULL || !(end || (every > 0 && steps % every == 0))) {
    return SAP_STATUS_OK;
  }
  return engine->checkpoint(engine->context, plan->checkpoint, steps, error);
}

static sap_status make_steps(const run_plan* plan, const run_engine* engine, run_statistics* s,
                             sap_error* error) {
  progress bar;
  progress_begin(&bar);
  s->memory_still = s->memory_warm = run_peak_memory();
  sap_status status = SAP_STATUS_OK;
  while (status == SAP_STATUS_OK && s->steps < s->planned && !interrupt_came()) {
    status = engine->step(engine->context, error);
    if (status == SAP_STATUS_OK) {
      status = write_checkpoint(plan, engine, s, false, error);
    }
    if (s->steps == s->planned / 10) {
      s->memory_warm = run_peak_memory();
    }
    if (progress_due(&bar)) {
      char note[64];
      (void)snprintf(note, sizeof note, "t %.3g of %.3g s", *engine->t, plan->duration);
      progress_draw(&bar, (double)s->steps / (double)s->planned, note);
    }
  }
  progress_end(&bar);
  return status;
}

sap_status run_all_steps(const run_plan* plan, const run_engine* engine, run_statistics* s,
                         int* code, sap_error* error) {
  const sap_status status = make_steps(plan, engine, s, error);
  if (status != SAP_STATUS_OK && s->failures == 0) {
    return status;
  }
  *code = CLI_UNCONVERGED;
  if (status != SAP_STATUS_OK) {
    cli_message("step %lld at t = %.9g s: %s", (long long)s->steps + 1, *engine->t, error->message);
  } else if (interrupt_came()) {
    cli_message("interrupted at t = %.9g s", *engine->t);
  } else if (s->unconverged > 0) {
    cli_message("%lld of %lld steps did not converge", (long long)s->unconverged,
                (long long)s->steps);
  } else {
    *code = CLI_OK;
  }
  return write_checkpoint(plan, engine, s, true, error);
}
