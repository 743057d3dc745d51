// SPDX-License-Identifier: BSD-3-Clause
// Statistics of a run, and its loop over steps.
#include "cli/commands/run/run_loop.h"

#include <math.h>
#include <string.h>
#include <sys/resource.h>

#include "cli/progress.h"
#include "core/file.h"

int32_t run_newton_iterations(const sap_step_report* report) {
  return report->solver != NULL ? report->solver->iterations : 0;
}

bool run_unconverged(const sap_step_report* report) {
  return report->solver != NULL && report->solver->outcome != SAP_OUTCOME_CONVERGED &&
         report->solver->outcome != SAP_OUTCOME_ROUNDOFF;
}

double run_penetration(const sap_contact* contacts, int32_t count) {
  double largest = 0.0;
  for (int32_t i = 0; i < count; ++i) {
    largest = fmax(largest, -contacts[i].phi);
  }
  return largest;
}

static run_slip mean_slip(const sap_contact* contacts, int32_t count) {
  static const int32_t condim[RUN_SLIPS] = {3, 4, 6};
  run_slip slip;
  for (int k = 0; k < RUN_SLIPS; ++k) {
    double sum = 0.0;
    int32_t resisting = 0;
    for (int32_t i = 0; i < count; ++i) {
      const double* vc = contacts[i].vc;
      if (contacts[i].condim >= condim[k]) {
        sum += k == RUN_SLIP   ? hypot(vc[0], vc[1])
               : k == RUN_SPIN ? fabs(vc[3])
                               : hypot(vc[4], vc[5]);
        ++resisting;
      }
    }
    slip.mean[k] = resisting > 0 ? sum / resisting : (double)NAN;
  }
  return slip;
}

static void add_late_slip(run_statistics* s) {
  for (int k = 0; k < RUN_SLIPS; ++k) {
    if (!isnan(s->slip_end.mean[k])) {
      s->slip_late.mean[k] += s->slip_end.mean[k];
      ++s->slip_steps[k];
    }
  }
}

// Contacts softer than asked are worth a message where that makes them deeper by this [m]; a depth
// beyond R gamma_n (dt + tau_d) is on its way out, not borne. Less than AS_RIGID of the stiffness:
// the scene meant rigid.
static const double SOFT_DEPTH = 1e-4, AS_RIGID = 1e-4;

static void find_softened(run_statistics* s, const sap_contact* contacts, int32_t count) {
  double deepest = 0.0;
  SAP_EACH(const sap_contact, c, contacts, count) {
    const bool soft = c->gamma[2] > 0.0 && c->realised > AS_RIGID && c->realised < 0.5;
    const double rest = c->gamma[2] * c->R[2] * (s->dt + c->material.relaxation_time);
    const double deeper = soft ? fmin(rest, -c->phi) * (1.0 - c->realised) : 0.0;
    deepest = fmax(deepest, deeper);
    if (deeper > s->softened_depth) {
      s->softened_depth = deeper;
      s->softest = *c;
    }
  }
  s->softened_steps += deepest > SOFT_DEPTH ? 1 : 0;
}

void run_statistics_add(run_statistics* s, const sap_step_report* report,
                        const sap_contact* contacts, int32_t count) {
  const int32_t iterations = run_newton_iterations(report);
  CLI_GROW(&s->histogram, &s->histogram_count, (int64_t)iterations + 1);
  ++s->histogram[iterations];
  ++s->steps;
  s->contacts += count;
  s->contacts_max = count > s->contacts_max ? count : s->contacts_max;
  s->penetration_max = fmax(s->penetration_max, run_penetration(contacts, count));
  s->slip_end = mean_slip(contacts, count);
  if (2 * s->steps > s->planned) {
    ++s->steps_late;
    s->iterations_late += iterations;
    add_late_slip(s);
    find_softened(s, contacts, count);
  }
  s->seconds_stepping += report->time_total;
  s->seconds_free_motion += report->time_free_motion;
  s->seconds_constraints += report->time_constraints;
  s->seconds_solver += report->time_solver;
  s->free_motion_iterations += report->free_motion_iterations;
  s->in_parts += report->free_motion_substeps > 0 ? 1 : 0;
  s->relinearizations += report->relinearizations;
  s->withdrawn += report->relinearizations_withdrawn ? 1 : 0;
  s->balance_error = fmax(s->balance_error, report->balance_error);
  if (report->solver != NULL) {
    s->factorizations += report->solver->factorizations;
    s->evaluations += report->solver->evaluations;
    s->symbolic_analyses += report->solver->symbolic_analyses;
  }
  s->unconverged += run_unconverged(report) ? 1 : 0;
}

