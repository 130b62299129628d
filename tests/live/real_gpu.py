"""Jobs on a real NVIDIA GPU, with the PyTorch of this Python: what the driver reports, turns by freezing, stated memory."""

import os
import re
import subprocess
import sys
import time
import unittest

from harness import HERE, Figures, LiveTest, Settings, until

TRAIN = str(HERE / "gpu_train.py")  # nothing in it is for Fairlead
HOLDS = """
import time, torch
memory = torch.ones(int(2e9 / 4), device="cuda")
torch.cuda.synchronize()
print("holds", flush=True)
time.sleep(600)
"""
# Trains for some steps with a memory of its own, and saves them when it is asked to end: FILE GB STEPS.
SAVES = """
import os, signal, sys, time
import torch
file, gb, steps = sys.argv[1], float(sys.argv[2]), int(sys.argv[3])
step, is_asked = int(open(file).read()) if os.path.exists(file) else 0, False
def on_term(number, frame):
    global is_asked
    is_asked = True
signal.signal(signal.SIGTERM, on_term)
memory = torch.ones(int(gb * 1e9 / 4), device="cuda")
x = torch.randn(2048, 2048, device="cuda")
while step < steps and not is_asked:
    y = x @ x
    torch.cuda.synchronize()
    step += 1
with open(file, "w") as out:
    out.write(str(step))
print("ends after", step, flush=True)
sys.exit(143 if is_asked else 0)
"""
# Deterministic matrix products.
DETERMINISTIC = "CUBLAS_WORKSPACE_CONFIG=:4096:8"


def has_gpu():
    script = "import sys, torch; sys.exit(0 if torch.cuda.is_available() else 1)"
    return os.path.exists("/dev/nvidiactl") and subprocess.run([sys.executable, "-c", script], stderr=subprocess.DEVNULL, check=False).returncode == 0


