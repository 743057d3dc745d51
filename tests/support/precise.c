// SPDX-License-Identifier: BSD-3-Clause
// File: precise 1, then nv ntrees nrows nblocks, tree sizes, A (nv nv), v* (nv); for each block
//   cone nrows mu | interval nrows, and for each row R v_hat lower upper, J (nv).
// Doubles are promoted to __float128 all over, which is what this file is for.
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#include "support/precise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "support/precise_number.h"

// Velocities below this part of the fastest rest.
static const double FLOOR = 1e-9;
enum { BISECTIONS = 160 };

bool precise_create(precise_problem* p, int nv, int ntrees, int nrows, int nblocks) {
  const size_t n = (size_t)nv, m = (size_t)nrows;
  *p = (precise_problem){.nv = nv, .ntrees = ntrees, .nrows = nrows, .nblocks = nblocks};
  p->tree_start = calloc((size_t)ntrees + 1, sizeof *p->tree_start);
  p->blocks = calloc((size_t)nblocks + 1, sizeof *p->blocks);
  p->A = calloc(n * n + n + m * n + 4 * m + 1, sizeof *p->A);
  if (p->tree_start == NULL || p->blocks == NULL || p->A == NULL) {
    precise_clear(p);
    return false;
  }
  p->v_star = p->A + n * n;
  p->J = p->v_star + n;
  p->R = p->J + m * n;
  p->v_hat = p->R + m;
  p->lower = p->v_hat + m;
  p->upper = p->lower + m;
  return true;
}

void precise_clear(precise_problem* p) {
  free(p->tree_start);
  free(p->blocks);
  free(p->A);
  *p = (precise_problem){0};
}

static bool read_numbers(FILE* file, int count, double* out) {
  for (int i = 0; i < count; ++i) {
    if (fscanf(file, "%lf", &out[i]) != 1) {
      return false;
    }
  }
  return true;
}

static bool read_block(FILE* file, precise_problem* p, precise_block* block) {
  char kind[16];
  if (fscanf(file, "%15s %d", kind, &block->nrows) != 2 || block->nrows < 1 ||
      block->first_row + block->nrows > p->nrows) {
    return false;
  }
  block->kind = strcmp(kind, "cone") == 0 ? PRECISE_CONE : PRECISE_INTERVAL;
  if (block->kind == PRECISE_CONE && !read_numbers(file, 1, &block->mu)) {
    return false;
  }
  for (int r = block->first_row; r < block->first_row + block->nrows; ++r) {
    if (!read_numbers(file, 1, &p->R[r]) || !read_numbers(file, 1, &p->v_hat[r]) ||
        !read_numbers(file, 1, &p->lower[r]) || !read_numbers(file, 1, &p->upper[r]) ||
        !read_numbers(file, p->nv, p->J + (size_t)r * (size_t)p->nv)) {
      return false;
    }
  }
  return true;
}

bool precise_read(FILE* file, precise_problem* p) {
  int version, nv, ntrees, nrows, nblocks;
  if (fscanf(file, " precise %d %d %d %d %d", &version, &nv, &ntrees, &nrows, &nblocks) != 5 ||
      version != 1 || nv < 0 || ntrees < 0 || nrows < 0 || nblocks < 0 ||
      !precise_create(p, nv, ntrees, nrows, nblocks)) {
    return false;
  }
  bool good = true;
  for (int t = 0; good && t < ntrees; ++t) {
    int size = 0;
    good = fscanf(file, "%d", &size) == 1 && size > 0;
    p->tree_start[t + 1] = p->tree_start[t] + size;
  }
  good = good && p->tree_start[ntrees] == nv && read_numbers(file, nv * nv, p->A) &&
         read_numbers(file, nv, p->v_star);
  for (int b = 0, row = 0; good && b < nblocks; ++b) {
    p->blocks[b].first_row = row;
    good = read_block(file, p, &p->blocks[b]);
    row += p->blocks[b].nrows;
  }
  if (!good) {
    precise_clear(p);
  }
  return good;
}

