#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Error against processor time of error-controlled steps: sapstep, Drake's CENIC, MuJoCo's RK4.

  accuracy.py [--turns N]

Needs the Python package sapstep; pydrake and mujoco are optional. Two problems:
  pendulum  examples/scenes/double_pendulum.xml for 2 s; error: of the first angle [rad], the
            reference has accuracy 1e-10
  ball      1 kg falls 0.5 m onto a spring of 1e4 N/m again and again, for 10 s; error: part of
            the energy, which is constant, that is lost or gained
Prints JSON: the error of each setting and its times in ms, in turns. Without pydrake or mujoco their rows are missing."""
import argparse
import json
import logging
import pathlib
import tempfile
import time

import sapstep

PENDULUM = str(pathlib.Path(__file__).parents[2] / "examples" / "scenes" / "double_pendulum.xml")
GRAVITY, RADIUS, HEIGHT, STIFFNESS = 9.81, 0.1, 0.6, 1e4
BALL = f"""<mujoco><option gravity="0 0 -{GRAVITY}"/><custom><numeric name="sapstep:stiffness" data="{2 * STIFFNESS}"/>
<numeric name="sapstep:relaxation_time" data="0"/></custom><default><geom condim="1"/></default><worldbody>
<geom type="plane" size="5 5 1"/><body pos="0 0 {HEIGHT}"><joint type="slide" axis="0 0 1"/>
<geom size="{RADIUS}" mass="1"/></body></worldbody></mujoco>"""
END = {"pendulum": 2.0, "ball": 10.0}


def lost(z, speed):
    """Part of the energy of the ball at height z; the spring holds the rest where z < RADIUS."""
    spring = 0.5 * STIFFNESS * min(z - RADIUS, 0.0) ** 2
    return abs(1.0 - (0.5 * speed**2 + GRAVITY * (z - RADIUS) + spring) / (GRAVITY * (HEIGHT - RADIUS)))


def timed(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def sapstep_run(problem, accuracy, paths):
    simulation = sapstep.Simulation(paths[problem], scheme="midpoint",
                                    relative_tolerance=max(1e-12, min(1e-6, 0.01 * accuracy)))
    seconds = timed(lambda: simulation.advance(END[problem], accuracy=accuracy))
    q, v = float(simulation.q[0]), float(simulation.v[0])
    return (q if problem == "pendulum" else lost(HEIGHT + q, v)), seconds


def cenic_run(problem, accuracy, paths):
    from pydrake import all as drake

    logging.getLogger("drake").setLevel(logging.ERROR)
    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, 0.0)
    if problem == "pendulum":
        drake.Parser(plant).AddModels(PENDULUM)
    else:
        properties = drake.ProximityProperties()
        drake.AddContactMaterial(0.0, 2 * STIFFNESS, drake.CoulombFriction(0.0, 0.0), properties)
        inertia = drake.SpatialInertia.SolidSphereWithMass(1.0, RADIUS)
        body = plant.AddRigidBody("ball", inertia)
        plant.AddJoint(drake.PrismaticJoint("z", plant.world_frame(), body.body_frame(), [0, 0, 1]))
        pose = drake.RigidTransform()
        plant.RegisterCollisionGeometry(body, pose, drake.Sphere(RADIUS), "ball", properties)
        plant.RegisterCollisionGeometry(plant.world_body(), pose, drake.HalfSpace(), "floor", properties)
    plant.Finalize()
    simulator = drake.Simulator(builder.Build())
    config = drake.SimulatorConfig(integration_scheme="cenic", accuracy=accuracy, max_step_size=0.1,
                                   use_error_control=True)
    drake.ApplySimulatorConfig(config, simulator)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    if problem == "ball":
        plant.SetPositions(context, [HEIGHT])
    simulator.Initialize()
    seconds = timed(simulator.AdvanceTo, END[problem])
    q, v = plant.GetPositions(context)[0], plant.GetVelocities(context)[0]
    return (q if problem == "pendulum" else lost(q, v)), seconds


def mujoco_run(problem, dt, paths):
    import mujoco

    model = mujoco.MjModel.from_xml_path(paths[problem])
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_RK4
    model.opt.timestep = dt
    data = mujoco.MjData(model)
    seconds = timed(lambda: mujoco.mj_step(model, data, round(END[problem] / dt)))
    return data.qpos[0], seconds


SETTINGS = [
    ("pendulum", "sapstep", sapstep_run, (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)),
    ("pendulum", "CENIC", cenic_run, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
    ("pendulum", "MuJoCo RK4", mujoco_run, (0.02, 0.01, 0.005, 0.0025)),
    ("ball", "sapstep", sapstep_run, (1e-4, 2e-5, 1e-5, 3e-6, 1e-6)),
    ("ball", "CENIC", cenic_run, (1e-4, 1e-5, 1e-6, 1e-7)),
]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--turns", type=int, default=5, help="repetitions of each setting, in turns (5)")
turns = parser.parse_args().turns
with tempfile.TemporaryDirectory() as folder:
    ball = pathlib.Path(folder) / "ball.xml"
    ball.write_text(BALL)
    paths = {"pendulum": PENDULUM, "ball": str(ball)}
    reference = {"pendulum": sapstep_run("pendulum", 1e-10, paths)[0], "ball": 0.0}
    rows = {}
    for _ in range(turns):
        for problem, name, run, settings in SETTINGS:
            for setting in settings:
                try:
                    value, seconds = run(problem, setting, paths)
                except ImportError:
                    continue
                row = rows.setdefault((problem, name, setting), (abs(value - reference[problem]), []))
                row[1].append(1e3 * seconds)
print(json.dumps([{"problem": problem, "stepper": name, "setting": setting, "error": error, "times_ms": times}
                  for (problem, name, setting), (error, times) in rows.items()]))
