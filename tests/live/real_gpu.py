"""Jobs on a real NVIDIA GPU, with the PyTorch of this Python: what the driver reports, and turns by freezing."""

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

    def submit(self, live, gb, steps):
        # The paths on which this Python finds its libraries.
        kept = [f"{name}={os.environ[name]}" for name in ("LD_LIBRARY_PATH", "PYTHONPATH") if name in os.environ]
        return live.submit([sys.executable, TRAIN, str(gb), str(steps)], environment=[DETERMINISTIC, *kept])

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
