#!/usr/bin/env python3
"""Tests of the tracker: steps add up exactly, whatever is killed at any time, and parameters match its rounds."""

import csv
import json
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)
KILLS = int(os.environ.get("FAIRLEAD_KILLS", "20"))

# A trainer with one parameter, to which each step adds 1.
TRAINER = r"""
import os, random, signal, struct, sys
folder = os.environ["FAIRLEAD_COPIES_FOLDER"] + "/"
def say(text):
    with open(os.environ["FAIRLEAD_ANSWERS"], "w") as answers:
        answers.write(text + "\n")
interrupted = []
signal.signal(signal.SIGTERM, lambda *_: interrupted.append(True))
def hang():
    print("hangs", flush=True)
    while not interrupted:
        signal.pause()
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
    if begin == "-" and "hang" in sys.argv or done >= 100 and "tire" in sys.argv:
        hang()
    if steps:
        print("order", flush=True)
    while made < steps and not interrupted:
        if "pause" in sys.argv:
            hang()
        else:
            made += 1
    if interrupted and steps:
        made = 1
    open(folder + end, "wb").write(struct.pack("f", value + made))
    say(f"made {made}")
"""


def places(*speeds):
    return json.dumps([{"gpus": [str(i)], "gpu_type": f"T{i}", "speed": speed} for i, speed in enumerate(speeds)])


class Fixture(unittest.TestCase):
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


class Tracker(Fixture):
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


