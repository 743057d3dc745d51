// SPDX-License-Identifier: BSD-3-Clause
// The solver: F(v) = A (v - v*) - J' gamma(v) = 0, with gamma of a block explicit in u = v_hat - J v
// as all R > 0:
//   convex   P_C(R^-1 u) in the norm of R
//   coulomb  gamma_n = max(0, u_n/R_n), gamma_t = u_t/R_t or at the edge of the disk
// G = dgamma/du; Newton with (A + J' G J) dv = -F, halved until |F| falls.

// Doubles are promoted to __float128 all over, which is what this file is for.
#pragma GCC diagnostic ignored "-Wdouble-promotion"
#include <stdlib.h>
#include <string.h>

#include "support/precise.h"
#include "support/precise_number.h"

enum { STEPS = 400, HALVINGS = 60 };

// gamma and G (n n) of a cone.
static void cone_law(precise_law law, double mu, int n, real Rt, real Rn, const real* u,
                     real* gamma, real* G) {
  const real un = u[NORMAL];
  real ur = 0, t[ROWS_MOST] = {0};
  memset(G, 0, (size_t)(n * n) * sizeof *G);
  for (int i = 0; i < n; ++i) {
    gamma[i] = 0;
    ur += i == NORMAL ? 0 : u[i] * u[i];
  }
  ur = root(ur);
  const bool open = law == PRECISE_CONVEX ? un <= -mu * ur : un <= 0;
  if (open) {
    return;
  }
  for (int i = 0; i < n; ++i) {
    t[i] = i == NORMAL || !(ur > 0) ? 0 : u[i] / ur;
  }
  if (un > 0 && ur / Rt <= mu * un / Rn) {
    for (int i = 0; i < n; ++i) {
      const real R = i == NORMAL ? Rn : Rt;
      gamma[i] = u[i] / R;
      G[i * n + i] = 1 / R;
    }
    return;
  }
  const real k = law == PRECISE_CONVEX ? 1 / (Rn + (real)mu * mu * Rt) : 1 / Rn;
  const real normal = law == PRECISE_CONVEX ? k * (un + mu * ur) : un / Rn;
  const real c = ur > 0 ? mu * normal / ur : 0, along = law == PRECISE_CONVEX ? k * mu * mu : 0;
  for (int i = 0; i < n; ++i) {
    gamma[i] = i == NORMAL ? normal : mu * normal * t[i];
    for (int j = 0; j < n; ++j) {
      if (i == NORMAL || j == NORMAL) {
        continue;
      }
      G[i * n + j] = (along - c) * t[i] * t[j] + (i == j ? c : 0);
    }
  }
  for (int i = 0; i < n; ++i) {
    if (i != NORMAL) {
      G[i * n + NORMAL] = k * mu * t[i];
      G[NORMAL * n + i] = law == PRECISE_CONVEX ? k * mu * t[i] : 0;
    }
  }
  G[NORMAL * n + NORMAL] = k;
}

typedef struct newton {
  const precise_problem* p;
  precise_law law;
  real *v, *trial, *F, *gamma, *H, *step;
} newton;

// F and gamma at v, and H = A + J' G J if not NULL. Returns |F|^2 by diag(A).
static real evaluate(const newton* w, const real* v, real* H) {
  const precise_problem* p = w->p;
  const size_t nv = (size_t)p->nv;
  real size_2 = 0;
  for (size_t i = 0; i < nv; ++i) {
    w->F[i] = 0;
    for (size_t k = 0; k < nv; ++k) {
      w->F[i] += p->A[i * nv + k] * (v[k] - p->v_star[k]);
      if (H != NULL) {
        H[i * nv + k] = p->A[i * nv + k];
      }
    }
  }
  for (int b = 0; b < p->nblocks; ++b) {
    const precise_block* block = &p->blocks[b];
    const bool cone = block->kind == PRECISE_CONE;
    const int step = cone ? block->nrows : 1;
    for (int first = block->first_row; first < block->first_row + block->nrows; first += step) {
      real u[ROWS_MOST] = {0}, G[ROWS_MOST * ROWS_MOST] = {0};
      for (int i = 0; i < step; ++i) {
        u[i] = p->v_hat[first + i];
        for (size_t k = 0; k < nv; ++k) {
          u[i] -= p->J[(size_t)(first + i) * nv + k] * v[k];
        }
      }
      if (cone) {
        cone_law(w->law, block->mu, step, p->R[first], p->R[first + NORMAL], u, w->gamma + first,
                 G);
      } else {
        const real y = u[0] / p->R[first];
        w->gamma[first] = clamp(y, p->lower[first], p->upper[first]);
        G[0] = w->gamma[first] == y ? 1 / (real)p->R[first] : 0;
      }
      for (int i = 0; i < step; ++i) {
        const double* Ji = p->J + (size_t)(first + i) * nv;
        for (size_t a = 0; a < nv; ++a) {
          w->F[a] -= Ji[a] * w->gamma[first + i];
        }
        for (int j = 0; H != NULL && j < step; ++j) {
          const double* Jj = p->J + (size_t)(first + j) * nv;
          for (size_t a = 0; a < nv; ++a) {
            const real factor = Ji[a] * G[i * step + j];
            for (size_t c = 0; factor != 0 && c < nv; ++c) {
              H[a * nv + c] += factor * Jj[c];
            }
          }
        }
      }
    }
  }
  for (size_t i = 0; i < nv; ++i) {
    size_2 += w->F[i] * w->F[i] / p->A[i * nv + i];
  }
  return size_2;
}

