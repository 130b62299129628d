"""Policies of one's own.

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
    """A scheduling policy: decide() is called at each instant at which something happens, and edits the plan.

    A policy is used for one run; what it keeps between calls it keeps itself. Doing nothing is correct. An exception
    ends the run and is raised by simulate(), with its line; so is a broken rule of the plan, at the line that broke it.
    """

    #: As journals and summaries name it.
    name: str = "python"
    #: What it was made with, as text, for journals and summaries.
    options: str = ""
    #: Whether view.speed() is asked: how fast jobs would be on each GPU type.
    needs_speeds: bool = False
    #: Whether view.remaining_s() is asked: work that jobs have left.
    needs_work: bool = False

    def decide(self, view: View, plan: Plan) -> None:
        """What is to be done now. View and plan are good for this call only."""
        raise NotImplementedError(f"{type(self).__name__} has no decide(view, plan)")
