"""Users trade fast for slow GPUs, and get more done than without trades. Jobs that report nothing trade as well."""

import dataclasses
import functools
import os
import subprocess
import time
import unittest

from harness import HERE, IS_ROOT, Figures, LiveTest, Settings, until

# How the speed of each user's model follows that of its GPU: to the power of this. All have one ticket. On a K80 of a
# quarter of the speed the models run 4, 2.8 and 1.1 times slower: the first buys V100s of the last, at the price of the
# second (docs/policies/gandiva-fair.md).
USERS = {64321: 1.0, 64322: 0.75, 64323: 0.1}
PARTIES = (64321, 64323)
# With a third more jobs than GPUs due, some user keeps a fast GPU more than its share as long as nobody trades, so its gain
# is an accident. With twice as many there is no such state.
NODES, JOBS = "6xV100,12xK80@0.25", 12  # jobs of each user, whose share is 6 GPUs
HALF, HALF_JOBS = "3xV100,6xK80@0.25", 6  # for jobs that need memory
SPEEDS = {"V100": 1.0, "K80": 0.25}
# Makes steps while it runs, as fast as its GPU lets its model; gaps in which it was frozen do not count.
# It reports its steps like any training, saves them when it must leave, and continues from there.
TRAIN = """
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC); my ($file, $power) = @ARGV; my $steps = 0;
if (open(my $in, "<", $file)) { $steps = <$in> + 0; }
sub keep { open(my $out, ">", "$file.part"); printf $out "%.3f\\n", $steps; close($out); rename("$file.part", $file); }
$SIG{TERM} = sub { keep(); exit(143); };
open(my $told, ">>", $ENV{FAIRLEAD_PROGRESS}); $told->autoflush(1);
my $speed = 100 * $ENV{FAIRLEAD_SPEED} ** $power; my $last = clock_gettime(CLOCK_MONOTONIC); my $next = $last;
while (1) {
  select(undef, undef, undef, 0.02); my $now = clock_gettime(CLOCK_MONOTONIC);
  $steps += $speed * ($now - $last) if $now - $last < 0.4; $last = $now;
  if ($now >= $next) { printf $told "%.3f 1000000 steps\\n", $steps; keep(); $next = $now + 0.25; }
}"""
# An ordinary training script with checkpoints. Nothing in it is for Fairlead, except that a step takes as long as on
# the emulated GPU.
TRAIN_TORCH = """
import os, signal, sys, time
import torch

file, power = sys.argv[1], float(sys.argv[2])
step = int(open(file).read()) if os.path.exists(file) else 0
stop = False

def on_term(number, frame):
    global stop
    stop = True

signal.signal(signal.SIGTERM, on_term)
model = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
step_s = 0.05 / float(os.environ["FAIRLEAD_SPEED"]) ** power
saved = time.monotonic()
while not stop:
    optimizer.zero_grad()
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()
    optimizer.step()
    time.sleep(step_s)
    step += 1
    if stop or time.monotonic() > saved + 0.25:
        saved = time.monotonic()
        with open(file + ".part", "w") as out:
            out.write(str(step))
        os.replace(file + ".part", file)
        TOLD
sys.exit(143)
"""
# The line with which each kind of script makes its progress known.
TOLD = {
    "reports": 'open(os.environ["FAIRLEAD_PROGRESS"], "a").write(f"{step} 1000000 steps\\n")',
    "hook": "pass",
    "output": 'print(f"step {step}/1000000: loss 0.5", flush=True)',
}
# A Python that all users can run, and its torch if it has one, else a stand-in.
PYTHON = os.environ.get("FAIRLEAD_TEST_PYTHON", "/usr/bin/python3")


@functools.cache
def torch_path():
    has_torch = subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return [] if has_torch else [f"PYTHONPATH={HERE.parent / 'hook' / 'fake'}"]


