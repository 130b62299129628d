#!/usr/bin/env python3
"""Measures the hook's cost on a loop of steps of about 1 ms.

    cost.py [--torch fake|real|gpu] [--blocks N] [--work N]

Blocks of steps with and without the hook alternate in one process, so that other load on the machine meets both. Prints
the processor time of a step in each kind of block (the fastest tenth of blocks, which other load delays least), and the
time of a line, which is written once a second. `fake` is the stand-in of tests/hook/fake; `real` is the torch of this
Python. `gpu` is the real one on a GPU: a step trains a small model, and the time of a block ends when the GPU has
finished."""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
HOOK = HERE.parent.parent / "python" / "hook"
STEPS = 40  # in a block
LOOP = """
import statistics, time, torch, zlib
import torch.optim.optimizer as module
import fairlead_steps
{prepare}
kind = type(optimizer)
hooks = getattr(module, "_global_optimizer_post_hooks", None) or getattr(module, "hooks", None)
if hasattr(module, "register_optimizer_step_post_hook"):
    kept = hooks.copy()
    def switch(on):
        hooks.clear()
        if on:
            hooks.update(kept) if isinstance(hooks, dict) else hooks.extend(kept)
else:
    with_hook, without = kind.step, kind.step.__wrapped__
    def switch(on):
        kind.step = with_hook if on else without
def block(on):
    switch(on)
    start = {clock}()
    for step in range({steps}):
        {work}
        optimizer.step()
    {finish}
    return ({clock}() - start) / {steps} * 1e6
times = {{False: [], True: []}}
for i in range({blocks}):
    for on in ((False, True), (True, False))[i % 2]:
        times[on].append(block(on))
off, on = (statistics.quantiles(times[kind], n=10)[0] for kind in (False, True))
counter, lines = fairlead_steps.counter, 200
start = time.process_time()
for i in range(lines):
    counter._counts[id(optimizer)] += 1
    counter.report(time.monotonic())
line = (time.process_time() - start) / lines * 1e6
print(f"torch {{getattr(torch, '__version__', 'stand-in')}}: a step takes {{off:.2f}} us without and {{on:.2f}} us with the hook,"
      f" {{on - off:+.2f}} us ({{100 * (on / off - 1):+.3f}} %); a line once a second {{line:.0f}} us ({{line / 1e4:.4f}} %)")
"""


# A checksum allocates nothing, so its time does not depend on the hook.
ON_CPU = {
    "prepare": "optimizer, data = torch.optim.SGD(PARAMETERS), bytes(BYTES)",
    "clock": "time.process_time",
    "work": "zlib.crc32(data)",
    "finish": "",
}
ON_GPU = {
    "prepare": """
model = torch.nn.Sequential(*(torch.nn.Linear(1024, 1024) for layer in range(8))).cuda()
optimizer, data = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(512, 1024, device="cuda")
""",
    "clock": "time.perf_counter",
    "work": "optimizer.zero_grad(); model(data).square().mean().backward()",
    "finish": "torch.cuda.synchronize()",
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torch", choices=("fake", "real", "gpu"), default="fake")
    parser.add_argument("--blocks", type=int, default=80)
    parser.add_argument("--work", type=int, default=4_000_000, help="bytes of a checksum before a step")
    given = parser.parse_args()
    parameters = "[]" if given.torch == "fake" else "torch.nn.Linear(8, 8).parameters(), lr=0.1"
    path = [str(HOOK)] + ([str(HERE / "fake")] if given.torch == "fake" else [])
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "steps").touch()
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(path), "FAIRLEAD_PROGRESS": f"{folder}/progress",
                                    "OMP_NUM_THREADS": "1"}
        parts = ON_GPU if given.torch == "gpu" else ON_CPU
        prepare = parts["prepare"].replace("PARAMETERS", parameters).replace("BYTES", str(given.work))
        script = LOOP.format(**parts | {"prepare": prepare}, steps=STEPS, blocks=given.blocks)
        sys.exit(subprocess.run([sys.executable, "-c", script], env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
