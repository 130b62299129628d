"""Users with tickets 1:1:2 share four GPUs in turns of a second, on a real clock."""

import pwd
import statistics
import time
import unittest

from harness import IS_ROOT, Figures, LiveTest, Settings, quantile, until

USERS = {64321: 1, 64322: 1, 64323: 2}
GPUS, QUANTUM_S = 4, 1
# Adds up the time in which it ran: the gaps between looks at the clock, except gaps in which it was frozen.
# It continues from the recorded sum, and writes a line to FILE.starts at each start.
COUNT = """
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC); my ($ran, $last) = (0, clock_gettime(CLOCK_MONOTONIC));
open(my $starts, ">>", "$ARGV[0].starts"); print $starts "start\\n"; close($starts);
if (open(my $in, "<", $ARGV[0])) { $ran = <$in> + 0; }
open(my $out, -e $ARGV[0] ? "+<" : ">", $ARGV[0]); select($out); $| = 1;
while (1) {
  select(undef, undef, undef, 0.005); my $now = clock_gettime(CLOCK_MONOTONIC);
  $ran += $now - $last if $now - $last < 0.4; $last = $now;
  seek($out, 0, 0); printf("%.6f\\n", $ran);
}"""


def name_of(uid):
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class SharesTest(LiveTest):
    def submit(self, live, uid, gpus=1, processes=1):
        file = live.work / f"{uid}-{len(self.files)}"
        job = live.submit(["perl", "-e", COUNT, str(file)], gpus, uid=uid, processes=processes)
        self.files[job] = (uid, file, gpus)
        return job

    def measured(self):
        """Returns GPU seconds by user, as the jobs themselves count them."""
        sums = dict.fromkeys(USERS, 0.0)
        for uid, file, gpus in self.files.values():
            text = file.read_text().strip() if file.exists() else ""
            sums[uid] += gpus * float(text or 0)
        return sums

    def test_tickets_are_shares(self):
        quanta = Settings.either(15, 60)
        live = self.daemon("4xV100", f"gandiva-fair:quantum_s={QUANTUM_S},resident=true")
        self.files = {}
        for uid, tickets in USERS.items():
            live.set_tickets(name_of(uid), tickets)
        for uid in USERS:
            for gpus in (1, 1, 2):
                self.submit(live, uid, gpus)
        until(lambda: len(live.tasks()) == len(self.files), 30, "all have had a turn")
        told, own = self.served(live), self.measured()
        start = time.monotonic()
        until(lambda: time.monotonic() > start + quanta * QUANTUM_S, quanta * QUANTUM_S + 10)
        told = {uid: now - told[uid] for uid, now in self.served(live).items()}
        own = {uid: now - own[uid] for uid, now in self.measured().items()}
        took = time.monotonic() - start
        limit = Settings.either(0.08, 0.02)
        for title, served in (("as the daemon says", told), ("as the jobs measure", own)):
            total = sum(served.values())
            shares = [served[uid] / total for uid in USERS]
            error = max(abs(share / (tickets / 4) - 1) for share, tickets in zip(shares, USERS.values()))
            Figures.add("shares", f"1:1:2 over {quanta} quanta of 1 s, {title}",
                        " : ".join(f"{4 * share:.3f}" for share in shares), "within 2 %")
            Figures.add("shares", f"GPUs in use, {title}", f"{100 * total / took / GPUS:.1f} %")
            with self.subTest(title=title):
                self.assertLess(error, limit, {job["id"]: (job["user"], job["gpus"], job["gpu_s"], self.files[job["id"]][1].read_text())
                                               for job in live.jobs()})
        starts = sum(len((live.work / f"{file.name}.starts").read_text().splitlines()) for _, file, _ in self.files.values())
        Figures.add("shares", f"of {len(self.files)} jobs, started again when their turn came on other GPUs of the node",
                    starts - len(self.files), "few")
        self.assert_a_newcomer_runs_soon(live)

    def assert_a_newcomer_runs_soon(self, live):
        start = time.monotonic()
        marker = live.work / "newcomer"
        live.submit(["sh", "-c", f"touch {marker}; sleep 1000"])  # of a user who had none
        until(marker.exists, 30, "the newcomer runs")
        took = time.monotonic() - start
        Figures.add("shares", "another user's first job, submitted to running, ms", f"{1000 * took:.0f}", "< 1,000 + a decision")
        self.assertLess(took, 1.5 * QUANTUM_S)

    def served(self, live):
        users = live.users()
        return {uid: users[name_of(uid)]["gpu_s"] for uid in USERS}

    def test_a_gang_never_runs_in_part_and_is_frozen_fast(self):
        """Checks this by each of its ranks, and by the kernel."""
        for title, flags in (("cgroups", ()), ("signals", ("--signals",))):
            with self.subTest(title=title):
                self.watch_gangs(title, flags)

    def watch_gangs(self, title, flags):
        live = self.daemon("2xV100", flags=flags)
        self.files = {}
        for _ in range(2):
            self.submit(live, 64321, gpus=2, processes=2)
        until(lambda: len(live.tasks()) == 2, 20, "both have started")
        start, halves = time.monotonic(), []
        turns = Settings.either(4, 20)
        changes, last, since = 0, None, None
        while time.monotonic() < start + turns:
            states = []
            for task in live.tasks():
                state = task.is_frozen()
                states.append(state)
                members = [stat for _, stat in task.descendants() if stat not in "ZX"]
                if state != "half":
                    self.assertEqual(len(members), 2, f"half of {task.name} is there")
            now = time.monotonic()
            if "half" in states or states.count(False) > 1:
                since = since or now
                continue
            if since:
                halves.append(now - since)
            since = None
            if states != last:
                changes, last = changes + 1, states
        self.assertGreater(changes, turns // 3)
        worst = 1000 * max(halves, default=0)
        Figures.add("shares", f"gangs of 2 under {title}: seen in part for at most, ms, in {changes} changes", f"{worst:.1f}", "< 200")
        self.assertLess(worst, 200)

    def test_what_suspending_costs(self):
        live = self.daemon("1xV100", "fifo:skip=true")
        for title, processes in (("1 process", 1), ("64 processes", 64)):
            inner = f"i=1; while [ $i -lt {processes} ]; do sleep 1000 & i=$((i+1)); done; exec sleep 1000"
            job = live.submit(["sh", "-c", inner])
            until(lambda: len(live.processes()) == processes, 20)
            task, = live.tasks()
            down, up = [], []
            for _ in range(Settings.either(10, 100)):
                start = time.perf_counter()
                live.post(f"/v1/jobs/{job}/hold")
                self.await_frozen(task, True)
                down.append(1000 * (time.perf_counter() - start))
                start = time.perf_counter()
                live.post(f"/v1/jobs/{job}/release")
                self.await_frozen(task, False)
                up.append(1000 * (time.perf_counter() - start))
            Figures.add("suspending", f"asked to frozen, {title}, ms: median / p99", f"{statistics.median(down):.1f} / {quantile(down, 0.99):.1f}")
            Figures.add("suspending", f"asked to running again, {title}, ms: median / p99", f"{statistics.median(up):.1f} / {quantile(up, 0.99):.1f}")
            live.post(f"/v1/jobs/{job}/cancel")
            live.await_end(job)

    def await_frozen(self, task, wanted):
        end = time.monotonic() + 20
        while task.is_frozen() is not wanted:
            self.assertLess(time.monotonic(), end)
