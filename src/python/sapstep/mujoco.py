# SPDX-License-Identifier: BSD-3-Clause
"""MuJoCo's models and data, stepped by sapstep's contact solver.

    import mujoco, sapstep.mujoco
    model = mujoco.MjModel.from_xml_path("humanoid.xml")
    data = mujoco.MjData(model)
    sapstep.mujoco.step(model, data)          # in place of mujoco.mj_step

Needs the package built against the same MuJoCo: see the README.
"""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Dict, Optional

import mujoco

from ._handle import OwningHandle, Owner
from ._library import FOLDER, Error, InputError, call, check, count_of, ffi, integer, number
from ._options import REGULARIZATION, assign, c_string, keywords, set_options, take

_HOW = f"install sapstep from its sources with -C cmake.define.MUJOCO_DIR={os.path.dirname(mujoco.__file__)}"
if not (FOLDER / "libsapstep_mujoco.so").exists():
    raise ImportError(f"sapstep was built without MuJoCo: {_HOW}")
try:
    _lib = ffi.dlopen(str(FOLDER / "libsapstep_mujoco.so"))
except OSError as reason:
    raise ImportError(f"sapstep was built with another MuJoCo than mujoco {mujoco.__version__} ({reason}): {_HOW}") \
        from None

_built = ffi.string(_lib.sap_mj_version()).decode()
if _built != mujoco.mj_versionString():
    raise ImportError(f"sapstep was built with MuJoCo {_built}, this is mujoco {mujoco.mj_versionString()} with "
                      f"other structures: {_HOW}")

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

    solver: see :func:`sapstep.solvers`; implicit: springs, dampers and servos in A; remember:
    start from the last step's impulses. Other keywords: sigma, beta and the fields of
    sap_solver_options; time_limit bounds a step [s], which then uses the best velocities found
    (0: no limit; see report["converged"]).
    """

    def __init__(self, model: "mujoco.MjModel", solver: str = "sap", *, implicit: bool = True,
                 remember: bool = True, **options: Any) -> None:
        _check_type("model", model, mujoco.MjModel)
        self._model: Optional[Any] = model  # must outlive the adapter
        self._counts = {array: int(getattr(model, count)) for array, count in _SIZES.items()}
        self._fitting: Any = None  # weak reference to the last data that matched the model,
        self._data: Any = None  # and their address
        made = ffi.new("sap_mj_options*", _lib.sap_mj_options_default())
        name = c_string(solver, "solver")
        made.solver, made.implicit, made.remember = name, bool(implicit), bool(remember)
        take(made.regularization, REGULARIZATION, options)
        set_options(made.solver_options, options, (*REGULARIZATION, *_KEYWORDS))
        self._c = OwningHandle(type(self).__name__)
        self._c.make("adapter", _lib.sap_mj_create, ffi.cast("const mjModel*", model._address), made,
                     end=_lib.sap_mj_destroy, type="sap_mj", threads=made.solver_options.threads > 1)
        with self._c as c:
            c.report, c.made, c.error = ffi.new("sap_mj_report*"), ffi.new("int64_t*"), ffi.new("sap_error*")
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


_KEYWORDS = keywords(Adapter.__init__, "self", "model")


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


__all__ = ["Adapter", "Error", "step"]
