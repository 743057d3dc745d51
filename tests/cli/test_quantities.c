// SPDX-License-Identifier: BSD-3-Clause
// sapstep export: every quantity is the one of a recording whose numbers are all different.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "support/command.h"
#include "support/numbered_recording.h"

static const char* const program = SAPSTEP_PROGRAM;

// Compares a line of CSV with the values; returns the next line.
static const char* expect_line(const char* line, const double* values, int count) {
  char* stop;
  for (int i = 0; i < count; ++i, line = stop + 1) {
    const double found = strtod(line, &stop);
    if (!(fabs(found - values[i]) <= 1e-6 * fmax(1.0, fabs(values[i])))) {  // poses are floats
      fail_msg("column %d: %g, not %g", i, found, values[i]);
    }
    assert_true(*stop == (i + 1 < count ? ',' : '\n'));
  }
  return line;
}

static char* exported(scratch* s, const char* arguments, const char* header) {
  char path[SCRATCH_PATH_SIZE], line[256];
  numbered_record(scratch_path(s, "a.h5", path));
  (void)snprintf(line, sizeof line, "export a.h5 %s", arguments);
  command_result r = command_exits(s, program, line, 0);
  assert_memory_equal(r.out, header, strlen(header));
  free(r.err);
  return r.out;
}

// The force of a contact on body B, in the world's axes.
static double force(const sap_contact* c, int j) {
  return (c->R_WC[j] * c->gamma[0] + c->R_WC[3 + j] * c->gamma[1] + c->R_WC[6 + j] * c->gamma[2]) /
         numbered_dt;
}

static void states_and_energies(void** state) {
  static const char header[] =
      "t_s,kinetic_J,gravity_J,springs_J,total_J,position_cart_x_m,position_cart_y_m,"
      "position_cart_z_m,position_pole_x_m,position_pole_y_m,position_pole_z_m,q_joint_0_m,"
      "q_joint_1_rad,v_joint_0_mps,v_joint_1_radps,momentum_px_kgmps,momentum_py_kgmps,"
      "momentum_pz_kgmps,momentum_Lx_kgm2ps,momentum_Ly_kgm2ps,momentum_Lz_kgm2ps,"
      "actuator_actuator_0,actuator_actuator_1,sensor_sensor_0_0,sensor_sensor_0_1\n";
  char* text = exported(*state, "energy position q v momentum actuator sensor", header);
  const char* line = text + sizeof header - 1;
  for (int k = 0; k < NUMBERED_ROWS; ++k) {
    double p[3 * NUMBERED_BODIES], q[4 * NUMBERED_BODIES];
    numbered_pose(k, p, q);
    const double e[3] = {numbered_energy(k, 0), numbered_energy(k, 1), numbered_energy(k, 2)};
    const double values[] = {numbered_dt * k,
                             e[0],
                             e[1],
                             e[2],
                             e[0] + e[1] + e[2],
                             p[3],
                             p[4],
                             p[5],
                             p[6],
                             p[7],
                             p[8],
                             0.1 * k,
                             1.0 + 0.2 * k,
                             2.0 + 0.3 * k,
                             3.0 + 0.4 * k,
                             60.0 + k,
                             61,
                             62,
                             63,
                             64,
                             65.0 + k,
                             4.0 + 0.5 * k,
                             5.0 + 0.6 * k,
                             6.0 + k,
                             7.0 + 2.0 * k};
    line = expect_line(line, values, sizeof values / sizeof *values);
  }
  assert_true(*line == '\0');
  free(text);
}