static void write_numbers(FILE* file, int count, const double* x) {
  for (int i = 0; i < count; ++i) {
    (void)fprintf(file, "%s%.17g", i > 0 ? " " : "", x[i]);
  }
  (void)fprintf(file, "\n");
}

void precise_write(FILE* file, const precise_problem* p) {
  const size_t n = (size_t)p->nv;
  (void)fprintf(file, "precise 1\n%d %d %d %d\n", p->nv, p->ntrees, p->nrows, p->nblocks);
  for (int t = 0; t < p->ntrees; ++t) {
    (void)fprintf(file, "%d\n", p->tree_start[t + 1] - p->tree_start[t]);
  }
  for (size_t i = 0; i < n; ++i) {
    write_numbers(file, p->nv, p->A + i * n);
  }
  write_numbers(file, p->nv, p->v_star);
  for (int b = 0; b < p->nblocks; ++b) {
    const precise_block* block = &p->blocks[b];
    if (block->kind == PRECISE_CONE) {
      (void)fprintf(file, "cone %d %.17g\n", block->nrows, block->mu);
    } else {
      (void)fprintf(file, "interval %d\n", block->nrows);
    }
    for (int r = block->first_row; r < block->first_row + block->nrows; ++r) {
      const double law[4] = {p->R[r], p->v_hat[r], p->lower[r], p->upper[r]};
      write_numbers(file, 4, law);
      write_numbers(file, p->nv, p->J + (size_t)r * n);
    }
  }
}

// Replaces the lower triangle of a (n x n, ld rows apart) by its Cholesky factor.
static bool cholesky(real* a, int n) {
  for (int j = 0; j < n; ++j) {
    for (int i = j; i < n; ++i) {
      real sum = a[i * n + j];
      for (int k = 0; k < j; ++k) {
        sum -= a[i * n + k] * a[j * n + k];
      }
      if (i == j && !(sum > 0)) {
        return false;
      }
      a[i * n + j] = i == j ? root(sum) : sum / a[j * n + j];
    }
  }
  return true;
}

static void forward(const real* L, int n, real* x) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < i; ++k) {
      x[i] -= L[i * n + k] * x[k];
    }
    x[i] /= L[i * n + i];
  }
}

// rho_r = 1/(W_rr + R_r) with W by the trees' blocks of A; 1 where nothing moves.
static bool find_steps(const precise_problem* p, real* rho) {
  const size_t nv = (size_t)p->nv;
  for (int r = 0; r < p->nrows; ++r) {
    rho[r] = p->R[r];
  }
  for (int t = 0; t < p->ntrees; ++t) {
    const int first = p->tree_start[t], n = p->tree_start[t + 1] - first;
    real* L = calloc((size_t)(n * n + n), sizeof *L);
    bool good = L != NULL;
    for (int i = 0; good && i < n; ++i) {
      for (int j = 0; j <= i; ++j) {
        L[i * n + j] = p->A[(size_t)(first + i) * nv + (size_t)(first + j)];
      }
    }
    good = good && cholesky(L, n);
    for (int r = 0; good && r < p->nrows; ++r) {
      real* x = L + n * n;
      for (int i = 0; i < n; ++i) {
        x[i] = p->J[(size_t)r * nv + (size_t)(first + i)];
      }
      forward(L, n, x);
      for (int i = 0; i < n; ++i) {
        rho[r] += x[i] * x[i];
      }
    }
    free(L);
    if (!good) {
      return false;
    }
  }
  for (int r = 0; r < p->nrows; ++r) {
    rho[r] = rho[r] > 0 ? 1 / rho[r] : 1;
  }
  return true;
}

// Rows of a cone: x = gamma - rho g, to be moved to y = gamma'.
typedef struct cone_rows {
  int n;
  double mu;
  real x[ROWS_MOST], rho[ROWS_MOST], y[ROWS_MOST];
} cone_rows;

