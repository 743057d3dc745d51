# SPDX-License-Identifier: BSD-3-Clause
"""Scenes, stepped by the built-in multibody engine."""

from __future__ import annotations

import operator
import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._library import InputError, array, call, ffi, lib, pointer
from ._stepper import StateOwner, StepReport, make_options

__all__ = ["Recorder", "Simulation", "StepReport", "step_all"]

CONTACT = np.dtype(
    [
        ("body_A", np.int32),
        ("body_B", np.int32),
        ("shape_A", np.int32),
        ("shape_B", np.int32),
        ("feature", np.int32),
        ("point", np.float64, 3),
        ("normal", np.float64, 3),
        ("phi", np.float64),
        ("vc", np.float64, 6),
        ("gamma", np.float64, 6),
    ]
)


@ffi.callback("void(void*, const char*)")  # type: ignore[untyped-decorator, unused-ignore]
def _warn(context: Any, message: Any) -> None:
    warnings.warn(ffi.string(message).decode(errors="replace"), stacklevel=4)


class Simulation(StateOwner):
    """An MJCF or URDF scene and its state.

    dt: time step [s], the scene's unless given; scheme: a name or (theta, theta_vq); solver: see
    :func:`sapstep.solvers`; keyframe: name or index of where to start; lenient: what is not
    supported becomes a warning; floating_base: the root link of a URDF moves freely; floor: height
    [m] of a floor under a URDF. Other keywords: sigma, beta, contact_model, remember, time_limit
    [s] (of a step), and the fields of sap_solver_options.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        dt: Optional[float] = None,
        *,
        scheme: Union[str, Tuple[float, float]] = "implicit-euler",
        solver: str = "sap",
        contact_stage: str = "auto",
        keyframe: Union[str, int, None] = None,
        lenient: bool = False,
        floating_base: bool = False,
        floor: Optional[float] = None,
        **options: Any,
    ) -> None:
        scene_options = ffi.new("sap_scene_options*", lib.sap_scene_options_default())
        scene_options.lenient, scene_options.floating_base = lenient, floating_base
        scene_options.warning = _warn
        if floor is not None:
            scene_options.floor = floor
        out = ffi.new("sap_model**")
        call(lib.sap_scene_read, os.fsencode(path), scene_options, out)
        self._model = ffi.gc(out[0], lib.sap_model_destroy)
        scene = lib.sap_model_get_options(self._model)
        options.setdefault("sigma", scene.regularization.sigma)
        options.setdefault("beta", scene.regularization.beta)
        dt = scene.timestep if dt is None else dt
        self._assemble(*make_options(dt, scheme, contact_stage, solver, options))
        if keyframe is not None:
            self.reset(keyframe)

    def _assemble(self, made: Any, name: Any) -> None:
        self._options = (made, name)
        self._sizes = lib.sap_model_get_sizes(self._model)
        out = ffi.new("sap_multibody**")
        call(lib.sap_multibody_create, self._model, out)
        self._multibody = ffi.gc(out[0], lib.sap_multibody_destroy)
        state = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear)
        self._control = np.zeros(self._sizes.nu)
        call(lib.sap_model_default_state, self._model, state)
        self._begin(lib.sap_multibody_system(self._multibody), made, state)

    def copy(self) -> "Simulation":
        """Another one of the same model, options, state, controls and memory: its steps are the
        same bit for bit. It does not record."""
        twin = object.__new__(type(self))
        twin._model = self._model  # never changes
        made, name = self._options
        made.dt = self.dt
        twin._assemble(made, name)
        twin.control = self._control
        twin.load(self.save())
        return twin

    __copy__ = copy

    def __deepcopy__(self, _: Any) -> "Simulation":
        return self.copy()

    def reset(self, keyframe: Union[str, int, None] = None) -> None:
        """Back to the default pose, or to a keyframe with its controls; memory is forgotten."""
        state = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear)
        if keyframe is None:
            call(lib.sap_model_default_state, self._model, state)
        else:
            index = self._index("keyframe", keyframe)
            call(lib.sap_model_keyframe, self._model, index, state, pointer(self._control))
            self.control = self._control
        call(lib.sap_state_copy, state, self._state)
        self._stepped = False
        self.forget()

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

    @property
    def control(self) -> NDArray[np.float64]:
        """Controls (nu), held until set anew; assign the whole array."""
        return self._control.copy()

    @control.setter
    def control(self, values: ArrayLike) -> None:
        control = array(values, (self.nu,), "control")
        call(lib.sap_multibody_set_control, self._multibody, pointer(control))
        self._control = control.copy()

    def names(self, kind: str) -> List[str]:
        """Names of all "body", "joint", "shape", "actuator", ... in the order of their ids."""
        counts = {
            "body": "bodies", "joint": "joints", "shape": "shapes", "tendon": "tendons",
            "actuator": "actuators", "keyframe": "keyframes", "mesh": "meshes",
            "equality": "equalities", "spring": "springs", "bushing": "bushings",
        }
        if kind not in counts:
            raise InputError(f"'{kind}' must be one of {', '.join(counts)}", "invalid argument")
        element = getattr(lib, "SAP_ELEMENT_" + kind.upper())
        return [
            ffi.string(lib.sap_model_name(self._model, element, i)).decode()
            for i in range(getattr(self._sizes, counts[kind]))
        ]

    def find(self, kind: str, name: str) -> int:
        """The id of a named element."""
        names = self.names(kind)
        if name not in names:
            known = ", ".join(n for n in names if n) or "none has a name"
            raise InputError(f"there is no {kind} '{name}' ({known})", "invalid argument")
        return names.index(name)

    def _index(self, kind: str, which: Union[str, int]) -> int:
        return self.find(kind, which) if isinstance(which, str) else operator.index(which)

    def pose(self, body: Union[str, int]) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Position p_WB (3) [m] and quaternion w, x, y, z (4) of a body."""
        index = self._index("body", body)
        p, quaternion = np.empty(3), np.empty(4)
        with self._turn:
            call(lib.sap_multibody_body_pose, self._multibody, pointer(self._q), index, pointer(p),
                 pointer(quaternion))
        return p, quaternion

    def jacobian(self, body: Union[str, int], point: ArrayLike = (0, 0, 0)) -> NDArray[np.float64]:
        """Jacobian (6, nv) of a point of a body [m, body axes]: J v = [omega; velocity] in the world."""
        index = self._index("body", body)
        p = array(point, (3,), "point")
        J = np.zeros((6, self.nv), order="F")
        with self._turn:
            call(lib.sap_multibody_point_jacobian, self._multibody, pointer(self._q), index, pointer(p),
                 pointer(J))
        return J

    def diagnose(self) -> Dict[str, Any]:
        """Energies [J], mass [kg], centre of mass [m] and momenta of the state."""
        out = ffi.new("sap_diagnostics*")
        with self._turn:
            call(lib.sap_multibody_diagnose, self._multibody, self._state, out)
        result = {}
        for name, _ in ffi.typeof("sap_diagnostics").fields:
            value = getattr(out, name)
            result[name] = value if isinstance(value, float) else np.array(list(value))
        return result

    @property
    def contacts(self) -> NDArray[Any]:
        """Contacts of the last step as a structured array: bodies, shapes, point [m], normal from A
        into B, phi [m], velocity vc and impulse gamma on B [t1 t2 n spin roll1 roll2]."""
        with self._turn:
            return self._collect_contacts()

    def _collect_contacts(self) -> NDArray[Any]:
        if self._stepped:
            call(lib.sap_multibody_collect, self._multibody, self._report)
        count = lib.sap_multibody_contact_count(self._multibody)
        data = lib.sap_multibody_contacts(self._multibody)
        result = np.zeros(count, CONTACT)
        for i in range(count):
            contact = data[i]
            for name in ("body_A", "body_B", "shape_A", "shape_B", "feature", "phi"):
                result[name][i] = getattr(contact, name)
            result["point"][i] = list(contact.point)
            result["normal"][i] = list(contact.R_WC)[6:]
            result["vc"][i] = list(contact.vc)
            result["gamma"][i] = list(contact.gamma)
        return result

    def _of_step(self, function: Any, count: int, *more: Any) -> NDArray[np.float64]:
        if not self._stepped:
            raise InputError("no step has been made yet", "invalid argument")
        values = np.zeros(count)
        with self._turn:
            call(function, self._multibody, self._report, *more, pointer(values))
        return values

    def constraint_forces(self) -> NDArray[np.float64]:
        """Generalized forces of all constraints in the last step (nv) [N, N m]."""
        return self._of_step(lib.sap_multibody_constraint_forces, self.nv)

    def contact_forces(self) -> NDArray[np.float64]:
        """Generalized forces of the contacts in the last step (nv) [N, N m]."""
        return self._of_step(lib.sap_multibody_contact_forces, self.nv)

    def actuator_forces(self) -> NDArray[np.float64]:
        """Forces of the actuators in the last step (nu) [N, N m]."""
        return self._of_step(lib.sap_multibody_actuator_forces, self.nu)

    def accelerations(self) -> NDArray[np.float64]:
        """(v - v0)/dt of the last step (nv)."""
        return self._of_step(lib.sap_multibody_accelerations, self.nv, pointer(self._v))

    def record(self, path: Union[str, "os.PathLike[str]"], every: int = 1) -> "Recorder":
        """Records the state as it is and every `every`-th step from now on, as HDF5, for the program's
        plot, export and view; ends with the block or by ``close``::

            with robot.record("run.h5"):
                robot.step(500)
            sapstep.program.run("view", "run.h5", "-o", "run.html")
        """
        if self._recorder is not None:
            raise InputError("it is being recorded already", "invalid argument")
        if operator.index(every) < 1:
            raise InputError(f"every = {every} must be >= 1", "invalid argument")
        out = ffi.new("sap_recorder**")
        call(lib.sap_recorder_create, os.fsencode(path), self._model, ffi.NULL, out)
        recorder = ffi.gc(out[0], lambda unclosed: lib.sap_recorder_close(unclosed, ffi.NULL))
        with self._turn:
            call(lib.sap_recorder_write, recorder, self._multibody, self._state, ffi.NULL)
        self._recorder = recorder
        self._every, self._until = operator.index(every), 0
        return Recorder(self)

    def _record(self) -> None:
        self._until += 1
        if self._until == self._every:
            self._until = 0
            call(lib.sap_multibody_collect, self._multibody, self._report)
            call(lib.sap_recorder_write, self._recorder, self._multibody, self._state, self._report)

    def _end_recording(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            ffi.gc(recorder, None)  # closed here, not by the collector
            call(lib.sap_recorder_close, recorder)

    def write_checkpoint(self, path: Union[str, "os.PathLike[str]"], steps: int = 0) -> None:
        """A file from which :meth:`read_checkpoint`, or the program's --resume, goes on."""
        call(lib.sap_checkpoint_write, os.fsencode(path), self._stepper, self._state, steps)

    def read_checkpoint(self, path: Union[str, "os.PathLike[str]"]) -> int:
        """Goes on from a checkpoint; the steps made until then."""
        steps = ffi.new("int64_t*")
        call(lib.sap_checkpoint_read, os.fsencode(path), self._stepper, self._state, steps)
        return int(steps[0])


class Recorder:
    """A recording under way, made by :meth:`Simulation.record`."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    def close(self) -> None:
        """Writes what is left. May be called again."""
        self._simulation._end_recording()

    def __enter__(self) -> "Recorder":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


def step_all(
    simulations: Sequence[StateOwner], count: int = 1, threads: Optional[int] = None
) -> None:
    """Makes `count` steps of every simulation, in parallel on `threads` (all cores unless given).

    The results do not depend on the number of threads. The first error is raised when all others
    have come to their end.
    """
    if len(set(map(id, simulations))) != len(simulations):
        raise InputError("the same simulation stands in the list twice", "invalid argument")
    with ThreadPoolExecutor(max_workers=threads or os.cpu_count()) as pool:
        futures = [pool.submit(simulation.step, count) for simulation in simulations]
    for future in futures:
        future.result()
