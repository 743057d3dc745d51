// SPDX-License-Identifier: BSD-3-Clause
// From C++ with Eigen: the table of functions as lambdas, sapstep's arrays as Eigen maps, errors as
// exceptions. A box is thrown along the floor and slides until friction stops it.
#include <cmath>
#include <iomanip>
#include <iostream>
#include <memory>
#include <stdexcept>

#include <Eigen/Geometry>

#include <sapstep/stepper.h>

using Eigen::Map;
using Eigen::Matrix3d;
using Eigen::Quaterniond;
using Eigen::Vector3d;
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Vector6d = Eigen::Matrix<double, 6, 1>;

struct Box {
  double mass = 2.0;
  Vector3d half{0.15, 0.1, 0.05};
  Vector3d gravity{0.0, 0.0, -9.81};
  sap_material floor{};

  Vector3d principal() const {
    const Vector3d s = half.cwiseAbs2();
    return mass / 3.0 * Vector3d(s.y() + s.z(), s.x() + s.z(), s.x() + s.y());
  }
};

// q = [p; quaternion w x y z], v = [omega; velocity of the centre], both in the world's axes.
static Matrix3d rotation(const double* q) {
  return Quaterniond(q[3], q[4], q[5], q[6]).toRotationMatrix();
}

static Matrix3d inertia(const Box& box, const double* q) {
  const Matrix3d R = rotation(q);
  return R * box.principal().asDiagonal() * R.transpose();
}

static Matrix3d cross(const Vector3d& r) {
  Matrix3d m;
  m << 0.0, -r.z(), r.y(), r.z(), 0.0, -r.x(), -r.y(), r.x(), 0.0;
  return m;
}

// One contact per corner that is near the floor z = 0. An exception must not cross the C library.
static int add_corners(const Box& box, const sap_step_context& step, sap_problem* problem,
                       sap_error* error) {
  const Map<const Vector3d> p(step.q0);
  const Matrix3d R = rotation(step.q0);
  const std::int32_t tree = 0;
  int status = SAP_STATUS_OK;
  for (int corner = 0; corner < 8 && status == SAP_STATUS_OK; ++corner) {
    const Vector3d signs(corner & 1 ? 1.0 : -1.0, corner & 2 ? 1.0 : -1.0, corner & 4 ? 1.0 : -1.0);
    const Vector3d arm = R * signs.cwiseProduct(box.half);
    const double height = p.z() + arm.z();
    if (height > 0.01) {
      continue;
    }
    Eigen::Matrix<double, 3, 6> J;  // column-major as sapstep's; the world's axes are [t1 t2 n]
    J << -cross(arm), Matrix3d::Identity();
    const double* const jacobian = J.data();
    sap_contact_block contact{};
    contact.ntrees = 1;
    contact.trees = &tree;
    contact.jacobians = &jacobian;
    contact.material = box.floor;
    contact.phi0 = height;
    contact.key = static_cast<std::uint64_t>(corner) + 1;
    status = sap_problem_add_contact(problem, &contact, &step.regularization, error);
  }
  return status;
}

