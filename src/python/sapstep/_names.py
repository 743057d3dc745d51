# SPDX-License-Identifier: BSD-3-Clause
"""Suggestions for names that do not exist."""

from __future__ import annotations

import difflib
import re
from typing import Any, Iterable, Mapping

# Other names, mostly MuJoCo's, of what is called otherwise here.
MUJOCO = {
    "qpos": "q", "qvel": "v", "time": "t", "timestep": "dt", "integrator": "scheme", "contact": "contacts",
    "ncon": "len(contacts)", "xpos": "body(NAME).position", "xquat": "body(NAME).quaternion",
    "xmat": "body(NAME).rotation", "cvel": "body(NAME).velocity", "qacc": "accelerations()",
    "qfrc_applied": "apply(forces)", "xfrc_applied": "push(BODY, force)", "qfrc_constraint": "constraint_forces()",
    "actuator_force": "actuator_forces()", "sensordata": "sensors", "site_xpos": "site(NAME).position",
    "site_xmat": "site(NAME).rotation", "nbody": "len(names('body'))", "njnt": "len(names('joint'))",
    "ngeom": "len(names('shape'))", "geom": "names('shape')", "jnt": "joint(NAME)", "xanchor": "joint(NAME)",
    "bodies": "names('body')", "joints": "names('joint')", "energy": "diagnose()", "mass": "diagnose()['mass']",
    "momentum": "diagnose()", "render": "record(FILE), then sapstep view FILE", "limits": "lower, upper", "torque": "force",
}


def hint(name: Any, known: Iterable[str], others: Mapping[str, str] = MUJOCO, likeness: float = 0.6) -> str:
    """Returns "did you mean 'q'?", or the list of what there is; others: other names of some."""
    known = [text for text in known if text]
    right = others.get(name, "")
    if set(re.findall(r"\w+", right)) & set(known):
        return f"did you mean '{right}'?" if right.isidentifier() else f"did you mean {right}?"
    lower = {text.lower(): text for text in known}
    near = difflib.get_close_matches(str(name).lower(), lower, 1, likeness)
    if near:
        return f"did you mean '{lower[near[0]]}'?"
    return f"available: {', '.join(known)}" if known else "none has a name"


class Suggests:
    """Base of classes whose messages about wrong names have the right one. Assigning to a name is refused if
    it is MuJoCo's or a misspelt one, else Python would just make an attribute of it."""

    _read_only = ""  # what to set instead

    def _unknown(self, name: str, likeness: float = 0.6) -> AttributeError:
        public = [text for text in dir(type(self)) if not text.startswith("_")]
        kind = type(self).__name__
        which = f"{'an' if kind[0] in 'AEIOU' else 'a'} {kind}"
        error: Any = AttributeError(f"{which} has no '{name}': {hint(name, public, likeness=likeness)}")
        error.name, error.obj = name, None  # otherwise Python adds a suggestion of its own
        return error  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:  # only called for names that do not exist
        if name.startswith("_"):
            raise AttributeError(name)
        raise self._unknown(name)

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_") and not hasattr(type(self), name):
            error = self._unknown(name, 0.9)
            if "did you mean '" in str(error):  # an attribute, which may have been meant
                raise error
        elif getattr(getattr(type(self), name, None), "fset", self) is None:
            raise AttributeError(f"{name} of a {type(self).__name__} cannot be set{self._read_only}")
        object.__setattr__(self, name, value)