int64_t run_peak_memory(void) {
  struct rusage usage;
  return getrusage(RUSAGE_SELF, &usage) == 0 ? 1024 * (int64_t)usage.ru_maxrss : 0;
}

void run_statistics_before(run_statistics* s, const sap_state* state) {
  CLI_GROW(&s->v0, &s->v0_count, state->nv);
  memcpy(s->v0, state->v, (size_t)state->nv * sizeof *s->v0);
}

// v^theta' M dv - ((v + v0)/2)' M dv = (theta - 1/2) dv' M dv
sap_status run_statistics_after(run_statistics* s, sap_multibody* multibody, const sap_state* state,
                                const sap_step_report* report, sap_error* error) {
  bool pushed = s->late <= 0.0;
  for (int32_t i = 0; i < report->rows && !pushed; ++i) {
    pushed = report->solution->gamma[i] != 0.0;
  }
  if (pushed) {
    return SAP_STATUS_OK;
  }
  sap_state change = *state;
  change.v = s->v0;
  for (int32_t i = 0; i < state->nv; ++i) {
    s->v0[i] = state->v[i] - s->v0[i];
  }
  sap_diagnostics diagnostics;
  SAP_TRY(sap_multibody_diagnose(multibody, &change, &diagnostics, error));
  s->scheme_loss += 2.0 * s->late * diagnostics.kinetic;
  return SAP_STATUS_OK;
}

// Returns the name of the body that a velocity moves first.
static const char* find_mover(const sap_model* model, int32_t velocity) {
  int32_t mover = 0, latest = -1, body, v_start;
  for (int32_t j = 0; j < sap_model_get_sizes(model).joints; ++j) {
    (void)sap_model_joint_address(model, j, NULL, &body, NULL, &v_start, NULL);
    if (v_start <= velocity && v_start > latest) {
      latest = v_start;
      mover = body;
    }
  }
  const char* name = sap_model_get_name(model, SAP_ELEMENT_BODY, mover);
  return name[0] != '\0' ? name : "unnamed body";
}

void run_statistics_count(run_statistics* s, const sap_model* model,
                          const sap_adaptive_report* report) {
  if (s->accepted == 0 || report->dt < s->dt_least) {
    s->dt_least = report->dt;
    s->shortest = report->velocity;
    s->shortest_of = find_mover(model, report->velocity);
  }
  s->dt_largest = fmax(s->dt_largest, report->dt);
  s->accepted += 1;
  s->rejected += report->rejected;
  s->solves += report->solves;
  s->reasons[report->reason] += 1;
}

typedef struct iteration_summary {
  double mean, percentile95, maximum;
} iteration_summary;

// The 95th percentile is the smallest count that at least 95 % of the steps did not exceed.
static iteration_summary summarize_iterations(const run_statistics* s) {
  iteration_summary summary = {(double)NAN, (double)NAN, (double)NAN};
  int64_t seen = 0;
  double sum = 0.0;
  for (int64_t i = 0; i < s->histogram_count; ++i) {
    if (s->histogram[i] == 0) {
      continue;
    }
    if (!(20 * seen >= 19 * s->steps)) {
      summary.percentile95 = (double)i;
    }
    seen += s->histogram[i];
    sum += (double)i * (double)s->histogram[i];
    summary.maximum = (double)i;
  }
  if (s->steps > 0) {
    summary.mean = sum / (double)s->steps;
  }
  return summary;
}

// One line of the table and one member of the JSON object.
typedef struct row {
  const char* key;
  const char* label;
  double value;
  const char* unit;
} row;

static void print_rows(const row* rows, size_t count, cli_format format, FILE* out) {
  for (size_t i = 0; i < count; ++i) {
    if (format == CLI_FORMAT_JSON) {
      (void)fprintf(out, ",\n  \"%s\": ", rows[i].key);
      cli_print_json_real(out, rows[i].value);
    } else if (isfinite(rows[i].value)) {
      (void)fprintf(out, "%-32s%.6g%s%s\n", rows[i].label, rows[i].value,
                    rows[i].unit[0] != '\0' ? " " : "", rows[i].unit);
    } else {
      (void)fprintf(out, "%-32s-\n", rows[i].label);
    }
  }
}

// Returns a / b; NaN if b is zero.
static double ratio(double a, double b) {
  return b > 0.0 ? a / b : (double)NAN;
}

static double late_slip(const run_statistics* s, int kind) {
  return ratio(s->slip_late.mean[kind], (double)s->slip_steps[kind]);
}