static void contacts_and_reports(void** state) {
  static const char header[] =
      "t_s,contacts,contact_force_cart_x_N,contact_force_cart_y_N,contact_force_cart_z_N,"
      "contact_force_pole_x_N,contact_force_pole_y_N,contact_force_pole_z_N,penetration_m,"
      "slip_mps,pressure_Pa,newton_iterations,converged,momentum_error,cost_J,factorizations,"
      "evaluations,free_motion_iterations,free_motion_residual,time_s,rows,dt_s,time_solver_s,"
      "islands\n";
  char* text = exported(*state, "contacts contact_force penetration slip pressure step", header);
  const char* line = text + sizeof header - 1;
  for (int k = 0; k < NUMBERED_ROWS; ++k) {
    const sap_contact a = numbered_contact(k, 0), b = numbered_contact(k, 1);
    const double values[] = {numbered_dt * k,
                             NUMBERED_CONTACTS,
                             force(&a, 0) - force(&b, 0),
                             force(&a, 1) - force(&b, 1),
                             force(&a, 2) - force(&b, 2),
                             force(&b, 0),
                             force(&b, 1),
                             force(&b, 2),
                             -b.phi,
                             hypot(b.vc[0], b.vc[1]),
                             a.gamma[2] / (numbered_dt * a.area),
                             10 + (k == 1 ? 5 : k),
                             k != 3,
                             1e-7 * (k + 1),
                             50.0 + k,
                             20 + k,
                             30 + k,
                             80 + k,
                             1e-9 * (k + 1),
                             k == 5 ? 0.09 : 0.001 * (k + 1),
                             70 + k,
                             numbered_dt,
                             1e-4 * (k + 1),
                             40 + k};
    line = expect_line(line, values, sizeof values / sizeof *values);
  }
  assert_true(*line == '\0');
  free(text);
}

// Every column of every contact.
static void contacts(void** state) {
  static const char header[] =
      "t_s,body_A,body_B,shape_A,shape_B,feature,mode,x_m,y_m,z_m,t1x,t1y,t1z,t2x,t2y,t2z,nx,ny,nz,"
      "distance_m,v_t1_mps,v_t2_mps,v_n_mps,impulse_t1_Ns,impulse_t2_Ns,impulse_n_Ns,w_spin_radps,"
      "w_roll1_radps,w_roll2_radps,moment_spin_Nms,moment_roll1_Nms,moment_roll2_Nms,patch,area_m2,"
      "pressure_Pa,stiffness_Npm,relaxation_time_s,friction,realised\n";
  char* text = exported(*state, "--contacts", header);
  const char* line = text + sizeof header - 1;
  for (int i = 0; i < NUMBERED_ROWS * NUMBERED_CONTACTS; ++i) {
    const int k = i / NUMBERED_CONTACTS, c = i % NUMBERED_CONTACTS;
    const sap_contact x = numbered_contact(k, c);
    const double values[] = {numbered_dt * k,
                             c,
                             c + 1,
                             c,
                             c + 1,
                             c == 0 ? 65 : 5 + k,
                             c == 0 ? 2 : 1,
                             x.point[0],
                             x.point[1],
                             x.point[2],
                             x.R_WC[0],
                             x.R_WC[1],
                             x.R_WC[2],
                             x.R_WC[3],
                             x.R_WC[4],
                             x.R_WC[5],
                             x.R_WC[6],
                             x.R_WC[7],
                             x.R_WC[8],
                             x.phi,
                             x.vc[0],
                             x.vc[1],
                             x.vc[2],
                             x.gamma[0],
                             x.gamma[1],
                             x.gamma[2],
                             x.vc[3],
                             x.vc[4],
                             x.vc[5],
                             x.gamma[3],
                             x.gamma[4],
                             x.gamma[5],
                             c == 0,
                             x.area,
                             c == 0 ? x.gamma[2] / (numbered_dt * x.area) : 0.0,
                             x.material.stiffness,
                             x.material.relaxation_time,
                             x.friction[0],
                             x.realised};
    line = expect_line(line, values, sizeof values / sizeof *values);
  }
  assert_true(*line == '\0');
  free(text);
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
  const struct CMUnitTest tests[] = {TEST(states_and_energies), TEST(contacts_and_reports),
                                     TEST(contacts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
