#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Error against processor time: sapstep's error-controlled steps, its midpoint with fixed steps, Drake's CENIC,
MuJoCo's RK4.

  accuracy.py [--turns N]

Needs the Python package sapstep; pydrake and mujoco are optional. The problems:
  pendulum  examples/scenes/double_pendulum.xml for 2 s; error: of the first angle [rad], the
            reference has accuracy 1e-10
  ball      1 kg falls 0.5 m onto a spring of 1e4 N/m again and again, for 10 s; error: part of
            the energy, which is constant, that is lost or gained
  cylinder  examples/scenes/spring_cylinder.xml, without dissipation, for 1 s: it rolls on a contact of 1e4 N/m; error: of
            its way [m], against the exact solution
  slip      the same with friction 0.3, for 1.5 s: it slips, rolls and slips again; error: of its way, each engine against
            its own reference, sapstep's with an accuracy of 1e-9, CENIC's of 1e-7
  spheres   N spheres fall into a funnel of four planes, soft (pairs of 1e3 N/m) or stiff (1e5), without dissipation, for
            1.5 s; every 50 ms each engine starts again from the same states; error: of positions [m], the root of the mean
            square of the largest of each 50 ms, each engine against its own reference, as above
Engines have the same stiffness of the pair, friction and geometry; the contact point is on the stiffer surface in both.
Prints JSON: the error of each setting and its times in ms, in turns. Without pydrake or mujoco their rows are missing."""
import argparse
import json
import logging
import math
import pathlib
import tempfile
import time

import sapstep
import spheres

SCENES = pathlib.Path(__file__).parents[2] / "examples" / "scenes"
PENDULUM = str(SCENES / "double_pendulum.xml")
CYLINDER = (SCENES / "spring_cylinder.xml").read_text().replace('relaxation_time" data="0.02"', 'relaxation_time" data="0"')
FRICTION = {"cylinder": 1.0, "slip": 0.3}
GRAVITY, RADIUS, HEIGHT, STIFFNESS = 9.81, 0.1, 0.6, 1e4
BALL = f"""<mujoco><option gravity="0 0 -{GRAVITY}"/><custom><numeric name="sapstep:stiffness" data="{2 * STIFFNESS}"/>
<numeric name="sapstep:relaxation_time" data="0"/></custom><default><geom condim="1"/></default><worldbody>
<geom type="plane" size="5 5 1"/><body pos="0 0 {HEIGHT}"><joint type="slide" axis="0 0 1"/>
<geom size="{RADIUS}" mass="1"/></body></worldbody></mujoco>"""
END = {"pendulum": 2.0, "ball": 10.0, "cylinder": 1.0, "slip": 1.5}


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
    if problem in spheres.PROBLEMS:
        return spheres.sapstep_run(problem, simulation, lambda t: simulation.advance(t, accuracy=accuracy))
    seconds = timed(lambda: simulation.advance(END[problem], accuracy=accuracy))
    return value_of(problem, HEIGHT + simulation.q[0] if problem == "ball" else simulation.q[0], simulation.v[0]), seconds


def midpoint_run(problem, dt, paths):
    simulation = sapstep.Simulation(paths[problem], dt=dt, scheme="midpoint", relative_tolerance=1e-8)
    if problem in spheres.PROBLEMS:
        return spheres.sapstep_run(problem, simulation, lambda t: simulation.step(round((t - simulation.t) / dt)))
    seconds = timed(simulation.step, round(END[problem] / dt))
    return value_of(problem, HEIGHT + simulation.q[0] if problem == "ball" else simulation.q[0], simulation.v[0]), seconds


def value_of(problem, q, v):
    return lost(float(q), float(v)) if problem == "ball" else float(q)


def add_cylinder(drake, plant, friction):
    """The body of spring_cylinder.xml: slides x and z, a turn about y, a spring along x; 1e-8 kg between the joints."""
    inertia = drake.SpatialInertia(0.5, [0, 0, 0], drake.UnitInertia(1e-3, 1.25e-3, 1e-3))
    frames = [plant.AddRigidBody(name, drake.SpatialInertia.SolidSphereWithMass(1e-8, 0.01)) for name in ("x", "z")]
    body = plant.AddRigidBody("cylinder", inertia)
    x = plant.AddJoint(drake.PrismaticJoint("x", plant.world_frame(), frames[0].body_frame(), [1, 0, 0]))
    plant.AddJoint(drake.PrismaticJoint("z", frames[0].body_frame(), frames[1].body_frame(), [0, 0, 1]))
    plant.AddJoint(drake.RevoluteJoint("spin", frames[1].body_frame(), body.body_frame(), [0, 1, 0]))
    plant.AddForceElement(drake.PrismaticSpring(x, 0.0, 100.0))
    for owner, shape, stiffness in ((body, drake.Sphere(0.05), 1e30), (plant.world_body(), drake.HalfSpace(), 1e4)):
        properties = drake.ProximityProperties()
        drake.AddContactMaterial(0.0, stiffness, drake.CoulombFriction(friction, friction), properties)
        plant.RegisterCollisionGeometry(owner, drake.RigidTransform(), shape, owner.name(), properties)
    plant.set_stiction_tolerance(1e-4)


def cenic_run(problem, accuracy, paths):
    from pydrake import all as drake

    logging.getLogger("drake").setLevel(logging.ERROR)
    builder = drake.DiagramBuilder()
    plant, _ = drake.AddMultibodyPlantSceneGraph(builder, 0.0)
    if problem == "pendulum":
        drake.Parser(plant).AddModels(PENDULUM)
    elif problem in FRICTION:
        add_cylinder(drake, plant, FRICTION[problem])
    elif problem in spheres.PROBLEMS:
        spheres.add_to(drake, plant, problem)
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
    elif problem in FRICTION:
        plant.SetPositions(context, [0.1, 0.0495095, 0.0])
    if problem in spheres.PROBLEMS:
        return spheres.cenic_run(problem, plant, simulator)
    simulator.Initialize()
    seconds = timed(simulator.AdvanceTo, END[problem])
    q, v = plant.GetPositions(context)[0], plant.GetVelocities(context)[0]
    return value_of(problem, q, v), seconds


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
    ("pendulum", "midpoint", midpoint_run, (0.02, 0.005, 0.00125)),
    ("ball", "midpoint", midpoint_run, (2e-3, 5e-4, 1.25e-4)),
    ("cylinder", "sapstep", sapstep_run, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
    ("cylinder", "midpoint", midpoint_run, (0.02, 0.01, 0.005, 0.0025, 0.00125)),
    ("cylinder", "CENIC", cenic_run, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
    ("slip", "sapstep", sapstep_run, (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)),
    ("slip", "midpoint", midpoint_run, (0.02, 0.01, 0.005, 0.0025, 0.00125)),
    ("slip", "CENIC", cenic_run, (1e-2, 1e-3, 1e-4, 1e-5)),
] + [(problem, *rest) for problem in spheres.PROBLEMS for rest in (
    ("sapstep", sapstep_run, (1e-3, 1e-4, 1e-5, 1e-6)),
    ("midpoint", midpoint_run, (0.01, 0.0025, 6.25e-4)),
    ("CENIC", cenic_run, (1e-2, 1e-3, 1e-4, 1e-5)),
)]

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--turns", type=int, default=5, help="repetitions of each setting, in turns (5)")
turns = parser.parse_args().turns
with tempfile.TemporaryDirectory() as folder:
    ball = pathlib.Path(folder) / "ball.xml"
    ball.write_text(BALL)
    paths = {"pendulum": PENDULUM, "ball": str(ball)}
    for problem in spheres.PROBLEMS:
        paths[problem] = str(pathlib.Path(folder) / f"{problem}.xml")
        pathlib.Path(paths[problem]).write_text(spheres.scene(problem))
    for problem, friction in FRICTION.items():
        paths[problem] = str(pathlib.Path(folder) / f"{problem}.xml")
        pathlib.Path(paths[problem]).write_text(CYLINDER.replace('friction="1"', f'friction="{friction}"'))
    reference = {"pendulum": sapstep_run("pendulum", 1e-10, paths)[0], "ball": 0.0,
                 "cylinder": 0.1 * math.cos(math.sqrt(100 / 0.75) * END["cylinder"])}
    own = {}
    for problem in ("slip", *spheres.PROBLEMS):
        reference[problem] = sapstep_run(problem, 1e-9 if problem == "slip" else 1e-8, paths)[0]
        try:
            own[problem] = cenic_run(problem, 1e-7, paths)[0]
        except ImportError:
            pass
    rows = {}
    for _ in range(turns):
        for problem, name, run, settings in SETTINGS:
            for setting in settings:
                try:
                    value, seconds = run(problem, setting, paths)
                except ImportError:
                    continue
                exact = (own if name == "CENIC" else reference).get(problem, reference[problem])
                error = spheres.error if problem in spheres.PROBLEMS else lambda a, b: abs(a - b)
                row = rows.setdefault((problem, name, setting), (error(value, exact), []))
                row[1].append(1e3 * seconds)
print(json.dumps([{"problem": problem, "stepper": name, "setting": setting, "error": error, "times_ms": times}
                  for (problem, name, setting), (error, times) in rows.items()]))
