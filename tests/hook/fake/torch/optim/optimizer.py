import os

hooks = []


class Optimizer:
    def __init__(self, params, lr=0.1):
        self.param_groups = [{"params": list(params)}]
        self.lr = lr
        self.made_steps = 0

    def zero_grad(self):
        pass


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
