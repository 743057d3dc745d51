# SPDX-License-Identifier: BSD-3-Clause
"""Models as MJCF: built in Python, or out of a compiled model."""

from __future__ import annotations

import os
import tempfile
import xml.etree.ElementTree as ET
from typing import Any, Iterator, List, Optional, Tuple, Union

import numpy as np

from ._library import InputError, ffi, lib
from ._mjcf import HELPER, Writer, get, keyframe, name_of, set_attributes as _set
from ._scene import _COUNTS, read_scene

# Compiling has made other fields of these.
MADE = ("cookie", "name", "any_inertia", "spring_time", "spring_damping_ratio", "damping_ratio")


# --- models built in Python ---


class Part:
    """A body of a :class:`Model`, or its world. Attributes are those of MJCF: ``part.geom("box", size=[0.1, 0.1, 0.1])``."""

    def __init__(self, model: "Model", node: ET.Element) -> None:
        self._model, self._node = model, node

    def body(self, name: Optional[str] = None, *, pos: Any = (0, 0, 0), **attributes: Any) -> "Part":
        """Adds a body attached to this one."""
        return Part(self._model, _set(ET.SubElement(self._node, "body"), name=name, pos=pos, **attributes))

    def joint(self, type: str = "hinge", name: Optional[str] = None, **attributes: Any) -> "Part":
        """Adds a joint that moves this body: "hinge", "slide", "ball" or "free". Returns the body."""
        _set(ET.SubElement(self._node, "joint"), type=type, name=name, **attributes)
        return self

    def geom(self, type: str = "sphere", name: Optional[str] = None, *, stiffness: Optional[float] = None,
             relaxation_time: Optional[float] = None, **attributes: Any) -> "Part":
        """Adds a shape; stiffness [N/m] and relaxation_time [s] of its contacts need a name. Returns the body."""
        _set(ET.SubElement(self._node, "geom"), type=type, name=name, **attributes)
        for field, value in (("stiffness", stiffness), ("relaxation_time", relaxation_time)):
            if value is not None:
                if name is None:
                    raise InputError(f"{field} = {value} of a geom needs a name of the geom")
                self._model.setting(f"{field}:{name}", value)
        return self

    def site(self, name: str, **attributes: Any) -> "Part":
        """Adds a site, a frame in this body. Returns the body."""
        _set(ET.SubElement(self._node, "site"), name=name, **attributes)
        return self


