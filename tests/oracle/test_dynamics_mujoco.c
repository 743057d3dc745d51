// SPDX-License-Identifier: BSD-3-Clause
// Kinematics, mass matrix, forces, energies and momenta of the mixed model against MuJoCo 4.0.0
// (Python package): mj_forward, mj_mulM, mj_subtreeVel at the configuration of mixed_model.c, of
// this model:
//
// <mujoco>
//   <compiler angle="radian"/>
//   <option gravity="0.3 -0.2 -9.7"/>
//   <worldbody>
//     <body name="base" pos=".1 .2 .3" quat=".9 .1 -.2 .3">
//       <body name="arm" pos=".3 -.1 .2" quat=".8 .2 .4 -.1">
//         <inertial pos=".05 -.02 .1" mass="2" fullinertia=".03 .04 .05 .002 -.003 .001"/>
//         <joint name="shoulder" type="hinge" axis="1 2 3" pos=".02 .03 -.04" ref=".2"
//           stiffness="3" springref=".1" damping=".4" armature=".01"/>
//         <joint name="rail" type="slide" axis="0 1 -1" ref="-.1" stiffness="50" springref=".05"
//           damping="2" armature=".2"/>
//         <joint name="roll" type="hinge" axis="-1 .5 0" pos="-.1 0 .05" damping=".1"/>
//         <body name="hand" pos=".1 .2 -.1" quat=".5 -.5 .5 .5">
//           <inertial pos="0 .03 0" mass=".7" fullinertia=".004 .003 .005 .0002 .0001 -.0003"/>
//           <body name="finger" pos="0 .1 .1" quat="1 .3 -.2 .1">
//             <inertial pos=".02 .01 -.06" mass=".5" fullinertia=".002 .003 .0025 .0001 -.0002
//               .0003"/>
//             <joint name="wrist" type="ball" pos=".01 -.02 .03" stiffness="1.5" damping=".3"
//               armature=".005"/>
//             <body name="tip" pos=".05 .04 -.1">
//               <inertial pos="0 0 -.03" mass=".2" fullinertia=".0005 .0006 .0004 0 .00005 0"/>
//               <joint name="bend" type="hinge" axis="0 1 0" pos="0 0 .02" stiffness=".2"/>
//             </body>
//           </body>
//         </body>
//       </body>
//     </body>
//     <body name="drone" pos="1 2 3" quat=".7 .1 .5 -.2">
//       <inertial pos=".03 -.05 .02" mass="3" fullinertia=".06 .08 .09 .01 -.005 .004"/>
//       <joint name="flight" type="free" damping=".25" armature=".03"/>
//       <body name="rotor" pos=".2 0 .1" quat=".9 0 .3 .1">
//         <inertial pos=".01 .02 0" mass=".3" fullinertia=".001 .0012 .002 .0001 0 0"/>
//         <joint name="spin" type="hinge" axis="0 .2 1"/>
//       </body>
//     </body>
//     <body name="box" pos="-1 .5 2">
//       <inertial pos=".04 .03 -.02" mass="1.3" fullinertia=".02 .03 .025 .002 .001 -.003"/>
//       <freejoint name="loose"/>
//     </body>
//   </worldbody>
//   <actuator>
//     <motor joint="shoulder" gear="2.5" ctrllimited="true" ctrlrange="-1 1"/>
//     <motor joint="rail" gear="-3"/>
//     <motor joint="spin"/>
//   </actuator>
// </mujoco>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "math/vector3.h"
#include "multibody/dynamics/dynamics.h"
#include "multibody/dynamics/forces.h"
#include "support/mixed_model.h"

static const double ref_p[] = {0.0,
                               0.0,
                               0.0,
                               0.1,
                               0.2,
                               0.3,
                               -0.3414355767777021,
                               0.7823524347866538,
                               0.43543355205181444,
                               -0.47954867901596876,
                               0.9488659087413744,
                               0.32055085543629847,
                               -0.6202804802648302,
                               0.9719168143681123,
                               0.3927352324724053,
                               -0.6972921627835115,
                               0.9754010397162961,
                               0.47224839677914393,
                               0.594,
                               -0.064,
                               -0.394,
                               0.5339999999999999,
                               -0.008000000000000007,
                               -0.602,
                               0.991,
                               0.585,
                               0.244};
