// SPDX-License-Identifier: BSD-3-Clause
// Stiffness and damping of flexes, against central differences of MuJoCo's own forces: from the
// undeformed shape in motion a step is
//   (M + h D + h^2 K) (v' - v) = h f - h^2 K v
// and forces in mjData are those at its end. Stiff flexes stay together at large steps.
#include <stdlib.h>

#include "support/mujoco_run.h"
#include "support/skip.h"

#if mjVERSION_HEADER >= 4000000

#define MODEL(gravity, bodies)                                                \
  "<mujoco><option timestep='0.01' gravity='" gravity "'/><worldbody>" bodies \
  "</worldbody></"                                                            \
  "mujoco>"
#define LITTLE "3e-4 2e-4 -1e-3"
#define GRID(count, dim, more, inside)                                                           \
  "<flexcomp name='f' type='grid' count='" count "' spacing='.06 .05 .07' pos='0 0 2' dim='" dim \
  "' radius='.01' mass='.5' " more ">" inside "</flexcomp>"

static const char* const models[] = {
    MODEL(LITTLE, GRID("4 1 1", "1", "", "<edge stiffness='3e4' damping='20'/>")),
    MODEL(LITTLE, GRID("4 3 1", "2", "euler='20 30 40'",
                       "<elasticity young='1e6' poisson='.1' thickness='1e-2' damping='.02'"
                       " elastic2d='both'/>")),
    MODEL(LITTLE, GRID("4 3 1", "2", "",
                       "<elasticity young='1e7' poisson='0' thickness='1e-2' elastic2d='bend'/>"
                       "<edge damping='3'/>")),
    MODEL(LITTLE, GRID("3 3 3", "3", "euler='20 0 70'",
                       "<elasticity young='1e5' poisson='.3' damping='.01'/><pin id='0 5'/>")),
    MODEL(LITTLE, GRID("3 3 3", "3", "dof='trilinear'",
                       "<elasticity young='1e6' poisson='.2' damping='.01'/>")),
    MODEL(LITTLE, GRID("3 3 3", "3", "dof='quadratic'",
                       "<elasticity young='1e5' poisson='.2' damping='.01'/>")),
    // On a body that moves: points have their own axes and one tree.
    MODEL(LITTLE,
          "<body name='b' pos='0 0 2' euler='10 20 30'><freejoint/><geom size='.05' mass='3'"
          " contype='0' conaffinity='0'/>" GRID(
              "3 3 1", "2", "",
              "<elasticity young='1e6' poisson='0'"
              " thickness='1e-2' elastic2d='both'/><pin id='4'/>") "</body>"),
};

static const char LAST_BODY_IS_PART[] = "<body name='b'";

// Column i of -dF/dq or -dF/dv.
static void differentiate(mujoco_run* run, mjData* d, bool damping, int i, double* column) {
  const mjModel* m = run->model;
  const double step = 1e-5;
  const int nv = (int)m->nv;
  mjtNum* way = calloc((size_t)nv, sizeof *way);
  assert_non_null(way);
  for (int side = 0; side < 2; ++side) {
    const double sign = side == 0 ? 1.0 : -1.0;
    mju_copy(d->qpos, run->data->qpos, (int)m->nq);
    mju_copy(d->qvel, run->data->qvel, nv);
    way[i] = 1.0;
    if (damping) {
      d->qvel[i] += sign * step;
    } else {
      mj_integratePos(m, d->qpos, way, sign * step);
    }
    mj_forward(m, d);
    for (int k = 0; k < nv; ++k) {
      const double force = damping ? d->qfrc_damper[k] : d->qfrc_spring[k];
      column[k] = (side == 0 ? 0.0 : column[k]) - sign * force / (2.0 * step);
    }
  }
  free(way);
}

// v' by a dense Cholesky factorization.
static void expect(mujoco_run* run, double* v) {
  const mjModel* m = run->model;
  const int nv = (int)m->nv;
  const double h = m->opt.timestep;
  mjData* d = mj_makeData(m);
  double* A = calloc((size_t)(nv * nv), sizeof *A);
  double* rhs = calloc((size_t)nv, sizeof *rhs);
  double* column = calloc((size_t)nv, sizeof *column);
  assert_true(A != NULL && rhs != NULL && column != NULL);
  mju_copy(d->qvel, run->data->qvel, nv);
  mj_forward(m, d);
  mj_fullM(m, d, A);
  mju_scl(rhs, d->qfrc_smooth, h, nv);
  for (int i = 0; i < nv; ++i) {
    differentiate(run, d, false, i, column);
    for (int k = 0; k < nv; ++k) {
      A[k * nv + i] += h * h * column[k];
      rhs[k] -= h * h * column[k] * run->data->qvel[i];
    }
    differentiate(run, d, true, i, column);
    for (int k = 0; k < nv; ++k) {
      A[k * nv + i] += h * column[k];
    }
  }
  assert_int_equal(mju_cholFactor(A, nv, 0.0), nv);
  mju_cholSolve(v, A, rhs, nv);
  mju_addTo(v, run->data->qvel, nv);
  mj_deleteData(d);
  free(A);
  free(rhs);
  free(column);
}

