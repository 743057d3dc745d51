// SPDX-License-Identifier: BSD-3-Clause
// Bring your own engine: bodies, joints and collisions by ODE, the steps by sapstep through its
// table of functions. ODE never steps here. A cart rolls down a slope of 10 degrees on four hinged
// wheels, brakes after a second, and stays at rest. Each body is a tree of six velocities [omega;
// v] (world, centre of mass) with seven positions [p; quaternion].
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <ode/ode.h>

#include <sapstep/stepper.h>

enum { BODIES = 5, WHEELS = 4, NQ = 7 * BODIES, NV = 6 * BODIES, POINTS = 8 };

static const double radius = 0.1, slope = 0.17453292519943295, dt = 0.01;

typedef struct engine {
  dWorldID world;
  dSpaceID space;
  dBodyID body[BODIES];  // the chassis first
  dJointID hinge[WHEELS];
  dVector3 axis_in_wheel[WHEELS];
  double brake;                              // torque of each wheel's brake [N m]
  const sap_regularization* regularization;  // these three for the collision callback
  sap_problem* problem;
  sap_error* error;
  sap_status status;
} engine;

// Puts ODE's bodies where q says.
static void place(const engine* e, const double* q) {
  for (int i = 0; i < BODIES; ++i, q += 7) {
    dBodySetPosition(e->body[i], q[0], q[1], q[2]);
    dBodySetQuaternion(e->body[i], q + 3);
  }
}

// Inertia about the centre of mass in the world's axes, ODE's layout.
static void world_inertia(dBodyID body, dMatrix3 I) {
  dMass mass;
  dMatrix3 half;
  const dReal* R = dBodyGetRotation(body);
  dBodyGetMass(body, &mass);
  dMultiply2_333(half, mass.I, R);  // I R'
  dMultiply0_333(I, R, half);
}

static int mass_matrix(void* context, const double* q, const sap_tree_matrix* M) {
  const engine* e = context;
  place(e, q);
  for (int i = 0; i < BODIES; ++i) {
    dMass mass;
    dMatrix3 I;
    dBodyGetMass(e->body[i], &mass);
    world_inertia(e->body[i], I);
    double* block = M->diagonal[i];  // 6 x 6, column by column, zero until now
    for (int column = 0; column < 3; ++column) {
      for (int row = 0; row < 3; ++row) {
        block[6 * column + row] = I[4 * row + column];
      }
      block[6 * (3 + column) + 3 + column] = mass.mass;
    }
  }
  return 0;
}

// Gravity, gyroscopic moments, and what the user has put on by dBodyAddForce.
static int forces(void* context, double t, const double* q, const double* v, double* k1,
                  double* k2) {
  const engine* e = context;
  (void)t;
  (void)k1;  // springs and dampers would go there, with their K and D
  place(e, q);
  dVector3 gravity;
  dWorldGetGravity(e->world, gravity);
  for (int i = 0; i < BODIES; ++i, k2 += 6, v += 6) {
    dMass mass;
    dMatrix3 I;
    dVector3 momentum, gyroscopic;
    dBodyGetMass(e->body[i], &mass);
    world_inertia(e->body[i], I);
    dMultiply0_331(momentum, I, v);
    dCalcVectorCross3(gyroscopic, momentum, v);
    for (int k = 0; k < 3; ++k) {
      k2[k] = gyroscopic[k] + dBodyGetTorque(e->body[i])[k];
      k2[3 + k] = mass.mass * gravity[k] + dBodyGetForce(e->body[i])[k];
    }
  }
  return 0;
}

static int integrate_positions(void* context, const double* q0, const double* v, double h,
                               double* q) {
  (void)context;
  for (int i = 0; i < BODIES; ++i, q0 += 7, q += 7, v += 6) {
    for (int k = 0; k < 3; ++k) {
      q[k] = q0[k] + h * v[3 + k];
    }
    dQuaternion turn;
    const double speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    dQFromAxisAndAngle(turn, v[0], v[1], v[2], h * speed);
    dQMultiply0(q + 3, turn, q0 + 3);
  }
  return 0;
}