// step = -H^-1 F by elimination with row pivots.
static bool eliminate(const newton* w) {
  const size_t n = (size_t)w->p->nv;
  real* H = w->H;
  for (size_t i = 0; i < n; ++i) {
    w->step[i] = -w->F[i];
  }
  for (size_t j = 0; j < n; ++j) {
    size_t at = j;
    for (size_t i = j + 1; i < n; ++i) {
      at = absolute(H[i * n + j]) > absolute(H[at * n + j]) ? i : at;
    }
    if (H[at * n + j] == 0) {
      return false;
    }
    for (size_t k = 0; at != j && k < n; ++k) {
      const real swap = H[j * n + k];
      H[j * n + k] = H[at * n + k];
      H[at * n + k] = swap;
    }
    const real swap = w->step[j];
    w->step[j] = w->step[at];
    w->step[at] = swap;
    for (size_t i = j + 1; i < n; ++i) {
      const real factor = H[i * n + j] / H[j * n + j];
      for (size_t k = j; factor != 0 && k < n; ++k) {
        H[i * n + k] -= factor * H[j * n + k];
      }
      w->step[i] -= factor * w->step[j];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) {
      w->step[i] -= H[i * n + k] * w->step[k];
    }
    w->step[i] /= H[i * n + i];
  }
  return true;
}

// True if every tree's |F| is at most PRECISE_FINEST of its own momenta.
static bool is_solved(const newton* w) {
  const precise_problem* p = w->p;
  const size_t nv = (size_t)p->nv;
  for (int t = 0; t < p->ntrees; ++t) {
    real rest = 0, scale = 0;
    for (int i = p->tree_start[t]; i < p->tree_start[t + 1]; ++i) {
      const real mass = p->A[(size_t)i * nv + (size_t)i];
      rest += w->F[i] * w->F[i] / mass;
      scale += mass * (w->v[i] * w->v[i] + (real)p->v_star[i] * p->v_star[i]);
    }
    if (!(rest <= (real)PRECISE_FINEST * PRECISE_FINEST * scale)) {
      return false;
    }
  }
  return true;
}

static bool iterate(newton* w) {
  const size_t nv = (size_t)w->p->nv;
  for (int k = 0; k < STEPS; ++k) {
    const real now = evaluate(w, w->v, w->H);
    if (is_solved(w)) {
      return true;
    }
    if (!eliminate(w)) {
      return false;
    }
    real alpha = 1, next = 0, best = -1, best_alpha = 0;
    for (int i = 0; i < HALVINGS; ++i, alpha /= 2) {
      for (size_t a = 0; a < nv; ++a) {
        w->trial[a] = w->v[a] + alpha * w->step[a];
      }
      next = evaluate(w, w->trial, NULL);
      if (best < 0 || next < best) {
        best = next;
        best_alpha = alpha;
      } else if (best < now) {
        break;
      }
    }
    // across kinks of Coulomb's law |F| may have to rise: then the whole step
    best_alpha = best < now ? best_alpha : w->law == PRECISE_CONVEX ? best_alpha : 1;
    for (size_t a = 0; a < nv; ++a) {
      w->v[a] += best_alpha * w->step[a];
    }
  }
  return false;
}

bool precise_solve(const precise_problem* p, precise_law law, double* v, double* gamma) {
  const size_t nv = (size_t)p->nv, nrows = (size_t)p->nrows;
  real* memory = calloc(nv * nv + 4 * nv + nrows + 1, sizeof *memory);
  if (memory == NULL) {
    return false;
  }
  newton w = {.p = p, .law = law, .H = memory};
  w.v = w.H + nv * nv;
  w.trial = w.v + nv;
  w.F = w.trial + nv;
  w.step = w.F + nv;
  w.gamma = w.step + nv;
  for (size_t i = 0; i < nv; ++i) {
    w.v[i] = v[i];
  }
  const bool solved = iterate(&w);
  for (size_t i = 0; i < nv; ++i) {
    v[i] = (double)w.v[i];
  }
  for (size_t r = 0; r < nrows; ++r) {
    gamma[r] = (double)w.gamma[r];
  }
  free(memory);
  return solved;
}
