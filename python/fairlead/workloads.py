"""Synthetic workloads."""

from __future__ import annotations

from fairlead import _core

__all__ = ["generate"]


def generate(jobs: int = 1000, *, seed: int = 1, capacity_gpus: int = 64, load: float = 0.9, users: int = 10,
             duration_scale: float = 1.0) -> _core.Trace:
    """Returns jobs that arrive as a Poisson process with a daily cycle, with gangs and durations as in Microsoft's Philly
    cluster, for `users` of unequal activity. `load`: requested GPU time, as a fraction of the time of `capacity_gpus` GPUs.
    Equal arguments give equal jobs. Raises InputError if an argument is out of its range."""
    return _core.generate(jobs, seed, capacity_gpus, load, users, duration_scale)
