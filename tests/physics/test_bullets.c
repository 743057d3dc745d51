// SPDX-License-Identifier: BSD-3-Clause
// Fast bodies and thin plates: nothing passes through, and what misses is not touched. The truth is
// a convex search of this file. SAPSTEP_BULLETS: bullets of each kind, 600 if not set.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/convex_oracle.h"
#include "support/simulation.h"

enum { BATCH = 50, STEPS = 8, SAMPLES = 64, GENERATORS_MAX = 8 };

static const double DT = 0.01, PLATE[3] = {0.1, 0.1, 0.0005};  // [s], half sides [m]
static const double PUSH = 0.1;                                // [m/s]
static const double APART = 50.0;                              // of the plates in y [m]

typedef struct bullet {
  sap_shape_type type;
  double size[3];
  double p[3], v[3], w[3];  // from its plate's centre; w in the body's frame
  double q[4], R[9];
  bool is_solid;      // inertia of a solid of its shape; else a ball's of its length
  bool hits, misses;  // by free flight; neither: too near to tell
  double depth;       // of the overlap at the deepest [m]
} bullet;

static double uniform(uint64_t* seed, double low, double high) {
  return low + (high - low) * oracle_random(seed);
}

// --- truth ---

// Distance of the sums  c + sum_i x_i g_i, |x_i| <= 1  from 0 by coordinate descent, until it is
// known on which side of `radius` it is, or to 1e-9 m. *lower: it is at least this; below the
// distance where the descent has not converged.
static double zonotope_distance(const double c[3], double (*g)[3], int n, double radius,
                                double* lower) {
  double r[3] = {c[0], c[1], c[2]}, x[GENERATORS_MAX] = {0.0}, distance = 0.0;
  for (int sweep = 0; sweep < 20000; ++sweep) {
    for (int i = 0; i < n; ++i) {
      const double square = sap_v3_dot(g[i], g[i]);
      const double to = fmin(fmax(x[i] - sap_v3_dot(g[i], r) / square, -1.0), 1.0);
      sap_v3_add_scaled(r, g[i], to - x[i]);
      x[i] = to;
    }
    distance = sap_v3_norm(r);
    *lower = distance > 0.0 ? sap_v3_dot(r, c) / distance : 0.0;
    for (int i = 0; i < n && distance > 0.0; ++i) {
      *lower -= fabs(sap_v3_dot(r, g[i])) / distance;
    }
    if (distance < radius || *lower > radius || distance - *lower < 1e-9) {
      break;
    }
  }
  return distance;
}

// Decides whether the bullet would hit the plate, if it does not turn.
static void find_truth(bullet* b) {
  double g[GENERATORS_MAX][3] = {{0.0}}, c[3], radius = 0.0;
  const double half = 0.5 * DT * STEPS;
  int n = 0;
  for (; n < 3; ++n) {
    g[n][n] = PLATE[n];
  }
  for (int k = 0; k < 3; ++k) {
    c[k] = b->p[k] + half * b->v[k];
    g[n][k] = half * b->v[k];
  }
  ++n;
  for (int k = 0; k < 3; ++k) {
    const double length = b->type == SAP_SHAPE_BOX                 ? b->size[k]
                          : b->type == SAP_SHAPE_CAPSULE && k == 2 ? b->size[1]
                                                                   : 0.0;
    if (length > 0.0) {
      sap_v3_scale(g[n++], b->R + 3 * k, length);
    }
  }
  radius = b->type == SAP_SHAPE_BOX ? 0.0 : b->size[0];
  double least, unused;
  (void)zonotope_distance(c, g, n, radius + 1e-6, &least);
  b->misses = least > radius + 1e-6;
  b->hits =
      zonotope_distance(c, g, n, radius - 1e-5, &unused) < (radius > 0.0 ? radius - 1e-5 : 1e-8);
}

// --- bullets ---

