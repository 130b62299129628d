"""User-defined policies.

    class ShortestQueue(fairlead.Policy):
        name = "smallest-first"

        def decide(self, view, plan):
            for job in sorted(view.waiting, key=lambda job: view.gpus[job]):
                plan.place(job)
"""

from __future__ import annotations

from fairlead._core import Plan, View

__all__ = ["Plan", "Policy", "View"]


class Policy:
    """A scheduling policy: decide() is called at each instant with events, and edits the plan.

    A policy is used for one run; it keeps its own state between calls. Doing nothing is correct. An exception
    ends the run and is raised by simulate(), with its line. A broken rule of the plan raises at the line that broke it.
    """

    #: Its name in journals and summaries.
    name: str = "python"
    #: Its options as text, for journals and summaries.
    options: str = ""
    #: Whether the policy calls view.speed(): the speed of jobs on each GPU type.
    needs_speeds: bool = False
    #: Whether the policy calls view.remaining_s(): the remaining work of jobs.
    needs_work: bool = False

    def decide(self, view: View, plan: Plan) -> None:
        """Edits the plan for this instant. View and plan are valid only during this call."""
        raise NotImplementedError(f"{type(self).__name__} has no decide(view, plan)")
