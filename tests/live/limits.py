"""Limits of jobs: they open no other GPU's device, are ended alone if they need more memory than they state, and share
the processors."""

import contextlib
import os
import pathlib
import shlex
import stat
import time
import unittest

from harness import IS_ROOT, Figures, LiveTest, play_driver, until

ANN, BOB = 65534, 64321
NVIDIA = 195  # major number of NVIDIA's devices

# Computes in so many processes, on the processors named.
BURN = """
import os, sys
if sys.argv[2:]: os.sched_setaffinity(0, map(int, sys.argv[2:]))
for _ in range(int(sys.argv[1]) - 1):
    if os.fork() == 0: break
while True: pass
"""


def v1(controller):
    return os.path.isdir(f"/sys/fs/cgroup/{controller}")


def can_limit(controller):
    """True if the controller is one of cgroup v1, or below the root of cgroup v2."""
    try:
        return v1(controller) or controller in pathlib.Path("/sys/fs/cgroup/cgroup.controllers").read_text().split()
    except OSError:
        return False


class Limited(LiveTest):
    def burn(self, live, processes, on=(), **more):
        """Submits a job that computes in so many processes, and returns it once they do. `on`: processors; none: all."""
        job = live.submit(["python3", "-c", BURN, str(processes), *map(str, on)], **more)
        until(lambda: sum(used > 0.05 for used in self.used_s(live, job).values()) == processes, 60, "they compute")
        return job

    def used_s(self, live, job):
        """Returns the time on processors of each process of a job, in s."""
        used = {}
        for pid, variables in live.processes().items():
            with contextlib.suppress(OSError):
                if variables.get("FAIRLEAD_JOB_ID") == str(job):
                    used[pid] = int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9
        return used

    def processors_of(self, live, jobs, used_s=3):
        """Returns the mean number of processors that each job had, until they had so much time on them together."""
        def used():
            return [sum(self.used_s(live, job).values()) for job in jobs]
        start, before = time.monotonic(), used()
        until(lambda: sum(used()) - sum(before) > used_s, 120, "the jobs have had processors")
        return [(now - then) / (time.monotonic() - start) for then, now in zip(before, used())]

    @staticmethod
    def is_calm():
        """Returns whether other work leaves processors to jobs; else they may have less than their quota."""
        return os.getloadavg()[0] < len(os.sched_getaffinity(0))

    def end_all(self, live, jobs):
        for job in jobs:
            live.post(f"/v1/jobs/{job}/cancel")
        self.assert_clean_end(live)

    def assert_no_groups(self, groups):
        self.assertTrue(groups)
        until(lambda: not any(os.path.exists(group) for group in groups), 10, "the groups are removed")


@unittest.skipUnless(IS_ROOT, "only root limits devices")
class DevicesTest(Limited):
    """The GPUs are played by a driver (fairlead/io/testing_nvml.cc); no device is behind their numbers."""

    def setUp(self):
        super().setUp()
        self.live = self.daemon(None, "fifo", start=False)
        play_driver(self.live, "nvml", "libnvidia-ml.so.1").write_text(
            "gpu GPU-a 50 NVIDIA A100-SXM4-80GB\ngpu GPU-b 50 NVIDIA A100-SXM4-80GB\n")
        self.nodes = {}
        for name, number in (("GPU-a", 0), ("GPU-b", 1), ("nvidiactl", 255)):
            self.nodes[name] = self.live.base / name
            try:
                os.mknod(self.nodes[name], stat.S_IFCHR | 0o666, os.makedev(NVIDIA, number))
            except OSError as error:
                raise unittest.SkipTest(f"cannot make device nodes: {error}") from error
            os.chmod(self.nodes[name], 0o666)
        self.live.start()
        if "the devices of GPUs" in self.live.said():
            raise unittest.SkipTest("no cgroups here that limit devices")

    def looks(self, uid, **more):
        """Submits a job that tries to open each device; returns it."""
        tries = "; ".join(f"echo {name}: $(cat {shlex.quote(str(node))} 2>&1)" for name, node in self.nodes.items())
        return self.live.submit(["sh", "-c", f"echo $CUDA_VISIBLE_DEVICES; {tries}; echo looked; exec sleep 600"], uid=uid, **more)

    def seen(self, job):
        """Returns the GPUs of the job, and for each device whether it was denied."""
        until(lambda: "looked" in self.live.output(job), 20)
        lines = self.live.output(job).splitlines()
        denied = {line.split(":")[0]: "Operation not permitted" in line for line in lines if ": " in line}
        self.assertEqual(set(denied), set(self.nodes), lines)
        return lines[0].split(","), denied

    def test_a_job_opens_its_own_devices_alone(self):
        live = self.live
        jobs = [self.looks(ANN), self.looks(BOB)]
        gpus = set()
        for job in jobs:
            own, denied = self.seen(job)
            gpus |= set(own)
            self.assertEqual(denied, {name: name.startswith("GPU") and name not in own for name in self.nodes})
        self.assertEqual(gpus, {"GPU-a", "GPU-b"})
        groups = [group for task in live.tasks() for group in [*task.limit_groups, task.cgroup] if group]
        live.kill()
        live.start()
        for job in jobs:
            live.post(f"/v1/jobs/{job}/cancel")
        self.assert_no_groups(groups)
        both = self.looks(ANN, gpus=2)
        self.assertEqual(self.seen(both)[1], dict.fromkeys(self.nodes, False))
        without = self.looks(BOB, gpus=0)
        self.assertEqual(self.seen(without), ([""], {name: name.startswith("GPU") for name in self.nodes}))
        for job in (both, without):
            live.post(f"/v1/jobs/{job}/cancel")
        self.assert_clean_end(live)


