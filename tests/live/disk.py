"""A disk that is full: what was acknowledged stays, jobs run on, and with room all goes on."""

import contextlib
import os
import pathlib
import subprocess
import tempfile
import unittest

from harness import GONE, HERE, IS_ROOT, Figures, LiveTest, Settings, until


@unittest.skipUnless(IS_ROOT, "mounting a small disk takes root")
class FullDiskTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.mount = pathlib.Path(tempfile.mkdtemp(prefix="fl-disk-"))
        self.addCleanup(self.mount.rmdir)
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "fairlead", self.mount],
                                 capture_output=True, text=True, check=False)
        if mounted.returncode != 0:
            self.skipTest(f"no disk can be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "-l", self.mount], check=False)
        self.live = self.daemon("4xV100", folder=self.mount / "d")
        self.restarts = 0

    def fill(self):
        with contextlib.suppress(OSError), open(self.mount / "rest", "ab", buffering=0) as file:
            for size in (4096, 64, 1):
                with contextlib.suppress(OSError):
                    while True:
                        file.write(b"x" * size)

    def empty(self):
        (self.mount / "rest").unlink()

    def revive(self):
        """Restarts a daemon that ended, like systemd."""
        if not self.live.is_up():
            self.live.spawn()
            with contextlib.suppress(AssertionError):
                self.live.await_ready()
            self.restarts += 1

    def revive_for_good(self):
        """A daemon that met the full disk may be about to end; one that answers now is not."""
        def answers():
            self.revive()
            try:
                return self.live.ask("GET", "/healthz")[0] == 200
            except GONE:
                return False

        until(answers, 30, f"it answers: {self.live.said()}")

    def units(self, files):
        return sum(file.read_text().count("unit") for file in files)

    def test_nothing_that_was_acknowledged_is_lost(self):
        rounds = Settings.either(3, 20)
        acknowledged, refused = set(), 0
        # Five for four GPUs: turns go on, and the journal must record them.
        files = [self.live.work / f"long{i}" for i in range(5)]
        long = [self.live.submit([str(HERE / "count.sh"), str(file), "1000000", "0.05", "0"]) for file in files]
        until(lambda: all(file.exists() for file in files), 30, f"all have started: {self.live.said()}")
        for i in range(rounds):
            self.fill()
            for _ in range(20):
                file = self.live.work / f"short{len(acknowledged)}"
                body = self.live.request_for([str(HERE / "count.sh"), str(file), "1", "0.01", "0"], name=file.name)
                try:
                    status, answer = self.live.ask("POST", "/v1/jobs", body)
                except GONE:
                    status = 503
                if status == 201:
                    acknowledged.add(answer["id"])
                    continue
                refused += 1
                self.assertEqual(status, 503)
                self.revive()
            self.assertGreater(refused, i, "the disk was not full")
            units = self.units(files)
            until(lambda: self.units(files) > units + 40, 20, "jobs run on")
            self.empty()
            self.revive_for_good()
            listed = {job["id"] for job in self.live.jobs()}
            self.assertLessEqual(acknowledged, listed)
            self.live.submit(["true"])
        for job in acknowledged:
            self.assertEqual(self.live.await_end(job)["state"], "finished")
        for job, file in zip(long, files):
            self.assertEqual(file.read_text().count("start"), 1)
            self.live.post(f"/v1/jobs/{job}/cancel")
        self.assert_clean_end(self.live)
        Figures.add("full disk", "times full / submissions refused / daemon started again", f"{rounds} / {refused} / {self.restarts}")
        Figures.add("full disk", "jobs acknowledged / lost", f"{len(acknowledged) + rounds + len(long)} / 0", "n / 0")

    def test_a_job_that_ends_meanwhile_has_ended(self):
        """Its exit code needs room on the disk, too."""
        for daemon_lives in (True, False):
            go, again = self.live.work / f"go{daemon_lives}", self.live.work / f"again{daemon_lives}"
            job = self.live.submit(["sh", "-c", f"echo started >>{again}; while [ ! -e {go} ]; do sleep 0.02; done; exit 5"])
            until(again.exists, 20)
            task, = self.live.tasks()
            if not daemon_lives:
                self.live.kill()
            self.fill()
            go.touch()
            until(lambda: not self.live.tasks() or not task.folder.exists(), 20, "it has ended")
            self.empty()
            self.revive_for_good()
            ended = self.live.await_end(job)
            self.assertEqual((ended["state"], ended["exit_code"]), ("failed", 5), ended)
            self.assertEqual(again.read_text(), "started\n")
