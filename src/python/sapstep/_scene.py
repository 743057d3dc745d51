# SPDX-License-Identifier: BSD-3-Clause
"""Models read from scenes: sizes, names, joints. Models are immutable: no locking here."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any, List, Mapping, Union

import numpy as np

from ._elements import Actuator, Body, Joint, Site
from ._library import InputError, array, call, ffi, integer, lib
from ._names import hint
from ._options import c_string, file_name

_COUNTS = {
    "body": "bodies", "joint": "joints", "shape": "shapes", "tendon": "tendons", "actuator": "actuators",
    "keyframe": "keyframes", "mesh": "meshes", "equality": "equalities", "spring": "springs",
    "bushing": "bushings", "site": "sites", "sensor": "sensors",
}
MEMORY = "/proc/self/fd/"  # path of a scene given as a string


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
        raise InputError(f"{kind!r} must be one of {', '.join(_COUNTS)}" + (
            "; geoms are shapes here" if isinstance(kind, str) and kind == "geom" else ""))
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
            names = self.names(kind)
            told = hint(name, names, {}) if names else "the scene has none"
            raise InputError(f"there is no {kind} {name!r}: {told}")
        return int(index)

    def _index(self, kind: str, which: Union[str, int]) -> int:
        if isinstance(which, str):
            return self.find(kind, which)
        index, count = integer(which, kind), getattr(self._sizes, _COUNTS[kind])
        if not 0 <= index < count:
            raise InputError(f"there is no {kind} {index}" + (f": ids are 0 to {count - 1}" if count else ""))
        return index

    def body(self, which: Union[str, int]) -> Body:
        """Returns a body: its position, rotation, velocity."""
        return Body(self, which)

    def joint(self, which: Union[str, int]) -> Joint:
        """Returns a joint: its q and v, which may be set."""
        return Joint(self, which)

    def site(self, which: Union[str, int]) -> Site:
        """Returns a site, a frame in a body: its position and rotation."""
        return Site(self, which)

    def actuator(self, which: Union[str, int]) -> Actuator:
        """Returns an actuator: its control, which may be set, and its force."""
        return Actuator(self, which)