class Model:
    """A model built in Python; attributes are those of MJCF, angles in radians::

        model = sapstep.Model("pendulum", timestep=0.01)
        arm = model.world.body("arm", pos=[0, 0, 1]).joint("hinge", "pivot", axis=[0, 1, 0])
        arm.geom("capsule", "rod", fromto=[0, 0, 0, 0.5, 0, 0], size=0.02)
        model.actuator("position", joint="pivot", kp=20)
        robot = model.simulation()            # a Simulation, with its keyword arguments
        model.save("pendulum.xml")
    """

    def __init__(self, name: str = "model", **option: Any) -> None:
        self._root = _set(ET.Element("mujoco"), model=name)
        _set(ET.SubElement(self._root, "compiler"), angle="radian")
        _set(ET.SubElement(self._root, "option"), **option)
        self.world = Part(self, ET.SubElement(self._root, "worldbody"))

    def add(self, section: str, element: str, **attributes: Any) -> ET.Element:
        """Adds an element to a section of the file: ``add("sensor", "gyro", site="imu")``; returns it."""
        found = self._root.find(section)
        return _set(ET.SubElement(ET.SubElement(self._root, section) if found is None else found, element), **attributes)

    def actuator(self, kind: str, **attributes: Any) -> None:
        """Adds a "motor", "position", "velocity", "general", ... of a joint."""
        self.add("actuator", kind, **attributes)

    def setting(self, name: str, value: Any) -> None:
        """Sets what MJCF cannot express: "stiffness", "beta", ... (see include/sapstep/scene.h)."""
        self.add("custom", "text" if isinstance(value, str) else "numeric", name=f"sapstep:{name}", data=value)

    def text(self) -> str:
        """Returns the model as MJCF."""
        ET.indent(self._root)
        return ET.tostring(self._root, encoding="unicode") + "\n"

    def save(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model as MJCF."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.text())

    def simulation(self, *arguments: Any, **keywords: Any) -> Any:
        """Returns a Simulation of the model."""
        from .simulation import Simulation

        return Simulation.from_string(self.text(), *arguments, **keywords)


# --- the model that is read back ---


def _leaves(value: Any, name: str) -> Iterator[Tuple[str, Any]]:
    """Yields names and bytes of a struct's fields."""
    for field, info in ffi.typeof(value).fields:
        if field in MADE:
            continue
        part = getattr(value, field)
        if info.type.kind == "struct":
            yield from _leaves(part, f"{name} {field}")
        elif info.type.kind == "array":
            yield f"{name} {field}", bytes(ffi.buffer(part))
        elif info.type.kind != "pointer":
            yield f"{name} {field}", np.float64(part).tobytes() if isinstance(part, float) else part


def _own(model: Any, kind: str) -> List[int]:
    """Returns the elements of a kind but the frames that saving has added."""
    count = getattr(lib.sap_model_get_sizes(model), _COUNTS[kind])
    return [i for i in range(count) if not (name_of(get(model, kind, i)) or "").startswith(HELPER)]


def _arrays(kind: str, item: Any) -> Iterator[Tuple[str, bytes]]:
    """Yields names and bytes of the arrays that a definition points to."""
    if kind == "mesh":
        yield "vertices", bytes(ffi.buffer(item.vertices, 24 * item.vertex_count))
    if kind == "tendon" and item.njoints > 0:
        yield "joints", bytes(ffi.buffer(item.joints, 4 * item.njoints))
        yield "coefficients", bytes(ffi.buffer(item.coefficients, 8 * item.njoints))
    for k in range(item.npoints if kind == "tendon" else 0):
        yield f"point {k}", bytes(ffi.buffer(item.points + 3 * k, 24)) + bytes(ffi.buffer(item.point_bodies + k, 4))
        if item.wraps != ffi.NULL and item.wraps[k].way != lib.SAP_TENDON_POINT:
            yield f"obstacle {k}", b"".join(x if isinstance(x, bytes) else str(x).encode() for _, x in _leaves(item.wraps[k], ""))


def _differences(a: Any, b: Any) -> Iterator[str]:
    """Yields what is not the same in two models, bit for bit."""
    sizes, options = lib.sap_model_get_sizes(a), lib.sap_model_get_options(a)
    medium = options.fluid_density > 0 or options.fluid_viscosity > 0
    for (name, x), (_, y) in zip(_leaves(sizes, "number of"), _leaves(lib.sap_model_get_sizes(b), "")):
        if x != y and name not in ("number of sites", "number of shapes"):
            yield name
            return
    for (name, x), (_, y) in zip(_leaves(lib.sap_model_get_options(a)[0], "option"), _leaves(lib.sap_model_get_options(b)[0], "")):
        if x != y:
            yield name
    for kind in ("body", "joint", "shape", "mesh", "site", "tendon", "equality", "actuator", "sensor"):
        ours, theirs = _own(a, kind), _own(b, kind)
        if len(ours) != len(theirs):
            yield f"number of {_COUNTS[kind]}"
        for i, j in zip(ours, theirs):
            one, two = get(a, kind, i), get(b, kind, j)
            prefix = f"{kind} {name_of(one) or i}:"
            pairs = [*zip(_leaves(one, prefix), _leaves(two, ""))]
            for (name, x), (_, y) in pairs + [((f"{prefix} {m}", x), (m, y)) for (m, x), (_, y) in zip(_arrays(kind, one), _arrays(kind, two))]:
                plane = kind == "shape" and one.type == lib.SAP_SHAPE_PLANE and name.endswith(" size")
                axes = name.endswith(" q_BI") and not medium  # principal axes, which only drag depends on
                zone = kind == "sensor" and one.type != lib.SAP_SENSOR_TOUCH and " zone" in name
                if x != y and not plane and not axes and not zone:
                    yield name
    for i in range(sizes.keyframes):
        if keyframe(a, sizes, i) != keyframe(b, sizes, i):
            yield f"keyframe {i}"


def save(model: Any, path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes a compiled model as MJCF, after it has been read back to the same bits."""
    text = Writer(model).text()
    with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8", dir=os.path.dirname(os.path.abspath(path))) as file:
        file.write(text)
        file.flush()
        options = ffi.new("sap_scene_options*", lib.sap_scene_options_default())
        options.visuals = True
        try:
            lost = list(_differences(model, read_scene(file.name, options)))
        except InputError as error:
            raise InputError(f"the model cannot be saved: {str(error).replace(file.name, 'its MJCF')}") from None
    if lost:
        raise InputError(f"the model cannot be saved: MJCF does not hold {', '.join(lost[:3])}" +
                         (f" and {len(lost) - 3} more" if len(lost) > 3 else ""))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
