"""The daemon measures jobs that report nothing: their optimizer steps, else their output."""

import sys

from harness import HERE, Figures, LiveTest, until

FAKES = HERE.parent / "hook" / "fake"  # stand-ins for torch, JAX and Keras
STEP_S = 0.01
TORCH = f"""
import time, torch
optimizer = torch.optim.SGD([])
while True:
    optimizer.step()
    time.sleep({STEP_S})
"""
JAX = f"""
import time, jax, optax
step = jax.jit(lambda params, grads: optax.apply_updates(params, grads))
while True:
    step([1.0], [0.5])
    time.sleep({STEP_S})
"""
PRINTS = """
import time
for step in range(1, 100000):
    time.sleep(0.1)
    print(f"step {step}/100000: loss 0.5", flush=True)
"""
REPORTS = TORCH.replace("import time", "import os, time").replace("while True:", """
reports = open(os.environ["FAIRLEAD_PROGRESS"], "a", buffering=1)
for i in range(10 ** 9):
    if i % 50 == 0:
        reports.write(f"{i // 5} 5000 batches\\n")""")


class MeasuringTest(LiveTest):
    def submit(self, live, script, **more):
        return live.submit([sys.executable, "-c", script], environment=[f"PYTHONPATH={FAKES}"], **more)

    def speed(self, live, job, sensor, limit_s=60):
        def measured():
            speed = live.job(job)["speed"]
            return speed if speed and speed["sensor"] == sensor else None

        return until(measured, limit_s, f"job {job} is measured by {sensor}")

    def why(self, live, job):
        return "\n".join(live.get(f"/v1/jobs/{job}/why")["lines"])

    def test_silent_jobs_are_measured(self):
        live = self.daemon("4xV100")
        torch, jax, reports, prints = (self.submit(live, script) for script in (TORCH, JAX, REPORTS, PRINTS))
        for job, name in ((torch, "torch"), (jax, "jax")):
            speed = self.speed(live, job, "hook")
            self.assertTrue(20 < speed["unit_per_s"] <= 1 / STEP_S, speed)
            self.assertIn("steps/s, measured from its optimizer steps", self.why(live, job))
            Figures.add("measuring", f"steps a second of a silent {name} loop of {STEP_S} s and its sleep", f"{speed['unit_per_s']:.1f}")
        speed = self.speed(live, reports, "reports")
        self.assertEqual(speed["unit"], "batches")
        self.assertIn("batches/s, measured from its progress reports", self.why(live, reports))
        speed = self.speed(live, prints, "output", 90)
        self.assertTrue(7 < speed["unit_per_s"] <= 10.5, speed)
        self.assertEqual(live.job(prints)["progress"]["total"], 100000)
        self.assertIn("steps/s, measured from its output", self.why(live, prints))
        live.kill()
        live.start()
        self.speed(live, torch, "hook")
        self.speed(live, jax, "hook")

    def test_a_job_without_the_hook_has_its_own_path(self):
        live = self.daemon("2xV100")
        script = "import os, sys; print(os.environ['PYTHONPATH'], 'Watcher' in str(sys.meta_path[0]))"
        hooked, without = self.submit(live, script), self.submit(live, script, hook=False)
        live.await_end(hooked)
        live.await_end(without)
        self.assertEqual(live.output(hooked), f"{live.folder / 'hook'}:{FAKES} True\n")
        self.assertEqual(live.output(without), f"{FAKES} False\n")
        other = self.daemon("1xV100", flags=["--no-hook"])
        job = self.submit(other, script)
        other.await_end(job)
        self.assertEqual(other.output(job), f"{FAKES} False\n")

    def test_a_job_that_is_not_python_gets_the_variable_alone(self):
        live = self.daemon("1xV100")
        job = live.submit(["sh", "-c", "env | grep -c PYTHON; env | grep PYTHON"])
        live.await_end(job)
        self.assertEqual(live.output(job), f"1\nPYTHONPATH={live.folder / 'hook'}\n")
