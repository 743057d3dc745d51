# SPDX-License-Identifier: BSD-3-Clause
"""Drake as a peer of `sapstep bench`: MultibodyPlant with its SAP solver, or --approximation."""
import argparse

import peer

try:
    from pydrake.multibody.parsing import Parser
    from pydrake.multibody.plant import (
        AddMultibodyPlant,
        MultibodyPlantConfig,
    )
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder
    import logging

    logging.getLogger("drake").setLevel(logging.ERROR)
except ImportError as error:
    peer.missing("pydrake", error)


class Scene:
    def __init__(self, path, dt, approximation):
        builder = DiagramBuilder()
        config = MultibodyPlantConfig(
            time_step=dt, contact_model="point", discrete_contact_approximation=approximation
        )
        self.plant, _ = AddMultibodyPlant(config, builder)
        Parser(self.plant).AddModels(path)
        self.plant.Finalize()
        self.diagram = builder.Build()
        self.dt = dt
        self.reset()
        self.described = {}

    def reset(self):
        self.simulator = Simulator(self.diagram)
        context = self.diagram.GetMutableSubsystemContext(
            self.plant, self.simulator.get_mutable_context()
        )
        if self.plant.num_actuators() > 0:
            self.plant.get_actuation_input_port().FixValue(
                context, [0.0] * self.plant.num_actuated_dofs()
            )
        self.simulator.Initialize()
        self.done = 0

    def step(self, count):
        self.done += count
        self.simulator.AdvanceTo(self.done * self.dt)

    def describe(self, skip, steps):
        """Contacts as the mean over up to 20 looks, from a run that is not timed."""
        if (skip, steps) not in self.described:
            self.reset()
            self.step(skip)
            looks = min(20, steps)
            contacts = 0
            for look in range(looks):
                self.step(steps * (look + 1) // looks - steps * look // looks)
                context = self.plant.GetMyContextFromRoot(self.simulator.get_context())
                results = self.plant.get_contact_results_output_port().Eval(context)
                contacts += results.num_point_pair_contacts()
            self.described = {(skip, steps): {"contacts": contacts / looks}}
        return self.described[(skip, steps)]


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--approximation", default="sap", help="sap, tamsi, similar or lagged (sap)")
arguments = parser.parse_args()
peer.serve(
    f"drake {arguments.approximation}",
    lambda path, dt: Scene(path, dt, arguments.approximation),
)
