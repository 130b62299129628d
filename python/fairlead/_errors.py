"""The exceptions of the package."""

from fairlead import _core


class Error(Exception):
    """Base class: an input was rejected, or a run could not finish."""


class InputError(Error, ValueError):
    """A wrong cluster, trace, policy or setting; the message states the place and the remedy."""


class RunError(Error, RuntimeError):
    """A run could not continue: a policy broke a rule or brought the jobs to a standstill, or the disk is full."""


_core.use_errors(InputError, RunError)
