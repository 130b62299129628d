"""A stand-in for torch, of the parts that the hook touches. FAKE_TORCH=1 is without hooks of its own, like 1.13."""

import types

from torch import optim, utils  # noqa: F401


class Tensor:
    def square(self):
        return self

    def mean(self):
        return self

    def backward(self):
        pass


class Parameter:
    """A tensor that is trained, of 32-bit numbers."""

    def __init__(self, numbers, has_gradient=True):
        self.numbers = numbers
        self.grad = Parameter(numbers, False) if has_gradient else None

    def numel(self):
        return self.numbers

    def element_size(self):
        return 4


class Linear:
    def __init__(self, *_):
        pass

    def parameters(self):
        return []

    def __call__(self, x):
        return x


def randn(*_):
    return Tensor()


cuda = types.SimpleNamespace(is_available=lambda: False)
nn = types.SimpleNamespace(Linear=Linear, Parameter=Parameter)
