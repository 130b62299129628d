#!/usr/bin/env python3
"""Tests of the trainer: it learns, it continues from a checkpoint to the bit, and ranks average."""

import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
HEADER = 8 + 8 + 8 + 8 + 8  # Position in trainer.cc
FOREVER = 10**9  # steps; the test ends it earlier


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


class Trainer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def start(self, checkpoint, *arguments, **environment):
        clean = {name: value for name, value in os.environ.items() if not name.startswith("FAIRLEAD_")}
        process = subprocess.Popen(
            [PROGRAM, "--checkpoint", self.folder / checkpoint, *map(str, arguments)], text=True,
            env=clean | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def gang(self, checkpoint, *arguments, size=2):
        where = {"WORLD_SIZE": str(size), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port())}
        return [self.start(checkpoint, *arguments, RANK=str(rank), **where) for rank in range(size)]

    def output(self, process, status=0):
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, status, err)
        return out

    def numbers(self, checkpoint):
        data = (self.folder / checkpoint).read_bytes()[HEADER:]
        return struct.unpack(f"{len(data) // 8}d", data)

    def step_of(self, checkpoint):
        return struct.unpack_from("Q", (self.folder / checkpoint).read_bytes(), 24)[0]

    def interrupt(self, processes):
        """Returns at the end of the third printed epoch."""
        lines = [processes[0].stdout.readline() for _ in range(3)]
        for process in processes:
            process.send_signal(signal.SIGTERM)
        return "".join(lines)

    def assert_same(self, one, other):
        self.assertEqual((self.folder / one).read_bytes(), (self.folder / other).read_bytes())

    def test_it_learns(self):
        out = self.output(self.start("a", "--steps", 3000))
        self.assertGreater(float(re.search(r"held-out accuracy ([\d.]+) %", out).group(1)), 90)

    def test_an_interrupted_run_ends_as_one_that_was_not(self):
        parts = self.start("parts", "--steps", FOREVER)
        out = self.interrupt([parts])
        out += self.output(parts, status=143)
        self.assertIn(f"interrupted: checkpoint at step {self.step_of('parts')}", out)
        steps = self.step_of("parts") + 200
        out += self.output(self.start("parts", "--steps", steps))
        self.assertIn(f"resumed at step {steps - 200}", out)
        whole = self.output(self.start("whole", "--steps", steps))
        self.assert_same("whole", "parts")
        self.assertEqual(re.findall("^epoch.*", whole, re.M), re.findall("^epoch.*", out, re.M))

    def test_a_killed_run_goes_on_from_its_last_checkpoint(self):
        killed = self.start("parts", "--steps", FOREVER, "--every", 50)
        self.assertEqual(len([killed.stdout.readline() for _ in range(3)]), 3)
        killed.kill()
        killed.communicate()
        steps = self.step_of("parts") + 70
        self.assertGreater(steps, 150)
        self.output(self.start("parts", "--steps", steps))
        self.output(self.start("whole", "--steps", steps))
        self.assert_same("whole", "parts")

    def test_two_ranks_are_one_with_the_doubled_batch(self):
        for process in self.gang("two", "--steps", 300, "--batch", 16):
            self.output(process)
        self.output(self.start("one", "--steps", 300, "--batch", 32))
        pairs = list(zip(self.numbers("two"), self.numbers("one"), strict=True))
        self.assertLess(max(abs(a - b) for a, b in pairs), 1e-9)

    def test_an_interrupted_gang_goes_on_to_the_bit(self):
        parts = self.gang("parts", "--steps", FOREVER)
        self.interrupt(parts)
        for process in parts:
            self.output(process, status=143)
        steps = self.step_of("parts") + 100
        for checkpoint in ("parts", "whole"):
            for process in self.gang(checkpoint, "--steps", steps):
                self.output(process)
        self.assert_same("whole", "parts")

    def test_a_gang_that_loses_a_member_stops(self):
        first, second, third = self.gang("a", "--steps", FOREVER, size=3)
        self.assertIn("epoch 1", first.stdout.readline())
        second.kill()
        for process in (first, third):
            self.assertIn("a member of the gang is gone", process.communicate(timeout=60)[1])
            self.assertEqual(process.returncode, 1)

    def test_it_says_how_far_it_is(self):
        file = self.folder / "progress"
        self.output(self.start("a", "--steps", 500, FAIRLEAD_PROGRESS=str(file)))
        lines = file.read_text().splitlines()
        self.assertEqual((lines[0], lines[-1]), ("0 500 steps", "500 500 steps"))

    def test_a_checkpoint_of_another_run_is_refused(self):
        self.output(self.start("a", "--steps", 10))
        other = self.start("a", "--steps", 10, "--seed", 2)
        self.assertIn("is not a checkpoint of this run", other.communicate(timeout=60)[1])
        self.assertEqual(other.returncode, 1)

    def test_emulated_gpus_of_a_tenth_of_the_speed_make_a_tenth_of_the_steps(self):
        out = self.output(self.start("a", "--steps", 100, "--step-ms", 1, FAIRLEAD_SPEED="0.1", FAIRLEAD_GPUS="2"))
        self.assertLess(float(re.search(r"(\d+) steps/s", out).group(1)), 230)  # 200, plus the leeway


if __name__ == "__main__":
    unittest.main()
