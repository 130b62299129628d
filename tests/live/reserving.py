"""A reservation with real processes of two users: who works on the GPUs, also if the daemon is killed."""

import json
import random
import subprocess
import time
import unittest

from harness import IS_ROOT, Figures, LiveTest, Settings, until

ANN, BOB = 65534, 64321  # nobody, and one without an account
COUNT = "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done"


@unittest.skipUnless(IS_ROOT, "jobs of several users take root")
class ReservingTest(LiveTest):
    def setUp(self):
        super().setUp()
        self.live = self.daemon("4xV100", grace_s=2)

    def fairlead(self, *words):
        done = subprocess.run([Settings.programs / "fairlead", *words, "--socket", self.live.folder / "socket"],
                              capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    def working(self, jobs):
        """Returns how many of the jobs have processes that are not frozen."""
        running = 0
        for task in self.live.tasks():
            states = [state for _, state in task.descendants()]
            running += task.job in jobs and any(state not in "TZ" for state in states) and self.is_running(task.job)
        return running

    def is_running(self, job):
        return self.live.job(job)["state"] == "running"

    def await_working(self, jobs, count, limit_s=20):
        return until(lambda: self.working(jobs) == count, limit_s, f"{count} of {jobs} work")

    def test_the_holder_has_the_gpus_and_nobody_loses_work(self):
        bobs = [self.live.submit(["sh", "-c", COUNT], uid=BOB) for _ in range(4)]
        self.await_working(bobs, 4)
        start = time.monotonic()
        code, out = self.fairlead("reservations", "add", "-g", "3", "--from", "in 2s", "--for", "2h", "--user", "nobody")
        self.assertEqual((code, out), (0, "1\n"))
        self.await_working(bobs, 1)
        Figures.add("reservations", "from the request of a reservation in 2 s to free GPUs", f"{time.monotonic() - start:.1f} s")
        anns = [self.live.submit(["sh", "-c", COUNT], uid=ANN) for _ in range(3)]
        self.await_working(anns, 3)
        dice = random.Random(Settings.seed)
        for _ in range(Settings.either(3, 30)):
            self.live.kill()
            time.sleep(dice.random() / 2)
            self.live.start()
            self.await_working(anns, 3)
            self.assertLessEqual(self.working(bobs), 1)
        self.assertIn("3 V100 GPUs are reserved for nobody (reservation 1)", self.fairlead("gpus")[1])
        code, out = self.fairlead("reservations", "add", "-g", "2", "--for", "1h", "--user", "root")
        self.assertEqual(code, 2, out)
        self.assertIn("only 1 of 2 GPUs can be reserved all that time; 2 can for 1h from", out)
        self.assertEqual(self.fairlead("reservations", "cancel", "1"), (0, ""))
        self.assertEqual(self.fairlead("reservations")[1], "no GPUs are reserved\n")
        for job in anns:
            self.live.post(f"/v1/jobs/{job}/cancel")
        self.await_working(bobs, 4)
        for job in bobs:
            lines = [int(line) for line in self.live.output(job).split()]
            self.assertEqual(lines, list(range(1, len(lines) + 1)), "frozen, and never started again")
            self.live.post(f"/v1/jobs/{job}/cancel")
        self.assert_clean_end(self.live)

    def test_only_administrators_reserve(self):
        body = {"user": "nobody", "gpus": 1, "from_unix_ms": 0, "to_unix_ms": int(time.time() * 1000) + 10_000}
        self.assertEqual(self.live.ask("POST", "/v1/reservations", body, uid=ANN)[0], 403)
        self.assertEqual(self.live.ask("POST", "/v1/reservations", body)[0], 201)
        self.assertEqual(self.live.ask("POST", "/v1/reservations/1/cancel", uid=BOB)[0], 403)
        self.assertEqual(self.live.ask("POST", "/v1/reservations/1/cancel", uid=ANN)[0], 200)
        self.assertEqual(json.dumps(self.live.get("/v1/reservations")), '{"reservations": []}')
