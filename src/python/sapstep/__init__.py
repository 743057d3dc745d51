# SPDX-License-Identifier: BSD-3-Clause
"""Robot simulation steps with frictional contact.

Three entry points:

* :class:`Problem`: your own dynamics; give A, v*, Jacobians and contact parameters, get velocities
  and impulses from any solver.
* :class:`Stepper`: your own system as Python functions (mass matrix, forces, contacts), stepped.
* :class:`Simulation`: an MJCF or URDF scene, stepped by the built-in engine; :func:`step_all` steps
  many at once, :meth:`Simulation.rollout` returns trajectories under many controls; :class:`Tape`
  differentiates functions of a trajectory.

:class:`Recording` reads recordings, :func:`converge` measures the order of a scheme on your system.
``sapstep.mujoco`` steps MuJoCo's own models and data, ``sapstep.gym`` makes Gymnasium environments,
``sapstep.torch`` and ``sapstep.jax`` make contact problems differentiable functions,
``sapstep.program`` runs the command-line program.

SI units; quaternions w, x, y, z; contact rows [t1 t2 n] with the normal from body A into body B.
Arrays are float64. Failures of the library are raised as :class:`Error` with its message.
"""

from importlib import import_module
from typing import Any

from ._elements import Actuator, Body, Joint, Site
from ._library import Error, InputError, StepError, version
from ._names import hint
from ._recording import Recorder
from ._stepper import StepReport
from .batch import Trajectories, step_all
from .convergence import Orders, converge
from .problem import Problem, ProblemView, Residuals, Solution, solvers
from .recording import Recording
from .saving import Model
from .simulation import Simulation
from .system import Step, Stepper, System
from .tape import Tape, vjp_all

__all__ = [
    "Actuator",
    "Body",
    "Error",
    "InputError",
    "Joint",
    "Model",
    "Orders",
    "Problem",
    "ProblemView",
    "Recorder",
    "Recording",
    "Residuals",
    "Simulation",
    "Site",
    "Solution",
    "Step",
    "StepError",
    "StepReport",
    "Stepper",
    "System",
    "Tape",
    "Trajectories",
    "converge",
    "solvers",
    "step_all",
    "version",
    "vjp_all",
]
__version__ = version()


_OTHERS = dict.fromkeys(("load", "MjModel", "MjData", "Scene", "Robot"), "Simulation(PATH)")


def __getattr__(name: str) -> Any:
    if name in ("check", "export", "gym", "jax", "mujoco", "program", "torch", "view"):
        return import_module(f"sapstep.{name}")
    if name.startswith("_"):
        raise AttributeError(name)
    raise AttributeError(f"sapstep has no '{name}': {hint(name, __all__, _OTHERS)}")
