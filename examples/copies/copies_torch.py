"""Trains a PyTorch module as copies that `fairlead submit --copies` runs (docs/copies.md).

    train_as_copies(module, total_steps, train_step, at_end)

train_step(n) makes step n of the whole job, backward and optimizer included; at_end() is called on one copy with the
module as it is when all steps are made. Parameters and floating-point buffers are exchanged; the optimizer's own state
stays with each copy, and is lost with it."""

import os
import pathlib
import sys

import torch


def tensors(module):
    return [*module.parameters(), *(b for b in module.buffers() if b.is_floating_point())]


def load(module, file):
    flat = torch.from_file(str(file), size=file.stat().st_size // 4, dtype=torch.float32)
    with torch.no_grad():
        for tensor, part in zip(tensors(module), flat.split([t.numel() for t in tensors(module)])):
            tensor.copy_(part.view_as(tensor))


def save(module, file):
    flat = torch.cat([t.detach().float().flatten().cpu() for t in tensors(module)])
    file.write_bytes(flat.numpy().tobytes())


def train_as_copies(module, total_steps, train_step, at_end=lambda: None):
    folder = pathlib.Path(os.environ["FAIRLEAD_COPIES_FOLDER"])

    def say(text):
        with open(os.environ["FAIRLEAD_ANSWERS"], "w") as answers:
            answers.write(f"{text}\n")

    say(f"total {total_steps}")
    for line in iter(sys.stdin.readline, ""):
        word, *rest = line.split()
        if word == "end":
            load(module, folder / rest[0])
            at_end()
            continue
        steps, done, begin, end = int(rest[0]), int(rest[1]), rest[2], rest[3]
        if begin != "-":
            load(module, folder / begin)
        for step in range(done, done + steps):
            train_step(step)
        save(module, folder / end)
        say(f"made {steps}")
