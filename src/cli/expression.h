// SPDX-License-Identifier: BSD-3-Clause
// Formulas of the time t, as an exact solution is given on the command line: numbers, t, pi, + - *
// / ^, parentheses, sin cos tan exp log sqrt abs sinh cosh tanh asin, step (1 from 0 on, 0
// before), mod(x, y), cd(u, k) (Jacobi's).
#pragma once

// The value at t. *error: NULL, or what is wrong with the text (the value is then NaN).
double expression_value(const char* text, double t, const char** error);