@unittest.skipUnless(has_gpu(), "no NVIDIA GPU, or no PyTorch that sees it")
class RealGpuTest(LiveTest):
    def gpus(self, live):
        return [gpu for node in live.get("/v1/cluster")["nodes"] for gpu in node["gpus"]]

    def show(self, live, *arguments):
        environment = os.environ | {"FAIRLEAD_SOCKET": str(live.folder / "socket")}
        done = subprocess.run([Settings.programs / "fairlead", *arguments], env=environment, capture_output=True, text=True, check=True)
        print(f"\n$ fairlead {' '.join(arguments)}\n{done.stdout}", flush=True)

    def memory_mb(self):
        return subprocess.run(["nvidia-smi", "--query-compute-apps=pid,used_memory", "--format=csv,noheader"], capture_output=True, text=True, check=True).stdout

    def submit_python(self, live, *arguments, **more):
        # The paths on which this Python finds its libraries.
        kept = [f"{name}={os.environ[name]}" for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if name in os.environ]
        return live.submit([sys.executable, *map(str, arguments)], environment=[DETERMINISTIC, *kept], **more)

    def submit(self, live, gb, steps, **more):
        return self.submit_python(live, TRAIN, gb, steps, **more)

    def test_a_process_of_no_job_takes_the_gpu_out(self):
        live = self.daemon(None, "fairlead:resident=true")
        self.show(live, "gpus")
        self.assertTrue(all(gpu["state"] == "idle" for gpu in self.gpus(live)), self.gpus(live))
        other = subprocess.Popen([sys.executable, "-c", HOLDS], stdout=subprocess.PIPE, text=True)
        self.addCleanup(other.kill)
        self.assertEqual(other.stdout.readline(), "holds\n")
        start = time.monotonic()
        until(lambda: any(gpu["state"] == "down" for gpu in self.gpus(live)), 60, "the GPU of the other process is down")
        Figures.add("real GPU", "seconds until a process of no job is seen", f"{time.monotonic() - start:.1f}")
        self.show(live, "gpus")
        job = self.submit(live, 1, 200)
        if len(self.gpus(live)) == 1:
            self.assertEqual(live.job(job)["state"], "waiting")
            self.show(live, "why", str(job))
        other.kill()
        other.wait()
        start = time.monotonic()
        self.assertEqual(live.await_end(job, 120)["state"], "finished", live.output(job))
        Figures.add("real GPU", "seconds from its end to the end of a job that waited", f"{time.monotonic() - start:.1f}")
        self.assert_clean_end(live)

    def test_jobs_take_turns_and_compute_the_same(self):
        steps = Settings.either(20_000, 100_000)
        start = time.monotonic()
        alone = subprocess.run([sys.executable, TRAIN, "8", str(steps)], env=os.environ | dict([DETERMINISTIC.split("=", 1)]), capture_output=True, text=True, check=True).stdout
        alone_s = time.monotonic() - start
        live = self.daemon(None, "gandiva-fair:quantum_s=2,resident=true")
        start = time.monotonic()
        gpus = len(self.gpus(live))
        jobs = [self.submit(live, 8, steps) for _ in range(2 * gpus)]
        until(lambda: len(self.memory_mb().splitlines()) == len(jobs), 120, "the memory of all jobs is on the GPUs")
        print(self.memory_mb(), flush=True)
        speed = until(lambda: live.job(jobs[0])["speed"], 60, "a job is measured")
        self.assertEqual(speed["sensor"], "hook")
        self.show(live, "why", str(jobs[0]))
        self.show(live, "gpus")
        for job in jobs:
            self.assertEqual(live.await_end(job, 300)["state"], "finished", live.output(job))
            self.assertEqual(re.findall("loss .*|sum .*", live.output(job)), re.findall("loss .*|sum .*", alone))
        took_s = time.monotonic() - start
        stops = sum(record["kind"] == "stop" for record in live.records())
        Figures.add("real GPU", f"seconds of {len(jobs)} jobs that take turns on {gpus} GPU, {stops} times; of one alone", f"{took_s:.1f}, {alone_s:.1f}")
        self.assertGreater(stops, 4)
        self.assert_clean_end(live)

    def test_a_job_that_nothing_measures_has_the_load_of_its_gpu(self):
        live = self.daemon(None)
        job = self.submit(live, 1, 10**6, hook=False)
        load = until(lambda: next((load for load in [live.job(job)["load"]] if load and load["busy_percent"] > 20), None), 120, "the driver reports a load over 20 %")
        self.assertIsNone(live.job(job)["speed"])
        self.show(live, "why", str(job))
        self.assertGreater(load["power_w"], 0)
        live.post(f"/v1/jobs/{job}/cancel")
        live.await_end(job)

    def test_stated_memory_stays_free_for_its_job(self):
        whole_mb = sum(int(line) for line in subprocess.run(["nvidia-smi", "--query-gpu=memory.total", "--format=csv,noheader,nounits", "--id=0"], capture_output=True, text=True, check=True).stdout.split())
        live = self.daemon(None, "gandiva-fair:quantum_s=2,resident=true")
        if len(self.gpus(live)) > 1:
            self.skipTest("the jobs of this test fill one GPU")

        def stated(part):
            return {"gpu_memory_mb": int(part * whole_mb)}

        saves = self.submit_python(live, "-c", SAVES, live.work / "saved", 8, 10**5, **stated(0.4))
        until(lambda: live.job(saves)["moves"] is True, 60, "the job is seen to save its work")
        stays = self.submit(live, 8, Settings.either(20_000, 100_000), **stated(0.4))
        until(lambda: len(self.memory_mb().splitlines()) == 2, 120, "both jobs have their memory on the GPU")
        large = self.submit(live, 8, 2_000, **stated(0.5))
        until(lambda: live.job(large)["state"] == "running", 120, "the job that can save makes room for the large one")
        self.assertTrue((live.work / "saved").exists())
        self.show(live, "gpus")
        huge = self.submit(live, 8, 2_000, **stated(0.9))
        until(lambda: "of memory free" in "".join(live.get(f"/v1/jobs/{huge}/why")["lines"]), 60, "the job that fits beside none is held")
        self.show(live, "why", str(huge))
        status, answer = live.ask("POST", "/v1/jobs", live.request_for(["true"], **stated(2)))
        self.assertEqual(status, 400, answer)
        for job in (stays, large, huge, saves):
            self.assertEqual(live.await_end(job, 300)["state"], "finished", live.output(job))
        self.assertEqual(live.output(saves).count("ends after"), 2)
        self.assert_clean_end(live)
