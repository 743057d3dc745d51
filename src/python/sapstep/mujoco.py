# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's models and data, stepped by sapstep's contact solver.

    import mujoco, sapstep.mujoco
    model = mujoco.MjModel.from_xml_path("humanoid.xml")
    data = mujoco.MjData(model)
    sapstep.mujoco.step(model, data)          # in place of mujoco.mj_step

Needs the package built against the same MuJoCo: see the README.
"""

from __future__ import annotations

import copy
import math
import os
import re
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._handle import OwningHandle, Owner
from ._library import FOLDER, Error, InputError, array, call, check, count_of, ffi, integer, number
from ._options import ADAPTER, REGULARIZATION, c_string, set_options, take

_BUILD = "pip install --force-reinstall --no-deps --no-cache-dir PATH_OR_URL_OF_SAPSTEPS_SOURCES"
_LIBRARY = FOLDER / "libsapstep_mujoco.so"
try:
    import mujoco
except ImportError:
    raise ImportError("sapstep.mujoco needs mujoco: pip install mujoco" + (
        "" if _LIBRARY.exists() else f", then build sapstep again: {_BUILD}")) from None

_HERE = f"mujoco {mujoco.mj_versionString()}"
_HOW = f"""To build it for {_HERE}, with that installed:
    {_BUILD}"""


def _load() -> Any:
    if not _LIBRARY.exists():
        raise ImportError("sapstep was installed without the adapter for MuJoCo: no mujoco was found when it was built."
                          f"\n{_HOW}")
    # The version is read before loading: the library would not load with another one.
    built = re.search(rb"libmujoco\.so\.(\d+\.\d+\.\d+)", _LIBRARY.read_bytes())
    version = built.group(1).decode() if built else ""
    try:
        loaded = ffi.dlopen(str(_LIBRARY))
        version = ffi.string(loaded.sap_mj_version()).decode()
    except OSError as reason:
        if version in ("", mujoco.mj_versionString()):
            raise ImportError(f"sapstep's adapter does not load: {reason}\n{_HOW}") from None
    if version != mujoco.mj_versionString():
        raise ImportError(f"sapstep was built for mujoco {version}, this is {_HERE} with other structures: "
                          f"pip install mujoco=={version}, or build sapstep again.\n{_HOW}")
    return loaded


_lib = _load()

# Arrays of mjData and the member of mjModel with their length.
_SIZES = {
    "qpos": "nq", "qvel": "nv", "act": "na", "ctrl": "nu", "xpos": "nbody", "geom_xpos": "ngeom",
    "site_xpos": "nsite", "ten_length": "ntendon", "sensordata": "nsensordata", "mocap_pos": "nmocap",
}


def _check_type(name: str, value: Any, wanted: Any) -> None:
    if not isinstance(value, wanted):
        raise TypeError(f"{name} must be a mujoco.{wanted.__name__}, not {type(value).__name__}")


class Adapter(Owner):
    """Workspace for one model: steps any of its data.

    solver: see :func:`sapstep.solvers`. Other keywords are the fields of sap_mj_options: implicit (springs,
    dampers and servos in A), remember (start from the last step's impulses), contact_model ("sap", "similar",
    "lagged") with dissipation [s/m] and stiction_tolerance [m/s], patches (elastic modulus of every geom [Pa],
    lagged unless contact_model is given), mocap_speed_limit [m/s]; sigma, beta, impact_speed; and those of
    sap_solver_options: time_limit bounds a step [s], which then uses the best velocities found (0: no limit;
    see report["converged"]).
    """

    def __init__(self, model: "mujoco.MjModel", solver: str = "sap", **options: Any) -> None:
        _check_type("model", model, mujoco.MjModel)
        self._model: Optional[Any] = model  # must outlive the adapter
        self._counts = {array: int(getattr(model, count)) for array, count in _SIZES.items()}
        self._bodies = [model.body(int(body)).name for body in model.dof_bodyid]
        self._fitting: Any = None  # weak reference to the last data that matched the model,
        self._data: Any = None  # and their address
        made = ffi.new("sap_mj_options*", _lib.sap_mj_options_default())
        name = c_string(solver, "solver")
        made.solver = name
        take(made, ADAPTER, options)
        take(made.regularization, REGULARIZATION, options)
        set_options(made.solver_options, options, ("solver", *ADAPTER, *REGULARIZATION))
        self._c = OwningHandle(type(self).__name__)
        self._c.make("adapter", _lib.sap_mj_create, ffi.cast("const mjModel*", model._address), made,
                     end=_lib.sap_mj_destroy, type="sap_mj", threads=made.solver_options.threads > 1)
        with self._c as c:
            c.report, c.made, c.error = ffi.new("sap_mj_report*"), ffi.new("int64_t*"), ffi.new("sap_error*")
            c.advanced = ffi.new("sap_mj_advance_report*")
            c.reported = False

    def _address(self, data: "mujoco.MjData") -> Any:
        known = self._fitting() if self._fitting is not None else None
        if known is None or known is not data:
            _check_type("data", data, mujoco.MjData)
            for array, count in self._counts.items():
                if len(getattr(data, array)) != count:
                    raise InputError(f"this data was made for another model: {array} has "
                                     f"{len(getattr(data, array))} rows, not {count}")
            self._data = ffi.cast("mjData*", data._address)
            self._fitting = weakref.ref(data)
        return self._data

    def step(self, data: "mujoco.MjData", count: int = 1) -> None:
        """Makes `count` steps of the model's timestep, in place of mj_step; errors leave the state unchanged.
        Ctrl-C ends the call between two steps."""
        count = count_of(count, "count")
        with self._c as c:
            address = self._address(data)
            while count > 0:
                c.reported = False
                check(_lib.sap_python_mj_step(c.adapter, address, c.report, count, c.made, c.error), c.error)
                c.reported = True
                count -= c.made[0]

    def advance(self, data: "mujoco.MjData", accuracy: float, count: int = 1) -> Dict[str, Any]:
        """Makes `count` steps of the model's timestep in parts, each with an error of at most accuracy [m]; an
        error leaves the state of the step before. Returns steps (parts), rejected, solves, least_dt, largest_dt
        [s], error [m] and the name of the body that had it
        (None: no error)."""
        total: Dict[str, Any] = {"steps": 0, "rejected": 0, "solves": 0, "least_dt": math.inf, "largest_dt": 0.0,
                                 "error": 0.0, "body": None}
        for _ in range(count_of(count, "count")):
            with self._c as c:
                address, c.reported = self._address(data), False
                call(_lib.sap_mj_advance, c.adapter, address, number(accuracy, "accuracy"), c.advanced)
                c.report[0], c.reported = c.advanced.step, True
                made = c.advanced
                for name in ("steps", "rejected", "solves"):
                    total[name] += getattr(made, name)
                total["least_dt"] = min(total["least_dt"], made.least_dt)
                total["largest_dt"] = max(total["largest_dt"], made.largest_dt)
                if made.error > total["error"]:
                    total["error"] = made.error
                    total["body"] = self._bodies[made.velocity]
        return total

    def forward(self, data: "mujoco.MjData") -> None:
        """Computes forces, accelerations and sensors, in place of mj_forward."""
        with self._c as c:
            address, c.reported = self._address(data), False
            call(_lib.sap_mj_forward, c.adapter, address, c.report)
            c.reported = True

    def set_geom(self, geom: int, stiffness: float, relaxation_time: float) -> None:
        """Sets contact stiffness [N/m] and relaxation time [s] of a geom; -1: all geoms."""
        index, k, tau = integer(geom, "geom"), number(stiffness, "stiffness"), number(relaxation_time, "relaxation_time")
        with self._c as c:
            call(_lib.sap_mj_set_geom, c.adapter, index, k, tau)

    def forget(self) -> None:
        """Forgets earlier steps: the next one depends on the data alone, bit for bit."""
        with self._c as c:
            _lib.sap_mj_forget(c.adapter)

    def __repr__(self) -> str:
        return f"<sapstep.mujoco.Adapter nq={self._counts['qpos']}, nv={self._counts['qvel']}>"

    @property
    def report(self) -> Dict[str, Any]:
        """Report of the last step: contacts, rows, penetration [m], slip [m/s], iterations, whether they
        converged, momentum_error [-], times [s]."""
        names = ("velocities", "trees", "blocks", "rows", "contacts", "penetration", "slip",
                 "time_position", "time_assembly", "time_solver", "time_total")
        with self._c as c:
            if not c.reported:
                raise InputError("no step has been made yet, or the last one failed")
            result = {name: getattr(c.report, name) for name in names}
            solver = c.report.solver
            solved = solver != ffi.NULL
            result["iterations"] = solver.iterations if solved else 0
            result["converged"] = not solved or solver.outcome in (
                _lib.SAP_OUTCOME_CONVERGED, _lib.SAP_OUTCOME_ROUNDOFF)
            result["momentum_error"] = solver.momentum_error if solved else 0.0
        return result


class _Adapters(threading.local):
    """Adapters of one thread, so that threads step different data in parallel."""

    def __init__(self) -> None:
        self.of: "weakref.WeakKeyDictionary[Any, Adapter]" = weakref.WeakKeyDictionary()


_adapters = _Adapters()


def _adapter(model: "mujoco.MjModel") -> Adapter:
    _check_type("model", model, mujoco.MjModel)
    adapter = _adapters.of.get(model)
    if adapter is None:
        adapter = Adapter(model)
        adapter._model = None  # the dictionary must not keep the model alive
        _adapters.of[model] = adapter
    return adapter


def step(model: "mujoco.MjModel", data: "mujoco.MjData", count: int = 1) -> None:
    """Steps with default options, in place of mujoco.mj_step. Each thread keeps an adapter with the model."""
    _adapter(model).step(data, count)


class Rollout(NamedTuple):
    """Results of :func:`rollout`: state (n, steps, nstate), mjSTATE_FULLPHYSICS after each step; sensordata
    (n, steps, nsensordata); errors: why trajectories ended early, by index. The rest of such a one is NaN."""

    state: NDArray[np.float64]
    sensordata: NDArray[np.float64]
    errors: Dict[int, Error]


_PHYSICS = mujoco.mjtState.mjSTATE_FULLPHYSICS


def _set_state(model: Any, data: Any, state: NDArray[np.float64]) -> None:
    mujoco.mj_setState(model, data, np.ascontiguousarray(state), _PHYSICS)
    data.qacc_warmstart[:] = 0


def rollout(model: "mujoco.MjModel", data: "mujoco.MjData", initial_state: ArrayLike,
            control: Optional[ArrayLike] = None, *, nstep: Optional[int] = None, threads: Optional[int] = None,
            **options: Any) -> Rollout:
    """Steps many trajectories by sapstep, in place of mujoco.rollout.rollout, which steps by MuJoCo's own physics.

    initial_state: (n, nstate) or one, of mj_getState with mjSTATE_FULLPHYSICS; control: (n, nstep, nu), or
    (nstep, nu) for all (default: those of `data`); threads: default all cores. Other keywords: of
    :class:`Adapter`. `data` holds what is not in a state (mocap, applied forces) and does not change. A
    trajectory depends on its state and controls alone, not on the number of threads.
    """
    _check_type("model", model, mujoco.MjModel)
    _check_type("data", data, mujoco.MjData)
    size = mujoco.mj_stateSize(model, _PHYSICS)
    shape = (-1, size) if np.ndim(initial_state) == 2 else (size,)
    starts = array(initial_state, shape, "initial_state").reshape(-1, size)
    inputs = None
    if control is not None:
        many = np.ndim(control) == 3
        inputs = array(control, (-1, -1, model.nu) if many else (-1, model.nu), "control")
        inputs = inputs if many else inputs[None]
    elif nstep is None:
        raise TypeError("rollout needs control (n, nstep, nu), or nstep")
    steps = count_of(nstep if inputs is None else inputs.shape[1], "nstep")
    if nstep not in (None, steps):
        raise InputError(f"nstep = {nstep}, but control has {steps}")
    n = max(len(starts), 1 if inputs is None else len(inputs))
    for name, given in (("initial_state", starts), ("control", inputs)):
        if given is not None and len(given) not in (1, n):
            raise InputError(f"{name} has {len(given)} trajectories, must be 1 or {n}")
    found = Rollout(np.full((n, steps, size), np.nan), np.full((n, steps, model.nsensordata), np.nan), {})
    workers = min(n, len(os.sched_getaffinity(0)) if threads is None else count_of(threads, "threads", 1))
    todo, stop = iter(range(n)), threading.Event()

    def work() -> None:
        adapter, own = Adapter(model, **options), copy.copy(data)
        for i in todo:  # each takes the next one
            _set_state(model, own, starts[i if len(starts) > 1 else 0])
            adapter.forget()
            try:
                for k in range(steps):
                    if stop.is_set():
                        return
                    if inputs is not None:
                        own.ctrl[:] = inputs[i if len(inputs) > 1 else 0, k]
                    adapter.step(own)
                    mujoco.mj_getState(model, own, found.state[i, k], _PHYSICS)
                    found.sensordata[i, k] = own.sensordata
            except Error as error:
                found.errors[i] = error

    with ThreadPoolExecutor(max(workers, 1)) as pool:
        try:
            for done in [pool.submit(work) for _ in range(workers)]:
                done.result()
        finally:
            stop.set()  # after Ctrl-C or an error of one
    return found


class Transition(NamedTuple):
    """Derivatives of :func:`transition_fd`: x' = A dx + B du, sensors = C dx + D du, x = [dq, v, act]."""

    A: NDArray[np.float64]
    B: NDArray[np.float64]
    C: NDArray[np.float64]
    D: NDArray[np.float64]


