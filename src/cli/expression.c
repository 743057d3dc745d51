// SPDX-License-Identifier: BSD-3-Clause
// Recursive descent over
//   sum      = product { (+|-) product }
//   product  = signed { (*|/) signed }
//   signed   = (+|-) signed | power
//   power    = atom [ ^ signed ]
//   atom     = number | t | pi | function ( sum [ , sum ] ) | ( sum )
#include "cli/expression.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

enum { DEPTH_MAX = 100 };  // of parentheses and signs

typedef struct parser {
  const char* next;
  double t;
  const char* error;
  int depth;
} parser;

static double sum(parser* p);

static double fail(parser* p, const char* error) {
  if (p->error == NULL) {
    p->error = error;
  }
  return (double)NAN;
}

static void skip(parser* p) {
  while (*p->next == ' ') {
    ++p->next;
  }
}

static bool take(parser* p, char c) {
  skip(p);
  if (p->error != NULL || *p->next != c) {
    return false;
  }
  ++p->next;
  return true;
}

static double step(double x) {
  return x < 0.0 ? 0.0 : 1.0;
}

static double modulo(double x, double y) {
  return x - y * floor(x / y);
}

// Jacobi's cd(u, k) = cn/dn = sin(phi) of u + K(k): descending Gauss transformation (arithmetic-
// geometric mean; Abramowitz, Stegun 16.4, 17.6). A pendulum let go at a: theta = 2 asin(k cd(w t,
// k)), k = sin(a/2).
static double jacobi_cd(double u, double k) {
  enum { STEPS = 12 };  // a double needs six
  double a[STEPS + 1], c[STEPS + 1];
  double b = sqrt(1.0 - k * k);
  a[0] = 1.0;
  c[0] = k;
  for (int n = 0; n < STEPS; ++n) {
    a[n + 1] = 0.5 * (a[n] + b);
    c[n + 1] = 0.5 * (a[n] - b);
    b = sqrt(a[n] * b);
  }
  const double half_pi = acos(0.0);
  double phi = ldexp(a[STEPS] * u, STEPS) + ldexp(half_pi, STEPS);  // u + K, K = pi/(2 a)
  for (int n = STEPS; n > 0; --n) {
    phi = 0.5 * (phi + asin(c[n] / a[n] * sin(phi)));
  }
  return sin(phi);
}

typedef struct function {
  const char* name;
  double (*one)(double);          // of one argument,
  double (*two)(double, double);  // or of two
} function;

static const function functions[] = {
    {"sin", .one = sin},    {"cos", .one = cos},     {"tan", .one = tan},   {"exp", .one = exp},
    {"log", .one = log},    {"sqrt", .one = sqrt},   {"abs", .one = fabs},  {"sinh", .one = sinh},
    {"cosh", .one = cosh},  {"tanh", .one = tanh},   {"asin", .one = asin}, {"step", .one = step},
    {"mod", .two = modulo}, {"cd", .two = jacobi_cd}};

// After the opening parenthesis.
static double group(parser* p) {
  const double value = sum(p);
  return take(p, ')') ? value : fail(p, "a closing parenthesis is missing");
}

static double call(parser* p, const function* f) {
  SAP_RETURN_IF(!take(p, '('), fail(p, "a function needs its argument in parentheses"));
  SAP_RETURN_IF(f->one != NULL, f->one(group(p)));
  const double first = sum(p);
  SAP_RETURN_IF(!take(p, ','), fail(p, "a second argument is missing"));
  return f->two(first, group(p));
}

static double named(parser* p) {
  const char* start = p->next;
  while (isalpha((unsigned char)*p->next)) {
    ++p->next;
  }
  const size_t length = (size_t)(p->next - start);
  if (length == 1 && *start == 't') {
    return p->t;
  }
  if (length == 2 && strncmp(start, "pi", 2) == 0) {
    return acos(-1.0);
  }
  SAP_EACH(const function, f, functions, sizeof functions / sizeof *functions) {
    if (strlen(f->name) == length && strncmp(start, f->name, length) == 0) {
      return call(p, f);
    }
  }
  return fail(p,
              "unknown name; available: t, pi, sin, cos, tan, exp, log, sqrt, abs, sinh, "
              "cosh, tanh, asin, step, mod, cd");
}

static double atom(parser* p) {
  if (take(p, '(')) {
    return group(p);
  }
  if (isalpha((unsigned char)*p->next)) {
    return named(p);
  }
  SAP_RETURN_IF(!isdigit((unsigned char)*p->next) && *p->next != '.',
                fail(p, "a number, t, a function or a parenthesis is missing"));
  char* end;
  const double value = strtod(p->next, &end);
  SAP_RETURN_IF(end == p->next, fail(p, "malformed number"));
  p->next = end;
  return value;
}

static double signed_power(parser* p) {
  SAP_RETURN_IF(p->error != NULL || ++p->depth > DEPTH_MAX, fail(p, "nested too deeply"));
  double value;
  if (take(p, '-')) {
    value = -signed_power(p);
  } else if (take(p, '+')) {
    value = signed_power(p);
  } else {
    value = atom(p);
    if (take(p, '^')) {
      value = pow(value, signed_power(p));
    }
  }
  --p->depth;
  return value;
}

static double product(parser* p) {
  double value = signed_power(p);
  for (;;) {
    if (take(p, '*')) {
      value *= signed_power(p);
    } else if (take(p, '/')) {
      value /= signed_power(p);
    } else {
      return value;
    }
  }
}

static double sum(parser* p) {
  double value = product(p);
  for (;;) {
    if (take(p, '+')) {
      value += product(p);
    } else if (take(p, '-')) {
      value -= product(p);
    } else {
      return value;
    }
  }
}

double expression_value(const char* text, double t, const char** error) {
  parser p = {.next = text, .t = t};
  const double value = sum(&p);
  skip(&p);
  if (p.error == NULL && *p.next != '\0') {
    (void)fail(&p, "trailing characters after the expression");
  }
  *error = p.error;
  return p.error == NULL ? value : (double)NAN;
}
