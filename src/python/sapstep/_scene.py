# SPDX-License-Identifier: BSD-3-Clause
"""Models read from scenes: sizes, names, joints. Models are immutable: no locking here."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any, List, Mapping, Union

import numpy as np

from ._library import InputError, array, call, ffi, integer, lib
from ._options import c_string, file_name

_COUNTS = {
    "body": "bodies", "joint": "joints", "shape": "shapes", "tendon": "tendons", "actuator": "actuators",
    "keyframe": "keyframes", "mesh": "meshes", "equality": "equalities", "spring": "springs",
    "bushing": "bushings",
}
MEMORY = "/proc/self/fd/"  # path of a scene given as a string
_COORDINATES = {"free": (7, 6), "ball": (4, 3)}  # positions, velocities; other joints have one each


@dataclass(frozen=True)
class Joint:
    """Slices of a joint: ``robot.q[robot.joint("knee").q]``.

    index: its id; type: "free" (p_WB [m] and quaternion), "ball" (quaternion), "hinge" [rad] or
    "slide" [m]; body: id of the body it moves; q, v: slices of the positions and velocities; lower,
    upper: its limits, -inf and inf if it has none.
    """

    index: int
    name: str
    type: str
    body: int
    q: slice
    v: slice
    lower: float
    upper: float


def _attribute(value: Any, name: str) -> str:
    """Formats a value as in a scene file."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bool, np.bool_)):
        return str(bool(value)).lower()
    return " ".join(format(x, ".17g") for x in array(value, np.shape(value), name).ravel())


def edit(options: Any, edits: Mapping[str, Any]) -> Any:
    """Fills sap_scene_options; returns the objects that they point to."""
    if not isinstance(edits, Mapping):
        raise TypeError("edits must map paths to values, as in {'geom/ball/density': 500}")
    rows = [(c_string(path, "the path of an edit"), c_string(_attribute(value, str(path)), str(path)))
            for path, value in edits.items()]
    pointers = ffi.new("sap_scene_edit[]", rows)
    options.edits, options.edit_count = pointers, len(rows)
    return rows, pointers


def _users_level() -> int:
    """Returns the stack level of the first caller outside this package, for warnings."""
    level, frame = 2, sys._getframe(1).f_back
    while frame is not None and frame.f_globals.get("__name__", "").startswith("sapstep."):
        level, frame = level + 1, frame.f_back
    return level


def read_scene(path: Union[str, "os.PathLike[str]"], options: Any) -> Any:
    """Reads a sap_model; warnings of the reader become Python warnings."""
    messages: List[str] = []
    name = file_name(path)

    def shown(message: str) -> str:
        return message.replace(os.fsdecode(name), "the scene") if name.startswith(MEMORY.encode()) else message

    @ffi.callback("void(void*, const char*)")  # type: ignore[untyped-decorator, unused-ignore]
    def keep(_: Any, message: Any) -> None:
        messages.append(ffi.string(message).decode(errors="replace"))

    options.warning = keep
    out = ffi.new("sap_model**")
    try:
        call(lib.sap_scene_read, name, options, out)
    except InputError as error:
        raise InputError(shown(str(error)), error.status) from None
    finally:
        for message in messages:
            warnings.warn(shown(message), stacklevel=_users_level())
    return ffi.gc(out[0], lib.sap_model_destroy)


def _element(kind: str) -> int:
    if not isinstance(kind, str) or kind not in _COUNTS:
        raise InputError(f"{kind!r} must be one of {', '.join(_COUNTS)}")
    return int(getattr(lib, "SAP_ELEMENT_" + kind.upper()))


class Scene:
    """Properties of a simulation's model."""

    _model: Any
    _sizes: Any

    @property
    def nq(self) -> int:
        """Generalized positions."""
        return int(self._sizes.nq)

    @property
    def nv(self) -> int:
        """Generalized velocities."""
        return int(self._sizes.nv)

    @property
    def nu(self) -> int:
        """Actuators."""
        return int(self._sizes.nu)

    def names(self, kind: str) -> List[str]:
        """Names of all "body", "joint", "shape", "actuator", ... in the order of their ids; "" for unnamed
        ones."""
        element = _element(kind)
        return [self._name(element, i) for i in range(getattr(self._sizes, _COUNTS[kind]))]

    def _name(self, element: int, index: int) -> str:
        return str(ffi.string(lib.sap_model_get_name(self._model, element, index)).decode(errors="replace"))

    def find(self, kind: str, name: str) -> int:
        """Returns the id of a named element."""
        index = lib.sap_model_find(self._model, _element(kind), c_string(name, f"the name of a {kind}"))
        if index < 0:
            known = ", ".join(n for n in self.names(kind) if n) or "none has a name"
            raise InputError(f"there is no {kind} {name!r} ({known})")
        return int(index)

    def _index(self, kind: str, which: Union[str, int]) -> int:
        return self.find(kind, which) if isinstance(which, str) else integer(which, kind)

    def joint(self, which: Union[str, int]) -> Joint:
        """Returns the slices of a joint in q and v."""
        index = self._index("joint", which)
        joint, q, v = ffi.new("sap_joint_def*"), ffi.new("int32_t*"), ffi.new("int32_t*")
        call(lib.sap_model_get_joint, self._model, index, joint)
        call(lib.sap_model_joint_address, self._model, index, ffi.NULL, ffi.NULL, q, v)
        kind = ffi.string(ffi.cast("sap_joint_type", joint.type)).rsplit("_", 1)[1].lower()
        nq, nv = _COORDINATES.get(kind, (1, 1))
        name = self._name(lib.SAP_ELEMENT_JOINT, index)
        return Joint(index, name, kind, joint.body, slice(q[0], q[0] + nq), slice(v[0], v[0] + nv), joint.lower,
                     joint.upper)
