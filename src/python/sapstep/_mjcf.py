# SPDX-License-Identifier: BSD-3-Clause
"""A compiled model as MJCF."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from typing import Any, List, Optional, Tuple

import numpy as np

from ._library import InputError, call, ffi, lib
from ._scene import _COUNTS, _attribute

JOINTS = ("free", "ball", "hinge", "slide")
SHAPES = ("plane", "sphere", "capsule", "cylinder", "box", "ellipsoid", "mesh")
LOST = ("spring", "bushing")
HELPER = "sapstep frame "  # sites that stand for the frames of sensors, tendons and actuators
# In the order of sap_sensor_type: the element of MJCF, and the attribute that names its object.
SENSORS = (*((name, "site") for name in ("accelerometer", "velocimeter", "gyro", "force", "torque", "magnetometer", "rangefinder", "touch")),
           *((name, "frame") for name in ("framepos", "framequat", "framexaxis", "frameyaxis", "framezaxis", "framelinvel", "frameangvel",
                                          "framelinacc", "frameangacc")),
           *((name, "joint") for name in ("jointpos", "jointvel", "jointactuatorfrc", "jointlimitpos", "jointlimitvel", "jointlimitfrc",
                                          "ballquat", "ballangvel")),
           *((name, "tendon") for name in ("tendonpos", "tendonvel", "tendonactuatorfrc", "tendonlimitpos", "tendonlimitvel",
                                           "tendonlimitfrc")),
           *((name, "actuator") for name in ("actuatorpos", "actuatorvel", "actuatorfrc")),
           *((name, "body") for name in ("subtreecom", "subtreelinvel", "subtreeangmom")),
           *((name, None) for name in ("clock", "e_potential", "e_kinetic")))


def get(model: Any, kind: str, index: int) -> Any:
    """Returns a definition as compiled."""
    out = ffi.new(f"sap_{kind}_def*")
    call(getattr(lib, f"sap_model_get_{kind}"), model, index, out)
    return out[0]


def name_of(item: Any) -> Optional[str]:
    return (ffi.string(item.name).decode() or None) if item.name != ffi.NULL else None


def set_attributes(node: ET.Element, **attributes: Any) -> ET.Element:
    for name, value in attributes.items():
        if value is not None:
            node.set(name.rstrip("_"), _attribute(value, name))
    return node


def _add(parent: ET.Element, tag: str, **attributes: Any) -> ET.Element:
    return set_attributes(ET.SubElement(parent, tag), **attributes)


def _finite(low: float, high: float) -> Optional[List[float]]:
    return [low, high] if np.isfinite([low, high]).all() else None


def _unit(q: List[float], rounds: int) -> List[float]:
    """Returns numbers that the reader and the builder normalise to q, bit for bit: q itself, or with other last bits."""
    draw, x = np.random.default_rng(0), np.array([q])
    for tries in range(200):
        y = x.copy()
        for way in range(rounds):  # as sap_quaternion_normalize and sap_check_unit do
            if way + 1 == rounds:
                y /= np.abs(y).max(axis=1, keepdims=True)
            y /= np.sqrt(sum(y[:, k] * y[:, k] for k in range(len(q))))[:, None]
        found = np.flatnonzero((y == q).all(axis=1))
        if len(found):
            return x[found[0]].tolist()
        bits = draw.integers(-2, 3, (4000, len(q))) * np.spacing(np.abs(q)) * (np.array(q) != 0)
        scale = draw.integers(64, 128, (4000, 1)) / 64 if tries % 2 == 0 else 1 + draw.random((4000, 1))
        x = (np.array(q) + bits) * scale
    return q


def _solref(stiffness: float, time: float) -> Optional[List[float]]:
    """Returns "-k -d" with d/k = time, bit for bit; None: near rigid."""
    if not np.isfinite(stiffness):
        return None
    damping = time * stiffness
    tries = (damping + k * math.ulp(damping) for k in (0, 1, -1, 2, -2))
    return [-stiffness, -next((d for d in tries if d / stiffness == time), damping)]


def keyframe(model: Any, sizes: Any, index: int) -> Tuple[List[float], ...]:
    """Returns time, positions, velocities, controls and activations."""
    state, control = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear), ffi.new("double[]", max(sizes.nu, 1))
    call(lib.sap_model_get_keyframe, model, index, state, control)
    return ([state.t], list(state.q[0:sizes.nq]), list(state.v[0:sizes.nv]), list(control[0:sizes.nu]),
            list(state.act[0:sizes.na]) if sizes.na else [])


class Writer:
    """Builds the XML of a model."""

    def __init__(self, model: Any) -> None:
        self.model, self.sizes = model, lib.sap_model_get_sizes(model)
        self.root = ET.Element("mujoco")
        self.items = {kind: [get(model, kind, i) for i in range(getattr(self.sizes, _COUNTS[kind]))]
                      for kind in ("body", "joint", "shape", "site", "tendon", "actuator", "equality", "sensor", "mesh")}
        self.names = {kind: [name_of(item) or f"{kind} {i}" for i, item in enumerate(items)] for kind, items in self.items.items()}
        self.names["body"][0] = "world"
        self.nodes: List[ET.Element] = []
        self.helpers = 0

    def _section(self, tag: str, items: Any = True) -> ET.Element:
        return ET.SubElement(self.root, tag) if items else self.root

    def _numeric(self, name: str, value: Any) -> None:
        _add(self.custom, "numeric", name=f"sapstep:{name}", data=value)

    def _options(self) -> None:
        options = lib.sap_model_get_options(self.model)
        if options.name != ffi.NULL and ffi.string(options.name):
            set_attributes(self.root, model=ffi.string(options.name).decode())
        self._section("compiler").attrib.update(angle="radian", autolimits="false", inertiafromgeom="false")
        set_attributes(self._section("option"), timestep=options.timestep, gravity=list(options.gravity), wind=list(options.wind),
                       magnetic=list(options.magnetic_field), density=options.fluid_density, viscosity=options.fluid_viscosity)
        self.custom = self._section("custom")
        self._numeric("beta", options.regularization.beta)
        self._numeric("sigma", options.regularization.sigma)
        if options.friction_rule == lib.SAP_FRICTION_HARMONIC:
            self._numeric("harmonic_friction", 1)
        limited = [*self.items["joint"], *self.items["tendon"]]
        times = [x.limit_relaxation_time for x in limited if not np.isfinite(x.limit_stiffness)]
        if times:
            self._numeric("limit_relaxation_time", times[0])

    # --- bodies and what they carry ---

    def _shape(self, parent: ET.Element, shape: Any, name: str) -> None:
        plain, material = lib.sap_shape_def_default(), shape.material
        count = {"sphere": 1, "capsule": 2, "cylinder": 2, "mesh": 0}.get(SHAPES[shape.type], 3)
        size = [max(x, 1.0) if shape.type == lib.SAP_SHAPE_PLANE else x for x in shape.size][:count]
        color = list(shape.color)
        _add(parent, "geom", name=name, type=SHAPES[shape.type], pos=list(shape.p_BS), quat=_unit(list(shape.q_BS), 3),
             size=size or None, friction=[material.friction, shape.friction_torsional, shape.friction_rolling], condim=shape.condim,
             contype=shape.contact_type, conaffinity=shape.contact_affinity, priority=shape.priority,
             margin=shape.rest_distance or None, rgba=color if np.isfinite(color).all() else None,
             mesh=self.names["mesh"][shape.mesh] if SHAPES[shape.type] == "mesh" else None)
        if np.isfinite(material.stiffness):
            self._numeric(f"stiffness:{name}", material.stiffness)
        self._numeric(f"relaxation_time:{name}", material.relaxation_time)
        for field in ("dissipation", "stiction_tolerance", "static_friction", "modulus", "field_depth"):
            if getattr(material, field) != getattr(plain.material, field):
                self._numeric(f"{field}:{name}", getattr(material, field))
        if material.model != lib.SAP_CONTACT_SAP:
            text = {lib.SAP_CONTACT_SIMILAR: "similar", lib.SAP_CONTACT_LAGGED: "lagged"}[material.model]
            _add(self.custom, "text", name=f"sapstep:contact_model:{name}", data=text)

    def _joint(self, parent: ET.Element, joint: Any, name: str) -> None:
        reason = "is locked" if joint.locked else "has a motor speed" if np.isfinite(joint.motor_speed) else (
            "has equal limits" if joint.lower == joint.upper else "")
        if reason:
            raise InputError(f"joint {name} cannot be saved: it {reason}")
        kind, moves = JOINTS[joint.type], joint.type in (lib.SAP_JOINT_HINGE, lib.SAP_JOINT_SLIDE)
        limits = [0.0, joint.upper] if kind == "ball" and np.isfinite(joint.upper) else _finite(joint.lower, joint.upper)
        node = _add(parent, "joint", name=name, type=kind, damping=joint.damping, armature=joint.armature,
                    frictionloss=joint.friction_loss, solreflimit=_solref(joint.limit_stiffness, joint.limit_relaxation_time))
        if kind != "free":
            set_attributes(node, stiffness=joint.stiffness, range=limits, limited=limits is not None)
            set_attributes(node, pos=list(joint.p_BJ) if kind != "slide" else None)
        if moves:
            effort = _finite(joint.effort_lower, joint.effort_upper)
            set_attributes(node, axis=_unit(list(joint.axis), 1), ref=joint.reference, springref=joint.spring_reference,
                           actuatorfrcrange=effort, actuatorfrclimited=effort is not None or None)

    def _bodies(self) -> None:
        self.nodes = [self._section("worldbody")]
        for i, body in enumerate(self.items["body"]):
            if i > 0:
                self.nodes.append(_add(self.nodes[body.parent], "body", name=self.names["body"][i], pos=list(body.p_PB),
                                       quat=_unit(list(body.q_PB), 3), gravcomp=body.gravity_compensation or None))
                if body.mass > 0:
                    _add(self.nodes[i], "inertial", pos=list(body.p_BCo), mass=body.mass, fullinertia=list(body.I_BCo_B))
            for kind, write in (("joint", self._joint), ("shape", self._shape), ("site", self._site)):
                for k, item in enumerate(self.items[kind]):
                    if item.body == i:
                        write(self.nodes[i], item, self.names[kind][k])

    def _site(self, parent: ET.Element, site: Any, name: str, **shape: Any) -> str:
        _add(parent, "site", name=name, pos=list(site.p_BX), quat=_unit(list(site.q_BX), 3), **shape)
        return name

    def _helper(self) -> str:
        while True:
            self.helpers += 1
            name = f"{HELPER}{self.helpers}"
            if name not in self.names["site"] and name not in self.names["shape"]:
                return name

    def _frame(self, body: int, p: Any, q: Any = None, **shape: Any) -> str:
        """Returns the name of a site with this pose in a body, which is added where there is none."""
        for k, site in enumerate(self.items["site"]):
            if site.body == body and list(site.p_BX) == list(p) and (q is None or list(site.q_BX) == list(q)) and not shape:
                return self.names["site"][k]
        site = lib.sap_site_def_default()
        site.p_BX = list(p)
        site.q_BX = list(q) if q is not None else [1.0, 0.0, 0.0, 0.0]
        return self._site(self.nodes[body], site, self._helper(), **shape)

    def _meshes(self) -> None:
        assets = self._section("asset", self.items["mesh"])
        for mesh, name in zip(self.items["mesh"], self.names["mesh"]):
            _add(assets, "mesh", name=name, vertex=list(mesh.vertices[0:3 * mesh.vertex_count]))

    # --- what joins bodies ---

    def _path(self, parent: ET.Element, tendon: Any) -> None:
        for k in range(tendon.npoints):
            body, point = tendon.point_bodies[k], list(tendon.points[3 * k:3 * k + 3])
            wrap = tendon.wraps[k] if tendon.wraps != ffi.NULL else None
            if wrap is None or wrap.way == lib.SAP_TENDON_POINT:
                _add(parent, "site", site=self._frame(body, point))
            elif wrap.way == lib.SAP_TENDON_PULLEY:
                _add(parent, "pulley", divisor=wrap.divisor)
            else:
                side = self._frame(wrap.side_body, wrap.side_point) if wrap.side_body >= 0 else None
                _add(parent, "geom", geom=self._obstacle(body, point, wrap), sidesite=side)

    def _obstacle(self, body: int, point: List[float], wrap: Any) -> str:
        kind = "sphere" if wrap.way == lib.SAP_TENDON_SPHERE else "cylinder"
        z = np.array(list(wrap.axis))
        q = np.array([1.0 + z[2], -z[1], z[0], 0.0]) if kind == "cylinder" and z[2] > -1 else np.array([1.0, 0.0, 0.0, 0.0])
        for k, shape in enumerate(self.items["shape"]):
            w, x, y, t = shape.q_BS
            turned = [2 * (x * t + w * y), 2 * (y * t - w * x), 1 - 2 * (x * x + y * y)]
            if (shape.body == body and SHAPES[shape.type] == kind and list(shape.p_BS) == point and shape.size[0] == wrap.radius and
                    (kind == "sphere" or np.allclose(turned, z, rtol=0, atol=1e-12))):
                return self.names["shape"][k]
        name = self._helper()
        _add(self.nodes[body], "geom", name=name, type=kind, pos=point, quat=list(q / np.linalg.norm(q)),
             size=[wrap.radius] if kind == "sphere" else [wrap.radius, 1.0], contype=0, conaffinity=0, group=3)
        return name

    def _tendons(self) -> None:
        parent = self._section("tendon", self.items["tendon"])
        for tendon, name in zip(self.items["tendon"], self.names["tendon"]):
            limits, effort = _finite(tendon.lower, tendon.upper), _finite(tendon.effort_lower, tendon.effort_upper)
            spring = _finite(tendon.spring_lower, tendon.spring_upper)
            node = _add(parent, "fixed" if tendon.njoints > 0 else "spatial", name=name, stiffness=tendon.stiffness,
                        damping=tendon.damping, frictionloss=tendon.friction_loss, range=limits, limited=limits is not None,
                        actuatorfrcrange=effort, actuatorfrclimited=effort is not None or None, springlength=spring,
                        solreflimit=_solref(tendon.limit_stiffness, tendon.limit_relaxation_time))
            for k in range(tendon.njoints):
                _add(node, "joint", joint=self.names["joint"][tendon.joints[k]], coef=tendon.coefficients[k])
            self._path(node, tendon)

    def _equalities(self) -> None:
        parent = self._section("equality", self.items["equality"])
        for e, name in zip(self.items["equality"], self.names["equality"]):
            common = dict(name=name, active=bool(e.active), solref=_solref(e.stiffness, e.relaxation_time))
            b, sites = max(e.b, 0), self.items["site"]
            ends = [next((self.names["site"][k] for k, site in enumerate(sites) if site.body == body and list(site.p_BX) == list(p)), None)
                    for body, p in ((e.a, e.anchor_A), (b, e.anchor_B))]
            between = dict(site1=ends[0], site2=ends[1]) if None not in ends else dict(
                body1=self.names["body"][e.a], body2=self.names["body"][b])
            if e.type == lib.SAP_EQUALITY_CONNECT:
                _add(parent, "connect", **common, **between, anchor=list(e.anchor_A) if None in ends else None)
            elif e.type == lib.SAP_EQUALITY_WELD:
                pose = dict(anchor=list(e.anchor_B), relpose=[*e.anchor_A, *_unit(list(e.q_AB), 2)]) if None in ends else {}
                _add(parent, "weld", **common, **between, **pose, torquescale=e.torque_scale)
            elif e.type in (lib.SAP_EQUALITY_JOINT, lib.SAP_EQUALITY_TENDON):
                kind = "joint" if e.type == lib.SAP_EQUALITY_JOINT else "tendon"
                _add(parent, kind, **common, polycoef=list(e.polynomial), **{
                    f"{kind}1": self.names[kind][e.a], f"{kind}2": self.names[kind][e.b] if e.b >= 0 else None})
            else:
                raise InputError(f"equality {name} cannot be saved: MJCF has no distances")

    # --- actuators and sensors ---

    def _transmission(self, a: Any) -> dict:
        if a.transmission == lib.SAP_TRANSMISSION_JOINT:
            turns = self.items["joint"][a.target].type in (lib.SAP_JOINT_FREE, lib.SAP_JOINT_BALL)
            return {"jointinparent" if a.in_parent else "joint": self.names["joint"][a.target],
                    "gear": list(a.direction) if turns else [a.gear]}
        if a.transmission == lib.SAP_TRANSMISSION_TENDON:
            return dict(tendon=self.names["tendon"][a.target], gear=[a.gear])
        if a.transmission == lib.SAP_TRANSMISSION_SLIDER_CRANK:
            z = list(a.slider_axis)
            slider = next((self.names["site"][k] for k, site in enumerate(self.items["site"])
                           if site.body == a.slider_body and list(site.p_BX) == list(a.slider_point)), None)
            q = None if slider else [1.0 + z[2], -z[1], z[0], 0.0]
            slider = slider or self._frame(a.slider_body, a.slider_point, list(np.array(q) / np.linalg.norm(q)))
            return dict(cranksite=self._frame(a.crank_body, a.crank_point), slidersite=slider, cranklength=a.crank_length, gear=[a.gear])
        if a.transmission == lib.SAP_TRANSMISSION_SITE:
            reference = self._frame(a.reference_body, a.reference_point, a.reference_q) if a.reference_body >= 0 else None
            return dict(site=self._frame(a.site_body, a.site_point, a.site_q), refsite=reference, gear=list(a.direction))
        return dict(body=self.names["body"][a.target])

    def _actuators(self) -> None:
        parent = self._section("actuator", self.items["actuator"])
        for a, name in zip(self.items["actuator"], self.names["actuator"]):
            m, slopes = a.muscle, any(a.gain_slope)
            muscle = [*m.range, m.force, m.scale, m.lmin, m.lmax, m.vmax, m.fpmax, m.fvmax]
            node = _add(parent, "general", name=name, **self._transmission(a),
                        dyntype=("none", "integrator", "filter", "filterexact", "muscle")[a.activation],
                        gaintype="muscle" if a.muscle_gain else "affine" if slopes else "fixed",
                        biastype="muscle" if a.muscle_bias else "affine",
                        gainprm=muscle if a.muscle_gain else [a.gain, *a.gain_slope] if slopes else [a.gain],
                        biasprm=muscle if a.muscle_bias else list(a.bias))
            if a.activation != lib.SAP_ACTIVATION_NONE:
                set_attributes(node, dynprm=list(a.activation_time), actearly=bool(a.activation_early))
            set_attributes(node, lengthrange=_finite(a.length_lower, a.length_upper))
            for attribute, limits in (("ctrl", _finite(a.control_lower, a.control_upper)), ("force", _finite(a.force_lower, a.force_upper)),
                                      ("act", _finite(a.activation_lower, a.activation_upper))):
                if limits is not None or attribute != "act":
                    set_attributes(node, **{f"{attribute}range": limits, f"{attribute}limited": limits is not None})

    def _sensors(self) -> None:
        parent = self._section("sensor", self.items["sensor"])
        for s, name in zip(self.items["sensor"], self.names["sensor"]):
            tag, of = SENSORS[s.type]
            node = _add(parent, tag, name=name, cutoff=s.cutoff or None)
            if of == "site":
                zone = dict(type=SHAPES[s.zone], size=list(s.zone_size)) if tag == "touch" else {}
                set_attributes(node, site=self._frame(s.object, s.p_BX, s.q_BX, **zone))
            elif of == "frame":
                set_attributes(node, objtype="site", objname=self._frame(s.object, s.p_BX, s.q_BX))
                if s.reference >= 0:
                    set_attributes(node, reftype="site", refname=self._frame(s.reference, s.p_BR, s.q_BR))
            elif of is not None:
                set_attributes(node, **{of: self.names[of][s.object]})

    def _keyframes(self) -> None:
        parent = self._section("keyframe", self.sizes.keyframes)
        for i in range(self.sizes.keyframes):
            t, q, v, control, act = keyframe(self.model, self.sizes, i)
            at = 0
            for joint in self.items["joint"]:
                at += {lib.SAP_JOINT_FREE: 3}.get(joint.type, 0)
                if joint.type in (lib.SAP_JOINT_FREE, lib.SAP_JOINT_BALL):
                    q[at:at + 4] = _unit(q[at:at + 4], 1)
                at += 4 if joint.type in (lib.SAP_JOINT_FREE, lib.SAP_JOINT_BALL) else 1
            name = ffi.string(lib.sap_model_get_name(self.model, lib.SAP_ELEMENT_KEYFRAME, i)).decode()
            _add(parent, "key", name=name or None, time=t, qpos=q, qvel=v, ctrl=control or None, act=act or None)

    def text(self) -> str:
        for kind in LOST:
            count = getattr(self.sizes, _COUNTS[kind])
            if count > 0:
                raise InputError(f"the model cannot be saved: it has {count} {_COUNTS[kind]}")
        if self.sizes.pairs > 0:
            raise InputError(f"the model cannot be saved: it has {self.sizes.pairs} contact pairs")
        self._options()
        self._meshes()
        self._bodies()
        bodies = range(self.sizes.bodies)
        excluded = [(a, b) for a in bodies for b in bodies if a < b and lib.sap_model_excludes(self.model, a, b)]
        contact = self._section("contact", excluded)
        for a, b in excluded:
            _add(contact, "exclude", body1=self.names["body"][a], body2=self.names["body"][b])
        self._tendons()
        self._equalities()
        self._actuators()
        self._sensors()
        self._keyframes()
        ET.indent(self.root)
        return ET.tostring(self.root, encoding="unicode") + "\n"