static const double ref_q[] = {1.0,
                               0.0,
                               0.0,
                               0.0,
                               0.9233805168766387,
                               0.10259783520851541,
                               -0.20519567041703082,
                               0.3077935056255462,
                               0.8648106752858297,
                               -0.07052146017819119,
                               0.3404695416029706,
                               0.36222881001746143,
                               0.04579543174360323,
                               -0.47854570193925583,
                               0.456786433524765,
                               0.7484937833640353,
                               0.2603935779567575,
                               0.6969223726820051,
                               0.3950496293364902,
                               0.538915746082135,
                               0.12244843607587688,
                               0.49128749482210365,
                               0.4570288892210121,
                               0.7312780403864192,
                               0.1,
                               0.7,
                               0.5,
                               -0.5,
                               -0.002332599084598137,
                               0.8938968900413287,
                               0.38344853619529473,
                               -0.23218554874418199,
                               -0.1,
                               0.5,
                               0.7,
                               0.5};
static const double ref_bias[] = {
    41.566948854170256,   -14.55364525773456,   -3.1208512904327828,   0.8925398511421245,
    -0.16444406684258894, 0.013933712498516826, -0.053952186936100266, -0.9399884010515952,
    0.44050397416313003,  31.898290239721966,   0.9750786768576595,    -0.05259857387587276,
    -1.689166556605244,   0.02406060297170569,  -0.3633986787599998,   0.22169040920000072,
    12.393051116679999,   -0.04273618245000088, 0.06649848179999968,   0.02164162829999916};
static const double ref_passive[] = {0.27960000000000007,
                                     -33.486000000000004,
                                     -0.006,
                                     -0.32225987284684365,
                                     2.0386191099279047,
                                     -1.968899364234218,
                                     -0.12840000000000001,
                                     0.00325,
                                     0.2525,
                                     0.48825,
                                     0.3075,
                                     -0.192,
                                     0.2995,
                                     0.0,
                                     0.0,
                                     0.0,
                                     0.0,
                                     0.0,
                                     0.0,
                                     0.0};
static const double ref_actuators[] = {2.5, -6.0, 0.0, 0.0,  0.0, 0.0, 0.0, 0.0, 0.0, 0.0,
                                       0.0, 0.0,  0.0, -0.4, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0};
static const double ref_M0[] = {
    3.0570802800612817,    -0.03937955404286142,   0.052749324290473715,  0.0424795960192522,
    0.020940512290419787,  0.011448693954745726,   -0.003014461530884906, 3.599999999999999,
    0.03372618971646432,   -0.06852093536258222,   -0.02465195518275931,  -0.015279135777192226,
    -0.006721200358942062, 0.21057584432957052,    -0.006432043936143699, 0.0294652442835061,
    0.006988774302848496,  0.0027766810105094523,  0.01723480149144002,   -0.0001707209375490749,
    0.0005180791512314059, 0.00035927906245092843, 0.01722294073000051,   0.0034505398581641186,
    0.0017414703650002502, 0.009128139238560509,   0.0004805398581641076, 0.0011000000000000042};
static const double ref_M1[] = {3.3299999999999996,
                                0.0,
                                0.0,
                                0.01485943388491423,
                                0.0903367418419802,
                                0.1204489891226403,
                                -0.0012602625798456106,
                                3.3299999999999996,
                                0.0,
                                0.1344791961242935,
                                0.14974230128928548,
                                0.013767520399561023,
                                -0.00601399536591367,
                                3.3299999999999996,
                                0.10085939709322012,
                                0.0010919134853531948,
                                -0.16891793026938176,
                                0.0024205335329208445,
                                0.10298886419288193,
                                0.013219506476958885,
                                -0.012148278991476705,
                                0.0011228760934338903,
                                0.13016644454154228,
                                0.00638949958531456,
                                -0.0008611773332205747,
                                0.14418242038233398,
                                0.001892548141090183,
                                0.0021146153846154};
static const double ref_M2[] = {1.3,
                                0.0,
                                0.0,
                                0.03484000000000001,
                                -0.0062400000000000086,
                                0.060320000000000026,
                                1.3,
                                0.0,
                                0.031200000000000047,
                                -0.05719999999999999,
                                -0.023400000000000042,
                                1.3,
                                -0.0031200000000000364,
                                0.008320000000000008,
                                0.00623999999999996,
                                0.02169000000000007,
                                0.0004399999999999491,
                                0.0020400000000000357,
                                0.03260000000000017,
                                -0.002219999999999998,
                                0.028250000000000098};
static const double ref_residual[] = {
    45.093662965813074,  28.06222665833505,    -2.641608578121959,   1.1950714398560365,
    -2.128633683932537,  2.005099638666117,    0.06858822351194382,  -4.07496568587118,
    1.859396083482952,   22.895534302240605,   0.41192847455206005,  -0.012640332560901135,
    -1.9317965909377728, 0.4153658407993289,   -1.2226373187599997,  3.9028042092000006,
    13.106582636679999,  0.036185477549999276, -0.06385657820000015, -0.05644114170000086};
