# SPDX-License-Identifier: BSD-3-Clause
"""Models as MJCF: built in Python, or out of a compiled model."""

from __future__ import annotations

import itertools
import math
import os
import tempfile
import xml.etree.ElementTree as ET
from typing import Any, Iterator, List, Optional, Tuple, Union

import numpy as np

from ._library import InputError, call, ffi, lib
from ._scene import _COUNTS, _attribute, read_scene

JOINTS = ("free", "ball", "hinge", "slide")
SHAPES = ("plane", "sphere", "capsule", "cylinder", "box", "ellipsoid")
# Compiling has made other fields of these.
MADE = ("cookie", "name", "spring_time", "spring_damping_ratio", "damping_ratio")
LOST = ("tendon", "mesh", "equality", "spring", "bushing", "site", "sensor")


def _get(model: Any, kind: str, index: int) -> Any:
    out = ffi.new(f"sap_{kind}_def*")
    call(getattr(lib, f"sap_model_get_{kind}"), model, index, out)
    return out[0]


def _name(item: Any) -> Optional[str]:
    return (ffi.string(item.name).decode() or None) if item.name != ffi.NULL else None


def _set(node: ET.Element, **attributes: Any) -> ET.Element:
    for name, value in attributes.items():
        if value is not None:
            node.set(name.rstrip("_"), _attribute(value, name))
    return node


def _finite(low: float, high: float) -> Optional[List[float]]:
    return [low, high] if np.isfinite([low, high]).all() else None


def _unit(q: List[float], rounds: int) -> List[float]:
    """Returns numbers that the reader and the builder normalise to q, bit for bit: q itself, or with other last bits."""
    def normalized(values: Tuple[float, ...]) -> List[float]:
        out = list(values)
        for way in range(rounds):  # as sap_quaternion_normalize and sap_check_unit do
            largest = max(map(abs, out)) if way + 1 == rounds else 1.0
            out = [x / largest for x in out]
            total = 0.0
            for x in out:
                total += x * x
            norm = math.sqrt(total)
            out = [x / norm for x in out]
        return out

    nearby = [[x + k * math.ulp(x) for k in (0, 1, -1, 2, -2)] if x != 0 else [x] for x in q]
    scales = (1.0, *(1 + k / 64 for k in range(1, 64)))
    tries = (tuple(scale * x for x in values) for scale in scales for values in itertools.product(*nearby))
    return list(next((values for values in tries if normalized(values) == q), tuple(q)))


def _numeric(custom: ET.Element, name: str, value: Any) -> None:
    _set(ET.SubElement(custom, "numeric"), name=f"sapstep:{name}", data=value)


def _add_shape(parent: ET.Element, shape: Any, index: int, custom: ET.Element) -> None:
    plain, material = lib.sap_shape_def_default(), shape.material
    name = _name(shape) or f"shape {index}"
    count = {"sphere": 1, "capsule": 2, "cylinder": 2}.get(SHAPES[shape.type], 3)
    size = [max(x, 1.0) if shape.type == lib.SAP_SHAPE_PLANE else x for x in shape.size][:count]
    color = list(shape.color)
    _set(ET.SubElement(parent, "geom"), name=name, type=SHAPES[shape.type], pos=list(shape.p_BS), quat=_unit(list(shape.q_BS), 3),
         size=size, friction=[material.friction, shape.friction_torsional, shape.friction_rolling], condim=shape.condim,
         contype=shape.contact_type, conaffinity=shape.contact_affinity, priority=shape.priority,
         margin=shape.rest_distance or None, rgba=color if np.isfinite(color).all() else None)
    if np.isfinite(material.stiffness):
        _numeric(custom, f"stiffness:{name}", material.stiffness)
    _numeric(custom, f"relaxation_time:{name}", material.relaxation_time)
    for field in ("dissipation", "stiction_tolerance", "static_friction"):
        if getattr(material, field) != getattr(plain.material, field):
            _numeric(custom, f"{field}:{name}", getattr(material, field))
    if material.model != lib.SAP_CONTACT_SAP:
        text = {lib.SAP_CONTACT_SIMILAR: "similar", lib.SAP_CONTACT_LAGGED: "lagged"}[material.model]
        _set(ET.SubElement(custom, "text"), name=f"sapstep:contact_model:{name}", data=text)


