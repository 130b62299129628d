"""Fairlead: simulate schedulers for shared, heterogeneous GPU clusters, and write your own.

    import fairlead
    run = fairlead.simulate("slides", trace="jobs.csv", policy="fairlead")
    run.summary["jct_avg_s"], run.jobs.to_pandas(), run.why("job-17")

Times are in seconds on the trace's clock, unless a name ends in another unit. Equal arguments give equal
runs, to the byte of their journals.
"""

from fairlead._checkpoint import checkpoint
from fairlead._core import Plan, Trace, View
from fairlead._errors import Error, InputError, RunError
from fairlead._run import Comparison, Run, bounds, compare, load, policies, replay, simulate, sweep, what_if
from fairlead._table import Table
from fairlead._trace import TraceLike, trace
from fairlead.policy import Policy
from fairlead import workloads
from fairlead._core import version as _version

__version__ = _version()
__all__ = ["Comparison", "Error", "InputError", "Plan", "Policy", "Run", "RunError", "Table", "Trace", "TraceLike",
           "View", "bounds", "checkpoint", "compare", "load", "policies", "replay", "simulate", "sweep", "trace", "what_if",
           "workloads"]
