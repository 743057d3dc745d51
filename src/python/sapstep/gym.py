# SPDX-License-Identifier: BSD-3-Clause
"""Gymnasium environments made of scenes.

    import sapstep.gym

    class Hopper(sapstep.gym.Env):
        def reward(self, action):
            return self.simulation.body("torso").velocity[0]

        def terminated(self):
            return self.simulation.body("torso").position[2] < 0.3

    env = Hopper("hopper.xml", substeps=4, horizon=1000)
    envs = sapstep.gym.VectorEnv(lambda: Hopper("hopper.xml", substeps=4, horizon=1000), 64)

Actions are the controls, observations [q, v, act] unless ``observation`` is overridden. Without a class of
one's own: ``gymnasium.make("sapstep.gym:sapstep/Scene-v0", scene="hopper.xml")``, whose reward is 0.
"""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Optional, Tuple

try:
    import gymnasium
except ImportError:
    raise ImportError("sapstep.gym needs gymnasium: pip install gymnasium") from None
import numpy as np
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from ._library import count_of, number
from .batch import step_all
from .simulation import Simulation


class Env(gymnasium.Env):  # type: ignore[misc, unused-ignore]
    """One simulation. Derive from it and define ``reward`` and ``terminated``.

    scene, and keywords that are not below: of :class:`sapstep.Simulation`; substeps: steps for each action;
    horizon: actions until an episode is truncated (None: never); noise: standard deviation of the velocities
    [m/s, rad/s] at a reset.
    """

    metadata: Dict[str, Any] = {"render_modes": []}

    def __init__(self, scene: Any, *, substeps: int = 1, horizon: Optional[int] = 1000, noise: float = 0.0,
                 **options: Any) -> None:
        self.simulation = Simulation(scene, **options)
        self.render_mode = None
        self._keyframe = options.get("keyframe")
        self._substeps = count_of(substeps, "substeps", 1)
        self._horizon = None if horizon is None else count_of(horizon, "horizon", 1)
        self._noise, self._actions = number(noise, "noise"), 0
        ranges = [self.simulation.actuator(i).control_range for i in range(self.simulation.nu)]
        low, high = np.array(ranges).reshape(-1, 2).T
        self.action_space = gymnasium.spaces.Box(low, high, dtype=np.float64)
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, self.observation().shape, dtype=np.float64)

    def observation(self) -> NDArray[np.float64]:
        """Returns what the agent sees, [q, v, act] unless overridden."""
        return self.simulation.state[1:]

    def reward(self, action: NDArray[np.float64]) -> float:
        """Returns the reward of the state after an action."""
        return 0.0

    def terminated(self) -> bool:
        """Returns True if the episode has ended in this state."""
        return False

    def reset(self, *, seed: Optional[int] = None,
              options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Dict[str, Any]]:
        """Begins an episode; returns observation and info."""
        super().reset(seed=seed)
        self.simulation.reset(self._keyframe)
        self.simulation.v += self._noise * self.np_random.standard_normal(self.simulation.nv)
        self._actions = 0
        return self.observation(), {}

    def step(self, action: NDArray[np.float64]) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        """Applies controls for `substeps` steps; returns observation, reward, terminated, truncated, info."""
        self.simulation.control = action
        self.simulation.step(self._substeps)
        return self._result(action)

    def _result(self, action: NDArray[np.float64]) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        self._actions += 1
        truncated = self._horizon is not None and self._actions >= self._horizon
        return self.observation(), float(self.reward(action)), bool(self.terminated()), truncated, {}


class VectorEnv(gymnasium.vector.VectorEnv):  # type: ignore[misc, unused-ignore]
    """`count` environments, stepped in one call by threads (default: all cores). An episode that has ended
    begins again at the next step, whose action is ignored (autoreset mode NEXT_STEP)."""

    metadata: Dict[str, Any] = {"autoreset_mode": gymnasium.vector.AutoresetMode.NEXT_STEP, "render_modes": []}

    def __init__(self, make: Callable[[], Env], count: int, threads: Optional[int] = None) -> None:
        self.envs: List[Env] = [make() for _ in range(count_of(count, "count", 1))]
        if any(env._substeps != self.envs[0]._substeps for env in self.envs):
            raise ValueError("all environments must have the same substeps")
        self.num_envs, self._threads = len(self.envs), threads
        self.single_action_space = self.envs[0].action_space
        self.single_observation_space = self.envs[0].observation_space
        self.action_space = batch_space(self.single_action_space, self.num_envs)
        self.observation_space = batch_space(self.single_observation_space, self.num_envs)
        self._ended = np.zeros(self.num_envs, dtype=bool)

    def reset(self, *, seed: Any = None, options: Optional[Dict[str, Any]] = None) -> Tuple[Any, Dict[str, Any]]:
        """Begins an episode of each; seed: one for all, which counts up, or a list."""
        seeds = [None if seed is None else seed + i for i in range(self.num_envs)] if np.ndim(seed) == 0 else seed
        self._ended[:] = False
        return np.stack([env.reset(seed=s)[0] for env, s in zip(self.envs, seeds)]), {}

    def step(self, actions: NDArray[np.float64]) -> Tuple[Any, Any, Any, Any, Dict[str, Any]]:
        """Steps all; returns arrays of observations, rewards, terminated, truncated, and info."""
        going = [i for i in range(self.num_envs) if not self._ended[i]]
        for i in going:
            self.envs[i].simulation.control = actions[i]
        step_all([self.envs[i].simulation for i in going], self.envs[0]._substeps, self._threads)
        results = [(env.reset()[0], 0.0, False, False) if ended else env._result(action)[:4]
                   for env, ended, action in zip(self.envs, self._ended, actions)]
        observations, rewards, terminated, truncated = (np.array(column) for column in zip(*results))
        self._ended = terminated | truncated
        return observations, rewards, terminated, truncated, {}


gymnasium.register("sapstep/Scene-v0", entry_point="sapstep.gym:Env")
