#!/usr/bin/env python3
"""Tests of the one-line checkpoint for PyTorch loops (python/fairlead/_checkpoint.py), in processes of their own: with
PyTorch if it is installed, otherwise with a stand-in."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import unittest

HERE = pathlib.Path(__file__).resolve().parent
HELPER = HERE.parent.parent / "python" / "fairlead" / "_checkpoint.py"
HAS_TORCH = importlib.util.find_spec("torch") is not None

SCRIPT = """
    import importlib.util, os, signal, sys
    spec = importlib.util.spec_from_file_location("fairlead_checkpoint", {helper!r})
    helper = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(helper)
    import torch

    torch.manual_seed(3)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 3, 0.5)
    start = helper.checkpoint(model, optimizer, "last.pt", scheduler=scheduler)
    for step in range(start, 12):
        if step == int(os.environ.get("ENDS_IN", -1)):
            os.kill(os.getpid(), signal.SIGTERM)
        if step % 4 == 0:  # a validation may come between two steps
            model.eval(); model(torch.rand(1, 4)); model.train()
        loss = model(torch.rand(2, 4)).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
    print(start, step + 1, scheduler.get_last_lr(), loss.item(), flush=True)
    """


class CheckpointTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, script=SCRIPT, **variables):
        names = ("RANK", "ENDS_IN", "PYTHONPATH")
        environment = {name: value for name, value in os.environ.items() if name not in names}
        path = "" if HAS_TORCH else str(HERE / "trains")
        environment |= {"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"} | variables
        return subprocess.Popen([sys.executable, "-c", textwrap.dedent(script.format(helper=str(HELPER)))],
                                env=environment, cwd=self.folder, stdout=subprocess.PIPE, text=True)

    def run_script(self, **variables):
        """Returns the exit status and the output."""
        process = self.start(**variables)
        output, _ = process.communicate(timeout=120)
        return process.returncode, output

    def test_a_loop_that_was_asked_to_end_twice_ends_as_one_that_was_not(self):
        whole = self.run_script()
        self.assertEqual(whole[0], 0)
        self.assertFalse((self.folder / "last.pt").exists())
        self.assertEqual(self.run_script(ENDS_IN="5"), (143, ""))
        self.assertEqual(self.run_script(ENDS_IN="9"), (143, ""))
        self.assertEqual(self.run_script(), (0, whole[1].replace("0", "10", 1)))

    def test_a_part_of_a_file_is_never_read(self):
        (self.folder / "last.pt.part").write_text("half of a")
        self.assertEqual(self.run_script()[1].split()[:2], ["0", "12"])

    def test_other_ranks_end_once_rank_0_has_saved(self):
        waits = SCRIPT.replace("for step in range(start, 12):", """os.kill(os.getpid(), signal.SIGTERM)
    print("asked", flush=True)
    import time
    while True:
        time.sleep(1)
    for step in range(start, 12):""")
        other = self.start(waits, RANK="1")
        self.addCleanup(other.stdout.close)
        self.addCleanup(other.kill)
        self.assertEqual(other.stdout.readline(), "asked\n")
        self.assertIsNone(other.poll())
        self.assertEqual(self.run_script(ENDS_IN="5"), (143, ""))
        self.assertEqual(other.wait(timeout=120), 143)


if __name__ == "__main__":
    unittest.main()
