"""Trains a small network on made-up examples. It saves its work on SIGTERM, and continues from there."""

import os
import signal
import sys

import torch

TOTAL = 10_000_000
checkpoint = sys.argv[1]
leaving = False


def leave(number, frame):
    global leaving
    leaving = True


signal.signal(signal.SIGTERM, leave)
torch.manual_seed(1)
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
start = 0
if os.path.exists(checkpoint):
    saved = torch.load(checkpoint)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    start = saved["step"]
for step in range(start, TOTAL):
    examples = torch.randn(16, 32)
    loss = (model(examples) - examples.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0 or step == start:
        print(f"step {step}/{TOTAL}: loss {loss.item():.4f}", flush=True)
    if leaving:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, checkpoint + ".part")
        os.replace(checkpoint + ".part", checkpoint)
        sys.exit(143)