def _add_joint(parent: ET.Element, joint: Any, index: int) -> None:
    kind, moves = JOINTS[joint.type], joint.type in (lib.SAP_JOINT_HINGE, lib.SAP_JOINT_SLIDE)
    limits = [0.0, joint.upper] if kind == "ball" and np.isfinite(joint.upper) else _finite(joint.lower, joint.upper)
    node = _set(ET.SubElement(parent, "joint"), name=_name(joint) or f"joint {index}", type=kind, damping=joint.damping,
                armature=joint.armature, frictionloss=joint.friction_loss)
    if kind != "free":
        _set(node, stiffness=joint.stiffness, range=limits, limited=limits is not None)
        _set(node, pos=list(joint.p_BJ) if kind != "slide" else None)
    if moves:
        _set(node, axis=_unit(list(joint.axis), 1), ref=joint.reference, springref=joint.spring_reference,
             actuatorfrcrange=_finite(joint.effort_lower, joint.effort_upper))


def _add_actuator(parent: ET.Element, a: Any, index: int, joints: List[str]) -> None:
    if a.transmission != lib.SAP_TRANSMISSION_JOINT or a.activation != lib.SAP_ACTIVATION_NONE or a.muscle_gain or a.muscle_bias:
        raise InputError(f"actuator {_name(a) or index} cannot be saved: only those of joints without activation can")
    slopes = any(a.gain_slope)
    node = _set(ET.SubElement(parent, "general"), name=_name(a) or f"actuator {index}", joint=joints[a.target],
                gear=[a.gear], dyntype="none", gaintype="affine" if slopes else "fixed", biastype="affine",
                gainprm=[a.gain, *a.gain_slope] if slopes else [a.gain], biasprm=list(a.bias))
    for attribute, limits in (("ctrl", _finite(a.control_lower, a.control_upper)), ("force", _finite(a.force_lower, a.force_upper))):
        _set(node, **{f"{attribute}range": limits, f"{attribute}limited": limits is not None})


def to_mjcf(model: Any) -> str:
    """Returns a compiled model as MJCF."""
    sizes, options = lib.sap_model_get_sizes(model), lib.sap_model_get_options(model)
    for kind in LOST:
        count = getattr(sizes, _COUNTS[kind])
        if count > 0:
            raise InputError(f"the model cannot be saved: it has {count} {_COUNTS[kind]}")
    if sizes.pairs > 0:
        raise InputError(f"the model cannot be saved: it has {sizes.pairs} contact pairs")
    root = ET.Element("mujoco")
    if options.name != ffi.NULL and ffi.string(options.name):
        _set(root, model=ffi.string(options.name).decode())
    _set(ET.SubElement(root, "compiler"), angle="radian", autolimits=False, inertiafromgeom="false")
    _set(ET.SubElement(root, "option"), timestep=options.timestep, gravity=list(options.gravity), wind=list(options.wind),
         magnetic=list(options.magnetic_field), density=options.fluid_density, viscosity=options.fluid_viscosity)
    custom, nodes = ET.SubElement(root, "custom"), {0: ET.SubElement(root, "worldbody")}
    _numeric(custom, "beta", options.regularization.beta)
    _numeric(custom, "sigma", options.regularization.sigma)
    joints, shapes = ([_get(model, kind, i) for i in range(getattr(sizes, _COUNTS[kind]))] for kind in ("joint", "shape"))
    if joints and np.isfinite(joints[0].limit_stiffness):
        _numeric(custom, "limit_stiffness", joints[0].limit_stiffness)
    if joints:
        _numeric(custom, "limit_relaxation_time", joints[0].limit_relaxation_time)
    bodies = [_get(model, "body", i) for i in range(sizes.bodies)]
    names = [_name(body) or f"body {i}" for i, body in enumerate(bodies)]
    names[0] = "world"
    for i, body in enumerate(bodies):
        if i > 0:
            nodes[i] = _set(ET.SubElement(nodes[body.parent], "body"), name=names[i], pos=list(body.p_PB), quat=_unit(list(body.q_PB), 2),
                            gravcomp=body.gravity_compensation or None)
            if body.mass > 0:
                _set(ET.SubElement(nodes[i], "inertial"), pos=list(body.p_BCo), mass=body.mass, fullinertia=list(body.I_BCo_B))
        for k, joint in enumerate(joints):
            if joint.body == i:
                _add_joint(nodes[i], joint, k)
        for k, shape in enumerate(shapes):
            if shape.body == i:
                _add_shape(nodes[i], shape, k, custom)
    excluded = [(a, b) for a in range(sizes.bodies) for b in range(a + 1, sizes.bodies) if lib.sap_model_excludes(model, a, b)]
    contact = ET.SubElement(root, "contact") if excluded else root
    for a, b in excluded:
        _set(ET.SubElement(contact, "exclude"), body1=names[a], body2=names[b])
    actuators = ET.SubElement(root, "actuator") if sizes.actuators else root
    labels = [_name(joint) or f"joint {i}" for i, joint in enumerate(joints)]
    for i in range(sizes.actuators):
        _add_actuator(actuators, _get(model, "actuator", i), i, labels)
    _add_keyframes(root, model, sizes)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _keyframe(model: Any, sizes: Any, index: int) -> Tuple[float, List[float], List[float], List[float]]:
    state, control = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear), ffi.new("double[]", max(sizes.nu, 1))
    call(lib.sap_model_get_keyframe, model, index, state, control)
    return state.t, list(state.q[0:sizes.nq]), list(state.v[0:sizes.nv]), list(control[0:sizes.nu])


