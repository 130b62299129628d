"""A stand-in for JAX, of the parts that the hook touches: a compiled function runs its Python function once. Its devices
may only be asked for once a function has run, because real JAX takes GPUs for the answer."""

import sys
import types

bridge = sys.modules["jax._src.xla_bridge"] = types.SimpleNamespace(_backends={})


class Tracer(float):
    size, dtype = 1, types.SimpleNamespace(itemsize=4)

    def __add__(self, other):
        return Tracer(float(self) + float(other))


class PjitFunction:
    def __init__(self, function):
        self.function, self.result = function, None
        self.__name__ = function.__name__

    def __call__(self, *args):
        bridge._backends["cpu"] = "devices"
        if self.result is None:
            self.result = self.function(*[[Tracer(x) for x in arg] for arg in args])
        return [float(x) for x in self.result]

    def lower(self, *args):
        return "lowered"


def jit(function=None, static_argnums=()):
    return PjitFunction(function) if function else jit


def pmap(function):
    return PjitFunction(function)


def device_count():
    assert bridge._backends
    return 8


def process_index():
    assert bridge._backends
    return 0


core = types.SimpleNamespace(Tracer=Tracer)
tree_util = types.SimpleNamespace(tree_leaves=lambda tree: tree)
