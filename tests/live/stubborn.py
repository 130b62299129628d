"""Jobs that do not obey signals."""

import os
import signal
import time
import unittest

from harness import IS_ROOT, Figures, LiveTest, Settings, is_alive, until

HOST = "fork bombs are set off as another user, under a limit of processes, which takes root"


def pids_in(path):
    return [int(line) for line in path.read_text().split()] if path.exists() else []


class StubbornTest(LiveTest):
    flags = ()

    def setUp(self):
        super().setUp()
        self.live = self.daemon("2xV100,2xK80", grace_s=1, flags=self.flags)

    def says(self, job, text, limit_s=20):
        return until(lambda: text in self.live.output(job), limit_s, f"job {job} says {text}")

    def test_one_that_ignores_sigterm_is_killed_after_the_grace(self):
        job = self.live.submit(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"])
        self.says(job, "ready")
        start = time.monotonic()
        self.live.post(f"/v1/jobs/{job}/cancel")
        until(lambda: not self.live.processes(), 20, "it is gone")
        took = time.monotonic() - start
        self.assertGreaterEqual(took, 0.95)
        self.assertEqual(self.live.job(job)["state"], "cancelled")
        Figures.add("stubborn jobs", "cancel to gone, of one that ignores SIGTERM, ms (grace 1,000)", f"{1000 * took:.0f}")
        self.assert_clean_end(self.live)

    def test_one_that_ignores_sigterm_moves_after_the_grace(self):
        job = self.live.submit(["sh", "-c", "trap '' TERM; echo $FAIRLEAD_GPU_TYPE; while :; do sleep 0.05; done"], 2)
        first = until(lambda: self.live.output(job).split(), 20)[0]
        self.live.post(f"/v1/jobs/{job}/hold")
        self.live.post(f"/v1/nodes/{first}/cordon")
        self.live.post(f"/v1/jobs/{job}/release")
        second = until(lambda: self.live.output(job).split()[1:], 20)[0]
        self.assertEqual({first, second}, {"V100", "K80"})
        self.assertEqual(self.live.job(job)["restarts"], 1)
        self.live.post(f"/v1/jobs/{job}/cancel")
        self.assert_clean_end(self.live)

    def test_one_that_is_killed_from_outside_has_failed(self):
        job = self.live.submit(["sh", "-c", "echo ready; while :; do sleep 0.05; done"])
        self.says(job, "ready")
        task, = self.live.tasks()
        main = min(pid for pid, _ in task.descendants())
        os.kill(main, signal.SIGKILL)
        self.assertEqual(self.live.await_end(job)["signal"], signal.SIGKILL)
        self.assert_clean_end(self.live)

    def test_one_that_is_killed_while_it_is_frozen_has_failed(self):
        job = self.live.submit(["sh", "-c", "echo ready; while :; do sleep 0.05; done"])
        self.says(job, "ready")
        self.live.post(f"/v1/jobs/{job}/hold")
        task, = self.live.tasks()
        until(task.is_frozen, 10, "it is frozen")
        main = min(pid for pid, _ in task.descendants())
        os.kill(main, signal.SIGKILL)
        ended = self.live.await_end(job, limit_s=20)
        self.assertEqual((ended["state"], ended["signal"]), ("failed", signal.SIGKILL))
        self.assert_clean_end(self.live)

    def test_what_daemonises_is_frozen_and_ends_with_its_job(self):
        pids = self.live.work / "pids"
        inner = f"echo $$ >>{pids}; while :; do sleep 0.05; done"
        job = self.live.submit(["sh", "-c", f"setsid sh -c '{inner}' & setsid setsid sh -c '{inner}' & "
                                            "trap 'exit 0' USR1; echo $$ >main; while :; do sleep 0.05; done"])
        until(lambda: len(pids_in(pids)) == 2 and pids_in(self.live.work / "main"), 20)
        self.live.post(f"/v1/jobs/{job}/hold")
        task, = self.live.tasks()
        until(lambda: task.is_frozen() is True, 10, "it is frozen")
        self.assertTrue(set(pids_in(pids)) <= {pid for pid, _ in task.descendants()})
        self.live.post(f"/v1/jobs/{job}/release")
        self.live.await_state(job, "running")
        os.kill(pids_in(self.live.work / "main")[0], signal.SIGUSR1)
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        self.assertFalse(any(is_alive(pid) for pid in pids_in(pids)))
        self.assert_clean_end(self.live)

    @unittest.skipUnless(IS_ROOT, HOST)
    def test_one_that_forks_without_end_is_frozen_and_ends(self):
        uid, most = 64321, 60
        forks = "while (1) { defined(fork) or select(undef, undef, undef, 0.01) }"
        job = self.live.submit(["sh", "-c", f"ulimit -p {most} 2>&- || ulimit -u {most}; exec perl -e '{forks}'"], uid=uid)
        until(lambda: len(self.live.processes()) >= most // 3, 30, "it has forked")
        self.live.post(f"/v1/jobs/{job}/hold")
        task, = self.live.tasks()
        until(lambda: task.is_frozen() is True, 10, "it is frozen")
        frozen = {pid for pid, state in task.descendants() if state not in "ZX"}
        self.assertEqual(frozen, {pid for pid, state in task.descendants() if state not in "ZX"})
        self.live.post(f"/v1/jobs/{job}/release")
        self.live.await_state(job, "running")
        start = time.monotonic()
        self.live.post(f"/v1/jobs/{job}/cancel")
        until(lambda: not self.live.processes(), 30, "all of it is gone")
        Figures.add("stubborn jobs", f"fork bomb of {len(frozen)} processes: cancel to gone, ms (grace 1,000)",
                    f"{1000 * (time.monotonic() - start):.0f}")
        self.assert_clean_end(self.live)

    def test_one_that_fills_its_log_does_not_hold_up_the_daemon(self):
        mib = Settings.either(64, 512)
        job = self.live.submit(["sh", "-c", f"head -c {mib << 20} /dev/zero; echo done >end"])
        slowest = 0
        while not (self.live.work / "end").exists():
            start = time.monotonic()
            state = self.live.job(job)["state"]
            slowest = max(slowest, time.monotonic() - start)
            self.assertNotIn(state, ("failed", "cancelled", "held"))
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        self.assertEqual((self.live.folder / f"logs/{job}.log").stat().st_size, mib << 20)
        Figures.add("stubborn jobs", f"slowest answer while a job writes {mib} MiB of output, ms", f"{1000 * slowest:.0f}")

    def test_200_that_exit_at_once(self):
        start = time.monotonic()
        jobs = [self.live.submit(["true" if i % 2 else "false"]) for i in range(200)]
        for i, job in enumerate(jobs):
            ended = self.live.await_end(job, limit_s=120)
            self.assertEqual(ended["exit_code"], (i + 1) % 2, ended)
        Figures.add("stubborn jobs", "jobs that exit at once, a second", f"{200 / (time.monotonic() - start):.0f}")
        self.assert_clean_end(self.live)

    def test_one_whose_shim_is_killed_begins_again(self):
        job = self.live.submit(["sh", "-c", "echo started $FAIRLEAD_RESTART_COUNT; while [ ! -e go ]; do sleep 0.05; done"])
        self.says(job, "started 0")
        task, = self.live.tasks()
        os.kill(task.shim, signal.SIGKILL)
        self.says(job, "started 1")
        (self.live.work / "go").touch()
        self.assertEqual(self.live.await_end(job)["state"], "finished")
        self.assert_clean_end(self.live)

    def test_one_that_has_had_its_time_is_ended(self):
        job = self.live.submit(["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"], limit_s=1)
        start = time.monotonic()
        ended = self.live.await_end(job, limit_s=20)
        self.assertEqual((ended["state"], ended["reason"]), ("failed", "time limit of 1s reached"))
        self.assertAlmostEqual(ended["gpu_s"], 1, delta=0.1)
        until(lambda: not self.live.processes(), 20, "it is gone")
        Figures.add("stubborn jobs", "start to gone, of one with a limit of 1,000 ms that ignores SIGTERM, ms (grace 1,000)",
                    f"{1000 * (time.monotonic() - start):.0f}")
        self.assert_clean_end(self.live)

    def test_one_that_ends_badly_is_started_again_as_often_as_it_may(self):
        fails = "echo started $FAIRLEAD_RESTART_COUNT; [ -e go ] && [ $FAIRLEAD_RESTART_COUNT = 2 ] || exit 7"
        job = self.live.submit(["sh", "-c", fails], retries=2)
        self.assertEqual(self.live.await_end(job)["exit_code"], 7)
        self.assertEqual(self.live.output(job).split("\n")[:3], ["started 0", "started 1", "started 2"])
        (self.live.work / "go").touch()
        job = self.live.submit(["sh", "-c", fails], retries=2)
        ended = self.live.await_end(job)
        self.assertEqual((ended["state"], ended["restarts"]), ("finished", 2))
        self.assert_clean_end(self.live)

    def test_one_that_ends_badly_while_no_daemon_is_there_is_started_again_by_the_next(self):
        job = self.live.submit(["sh", "-c", "echo started; while [ ! -e go ]; do sleep 0.05; done; [ -e twice ] || exit 7"],
                               retries=1)
        self.says(job, "started")
        self.live.kill()
        (self.live.work / "go").touch()
        until(lambda: not self.live.processes(), 20, "it has ended")
        (self.live.work / "twice").touch()
        self.live.start()
        ended = self.live.await_end(job, limit_s=20)
        self.assertEqual((ended["state"], ended["restarts"]), ("finished", 1))
        self.assert_clean_end(self.live)


class StubbornUnderSignalsTest(StubbornTest):
    flags = ("--signals",)

    def setUp(self):
        if not Settings.is_long:
            self.skipTest("in the long form")
        super().setUp()