static void print_phases(const run_statistics* s, cli_format format, FILE* out) {
  const double n = (double)s->steps;
  const double rest =
      s->seconds_stepping - s->seconds_free_motion - s->seconds_constraints - s->seconds_solver;
  const double memory = (double)(s->memory_end - s->memory_begin);
  const double still = (double)(s->memory_still - s->memory_begin);
  const double growth = (double)(s->memory_end - s->memory_warm);
  const row rows[] = {
      {"free_motion_us", "free motion, per step", ratio(1e6 * s->seconds_free_motion, n), "us"},
      {"constraints_us", "constraints, per step", ratio(1e6 * s->seconds_constraints, n), "us"},
      {"solver_us", "solver, per step", ratio(1e6 * s->seconds_solver, n), "us"},
      {"rest_us", "rest, per step", ratio(1e6 * rest, n), "us"},
      {"free_motion_iterations_mean", "free-motion iterations, mean",
       ratio((double)s->free_motion_iterations, n), ""},
      {"relinearizations_mean", "relinearizations, mean", ratio((double)s->relinearizations, n),
       ""},
      {"relinearizations_withdrawn", "steps whose relinearization diverged", (double)s->withdrawn,
       ""},
      {"balance_error_max", "momentum balance, worst miss", s->balance_error, ""},
      {"spin_end_radps", "spin, mean at the end", s->slip_end.mean[RUN_SPIN], "rad/s"},
      {"spin_second_half_radps", "spin, mean of second half", late_slip(s, RUN_SPIN), "rad/s"},
      {"rolling_end_radps", "rolling, mean at the end", s->slip_end.mean[RUN_ROLLING], "rad/s"},
      {"rolling_second_half_radps", "rolling, mean of second half", late_slip(s, RUN_ROLLING),
       "rad/s"},
      {"factorizations_mean", "factorizations, mean", ratio((double)s->factorizations, n), ""},
      {"evaluations_mean", "line-search evaluations, mean", ratio((double)s->evaluations, n), ""},
      {"symbolic_analyses", "symbolic analyses", (double)s->symbolic_analyses, ""},
      {"memory_bytes", "memory, scene and steps", memory, "bytes"},
      {"memory_per_body_bytes", "memory before steps, per body", ratio(still, (double)s->bodies),
       "bytes"},
      {"memory_per_contact_bytes", "memory of steps, per contact",
       ratio(memory - still, (double)s->contacts_max), "bytes"},
      {"memory_growth_bytes", "memory, later growth", growth, "bytes"},
  };
  print_rows(rows, sizeof rows / sizeof *rows, format, out);
}

void run_statistics_print(const run_statistics* s, const char* scene, cli_format format,
                          bool phases, FILE* out) {
  const iteration_summary iterations = summarize_iterations(s);
  const double n = (double)s->steps;
  char shortest[64];
  (void)snprintf(shortest, sizeof shortest, "  the shortest for %.30s, velocity ",
                 s->shortest_of != NULL ? s->shortest_of : "");
  const row rows[] = {
      {"dt_s", "time step", s->dt, "s"},
      {"simulated_time_s", "simulated time", s->time, "s"},
      {"steps", "steps", n, ""},
      {"steps_per_second", "speed", ratio(n, s->seconds_stepping), "steps/s"},
      {"step_time_us", "time per step", ratio(1e6 * s->seconds_stepping, n), "us"},
      {"contacts_mean", "contacts, mean", ratio((double)s->contacts, n), ""},
      {"contacts_max", "contacts, max", (double)s->contacts_max, ""},
      {"newton_iterations_mean", "Newton iterations, mean", iterations.mean, ""},
      {"newton_iterations_p95", "Newton iterations, p95", iterations.percentile95, ""},
      {"newton_iterations_max", "Newton iterations, max", iterations.maximum, ""},
      {"newton_iterations_second_half", "Newton iterations, second half",
       ratio((double)s->iterations_late, (double)s->steps_late), ""},
      {"penetration_max_m", "penetration, largest", s->penetration_max, "m"},
      {"penetration_end_m", "penetration, at the end", s->penetration_end, "m"},
      {"slip_end_mps", "slip, mean at the end", s->slip_end.mean[RUN_SLIP], "m/s"},
      {"slip_second_half_mps", "slip, mean of second half", late_slip(s, RUN_SLIP), "m/s"},
      {"kinetic_start_J", "kinetic energy, start", s->start.kinetic, "J"},
      {"kinetic_end_J", "kinetic energy, end", s->end.kinetic, "J"},
      {"potential_start_J", "potential energy, start", s->start.potential, "J"},
      {"potential_end_J", "potential energy, end", s->end.potential, "J"},
      {"unconverged", "steps not converged", (double)s->unconverged, ""},
      {"in_parts", "steps made in parts", (double)s->in_parts, ""},
      {"failures", "failed steps", (double)s->failures, ""},
      {"accepted", "steps chosen by their error", (double)s->accepted, ""},
      {"rejected", "attempts rejected", (double)s->rejected, ""},
      {"solves", "solves, attempts included", (double)s->solves, ""},
      {"dt_least_s", "shortest of these steps", s->dt_least, "s"},
      {"dt_largest_s", "longest of these steps", s->dt_largest, "s"},
      {"short_smooth", "  short for smooth motion", (double)s->reasons[SAP_ADAPTIVE_SMOOTH], ""},
      {"short_touch", "  for contacts closed, opened", (double)s->reasons[SAP_ADAPTIVE_KINK], ""},
      {"short_bound", "  for limits reached, left", (double)s->reasons[SAP_ADAPTIVE_BOUND], ""},
      {"short_stop", "  for what stops sliding", (double)s->reasons[SAP_ADAPTIVE_STOP], ""},
      {"short_servo", "  for servos, dead bands", (double)s->reasons[SAP_ADAPTIVE_SERVO], ""},
      {"short_failed", "  for attempts that failed", (double)s->reasons[SAP_ADAPTIVE_FAILED], ""},
      {"short_limit", "  by limits, or the end", (double)s->reasons[SAP_ADAPTIVE_LIMIT], ""},
      {"shortest_velocity", shortest, s->shortest, ""},
  };
  const size_t count = sizeof rows / sizeof *rows - (s->accepted > 0 ? 0 : 13);
  if (format == CLI_FORMAT_JSON) {
    (void)fputs("{\n  \"scene\": ", out);
    sap_json_put(out, scene);
  } else {
    (void)fprintf(out, "%-32s%s\n", "scene", scene);
  }
  print_rows(rows, count, format, out);
  if (phases) {
    print_phases(s, format, out);
  }
  if (format == CLI_FORMAT_JSON) {
    (void)fputs("\n}\n", out);
  }
}

