import os

hooks = []


class Optimizer:
    def __init__(self, params):
        self.params = params
        self.made_steps = 0


if os.environ.get("FAKE_TORCH") != "1":

    def register_optimizer_step_post_hook(hook):
        hooks.append(hook)


class SGD(Optimizer):
    def step(self, closure=None):
        """Makes a step."""
        self.made_steps += 1
        for hook in hooks:
            hook(self, (), {})
        return "loss"


class Adam(SGD):
    def step(self, closure=None):
        return super().step(closure)
