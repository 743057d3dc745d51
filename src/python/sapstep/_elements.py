# SPDX-License-Identifier: BSD-3-Clause
"""Bodies, joints, actuators and sites of a simulation by name."""

from __future__ import annotations

from typing import Any, List, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import array, call, ffi, lib, number
from ._names import Suggests

_COORDINATES = {"free": (7, 6), "ball": (4, 3)}  # positions, velocities; other joints have one each
Value = Union[float, NDArray[np.float64]]


def _matrix(quaternion: Any) -> NDArray[np.float64]:
    w, x, y, z = quaternion
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                     [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                     [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]])


class Element(Suggests):
    """An element of a simulation; index: its id; name: "" if it has none."""

    _kind = ""

    def __init__(self, simulation: Any, which: Union[str, int]) -> None:
        self._of = simulation
        self._id = simulation._index(self._kind, which)

    @property
    def index(self) -> int:
        """Its id."""
        return int(self._id)

    @property
    def name(self) -> str:
        """Its name, "" if it has none."""
        return str(self._of._name(getattr(lib, "SAP_ELEMENT_" + self._kind.upper()), self._id))

    def __index__(self) -> int:  # may be given where an id is
        return int(self._id)

    def __repr__(self) -> str:
        return f"<sapstep.{type(self).__name__} {self.name or self._id!r}{self._shown()}>"

    def _shown(self) -> str:
        return ""


class Body(Element):
    """A body: ``robot.body("trunk").position``. Axes are those of the world."""

    _kind = "body"
    _read_only = ": set q or v of the joint that moves it"

    @property
    def position(self) -> NDArray[np.float64]:
        """Of its origin, p_WB (3) [m]."""
        return self._of.pose(self._id)[0]  # type: ignore[no-any-return]

    @property
    def quaternion(self) -> NDArray[np.float64]:
        """w, x, y, z (4), body to world."""
        return self._of.pose(self._id)[1]  # type: ignore[no-any-return]

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Matrix (3, 3), body to world."""
        return _matrix(self.quaternion)

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Of its origin (3) [m/s]."""
        return (self.jacobian() @ self._of.v)[3:]  # type: ignore[no-any-return]

    @property
    def angular_velocity(self) -> NDArray[np.float64]:
        """(3) [rad/s]."""
        return (self.jacobian() @ self._of.v)[:3]  # type: ignore[no-any-return]

    def jacobian(self, point: ArrayLike = (0, 0, 0)) -> NDArray[np.float64]:
        """See :meth:`Simulation.jacobian`."""
        return self._of.jacobian(self._id, point)  # type: ignore[no-any-return]

    def push(self, force: ArrayLike = (0, 0, 0), moment: ArrayLike = (0, 0, 0), point: ArrayLike = (0, 0, 0)) -> None:
        """See :meth:`Simulation.push`."""
        self._of.push(self._id, force, moment, point)

    def _shown(self) -> str:
        return " at [{:.4g} {:.4g} {:.4g}] m".format(*self.position)


class Site(Element):
    """A frame in a body: ``robot.site("grip").position``. Axes are those of the world."""

    _kind = "site"
    _read_only = ": set q or v of the joint that moves it"

    def __init__(self, simulation: Any, which: Union[str, int]) -> None:
        super().__init__(simulation, which)
        definition = ffi.new("sap_site_def*")
        call(lib.sap_model_get_site, simulation._model, self._id, definition)
        self._body = Body(simulation, definition.body)
        self._point = np.array(list(definition.p_BX))
        self._turn = _matrix(list(definition.q_BX))

    @property
    def body(self) -> int:
        """Id of its body."""
        return self._body.index

    @property
    def position(self) -> NDArray[np.float64]:
        """Of its origin (3) [m]."""
        return self._body.position + self._body.rotation @ self._point  # type: ignore[no-any-return]

    @property
    def rotation(self) -> NDArray[np.float64]:
        """Matrix (3, 3), site to world."""
        return self._body.rotation @ self._turn  # type: ignore[no-any-return]

    @property
    def velocity(self) -> NDArray[np.float64]:
        """Of its origin (3) [m/s]."""
        return (self.jacobian() @ self._of.v)[3:]  # type: ignore[no-any-return]

    def jacobian(self) -> NDArray[np.float64]:
        """(6, nv): J v = [omega; velocity of the origin] in the world."""
        return self._body.jacobian(self._point)

    def _shown(self) -> str:
        return " at [{:.4g} {:.4g} {:.4g}] m".format(*self.position)