// A bullet that flies towards a point of the plate or, grazing, past its edge.
static bullet make_bullet(uint64_t* seed, sap_shape_type type, bool grazes) {
  bullet b = {.type = type, .q[0] = 1.0};
  const double r = exp(uniform(seed, log(0.002), log(0.03)));
  sap_v3_set(b.size, r, r, r);
  if (type == SAP_SHAPE_BOX) {
    sap_v3_set(b.size, r, r * uniform(seed, 0.3, 1.0), r * uniform(seed, 0.3, 1.0));
  } else if (type == SAP_SHAPE_CAPSULE) {
    b.size[1] = r * uniform(seed, 0.5, 3.0);
  }
  double norm = 0.0;
  for (int k = 0; k < 4; ++k) {
    b.q[k] = uniform(seed, -1.0, 1.0);
    norm += b.q[k] * b.q[k];
  }
  for (int k = 0; k < 4; ++k) {
    b.q[k] /= sqrt(norm);
  }
  const double* q = b.q;
  const double R[9] = {1 - 2 * (q[2] * q[2] + q[3] * q[3]), 2 * (q[1] * q[2] + q[0] * q[3]),
                       2 * (q[1] * q[3] - q[0] * q[2]),     2 * (q[1] * q[2] - q[0] * q[3]),
                       1 - 2 * (q[1] * q[1] + q[3] * q[3]), 2 * (q[2] * q[3] + q[0] * q[1]),
                       2 * (q[1] * q[3] + q[0] * q[2]),     2 * (q[2] * q[3] - q[0] * q[1]),
                       1 - 2 * (q[1] * q[1] + q[2] * q[2])};
  memcpy(b.R, R, sizeof R);
  const double speed = exp(uniform(seed, log(10.0), log(300.0)));
  double way[3] = {uniform(seed, -1.0, 1.0), uniform(seed, -1.0, 1.0), -uniform(seed, 0.2, 1.0)};
  sap_v3_scale(b.v, way, speed / sap_v3_norm(way));
  double aim[3] = {uniform(seed, -1.0, 1.0) * PLATE[0], uniform(seed, -1.0, 1.0) * PLATE[1], 0.0};
  if (grazes) {  // past the edge, by about its own size
    aim[0] = PLATE[0] + r * uniform(seed, -1.0, 6.0);
  }
  const double least = (0.005 + 4.0 * r) * speed / fabs(b.v[2]);
  const double back = least + uniform(seed, 0.0, 1.0) * (STEPS - 3) * DT * speed;
  for (int k = 0; k < 3; ++k) {
    b.p[k] = aim[k] - back / speed * b.v[k];
  }
  find_truth(&b);
  return b;
}

static int32_t add_body(sap_builder* builder, double mass, const double inertia[3],
                        const double p[3], sap_shape_def* shape, bool slides) {
  sap_body_def def = sap_body_def_default();
  int32_t body = -1;
  def.mass = mass;
  memcpy(def.I_BCo_B, inertia, 3 * sizeof *inertia);
  memcpy(def.p_PB, p, sizeof def.p_PB);
  assert_int_equal(sap_builder_add_body(builder, &def, &body, NULL), SAP_STATUS_OK);
  if (slides) {
    for (int k = 0; k < 3; ++k) {
      (void)simulation_joint(builder, body, SAP_JOINT_SLIDE, k == 0, k == 1, k == 2);
    }
  } else {
    (void)simulation_joint(builder, body, SAP_JOINT_FREE, 0.0, 0.0, 1.0);
  }
  shape->body = body;
  assert_int_equal(sap_builder_add_shape(builder, shape, NULL, NULL), SAP_STATUS_OK);
  return body;
}

// Mass and inertia; capsules as cylinders of their whole length.
static double find_inertia(const bullet* b, double inertia[3]) {
  const bool box = b->type == SAP_SHAPE_BOX;
  const double r = b->size[0], mass = 8000.0 * 4.0 * r * r * (r + b->size[1]);
  const double L = b->type == SAP_SHAPE_CAPSULE ? r + b->size[1] : r, ball = 0.4 * mass * L * L;
  const double half[3] = {r, box ? b->size[1] : r, box ? b->size[2] : b->size[1]};
  for (int k = 0; k < 3; ++k) {
    const double x = half[(k + 1) % 3], y = half[(k + 2) % 3];
    const double round =
        k < 2 ? mass * (r * r / 4.0 + half[2] * half[2] / 3.0) : mass * r * r / 2.0;
    inertia[k] = !b->is_solid ? ball : box ? mass * (x * x + y * y) / 3.0 : round;
  }
  return mass;
}

