# SPDX-License-Identifier: BSD-3-Clause
"""Options of Python are those of the lists in the C headers, in number, order and words."""

import re

import pytest
from things import SCENES

import sapstep
from sapstep import _options

INCLUDE = SCENES.parents[1] / "include" / "sapstep"
LISTS = [
    ("solver.h", "SAP_SOLVER_OPTIONS", _options.SOLVER),
    ("stepper.h", "SAP_STEPPER_OPTIONS", _options.STEPPER),
    ("contact.h", "SAP_REGULARIZATION_OPTIONS", _options.REGULARIZATION),
    ("adaptive.h", "SAP_ADAPTIVE_OPTIONS", _options.ADAPTIVE),
    ("mujoco.h", "SAP_MJ_OPTIONS", _options.ADAPTER),
]
WORDS = {
    "newton": ("solver.h", "SAP_NEWTON_LIST"), "line_search": ("solver.h", "SAP_LINE_SEARCH_LIST"),
    "linear_solver": ("solver.h", "SAP_LINEAR_LIST"), "penalty": ("solver.h", "SAP_PENALTY_LIST"),
    "contact_stage": ("stepper.h", "SAP_STAGE_LIST"), "contact_law": ("stepper.h", "SAP_LAW_LIST"),
    "contact_model": ("contact.h", "SAP_CONTACT_MODEL_LIST"),
}


def rows(header: str, name: str, pattern: str) -> list:
    text = (INCLUDE / header).read_text()
    body = re.search(rf"#define {name}\(X\)((?:.*\\\n)*.*\n)", text).group(1)
    return re.findall(pattern, body)


@pytest.mark.parametrize("header, name, fields", LISTS)
def test_fields_are_those_of_the_list(header, name, fields):
    assert list(fields) == rows(header, name, r"X\(\w+, (\w+),")


def test_words_are_those_of_the_lists():
    assert set(_options._WORDS) == set(WORDS)
    for option, (header, name) in WORDS.items():
        assert _options._WORDS[option][1] == tuple(rows(header, name, r'X\(\w+, "([^"]+)"'))


def test_each_option_is_a_keyword():
    own = ("dt", "theta", "theta_vq", "contact_stage")
    for name in (*_options.SOLVER, *_options.STEPPER, *_options.REGULARIZATION):
        if name not in own:
            with pytest.raises((TypeError, ValueError, OverflowError, sapstep.Error)) as refusal:
                sapstep.Simulation(SCENES / "falling_box.xml", **{name: "no such word"})
            assert "unknown option" not in str(refusal.value) and name in str(refusal.value)


def test_each_option_of_error_control_is_a_keyword():
    simulation = sapstep.Simulation(SCENES / "falling_box.xml", scheme="midpoint")
    for name in _options.ADAPTIVE:
        with pytest.raises((TypeError, ValueError)) as refusal:
            simulation.advance(0.1, **{name: "no number"})
        assert "unknown option" not in str(refusal.value) and name in str(refusal.value)
    with pytest.raises(TypeError, match="unknown option 'largest_d', did you mean 'largest_dt'"):
        simulation.advance(0.1, largest_d=0.1)
    assert simulation.advance(0.1, largest_dt=0.001)[0] >= 100 > simulation.advance(0.2)[0]
    saved = simulation.save()
    other = sapstep.Simulation(SCENES / "falling_box.xml", scheme="midpoint")
    other.load(saved)
    for each in (simulation, other):
        assert each.advance(0.3, largest_dt=0.001, extrapolate=False)[0] >= 100
    assert simulation.state.tobytes() == other.state.tobytes()


def test_presets():
    names = rows("stepper.h", "SAP_PRESET_LIST", r'X\("(\w+)"')
    assert names == ["default", "castro", "drake"]
    castro = dict(contact_law="castro", contact_model="sap", contact_stage="end", impact_speed=0.0,
                  balance_tolerance=float("inf"), remember=False, islands=False, newton="primal",
                  line_search="exact", linear_solver="sparse")
    drake = dict(castro, linear_solver="block", scheme="symplectic-euler", beta=1.0, sigma=1e-3,
                 relative_tolerance=1e-6, absolute_tolerance=1e-14, max_iterations=100)

    def end(**keywords):
        simulation = sapstep.Simulation(SCENES / "quadruped.xml", **keywords)
        simulation.step(40)
        return simulation.q.tobytes()

    assert end(preset="castro") == end(**castro) != end()
    assert end(preset="drake") == end(**drake) != end(**castro)
    assert end(preset="castro", newton="primal-dual", sigma=1e-4) == end(**{**castro, "newton": "primal-dual", "sigma": 1e-4})
    assert end(preset="default") == end()
    with pytest.raises(sapstep.Error, match="unknown preset 'paper'; available: default, castro, drake"):
        sapstep.Simulation(SCENES / "quadruped.xml", preset="paper")
