"""A Gymnasium environment: an agent chooses the waiting job that runs next (pip install fairlead[gym]).

At each decision with idle GPUs and waiting jobs, the agent sees the first `slots` of these jobs by arrival, and the number of
free GPUs. A job is its requested GPUs, hours waited and GPU-hours received. The action is the index of the job to place, or
`slots` for none of them. The reward is minus the hours that jobs were present since the last action, so the sum of rewards is
minus the sum of completion times."""

from __future__ import annotations

import queue
import threading
from typing import Any

import gymnasium
import numpy as np

import fairlead
from fairlead._trace import TraceLike


class _Left(Exception):
    """The environment was reset or closed in the middle of a run."""


class _Asking(fairlead.Policy):
    """Passes each question to the environment, and waits for its action."""

    name = "agent"

    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.questions: queue.Queue[Any] = queue.Queue()
        self.actions: queue.Queue[int | None] = queue.Queue()
        self.job_hours = 0.0
        self.last_s = 0.0
        self.here = 0

    def decide(self, view: fairlead.View, plan: fairlead.Plan) -> None:
        self.job_hours += self.here * (view.now_s - self.last_s) / 3600
        self.last_s = view.now_s
        passed: set[int] = set()
        while plan.free_gpus > 0:
            left = [job for job in view.waiting.tolist() if not plan.has_gang(job) and job not in passed]
            left.sort(key=lambda job: (view.arrival_ms[job], job))
            left = left[:self.slots]
            if not left:
                break
            seen = np.zeros((self.slots, 3), dtype=np.float32)
            for i, job in enumerate(left):
                seen[i] = (view.gpus[job], view.now_s / 3600 - view.arrival_ms[job] / 3.6e6, view.attained_gpu_s(job) / 3600)
            self.questions.put((np.append(seen.ravel(), np.float32(plan.free_gpus)), self.job_hours))
            self.job_hours = 0.0
            action = self.actions.get()
            if action is None:
                raise _Left
            if action >= len(left):
                break
            if not plan.place(left[action]):
                passed.add(left[action])
        self.here = len(view.waiting) + len(view.running)


class SchedulingEnv(gymnasium.Env[np.ndarray, int]):
    """One episode is one run. Further arguments are as for fairlead.simulate()."""

    def __init__(self, cluster: str, trace: TraceLike, slots: int = 16, **arguments: Any) -> None:
        self._cluster, self._trace, self._arguments = cluster, fairlead.trace(trace), arguments
        self.action_space = gymnasium.spaces.Discrete(slots + 1)  # type: ignore[assignment]
        self.observation_space = gymnasium.spaces.Box(0, np.inf, (3 * slots + 1,), np.float32)
        self._slots = slots
        self._thread: threading.Thread | None = None
        self._policy = _Asking(slots)
        self._seen = np.zeros(3 * slots + 1, dtype=np.float32)
        self.run: fairlead.Run | None = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict[str, Any]]:
        super().reset(seed=seed)
        self.close()
        self._policy = _Asking(self._slots)
        self._thread = threading.Thread(target=self._simulate, args=(self._policy,), daemon=True)
        self._thread.start()
        observation, _, _, _, info = self._next()
        return observation, info

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        self._policy.actions.put(int(action))
        return self._next()

    def close(self) -> None:
        if self._thread is not None and self._thread.is_alive():
            self._policy.actions.put(None)
            self._thread.join()
        self._thread = None

    def _simulate(self, policy: _Asking) -> None:
        try:
            policy.questions.put(fairlead.simulate(self._cluster, self._trace, policy, **self._arguments))
        except _Left:
            pass
        except Exception as error:
            policy.questions.put(error)

    def _next(self) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        question = self._policy.questions.get()
        if isinstance(question, Exception):
            raise question
        if isinstance(question, fairlead.Run):
            self.run = question
            return self._seen, -self._policy.job_hours, True, False, {"run": question}
        self._seen, job_hours = question
        return self._seen, -job_hours, False, False, {}