static const double ref_energy[] = {22.008825865319228, 24.225332848865207};
static const double ref_com[] = {0.21904389619829528, 0.45782170415410056, 0.059262654070259324};
static const double ref_momentum[] = {5.042464583175916, -3.4339138516679766, -11.044268150640324};
static const double ref_spin[] = {0.3164384455028849, 3.8675558499871068, -1.9835618871921956};

// MuJoCo turns inertias into principal axes and back, which costs a few digits of 1e-16 relative to
// the largest entry of each array.
#define TOLERANCE 2e-14

static void assert_near(const double* a, const double* b, int count) {
  double scale = 0.0;
  for (int i = 0; i < count; ++i) {
    scale = fmax(scale, fabs(b[i]));
  }
  for (int i = 0; i < count; ++i) {
    if (!(fabs(a[i] - b[i]) <= TOLERANCE * scale)) {
      fail_msg("[%d] %.17g, expected %.17g", i, a[i], b[i]);
    }
  }
}

static sap_model* model;
static sap_dynamics* dynamics;
static sap_kinematics kin;

static int setup(void** state) {
  (void)state;
  model = mixed_model();
  if (model == NULL || sap_dynamics_create(model, &dynamics, NULL) != SAP_STATUS_OK ||
      sap_kinematics_create(&kin, dynamics, NULL) != SAP_STATUS_OK) {
    return -1;
  }
  sap_kinematics_set(&kin, mixed_q);
  return 0;
}

static int teardown(void** state) {
  (void)state;
  sap_kinematics_clear(&kin);
  sap_dynamics_destroy(dynamics);
  sap_model_destroy(model);
  return 0;
}

static void poses(void** state) {
  (void)state;
  assert_near(kin.p_WB, ref_p, 3 * MIXED_BODIES);
  const double* q = kin.q_WB;
  for (int b = 0; b < MIXED_BODIES; ++b) {
    double same[4];  // q and -q are one rotation
    double dot = 0.0;
    for (int i = 0; i < 4; ++i) {
      dot += q[4 * b + i] * ref_q[4 * b + i];
    }
    for (int i = 0; i < 4; ++i) {
      same[i] = copysign(1.0, dot) * q[4 * b + i];
    }
    assert_near(same, ref_q + 4 * b, 4);
  }
}

static void mass_matrix(void** state) {
  (void)state;
  static const double* const refs[] = {ref_M0, ref_M1, ref_M2};
  const int sizes[] = {7, 7, 6};
  double M[3][49] = {{0.0}};
  double* const blocks[] = {M[0], M[1], M[2]};
  sap_dynamics_mass_matrix(dynamics, &kin, blocks);
  for (int t = 0; t < 3; ++t) {
    double packed[28];
    int count = 0;
    for (int j = 0; j < sizes[t]; ++j) {
      for (int i = j; i < sizes[t]; ++i) {
        packed[count++] = M[t][sizes[t] * j + i];
      }
    }
    assert_near(packed, refs[t], count);
  }
}

static void forces(void** state) {
  (void)state;
  double k1[MIXED_NV], k2[MIXED_NV], expected[MIXED_NV];
  sap_dynamics_forces(dynamics, &(sap_dynamics_state){&kin, mixed_v, mixed_control}, k1, k2);
  for (int i = 0; i < MIXED_NV; ++i) {
    expected[i] = ref_actuators[i] - ref_bias[i];
  }
  assert_near(k1, ref_passive, MIXED_NV);
  assert_near(k2, expected, MIXED_NV);
}

static void inverse_dynamics(void** state) {
  (void)state;
  double residual[MIXED_NV];
  sap_dynamics_inverse(dynamics, &(sap_dynamics_state){&kin, mixed_v, mixed_control}, mixed_a,
                       residual);
  assert_near(residual, ref_residual, MIXED_NV);
}

static void diagnostics(void** state) {
  (void)state;
  sap_diagnostics out;
  sap_dynamics_diagnose(dynamics, &kin, mixed_v, &out);
  const double energy[] = {out.potential_gravity + out.potential_springs, out.kinetic};
  double spin[3];  // MuJoCo's is about the centre of mass
  sap_v3_cross(spin, ref_com, ref_momentum);
  sap_v3_add(spin, spin, ref_spin);
  assert_near(energy, ref_energy, 2);
  assert_near(out.p_WCm, ref_com, 3);
  assert_near(out.linear_momentum, ref_momentum, 3);
  assert_near(out.angular_momentum, spin, 3);
  assert_true(fabs(out.mass - 8.0) < 1e-14);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(poses),       cmocka_unit_test(mass_matrix),
      cmocka_unit_test(forces),      cmocka_unit_test(inverse_dynamics),
      cmocka_unit_test(diagnostics),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