class Remote(Fixture):
    """Copies whose tracker is elsewhere."""

    def setUp(self):
        super().setUp()
        (self.folder / "token").write_text("secret\n")
        self.port = None

    def run_tracker(self, *flags):
        """Starts a tracker, at the port of the one before."""
        process = subprocess.Popen(
            [PROGRAM, "tracker", "--folder", self.folder / "job", "--plain", "--round-steps", "20", "--listen",
             f"127.0.0.1:{self.port or 0}", "--token-file", self.folder / "token", *flags],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        first = process.stdout.readline()
        self.assertIn("waits for copies at port", first)
        self.port = int(first.split()[-1])
        return process

    def run_copy(self, *trainer, speed=1.0, flags=(), at=None, prefix=(), token="token", output=subprocess.PIPE):
        process = subprocess.Popen(
            [*prefix, PROGRAM, "copy", "--tracker", at or f"127.0.0.1:{self.port}", "--token-file", self.folder / token,
             "--speed", str(speed), "--gpu-type", f"T{speed}", *flags, "--", sys.executable, self.folder / "trainer.py", *trainer],
            text=True, stdout=output, stderr=subprocess.STDOUT)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def test_copies_of_other_machines_train_as_those_of_this_one(self):
        tracker = self.run_tracker()
        copies = [self.run_copy("2000", "0", speed=speed) for speed in (1.0, 0.5, 0.2)]
        self.assertIn("tracker: done: step 2000", self.output(tracker))
        ends = [self.output(copy) for copy in copies]
        self.assertEqual(sum("end " in end for end in ends), 1)
        self.check_sums(2000)

    def test_steps_add_up_though_trackers_copies_and_trainers_are_killed(self):
        chance = random.Random(2)
        copies = []
        tracker = self.run_tracker()
        for kill in range(KILLS):
            copies = [copy for copy in copies if copy.poll() is None]
            while len(copies) < 3:
                copies.append(self.run_copy("100000", "0.02", speed=chance.choice((1.0, 0.5)), output=subprocess.DEVNULL))
            for _ in range(chance.randrange(1, 4)):  # some rounds, or copies that come
                if not tracker.stdout.readline():
                    break
            if kill % 5 == 4:
                tracker.kill()
                tracker.wait()
                tracker = self.run_tracker()
            else:
                chance.choice(copies).kill()
        rows = self.rounds()
        done = int(rows[-1]["done"])
        self.assertEqual(sum(int(row["steps"]) for row in rows), done)
        self.assertGreater(done, 0)
        tracker.send_signal(signal.SIGTERM)
        self.assertIn("tracker: interrupted: checkpoint at step ", self.output(tracker, 143))

    def test_a_hung_trainer_is_left_out(self):
        tracker = self.run_tracker()
        lines = iter(tracker.stdout.readline, "")
        self.run_copy("1000000", "0", output=subprocess.DEVNULL)
        self.assertTrue(any("has come" in line for line in lines))
        self.run_copy("1000000", "0", "pause", output=subprocess.DEVNULL)
        self.assertTrue(any("has made no answer for" in line for line in lines))
        tracker.send_signal(signal.SIGTERM)
        self.output(tracker, 143)
        rows = self.rounds()
        self.assertEqual(sum(int(row["steps"]) for row in rows), int(rows[-1]["done"]))

    def check_newcomer(self, *trainer, flags=(), done=0):
        """Checks that a copy that comes later makes the steps of one that hangs alone."""
        tracker = self.run_tracker(*flags)
        lines = iter(tracker.stdout.readline, "")
        self.assertIn("hangs\n", self.run_copy("1000", "0", *trainer).stdout)
        newcomer = self.run_copy("1000", "0", speed=0.5)
        self.assertTrue(any("has made no answer for" in line for line in lines))
        self.output(tracker)
        self.assertIn("end ", self.output(newcomer))
        self.check_sums(1000)
        self.assertEqual(sum(int(row["steps"]) for row in self.rounds() if row["gpu_type"] == "T1.0"), done)

    def test_a_newcomer_makes_the_steps_of_a_copy_that_hangs_alone(self):
        self.check_newcomer("pause", flags=("--patience", "0.01"))

    def test_a_newcomer_begins_in_place_of_a_copy_that_hangs_in_the_first_order(self):
        self.check_newcomer("hang", flags=("--patience", "0.01"))

    def test_a_newcomer_goes_on_after_a_copy_that_hangs_in_a_later_round(self):
        self.check_newcomer("tire", done=100)

    def test_an_interrupted_copy_leaves_with_what_it_has_made(self):
        tracker = self.run_tracker()
        copy = self.run_copy("100", "0", "pause")
        for line in copy.stdout:
            if line.startswith("order"):
                break
        copy.send_signal(signal.SIGTERM)
        self.output(copy, 143)
        self.run_copy("100", "0")
        self.output(tracker)
        self.check_sums(100)
        self.assertEqual(self.rounds()[0]["steps"], "1")

    def test_a_copy_without_the_token_is_refused(self):
        tracker = self.run_tracker()
        (self.folder / "other").write_text("guess")
        copy = self.run_copy("100", "0", token="other")
        self.assertIn("the tracker refuses the copy: the token is another one", self.output(copy, 2))
        self.run_copy("100", "0")
        self.output(tracker)

    def test_a_trainer_that_never_trains_ends_its_copy(self):
        self.run_tracker()
        copy = subprocess.Popen([PROGRAM, "copy", "--tracker", f"127.0.0.1:{self.port}", "--token-file", self.folder / "token",
                                 "--", "sh", "-c", "exit 7"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(self.output(copy, 7).count("exit code 7"), 3)

    @unittest.skipUnless(os.geteuid() == 0 and shutil.which("ip"), "needs root and ip(8)")
    def test_two_machines_of_which_one_is_cut_off(self):
        """Two network namespaces, with one cable between them, are two machines."""
        name = f"fl{os.getpid()}"
        def ip(*words):
            return subprocess.run(["ip", *words], capture_output=True, text=True)
        if ip("netns", "add", f"{name}a").returncode != 0:
            self.skipTest("no network namespaces here")
        for end in "ab":
            self.addCleanup(ip, "netns", "del", f"{name}{end}")
        ip("netns", "add", f"{name}b")
        ip("link", "add", f"{name}a", "netns", f"{name}a", "type", "veth", "peer", "name", f"{name}b", "netns", f"{name}b")
        for end, address in (("a", "10.7.0.1"), ("b", "10.7.0.2")):
            inside = ("-n", f"{name}{end}")
            ip(*inside, "link", "set", "lo", "up")
            ip(*inside, "address", "add", f"{address}/24", "dev", f"{name}{end}")
            ip(*inside, "link", "set", f"{name}{end}", "up")
        def on(end):
            return ("ip", "netns", "exec", f"{name}{end}")
        tracker = subprocess.Popen(
            [*on("a"), PROGRAM, "tracker", "--folder", self.folder / "job", "--plain", "--round-steps", "20", "--listen",
             "0.0.0.0:7070", "--token-file", self.folder / "token"], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(tracker.communicate)
        self.addCleanup(tracker.kill)
        self.run_copy("1000000", "0", at="10.7.0.1:7070", prefix=on("a"), output=subprocess.DEVNULL)
        there = self.run_copy("1000000", "0", at="10.7.0.1:7070", prefix=on("b"), output=subprocess.DEVNULL)
        lines = iter(tracker.stdout.readline, "")
        for _ in range(2):
            self.assertTrue(any("has come" in line for line in lines))
        ip("-n", f"{name}b", "link", "set", f"{name}b", "down")
        self.assertTrue(any("has made no answer for" in line for line in lines))
        ip("-n", f"{name}b", "link", "set", f"{name}b", "up")
        there.kill()
        self.run_copy("1000000", "0", at="10.7.0.1:7070", prefix=on("b"), output=subprocess.DEVNULL)
        self.assertTrue(any("has come" in line for line in lines))
        tracker.send_signal(signal.SIGTERM)
        self.output(tracker, 143)
        rows = self.rounds()
        self.assertEqual(sum(int(row["steps"]) for row in rows), int(rows[-1]["done"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
