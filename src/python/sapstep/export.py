# SPDX-License-Identifier: BSD-3-Clause
"""Recordings as files of other programs: glTF (Blender, web viewers) and MCAP (Foxglove, Rerun, ROS tools)::

    sapstep export run.h5 -o run.glb
    sapstep export run.h5 -o run.mcap

Needs h5py, and pygltflib or mcap: ``pip install "sapstep[export]"``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from ._library import Error, InputError, version
from .recording import Recording, _module

Array = NDArray[Any]
Path = Union[str, "os.PathLike[str]"]

PLANE, SPHERE, CAPSULE, CYLINDER, BOX, ELLIPSOID, MESH = range(7)
PALETTE = [0x4e79a7, 0xf28e2b, 0x59a14f, 0xe15759, 0x76b7b2, 0xedc948, 0xb07aa1, 0xff9da7, 0x9c755f, 0x6f8fbf]
MODES = [(0.6, 0.65, 0.7, 1.0), (0.18, 0.62, 0.38, 1.0), (0.91, 0.35, 0.05, 1.0)]  # open, sticking, sliding


class Shape:
    """A visible shape: type, body, size [m], pose in the body, colour (red, green, blue, opacity), mesh."""

    def __init__(self, row: Array, moves: bool) -> None:
        self.type, self.body, self.mesh = (int(x) for x in row[:3])
        self.size, self.p, self.q = row[4:7], row[7:10], row[10:14] / np.linalg.norm(row[10:14])
        code = PALETTE[self.body % len(PALETTE)] if moves else 0xb9c0c8
        plain = [(code >> shift & 255) / 255 for shift in (16, 8, 0)] + [1.0]
        self.color = [float(x) for x in (row[14:18] if np.isfinite(row[14:18]).all() else plain)]


class Film:
    """What both formats draw: frames, poses and shapes of a recording."""

    def __init__(self, recording: Recording, frame_rate: float) -> None:
        self.run, pose, time = recording, recording["pose"], recording.time
        self.rows, due = [], time[0]
        for row, t in enumerate(time):  # the first row of every 1/frame_rate, and the last
            if t >= due - 1e-9 or row + 1 == len(time):
                self.rows.append(row)
                due = max(due + 1 / frame_rate, t) if frame_rate > 0 else t
        self.time, self.pose = time[self.rows], np.nan_to_num(pose[self.rows])
        self.bodies = [name or f"body {i}" for i, name in enumerate(recording.names("body"))]
        self.moves = [bool(np.ptp(self.pose[:, body], axis=0).any()) for body in range(len(self.bodies))]
        for row in range(1, len(self.rows)):  # quaternions whose signs do not jump
            flip = np.einsum("bk,bk->b", self.pose[row, :, 3:], self.pose[row - 1, :, 3:]) < 0
            self.pose[row, flip, 3:] *= -1
        model = recording._file["model"]
        rows = model["shape"][:]
        dressed = {int(row[1]) for row in rows if not row[3]}  # with visual shapes, which hide those that collide
        shown = [row for row in rows if not (row[3] and int(row[1]) in dressed) and not row[17] == 0]
        self.shapes = [Shape(row, self.moves[int(row[1])]) for row in shown]
        self.meshes, self.vertices, self.triangles = (model[name][:] for name in ("mesh", "vertex", "triangle"))
        self.far = float(2 * np.abs(self.pose[:, :, :3]).max() + 1)

    def mesh(self, which: int) -> Array:
        """Returns the corners of a mesh's triangles (3 n, 3) [m]."""
        first, _, begin, count = (int(x) for x in self.meshes[which])
        return np.asarray(self.vertices[first + self.triangles[begin:begin + count].astype(int).ravel()], float)


# --- triangles ---


