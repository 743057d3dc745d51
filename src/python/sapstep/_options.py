# SPDX-License-Identifier: BSD-3-Clause
"""Keyword arguments into the library's structs of options."""

from __future__ import annotations

import inspect
import os
import reprlib
from typing import Any, Dict, Iterable, List, Optional, Tuple, Union

import numpy as np

from ._library import InputError, call, ffi, lib
from ._names import hint

_SCHEMES = ("explicit-euler", "symplectic-euler", "implicit-euler", "midpoint")


def _words(type: Any) -> Tuple[str, Tuple[str, ...]]:
    """Returns the common prefix of an enum's names and its values as words: SAP_STAGE_, ("auto", "end", "theta")."""
    names = [name for value, name in sorted(type.elements.items()) if value >= 0]
    prefix = os.path.commonprefix(names).rpartition("_")[0] + "_"
    words = (name[len(prefix):].lower().replace("_", "-") for name in names)
    return prefix, tuple(word for word in words if not word.endswith("count"))


def _fields(struct: str) -> Dict[str, Any]:
    """Returns the types of a struct's options by name: those of its X-macro list."""
    skipped = ("cookie", "solver", "solver_options", "regularization", "warning", "warning_context")
    return {name: field.type for name, field in ffi.typeof(struct).fields if name not in skipped}


SOLVER = _fields("sap_solver_options")
STEPPER = _fields("sap_stepper_options")
REGULARIZATION = _fields("sap_regularization")
ADAPTIVE = _fields("sap_adaptive_options")
ADAPTER = _fields("sap_mj_options")
# Options that are words: prefix of the enum, and the words.
_WORDS = {
    name: _words(type) for name, type in (*SOLVER.items(), *STEPPER.items()) if type.kind == "enum"
}
# Options that are separate arguments of stepper_options.
_NAMED = ("dt", "theta", "theta_vq", "contact_stage")
_STEPPER = tuple(name for name in STEPPER if name not in _NAMED)


def enumerator(prefix: str, words: Tuple[str, ...], value: Any, name: str) -> int:
    """Returns the value of an enum by its lower-case name."""
    if not isinstance(value, str) or value not in words:
        raise InputError(f"{name} = {reprlib.repr(value)} must be one of {', '.join(words)}")
    return int(getattr(lib, prefix + value.upper().replace("-", "_")))


def assign(struct: Any, name: str, value: Any, shown: str = "") -> None:
    """Sets struct.name = value, a word for an enum. Messages use the name, or `shown` if given."""
    if name in _WORDS:
        value = enumerator(*_WORDS[name], value, shown or name)
    if isinstance(value, np.generic):
        value = value.item()  # cffi would treat a float32 as an integer
    try:
        setattr(struct, name, value)
    except (TypeError, OverflowError) as reason:
        raise type(reason)(f"{shown or name} = {reprlib.repr(value)}: {reason}") from None


def take(struct: Any, fields: Iterable[str], values: Dict[str, Any]) -> None:
    """Moves the fields that `values` holds into a struct."""
    for name in fields:
        if name in values:
            assign(struct, name, values.pop(name))


def c_string(text: Any, name: str) -> Any:
    """Returns a char[] that must outlive its use."""
    if not isinstance(text, str):
        raise TypeError(f"{name} must be a str, not {type(text).__name__}")
    if "\0" in text:
        raise InputError(f"{name} = {reprlib.repr(text)} holds a null character")
    return ffi.new("char[]", text.encode(errors="backslashreplace"))


def file_name(path: Union[str, "os.PathLike[str]"]) -> bytes:
    """Encodes a path for the library."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise InputError(f"the path {path!r} holds a null character")
    return name


def keywords(of: Any, *but: str) -> List[str]:
    """Returns the names of a method's keyword arguments, without `but`."""
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in inspect.signature(of).parameters.values() if p.kind in kinds and p.name not in but]


def set_options(options: Any, values: Dict[str, Any], others: Iterable[str] = (), fields: Iterable[str] = SOLVER) -> None:
    """Fills fields of a struct, of ``sap_solver_options`` by default, from keyword arguments; enums are words.
    others: other keywords of the caller, for suggestions when one is misspelled."""
    for name, value in values.items():
        if name not in fields:
            known = sorted({*fields, *others})
            raise TypeError(f"unknown option '{name}', {hint(name, known)}")
        assign(options, name, value)


def stepper_options(dt: Optional[float], preset: str, scheme: Union[str, Tuple[float, float], None],
                    stage: Optional[str], solver: Optional[str], values: Dict[str, Any], others: Iterable[str],
                    scene: Any = None) -> Tuple[Any, Any]:
    """Returns a sap_stepper_options and the objects it points to. `values` has its other fields and those
    of the solver's options, `others` the caller's own keywords. None leaves what the preset sets; `scene`
    is a sap_regularization that the preset overrides."""
    options = ffi.new("sap_stepper_options*", lib.sap_stepper_options_default())
    if scene is not None:
        options.regularization.beta, options.regularization.sigma = scene.beta, scene.sigma
    call(lib.sap_stepper_options_preset, c_string(preset, "preset"), options)
    if dt is not None:
        assign(options, "dt", dt)
    if scheme is None:
        pass
    elif isinstance(scheme, str):
        call(lib.sap_stepper_options_set_scheme, options, enumerator("SAP_SCHEME_", _SCHEMES, scheme, "scheme"))
    else:
        try:
            theta, theta_vq = scheme
        except (TypeError, ValueError):
            raise TypeError(f"scheme = {reprlib.repr(scheme)} must be a name or (theta, theta_vq)") from None
        assign(options, "theta", theta)
        assign(options, "theta_vq", theta_vq)
    if stage is not None:
        assign(options, "contact_stage", stage)
    rest = dict(values)
    take(options.regularization, REGULARIZATION, rest)
    take(options, _STEPPER, rest)
    set_options(options.solver_options, rest, (*REGULARIZATION, *_STEPPER, *others))
    name = c_string("sap" if solver is None else solver, "solver")
    options.solver = name
    return options, name
