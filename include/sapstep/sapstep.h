// SPDX-License-Identifier: BSD-3-Clause
// All public headers.
#ifndef SAPSTEP_SAPSTEP_H
#define SAPSTEP_SAPSTEP_H

#include <sapstep/base.h>
#include <sapstep/batch.h>
#include <sapstep/chart.h>
#include <sapstep/checkpoint.h>
#include <sapstep/contact.h>
#include <sapstep/model.h>
#include <sapstep/multibody.h>
#include <sapstep/output.h>
#include <sapstep/page.h>
#include <sapstep/problem.h>
#include <sapstep/problem_file.h>
#include <sapstep/recorder.h>
#include <sapstep/scene.h>
#include <sapstep/solver.h>
#include <sapstep/stepper.h>
#include <sapstep/system.h>

#endif