def _add_keyframes(root: ET.Element, model: Any, sizes: Any) -> None:
    parent = ET.SubElement(root, "keyframe") if sizes.keyframes else root
    for i in range(sizes.keyframes):
        t, q, v, control = _keyframe(model, sizes, i)
        name = ffi.string(lib.sap_model_get_name(model, lib.SAP_ELEMENT_KEYFRAME, i)).decode()
        _set(ET.SubElement(parent, "key"), name=name or None, time=t, qpos=q, qvel=v, ctrl=control or None)


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


def _differences(a: Any, b: Any) -> Iterator[str]:
    """Yields what is not the same in two models, bit for bit."""
    sizes, options = lib.sap_model_get_sizes(a), lib.sap_model_get_options(a)
    medium = options.fluid_density > 0 or options.fluid_viscosity > 0
    for (name, x), (_, y) in zip(_leaves(sizes, "number of"), _leaves(lib.sap_model_get_sizes(b), "")):
        if x != y:
            yield name
            return
    for (name, x), (_, y) in zip(_leaves(lib.sap_model_get_options(a)[0], "option"), _leaves(lib.sap_model_get_options(b)[0], "")):
        if x != y:
            yield name
    for kind in ("body", "joint", "shape", "actuator"):
        for i in range(getattr(sizes, _COUNTS[kind])):
            one, two = _get(a, kind, i), _get(b, kind, i)
            for (name, x), (_, y) in zip(_leaves(one, f"{kind} {_name(one) or i}:"), _leaves(two, "")):
                plane = kind == "shape" and one.type == lib.SAP_SHAPE_PLANE and name.endswith(" size")
                axes = name.endswith(" q_BI") and not medium  # principal axes, which only drag depends on
                if x != y and not plane and not axes:
                    yield name
    for i in range(sizes.keyframes):
        if _keyframe(a, sizes, i) != _keyframe(b, sizes, i):
            yield f"keyframe {i}"


def save(model: Any, path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes a compiled model as MJCF, after it has been read back to the same bits."""
    text = to_mjcf(model)
    with tempfile.NamedTemporaryFile("w", suffix=".xml", encoding="utf-8", dir=os.path.dirname(os.path.abspath(path))) as file:
        file.write(text)
        file.flush()
        options = ffi.new("sap_scene_options*", lib.sap_scene_options_default())
        options.visuals = True
        lost = list(_differences(model, read_scene(file.name, options)))
    if lost:
        raise InputError(f"the model cannot be saved: MJCF does not hold {', '.join(lost[:3])}" +
                         (f" and {len(lost) - 3} more" if len(lost) > 3 else ""))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