// In more than a few steps, the scheme took this part of the energy, and much of what is gone.
enum { FEW_STEPS = 100 };
static const double SCHEME_TOOK = 0.1, MUCH_OF = 0.4;

void run_statistics_warn(const run_statistics* s, const sap_model* model) {
  const double fall = s->start.potential - s->end.potential;
  const double lost = s->start.kinetic - s->end.kinetic + fall;
  const double scale = fmax(s->start.kinetic, s->end.kinetic) + fabs(fall);
  if (s->steps > FEW_STEPS && lost > 0.0 && s->scheme_loss > SCHEME_TOOK * scale &&
      s->scheme_loss > MUCH_OF * lost) {
    cli_message(
        "%.3g J of the %.3g J that the motion lost went to the scheme, not to physics: try "
        "--scheme midpoint or a smaller --dt",
        fmin(s->scheme_loss, lost), lost);
  }
  if (2 * s->softened_steps > s->steps_late) {
    const sap_contact* c = &s->softest;
    const char* a = sap_model_get_name(model, SAP_ELEMENT_SHAPE, c->shape_A);
    const char* b = sap_model_get_name(model, SAP_ELEMENT_SHAPE, c->shape_B);
    cli_message(
        "contacts are softer than asked: '%.60s' and '%.60s' have %.2g of their stiffness "
        "and are %.2g m deeper; a smaller --dt or --beta keeps it",
        a, b, c->realised, s->softened_depth);
  }
}

// --- the loop ---

run_plan run_plan_default(void) {
  return (run_plan){
      .duration = 5.0, .every = 1, .dump_every = 1, .recorder = sap_recorder_options_default()};
}

int run_plan_check(const run_plan* plan, const cli_command* command, const cli_parser* parser) {
  SAP_RETURN_IF(cli_given(parser, "every") && plan->output == NULL && plan->record == NULL,
                cli_usage_error(command, "--every needs --output or --record"));
  SAP_RETURN_IF(cli_given(parser, "compression") && plan->record == NULL,
                cli_usage_error(command, "--compression needs --record"));
  SAP_RETURN_IF(cli_given(parser, "dump-every") && plan->dump == NULL,
                cli_usage_error(command, "--dump-every needs --dump-problems"));
  SAP_RETURN_IF(plan->checkpoint_every > 0 && plan->checkpoint == NULL,
                cli_usage_error(command, "--checkpoint-every needs --checkpoint"));
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
    SAP_THEN(status, write_checkpoint(plan, engine, s, false, error));
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
  if (s->in_parts > 0) {
    cli_message(
        "%lld of %lld steps were made in parts: links turn by radians in a step, use a "
        "smaller --dt",
        (long long)s->in_parts, (long long)s->steps);
  }
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
