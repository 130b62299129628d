"""A training run that moves from one type of GPU to another ends like one that never moved."""

import re
import time

from harness import Figures, LiveTest, Settings, until


class MovesTest(LiveTest):
    def losses(self, text):
        return dict(re.findall(r"epoch (\d+), step \d+: loss ([0-9.]+)", text))

    def train(self, live, steps, gpus=1, **more):
        file = live.work / f"checkpoint{time.monotonic_ns()}"
        command = [str(Settings.programs / "fairlead-trainer"), "--steps", str(steps), "--step-ms", "1", "--every", "1000000",
                   "--checkpoint", str(file)]
        return live.submit(command, gpus, **more)

    def await_progress(self, live, job):
        """Returns the GPU type on which it trains, and its step."""
        def look():
            lines = [text for task in live.tasks() if task.job == job for text in (task.folder / "progress").read_text().splitlines()]
            on = live.job(job)["on"]
            return (on[0]["node"], int(lines[-1].split()[0])) if on and len(lines) > 1 else None

        return until(look, 30, f"job {job} trains")

    def test_the_loss_goes_on_from_the_checkpoint(self):
        steps = Settings.either(8000, 60_000)
        live = self.daemon("2xV100,2xK80@0.5", "fifo:skip=true", grace_s=30)
        calm = self.train(live, steps, types=["V100"])
        moved = self.train(live, steps)
        took = []
        for i in range(Settings.either(2, 8)):
            node, done = self.await_progress(live, moved)
            live.post(f"/v1/jobs/{moved}/hold")
            live.post(f"/v1/nodes/{node}/cordon")
            start = time.monotonic()
            live.post(f"/v1/jobs/{moved}/release")
            until(lambda: live.output(moved).count("resumed at step") > i, 30, "it has moved")
            took.append(time.monotonic() - start)
            resumed = [int(step) for step in re.findall(r"resumed at step (\d+)", live.output(moved))]
            self.assertGreaterEqual(resumed[-1], done)
            live.post(f"/v1/nodes/{node}/uncordon")
        for job in (calm, moved):
            self.assertEqual(live.await_end(job, limit_s=300)["state"], "finished", live.output(job))
        self.assertGreaterEqual(live.job(moved)["restarts"], len(took))
        self.assertEqual(self.losses(live.output(moved)), self.losses(live.output(calm)))
        self.assertGreater(len(self.losses(live.output(calm))), 10)
        Figures.add("moves", f"losses of {len(self.losses(live.output(calm)))} epochs, moved {len(took)} times and not", "equal to the digit", "equal")
        Figures.add("moves", "released to resumed on other GPUs, ms: least / most", f"{1000 * min(took):.0f} / {1000 * max(took):.0f}")
        self.assert_clean_end(live)

    def test_a_gang_moves_as_one(self):
        live = self.daemon("2xV100,2xK80@0.5", "fifo:skip=true", grace_s=30)
        job = self.train(live, 5000, gpus=2, processes=2)
        node, _ = self.await_progress(live, job)
        live.post(f"/v1/jobs/{job}/hold")
        live.post(f"/v1/nodes/{node}/cordon")
        live.post(f"/v1/jobs/{job}/release")
        self.assertEqual(live.await_end(job, limit_s=120)["state"], "finished", live.output(job))
        self.assertEqual(live.output(job).count("resumed at step"), 1, live.output(job))
        self.assert_clean_end(live)