class World:
    """A daemon with jobs of all users, and the steps that these have made."""

    def __init__(self, live, jobs):
        self.live, self.jobs = live, jobs  # by user, job and the file that it is given
        self.marks = []  # the time and the steps of each user, at the measurement's start and end

    def steps_of(self, job, file):
        return float(file.read_text()) if file.exists() else 0.0

    def steps(self):
        return {uid: sum(self.steps_of(*each) for each in jobs.items()) for uid, jobs in self.jobs.items()}

    def all_train(self):
        return all(self.steps_of(*each) for jobs in self.jobs.values() for each in jobs.items())

    def speeds(self):
        """Returns the learned speeds of each user, by type."""
        speeds = {uid: {} for uid in USERS}
        for speed in self.live.get("/v1/models")["models"]:
            speeds[int(speed["user"])][speed["gpu_type"]] = speed["speed"]
        return speeds

    def is_measured(self):
        return all(len(speeds) == len(SPEEDS) for speeds in self.speeds().values())

    def mark(self):
        steps, time_s = self.steps(), time.monotonic()
        self.marks.append((time_s, self.live.records()[-1]["t_ms"], steps))

    def end(self):
        """Removes the daemon, and returns what it did between the two marks."""
        (first_s, from_ms, first), (last_s, to_ms, last) = self.marks
        records = self.live.records()
        jobs = [self.live.job(job) for jobs in self.jobs.values() for job in jobs]
        speeds = self.speeds()
        self.remove()
        return Done(steps={uid: (last[uid] - first[uid]) / (last_s - first_s) for uid in USERS},
                    gpus=gpus_of_users(records, from_ms, to_ms),
                    trades=sum(record["kind"] == "note" and "trade" in record.values() for record in records),
                    sensors={job["speed"]["sensor"] for job in jobs if job["speed"]}, speeds=speeds)

    def remove(self):
        self.live.remove()


@dataclasses.dataclass
class Done:
    """What the users of a daemon got in a second: their own steps, and mean numbers of GPUs by type."""

    steps: dict
    gpus: dict
    trades: int
    sensors: set
    speeds: dict

    def slowdown(self, uid):
        """Returns the learned speed of a user's model on a K80, relative to a V100."""
        return self.speeds[uid]["K80"] / self.speeds[uid]["V100"]

    def worth(self):
        """Returns the GPUs of each user, in V100 by the speed of the user's model."""
        return {uid: sum(gpus * SPEEDS[kind] ** power for kind, gpus in self.gpus[uid].items()) for uid, power in USERS.items()}


def gpus_of_users(records, from_ms, to_ms):
    """Returns the mean number of GPUs of each user by type, from the journal."""
    kinds, nodes, names, owners, runs = [], {}, {}, {}, {}
    served = {uid: dict.fromkeys(SPEEDS, 0.0) for uid in USERS}

    def settle(job, now_ms):
        start_ms, kind = runs.pop(job)
        served[owners[job]][kind] += max(0, min(now_ms, to_ms) - max(start_ms, from_ms)) / (to_ms - from_ms)

    for record in records:
        match record["kind"]:
            case "run": kinds = record["gpu_types"]
            case "node": nodes[record["node"]] = kinds[record["type"]]
            case "user": names[record["user"]] = record["name"]
            case "arrived": owners[record["job"]] = int(names[record["user"]])
            case "place": runs[record["job"]] = record["t_ms"], nodes[record["gang"][0]["node"]]
            case "stop" | "failed" | "evicted" if record["job"] in runs: settle(record["job"], record["t_ms"])
    for job in list(runs):
        settle(job, to_ms)
    return served