// Row of a Jacobian: direction . velocity of a point of the body, or of its turning (arm NULL).
static void set_row(double* J, int nrows, int row, const dReal* direction, const dReal* arm,
                    double sign) {
  dVector3 moment = {direction[0], direction[1], direction[2]};
  if (arm != NULL) {
    dCalcVectorCross3(moment, arm, direction);
  }
  for (int k = 0; k < 3; ++k) {
    J[nrows * k + row] = sign * moment[k];
    J[nrows * (3 + k) + row] = arm != NULL ? sign * direction[k] : 0.0;
  }
}

static void arm_to(dBodyID body, const dReal* point, dVector3 arm) {
  for (int k = 0; k < 3; ++k) {
    arm[k] = point[k] - dBodyGetPosition(body)[k];
  }
}

// ODE does not hand out its joints' rows: three hold the anchor, two the axis, one brakes.
static sap_status add_hinge(const engine* e, int i) {
  const int32_t trees[2] = {0, i + 1};
  const dBodyID chassis = e->body[0], wheel = e->body[i + 1];
  double J[2][18] = {{0.0}}, g0[3];
  const double* const jacobians[2] = {J[0], J[1]};
  dVector3 anchor[2], axis, wheel_axis, across[2], miss;
  dJointGetHingeAnchor(e->hinge[i], anchor[0]);   // fixed in the chassis
  dJointGetHingeAnchor2(e->hinge[i], anchor[1]);  // and in the wheel
  dJointGetHingeAxis(e->hinge[i], axis);
  for (int side = 0; side < 2; ++side) {
    dVector3 arm;
    arm_to(side == 0 ? chassis : wheel, anchor[side], arm);
    for (int k = 0; k < 3; ++k) {
      const dVector3 unit = {k == 0, k == 1, k == 2};
      set_row(J[side], 3, k, unit, arm, side == 0 ? -1.0 : 1.0);
      g0[k] = anchor[1][k] - anchor[0][k];
    }
  }
  sap_compliant_block joint = {.nrows = 3,
                               .ntrees = 2,
                               .trees = trees,
                               .jacobians = jacobians,
                               .g0 = g0,
                               .stiffness = (double)INFINITY};
  sap_status status = sap_problem_add_compliant(e->problem, &joint, e->regularization, e->error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  dBodyVectorToWorld(wheel, e->axis_in_wheel[i][0], e->axis_in_wheel[i][1], e->axis_in_wheel[i][2],
                     wheel_axis);
  dCalcVectorCross3(miss, axis, wheel_axis);
  dPlaneSpace(axis, across[0], across[1]);
  for (int row = 0; row < 2; ++row) {
    set_row(J[0], 2, row, across[row], NULL, -1.0);
    set_row(J[1], 2, row, across[row], NULL, 1.0);
    g0[row] = dCalcVectorDot3(across[row], miss);
  }
  joint.nrows = 2;
  status = sap_problem_add_compliant(e->problem, &joint, e->regularization, e->error);
  if (status != SAP_STATUS_OK || e->brake == 0.0) {
    return status;
  }
  double w = 0.0;
  set_row(J[0], 1, 0, axis, NULL, -1.0);
  set_row(J[1], 1, 0, axis, NULL, 1.0);
  status = sap_problem_delassus_scale(e->problem, 1, 2, trees, jacobians, &w, e->error);
  const double R = e->regularization->sigma * w, v_hat = 0.0;
  const double upper = dt * e->brake, lower = -upper;
  const sap_block brake = {.set = SAP_SET_BOX,
                           .nrows = 1,
                           .ntrees = 2,
                           .trees = trees,
                           .jacobians = jacobians,
                           .R = &R,
                           .v_hat = &v_hat,
                           .lower = &lower,
                           .upper = &upper};
  return status == SAP_STATUS_OK ? sap_problem_add_block(e->problem, &brake, e->error) : status;
}

static int tree_of(const engine* e, dGeomID geom) {
  int i = 0;
  while (i < BODIES && e->body[i] != dGeomGetBody(geom)) {
    ++i;
  }
  return i < BODIES ? i : -1;
}

// ODE's contacts: the normal points into the first geom, so A is the second one's body.
static void collide(void* context, dGeomID first, dGeomID second) {
  engine* e = context;
  dContactGeom points[POINTS];
  const int tree[2] = {tree_of(e, second), tree_of(e, first)};
  const int n = dCollide(first, second, POINTS, points, (int)sizeof points[0]);
  for (int i = 0; i < n && e->status == SAP_STATUS_OK; ++i) {
    dVector3 t[2], arm;
    double J[2][18];
    int32_t trees[2], count = 0;
    const double* jacobians[2];
    dPlaneSpace(points[i].normal, t[0], t[1]);
    for (int side = 0; side < 2; ++side) {
      if (tree[side] < 0) {
        continue;  // the ground
      }
      const double sign = side == 0 ? -1.0 : 1.0;
      arm_to(e->body[tree[side]], points[i].pos, arm);
      set_row(J[count], 3, 0, t[0], arm, sign);
      set_row(J[count], 3, 1, t[1], arm, sign);
      set_row(J[count], 3, 2, points[i].normal, arm, sign);
      jacobians[count] = J[count];
      trees[count++] = tree[side];
    }
    const sap_contact_block contact = {
        .ntrees = count,
        .trees = trees,
        .jacobians = jacobians,
        .material = {.stiffness = 1e6, .relaxation_time = 0.01, .friction = 0.9},
        .phi0 = -points[i].depth,
        .key = (uint64_t)(tree[1] + 1) * POINTS * BODIES + (uint64_t)(tree[0] + 1) * POINTS +
               (uint64_t)i + 1};
    e->status = sap_problem_add_contact(e->problem, &contact, e->regularization, e->error);
  }
}

static int constraints(void* context, const sap_step_context* step, sap_problem* problem,
                       sap_error* error) {
  engine* e = context;
  place(e, step->q0);
  e->regularization = &step->regularization;
  e->problem = problem;
  e->error = error;
  e->status = SAP_STATUS_OK;
  for (int i = 0; i < WHEELS && e->status == SAP_STATUS_OK; ++i) {
    e->status = add_hinge(e, i);
  }
  dSpaceCollide(e->space, e, collide);
  return (int)e->status;
}

// The ground is z = 0; gravity is tilted by the slope.
static void build(engine* e) {
  dMass mass;
  *e = (engine){.world = dWorldCreate(), .space = dSimpleSpaceCreate(NULL)};
  dWorldSetGravity(e->world, 9.81 * sin(slope), 0.0, -9.81 * cos(slope));
  dCreatePlane(e->space, 0.0, 0.0, 1.0, 0.0);
  for (int i = 0; i < BODIES; ++i) {
    e->body[i] = dBodyCreate(e->world);
  }
  dMassSetBoxTotal(&mass, 20.0, 0.8, 0.4, 0.1);
  dBodySetMass(e->body[0], &mass);
  dBodySetPosition(e->body[0], 0.0, 0.0, radius);
  dMassSetSphereTotal(&mass, 2.0, radius);
  for (int i = 0; i < WHEELS; ++i) {
    const double x = i < 2 ? 0.3 : -0.3, y = i % 2 == 0 ? 0.3 : -0.3;
    const dBodyID wheel = e->body[i + 1];
    const dGeomID ball = dCreateSphere(e->space, radius);
    dBodySetMass(wheel, &mass);
    dBodySetPosition(wheel, x, y, radius);
    dGeomSetBody(ball, wheel);
    e->hinge[i] = dJointCreateHinge(e->world, NULL);
    dJointAttach(e->hinge[i], e->body[0], wheel);
    dJointSetHingeAnchor(e->hinge[i], x, y, radius);
    dJointSetHingeAxis(e->hinge[i], 0.0, 1.0, 0.0);
    dBodyVectorFromWorld(wheel, 0.0, 1.0, 0.0, e->axis_in_wheel[i]);
  }
}

// Rolling without slip: (m + 4 I/r^2) a = m g sin(slope) - 4 brake/r, m all bodies' mass.
static double acceleration(double brake) {
  const double m = 28.0, I = 0.4 * 2.0 * radius * radius;
  return (m * 9.81 * sin(slope) - 4.0 * brake / radius) / (m + 4.0 * I / (radius * radius));
}

static double largest_miss(engine* e, const double* q) {
  double largest = 0.0;
  place(e, q);
  for (int i = 0; i < WHEELS; ++i) {
    dVector3 a, b;
    dJointGetHingeAnchor(e->hinge[i], a);
    dJointGetHingeAnchor2(e->hinge[i], b);
    largest = fmax(largest, dCalcPointsDistance3(a, b));
  }
  return largest;
}

// Rolls for 1 s, brakes with 2.5 N m a wheel; speed and joints as they must be all the time.
static sap_status run(engine* e, sap_stepper* stepper, sap_state* state, int* wrong,
                      sap_error* error) {
  double expected = 0.0;
  sap_status status = SAP_STATUS_OK;
  printf("%6s %12s %12s %12s\n", "t_s", "speed_mps", "expected", "joints_m");
  for (int step = 1; step <= 300 && status == SAP_STATUS_OK; ++step) {
    e->brake = step > 100 ? 2.5 : 0.0;
    status = sap_stepper_step(stepper, state, NULL, error);
    expected = fmax(0.0, expected + dt * acceleration(e->brake));
    const double miss = largest_miss(e, state->q);
    *wrong += !(fabs(state->v[3] - expected) < 5e-3) || !(miss < 1e-5);
    if (step % 25 == 0) {
      printf("%6.2f %12.5f %12.5f %12.2e\n", state->t, state->v[3], expected, miss);
    }
  }
  return status;
}

int main(void) {
  engine e;
  sap_error error = {0};
  sap_stepper* stepper = NULL;
  int32_t tree_sizes[BODIES];
  double q[NQ], v[NV] = {0.0};
  sap_state state = {.q = q, .v = v, .nq = NQ, .nv = NV};
  int wrong = 0;
  dInitODE2(0);
  build(&e);
  for (int i = 0; i < BODIES; ++i) {
    const dReal *p = dBodyGetPosition(e.body[i]), *turn = dBodyGetQuaternion(e.body[i]);
    tree_sizes[i] = 6;
    for (int k = 0; k < 7; ++k) {
      q[7 * i + k] = k < 3 ? p[k] : turn[k - 3];
    }
  }
  const sap_system system = {.context = &e,
                             .nq = NQ,
                             .nv = NV,
                             .ntrees = BODIES,
                             .tree_sizes = tree_sizes,
                             .mass_matrix = mass_matrix,
                             .forces = forces,
                             .integrate_positions = integrate_positions,
                             .constraints = constraints};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  sap_status status = sap_stepper_create(&system, &options, &stepper, &error);
  if (status == SAP_STATUS_OK) {
    status = run(&e, stepper, &state, &wrong, &error);
  }
  if (status != SAP_STATUS_OK) {
    fprintf(stderr, "ode_cart: %s\n", error.message);
  }
  if (wrong > 0) {
    fprintf(stderr, "ode_cart: %d steps are not those of a rolling cart\n", wrong);
  }
  sap_stepper_destroy(stepper);
  dSpaceDestroy(e.space);
  dWorldDestroy(e.world);
  dCloseODE();
  return status == SAP_STATUS_OK && wrong == 0 ? 0 : 1;
}