def _turned(profile: Sequence[Tuple[float, float, float, float]], around: int = 32) -> Tuple[Array, Array]:
    """Turns points (r, z) with normals (nr, nz) about z; returns the corners of triangles and their normals."""
    a = np.linspace(0, 2 * np.pi, around + 1)
    r, z, nr, nz = (np.array(column)[:, None] for column in zip(*profile))
    points = np.stack([r * np.cos(a), r * np.sin(a), z + 0 * a], -1)
    normals = np.stack([nr * np.cos(a), nr * np.sin(a), nz + 0 * a], -1)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(len(profile) - 1), np.arange(around), indexing="ij"))
    corners = [(i, j), (i, j + 1), (i + 1, j + 1), (i, j), (i + 1, j + 1), (i + 1, j)]
    found = [np.stack([grid[c] for c in corners], 1).reshape(-1, 3) for grid in (points, normals)]
    edges = found[0].reshape(-1, 3, 3)
    area = np.linalg.norm(np.cross(edges[:, 1] - edges[:, 0], edges[:, 2] - edges[:, 0]), axis=1)
    thick = area > 1e-9 * area.max()
    return found[0].reshape(-1, 3, 3)[thick].reshape(-1, 3), found[1].reshape(-1, 3, 3)[thick].reshape(-1, 3)


def _triangles(shape: Shape, film: Film) -> Tuple[Array, Array]:
    """Returns the corners of a shape's triangles and their normals (3 n, 3) [m]."""
    a, b, c = (float(x) for x in shape.size)
    arc = np.linspace(-np.pi / 2, np.pi / 2, 17)
    if shape.type in (SPHERE, ELLIPSOID):
        points, normals = _turned([(np.cos(t), np.sin(t), np.cos(t), np.sin(t)) for t in arc])
        scale = np.array([a, a, a] if shape.type == SPHERE else [a, b, c])
        normals = normals / scale
        return points * scale, normals / np.linalg.norm(normals, axis=1)[:, None]
    if shape.type == CAPSULE:
        return _turned([(a * np.cos(t), a * np.sin(t) + (b if t > 0 else -b), np.cos(t), np.sin(t))
                        for t in np.insert(arc, 8, -1e-12)])
    if shape.type == CYLINDER:
        return _turned([(0, -b, 0, -1), (a, -b, 0, -1), (a, -b, 1, 0), (a, b, 1, 0), (a, b, 0, 1), (0, b, 0, 1)])
    if shape.type == MESH:
        points = film.mesh(shape.mesh)
    else:
        square = np.array([[-1, -1], [1, -1], [1, 1], [-1, -1], [1, 1], [-1, 1]], float)
        if shape.type == PLANE:
            points = film.far * np.c_[square, np.zeros(6)]
        else:
            sides = [np.roll(np.c_[square[:, ::way], np.full(6, float(way))], k, axis=1) for k in range(3) for way in (1, -1)]
            points = np.concatenate(sides) * [a, b, c]
    edges = points.reshape(-1, 3, 3)
    flat = np.cross(edges[:, 1] - edges[:, 0], edges[:, 2] - edges[:, 0])
    length = np.linalg.norm(flat, axis=1)
    keep = length > 0
    return edges[keep].reshape(-1, 3), np.repeat(flat[keep] / length[keep, None], 3, axis=0)


# --- glTF ---


class _Blob:
    """The binary part of a glTF file."""

    def __init__(self, gltf: Any, module: Any) -> None:
        self.gltf, self.module, self.bytes = gltf, module, bytearray()

    def add(self, values: Array, kind: str, target: Optional[int] = None) -> int:
        """Adds an array of float32 and returns its accessor."""
        values = np.ascontiguousarray(values, np.float32)
        low, high = values.min(axis=0), values.max(axis=0)
        self.gltf.bufferViews.append(self.module.BufferView(buffer=0, byteOffset=len(self.bytes),
                                                            byteLength=values.nbytes, target=target))
        self.bytes += values.tobytes()
        self.gltf.accessors.append(self.module.Accessor(
            bufferView=len(self.gltf.bufferViews) - 1, componentType=self.module.FLOAT, count=len(values), type=kind,
            min=np.atleast_1d(low).tolist(), max=np.atleast_1d(high).tolist()))
        return len(self.gltf.accessors) - 1


def _xyzw(q: Array) -> Array:
    return np.roll(q / np.linalg.norm(q, axis=-1, keepdims=True), -1, axis=-1)


