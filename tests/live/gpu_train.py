"""Trains a small model on the GPU, beside a memory of its own: gpu_train.py GB STEPS.

Prints "ready", 40 losses, and a checksum of the memory. Every run with the same arguments prints the same bits, if
CUBLAS_WORKSPACE_CONFIG is ":4096:8"."""

import sys

import torch

LOSSES = 40
gb, steps = float(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(1)
torch.use_deterministic_algorithms(True)
memory = torch.empty(int(gb * 1e9 / 4), dtype=torch.int32, device="cuda").split(1 << 28)
for i, part in enumerate(memory):
    part.random_(generator=torch.Generator("cuda").manual_seed(i))
model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
print("ready", flush=True)
for step in range(steps):
    x = torch.randn(512, 1024, device="cuda")
    loss = (model(x) - x.roll(1, 1)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % (steps // LOSSES) == 0:
        print("loss", loss.item().hex(), flush=True)
print("sum", sum(int(part.sum(dtype=torch.int64)) for part in memory), flush=True)
