from torch.optim.optimizer import SGD, Adam, Optimizer  # noqa: F401