class Joint(Element):
    """A joint: ``robot.joint("knee").q = 0.3``, ``robot.joint("knee").v += 1``. q and v are numbers for a
    hinge or slide, else views of the simulation's arrays."""

    _kind = "joint"

    def __init__(self, simulation: Any, which: Union[str, int]) -> None:
        super().__init__(simulation, which)
        definition, q, v = ffi.new("sap_joint_def*"), ffi.new("int32_t*"), ffi.new("int32_t*")
        call(lib.sap_model_get_joint, simulation._model, self._id, definition)
        call(lib.sap_model_joint_address, simulation._model, self._id, ffi.NULL, ffi.NULL, q, v)
        self._type = ffi.string(ffi.cast("sap_joint_type", definition.type)).rsplit("_", 1)[1].lower()
        nq, nv = _COORDINATES.get(self._type, (1, 1))
        self._body, self._limits = definition.body, (definition.lower, definition.upper)
        self._slices = slice(q[0], q[0] + nq), slice(v[0], v[0] + nv)

    def _get(self, values: NDArray[np.float64], part: slice) -> Value:
        return float(values[part.start]) if part.stop - part.start == 1 else values[part]

    def _put(self, name: str, part: slice, value: ArrayLike) -> None:
        size = part.stop - part.start
        if size == 1 and np.ndim(value) == 0:
            value = [number(value, name)]
        numbers = array(value, (size,), f"{name} of the {self._type} joint {self.name or self._id!r}")
        with self._of._c:
            getattr(self._of, name)[part] = numbers

    @property
    def q(self) -> Value:
        """Position: [rad] of a hinge, [m] of a slide, quaternion (4) of a ball, p_WB and quaternion (7) of a free
        joint."""
        return self._get(self._of.q, self._slices[0])

    @q.setter
    def q(self, value: ArrayLike) -> None:
        self._put("q", self._slices[0], value)

    @property
    def v(self) -> Value:
        """Velocity [rad/s, m/s]."""
        return self._get(self._of.v, self._slices[1])

    @v.setter
    def v(self, value: ArrayLike) -> None:
        self._put("v", self._slices[1], value)

    @property
    def q_slice(self) -> slice:
        """Its part of the simulation's q."""
        return self._slices[0]

    @property
    def v_slice(self) -> slice:
        """Its part of the simulation's v."""
        return self._slices[1]

    @property
    def type(self) -> str:
        """ "free", "ball", "hinge" or "slide"."""
        return str(self._type)

    @property
    def body(self) -> int:
        """Id of the body it moves."""
        return int(self._body)

    @property
    def lower(self) -> float:
        """Lower limit [rad, m]; -inf: none."""
        return float(self._limits[0])

    @property
    def upper(self) -> float:
        """Upper limit [rad, m]; inf: none."""
        return float(self._limits[1])

    def reaction(self) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        """See :meth:`Simulation.joint_reaction`."""
        return self._of.joint_reaction(self._id)  # type: ignore[no-any-return]

    def _shown(self) -> str:
        return f", {self._type}: q = {self.q}, v = {self.v}"


class Actuator(Element):
    """An actuator: ``robot.actuator("hip").control = 0.5``."""

    _kind = "actuator"

    @property
    def control(self) -> float:
        """Its control, in units of the actuator."""
        return float(self._of.control[self._id])

    @control.setter
    def control(self, value: float) -> None:
        controls: List[float] = self._of.control.copy()
        controls[self._id] = number(value, "control")
        self._of.control = controls

    @property
    def force(self) -> float:
        """Its force in the last step, before the gear [N, N m]."""
        return float(self._of.actuator_forces()[self._id])

    @property
    def control_range(self) -> Tuple[float, float]:
        """Lowest and highest control; infinite: no bound."""
        definition = ffi.new("sap_actuator_def*")
        call(lib.sap_model_get_actuator, self._of._model, self._id, definition)
        return float(definition.control_lower), float(definition.control_upper)

    def _shown(self) -> str:
        return f": control = {self.control:g}"
