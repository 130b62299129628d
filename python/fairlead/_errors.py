"""What goes wrong, as exceptions."""

from fairlead import _core


class Error(Exception):
    """Anything that the library refuses, or that it could not finish."""


class InputError(Error, ValueError):
    """A cluster, trace, policy or setting that is not one; the message says where and what is right."""


class RunError(Error, RuntimeError):
    """A run that could not go on: a policy broke a rule or brought the jobs to a standstill, or the disk is full."""


_core.use_errors(InputError, RunError)
