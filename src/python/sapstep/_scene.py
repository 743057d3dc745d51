# SPDX-License-Identifier: BSD-3-Clause
"""Models read from scenes: sizes, names, joints. They never change: nothing here takes a turn."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Any, List, Union

from ._library import InputError, call, ffi, integer, lib
from ._options import c_string, file_name

_COUNTS = {
    "body": "bodies", "joint": "joints", "shape": "shapes", "tendon": "tendons", "actuator": "actuators",
    "keyframe": "keyframes", "mesh": "meshes", "equality": "equalities", "spring": "springs",
    "bushing": "bushings",
}
_COORDINATES = {"free": (7, 6), "ball": (4, 3)}  # positions and velocities; one each of other joints


@dataclass(frozen=True)
class Joint:
    """Where a joint is: ``robot.q[robot.joint("knee").q]``.

    index: its id; type: "free" (p_WB [m] and quaternion), "ball" (quaternion), "hinge" [rad] or
    "slide" [m]; body: the id of what it moves; q, v: slices of the positions and velocities.
    """

    index: int
    name: str
    type: str
    body: int
    q: slice
    v: slice


def read_scene(path: Union[str, "os.PathLike[str]"], options: Any) -> Any:
    """A sap_model; what the reader warns of is a warning of Python's."""
    messages: List[str] = []

    @ffi.callback("void(void*, const char*)")  # type: ignore[untyped-decorator, unused-ignore]
    def keep(_: Any, message: Any) -> None:
        messages.append(ffi.string(message).decode(errors="replace"))

    options.warning = keep
    out = ffi.new("sap_model**")
    try:
        call(lib.sap_scene_read, file_name(path), options, out)
    finally:
        for message in messages:
            warnings.warn(message, stacklevel=4)
    return ffi.gc(out[0], lib.sap_model_destroy)


def _element(kind: str) -> int:
    if not isinstance(kind, str) or kind not in _COUNTS:
        raise InputError(f"{kind!r} must be one of {', '.join(_COUNTS)}")
    return int(getattr(lib, "SAP_ELEMENT_" + kind.upper()))


class Scene:
    """What a simulation tells of its model."""

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
        """Names of all "body", "joint", "shape", "actuator", ... in the order of their ids; "" where
        there is none."""
        element = _element(kind)
        return [
            ffi.string(lib.sap_model_name(self._model, element, i)).decode(errors="replace")
            for i in range(getattr(self._sizes, _COUNTS[kind]))
        ]

    def find(self, kind: str, name: str) -> int:
        """The id of a named element."""
        index = lib.sap_model_find(self._model, _element(kind), c_string(name, f"the name of a {kind}"))
        if index < 0:
            known = ", ".join(n for n in self.names(kind) if n) or "none has a name"
            raise InputError(f"there is no {kind} {name!r} ({known})")
        return int(index)

    def _index(self, kind: str, which: Union[str, int]) -> int:
        return self.find(kind, which) if isinstance(which, str) else integer(which, kind)

    def joint(self, which: Union[str, int]) -> Joint:
        """Where a joint stands in q and v."""
        index = self._index("joint", which)
        type_, body, q, v = ffi.new("sap_joint_type*"), *(ffi.new("int32_t*") for _ in range(3))
        call(lib.sap_model_joint, self._model, index, type_, body, q, v)
        kind = ffi.string(ffi.cast("sap_joint_type", type_[0])).rsplit("_", 1)[1].lower()
        nq, nv = _COORDINATES.get(kind, (1, 1))
        name = ffi.string(lib.sap_model_name(self._model, lib.SAP_ELEMENT_JOINT, index)).decode(errors="replace")
        return Joint(index, name, kind, body[0], slice(q[0], q[0] + nq), slice(v[0], v[0] + nv))