// |x_t/(1 + tau rho_t)|
static real shrunk(const cone_rows* c, real tau) {
  real sum = 0;
  for (int i = 0; i < c->n; ++i) {
    const real y = i == NORMAL ? 0 : c->x[i] / (1 + tau * c->rho[i]);
    sum += y * y;
  }
  return root(sum);
}

static void shrink(cone_rows* c, real tau) {
  for (int i = 0; i < c->n; ++i) {
    c->y[i] = i == NORMAL ? c->y[i] : c->x[i] / (1 + tau * c->rho[i]);
  }
}

// Finds the tau > 0 at which a falling function changes sign, by its power of two and then by
// halves.
static real falling_root(real (*f)(const cone_rows*, real, real), const cone_rows* c, real with) {
  real low = 1, high = 1;
  for (int i = 0; i < 4000 && f(c, low, with) < 0; ++i) {
    high = low;
    low /= 2;
  }
  for (int i = 0; i < 4000 && f(c, high, with) > 0; ++i) {
    low = high;
    high *= 2;
  }
  for (int i = 0; i < BISECTIONS; ++i) {
    const real middle = (low + high) / 2;
    *(f(c, middle, with) > 0 ? &low : &high) = middle;
  }
  return low;
}

static real disk_excess(const cone_rows* c, real tau, real radius) {
  return shrunk(c, tau) - radius;
}

// Nearest point of the disk in the norm of 1/rho: y_t = x_t/(1 + tau rho_t), |y_t| = radius.
static void to_disk(cone_rows* c, real radius) {
  if (!(radius > 0)) {
    for (int i = 0; i < c->n; ++i) {
      c->y[i] = i == NORMAL ? c->y[i] : 0;
    }
    return;
  }
  shrink(c, shrunk(c, 0) > radius ? falling_root(disk_excess, c, radius) : 0);
}

// |y_t| (1 - mu^2 rho_n tau) - mu x_n with tau of the cone's surface; `side` 1: x_n > 0,
// tau = s/(1 + s) of 1/(mu^2 rho_n); -1: x_n <= 0, tau = (1 + s) of it.
static real surface_excess(const cone_rows* c, real s, real side) {
  const real most = 1 / ((real)c->mu * c->mu * c->rho[NORMAL]);
  return side > 0 ? shrunk(c, most * s / (1 + s)) / (1 + s) - c->mu * c->x[NORMAL]
                  : -shrunk(c, most * (1 + s)) * s - c->mu * c->x[NORMAL];
}

// Nearest point of the cone |y_t| <= mu y_n in the norm of 1/rho.
static void to_cone(cone_rows* c) {
  real polar = 0;
  const real size = shrunk(c, 0), xn = c->x[NORMAL];
  for (int i = 0; i < c->n; ++i) {
    const real y = i == NORMAL ? 0 : c->x[i] / c->rho[i];
    polar += y * y;
  }
  for (int i = 0; i < c->n; ++i) {
    c->y[i] = 0;
  }
  if (c->mu * root(polar) <= -xn / c->rho[NORMAL]) {
    return;
  }
  if (!(c->mu > 0) || size <= c->mu * xn) {
    for (int i = 0; i < c->n; ++i) {
      c->y[i] = i == NORMAL ? larger(xn, 0) : c->mu > 0 ? c->x[i] : 0;
    }
    return;
  }
  const real most = 1 / ((real)c->mu * c->mu * c->rho[NORMAL]), side = xn > 0 ? 1 : -1;
  const real s = falling_root(surface_excess, c, side);
  const real tau = side > 0 ? most * s / (1 + s) : most * (1 + s);
  shrink(c, tau);
  c->y[NORMAL] = shrunk(c, tau) / c->mu;
}

