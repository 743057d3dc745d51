# SPDX-License-Identifier: BSD-3-Clause
"""Whatever is handed to whatever: an exception that says what is wrong, nothing changed, no crash."""

import numpy as np
import pytest
from things import EYE, SCENES, Ball, problem

import sapstep

JUNK = [
    None, "x", "x\0y", b"x", float("nan"), float("inf"), -1, 10**30, -(10**30), 1.5, [], {}, object(), np.zeros(3),
    np.full(3, np.nan), [[1, 2], [3]], np.zeros((0, 3)), True, np.float32(2), lambda: 0, {0: None}, {5: np.eye(3)},
    {"a": np.eye(3)}, {0: np.eye(2)}, {0.5: np.eye(3)}, range(3),
]
BOX = SCENES / "falling_box.xml"


def makes():
    yield lambda x: sapstep.Simulation(x)
    yield lambda x: sapstep.Problem(x, [3])
    yield lambda x: sapstep.Problem(0.1, x)
    yield lambda x: sapstep.Stepper(x, [0.0], [0.0], 0.01)
    yield lambda x: sapstep.Stepper(Ball(), x, np.zeros(3), 0.01)
    yield lambda x: sapstep.Stepper(Ball(), np.zeros(3), np.zeros(3), x)
    for name in ("dt", "scheme", "solver", "contact_stage", "keyframe", "sigma", "contact_model", "contact_law",
                 "restitution", "max_iterations", "linear_solver", "remember"):
        yield lambda x, name=name: sapstep.Simulation(BOX, **{name: x})


def calls(s):
    """All that takes arguments; counts are not tried where large ones would be served."""
    for name in ("t", "dt", "q", "v", "act", "state", "control"):
        yield lambda x, name=name: setattr(s, name, x)
    yield from (s.apply, s.push, s.load, s.reset, s.names, s.joint, s.pose, s.jacobian, s.read_checkpoint)
    yield lambda x: s.push(1, x)
    yield lambda x: s.push(1, moment=x)
    yield lambda x: s.push(1, point=x)
    yield lambda x: s.find("body", x)
    yield lambda x: s.jacobian(1, x)
    yield lambda x: s.record(x).close()
    yield lambda x: s.record("a.h5", x).close()
    yield lambda x: s.write_checkpoint("b", x)
    yield lambda x: s.step(x) if not isinstance(x, int) or x < 0 else None
    yield sapstep.step_all
    yield lambda x: sapstep.step_all([s.copy()], 1, x)


def blocks(p):
    yield from (p.set_momentum, p.set_v_star, p.set_v_guess, p.solve)
    yield lambda x: p.set_momentum(np.eye(3), x)
    yield lambda x: p.set_momentum(np.eye(3), 0, x)
    yield lambda x: p.add_contact(x, 0.0)
    for name in ("phi", "stiffness", "relaxation_time", "friction", "beta", "sigma", "key"):
        yield lambda x, name=name: p.add_contact(EYE, **{"phi": 0.0, name: x})
    yield lambda x: p.add_compliant(EYE, x)
    yield lambda x: p.add_compliant(EYE, np.zeros(3), stiffness=x)
    yield lambda x: p.add_block(x, EYE, np.ones(3), np.zeros(3))
    for name in ("R", "v_hat", "lower", "upper", "friction", "key"):
        yield lambda x, name=name: p.add_block(**{"kind": "box", "jacobians": EYE, "R": np.ones(3),
                                                  "v_hat": np.zeros(3), "lower": -np.ones(3), name: x})
    for name in ("relative_tolerance", "newton", "max_iterations"):
        yield lambda x, name=name: p.solve(**{name: x})
    yield lambda x: p.residuals(x, np.zeros(p.nrows))
    yield lambda x: p.residuals(np.zeros(3), x)


def refused(act, value):
    try:
        act(value)
    except (sapstep.Error, TypeError, OverflowError) as error:
        assert str(error)
        return True
    return False


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of old numpy, about rows of different lengths
@pytest.mark.filterwarnings("ignore:Creating an ndarray")
@pytest.mark.parametrize("kind", ["makes", "calls", "blocks"])
def test_junk(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    acts = {"makes": makes, "calls": lambda: calls(robot), "blocks": lambda: blocks(problem())}[kind]()
    count = 0
    for act in acts:
        for value in JUNK:
            saved = robot.save()
            if refused(act, value):
                count += 1
                assert robot.save() == saved
            else:
                robot.load(saved)
    assert count > 300  # most of it is refused
    robot.dt = 0.002
    robot.reset()
    robot.step()


def test_names_in_messages():
    robot = sapstep.Simulation(SCENES / "quadruped.xml")
    for act, text in (
        (lambda: sapstep.Simulation(BOX, dt="1"), "dt = '1': must be real number"),
        (lambda: setattr(robot, "dt", None), "dt = None must be a number"),
        (lambda: sapstep.Simulation(BOX, max_iterations=np.float32(2)), "max_iterations = 2.0"),
        (lambda: robot.step(1.5), "count = 1.5 must be an integer"),
        (lambda: robot.pose(1.0), "body = 1.0 must be an integer"),
        (lambda: sapstep.Problem(None, [3]), "dt = None must be a number"),
        (lambda: sapstep.Stepper("x", [0.0], [0.0], 0.1), "system must be a sapstep.System, not str"),
        (lambda: problem().add_contact(EYE, None), "phi = None"),
    ):
        with pytest.raises(TypeError, match=text):
            act()


def test_zero_quaternion():
    box = sapstep.Simulation(BOX)
    q = box.q.copy()
    q[3:7] = 0.0
    box.q = q
    with pytest.raises(sapstep.Error, match=r"q\[3\] to q\[6\] = 0: the quaternion of joint 0 .* must not be zero"):
        box.step()
    assert np.array_equal(box.q, q) and box.t == 0.0
