"""The daemon measures jobs that report nothing: their optimizer steps, else their output."""

import os
import subprocess
import sys

from harness import HERE, Figures, LiveTest, Settings, until

FAKES = HERE.parent / "hook" / "fake"  # stand-ins for torch, JAX and Keras
STEP_S = 0.01
TORCH = f"""
import time, torch
optimizer = torch.optim.SGD([])
while True:
    optimizer.step()
    time.sleep({STEP_S})
"""
PROFILED = TORCH.replace("SGD([])", "SGD([torch.nn.Parameter(numbers) for numbers in (2_048_000, 30_000)])").replace(
    "while True:", "batches = iter(torch.utils.data.DataLoader(range(64), batch_size=16))\nwhile True:")
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

    def profile(self, live, model):
        return next((row["profile"] for row in live.get("/v1/models")["models"] if row["model"] == model), None)

    def test_the_profile_of_a_silent_job_is_seen_and_kept(self):
        live = self.daemon("2xV100")
        self.submit(live, PROFILED, model="net")
        profile = until(lambda: self.profile(live, "net"), 60, "the profile is seen")
        self.assertGreater(profile.pop("step_ms"), 1000 * STEP_S - 1)
        self.assertEqual(profile, {"parameters_mb": 8.312, "gradients_mb": 8.312, "largest_tensor_mb": 8.192,
                                   "workers": 1, "samples": 16})
        environment = {**os.environ, "FAIRLEAD_SOCKET": str(live.folder / "socket")}
        listed = subprocess.run([Settings.programs / "fairlead", "models", "learned"], env=environment, capture_output=True,
                                text=True, check=True)
        self.assertRegex(listed.stdout, r"net +8\.3 MB +8\.2 MB +1 +16\n")
        live.kill()
        live.start()
        self.assertEqual(self.profile(live, "net")["gradients_mb"], 8.312)
        self.assertEqual([record["kind"] for record in live.records()].count("profiled"), 1)

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
