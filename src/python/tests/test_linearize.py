# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of steps."""

import numpy as np
import pytest
from things import SCENES

import sapstep

ARM = """<mujoco><worldbody><geom type="plane" size="5 5 1" pos="0 0 .72"/><body pos="0 0 1"><joint name="a"
axis="0 1 0" damping=".1"/><geom type="capsule" size=".05" fromto="0 0 0 .3 0 0"/><body pos=".3 0 0"><joint name="b"
axis="0 1 0"/><geom type="capsule" size=".04" fromto="0 0 0 .3 0 0"/></body></body></worldbody>
<actuator><motor joint="a"/><motor joint="b"/></actuator></mujoco>"""


def tight():
    return sapstep.Simulation.from_string(ARM, dt=0.004, remember=False, relative_tolerance=1e-14, balance_tolerance=1e-13)


def end(state, control):
    sim = tight()
    sim.state = state
    sim.control = control
    sim.step()
    return np.concatenate((sim.q, sim.v))


def test_differences():
    sim = tight()
    sim.control = [-1.0, 0.5]
    sim.step(60)
    start = sim.state
    sim.step()
    assert len(sim.contacts) > 0
    A, B = sim.linearize()
    assert A.shape == (4, 4) and B.shape == (4, 2)
    assert sim.linearize_report["notes"] == ""
    h = 1e-6
    for i in range(4):
        e = np.zeros(5)
        e[1 + i] = h
        found = (end(start + e, sim.control) - end(start - e, sim.control)) / (2 * h)
        assert A[:, i] == pytest.approx(found, rel=1e-6, abs=1e-6 * np.abs(A).max())
    for i in range(2):
        e = h * np.eye(2)[i]
        found = (end(start, sim.control + e) - end(start, sim.control - e)) / (2 * h)
        assert B[:, i] == pytest.approx(found, rel=1e-6, abs=1e-9)
    x = np.array([1.0, -2.0, 0.5, 0.25])
    back = sim.vjp(q=x[:2], v=x[2:])
    assert np.concatenate((back["q"], back["v"])) == pytest.approx(A.T @ x, rel=1e-12)
    assert back["control"] == pytest.approx(B.T @ x, rel=1e-12)
    rows = sim.vjp(q=np.eye(4)[:, :2], v=np.eye(4)[:, 2:])
    assert np.hstack([rows["q"], rows["v"]]) == pytest.approx(A, rel=1e-12, abs=1e-12 * np.abs(A).max())
    assert sim.vjp(v=x[2:])["q"] == pytest.approx(A[2:, :2].T @ x[2:], rel=1e-12)


def test_wrong_input():
    sim = sapstep.Simulation(SCENES / "falling_box.xml")
    with pytest.raises(sapstep.InputError, match="no step"):
        sim.linearize()
    sim.step()
    with pytest.raises(sapstep.InputError, match="shape"):
        sim.vjp(q=[1.0])
    with pytest.raises(sapstep.InputError):
        sim.vjp(v=np.full(6, np.nan))
    A, B = sim.linearize()
    assert A.shape == (12, 12) and B.shape == (12, 0)


def test_refused():
    sim = sapstep.Simulation.from_string(ARM, dt=0.004, solver="newton-ncp")
    sim.step(60)
    with pytest.raises(sapstep.Error, match="with rigid contacts"):
        sim.vjp()


def test_parameters_of_a_servo():
    """One hinge of inertia I with a position servo: (I + dt kd + dt^2 kp) v = dt kp (u - q0) + I v0."""
    scene = """<mujoco><option gravity="0 0 0"/><worldbody><body name="b"><joint name="a" axis="0 0 1"/><geom size=".1" mass="0"/>
    <inertial pos=".5 0 0" mass="1" diaginertia=".25 .25 .25"/></body></worldbody>
    <actuator><position name="p" joint="a" kp="{}" kv="{}"/></actuator></mujoco>"""
    dt, u, q0, v0 = 0.01, 0.4, 0.1, -0.2

    def exact(kp, kd, mass=1.0, own=0.25, arm=0.5):
        inertia = own + mass * arm * arm
        return (dt * kp * (u - q0) + inertia * v0) / (inertia + dt * kd + dt * dt * kp)

    sim = sapstep.Simulation.from_string(scene.format(30.0, 2.0), dt=dt)
    sim.q, sim.v, sim.control = [q0], [v0], [u]
    sim.step()
    assert np.isclose(sim.v[0], exact(30.0, 2.0), rtol=1e-12)
    found = sim.vjp(v=[1.0], parameters=[
        ("servo_stiffness", "p"), ("servo_damping", 0), ("mass", "b"), ("inertia_zz", 1), ("centre_x", 1)])["parameters"]
    h = 1e-4
    at = np.array([30.0, 2.0, 1.0, 0.25, 0.5])
    assert np.allclose(found, [(exact(*(at + e)) - exact(*(at - e))) / (2 * h) for e in h * np.eye(5)], rtol=1e-6)
    with pytest.raises(sapstep.InputError, match="servo_stiffness"):
        sim.vjp(v=[1.0], parameters=[("servo_stifness", 0)])