def _linear(color: Sequence[float]) -> List[float]:
    """glTF's colours are linear, those of models sRGB."""
    c = np.array(color[:3])
    return [*np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4).tolist(), color[3]]


def to_gltf(recording: Recording, path: Path, frame_rate: float = 60.0) -> int:
    """Writes bodies, their shapes and their motion as an animation: .glb, or .gltf with its data inside. Returns the
    number of frames. A frame_rate of 0 takes all rows."""
    g, film = _module("pygltflib"), Film(recording, frame_rate)
    gltf = g.GLTF2(asset=g.Asset(generator=f"sapstep {version()}", version="2.0"))
    blob, made, paints = _Blob(gltf, g), dict[Any, int](), dict[Any, int]()
    gltf.nodes.append(g.Node(name="world (z up)", rotation=[-(0.5 ** 0.5), 0, 0, 0.5 ** 0.5], children=[]))
    channels, animation = [], g.Animation(name="run", samplers=[], channels=[])
    times = blob.add(film.time, g.SCALAR)
    for body, name in enumerate(film.bodies):
        start, node = film.pose[0, body], len(gltf.nodes)
        gltf.nodes.append(g.Node(name=name, translation=start[:3].tolist(), rotation=_xyzw(start[3:]).tolist(), children=[]))
        gltf.nodes[0].children.append(node)
        if film.moves[body] and len(film.time) > 1:
            for target, values, kind in (("translation", film.pose[:, body, :3], g.VEC3),
                                         ("rotation", _xyzw(film.pose[:, body, 3:]), g.VEC4)):
                animation.samplers.append(g.AnimationSampler(input=times, output=blob.add(values, kind)))
                channels.append(g.AnimationChannel(sampler=len(animation.samplers) - 1,
                                                   target=g.AnimationChannelTarget(node=node, path=target)))
        for shape in (s for s in film.shapes if s.body == body):
            paint = tuple(shape.color)
            if paint not in paints:
                paints[paint] = len(gltf.materials)
                gltf.materials.append(g.Material(alphaMode="BLEND" if paint[3] < 1 else "OPAQUE", alphaCutoff=None,
                    doubleSided=shape.type == PLANE, pbrMetallicRoughness=g.PbrMetallicRoughness(
                        baseColorFactor=_linear(shape.color), metallicFactor=0.05, roughnessFactor=0.6)))
            form = (shape.type, tuple(shape.size.tolist()), shape.mesh, paint)
            if form not in made:
                points, normals = _triangles(shape, film)
                if len(points) == 0:
                    continue
                made[form] = len(gltf.meshes)
                parts = g.Attributes(POSITION=blob.add(points, g.VEC3, g.ARRAY_BUFFER),
                                     NORMAL=blob.add(normals, g.VEC3, g.ARRAY_BUFFER))
                gltf.meshes.append(g.Mesh(primitives=[g.Primitive(attributes=parts, material=paints[paint])]))
            gltf.nodes[node].children.append(len(gltf.nodes))
            gltf.nodes.append(g.Node(mesh=made[form], translation=shape.p.tolist(), rotation=_xyzw(shape.q).tolist()))
    for node in gltf.nodes:
        node.children = node.children or None  # an empty list is not valid
    animation.channels = channels
    gltf.animations = [animation] if channels else []
    gltf.scenes, gltf.scene = [g.Scene(nodes=[0])], 0
    gltf.buffers.append(g.Buffer(byteLength=len(blob.bytes)))
    gltf.set_binary_blob(bytes(blob.bytes))
    if os.fspath(path).endswith(".gltf"):
        gltf.convert_buffers(g.BufferFormat.DATAURI)
    _write_whole(path, gltf.save)
    return len(film.time)


def _write_whole(path: Path, save: Any) -> None:
    """Saves under another name, then renames: a failure leaves no half of a file."""
    folder, name = os.path.split(os.fspath(path))
    part = os.path.join(folder, f".part.{name}")
    try:
        save(part)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)


# --- MCAP ---


