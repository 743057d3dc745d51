# SPDX-License-Identifier: BSD-3-Clause
"""The shared library, its declarations, and helpers of all modules."""

from __future__ import annotations

import operator
import os
import reprlib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Tuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

FOLDER = Path(os.environ.get("SAPSTEP_LIBRARY", Path(__file__).parent))

if not (FOLDER / "_declarations.py").exists():
    raise ImportError(
        f"there is no library in {FOLDER}: these are the package's sources; install it with "
        "`pip install .` in their root and import it from elsewhere, or set SAPSTEP_LIBRARY to the folder of a build"
    )
_declared = spec_from_file_location("sapstep._declarations", FOLDER / "_declarations.py")
assert _declared is not None and _declared.loader is not None
_declarations = module_from_spec(_declared)
_declared.loader.exec_module(_declarations)
ffi: Any = _declarations.ffi  # no C is parsed later: Ctrl-C would leave the parser in a broken state
lib = ffi.dlopen(str(FOLDER / "libsapstep.so"))


class Error(RuntimeError):
    """A call that failed; ``status`` is the reason ("invalid argument", ...)."""

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.status)


class InputError(Error, ValueError):
    """A wrong argument, number or file."""

    def __init__(self, message: str, status: str = "invalid argument") -> None:
        super().__init__(message, status)


class StepError(Error):
    """A step that failed; the state is unchanged."""


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
    """Calls a function whose last parameter is a ``sap_error*``. The GIL is released during the call."""
    error = ffi.new("sap_error*")
    check(function(*arguments, error), error)


def version() -> str:
    """Version of the library, "major.minor.patch"."""
    return str(ffi.string(lib.sap_version()).decode())


def array(values: ArrayLike, shape: Tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Converts to float64, column-major, and checks the shape; -1 allows any size. Values that have this
    form already are not copied."""
    try:
        given = np.asarray(values)
    except ValueError as reason:  # rows of different lengths
        raise InputError(f"{name} is not an array of numbers: {reason}") from reason
    if given.dtype.kind not in "biuf":
        kind = "complex" if given.dtype.kind == "c" else f"not an array of numbers, but of {given.dtype}"
        raise InputError(f"{name} is {kind}")
    if given.ndim != len(shape) or any(want not in (-1, have) for want, have in zip(shape, given.shape)):
        wanted = str(shape).replace("-1", "any")
        raise InputError(f"{name} has shape {given.shape}, must be {wanted}")
    return np.asarray(given, dtype=np.float64, order="F")


def pointer(values: NDArray[np.float64]) -> Any:
    """Returns a double* to the values; the array must outlive its use."""
    return ffi.cast("double*", values.ctypes.data)


def view(data: Any, count: int) -> NDArray[np.float64]:
    """Returns a view of the numbers at a double*, valid as long as their owner."""
    if count == 0:
        return np.empty(0)
    return np.frombuffer(ffi.buffer(data, 8 * count), dtype=np.float64)


class _Memory:
    """Memory that keeps its owner alive as long as arrays made of it."""

    def __init__(self, data: Any, count: int, owner: Any) -> None:
        address = int(ffi.cast("uintptr_t", data))
        self.__array_interface__ = {
            "shape": (count,), "typestr": np.dtype(np.float64).str, "data": (address, False), "version": 3
        }
        self._owner = owner


def owned_view(data: Any, count: int, owner: Any) -> NDArray[np.float64]:
    """Returns a view that keeps the owner alive."""
    return np.asarray(_Memory(data, count, owner)) if count > 0 else np.empty(0)


def _index(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {reprlib.repr(value)} must be an integer") from None


def integer(value: Any, name: str) -> int:
    """Converts any integer that C can hold."""
    result = _index(value, name)
    if not -(2**31) <= result < 2**31:
        raise InputError(f"{name} = {reprlib.repr(result)} is out of range")
    return result


def count_of(value: Any, name: str, least: int = 0) -> int:
    """Converts an integer that counts something; clips at the largest that C can hold."""
    result = _index(value, name)
    if result < least:
        raise InputError(f"{name} = {reprlib.repr(result)} must be >= {least}")
    return min(result, 2**63 - 1)


def number(value: Any, name: str) -> float:
    """Converts any real number."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except TypeError:
        pass
    raise TypeError(f"{name} = {reprlib.repr(value)} must be a number")
