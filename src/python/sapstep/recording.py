# SPDX-License-Identifier: BSD-3-Clause
"""Recordings as arrays; needs h5py."""

from __future__ import annotations

import errno
import os
from importlib import import_module
from typing import Any, Dict, Iterator, List, Optional, Union

import numpy as np
from numpy.typing import NDArray

from ._library import InputError
from ._names import Suggests, hint

_ROWS = ("contact", "constraint", "iteration")  # groups with any number of rows per step


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        raise ImportError(f"this needs {package}: pip install {package}") from None


class Recording(Suggests):
    """A recording of the program, of :meth:`Simulation.record` or of the C library::

        run = sapstep.Recording("run.h5")
        run.time                          # (n) [s]
        run["q"], run.units("q")          # (n, nq), "m, rad"
        run["energy/kinetic"]             # one column
        run["pose"]                       # (n, bodies, 7): position and quaternion w x y z
        run.contacts(5)["impulse"]        # contacts of the fifth step
        run.to_pandas("energy", "v"), run.to_xarray()
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"]) -> None:
        h5py = _module("h5py")
        self._path = os.fspath(path)
        try:
            self._file: Any = h5py.File(self._path, "r")
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self._path) from None
        except OSError as reason:
            raise InputError(f"{self._path} is not a recording: {reason}") from None
        if self._file.attrs.get("format", b"") not in (b"sapstep recording", "sapstep recording"):
            raise InputError(f"{self._path} is an HDF5 file, but not a recording of sapstep")
        sets = [name for name in self._file if name not in (*_ROWS, "model", "actuator")]
        self._sets = sets + [f"{group}/{name}" for group in ("actuator", *_ROWS) for name in self._file.get(group, ())]
        groups = [f"{group}/first" for group in _ROWS if f"{group}/first" in self._sets]
        self._n = min(len(self._file[name]) for name in [*sets, *groups])  # a killed run may have sets of other lengths

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self._n)

    def __iter__(self) -> Iterator[str]:
        return iter(self._sets)

    def keys(self) -> List[str]:
        """Names of the data sets: "time", "q", "contact/impulse", ..."""
        return list(self._sets)

    def _set(self, name: str) -> Any:
        if name not in self._sets:
            columns = [f"{part}/{column}" for part in self._sets for column in self.columns(part)]
            raise KeyError(f"{self._path} has no {name!r}: {hint(name, [*self._sets, *columns], {'t': 'time'})}")
        return self._file[name]

    def __getitem__(self, name: str) -> NDArray[Any]:
        part, _, column = name.rpartition("/")
        if name not in self._sets and part in self._sets and column in self.columns(part):
            return self[part][:, self.columns(part).index(column)]
        values = self._set(name)
        rows = self._n if name.partition("/")[0] not in _ROWS or name.endswith(("/first", "/count")) else len(values)
        found: NDArray[Any] = values[:rows]
        return found.reshape(rows, -1, 7) if name == "pose" else found

    @property
    def time(self) -> NDArray[np.float64]:
        """Times of the rows (n) [s]."""
        return self["time"]

    def names(self, kind: str) -> List[str]:
        """Names of all "body", "joint", "shape", "actuator", "equality" or "tendon", in the order of their ids;
        of "sensor": of its values."""
        plural = {"body": "bodies", "equality": "equalities"}.get(kind, f"{kind}s")
        if f"model/{plural}" not in self._file:
            raise InputError(f"a recording has no names of a {kind!r}: body, joint, shape, actuator, equality, tendon, "
                             "sensor")
        return [name.decode(errors="replace") for name in self._file[f"model/{plural}"][:]]

    def units(self, name: str) -> str:
        """Units of a data set."""
        units = self._set(name).attrs.get("units", b"1")
        return units.decode() if isinstance(units, bytes) else str(units)

    def columns(self, name: str) -> List[str]:
        """Names of a data set's columns; joints name those of q and v."""
        values = self._set(name)
        if name in ("q", "v"):
            return self._coordinates(0 if name == "q" else 1, values.shape[1])
        if name == "sensor":
            return self.names("sensor")
        if name == "actuator/force":
            return [actuator or str(i) for i, actuator in enumerate(self.names("actuator"))]
        text = values.attrs.get("columns", b"")
        columns = [part for part in (text.decode() if isinstance(text, bytes) else str(text)).split(",") if part]
        return columns if values.ndim == 2 and len(columns) == values.shape[1] else []

    def _coordinates(self, which: int, count: int) -> List[str]:
        joints = self._file["model/joint"][:]
        firsts = [*joints[:, 2 + which], count]
        found = []
        for i, joint in enumerate(self.names("joint")):
            size, joint = int(firsts[i + 1] - firsts[i]), joint or f"joint{i}"
            if size == 1:
                found.append(joint)
                continue
            parts = {7: ["x", "y", "z", "qw", "qx", "qy", "qz"], 4: ["qw", "qx", "qy", "qz"],
                     6: ["vx", "vy", "vz", "wx", "wy", "wz"], 3: ["wx", "wy", "wz"]}.get(size, [])
            found += [f"{joint}.{part}" for part in parts]
        return found if len(found) == count else [str(i) for i in range(count)]

    def contacts(self, row: int) -> Dict[str, NDArray[Any]]:
        """Contacts of one row by name: "id", "point", "distance", "impulse", ... (see include/sapstep/recorder.h)."""
        return self._rows("contact", row)

    def iterations(self, row: int) -> Dict[str, NDArray[Any]]:
        """Iterations of the solver in the step of one row."""
        return self._rows("iteration", row)

    def _rows(self, group: str, row: int) -> Dict[str, NDArray[Any]]:
        row = range(self._n)[row]
        first, count = (int(self._file[f"{group}/{name}"][row]) for name in ("first", "count"))
        return {name: self._file[group][name][first:first + count]
                for name in self._file[group] if name not in ("first", "count")}

    def _series(self, names: Any) -> List[str]:
        return list(names) or [name for name in self._sets if name.partition("/")[0] not in _ROWS and name != "time"]

    def to_pandas(self, *names: str) -> Any:
        """Returns a DataFrame of data sets or columns (default: all that have a row per step) over the time;
        its attrs["units"] has the units of each."""
        pandas, data, units = _module("pandas"), {}, {}
        for name in self._series(names):
            values = self[name]
            part = name if name in self._sets else name.rpartition("/")[0]
            if values.ndim > 1:
                values = values.reshape(len(values), -1)
                columns = self.columns(name) if len(self.columns(name)) == values.shape[1] else range(values.shape[1])
                series = {f"{name}/{column}": values[:, i] for i, column in enumerate(columns)}
            else:
                series = {name: values}
            data.update(series)
            units.update(dict.fromkeys(series, self.units(part)))
        frame = pandas.DataFrame(data, index=pandas.Index(self.time, name="time [s]"))
        frame.attrs["units"] = units
        return frame

    def to_xarray(self, *names: str) -> Any:
        """Returns a Dataset of data sets (default: all that have a row per step) with coordinates and units."""
        xarray, data = _module("xarray"), {}
        coords: Dict[str, Any] = {"time": ("time", self.time, {"units": "s"})}
        for name in self._series(names):
            values, label = self[name], name.replace("/", "_")
            dims: List[str] = ["time"]
            if name == "pose":
                dims += ["body", "pose_column"]
                coords["body"], coords["pose_column"] = self.names("body"), ["x", "y", "z", "qw", "qx", "qy", "qz"]
            elif values.ndim == 2:
                dims.append(f"{label}_column")
                coords[dims[1]] = self.columns(name) or np.arange(values.shape[1])
            units: Optional[str] = self.units(name if name in self._sets else name.rpartition("/")[0])
            data[label] = (dims, values, {"units": units})
        return xarray.Dataset(data, coords)

    def __repr__(self) -> str:
        if not self._file:
            return f"<sapstep.Recording {self._path!r}, closed>"
        end = f" to t = {self.time[-1]:g} s" if self._n else ""
        return f"<sapstep.Recording {self._path!r}, {self._n} rows{end}>"
