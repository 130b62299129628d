"""Users trade fast for slow GPUs, and get more done than without trades. Jobs that report nothing trade as well."""

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
JOBS = 8  # of each, on 6 GPUs' worth of its share
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
step_s = 0.02 / float(os.environ["FAIRLEAD_SPEED"]) ** power
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


def torch_path():
    has_torch = subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL, check=False).returncode == 0
    return [] if has_torch else [f"PYTHONPATH={HERE.parent / 'hook' / 'fake'}"]


class Traders(LiveTest):
    """Daemons with and without trades, and the steps that users make there."""

    def steps(self, files):
        def of(file):
            return float(file.read_text()) if file.exists() else 0.0

        return {uid: sum(of(file) for file in files[uid]) for uid in USERS}

    def steps_per_s(self, trade, settle_s, measure_s, submit, flags=()):
        live = self.daemon("6xV100,12xK80@0.25", f"gandiva-fair:quantum_s=1,resident=true,trade={trade}", flags=flags)
        files = {uid: [live.work / f"{trade}-{uid}-{i}" for i in range(JOBS)] for uid in USERS}
        jobs = [submit(live, file, uid, power) for uid, power in USERS.items() for file in files[uid]]
        until(lambda: all(file.exists() for uid in USERS for file in files[uid]), 240, "all have made steps")
        until(lambda: len({(speed["user"], speed["gpu_type"]) for speed in live.get("/v1/models")["models"]}) == 2 * len(USERS), 240,
              "each model is measured on both types")
        start = time.monotonic()
        until(lambda: time.monotonic() > start + settle_s, settle_s + 10, "trades take effect")
        before, start = self.steps(files), time.monotonic()
        until(lambda: time.monotonic() > start + measure_s, measure_s + 10)
        took = time.monotonic() - start
        after = self.steps(files)
        sensors = {(live.job(job)["speed"] or {"sensor": None})["sensor"] for job in jobs}
        trades = sum(record["kind"] == "note" and "trade" in record.values() for record in live.records())
        live.remove()
        return {uid: (after[uid] - before[uid]) / took for uid in USERS}, trades, sensors

    def gains(self, group, settle_s, measure_s, submit, flags=()):
        """Returns the gain of each user, the number of trades, and the sensors that measured the jobs."""
        without, none, _ = self.steps_per_s("false", settle_s, measure_s, submit, flags)
        traded, trades, sensors = self.steps_per_s("true", settle_s, measure_s, submit, flags)
        self.assertEqual(none, 0)
        self.assertGreater(trades, 0)
        gains = {uid: traded[uid] / without[uid] - 1 for uid in USERS}
        for uid, power in USERS.items():
            Figures.add(group, f"steps a second of a user whose speed is the GPU's to the power of {power}: without, with trades",
                        f"{without[uid]:.0f}, {traded[uid]:.0f} ({100 * gains[uid]:+.1f} %)", "> 0 %" if uid in PARTIES else "about 0 %")
        return gains, trades, sensors


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class TradingTest(Traders):
    def test_the_parties_gain(self):
        def submit(live, file, uid, power):
            return live.submit(["perl", "-MIO::Handle", "-e", TRAIN, str(file), str(power)], uid=uid, model=f"power-{power}")

        gains, _, _ = self.gains("trading", Settings.either(20, 40), Settings.either(20, 120), submit)
        for uid in USERS:
            self.assertGreater(gains[uid], 0 if uid in PARTIES else -0.05)


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class SilentTradingTest(Traders):
    """The same with Python programs, measured by each sensor."""

    reporting = None  # the gains of jobs that report

    def gains_by(self, sensor):
        path = torch_path()

        def submit(live, file, uid, power):
            script = live.work / "train.py"
            if not script.exists():
                script.write_text(TRAIN_TORCH.replace("TOLD", TOLD[sensor]))
            return live.submit([PYTHON, str(script), str(file), str(power)], environment=path, uid=uid)

        flags = ["--no-hook"] if sensor == "output" else []
        gains, trades, sensors = self.gains(f"trading by {sensor}", Settings.either(25, 40), Settings.either(40, 120), submit, flags)
        Figures.add(f"trading by {sensor}", "trades, sensors", f"{trades}, {sorted(map(str, sensors))}", "3 or more")
        self.assertTrue(sensors <= {sensor, None}, sensors)
        self.assertGreaterEqual(trades, 3)
        return gains

    def check(self, sensor):
        """Compares the gains with those of the same jobs that report; these are measured once."""
        cls = type(self)
        if cls.reporting is None:
            cls.reporting = self.gains_by("reports")
        silent = self.gains_by(sensor)
        for uid in USERS:
            self.assertLess(abs(silent[uid] - cls.reporting[uid]), 0.05, f"gains of user {uid}: {silent[uid]:+.3f}, and {cls.reporting[uid]:+.3f} if its jobs report")

    def test_jobs_that_the_hook_measures_trade_as_well(self):
        self.check("hook")

    def test_jobs_that_only_print_trade_as_well(self):
        self.check("output")