// Bullets, each with its own plate, 7 positions and 6 velocities each; free plates have 3 more.
static simulation make_range(const bullet* bullets, int count, bool free_plates,
                             const sap_material* material, sap_scheme scheme) {
  sap_builder* builder = simulation_builder(0.0, 0.0, 0.0);
  for (int i = 0; i < count; ++i) {
    const bullet* b = &bullets[i];
    sap_shape_def shape = sap_shape_def_default();
    shape.material = *material;
    shape.type = b->type;
    memcpy(shape.size, b->size, sizeof shape.size);
    shape.contact_type = 1;
    shape.contact_affinity = 2;
    const double none[3] = {0.0, 0.0, 0.0}, at[3] = {0.0, APART * i, 0.0};
    const double plate[3] = {1e-3, 1e-3, 1e-3};
    double inertia[3];
    const double mass = find_inertia(b, inertia);
    (void)add_body(builder, mass, inertia, none, &shape, false);
    shape.type = SAP_SHAPE_BOX;
    memcpy(shape.size, PLATE, sizeof shape.size);
    shape.contact_type = 2;
    shape.contact_affinity = 1;
    if (free_plates) {
      (void)add_body(builder, 0.32, plate, at, &shape, true);
    } else {
      memcpy(shape.p_BS, at, sizeof at);
      shape.body = 0;
      assert_int_equal(sap_builder_add_shape(builder, &shape, NULL, NULL), SAP_STATUS_OK);
    }
  }
  simulation s = simulation_begin(builder, scheme, DT);
  for (int i = 0; i < count; ++i) {
    double *q = s.state.q + (free_plates ? 10 : 7) * i, *v = s.state.v + (free_plates ? 9 : 6) * i;
    memcpy(q, bullets[i].p, 3 * sizeof *q);
    q[1] += APART * i;
    memcpy(q + 3, bullets[i].q, 4 * sizeof *q);
    memcpy(v, bullets[i].v, 3 * sizeof *v);
    memcpy(v + 3, bullets[i].w, 3 * sizeof *v);
  }
  return s;
}

typedef struct tally {
  int hits, misses, passed, unnoticed, ghosts;
  double gain;  // largest of a step, of energies
} tally;

// The bullet's centre from the plate's.
static void relative(const simulation* s, int i, bool free_plates, double p[3]) {
  const double* q = s->state.q + (free_plates ? 10 : 7) * i;
  sap_v3_copy(p, q);
  p[1] -= APART * i;
  if (free_plates) {
    sap_v3_sub(p, p, q + 7);
  }
}

static void shoot(const bullet* bullets, int count, bool free_plates, const sap_material* material,
                  sap_scheme scheme, tally* all) {
  simulation s = make_range(bullets, count, free_plates, material, scheme);
  bool passed[BATCH] = {false};
  for (int step = 0; step < STEPS; ++step) {
    double before[BATCH][3], after[3];
    for (int i = 0; i < count; ++i) {
      relative(&s, i, free_plates, before[i]);
    }
    simulation_step(&s, 1);
    for (int i = 0; i < count; ++i) {
      relative(&s, i, free_plates, after);
      const double part = before[i][2] / (before[i][2] - after[2]);
      const double x = before[i][0] + part * (after[0] - before[i][0]);
      const double y = before[i][1] + part * (after[1] - before[i][1]);
      if ((before[i][2] > 0.0) != (after[2] > 0.0) && fabs(x) < PLATE[0] && fabs(y) < PLATE[1]) {
        passed[i] = true;
      }
    }
  }
  for (int i = 0; i < count; ++i) {
    const bullet* b = &bullets[i];
    const double* v = s.state.v + (free_plates ? 9 : 6) * i;
    double change = 0.0;
    for (int k = 0; k < 3; ++k) {
      change = fmax(change, fabs(v[k] - b->v[k]) + fabs(v[3 + k] - b->w[k]));
    }
    all->hits += b->hits;
    all->misses += b->misses;
    all->passed += passed[i];
    all->unnoticed += b->hits && change < 1e-9;
    all->ghosts += b->misses && change > 1e-9;
    if (getenv("SAPSTEP_BULLETS_SHOW") != NULL &&
        (passed[i] || (b->hits && change < 1e-9) || (b->misses && change > 1e-9))) {
      printf("%s%s%s type %d size %g %g %g p %.9g %.9g %.9g v %.9g %.9g %.9g change %g\n",
             passed[i] ? "PASSED " : "", b->hits && change < 1e-9 ? "UNNOTICED " : "",
             b->misses && change > 1e-9 ? "GHOST " : "", b->type, b->size[0], b->size[1],
             b->size[2], b->p[0], b->p[1], b->p[2], b->v[0], b->v[1], b->v[2], change);
    }
  }
  simulation_end(&s);
}

