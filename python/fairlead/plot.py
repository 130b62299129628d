"""Figures of runs by matplotlib: `pip install fairlead[plot]`.

    fairlead.plot.cdf(comparison, "queue_s")
    fairlead.plot.shares(run)

Each function draws on `axes` (default: new ones) and returns them.
"""

from __future__ import annotations

from typing import Any, Mapping

import matplotlib.pyplot
import numpy as np
from matplotlib.axes import Axes

from fairlead._errors import InputError
from fairlead._run import Run

_LABELS = {"jct_s": "job completion time", "queue_s": "time without GPUs"}


def cdf(runs: Run | Mapping[str, Run], column: str = "jct_s", axes: Axes | None = None) -> Axes:
    """Draws the fraction of finished jobs up to a job completion time ("jct_s") or time without GPUs ("queue_s"), in
    hours, for each run of a Comparison or dict."""
    if column not in _LABELS:
        raise InputError(f"column: expected {' or '.join(_LABELS)}, got {column!r}")
    drawn = _axes(axes)
    for label, run in ({"": runs} if isinstance(runs, Run) else runs).items():
        finished = ~np.isnan(run.jobs["jct_s"])
        hours = np.sort(run.jobs[column][finished]) / 3600
        drawn.step(hours, np.arange(1, len(hours) + 1) / max(1, len(hours)), where="post", label=label)
    drawn.set_xlabel(f"{_LABELS[column]}, hours")
    drawn.set_ylabel("fraction of jobs")
    drawn.set_ylim(0, 1)
    if not isinstance(runs, Run):
        drawn.legend()
    return drawn


def shares(run: Run, users: int = 8, axes: Axes | None = None) -> Axes:
    """Draws the GPUs that each user holds over time, in hours, stacked: the users with most GPU time, then all others."""
    drawn = _axes(axes)
    table = run.timeline
    times, column = np.unique(table["t_s"], return_inverse=True)
    held: dict[str, Any] = {}
    for row, user in enumerate(table["user"]):
        held.setdefault(user, np.zeros(len(times)))[column[row]] = table["gpus_held"][row]
    order = sorted(held, key=lambda user: float(held[user].sum()), reverse=True)
    bands = [(user, held[user]) for user in order[:users]]
    if len(order) > users:
        bands.append((f"{len(order) - users} others", np.sum([held[user] for user in order[users:]], axis=0)))
    drawn.stackplot(times / 3600, *[gpus for _, gpus in bands], labels=[user for user, _ in bands], step="post")
    drawn.set_xlabel("time, hours")
    drawn.set_ylabel("GPUs held")
    drawn.legend(loc="upper left")
    return drawn


def _axes(axes: Axes | None) -> Axes:
    return matplotlib.pyplot.subplots()[1] if axes is None else axes