@unittest.skipUnless(IS_ROOT and can_limit("memory"), "no cgroups here that limit memory")
class MemoryTest(Limited):
    GREEDY = "import sys; sys.stdin.read(0); data = bytearray(400_000_000); print('has it')"

    def test_a_job_that_needs_more_is_ended_alone(self):
        live = self.daemon("2xV100", "fifo")
        beside = live.submit(["python3", "-c", "data = bytearray(300_000_000); print('has it', flush=True); input()"],
                             uid=BOB, memory_mb=500)
        until(lambda: "has it" in live.output(beside) or live.job(beside)["state"] == "failed", 20)
        job = live.submit(["python3", "-c", self.GREEDY], uid=ANN, memory_mb=200)
        end = live.await_end(job)
        self.assertEqual((end["state"], end["signal"]), ("failed", 9))
        self.assertEqual(end["reason"], "signal 9: it needed more than its 0.2 GB of memory (--mem)")
        why = "\n".join(live.get(f"/v1/jobs/{job}/why")["lines"])
        self.assertIn("it needed more than its 0.2 GB of memory (--mem)", why)
        self.assertIn("has it", live.output(beside))
        enough = live.submit(["python3", "-c", self.GREEDY], uid=ANN, memory_mb=800)
        self.assertEqual(live.await_end(enough)["state"], "finished")
        self.assert_clean_end(live)

    def test_the_next_daemon_reports_one_that_ends_without_a_daemon(self):
        live = self.daemon("1xV100", "fifo")
        go = live.work / "go"
        os.mkfifo(go)
        os.chmod(go, 0o666)
        job = live.submit(["sh", "-c", f"echo ready; read line < {go}; exec python3 -c '{self.GREEDY.replace(chr(39), chr(34))}'"],
                          uid=ANN, memory_mb=200)
        until(lambda: "ready" in live.output(job), 20)
        task, = live.tasks()
        groups = [group for group in [*task.limit_groups, task.cgroup] if group]
        live.kill()
        go.write_text("go\n")
        until(lambda: not live.processes(), 20, "it has ended")
        live.start()
        end = live.await_end(job)
        self.assertIn("(--mem)", end["reason"])
        self.assert_no_groups(groups)
        self.assert_clean_end(live)

    def test_a_job_waits_for_the_memory_that_it_states(self):
        live = self.daemon("2xV100", "fifo")
        total_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_000_000
        first = live.submit(["sleep", "600"], memory_mb=total_mb - 1000)
        second = live.submit(["true"], memory_mb=1001)
        small = live.submit(["true"], memory_mb=999)
        self.assertEqual(live.await_end(small)["state"], "finished")
        held = live.job(second)
        self.assertEqual((held["state"], held["reason"]), ("held", "when other jobs leave it 1.001 GB of the machine's memory"))
        live.post(f"/v1/jobs/{first}/cancel")
        self.assertEqual(live.await_end(second)["state"], "finished")
        status, body = live.ask("POST", "/v1/jobs", live.request_for(["true"], memory_mb=total_mb + 1))
        self.assertEqual(status, 400)
        self.assertIn(f"this machine has {total_mb}", str(body))
        self.assert_clean_end(live)


@unittest.skipUnless(IS_ROOT and can_limit("cpu"), "no cgroups here that limit processors")
class ProcessorsTest(Limited):
    def test_jobs_have_the_processors_that_they_state(self):
        is_calm = self.is_calm()
        live = self.daemon("3xV100", "fifo")
        jobs = [self.burn(live, 2, uid=uid, cpus=cpus) for uid, cpus in ((ANN, 0.04), (ANN, 0.5), (BOB, 0.5))]
        small, *halves = self.processors_of(live, jobs)
        Figures.add("limits", "processors of a job with --cpus 0.04", round(small, 3), "0.04")
        self.assertLess(small, 0.048)
        self.assertGreater(small, 0.02)  # no other work leaves it less
        for had in halves:
            Figures.add("limits", "processors of a job with --cpus 0.5", round(had, 2), "0.5")
            self.assertLess(had, 0.55)
            if is_calm:
                self.assertGreater(had, 0.4)
        self.end_all(live, jobs)

    def test_busy_processors_are_shared_by_gpus(self):
        live = self.daemon("4xV100", "fifo")
        one_processor = [min(os.sched_getaffinity(0))]  # weights count on each processor
        jobs = [self.burn(live, 1, one_processor, uid=ANN, gpus=3), self.burn(live, 4, one_processor, uid=BOB, gpus=1)]
        three, one = self.processors_of(live, jobs)
        Figures.add("limits", "processor time of a job with 3 GPUs / with 1 GPU and 4 times the processes", round(three / one, 2), "3")
        self.assertGreater(three / one, 2)
        self.end_all(live, jobs)


@unittest.skipUnless(IS_ROOT, "setpriv takes root")
class WithoutRootTest(LiveTest):
    def test_a_daemon_without_rights_reports_what_it_does_not_limit_and_serves(self):
        live = self.daemon("1xV100", "fifo", start=False)
        os.chown(live.base, ANN, ANN)
        live.arguments = ["setpriv", f"--reuid={ANN}", f"--regid={ANN}", "--clear-groups", *live.arguments]
        live.start()
        self.assertIn("fairlead: jobs are not limited in memory (--mem), processors (--cpus): ", live.said())
        job = live.submit(["sh", "-c", "echo ran"], uid=ANN, memory_mb=10, cpus=0.5)
        self.assertEqual(live.await_end(job)["state"], "finished")
        self.assertEqual(live.said().count("(--mem)"), 1)
        self.assertEqual(live.stop(), 0, live.said())
