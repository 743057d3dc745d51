# SPDX-License-Identifier: BSD-3-Clause
"""Scenes, stepped by the built-in multibody engine."""

from __future__ import annotations

import os
import warnings
from typing import Any, Dict, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray

from . import _recording, batch
from ._handle import OwningHandle
from ._library import InputError, array, call, count_of, ffi, lib, number, pointer
from ._names import hint
from ._options import assign, file_name, keywords, stepper_options
from ._recording import Recorder
from ._scene import MEMORY, Scene, edit, read_scene
from ._stepper import StateOwner
from .batch import Trajectories

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
        ("law_phi", np.float64),
        ("vc", np.float64, 6),
        ("gamma", np.float64, 6),
        ("patch", np.int32),
        ("area", np.float64),
        ("stiffness", np.float64),
    ]
)
_INNER = {"normal": ffi.offsetof("sap_contact", "R_WC") + 6 * ffi.sizeof("double"),  # third column
          "stiffness": ffi.offsetof("sap_contact", "material", "stiffness")}
_FIELDS = CONTACT.names or ()
_C_CONTACT: "np.dtype[np.void]" = np.dtype({  # the fields at their offsets in C
    "names": list(_FIELDS),
    "formats": [CONTACT[name] for name in _FIELDS],
    "offsets": [_INNER[name] if name in _INNER else ffi.offsetof("sap_contact", name) for name in _FIELDS],
    "itemsize": ffi.sizeof("sap_contact"),
})


_Simulation = TypeVar("_Simulation", bound="Simulation")


