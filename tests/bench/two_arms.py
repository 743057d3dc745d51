# SPDX-License-Identifier: BSD-3-Clause
"""Two arms with hands over a jar of marbles as one MJCF, after Castro et al. 2022, VI-E.

    two_arms.py MENAGERIE > scene.xml

Two iiwa with an Allegro hand each hold still by their servos, 148 degrees of freedom in all. Needs
the Python package of MuJoCo, which puts the models together, and the MuJoCo Menagerie's models.
"""
import math
import sys

import mujoco


def part(menagerie, folder, file):
    spec = mujoco.MjSpec.from_file(f"{menagerie}/{folder}/{file}")
    for mesh in spec.meshes:
        mesh.file = f"{menagerie}/{folder}/assets/" + (mesh.file or mesh.name + ".obj").split("/")[-1]
    spec.meshdir = ""
    for key in list(spec.keys):
        spec.delete(key)
    return spec


def arm(menagerie, side):
    spec = part(menagerie, "kuka_iiwa_14", "iiwa14.xml")
    hand = part(menagerie, "wonik_allegro", f"{side}_hand.xml")
    site = next(s for s in spec.sites if s.name == "attachment_site")
    spec.attach(hand, prefix="hand_", site=site)
    return spec


def add_jar(world, center, radius, height):
    jar = world.add_body(name="jar", pos=center)
    jar.add_freejoint()
    cylinder, box = mujoco.mjtGeom.mjGEOM_CYLINDER, mujoco.mjtGeom.mjGEOM_BOX
    jar.add_geom(type=cylinder, size=[radius, 0.005, 0], pos=[0, 0, 0.005])
    for i in range(8):
        a = math.pi / 4 * i
        jar.add_geom(
            type=box,
            size=[0.005, radius * math.tan(math.pi / 8), height / 2],
            pos=[radius * math.cos(a), radius * math.sin(a), height / 2 + 0.005],
            quat=[math.cos(a / 2), 0, 0, math.sin(a / 2)],
        )


def add_marbles(world, center):
    for i in range(16):
        x = 0.03 * (i % 2 * 2 - 1) + 0.002 * (i % 3)
        y = 0.03 * (i // 2 % 2 * 2 - 1) + 0.001 * (i % 5)
        z = 0.05 + 0.05 * (i // 4)
        body = world.add_body(name=f"m{i}", pos=[center[0] + x, center[1] + y, z])
        body.add_freejoint()
        body.add_geom(type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[0.02, 0, 0], density=2500)


def main(menagerie):
    spec = mujoco.MjSpec()
    spec.option.timestep = 0.002
    world = spec.worldbody
    world.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[5, 5, 0.1])
    for side, x in (("left", -0.6), ("right", 0.6)):
        spec.attach(arm(menagerie, side), prefix=side + "_", frame=world.add_frame(pos=[x, 0, 0]))
    center = [0, 0.5, 0]
    add_jar(world, center, 0.09, 0.12)
    add_marbles(world, center)
    spec.compile()
    # What the servos are told is a position in any case; readers before 4.0 do not know the word.
    print(spec.to_xml().replace(' input="pos"', ""))


main(sys.argv[1])