def _xyz(p: Array) -> Dict[str, float]:
    return {"x": float(p[0]), "y": float(p[1]), "z": float(p[2])}


def _pose(p: Array, q: Array) -> Dict[str, Any]:
    w, x, y, z = (float(c) for c in q)
    return {"position": _xyz(p), "orientation": {"x": x, "y": y, "z": z, "w": w}}


def _rgba(color: Sequence[float]) -> Dict[str, float]:
    return dict(zip("rgba", map(float, color)))


def _primitives(shape: Shape, film: Film) -> Dict[str, Any]:
    """Returns a shape as primitives of foxglove.SceneEntity."""
    pose, color = _pose(shape.p, shape.q), _rgba(shape.color)
    a, b, c = (float(x) for x in shape.size)
    sizes = {SPHERE: (a, a, a), ELLIPSOID: (a, b, c), BOX: (a, b, c), CYLINDER: (a, a, b)}
    names = {SPHERE: "spheres", ELLIPSOID: "spheres", BOX: "cubes", CYLINDER: "cylinders"}
    if shape.type in sizes:
        part = {"pose": pose, "size": _xyz(2 * np.array(sizes[shape.type])), "color": color}
        return {names[shape.type]: [{**part, "bottom_scale": 1, "top_scale": 1} if shape.type == CYLINDER else part]}
    points, _ = _triangles(shape, film)
    return {"triangles": [{"pose": pose, "points": [_xyz(p) for p in points], "color": color, "colors": [], "indices": []}]}


def _along_x(direction: Array) -> Array:
    """Returns the quaternion (w x y z) that turns the x axis to a unit vector."""
    q = np.array([1 + direction[0], 0, -direction[2], direction[1]])
    return q / np.linalg.norm(q) if q[0] > 1e-9 else np.array([0.0, 0, 0, 1])


def _arrows(recording: Recording, row: int, length: float, largest: float) -> List[Dict[str, Any]]:
    contacts, dt = recording.contacts(row), float(recording["step/dt_s"][row])
    impulse = np.asarray(contacts["impulse"], float)
    forces = np.einsum("ikj,ik->ij", np.asarray(contacts["frame"], float).reshape(-1, 3, 3), impulse) / (dt or 1.0)
    arrows = []
    for point, force, mode in zip(contacts["point"], forces, contacts["id"][:, 5]):
        size = float(np.linalg.norm(force))
        if size > 1e-3 * largest:
            reach = length * size / largest
            arrows.append({"pose": _pose(point, _along_x(force / size)), "shaft_length": 0.8 * reach,
                           "shaft_diameter": 0.02 * length, "head_length": 0.2 * reach, "head_diameter": 0.05 * length,
                           "color": _rgba(MODES[int(mode)])})
    return arrows


