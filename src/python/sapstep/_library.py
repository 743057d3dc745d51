# SPDX-License-Identifier: BSD-3-Clause
"""The shared library, its declarations, and what all modules do with them."""

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
        f"there is no library in {FOLDER}: these are the package's sources, install it with "
        "`pip install ./src/python` and import it from elsewhere, or name the folder of a build in SAPSTEP_LIBRARY"
    )
_declared = spec_from_file_location("sapstep._declarations", FOLDER / "_declarations.py")
assert _declared is not None and _declared.loader is not None
_declarations = module_from_spec(_declared)
_declared.loader.exec_module(_declarations)
ffi: Any = _declarations.ffi  # no C is parsed from now on, where Ctrl-C would leave the parser half-way
lib = ffi.dlopen(str(FOLDER / "libsapstep.so"))


class Error(RuntimeError):
    """A call that could not be done; ``status`` says why ("invalid argument", ...)."""

    def __init__(self, message: str, status: str = "") -> None:
        super().__init__(message)
        self.status = status

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.status)


class InputError(Error, ValueError):
    """An argument, a number or a file that is wrong."""

    def __init__(self, message: str, status: str = "invalid argument") -> None:
        super().__init__(message, status)


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


def array(values: ArrayLike, shape: Tuple[int, ...], name: str) -> NDArray[np.float64]:
    """Float64 and column-major, as the library reads it; a size in ``shape`` may be -1 for any.
    The values themselves, not copied, where they are so already."""
    try:
        given = np.asarray(values)
    except ValueError as reason:  # rows of different lengths
        raise InputError(f"{name} is no array of numbers: {reason}") from reason
    if given.dtype.kind not in "biuf":
        kind = "complex" if given.dtype.kind == "c" else f"no array of numbers, but of {given.dtype}"
        raise InputError(f"{name} is {kind}")
    if given.ndim != len(shape) or any(want not in (-1, have) for want, have in zip(shape, given.shape)):
        wanted = str(shape).replace("-1", "any")
        raise InputError(f"{name} has shape {given.shape}, must be {wanted}")
    return np.asarray(given, dtype=np.float64, order="F")


def pointer(values: NDArray[np.float64]) -> Any:
    """A double* into the array, which must outlive its use."""
    return ffi.cast("double*", values.ctypes.data)


def view(data: Any, count: int) -> NDArray[np.float64]:
    """The numbers at a double*, not copied; valid as long as what owns them."""
    if count == 0:
        return np.empty(0)
    return np.frombuffer(ffi.buffer(data, 8 * count), dtype=np.float64)


class _Memory:
    """Memory whose owner lives as long as the arrays made of it."""

    def __init__(self, data: Any, count: int, owner: Any) -> None:
        address = int(ffi.cast("uintptr_t", data))
        self.__array_interface__ = {
            "shape": (count,), "typestr": np.dtype(np.float64).str, "data": (address, False), "version": 3
        }
        self._owner = owner


def owned_view(data: Any, count: int, owner: Any) -> NDArray[np.float64]:
    """As :func:`view`; the array keeps the owner alive."""
    return np.asarray(_Memory(data, count, owner)) if count > 0 else np.empty(0)


def _index(value: Any, name: str) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {reprlib.repr(value)} must be an integer") from None


def integer(value: Any, name: str) -> int:
    """An integer of any kind that C can hold."""
    result = _index(value, name)
    if not -(2**31) <= result < 2**31:
        raise InputError(f"{name} = {reprlib.repr(result)} is out of range")
    return result


def count_of(value: Any, name: str, least: int = 0) -> int:
    """An integer of any kind that counts something; more than C can hold is more than anybody waits for."""
    result = _index(value, name)
    if result < least:
        raise InputError(f"{name} = {reprlib.repr(result)} must be >= {least}")
    return min(result, 2**63 - 1)


def number(value: Any, name: str) -> float:
    """A real number of any kind."""
    try:
        if not isinstance(value, (str, bytes, bytearray)):
            return float(value)
    except TypeError:
        pass
    raise TypeError(f"{name} = {reprlib.repr(value)} must be a number")
