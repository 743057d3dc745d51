# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo as a peer of `sapstep bench`, at the scene's own settings."""
import argparse

import peer

try:
    import mujoco
except ImportError as error:
    peer.missing("mujoco", error)


class Scene:
    def __init__(self, path, dt, cone, tolerance):
        self.model = mujoco.MjModel.from_xml_path(path)
        self.model.opt.timestep = dt
        if cone is not None:
            self.model.opt.cone = cone
        if tolerance is not None:
            self.model.opt.tolerance = tolerance
        self.data = mujoco.MjData(self.model)
        self.described = {}

    def reset(self):
        mujoco.mj_resetData(self.model, self.data)

    def step(self, count):
        mujoco.mj_step(self.model, self.data, count)

    def describe(self, skip, steps):
        """Means over the steps, from a run of their own that is not timed."""
        if (skip, steps) not in self.described:
            self.reset()
            self.step(skip)
            contacts = iterations = 0
            for _ in range(steps):
                mujoco.mj_step(self.model, self.data)
                contacts += self.data.ncon
                islands = max(1, self.data.nisland)
                iterations += max(self.data.solver_niter[: min(islands, 20)], default=0)
            means = {"contacts": contacts / steps, "iterations": iterations / steps}
            self.described = {(skip, steps): means}
        return self.described[(skip, steps)]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--elliptic", action="store_true", help="elliptic cones")
parser.add_argument("--tolerance", type=float, help="of the solver")
arguments = parser.parse_args()
name = f"mujoco {mujoco.__version__}" + (" elliptic" if arguments.elliptic else "")
peer.serve(
    name,
    lambda path, dt: Scene(
        path, dt, mujoco.mjtCone.mjCONE_ELLIPTIC if arguments.elliptic else None, arguments.tolerance
    ),
)
