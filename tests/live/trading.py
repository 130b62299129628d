"""Users trade fast for slow GPUs, and get more done than without trades."""

import time
import unittest

from harness import IS_ROOT, Figures, LiveTest, Settings, until

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


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class TradingTest(LiveTest):
    def steps(self, files):
        def of(file):
            return float(file.read_text()) if file.exists() else 0.0

        return {uid: sum(of(file) for file in files[uid]) for uid in USERS}

    def steps_per_s(self, trade, learn_s, measure_s):
        live = self.daemon("6xV100,12xK80@0.25", f"gandiva-fair:quantum_s=1,resident=true,trade={trade}")
        files = {uid: [live.work / f"{trade}-{uid}-{i}" for i in range(JOBS)] for uid in USERS}
        for uid, power in USERS.items():
            for file in files[uid]:
                live.submit(["perl", "-MIO::Handle", "-e", TRAIN, str(file), str(power)], uid=uid, model=f"power-{power}")
        until(lambda: all(file.exists() for uid in USERS for file in files[uid]), 120, "all have made steps")
        start = time.monotonic()
        until(lambda: time.monotonic() > start + learn_s, learn_s + 10, "speeds are learnt")
        before, start = self.steps(files), time.monotonic()
        until(lambda: time.monotonic() > start + measure_s, measure_s + 10)
        took = time.monotonic() - start
        after = self.steps(files)
        trades = sum(record["kind"] == "note" and "trade" in record.values() for record in live.records())
        live.remove()
        return {uid: (after[uid] - before[uid]) / took for uid in USERS}, trades

    def test_the_parties_gain(self):
        learn_s, measure_s = Settings.either(20, 40), Settings.either(20, 120)
        without, none = self.steps_per_s("false", learn_s, measure_s)
        traded, trades = self.steps_per_s("true", learn_s, measure_s)
        self.assertEqual(none, 0)
        self.assertGreater(trades, 0)
        for uid, power in USERS.items():
            gain = traded[uid] / without[uid] - 1
            Figures.add("trading", f"steps a second of a user whose speed is the GPU's to the power of {power}: without, with trades",
                        f"{without[uid]:.0f}, {traded[uid]:.0f} ({100 * gain:+.1f} %)", "> 0 %" if uid in PARTIES else "about 0 %")
            self.assertGreater(gain, 0 if uid in PARTIES else -0.05)
