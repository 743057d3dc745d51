#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Drake's CENIC, or an integrator of MuJoCo, as a peer of `sapstep converge --peer`.

  work_peer.py cenic|RK4|Euler|implicit|implicitfast SCENE DURATION DT

Runs the scene with one setting after the other, and prints lines NAME,SETTING,SECONDS,SOLVES,ERROR:
the accuracy (CENIC) or the step [s], processor time, convex solves (CENIC: 3 for each attempt) or
steps, and the L2 norm over the multiples of DT of the positions' error, against the engine's own
run of the finest setting: engines have different laws of contact.

CENIC: pairs have sapstep's stiffness ("sapstep:stiffness[:GEOM]" of <custom>, in series), no
dissipation, stiction tolerance 1e-4 m/s, steps of at most 0.1 s. MuJoCo: solref and solimp are such
that a body rests at the depth m g/k. Joints must be hinges and slides."""
import pathlib
import re
import sys
import time
import xml.etree.ElementTree

import numpy

STIFFEST = 1e30


def numerics(path):
    text = pathlib.Path(path).read_text()
    found = re.findall(r'name="sapstep:(stiffness(?::[^"]*)?)" data="([^"]*)"', text)
    return {name.partition(":")[2]: float(value) for name, value in found}


class Cenic:
    name, settings, finest = "CENIC", (1e-2, 1e-3, 1e-4, 1e-5, 1e-6), 1e-7

    def __init__(self, path):
        from pydrake import all as drake
        import logging

        logging.getLogger("drake").setLevel(logging.ERROR)
        self.drake, self.path, self.stiffness = drake, path, numerics(path)

    def build(self, setting):
        drake = self.drake
        builder = drake.DiagramBuilder()
        plant, graph = drake.AddMultibodyPlantSceneGraph(builder, 0.0)
        drake.Parser(plant).AddModels(self.path)
        inspector = graph.model_inspector()
        for geometry in inspector.GetGeometryIds(drake.GeometrySet(inspector.GetAllGeometryIds()), drake.Role.kProximity):
            properties = drake.ProximityProperties(inspector.GetProximityProperties(geometry))
            label = inspector.GetName(geometry).rpartition("::")[2]
            default = self.stiffness.get("", 1e5)
            for key, value in (("point_contact_stiffness", min(self.stiffness.get(label, default), STIFFEST)),
                               ("hunt_crossley_dissipation", 0.0)):
                properties.UpdateProperty("material", key, value)
            graph.AssignRole(plant.get_source_id(), geometry, properties, drake.RoleAssign.kReplace)
        for joint in xml.etree.ElementTree.parse(self.path).iter("joint"):  # Drake's parser leaves springs out
            if float(joint.get("stiffness", "0")) > 0.0:
                slides = joint.get("type") == "slide"
                spring = drake.PrismaticSpring if slides else drake.RevoluteSpring
                plant.AddForceElement(spring(plant.GetJointByName(joint.get("name")), float(joint.get("springref", "0")),
                                             float(joint.get("stiffness"))))
        plant.set_stiction_tolerance(1e-4)
        plant.Finalize()
        simulator = drake.Simulator(builder.Build())
        config = drake.SimulatorConfig(integration_scheme="cenic", accuracy=setting, max_step_size=0.1,
                                       use_error_control=True)
        drake.ApplySimulatorConfig(config, simulator)
        self.context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
        between = drake.SpatialInertia.SolidSphereWithMass(1e-8, 0.01)  # bodies between joints have no mass
        for index in range(1, plant.num_bodies()):
            body = plant.get_body(drake.BodyIndex(index))
            if body.default_mass() == 0.0:
                body.SetSpatialInertiaInBodyFrame(self.context, between)
        if plant.num_actuators() > 0:
            plant.get_actuation_input_port().FixValue(self.context, [0.0] * plant.num_actuated_dofs())
        simulator.Initialize()
        self.plant, self.simulator, self.root = plant, simulator, plant
        return self

    def advance(self, t):
        self.simulator.AdvanceTo(t)
        return self.plant.GetPositions(self.context).copy()

    def solves(self):
        statistics = self.simulator.get_integrator()
        attempts = statistics.get_num_steps_taken() + statistics.get_num_step_shrinkages_from_error_control()
        return 3 * attempts


class MuJoCo:
    settings, finest = (0.02, 0.01, 0.005, 0.0025, 0.00125), 0.00125 / 32

    def __init__(self, path, integrator):
        import mujoco

        self.mujoco, self.path, self.name = mujoco, path, f"MuJoCo {integrator}"
        self.model = mujoco.MjModel.from_xml_path(path)
        self.model.opt.integrator = getattr(mujoco.mjtIntegrator, "mjINT_" + integrator.upper())
        self.calibrate(numerics(path))

    def calibrate(self, stiffness):
        """Static depth: (1 - d)/d A m g = K d r for a body of mass m, A = 1/m."""
        model, d = self.model, 0.9
        mass = float(model.body_mass[1:].max())
        names = [self.mujoco.mj_id2name(model, self.mujoco.mjtObj.mjOBJ_GEOM, g) for g in range(model.ngeom)]
        softness = sum(1 / stiffness.get(name, stiffness.get("", 1e5)) for name in set(names) & set(stiffness)) or 2 / stiffness.get("", 1e5)
        K = (1 - d) / (d * d) / softness / mass
        model.geom_solref[:] = (-K, 0.0)
        model.geom_solimp[:] = (d, d, 0.001, 0.5, 2)

    def build(self, setting):
        self.model.opt.timestep = setting
        self.data, self.dt, self.count = self.mujoco.MjData(self.model), setting, 0
        return self

    def advance(self, t):
        count = round(t / self.dt)
        self.mujoco.mj_step(self.model, self.data, count - self.count)
        self.count = count
        return self.data.qpos.copy()

    def solves(self):
        return self.count


def run(engine, setting, times):
    running = engine.build(setting)
    begun = time.process_time()
    positions = [running.advance(t) for t in times]
    return numpy.array(positions), time.process_time() - begun, running.solves()


def main(which, path, duration, dt):
    engine = Cenic(path) if which == "cenic" else MuJoCo(path, which)
    times = [dt * (k + 1) for k in range(max(1, round(float(duration) / dt)))]
    reference = run(engine, engine.finest, times)[0]
    for setting in engine.settings:
        positions, seconds, solves = run(engine, setting, times)
        error = numpy.sqrt(((positions - reference) ** 2).sum(axis=1).mean())
        print(f"{engine.name},{setting:g},{seconds:.6g},{solves},{error:.6g}", flush=True)


main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))
