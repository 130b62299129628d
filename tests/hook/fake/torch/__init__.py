"""A stand-in for torch, of the parts that the hook touches. FAKE_TORCH=1 is without hooks of its own, like 1.13."""

import types

from torch import optim  # noqa: F401

cuda = types.SimpleNamespace(is_available=lambda: False)
