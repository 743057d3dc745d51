# SPDX-License-Identifier: BSD-3-Clause
"""The shared library, its declarations, and what all modules do with them."""

from __future__ import annotations

import difflib
import operator
import os
import threading
import warnings
from pathlib import Path
from typing import Any, Dict, Iterable, Optional, Tuple

import cffi
import numpy as np
from numpy.typing import ArrayLike, NDArray

FOLDER = Path(os.environ.get("SAPSTEP_LIBRARY", Path(__file__).parent))

ffi = cffi.FFI()
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # cffi on C declarations that hold a string
    ffi.cdef((FOLDER / "declarations.h").read_text())
lib = ffi.dlopen(str(FOLDER / "libsapstep.so"))


class Error(RuntimeError):
    """A call that could not be done; ``status`` says why ("invalid argument", ...)."""

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status


class InputError(Error, ValueError):
    """An argument, a number or a file that is wrong."""


class StepError(Error):
    """A step that could not be made; the state is what it was."""


_INPUT = ("ARGUMENT", "NOT_FINITE", "NOT_SPD", "SYNTAX", "UNSUPPORTED", "IO")


def check(status: int, error: Any) -> None:
    """Raises the library's message unless the call succeeded."""
    if status == lib.SAP_STATUS_OK:
        return
    message = ffi.string(error.message).decode(errors="replace") if error != ffi.NULL else ""
    text = ffi.string(lib.sap_status_text(status)).decode()
    kind = Error
    if status in [getattr(lib, "SAP_STATUS_" + name) for name in _INPUT]:
        kind = InputError
    elif status == lib.SAP_STATUS_STEP_FAILED:
        kind = StepError
    raise kind(message or text, text)


def call(function: Any, *arguments: Any) -> None:
    """Calls a function whose last parameter is a ``sap_error*``. The GIL is released meanwhile."""
    error = ffi.new("sap_error*")
    check(function(*arguments, error), error)


def version() -> str:
    """Version of the library, "major.minor.patch"."""
    return str(ffi.string(lib.sap_version()).decode())


def array(values: ArrayLike, shape: Optional[Tuple[int, ...]], name: str) -> NDArray[np.float64]:
    """Float64 and column-major, as the library reads it; a size in ``shape`` may be -1 for any."""
    if np.iscomplexobj(values):
        raise InputError(f"{name} is complex", "invalid argument")
    result = np.asarray(values, dtype=np.float64, order="F")
    if shape is not None:
        fits = result.ndim == len(shape) and all(
            want in (-1, have) for want, have in zip(shape, result.shape)
        )
        if not fits:
            raise InputError(f"{name} has shape {result.shape}, must be {shape}", "invalid argument")
    return np.asfortranarray(result)


def pointer(values: NDArray[np.float64]) -> Any:
    """A double* into the array, which must outlive its use."""
    return ffi.cast("double*", values.ctypes.data)


def view(data: Any, count: int) -> NDArray[np.float64]:
    """The numbers at a double*, not copied; valid as long as what owns them."""
    if count == 0:
        return np.empty(0)
    return np.frombuffer(ffi.buffer(data, 8 * count), dtype=np.float64)


class _Owned:
    """Memory whose owner lives as long as the arrays made of it."""

    def __init__(self, data: Any, count: int, owner: Any) -> None:
        address = int(ffi.cast("uintptr_t", data))
        self.__array_interface__ = {
            "shape": (count,), "typestr": np.dtype(np.float64).str, "data": (address, False), "version": 3
        }
        self._owner = owner


def owned_view(data: Any, count: int, owner: Any) -> NDArray[np.float64]:
    """As :func:`view`; the array keeps the owner alive."""
    return np.asarray(_Owned(data, count, owner)) if count > 0 else np.empty(0)


def non_negative(count: Any, name: str) -> int:
    """An integer of any kind that is at least 0."""
    value = operator.index(count)
    if value < 0:
        raise InputError(f"{name} = {value} must be >= 0", "invalid argument")
    return value


class Turn:
    """Held while a C object works: it is one thread's at a time."""

    def __init__(self, what: str) -> None:
        self._lock = threading.Lock()
        self._what = what

    def __enter__(self) -> None:
        if not self._lock.acquire(blocking=False):
            raise InputError(f"this {self._what} is in use already, by another thread or a callback of its own",
                             "invalid argument")

    def __exit__(self, *_: Any) -> None:
        self._lock.release()


def enumerator(prefix: str, name: str, names: Iterable[str]) -> int:
    """The value of an enum by its lower-case name."""
    key = prefix + name.upper().replace("-", "_")
    if name.lower() != name or not hasattr(lib, key):
        raise InputError(f"'{name}' must be one of {', '.join(names)}", "invalid argument")
    return int(getattr(lib, key))


_CHOICES = {
    "newton": ("SAP_NEWTON_", ("primal", "primal-dual")),
    "line_search": ("SAP_LINE_SEARCH_", ("exact", "backtracking")),
    "linear_solver": ("SAP_LINEAR_", ("auto", "dense", "block", "sparse")),
    "penalty": ("SAP_PENALTY_", ("fixed", "linear", "spectral")),
}


def set_options(options: Any, values: Dict[str, Any], others: Iterable[str] = ()) -> None:
    """Fills fields of a ``sap_solver_options`` from keyword arguments; words for its enums.
    others: keywords that the caller takes itself, to name them where one is misspelled."""
    fields = {name for name, _ in ffi.typeof("sap_solver_options").fields}
    for name, value in values.items():
        if name not in fields:
            known = sorted(fields | set(others))
            near = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean '{near[0]}'?" if near else f"there is: {', '.join(known)}"
            raise TypeError(f"unknown option '{name}', {hint}")
        if isinstance(value, str) and name in _CHOICES:
            value = enumerator(_CHOICES[name][0], value, _CHOICES[name][1])
        setattr(options, name, value)
