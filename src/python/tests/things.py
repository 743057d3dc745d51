# SPDX-License-Identifier: BSD-3-Clause
"""What tests share: scenes, a small system, one object of each kind."""

import os
from pathlib import Path

import numpy as np
import pytest

import sapstep

SCENES = Path(os.environ["SAPSTEP_SOURCE"]) / "examples" / "scenes"
EYE = {0: np.eye(3)}


class Ball(sapstep.System):
    """1 kg on a plane."""

    tree_sizes = (3,)

    def mass_matrix(self, q):
        return np.eye(3)

    def forces(self, t, q, v):
        return np.zeros(3), [0, 0, -10.0]

    def constraints(self, step, problem):
        problem.add_contact(EYE, step.q0[2], stiffness=1e6)


def stepper():
    return sapstep.Stepper(Ball(), np.zeros(3), np.zeros(3), 1e-3)


def problem():
    made = sapstep.Problem(0.01, [3])
    made.set_momentum(np.eye(3))
    made.set_v_star([0, 0, -0.1])
    made.add_contact(EYE, 0.0)
    return made


def recorder(tmp_path):
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    return robot.record(tmp_path / "r.h5")


def adapter_module():
    """sapstep.mujoco, where it was built with the MuJoCo that is there."""
    pytest.importorskip("mujoco")
    try:
        import sapstep.mujoco
    except ImportError as reason:
        pytest.skip(str(reason), allow_module_level=True)
    return sapstep.mujoco


def adapter():
    module = adapter_module()
    mujoco = module.mujoco
    model = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='1'/></body></worldbody>"
                                           "</mujoco>")
    made = module.Adapter(model)
    made.data = mujoco.MjData(model)
    return made
