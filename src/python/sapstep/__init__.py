# SPDX-License-Identifier: BSD-3-Clause
"""Robot simulation steps with frictional contact.

Three entry points:

* :class:`Problem`: your own dynamics; give A, v*, Jacobians and contact parameters, get velocities
  and impulses from any solver.
* :class:`Stepper`: your own system as Python functions (mass matrix, forces, contacts), stepped.
* :class:`Simulation`: an MJCF or URDF scene, stepped by the built-in engine; :func:`step_all` steps
  many at once. ``sapstep.mujoco`` steps MuJoCo's own models and data, ``sapstep.program`` runs the
  command-line program.

SI units; quaternions w, x, y, z; contact rows [t1 t2 n] with the normal from body A into body B.
Arrays are float64. Failures of the library are raised as :class:`Error` with its message.
"""

from ._library import Error, InputError, StepError, version
from ._recording import Recorder
from ._scene import Joint
from ._stepper import StepReport
from .batch import step_all
from .problem import Problem, ProblemView, Residuals, Solution, solvers
from .simulation import Simulation
from .system import Step, Stepper, System

__all__ = [
    "Error",
    "InputError",
    "Joint",
    "Problem",
    "ProblemView",
    "Recorder",
    "Residuals",
    "Simulation",
    "Solution",
    "Step",
    "StepError",
    "StepReport",
    "Stepper",
    "System",
    "solvers",
    "step_all",
    "version",
]
__version__ = version()
