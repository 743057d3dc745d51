// SPDX-License-Identifier: BSD-3-Clause
// Includes all public headers, except mujoco.h, which needs a build with MuJoCo.
//
// Entry points, and the headers that serve each:
//   every program     base.h          status, errors; conventions of units, frames and signs
//   problem API       problem.h       contact problems: A, cones, limits, boxes, equalities
//   (own assembly)    solver.h        options, solve, reports, residuals
//                     gradient.h      derivatives of a problem's solution by its data
//                     problem_file.h  problems and solutions as FCLIB files
//   stepper API       system.h        state; callbacks of an engine: M(q), forces, constraints
//   (own engine)      stepper.h       options, steps, reports, memory
//                     adaptive.h      steps that choose their own length by their error
//                     linearize.h     derivatives of steps
//   scenes            scene.h         reads MJCF and URDF files into a model
//   (built-in engine) model.h         builds models: bodies, joints, shapes, actuators
//                     sensor.h        sensors and sites of a model
//                     contact.h       materials, and the contact law: R and v_hat
//                     multibody.h     a model as a system; contacts, energies, batches
//   output            recorder.h      recordings of runs (HDF5), written and read
//                     output.h        trajectories, tables, charts, 3D pages, checkpoints
//   MuJoCo            mujoco.h        steps MuJoCo models with these solvers
#pragma once

#include <sapstep/adaptive.h>
#include <sapstep/base.h>
#include <sapstep/contact.h>
#include <sapstep/gradient.h>
#include <sapstep/linearize.h>
#include <sapstep/model.h>
#include <sapstep/multibody.h>
#include <sapstep/output.h>
#include <sapstep/problem.h>
#include <sapstep/problem_file.h>
#include <sapstep/recorder.h>
#include <sapstep/scene.h>
#include <sapstep/sensor.h>
#include <sapstep/solver.h>
#include <sapstep/stepper.h>
#include <sapstep/system.h>