def transition_fd(model: "mujoco.MjModel", data: "mujoco.MjData", eps: float = 1e-6, centered: bool = True,
                  **options: Any) -> Transition:
    """Differentiates one step by sapstep at the state of `data`, in place of mujoco.mjd_transitionFD, which
    differentiates MuJoCo's own. dq (nv) is a difference of mj_differentiatePos. Controls stay in their
    ranges. Other keywords: of :class:`Adapter`; relative_tolerance is 1e-12 by default, for the differences.
    `data` does not change.
    """
    _check_type("model", model, mujoco.MjModel)
    _check_type("data", data, mujoco.MjData)
    options.setdefault("relative_tolerance", 1e-12)
    adapter = Adapter(model, **options)
    with adapter._c as c:
        address, nx, nu, ns = adapter._address(data), 2 * model.nv + model.na, model.nu, model.nsensordata
        found = Transition(np.empty((nx, nx)), np.empty((nx, nu)), np.empty((ns, nx)), np.empty((ns, nu)))
        asked = ffi.new("sap_mj_differences*", (number(eps, "eps"), bool(centered), *(
            ffi.from_buffer("double[]", matrix) if matrix.size else ffi.NULL for matrix in found)))
        call(_lib.sap_mj_transition, c.adapter, address, asked)
    return found


__all__ = ["Adapter", "Error", "Rollout", "Transition", "rollout", "step", "transition_fd"]
