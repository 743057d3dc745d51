# SPDX-License-Identifier: BSD-3-Clause
"""Recordings as glTF and MCAP."""

import json
import struct
import subprocess
import sys

import numpy as np
import pytest

import sapstep
from sapstep import export, program
from things import SCENES

MODEL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
<body name="capsule" pos="0 0 .14" euler="0 30 0"><freejoint/><geom type="capsule" size=".05 .1" rgba="1 0 0 1"/></body>
<body name="cylinder" pos=".3 0 .3"><freejoint/><geom type="cylinder" size=".05 .1" rgba="0 1 0 .5"/></body>
<body name="ellipsoid" pos=".6 0 .3"><freejoint/><geom type="ellipsoid" size=".05 .1 .02" pos=".1 0 0"/></body>
<body name="box" pos=".9 0 .3"><freejoint/><geom type="box" size=".05 .1 .02"/></body>
<body name="ball" pos="1.2 0 .05"><freejoint/><geom type="sphere" size=".05"/></body></worldbody></mujoco>"""
VOLUMES = {"capsule": np.pi * 0.05**2 * 0.2 + 4 / 3 * np.pi * 0.05**3, "cylinder": np.pi * 0.05**2 * 0.2,
           "ellipsoid": 4 / 3 * np.pi * 0.05 * 0.1 * 0.02, "box": 8 * 0.05 * 0.1 * 0.02, "ball": 4 / 3 * np.pi * 0.05**3}


@pytest.fixture
def run(tmp_path):
    pytest.importorskip("h5py")
    (tmp_path / "s.xml").write_text(MODEL)
    scene = sapstep.Simulation(tmp_path / "s.xml", dt=0.02)
    with scene.record(tmp_path / "s.h5"):
        scene.step(30)
    return tmp_path / "s.h5"


def read_glb(path):
    data = path.read_bytes()
    assert data[:4] == b"glTF" and struct.unpack("<II", data[4:12]) == (2, len(data))
    size = struct.unpack("<I", data[12:16])[0]
    return json.loads(data[20:20 + size]), data[28 + size:]


def values(gltf, blob, which):
    accessor = gltf["accessors"][which]
    view = gltf["bufferViews"][accessor["bufferView"]]
    width = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
    return np.frombuffer(blob, "<f4", accessor["count"] * width, view["byteOffset"]).reshape(-1, width).astype(float)


def test_gltf_has_the_motion_and_the_shapes(run, tmp_path):
    pytest.importorskip("pygltflib")
    out = tmp_path / "s.glb"
    assert program.run("export", run, "-o", out).stdout == f"{out}: 31 frames\n"
    gltf, blob = read_glb(out)
    recording = sapstep.Recording(run)
    nodes = gltf["nodes"]
    assert [nodes[i]["name"] for i in nodes[0]["children"]][1:] == list(VOLUMES)
    motion = {(nodes[c["target"]["node"]]["name"], c["target"]["path"]): gltf["animations"][0]["samplers"][c["sampler"]]
              for c in gltf["animations"][0]["channels"]}
    for body, name in enumerate(VOLUMES, start=1):
        pose = recording["pose"][:, body]
        sampler = motion[name, "translation"]
        assert np.allclose(values(gltf, blob, sampler["input"])[:, 0], recording.time, atol=1e-6)
        assert np.allclose(values(gltf, blob, sampler["output"]), pose[:, :3], atol=1e-6)
        turned = values(gltf, blob, motion[name, "rotation"]["output"])
        assert np.allclose(np.abs((turned * pose[:, [4, 5, 6, 3]]).sum(axis=1)), 1, atol=1e-6)  # x y z w, to the sign
        part = nodes[next(n for n in nodes if n.get("name") == name)["children"][0]]
        primitive = gltf["meshes"][part["mesh"]]["primitives"][0]
        corners = values(gltf, blob, primitive["attributes"]["POSITION"]).reshape(-1, 3, 3)
        volume = np.linalg.det(corners).sum() / 6  # positive: the triangles face outwards
        assert volume == pytest.approx(VOLUMES[name], rel=0.03)  # a sphere with 32 x 16 corners lacks 0.023
        faces = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        normals = values(gltf, blob, primitive["attributes"]["NORMAL"]).reshape(-1, 3, 3)
        assert (np.einsum("fk,fck->fc", faces, normals) > 0).all()
    assert nodes[next(n for n in nodes if n.get("name") == "ellipsoid")["children"][0]]["translation"] == pytest.approx([0.1, 0, 0])
    colors = [m["pbrMetallicRoughness"]["baseColorFactor"] for m in gltf["materials"]]
    assert [1, 0, 0, 1] in colors and [0, 1, 0, 0.5] in colors


def test_gltf_as_text(run, tmp_path):
    pytest.importorskip("pygltflib")
    sapstep.export.export(run, tmp_path / "s.gltf", frame_rate=10)
    gltf = json.loads((tmp_path / "s.gltf").read_text())
    assert gltf["buffers"][0]["uri"].startswith("data:") and gltf["accessors"][0]["count"] == 7


def test_mcap_has_poses_forces_and_quantities(run, tmp_path):
    reader = pytest.importorskip("mcap.reader")
    out = tmp_path / "s.mcap"
    assert sapstep.export.export(run, out, frame_rate=0) == 31
    topics = {}
    with out.open("rb") as file:
        for schema, channel, message in reader.make_reader(file).iter_messages():
            topics.setdefault(channel.topic, []).append((schema.name, message.log_time, json.loads(message.data)))
    recording = sapstep.Recording(run)
    kind, time, tf = topics["/tf"][-1]
    assert kind == "foxglove.FrameTransforms" and time == round(1e9 * recording.time[-1])
    ball = next(t for t in tf["transforms"] if t["child_frame_id"] == "ball")
    assert list(ball["translation"].values()) == pytest.approx(recording["pose"][-1, 5, :3])
    (_, _, scene), = topics["/scene"]
    parts = {e["frame_id"]: e for e in scene["entities"]}
    assert parts["box"]["cubes"][0]["size"] == pytest.approx({"x": 0.1, "y": 0.2, "z": 0.04})
    assert parts["cylinder"]["cylinders"][0]["size"] == pytest.approx({"x": 0.1, "y": 0.1, "z": 0.2})
    arrows = topics["/contacts"][-1][2]["entities"][0]["arrows"]
    contacts = recording.contacts(30)
    pushing = [i for i in range(len(contacts["distance"])) if contacts["impulse"][i, 2] > 1e-6]
    assert len(arrows) == len(pushing) >= 9
    for arrow, i in zip(arrows, pushing):
        w, x, y, z = (arrow["pose"]["orientation"][k] for k in "wxyz")
        pointing = [1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)]  # the x axis, turned
        force = sum(contacts["impulse"][i, k] * contacts["frame"][i, 3 * k:3 * k + 3] for k in range(3))
        assert pointing == pytest.approx(force / np.linalg.norm(force), abs=1e-6)
        assert list(arrow["pose"]["position"].values()) == pytest.approx(contacts["point"][i])
    assert len(topics["/energy"]) == 31
    assert topics["/energy"][5][2] == pytest.approx(dict(zip(recording.columns("energy"), recording["energy"][5])))
    assert topics["/units"][0][2]["energy"] == "J"


def test_what_cannot_be_exported_says_why(run, tmp_path):
    with pytest.raises(sapstep.InputError, match=r"\.glb, \.gltf or \.mcap"):
        sapstep.export.export(run, tmp_path / "s.obj")
    with pytest.raises(sapstep.InputError, match="glTF and MCAP have all quantities"):
        program.run("export", run, "energy", "-o", tmp_path / "s.glb")
    with pytest.raises(sapstep.InputError, match="is not a recording"):
        program.run("export", SCENES / "falling_box.xml", "-o", tmp_path / "s.glb")
    lacking = subprocess.run([sys.executable, "-c", "import sys; sys.modules['mcap'] = None; import sapstep.export as e; "
                              "sys.exit(e.main(sys.argv[1:]))", str(run), "-o", str(tmp_path / "s.mcap")],
                             capture_output=True, encoding="utf-8", check=False)
    assert lacking.returncode == 3 and 'this needs mcap: pip install mcap (all that exports need: pip install "sapstep[export]")' in lacking.stderr
    assert not list(tmp_path.glob("*.mcap")) and not list(tmp_path.glob(".part*"))


def test_a_time_just_below_a_second_has_whole_nanoseconds():
    assert export._stamp(2.9999999999999996) == {"sec": 3, "nsec": 0}
    assert export._stamp(0.25) == {"sec": 0, "nsec": 250000000}
