# SPDX-License-Identifier: BSD-3-Clause
"""Gymnasium environments, held to its own checker."""

import warnings

import numpy as np
import pytest
from test_elements import ARM

gymnasium = pytest.importorskip("gymnasium")

import sapstep.gym  # noqa: E402


@pytest.fixture
def scene(tmp_path):
    (tmp_path / "arm.xml").write_text(ARM)
    return tmp_path / "arm.xml"


class Arm(sapstep.gym.Env):
    def reward(self, action):
        return -abs(self.simulation.joint("elbow").q - 1) - 0.01 * float(action @ action)

    def terminated(self):
        return self.simulation.joint("elbow").q > 0.5


def test_checker(scene):
    from gymnasium.utils.env_checker import check_env

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*infinity.*")  # velocities have no bounds
        warnings.filterwarnings("ignore", ".*not within the observation.*")
        warnings.filterwarnings("ignore", ".*normalized.*")  # controls have units
        warnings.filterwarnings("ignore", ".*spec.*")  # not made by gymnasium.make
        check_env(Arm(scene, substeps=3, noise=0.1), skip_render_check=True)


def test_episode(scene):
    env = Arm(scene, substeps=5, horizon=20, noise=0.1)
    first, _ = env.reset(seed=3)
    again, _ = env.reset(seed=3)
    assert np.array_equal(first, again) and not np.array_equal(first, env.reset()[0])
    assert env.action_space == gymnasium.spaces.Box(-2, 2, (1,), np.float64)
    env.reset(seed=3)
    t = env.simulation.t
    for k in range(20):
        observation, reward, terminated, truncated, _ = env.step(np.array([0.01]))
        assert truncated == (k == 19) and not terminated
    assert env.simulation.t - t == pytest.approx(20 * 5 * 0.002)
    assert observation.shape == env.observation_space.shape and reward < 0


def test_vector_equals_single_ones(scene):
    def make():
        return Arm(scene, substeps=10, horizon=15, noise=0.3)

    ours = sapstep.gym.VectorEnv(make, 4)
    single = gymnasium.vector.SyncVectorEnv([make] * 4, autoreset_mode=gymnasium.vector.AutoresetMode.NEXT_STEP)
    assert ours.observation_space == single.observation_space and ours.action_space == single.action_space
    assert np.array_equal(ours.reset(seed=5)[0], single.reset(seed=5)[0])
    rng, ended = np.random.default_rng(0), 0
    for _ in range(60):
        actions = rng.uniform(-2, 2, (4, 1))
        left, right = ours.step(actions), single.step(actions)
        for a, b in zip(left[:4], right[:4]):
            assert a.shape == b.shape and a.dtype == b.dtype and np.array_equal(a, b)
        ended += (left[2] | left[3]).sum()
    assert ended > 4 and left[2].dtype == bool
    ours.close()


def test_made_by_name(scene):
    env = gymnasium.make("sapstep.gym:sapstep/Scene-v0", scene=str(scene), horizon=2)
    assert env.reset(seed=1)[0].shape == env.observation_space.shape and not env.step(env.action_space.sample())[3]
    assert env.step(env.action_space.sample())[3]


def test_no_gymnasium(monkeypatch):
    import importlib
    import sys

    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "sapstep.gym")
    with pytest.raises(ImportError, match="pip install gymnasium"):
        importlib.import_module("sapstep.gym")
