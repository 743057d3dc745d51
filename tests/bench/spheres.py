# SPDX-License-Identifier: BSD-3-Clause
"""Spheres that fall into a funnel, for accuracy.py: sapstep and Drake's CENIC from the same states every 50 ms."""
import functools
import math
import time

import numpy

PROBLEMS = {"8 spheres, soft": (8, 1e3), "8 spheres, stiff": (8, 1e5), "20 spheres, soft": (20, 1e3)}
RADIUS, DENSITY, FRICTION, TILT = 0.05, 1000.0, 0.5, 0.5
END, SEGMENT = 1.5, 0.05  # [s]
PLANES = [(TILT, 0.0), (-TILT, 0.0), (0.0, TILT), (0.0, -TILT)]  # turns about x and y [rad]


def centres(count):
    """Layers of four, each turned a little, so that no two spheres are on one vertical line."""
    for k in range(count):
        angle = 0.5 * math.pi * (k % 4) + 0.3 * (k // 4) + 0.1
        yield 0.09 * math.cos(angle), 0.09 * math.sin(angle) + 0.003 * k, 0.2 + 0.13 * (k // 4) + 0.01 * (k % 4)


def scene(problem):
    count, stiffness = PROBLEMS[problem]
    planes = "".join(f'<geom type="plane" size="5 5 1" euler="{x} {y} 0"/>' for x, y in PLANES)
    bodies = "".join(f'<body pos="{x} {y} {z}"><freejoint/><geom size="{RADIUS}" density="{DENSITY}"/></body>'
                     for x, y, z in centres(count))
    return f"""<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/>
<custom><numeric name="sapstep:stiffness" data="{2 * stiffness}"/><numeric name="sapstep:relaxation_time" data="0"/></custom>
<default><geom friction="{FRICTION}"/></default><worldbody>{planes}{bodies}</worldbody></mujoco>"""


def world_spin(quaternion, spin):
    """Turns vectors in the axes of a body into the axes of the world."""
    w, u = quaternion[0], quaternion[1:]
    t = 2.0 * numpy.cross(u, spin)
    return spin + w * t + numpy.cross(u, t)


@functools.lru_cache(None)
def states(problem):
    """(starts, 2, count, 3) positions of centres and their velocities, (starts, count, 3) angular velocities in the world."""
    import sapstep

    simulation = sapstep.Simulation.from_string(scene(problem), scheme="midpoint", relative_tolerance=1e-9)
    starts, spins = [], []
    for k in range(round(END / SEGMENT)):
        if k > 0:
            simulation.advance(k * SEGMENT, accuracy=1e-7)
        q, v = simulation.q.reshape(-1, 7), simulation.v.reshape(-1, 6)
        starts.append((q[:, :3].copy(), v[:, :3].copy()))
        spins.append([world_spin(body[3:], spin) for body, spin in zip(q, v[:, 3:])])
    return numpy.array(starts), numpy.array(spins)


def run(problem, begin, advance):
    """Ends of all segments and the processor time of `advance` alone [s]."""
    ends, seconds = [], 0.0
    for (x, v), spin in zip(*states(problem)):
        begin(x, v, spin)
        start = time.process_time()
        end = advance()
        seconds += time.process_time() - start
        ends.append(end)
    return numpy.array(ends), seconds


def sapstep_run(problem, simulation, advance):
    upright = numpy.tile([1.0, 0.0, 0.0, 0.0], (PROBLEMS[problem][0], 1))

    def begin(x, v, spin):
        simulation.t, simulation.q, simulation.v = 0.0, numpy.hstack([x, upright]).ravel(), numpy.hstack([v, spin]).ravel()

    def end():
        advance(SEGMENT)
        return simulation.q.reshape(-1, 7)[:, :3].copy()

    return run(problem, begin, end)


def add_to(drake, plant, problem):
    count, stiffness = PROBLEMS[problem]
    properties = drake.ProximityProperties()
    drake.AddContactMaterial(0.0, 2 * stiffness, drake.CoulombFriction(FRICTION, FRICTION), properties)
    for k, (x, y) in enumerate(PLANES):
        pose = drake.RigidTransform(drake.RotationMatrix(drake.RollPitchYaw(x, y, 0.0)), [0.0, 0.0, 0.0])
        plant.RegisterCollisionGeometry(plant.world_body(), pose, drake.HalfSpace(), f"plane{k}", properties)
    for k in range(count):
        body = plant.AddRigidBody(f"sphere{k}", drake.SpatialInertia.SolidSphereWithDensity(DENSITY, RADIUS))
        plant.RegisterCollisionGeometry(body, drake.RigidTransform(), drake.Sphere(RADIUS), f"sphere{k}", properties)
    plant.set_stiction_tolerance(1e-4)


def cenic_run(problem, plant, simulator):
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    upright = numpy.tile([1.0, 0.0, 0.0, 0.0], (PROBLEMS[problem][0], 1))

    def begin(x, v, spin):
        simulator.get_mutable_context().SetTime(0.0)
        plant.SetPositions(context, numpy.hstack([upright, x]).ravel())
        plant.SetVelocities(context, numpy.hstack([spin, v]).ravel())
        simulator.Initialize()

    def end():
        simulator.AdvanceTo(SEGMENT)
        return plant.GetPositions(context).reshape(-1, 7)[:, 4:].copy()

    return run(problem, begin, end)


def error(ends, reference):
    return float(numpy.sqrt(((ends - reference) ** 2).sum(axis=2).max(axis=1).mean()))