// --- rods that spin ---

// Axis of the rod after it has turned from q by w (body's frame) for the time t.
static void turned_axis(const double q[4], const double w[3], double t, double axis[3]) {
  const double angle = sap_v3_norm(w) * t;
  double local[3] = {0.0, 0.0, 1.0}, u[3], cross[3];
  if (angle > 0.0) {
    sap_v3_scale(u, w, t / angle);
    sap_v3_cross(cross, u, local);
    const double along = u[2];
    for (int k = 0; k < 3; ++k) {
      local[k] = local[k] * cos(angle) + cross[k] * sin(angle) + u[k] * along * (1.0 - cos(angle));
    }
  }
  sap_v3_cross(cross, q + 1, local);
  sap_v3_add_scaled(cross, local, q[0]);
  sap_v3_cross(u, q + 1, cross);
  for (int k = 0; k < 3; ++k) {
    axis[k] = local[k] + 2.0 * u[k];
  }
}

// True if the axis of a rod crosses the plate on its way from q with v.
static bool axis_crosses(const double* q, const double* v, double y, double half) {
  bool crosses = false;
  for (int i = 0; i <= SAMPLES; ++i) {
    const double t = DT * i / SAMPLES;
    double axis[3];
    turned_axis(q + 3, v + 3, t, axis);
    const double z = q[2] + t * v[2], part = -z / axis[2];
    const double x = q[0] + t * v[0] + part * axis[0];
    crosses = crosses || (fabs(part) < half && fabs(x) < PLATE[0] &&
                          fabs(q[1] + t * v[1] + part * axis[1] - y) < PLATE[1]);
  }
  return crosses;
}

static double half_length(const bullet* rod) {
  return rod->size[rod->type == SAP_SHAPE_BOX ? 2 : 1];
}

// A rod that spins on its way to the plate or, grazing, to its edge, round which it may slide.
static bullet make_rod(uint64_t* seed, sap_shape_type type, bool is_solid, bool grazes) {
  bullet b = make_bullet(seed, SAP_SHAPE_CAPSULE, grazes);
  const double speed = sap_v3_norm(b.v);
  b.type = type;
  b.is_solid = is_solid;
  b.size[0] = exp(uniform(seed, log(0.0005), log(0.004)));
  b.size[1] = exp(uniform(seed, log(0.01), log(0.15)));
  if (type == SAP_SHAPE_BOX) {
    b.size[2] = b.size[1];
    b.size[1] = b.size[0] * uniform(seed, 0.3, 1.0);
  }
  for (int k = 0; k < 3; ++k) {
    b.p[k] -= b.v[k] / speed * 2.0 * half_length(&b);
    b.w[k] = k < 2 ? uniform(seed, -140.0, 140.0) : 0.0;
  }
  return b;
}

// Kinetic energy and that of PUSH, the speed at which overlaps are pushed apart.
static double find_energy(const bullet* b, const double* v) {
  double inertia[3], energy = 0.0;
  const double mass = find_inertia(b, inertia);
  for (int k = 0; k < 3; ++k) {
    energy += 0.5 * mass * v[k] * v[k] + 0.5 * inertia[k] * v[3 + k] * v[3 + k];
  }
  return energy + 0.5 * mass * PUSH * PUSH;
}