static void test_step(void** state) {
  (void)state;
  for (size_t i = 0; i < sizeof models / sizeof *models; ++i) {
    mujoco_run run = mujoco_run_text(models[i], NULL);
    const int nv = (int)run.model->nv;
    // For a flex on a moving body only the flex's own forces are implicit, not those on the body:
    // here the body is heavy and at rest, and the difference over a step is small.
    const bool part = strstr(models[i], LAST_BODY_IS_PART) != NULL;
    for (int k = part ? 6 : 0; k < nv; ++k) {
      run.data->qvel[k] = 1e-5 * sin(1.0 + 5.0 * k);
    }
    double* v = calloc((size_t)nv, sizeof *v);
    assert_non_null(v);
    expect(&run, v);
    double largest = 0.0;
    mujoco_run_step(&run, 1);
    for (int k = part ? 6 : 0; k < nv; ++k) {
      ASSERT_NEAR(run.data->qvel[k], v[k],
                  part ? 2e-6 : 1e-8);  // damping is not quite linear
      largest = fmax(largest, fabs(v[k] - 1e-5 * sin(1.0 + 5.0 * k)));
    }
    assert_true(largest > 3e-6);
    // M qacc = qfrc_smooth + qfrc_constraint.
    mj_mulM(run.model, run.data, v, run.data->qacc);
    for (int k = 0; k < nv; ++k) {
      ASSERT_NEAR(v[k], run.data->qfrc_smooth[k] + run.data->qfrc_constraint[k], 1e-9);
    }
    free(v);
    mujoco_run_end(&run);
  }
}

// Edges between points of three free bodies: blocks of A whose parts lie apart in the order of
// velocities are one block.
static void test_many_trees(void** state) {
  (void)state;
#define POINT(name, x)                                                               \
  "<body name='" name "' pos='" x                                                    \
  "'><joint type='slide' axis='1 0 0'/><joint type='slide' "                         \
  "axis='0 1 0'/><joint type='slide' axis='0 0 1'/><inertial pos='0 0 0' mass='.1' " \
  "diaginertia='1e-4 1e-4 1e-4'/></body>"
#define BODY(name, x)                                                                   \
  "<body pos='" x "'><freejoint/><geom size='.05' mass='1'/>" POINT(name "0", ".1 0 0") \
      POINT(name "1", "0 .1 .02") "</body>"
  static const char text[] = "<mujoco><option timestep='0.01'/><worldbody>" BODY("a", "0 0 1") BODY("b", "1 0 1") BODY("c", "0 1 1") "</worldbody>"
      "<deformable><flex name='f' dim='1' body='a0 a1 b0 b1 c0 c1' vertex='0 0 0 0 0 0 0 0 0 0 0 0"
      " 0 0 0 0 0 0' element='0 1 0 2 0 3 0 4 0 5 1 2 1 3 1 4 1 5 2 3 2 4 2 5 3 4 3 5 4 5'>"
      "<edge stiffness='3e4' damping='20'/><contact contype='0' conaffinity='0'/></flex></deformable></mujoco>";
  mujoco_run run = mujoco_run_text(text, NULL);
  const int nv = (int)run.model->nv;
  double* force = calloc((size_t)nv, sizeof *force);
  assert_non_null(force);
  for (int k = 0; k < nv; ++k) {
    run.data->qvel[k] = sin(1.0 + 5.0 * k);
  }
  mujoco_run_step(&run, 1);
  mj_mulM(run.model, run.data, force, run.data->qacc);
  double largest = 0.0;
  for (int k = 0; k < nv; ++k) {
    largest = fmax(largest, fabs(run.data->qfrc_smooth[k]));
    ASSERT_NEAR(force[k], run.data->qfrc_smooth[k] + run.data->qfrc_constraint[k], 1e-8);
  }
  assert_true(largest > 1.0);
  free(force);
  mujoco_run_end(&run);
}

// Stiff ones fall, meet the ground and come to rest, where explicit forces end within some steps.
static void test_stiff(void** state) {
  (void)state;
  static const char* const stiff[] = {
      MODEL("0 0 -10", "<geom type='plane' size='3 3 .1' pos='0 0 1.8'/>" GRID(
                           "6 6 1", "2", "",
                           "<elasticity young='1e7' poisson='0' thickness='1e-2' damping='.01'"
                           " elastic2d='both'/>")),
      MODEL("0 0 -10",
            "<geom type='plane' size='3 3 .1' pos='0 0 1.8'/>" GRID(
                "4 4 4", "3", "", "<elasticity young='1e6' poisson='.2' damping='.01'/>")),
      MODEL("0 0 -10", "<geom type='plane' size='3 3 .1' pos='0 0 1.8'/>" GRID(
                           "8 1 1", "1", "", "<edge stiffness='1e6' damping='5'/>"))};
  for (size_t i = 0; i < sizeof stiff / sizeof *stiff; ++i) {
    mujoco_run run = mujoco_run_text(stiff[i], NULL);
    mujoco_run_step(&run, 300);
    mj_energyVel(run.model, run.data);
    assert_true(run.data->energy[1] < 1e-2);
    assert_true(run.data->ncon > 0);
    for (int e = 0; e < (int)run.model->nflexedge; ++e) {  // it has kept its shape
      ASSERT_NEAR(run.data->flexedge_length[e], run.model->flexedge_length0[e], 2e-3);
    }
    mujoco_run_end(&run);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_step), cmocka_unit_test(test_many_trees),
                                     cmocka_unit_test(test_stiff)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void) {
  return skip_program("this MuJoCo does not tell the stiffness of flexes");
}

#endif