// Nearest point of |y1| + |y2| <= radius in the norm of 1/rho.
static void to_diamond(cone_rows* c, real radius) {
  real a = absolute(c->x[0]), b = absolute(c->x[1]);
  if (a + b > radius) {  // both fall by tau rho, to no less than 0
    real tau = (a + b - radius) / (c->rho[0] + c->rho[1]);
    if (a - tau * c->rho[0] < 0) {
      a = 0;
      b = radius;
    } else if (b - tau * c->rho[1] < 0) {
      a = radius;
      b = 0;
    } else {
      a -= tau * c->rho[0];
      b -= tau * c->rho[1];
    }
  }
  c->y[0] = c->x[0] < 0 ? -a : a;
  c->y[1] = c->x[1] < 0 ? -b : b;
}

// Stick within the disk, or a point of its edge in the direction of gamma: the nearer one.
static void to_some_slip(cone_rows* c, const real* gamma, real radius) {
  real stick = 0, slip = 0, size = 0;
  for (int i = 0; i < 2; ++i) {
    size += gamma[i] * gamma[i];
    stick += (c->x[i] - gamma[i]) * (c->x[i] - gamma[i]) / c->rho[i];
  }
  size = root(size);
  const real grow = size > 0 ? radius / size : 0;
  for (int i = 0; i < 2; ++i) {
    slip += (grow - 1) * (grow - 1) * gamma[i] * gamma[i] / c->rho[i];
  }
  const bool sticks = shrunk(c, 0) <= radius && (stick <= slip || !(size > 0));
  for (int i = 0; i < 2; ++i) {
    c->y[i] = sticks ? c->x[i] : size > 0 ? grow * gamma[i] : 0;
  }
  if (!sticks && !(size > 0)) {
    to_disk(c, radius);
  }
}

static void move_cone(cone_rows* c, precise_law law, const real* gamma) {
  if (law == PRECISE_CONVEX) {
    to_cone(c);
    return;
  }
  c->y[NORMAL] = larger(c->x[NORMAL], 0);
  const real radius = c->mu * c->y[NORMAL];
  if (law == PRECISE_COULOMB) {
    to_disk(c, radius);
  } else if (law == PRECISE_BOX) {
    c->y[0] = clamp(c->x[0], -radius, radius);
    c->y[1] = clamp(c->x[1], -radius, radius);
  } else if (law == PRECISE_DIAMOND) {
    to_diamond(c, radius);
  } else {
    to_some_slip(c, gamma, radius);
  }
}

// rests: part of the relative violation that is of velocities at rest.
static void note(precise_worst* worst, real velocity, real impulse, real relative, real rests,
                 int at) {
  if (!((double)(relative - rests) <= worst->moving)) {
    worst->moving = (double)(relative - rests);
  }
  worst->velocity = (double)larger(worst->velocity, velocity);
  worst->impulse = (double)larger(worst->impulse, impulse);
  if (!((double)relative <= worst->relative)) {
    worst->relative = (double)relative;
    worst->at = at;
  }
}

static real ratio(real x, real scale) {
  return x == 0 ? 0 : scale > 0 ? x / scale : 1;
}

// The fastest velocity, or the one that a row asks for; 1e-9 of it counts as round-off everywhere.
static double fastest(const precise_problem* p, const double* v) {
  double most = 0.0;
  for (int i = 0; i < p->nv; ++i) {
    most = fmax(most, fmax(fabs(v[i]), fabs(p->v_star[i])));
  }
  for (int r = 0; r < p->nrows; ++r) {
    double arm = 0.0;
    for (int i = 0; i < p->nv; ++i) {
      arm = fmax(arm, fabs(p->J[(size_t)r * (size_t)p->nv + (size_t)i]));
    }
    most = arm > 0.0 ? fmax(most, fabs(p->v_hat[r]) / arm) : most;
  }
  return most;
}

