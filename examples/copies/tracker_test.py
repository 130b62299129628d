#!/usr/bin/env python3
"""Tests of the tracker: steps add up exactly, whatever is killed at any time, and parameters match its rounds."""

import csv
import json
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)

# A trainer with one parameter, to which each step adds 1.
TRAINER = r"""
import os, random, signal, struct, sys
folder = os.environ["FAIRLEAD_COPIES_FOLDER"] + "/"
def say(text):
    with open(os.environ["FAIRLEAD_ANSWERS"], "w") as answers:
        answers.write(text + "\n")
interrupted = []
signal.signal(signal.SIGTERM, lambda *_: interrupted.append(True))
chance = random.Random(os.getpid())
say("total " + sys.argv[1])
for line in iter(sys.stdin.readline, ""):
    word, *rest = line.split()
    if word == "end":
        print("end", struct.unpack("f", open(folder + rest[0], "rb").read())[0], flush=True)
        continue
    steps, done, begin, end = int(rest[0]), int(rest[1]), rest[2], rest[3]
    value = 0.0 if begin == "-" else struct.unpack("f", open(folder + begin, "rb").read())[0]
    if steps and chance.random() < float(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)
    made = 0
    if steps:
        print("order", flush=True)
    while made < steps and not interrupted:
        if len(sys.argv) > 3:
            signal.pause()
        else:
            made += 1
    if interrupted and steps:
        made = 1
    open(folder + end, "wb").write(struct.pack("f", value + made))
    say(f"made {made}")
"""


def places(*speeds):
    return json.dumps([{"gpus": [str(i)], "gpu_type": f"T{i}", "speed": speed} for i, speed in enumerate(speeds)])


class Tracker(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "trainer.py").write_text(TRAINER)

    def start(self, *trainer, copies=places(1, 0.5, 0.2), flags=("--plain", "--round-steps", "20")):
        process = subprocess.Popen(
            [PROGRAM, "tracker", "--folder", self.folder / "job", *flags, "--", *trainer], text=True,
            env=os.environ | {"FAIRLEAD_COPIES": copies, "FAIRLEAD_PROGRESS": str(self.folder / "progress")},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def start_counting(self, steps, loss=0.0, *more, **settings):
        return self.start(sys.executable, self.folder / "trainer.py", str(steps), str(loss), *more, **settings)

    def output(self, process, status=0):
        out, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, out)
        return out

    def rounds(self):
        with open(self.folder / "job" / "rounds.csv") as file:
            return list(csv.DictReader(file))

    def check_sums(self, total):
        """Checks that the rounds have all steps once, and that the parameters match them."""
        rows, done, value, by_round = self.rounds(), 0, 0.0, {}
        for row in rows:
            done += int(row["steps"])
            self.assertEqual(int(row["done"]), done)
            by_round.setdefault(int(row["round"]), []).append(int(row["steps"]))
        self.assertEqual(done, total)
        self.assertEqual(list(by_round), list(range(len(by_round))))
        for steps in by_round.values():
            value += sum(s * s for s in steps) / sum(steps)
        result, = struct.unpack("f", (self.folder / "job" / "parameters.f32").read_bytes())
        self.assertAlmostEqual(result, value, delta=1e-3 * value)

    def test_steps_go_by_speed_and_add_up(self):
        out = self.output(self.start_counting(1000))
        self.check_sums(1000)
        first = [int(row["steps"]) for row in self.rounds() if row["round"] == "0"]
        self.assertEqual(sum(first), 20)
        self.assertEqual(first, sorted(first, reverse=True))
        self.assertIn("tracker: done: step 1000", out)
        self.assertEqual((self.folder / "progress").read_text().splitlines()[-1], "1000 1000 steps")

    def test_one_copy_alone_makes_all_steps(self):
        self.assertIn("end 130.0", self.output(self.start_counting(130, copies=places(1))))
        self.check_sums(130)

    def test_momentum_carries_on_over_a_kill(self):
        straight = self.output(self.start_counting(400, copies=places(1), flags=("--round-steps", "20")))
        end = [line for line in straight.splitlines() if line.startswith("end")]
        for file in (self.folder / "job").iterdir():
            file.unlink()
        for _ in range(3):
            process = self.start_counting(400, copies=places(1), flags=("--round-steps", "20"))
            for line in process.stdout:
                if line.startswith("order"):
                    break
            process.kill()
            process.wait()
        again = self.output(self.start_counting(400, copies=places(1), flags=("--round-steps", "20")))
        self.assertEqual([line for line in again.splitlines() if line.startswith("end")], end)

    def test_steps_of_lost_copies_are_made_again(self):
        out = self.output(self.start_counting(2000, 0.05))
        self.assertIn("steps are made again", out)
        self.check_sums(2000)

    def test_steps_add_up_though_tracker_and_copies_are_killed(self):
        chance = random.Random(1)
        for _ in range(25):
            process = self.start_counting(3000, 0.02)
            for _ in range(chance.randrange(1, 12)):
                if not process.stdout.readline():
                    break
            process.kill()
            process.wait()
        self.output(self.start_counting(3000, 0.02))
        self.check_sums(3000)

    def test_an_interrupted_job_keeps_what_copies_have_made_and_goes_on_elsewhere(self):
        process = self.start_counting(100, 0.0, "pause")
        for line in process.stdout:
            if line.startswith("order"):
                break
        process.send_signal(signal.SIGTERM)
        self.assertIn("tracker: interrupted: checkpoint at step ", self.output(process, 143))
        kept = sum(int(row["steps"]) for row in self.rounds())
        self.assertGreater(kept, 0)
        self.assertLess(kept, 20)
        self.output(self.start_counting(100, copies=places(1, 1)))
        self.check_sums(100)

    def test_copies_that_never_train_are_given_up(self):
        out = self.output(self.start("sh", "-c", "exit 7"), 7)
        self.assertEqual(out.count("has ended with exit code 7"), 9)
        self.assertEqual(out.count("it is not started again"), 3)
        self.assertIn("no copy trains", out)

    def test_what_is_no_answer_loses_the_copy(self):
        say = 'echo "total 100" >"$FAIRLEAD_ANSWERS"; read order; echo "made lots" >"$FAIRLEAD_ANSWERS"; read order'
        out = self.output(self.start("sh", "-c", say), 1)
        self.assertIn('expected "made STEPS", got: made lots', out)

    def test_copies_agree_on_how_many_steps_there_are(self):
        out = self.output(self.start("sh", "-c", 'echo "total 10$FAIRLEAD_COPY" >"$FAIRLEAD_ANSWERS"; read order'), 1)
        self.assertIn("got: total 10", out)

    def test_one_that_is_not_there_is_an_error(self):
        out = self.output(self.start("/no/such/trainer"), 1)
        self.assertIn("/no/such/trainer: No such file or directory", out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