static sap_system make_system(Box& box) {
  static const std::int32_t tree_size = 6;
  sap_system system{};
  system.context = &box;
  system.nq = 7;
  system.nv = 6;
  system.ntrees = 1;
  system.tree_sizes = &tree_size;
  system.mass_matrix = [](void* context, const double* q, const sap_tree_matrix* M) {
    const Box& b = *static_cast<const Box*>(context);
    Map<Matrix6d> block(M->diagonal[0]);
    block.topLeftCorner<3, 3>() = inertia(b, q);
    block.bottomRightCorner<3, 3>() = b.mass * Matrix3d::Identity();
    return 0;
  };
  system.forces = [](void* context, double, const double* q, const double* v, double*, double* k2) {
    const Box& b = *static_cast<const Box*>(context);
    const Map<const Vector3d> omega(v);
    Map<Vector6d> force(k2);
    force.head<3>() = (inertia(b, q) * omega).cross(omega);
    force.tail<3>() = b.mass * b.gravity;
    return 0;
  };
  system.integrate_positions = [](void*, const double* q0, const double* v, double dt, double* q) {
    const Map<const Vector3d> p0(q0), omega(v), velocity(v + 3);
    Map<Vector3d> p(q);
    p = p0 + dt * velocity;
    const double angle = dt * omega.norm();
    const Vector3d axis = angle > 0.0 ? Vector3d(omega.normalized()) : Vector3d(Vector3d::UnitX());
    const Quaterniond turned =
        Quaterniond(Eigen::AngleAxisd(angle, axis)) * Quaterniond(q0[3], q0[4], q0[5], q0[6]);
    q[3] = turned.w();  // Eigen's own memory order is x y z w
    q[4] = turned.x();
    q[5] = turned.y();
    q[6] = turned.z();
    return 0;
  };
  system.constraints = [](void* context, const sap_step_context* step, sap_problem* problem,
                          sap_error* error) {
    return add_corners(*static_cast<const Box*>(context), *step, problem, error);
  };
  return system;
}

using Stepper = std::unique_ptr<sap_stepper, decltype(&sap_stepper_destroy)>;

static void check(sap_status status, const sap_error& error) {
  if (status != SAP_STATUS_OK) {
    throw std::runtime_error(error.message);
  }
}

static Stepper make_stepper(const sap_system& system, double dt) {
  sap_error error{};
  sap_stepper_options options = sap_stepper_options_default();
  options.dt = dt;
  sap_stepper* stepper = nullptr;
  check(sap_stepper_create(&system, &options, &stepper, &error), error);
  return Stepper(stepper, &sap_stepper_destroy);
}

// Thrown with v0 the box comes to rest after v0^2/(2 mu g), the floor carries m g all the way.
static bool slide() {
  const double v0 = 1.5, mu = 0.4, dt = 1e-3;
  Box box;
  box.floor = sap_material_default();
  box.floor.friction = mu;
  box.floor.relaxation_time = 1e-3;
  const sap_system system = make_system(box);
  const Stepper stepper = make_stepper(system, dt);
  const double weight = -box.mass * box.gravity.z();
  Eigen::Matrix<double, 7, 1> q;
  q << 0.0, 0.0, box.half.z() - weight / (4.0 * box.floor.stiffness), 1.0, 0.0, 0.0, 0.0;
  Vector6d v;
  v << 0.0, 0.0, 0.0, v0, 0.0, 0.0;
  sap_state state{};
  state.q = q.data();
  state.v = v.data();
  state.nq = 7;
  state.nv = 6;
  double carried = 0.0;
  std::cout << "   t_s         x_m     vx_mps    normal_N\n" << std::fixed;
  for (int i = 1; i <= 500; ++i) {
    sap_error error{};
    sap_step_report report{};
    check(sap_stepper_step(stepper.get(), &state, &report, &error), error);
    const Eigen::Map<const Eigen::VectorXd> gamma(report.solution->gamma, report.solution->nrows);
    double normal = 0.0;
    for (Eigen::Index row = 2; row < gamma.size(); row += 3) {
      normal += gamma[row] / dt;
    }
    carried += normal / 500.0;
    if (i % 50 == 0) {
      std::cout << std::setprecision(3) << std::setw(6) << state.t << std::setprecision(6)
                << std::setw(12) << q.x() << std::setw(11) << v[3] << std::setw(12) << normal
                << '\n';
    }
  }
  const double way = v0 * v0 / (2.0 * mu * 9.81);
  return std::abs(q.x() - way) < 0.01 * way && std::abs(v[3]) < 1e-4 &&
         std::abs(carried - weight) < 0.01 * weight;
}

int main() {
  try {
    if (slide()) {
      return 0;
    }
    std::cerr << "eigen_box: the box does not stop where it should\n";
  } catch (const std::exception& e) {
    std::cerr << "eigen_box: " << e.what() << '\n';
  }
  return 1;
}