def to_mcap(recording: Recording, path: Path, frame_rate: float = 60.0) -> int:
    """Writes the scene and contact forces with Foxglove's schemas (/scene, /tf, /contacts: the force on the second body
    of each), and the columns of the recording as JSON (/energy, /q, ...; units in /units). Returns the number of frames.
    A frame_rate of 0 takes all rows."""
    writers, film = _module("mcap.writer"), Film(recording, frame_rate)
    names = [name for name in recording._series(()) if name != "pose"]
    columns = {name: recording.columns(name) for name in names}
    values = {name: recording[name] for name in names}
    length = 0.25 * float(np.ptp(film.pose[0, :, :3], axis=0).max() or 1.0)
    impulses = recording["contact/impulse"]
    steps = recording["step/dt_s"]
    largest = float(np.linalg.norm(impulses, axis=1).max() if len(impulses) else 1.0) / float(steps.max() or 1.0) or 1.0

    def save(part: str) -> None:
        with open(part, "wb") as file:
            out = writers.Writer(file)
            out.start(profile="", library=f"sapstep {version()}")
            topics: Dict[str, int] = {}

            def put(topic: str, time: float, message: Any, schema: str = "") -> None:
                if topic not in topics:
                    kind = out.register_schema(name=schema or f"sapstep{topic.replace('/', '.')}", encoding="jsonschema",
                                               data=b'{"type":"object"}')
                    topics[topic] = out.register_channel(topic=topic, message_encoding="json", schema_id=kind)
                now = round(1e9 * time)
                out.add_message(channel_id=topics[topic], log_time=now, publish_time=now, data=json.dumps(message).encode())

            begin = float(film.time[0])
            entities = [_entity(name, begin, [_primitives(s, film) for s in film.shapes if s.body == body], str(body))
                        for body, name in enumerate(film.bodies)]
            put("/scene", begin, {"deletions": [], "entities": entities}, "foxglove.SceneUpdate")
            put("/units", begin, {name: recording.units(name) for name in names})
            for frame, row in enumerate(film.rows):
                t = float(film.time[frame])
                put("/tf", t, {"transforms": [
                    {"timestamp": _stamp(t), "parent_frame_id": "world", "child_frame_id": name,
                     "translation": _xyz(film.pose[frame, body]), "rotation": _pose(np.zeros(3), film.pose[frame, body, 3:])["orientation"]}
                    for body, name in enumerate(film.bodies) if body > 0]}, "foxglove.FrameTransforms")
                arrows = _entity("world", t, [{"arrows": _arrows(recording, row, length, largest)}], "contacts")
                put("/contacts", t, {"deletions": [], "entities": [arrows]}, "foxglove.SceneUpdate")
                for name in names:
                    row_of = np.atleast_1d(values[name][row])
                    labels = columns[name] if len(columns[name]) == len(row_of) else [str(i) for i in range(len(row_of))]
                    put(f"/{name}", t, {label: float(x) for label, x in zip(labels, row_of) if np.isfinite(x)})
            out.finish()

    _write_whole(path, save)
    return len(film.rows)


def _stamp(t: float) -> Dict[str, int]:
    return dict(zip(("sec", "nsec"), divmod(round(1e9 * t), 10**9)))


def _entity(frame: str, t: float, parts: Sequence[Dict[str, Any]], name: str) -> Dict[str, Any]:
    entity: Dict[str, Any] = {"timestamp": _stamp(t), "frame_id": frame, "id": name, "lifetime": {"sec": 0, "nsec": 0},
                              "frame_locked": True, "metadata": []}
    for kind in ("arrows", "cubes", "spheres", "cylinders", "lines", "triangles", "texts", "models"):
        entity[kind] = [item for part in parts for item in part.get(kind, ())]
    return entity


# --- the command line ---


def export(recording: Path, path: Path, frame_rate: float = 60.0) -> int:
    """Writes a recording as .glb, .gltf or .mcap, by the name; returns the number of frames."""
    writers = {".glb": to_gltf, ".gltf": to_gltf, ".mcap": to_mcap}
    ending = os.path.splitext(os.fspath(path))[1]
    if ending not in writers:
        raise InputError(f"{os.fspath(path)}: the name must end with .glb, .gltf or .mcap")
    with Recording(recording) as run:
        if len(run) == 0:
            raise InputError(f"{os.fspath(recording)} has no rows")
        return writers[ending](run, path, frame_rate)


def main(arguments: Sequence[str]) -> int:
    """The command line of ``python3 -m sapstep export``; returns the exit code: 0, 3: a file or package is missing."""
    parser = argparse.ArgumentParser(prog="python3 -m sapstep export", description="Writes a recording as glTF or MCAP.")
    parser.add_argument("recording")
    parser.add_argument("-o", "--output", required=True, help=".glb, .gltf or .mcap")
    parser.add_argument("--frame-rate", type=float, default=60.0, help="frames per simulated second at most, 0: all rows")
    given = parser.parse_args(arguments)
    try:
        frames = export(given.recording, given.output, given.frame_rate)
    except (Error, ImportError, OSError) as reason:
        hint = ' (all that exports need: pip install "sapstep[export]")' if isinstance(reason, ImportError) else ""
        print(f"sapstep: {reason}{hint}", file=sys.stderr)
        return 3
    print(f"{given.output}: {frames} frames")
    return 0