class Traders(LiveTest):
    """Daemons with and without trades, and what users get there. All run at once, so that they have the same machine."""

    nodes, jobs = HALF, HALF_JOBS
    policy = "gandiva-fair:quantum_s=1,resident=true"

    def world(self, policy, submit, flags=()):
        live = self.daemon(self.nodes, policy, grace_s=20, flags=flags)
        return World(live, self.submitted(live, submit))

    def submitted(self, live, submit):
        files = {uid: [live.work / f"{uid}-{i}" for i in range(self.jobs)] for uid in USERS}
        return {uid: {submit(live, file, uid, power): file for file in files[uid]} for uid, power in USERS.items()}

    def without_trades(self, submit, flags=()):
        return self.world(f"{self.policy},trade=false", submit, flags)

    def with_trades(self, submit, flags=()):
        return self.world(f"{self.policy},trade=true", submit, flags)

    def measure(self, worlds, settle_s, measure_s):
        """Returns what each world did in a time after the others have been measured on both types. The first one needs no speeds."""
        for world in worlds:
            until(world.all_train, 300, "all have made steps")
        for world in worlds[1:]:
            until(world.is_measured, 300, "each model is measured on both types")
        self.let_pass(settle_s)
        for world in worlds:
            world.mark()
        self.let_pass(measure_s)
        for world in worlds:
            world.mark()
        return [world.end() for world in worlds]

    def let_pass(self, seconds):
        start = time.monotonic()
        until(lambda: time.monotonic() > start + seconds, seconds + 10)

    def gains(self, group, without, traded):
        """Returns the gains in GPUs, each counted by the speed of the user's model on it, and in steps."""
        self.assertEqual(without.trades, 0)
        self.assertGreater(traded.trades, 0)
        gains = {uid: traded.worth()[uid] / without.worth()[uid] - 1 for uid in USERS}
        in_steps = {uid: traded.steps[uid] / without.steps[uid] - 1 for uid in USERS}
        for uid, power in USERS.items():
            target = "> 0 %" if uid in PARTIES else "about 0 %"
            who = f"of a user whose speed is the GPU's to the power of {power}: without, with trades"
            Figures.add(group, f"GPUs in V100 {who}", f"{without.worth()[uid]:.2f}, {traded.worth()[uid]:.2f} ({100 * gains[uid]:+.1f} %)", target)
            Figures.add(group, f"steps a second {who}", f"{without.steps[uid]:.0f}, {traded.steps[uid]:.0f} ({100 * in_steps[uid]:+.1f} %)", target)
        kinds = ["; ".join(", ".join(f"{gpus[kind]:.2f}" for gpus in done.gpus.values()) for kind in SPEEDS) for done in (without, traded)]
        Figures.add(group, "V100 of the users; K80 of the users: without | with trades", " | ".join(kinds))
        slowdowns = ", ".join(f"{traded.slowdown(uid):.2f} ({SPEEDS['K80'] ** power:.2f})" for uid, power in USERS.items())
        Figures.add(group, "learned speeds on a K80 relative to a V100", slowdowns, "as in brackets")
        Figures.add(group, "trades, sensors", f"{traded.trades}, {sorted(traded.sensors)}", "3 or more")
        return gains, in_steps

    def check_silent(self, group, settle_s, measure_s, submitters, sensor, flags=()):
        """Compares the gains of silent jobs with those of the same jobs that report."""
        silent, reporting = submitters
        worlds = [self.without_trades(silent, flags), self.with_trades(silent, flags), self.with_trades(reporting)]
        without, traded, reported = self.measure(worlds, settle_s, measure_s)
        gains, in_steps = self.gains(f"{group}, silent", without, traded)
        others, others_in_steps = self.gains(f"{group}, reporting", without, reported)
        self.assertEqual((traded.sensors, reported.sensors), ({sensor}, {"reports"}))
        self.assertGreaterEqual(traded.trades, 3)
        for uid in USERS:
            self.assertLess(abs(gains[uid] - others[uid]), 0.05, f"gains of user {uid}: {gains[uid]:+.3f}, and {others[uid]:+.3f} if its jobs report")
            self.assertLess(abs(in_steps[uid] - others_in_steps[uid]), 0.05, f"the same in steps: {in_steps[uid]:+.3f} and {others_in_steps[uid]:+.3f}")
            self.assertGreater(gains[uid], 0 if uid in PARTIES else -0.05)


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class TradingTest(Traders):
    nodes, jobs = NODES, JOBS

    def test_the_parties_gain(self):
        def submit(live, file, uid, power):
            return live.submit(["perl", "-MIO::Handle", "-e", TRAIN, str(file), str(power)], uid=uid, model=f"power-{power}")

        worlds = [self.without_trades(submit), self.with_trades(submit)]
        gains, in_steps = self.gains("trading", *self.measure(worlds, Settings.either(20, 40), Settings.either(40, 120)))
        for uid in USERS:
            self.assertGreater(gains[uid], 0 if uid in PARTIES else -0.05)
            self.assertGreater(in_steps[uid], 0 if uid in PARTIES else -0.05)


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class SilentTradingTest(Traders):
    """The same with Python programs, measured by each sensor."""

    def check(self, sensor):
        def submitter(told):
            def submit(live, file, uid, power):
                script = live.work / "train.py"
                if not script.exists():
                    script.write_text(TRAIN_TORCH.replace("TOLD", TOLD[told]))
                return live.submit([PYTHON, str(script), str(file), str(power)], environment=["OMP_NUM_THREADS=1", *torch_path()], uid=uid)

            return submit

        flags = ["--no-hook"] if sensor == "output" else []
        submitters = submitter(sensor), submitter("reports")
        self.check_silent(f"trading by {sensor}", Settings.either(40, 40), Settings.either(60, 120), submitters, sensor, flags)

    def test_jobs_that_the_hook_measures_trade_as_well(self):
        self.check("hook")

    def test_jobs_that_only_print_trade_as_well(self):
        self.check("output")