static void throw_rods(const bullet* rods, int count, const sap_material* material, tally* all) {
  simulation s = make_range(rods, count, false, material, SAP_SCHEME_IMPLICIT_EULER);
  bool passed[BATCH] = {false}, hit[BATCH] = {false};
  for (int step = 0; step < STEPS; ++step) {
    double q0[7 * BATCH], v0[6 * BATCH];
    memcpy(q0, s.state.q, 7 * (size_t)count * sizeof *q0);
    memcpy(v0, s.state.v, 6 * (size_t)count * sizeof *v0);
    simulation_step(&s, 1);
    const sap_contact* contacts = sap_multibody_contacts(s.multibody);
    for (int j = 0; j < sap_multibody_contact_count(s.multibody); ++j) {
      const int body = contacts[j].body_A > 0 ? contacts[j].body_A : contacts[j].body_B;
      hit[body - 1] = hit[body - 1] || contacts[j].gamma[2] > 0.0;
    }
    for (int i = 0; i < count; ++i) {
      passed[i] = passed[i] ||
                  axis_crosses(q0 + 7 * i, s.state.v + 6 * i, APART * i, half_length(&rods[i]));
      const double gain =
          find_energy(&rods[i], s.state.v + 6 * i) / find_energy(&rods[i], v0 + 6 * i);
      all->gain = fmax(all->gain, s.report.free_motion_substeps == 0 ? gain : 0.0);
    }
  }
  for (int i = 0; i < count; ++i) {
    all->hits += hit[i];
    all->passed += passed[i];
    if (getenv("SAPSTEP_BULLETS_SHOW") != NULL && passed[i]) {
      printf("ROD PASSED %d\n", i);
    }
  }
  simulation_end(&s);
}

static int bullets_wanted(void) {
  const char* text = getenv("SAPSTEP_BULLETS");
  return text != NULL ? atoi(text) : 600;
}

static void test_bullets(void** state) {
  (void)state;
  static const sap_shape_type types[] = {SAP_SHAPE_SPHERE, SAP_SHAPE_BOX, SAP_SHAPE_CAPSULE};
  const int wanted = bullets_wanted();
  uint64_t seed = 7;
  bool good = true;
  for (int kind = 0; kind < 6; ++kind) {
    for (int hardness = 0; hardness < 2; ++hardness) {
      const sap_material material = {.stiffness = hardness == 0 ? 1e6 : (double)INFINITY,
                                     .relaxation_time = hardness == 0 ? 0.01 : 0.0,
                                     .friction = 0.5};
      tally all = {0};
      for (int done = 0; done < wanted / 2; done += BATCH) {
        bullet bullets[BATCH];
        for (int i = 0; i < BATCH; ++i) {
          bullets[i] = make_bullet(&seed, types[kind % 3], i % 2 == 0);
        }
        shoot(bullets, BATCH, kind >= 3, &material, SAP_SCHEME_IMPLICIT_EULER, &all);
      }
      print_message(
          "type %d, %s plate, k %g: %d hits, %d through, %d unnoticed; %d misses, %d "
          "ghosts\n",
          (int)types[kind % 3], kind >= 3 ? "free" : "fixed", material.stiffness, all.hits,
          all.passed, all.unnoticed, all.misses, all.ghosts);
      good = good && all.passed == 0 && all.unnoticed == 0 && 1e4 * all.ghosts < all.misses + 1;
    }
  }
  assert_true(good);
}

static tally throw_all(sap_shape_type type, bool is_solid, int batch) {
  const sap_material material = {.stiffness = (double)INFINITY, .friction = 0.5};
  uint64_t seed = 11;
  tally all = {0};
  for (int done = 0; done < bullets_wanted(); done += batch) {
    bullet rods[BATCH];
    for (int i = 0; i < batch; ++i) {
      rods[i] = make_rod(&seed, type, is_solid, i % 2 == 0);
    }
    throw_rods(rods, batch, &material, &all);
  }
  print_message("%s rods, type %d: %d of %d hit the plate, %d through, largest gain %g\n",
                is_solid ? "solid" : "round", (int)type, all.hits, bullets_wanted(), all.passed,
                all.gain);
  return all;
}

static void test_rods(void** state) {
  (void)state;
  assert_int_equal(throw_all(SAP_SHAPE_CAPSULE, false, BATCH).passed, 0);
}

// Bars tumble, and the balance of a blow is not always met: up to 6 % of energy in 2400.
static void test_solid_rods(void** state) {
  (void)state;
  static const sap_shape_type types[] = {SAP_SHAPE_CAPSULE, SAP_SHAPE_CYLINDER, SAP_SHAPE_BOX};
  for (int i = 0; i < 3; ++i) {
    const tally all = throw_all(types[i], true, 1);
    assert_true(all.passed * (types[i] == SAP_SHAPE_BOX ? 200 : 1000) <= all.hits);
    assert_true(all.gain < (types[i] == SAP_SHAPE_BOX ? 1.1 : 1.0 + 1e-6));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bullets), cmocka_unit_test(test_rods),
                                     cmocka_unit_test(test_solid_rods)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