static void judge_block(const precise_problem* p, precise_law law, const precise_block* block,
                        const double* v, const double* gamma, const real* rho,
                        precise_worst* worst) {
  const bool cone = block->kind == PRECISE_CONE;
  cone_rows c = {.n = block->nrows, .mu = block->mu};
  real given[ROWS_MOST] = {0};
  double strongest = 0.0;
  const double least = FLOOR * fastest(p, v);
  for (int r = block->first_row; cone && r < block->first_row + block->nrows; ++r) {
    strongest = fmax(strongest, fabs(gamma[r]));
  }
  for (int i = 0; i < block->nrows; ++i) {
    const int r = block->first_row + i;
    const double* J = p->J + (size_t)r * (size_t)p->nv;
    real g = (real)p->R[r] * gamma[r] - p->v_hat[r];
    for (int k = 0; k < p->nv; ++k) {
      g += (real)J[k] * v[k];
    }
    const real x = gamma[r] - rho[r] * g;
    if (cone) {
      c.x[i] = x;
      c.rho[i] = rho[r];
      given[i] = gamma[r];
    } else {
      c.y[0] = clamp(x, p->lower[r], p->upper[r]);
    }
    if (cone && i + 1 < block->nrows) {
      continue;
    }
    if (cone) {
      move_cone(&c, law, given);
    }
    for (int j = cone ? 0 : i; j <= i; ++j) {
      const int row = block->first_row + j;
      const double* Jr = p->J + (size_t)row * (size_t)p->nv;
      const real moved = absolute(c.y[cone ? j : 0] - gamma[row]);
      real scale = absolute(p->v_hat[row]), rests = 0;
      scale += (real)p->R[row] * (cone ? strongest : absolute(gamma[row]));
      for (int k = 0; k < p->nv; ++k) {
        scale += absolute(Jr[k]) * (absolute(v[k]) + absolute(p->v_star[k]) + least);
        rests += absolute(Jr[k]) * least;
      }
      note(worst, moved / rho[row], moved, ratio(moved / rho[row], scale), ratio(rests, scale),
           row);
    }
  }
}

static void judge_tree(const precise_problem* p, int tree, const double* v, const double* gamma,
                       precise_worst* worst) {
  static const double CANCELS = 1e-10;
  const double least = FLOOR * fastest(p, v);
  const size_t nv = (size_t)p->nv;
  real rest_2 = 0, scale_2 = 0, total = 0, velocity = 0, impulse = 0;
  for (int i = p->tree_start[tree]; i < p->tree_start[tree + 1]; ++i) {
    const real mass = p->A[(size_t)i * nv + (size_t)i];
    real rest = 0, sum = 0;
    for (int k = 0; k < p->nv; ++k) {
      rest += (real)p->A[(size_t)i * nv + (size_t)k] * ((real)v[k] - p->v_star[k]);
    }
    for (int r = 0; r < p->nrows; ++r) {
      const real part = (real)p->J[(size_t)r * nv + (size_t)i] * gamma[r];
      rest -= part;
      sum += absolute(part);
    }
    const real speed = absolute(v[i]) + absolute(p->v_star[i]) + CANCELS * sum / mass + least;
    rest_2 += rest * rest / mass;
    scale_2 += mass * speed * speed;
    total += mass;
    velocity = larger(velocity, absolute(rest) / mass);
    impulse = larger(impulse, absolute(rest));
  }
  note(worst, velocity, impulse, ratio(root(rest_2), root(scale_2)),
       ratio(least * root(total), root(scale_2)), tree);
}

bool precise_judge(const precise_problem* p, precise_law law, const double* v, const double* gamma,
                   precise_verdict* out) {
  real* rho = calloc((size_t)p->nrows + 1, sizeof *rho);
  const bool good = rho != NULL && find_steps(p, rho);
  *out = (precise_verdict){.row = {.at = -1}, .tree = {.at = -1}};
  for (int b = 0; good && b < p->nblocks; ++b) {
    judge_block(p, law, &p->blocks[b], v, gamma, rho, &out->row);
  }
  for (int t = 0; good && t < p->ntrees; ++t) {
    judge_tree(p, t, v, gamma, &out->tree);
  }
  free(rho);
  return good;
}
