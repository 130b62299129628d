"""A stand-in for PyTorch 1.13 that trains one weight, for machines without it."""

import pickle
import random
import types

_random = random.Random()
cuda = types.SimpleNamespace(is_available=lambda: False)


def manual_seed(seed):
    _random.seed(seed)


def get_rng_state():
    return _random.getstate()


def set_rng_state(state):
    _random.setstate(state)


def rand(*_):
    return _random.random()


def save(state, file):
    pickle.dump(state, file)


def load(path, map_location=None):
    with open(path, "rb") as file:
        return pickle.load(file)


class Loss:
    def __init__(self, model, value):
        self._model, self._value = model, value

    def sum(self):
        return self

    def backward(self):
        self._model.gradient = self._value

    def item(self):
        return self._value


class Linear:
    def __init__(self, *_):
        self.weight, self.gradient, self.training, self._hooks = rand(), 0.0, True, []

    def parameters(self):
        return [self]

    def register_forward_pre_hook(self, hook):
        self._hooks.append(hook)

    def __call__(self, example):
        for hook in self._hooks:
            hook(self, (example,))
        return Loss(self, self.weight * example)

    def train(self):
        self.training = True

    def eval(self):
        self.training = False

    def state_dict(self):
        return {"weight": self.weight}

    def load_state_dict(self, state):
        self.weight = state["weight"]


class SGD:
    def __init__(self, parameters, lr, momentum):
        self.model, self.lr, self.momentum, self.velocity = parameters[0], lr, momentum, 0.0

    def zero_grad(self):
        self.model.gradient = 0.0

    def step(self):
        self.velocity = self.momentum * self.velocity + self.model.gradient
        self.model.weight -= self.lr * self.velocity

    def state_dict(self):
        return {"lr": self.lr, "velocity": self.velocity}

    def load_state_dict(self, state):
        vars(self).update(state)


class StepLR:
    def __init__(self, optimizer, every, factor):
        self.optimizer, self.every, self.factor, self.steps = optimizer, every, factor, 0

    def step(self):
        self.steps += 1
        self.optimizer.lr *= self.factor if self.steps % self.every == 0 else 1

    def get_last_lr(self):
        return [self.optimizer.lr]

    def state_dict(self):
        return {"steps": self.steps}

    def load_state_dict(self, state):
        vars(self).update(state)


nn = types.SimpleNamespace(Linear=Linear)
optim = types.SimpleNamespace(SGD=SGD, lr_scheduler=types.SimpleNamespace(StepLR=StepLR))