class Simulation(Scene, StateOwner):
    """An MJCF or URDF scene and its state.

    dt: time step [s] (default: the scene's); preset: "default", "castro" (the paper's Algorithm 1 as
    printed) or "drake", which other keywords override; scheme: "explicit-euler", "symplectic-euler",
    "implicit-euler" (default), "midpoint" or (theta, theta_vq); solver: see :func:`sapstep.solvers` ("sap");
    contact_stage: "auto" (default), "end" or "theta", the time within the step at which contact is evaluated; keyframe:
    name or index of the start; lenient: unsupported features become warnings;
    floating_base: the root link of a URDF moves freely; floor: height [m] of a floor under a URDF;
    edits: values of the file to change, by ELEMENT/NAME/ATTRIBUTE, as {"geom/ball/density": 500,
    "option/*/gravity": [0, 0, -1.6]}; patches: elastic modulus E [Pa] of every shape, or of some by name or
    id, as {"pad": 1e5, "floor": (1e6, 0.02)} with the depth H [m] of the field p = E depth/H: these shapes
    touch others in patches.

    Other keywords: sigma, beta; contact_model ("sap", "similar", "lagged"); contact_law ("auto",
    "compliant", "rigid", "castro"), restitution, baumgarte; remember; time_limit [s] (of a step);
    balance_tolerance; free_motion_max_iterations; and the fields of sap_solver_options, e.g.
    relative_tolerance, max_iterations, threads.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        dt: Optional[float] = None,
        *,
        preset: str = "default",
        scheme: Union[str, Tuple[float, float], None] = None,
        solver: Optional[str] = None,
        contact_stage: Optional[str] = None,
        keyframe: Union[str, int, None] = None,
        lenient: bool = False,
        floating_base: bool = False,
        floor: Optional[float] = None,
        edits: Optional[Mapping[str, Any]] = None,
        patches: Union[None, float, Mapping[Union[str, int], Union[float, Tuple[float, float]]]] = None,
        **options: Any,
    ) -> None:
        reading = ffi.new("sap_scene_options*", lib.sap_scene_options_default())
        reading.lenient, reading.floating_base, reading.visuals = bool(lenient), bool(floating_base), True
        if floor is not None:
            assign(reading, "floor", floor)
        _kept = edit(reading, edits or {})
        material = ffi.new("sap_material*", lib.sap_material_unset())
        if patches is not None and not isinstance(patches, Mapping):
            material.modulus = number(patches, "patches")
            if material.modulus != material.modulus:  # NaN would leave the scene's
                raise InputError("patches = nan must be finite and >= 0")
            reading.override_material = material
        self._model = read_scene(path, reading)  # fixed after __init__: no lock
        self._sizes = lib.sap_model_get_sizes(self._model)
        for shape, field in patches.items() if isinstance(patches, Mapping) else ():
            E, H = (field, 0.0) if np.ndim(field) == 0 else array(field, (2,), f"patches[{shape!r}]")
            call(lib.sap_model_shape_set_field, self._model, self._index("shape", shape), number(E, "patches"),
                 number(H, "patches"))
        scene = lib.sap_model_get_options(self._model)
        dt = scene.timestep if dt is None else dt
        self._options = stepper_options(dt, preset, scheme, contact_stage, solver, options, _KEYWORDS,
                                        scene.regularization)
        self._assemble()
        if keyframe is not None:
            self.reset(keyframe)

    @classmethod
    def from_string(cls: Type[_Simulation], text: str, *arguments: Any, **keywords: Any) -> _Simulation:
        """Creates a simulation from MJCF or URDF in a string; file names in it must be full paths. Other
        arguments are those of the constructor."""
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, not {type(text).__name__}")
        with open(os.memfd_create("scene"), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            return cls(f"{MEMORY}{file.fileno()}", *arguments, **keywords)

    def _assemble(self) -> None:
        """Creates the C objects and the default state from model and options."""
        self._control = np.zeros(self._sizes.nu)
        self._c = OwningHandle(type(self).__name__)
        self._c.make("multibody", lib.sap_multibody_create, self._model, end=lib.sap_multibody_destroy)
        state = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear)
        call(lib.sap_model_get_default_state, self._model, state)
        with self._c as c:
            c.model, c.applied, c.pushes = self._model, None, {}
            system = lib.sap_multibody_system(c.multibody)
        self._begin(system, self._options[0], state)
        with self._c as c:
            c.control = self._control  # keeps it alive
            c.turn.multibody, c.turn.nu = c.multibody, self.nu
            c.turn.control = pointer(self._control) if self.nu > 0 else ffi.NULL

    def copy(self: _Simulation) -> _Simulation:
        """Returns a copy with the same model, options, state, controls, applied forces and memory: its
        steps are the same bit for bit. The copy does not record."""
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        with self._c as c:
            options, solver = self._options
            twin._options = ffi.new("sap_stepper_options*", options[0]), solver
            twin._options[0].dt = self._dt
            control, applied, pushes, saved = self._control, c.applied, dict(c.pushes), self._save(c)
        twin._assemble()
        twin._control[:] = control
        if applied is not None:
            twin.apply(applied)
        for body, push in pushes.items():
            twin.push(body, *push)
        twin.load(saved)
        return twin

    __copy__ = copy

    def __deepcopy__(self: _Simulation, _: Any) -> _Simulation:
        return self.copy()

    def reset(self, keyframe: Union[str, int, None] = None) -> None:
        """Returns to the default pose, or to a keyframe with its controls, and forgets the memory. Applied
        forces stay."""
        state = ffi.gc(ffi.new("sap_state*"), lib.sap_state_clear)
        control = np.zeros(self.nu)
        if keyframe is None:
            call(lib.sap_model_get_default_state, self._model, state)
        else:
            call(lib.sap_model_get_keyframe, self._model, self._index("keyframe", keyframe), state, pointer(control))
        with self._c as c:
            if keyframe is not None:
                self._control[:] = control
            call(lib.sap_state_copy, state, c.state)
            c.turn.stepped = False
            lib.sap_stepper_forget(c.stepper)

    @property
    def control(self) -> NDArray[np.float64]:
        """Controls (nu), a view; the next steps use its values."""
        return self._control

    @control.setter
    def control(self, values: ArrayLike) -> None:
        control = array(values, (self.nu,), "control")
        for i in np.flatnonzero(~np.isfinite(control)):
            raise InputError(f"control[{i}] = {control[i]} is not finite", "value is not finite")
        with self._c:
            self._control[:] = control

    @property
    def ctrl(self) -> NDArray[np.float64]:
        """MuJoCo's name of :attr:`control`; warns once."""
        warnings.warn("'ctrl' is 'control' here; both work", stacklevel=2)
        return self._control

    @ctrl.setter
    def ctrl(self, values: ArrayLike) -> None:
        warnings.warn("'ctrl' is 'control' here; both work", stacklevel=3)
        self.control = values

    def rollout(self, states: Optional[ArrayLike] = None, controls: Optional[ArrayLike] = None, *,
                steps: Optional[int] = None, threads: Optional[int] = None) -> Trajectories:
        """Returns trajectories from many states under many controls, computed by threads (default: all cores).

        states: (n, 1 + nq + nv + na) or one, as :attr:`state` (default: the current one); controls: of each
        step, (n, steps, nu), or (steps, nu) for all (default: the current ones in all `steps`). Forces of
        apply and push act. Each trajectory depends on its state and controls alone, bit for bit, and not on
        earlier steps or the number of threads; this simulation does not change. If a step fails, the rest of
        its trajectory is NaN, and ``errors[i]`` is the reason::

            found = robot.rollout(controls=np.random.randn(64, 100, robot.nu))
            best = np.argmax(found.q[:, -1, 0])
        """
        return batch.rollout(self, states, controls, steps, threads)

    def apply(self, forces: Optional[ArrayLike]) -> None:
        """Sets applied generalized forces (nv) [N, N m], constant until set again; None removes them."""
        tau = None if forces is None else array(forces, (self.nv,), "forces").copy()
        with self._c as c:
            call(lib.sap_multibody_set_applied_forces, c.multibody, ffi.NULL if tau is None else pointer(tau))
            c.applied = tau

    def push(self, body: Union[str, int], force: ArrayLike = (0, 0, 0), moment: ArrayLike = (0, 0, 0),
             point: ArrayLike = (0, 0, 0)) -> None:
        """Sets a force (3) [N] at a point (3) of a body [m, body axes] and a moment (3) [N m], in world
        axes, constant until set again; one of each per body."""
        index = self._index("body", body)
        given = ((force, "force"), (moment, "moment"), (point, "point"))
        F, M, p = (array(values, (3,), name).copy() for values, name in given)
        with self._c as c:
            call(lib.sap_multibody_set_applied_wrench, c.multibody, index, pointer(p), pointer(F), pointer(M))
            c.pushes[index] = (F, M, p)

    def pose(self, body: Union[str, int]) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns position p_WB (3) [m] and quaternion w, x, y, z (4) of a body."""
        index = self._index("body", body)
        p, quaternion = np.empty(3), np.empty(4)
        with self._c as c:
            call(lib.sap_multibody_body_pose, c.multibody, c.state.q, index, pointer(p), pointer(quaternion))
        return p, quaternion

    def _poses(self) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        p, R = np.empty((self._sizes.bodies, 3)), np.empty((self._sizes.bodies, 3, 3))
        with self._c as c:
            call(lib.sap_multibody_poses, c.multibody, c.state.q, pointer(p), pointer(R))
        return p, R.transpose(0, 2, 1)  # C has columns

    @property
    def positions(self) -> NDArray[np.float64]:
        """Origins p_WB of all bodies (bodies, 3) [m]; the first is the world."""
        return self._poses()[0]

    @property
    def rotations(self) -> NDArray[np.float64]:
        """Rotations of all bodies, body to world (bodies, 3, 3)."""
        return self._poses()[1]

    @property
    def sensors(self) -> NDArray[np.float64]:
        """Values of all sensors (nsensor), in the order of ``names("sensor")``. Positions and velocities are those
        of the state; accelerations and forces are those of the last step, zero if there is none."""
        values = np.zeros(self._sizes.nsensor)
        with self._c as c:
            report = c.report if c.turn.stepped else ffi.NULL
            call(lib.sap_multibody_sensors, c.multibody, report, c.state, pointer(values) if values.size else ffi.NULL)
        return values

    def sensor(self, which: Union[str, int]) -> NDArray[np.float64]:
        """Returns the values of a sensor, see :attr:`sensors`: ``robot.sensor("imu")``."""
        first = ffi.new("int32_t*")
        count = lib.sap_model_sensor_values(self._model, self._index("sensor", which), first)
        return self.sensors[first[0]:first[0] + count]

    def ray(self, origin: ArrayLike, direction: ArrayLike, body: Union[str, int, None] = None) -> Tuple[float, int]:
        """Returns the distance [m] along a direction (3) to the first shape and its id, -1 and -1 if there is none;
        passes the shapes of `body`."""
        p, d = array(origin, (3,), "origin"), array(direction, (3,), "direction")
        index = -1 if body is None else self._index("body", body)
        distance, shape = ffi.new("double*"), ffi.new("int32_t*")
        with self._c as c:
            call(lib.sap_multibody_ray, c.multibody, c.state.q, pointer(p), pointer(d), index, distance, shape)
        return float(distance[0]), int(shape[0])

    def jacobian(self, body: Union[str, int], point: ArrayLike = (0, 0, 0)) -> NDArray[np.float64]:
        """Returns the Jacobian (6, nv) of a point of a body [m, body axes]: J v = [omega; velocity] in the world."""
        index = self._index("body", body)
        p = array(point, (3,), "point")
        J = np.zeros((6, self.nv), order="F")
        with self._c as c:
            call(lib.sap_multibody_point_jacobian, c.multibody, c.state.q, index, pointer(p), pointer(J))
        return J

    def diagnose(self) -> Dict[str, Any]:
        """Returns energies [J], mass [kg], centre of mass [m] and momenta of the state."""
        out = ffi.new("sap_diagnostics*")
        with self._c as c:
            call(lib.sap_multibody_diagnose, c.multibody, c.state, out)
        result = {}
        for name, _ in ffi.typeof("sap_diagnostics").fields:
            value = getattr(out, name)
            result[name] = value if isinstance(value, float) else np.array(list(value))
        return result

    @property
    def contacts(self) -> NDArray[Any]:
        """Contacts of the last step as a structured array: bodies, shapes (ids of ``names``), point (3)
        [m], normal (3) from A into B, phi [m], velocity vc (6) and impulse gamma (6) on B [t1 t2 n spin
        roll1 roll2]; patch: number of contacts of its patch (0: a point contact) and area of that [m^2];
        stiffness [N/m]. Empty if the last step failed, or if no step has been made since reset, load or
        read_checkpoint."""
        with self._c as c:
            if not c.turn.stepped:
                return np.empty(0, CONTACT)
            call(lib.sap_multibody_collect, c.multibody, c.report)
            count = lib.sap_multibody_contact_count(c.multibody)
            if count == 0:
                return np.empty(0, CONTACT)
            found = ffi.buffer(lib.sap_multibody_contacts(c.multibody), count * _C_CONTACT.itemsize)
            return np.frombuffer(found, _C_CONTACT).astype(CONTACT)

    def _step_values(self, function: Any, count: int, *more: Any) -> NDArray[np.float64]:
        values = np.zeros(count)
        with self._c as c:
            if not c.turn.stepped:
                raise InputError("no step has been made yet, or the last one failed")
            call(function, c.multibody, c.report, *more, pointer(values))
        return values

    def constraint_forces(self) -> NDArray[np.float64]:
        """Generalized forces of all constraints in the last step (nv) [N, N m]."""
        return self._step_values(lib.sap_multibody_constraint_forces, self.nv)

    def contact_forces(self) -> NDArray[np.float64]:
        """Generalized forces of the contacts in the last step (nv) [N, N m]."""
        return self._step_values(lib.sap_multibody_contact_forces, self.nv)

    def actuator_forces(self) -> NDArray[np.float64]:
        """Forces of the actuators in the last step (nu) [N, N m]."""
        return self._step_values(lib.sap_multibody_actuator_forces, self.nu)

    def joint_reaction(self, joint: Union[str, int]) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Returns the force (3) [N] and the moment (3) [N m] about its anchor that a joint, its actuators,
        springs and friction transmitted in the last step to the body it moves, in world axes."""
        index = self._index("joint", joint)
        both = self._step_values(lambda multibody, report, out, error: lib.sap_multibody_joint_reaction(
            multibody, report, self._state, index, out, out + 3, error), 6)
        return both[:3], both[3:]

    def accelerations(self) -> NDArray[np.float64]:
        """(v - v0)/dt of the last step (nv) [m/s^2, rad/s^2]."""
        return self._step_values(lib.sap_multibody_accelerations, self.nv, self._state.v)

    def linearize(self) -> Tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Exact derivatives of the last step as it was made, with its contacts and its memory: A (2 nv, 2 nv), of
        [q1; v1] to [q0; v0], and B (2 nv, nu), to the controls, of actuators with activation to that which the step
        takes (at the start, or the mean of both ends in the midpoint scheme); positions in the tangent space (nv). Raises
        Error for steps with parts that it cannot differentiate, and names these. :attr:`linearize_report` names what is
        by differences."""
        A, B = np.zeros((2 * self.nv, 2 * self.nv), order="F"), np.zeros((2 * self.nv, self.nu), order="F")
        self._differentiate(lib.sap_stepper_linearize, (pointer(A), pointer(B) if self.nu > 0 else ffi.NULL))
        return A, B

    def vjp(self, q: Optional[ArrayLike] = None, v: Optional[ArrayLike] = None,
            parameters: Sequence[Tuple[str, Union[int, str]]] = ()) -> Dict[str, NDArray[np.float64]]:
        """Gradients to "q", "v" at the start of the last step (nv) and to its "control" (nu) of a function with the
        gradients q, v (nv; None: 0) to the state at its end: A' [q; v] and B' [q; v] of :meth:`linearize`. Also to
        "parameters": ("friction", SHAPE), "stiffness", "relaxation_time" of shapes, ("damping", JOINT), "armature",
        "friction_loss", "spring" of joints, ("gravity", AXIS), ("servo_stiffness", ACTUATOR), "servo_damping",
        ("mass", BODY), "centre_x" to "_z", "inertia_xx", "_yy", "_zz", "_xy", "_xz", "_yz" in the body's axes about its centre.
        Rows q, v (m, nv) of m functions give rows of gradients, what is common to them being computed once."""
        many = np.shape(v if q is None else q)[:-1]
        ends = [None if x is None else np.ascontiguousarray(array(x, (*many, self.nv), name)) for name, x in (("q", q), ("v", v))]
        out = {"q": np.zeros((*many, self.nv)), "v": np.zeros((*many, self.nv)), "control": np.zeros((*many, self.nu)),
               "parameters": np.zeros((*many, len(parameters)))}
        chosen = self._parameters(parameters)
        given = [(ffi.NULL if x is None or x.size == 0 else pointer(x), 0 if x is None else x.shape[-1])
                 for x in (*ends, *out.values())]
        gradients = [ffi.new("sap_step_gradients*", (*(x + i * n for x, n in given[:5]), (
            chosen, len(parameters), given[5][0] + i * given[5][1]))) for i in range(*many or (1,))]
        self._differentiate(lib.sap_stepper_vjp, *((row,) for row in gradients))
        return out

    def _parameters(self, pairs: Sequence[Tuple[str, Union[int, str]]]) -> Any:
        return ffi.new("sap_parameter[]", [self._parameter(*pair) for pair in pairs])

    def _parameter(self, field: str, of: Union[int, str]) -> Tuple[int, int]:
        fields = ("friction", "stiffness", "relaxation_time", "damping", "armature", "friction_loss", "spring", "gravity",
                  "servo_stiffness", "servo_damping", "mass", "centre_x", "centre_y", "centre_z", "inertia_xx", "inertia_yy",
                  "inertia_zz", "inertia_xy", "inertia_xz", "inertia_yz")
        if field not in fields:
            raise InputError(f"there is no derivative by '{field}', {hint(field, list(fields))}")
        kind = fields.index(field)
        element = "shape" if kind < 3 else "joint" if kind < 7 else "actuator" if kind < 10 else "body"
        return kind, count_of(of, "axis") if field == "gravity" else self._index(element, of)

    def _differentiate(self, function: Any, *calls: Tuple[Any, ...]) -> None:
        report = ffi.new("sap_linearize_report*")
        with self._c as c:
            if not c.turn.stepped:
                raise InputError("no step has been made yet, or the last one failed")
            for arguments in calls:
                call(function, c.stepper, *arguments, report)
        self._linearize_report = report

    @property
    def linearize_report(self) -> Dict[str, Any]:
        """Of the last :meth:`linearize` or :meth:`vjp`: "correction", by which v was improved, relative to the speeds
        of the step, in "iterations"; "kinks", contacts whose derivatives may be those of the other side; "notes",
        what is by differences or held constant, "" for nothing. Empty before the first."""
        report = getattr(self, "_linearize_report", None)
        return {} if report is None else {"correction": report.correction, "iterations": report.iterations,
                                          "kinks": report.kinks, "notes": ffi.string(report.notes).decode()}

    def record(self, path: Union[str, "os.PathLike[str]"], every: int = 1) -> Recorder:
        """Records the current state and every `every`-th step from now on, as HDF5, for the program's
        plot, export and view; ends with the block or by ``close``::

            with robot.record("run.h5"):
                robot.step(500)
            sapstep.program.run("view", "run.h5", "-o", "run.html")
        """
        return _recording.begin(self._c, path, every)

    def save_mjcf(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Writes the model as MJCF, which is read back to the same bits: all but springs and bushings of URDF, locked joints,
        contact pairs, visual meshes, and the axes of drag of bodies in a medium. Raises an error that names what it cannot save."""
        from .saving import save

        save(self._model, path)

    def write_checkpoint(self, path: Union[str, "os.PathLike[str]"], steps: int = 0) -> None:
        """Writes a file from which :meth:`read_checkpoint`, or the program's --resume, continues."""
        name, made = file_name(path), count_of(steps, "steps")
        with self._c as c:
            call(lib.sap_checkpoint_write, name, c.stepper, c.state, made)

    def read_checkpoint(self, path: Union[str, "os.PathLike[str]"]) -> int:
        """Continues from a checkpoint; returns the number of steps made before it."""
        name = file_name(path)
        steps = ffi.new("int64_t*")
        with self._c as c:
            call(lib.sap_checkpoint_read, name, c.stepper, c.state, steps)
            c.turn.stepped = False
        return int(steps[0])


_KEYWORDS = keywords(Simulation.__init__, "self", "path")
