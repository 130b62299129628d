"""What played drivers report of GPUs and of foreign processes (fairlead/io/testing_nvml.cc, testing_rocm_smi.cc)."""

import json
import os
import subprocess
import time
import unittest

from harness import IS_ROOT, LiveTest, Settings, play_driver, until

ANN = 65534  # nobody


class PlayedDriver(LiveTest):
    POLICY, FLAGS = "fifo", ()

    def setUp(self):
        super().setUp()
        if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
            raise unittest.SkipTest("a container, in which the driver's processes are not found")
        self.live = self.daemon(None, self.POLICY, flags=self.FLAGS, start=False)
        self.says = play_driver(self.live, "nvml", "libnvidia-ml.so.1")
        self.say()
        self.live.start()

    def say(self, *processes, busy=50):
        lines = [f"gpu GPU-a {busy} NVIDIA A100-SXM4-80GB", f"gpu GPU-b {busy} NVIDIA A100-SXM4-80GB"]
        lines += [f"process {gpu} {pid}" for gpu, pid in processes]
        part = self.live.base / "nvml.part"
        part.write_text("\n".join(lines) + "\n")
        part.replace(self.says)

    def gpu(self, index):
        return self.live.get("/v1/cluster")["nodes"][0]["gpus"][index]

    def fairlead(self, *words):
        environment = {**os.environ, "FAIRLEAD_SOCKET": str(self.live.folder / "socket")}
        return subprocess.run([Settings.programs / "fairlead", *words], env=environment, capture_output=True, text=True, check=True).stdout


class DriversTest(LiveTest):
    """Each driver has its own variable for the GPUs of a program. What a shell had selected does not count."""
    OWN = ["CUDA_VISIBLE_DEVICES=3", "HIP_VISIBLE_DEVICES=3"]

    def selected(self, name, loaded_as, says, gpu_type):
        live = self.daemon(None, "fifo", flags=(), start=False)
        play_driver(live, name, loaded_as).write_text(says)
        live.start()
        self.assertEqual([node["type"] for node in live.get("/v1/cluster")["nodes"]], [gpu_type])
        job = live.submit(["sh", "-c", "env | grep '^[A-Z]*_VISIBLE_DEVICES='; true"], gpus=2, environment=self.OWN)
        live.await_end(job)
        return live.output(job).strip()

    def test_amd(self):
        says = "".join(f"gpu {255 + i} 0 68702699520 0 0 AMD Instinct MI250X\n" for i in range(2))
        self.assertEqual(self.selected("rocm_smi", "librocm_smi64.so.7", says, "MI250X"),
                         "ROCR_VISIBLE_DEVICES=GPU-00000000000000ff,GPU-0000000000000100")

    def test_instances_of_a_divided_gpu(self):
        says = "gpu GPU-a 0 NVIDIA A100-SXM4-40GB\n" + "".join(
            f"mig MIG-{i} GPU-a {i} 0 NVIDIA A100-SXM4-40GB MIG 3g.20gb\n" for i in (1, 2))
        self.assertEqual(self.selected("nvml", "libnvidia-ml.so.1", says, "A100-3g.20gb"), "CUDA_VISIBLE_DEVICES=MIG-1,MIG-2")


class GpusTest(PlayedDriver):
    def test_a_process_of_no_job_takes_its_gpu_out_until_it_ends(self):
        live = self.live
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.kill)
        self.say(("GPU-b", other.pid))
        until(lambda: self.gpu(1)["state"] == "down", 20)
        self.assertEqual(self.gpu(1)["foreign"][0]["pid"], other.pid)
        job = live.submit(["sh", "-c", "echo $CUDA_VISIBLE_DEVICES; exec sleep 600"])
        live.await_state(job, "running")
        until(lambda: "GPU-a" in live.output(job), 10)
        more = live.submit(["true"])
        for command in (["ps"], ["gpus"], ["why", str(more)]):
            self.assertIn(f"(pid {other.pid}) is not a Fairlead job", self.fairlead(*command), command)
        # The job's own process does not count as foreign.
        pid = next(pid for pid, variables in live.processes().items() if variables.get("FAIRLEAD_JOB_ID") == str(job))
        self.say(("GPU-a", pid), ("GPU-b", other.pid))
        self.assertEqual(live.job(more)["state"], "waiting")
        self.say(("GPU-a", pid))
        self.assertEqual(live.await_end(more)["state"], "finished")
        self.assertEqual(self.gpu(0)["foreign"], [])
        # But it does on a GPU that the job was not given.
        self.say(("GPU-a", pid), ("GPU-b", pid))
        until(lambda: self.gpu(1)["state"] == "down", 20)
        self.assertEqual([process["job"] for process in self.gpu(1)["foreign"]], [job])
        live.post(f"/v1/jobs/{job}/cancel")
        self.assert_clean_end(live)


@unittest.skipUnless(IS_ROOT, "processes of several users take root")
class ChargedTest(PlayedDriver):
    POLICY, FLAGS = "gang-stride:quantum_s=1", ("--foreign", "charge")

    def foreign_s(self, user):
        return sum(use["gpu_s"] for use in self.live.get("/v1/usage?last_s=100000")["usage"] if use["foreign"] and use["user"] == user)

    def jobs_s(self, user):
        return sum(use["gpu_s"] for use in self.live.get("/v1/usage?last_s=100000")["usage"] if not use["foreign"] and use["user"] == user)

    def take_for(self, seconds, uid):
        """Lets a process of the user compute on GPU 1, and returns the GPU-seconds that are charged for it."""
        before = self.foreign_s("nobody")
        other = subprocess.Popen(["sleep", "600"], user=uid, group=uid, extra_groups=[])
        self.addCleanup(other.kill)
        self.say(("GPU-b", other.pid))
        until(lambda: self.gpu(1)["foreign"], 20)
        self.assertEqual(self.gpu(1)["foreign"][0]["remark"], "is not a Fairlead job, and nobody is charged for the GPU")
        time.sleep(seconds)
        self.say()
        other.kill()
        other.wait()
        until(lambda: not self.gpu(1)["foreign"], 20)
        return until(lambda: self.foreign_s("nobody") - before, 20)

    def test_a_user_without_jobs_is_charged_and_a_killed_daemon_forgets_nothing(self):
        charged = self.take_for(15, ANN)
        self.assertGreater(charged, 10)
        self.assertLess(charged, 30)
        for _ in range(2):
            self.assertIn("nobody", self.fairlead("users"))
            usage = self.fairlead("usage", "--since", "1.day")
            self.assertRegex(usage, r"(?m)^USER +GPU HOURS +SHARE +FOREIGN$")
            self.assertRegex(usage, r"(?m)^nobody +0\.0[01] +100\.0 % +0\.0[01]$")
            self.assertEqual(self.foreign_s("nobody"), charged)
            self.live.kill()
            self.live.start()
        self.live.stop()
        # It has no end, which the exit code of the dump shows.
        dump = subprocess.run([Settings.programs / "fairlead", "journal", "dump", self.live.folder], capture_output=True, text=True, check=False)
        lines = dump.stdout.splitlines()
        records = [record for record in map(json.loads, lines) if record["kind"] == "charged"]
        self.assertEqual(sum(record["attained_gpu_ms"] for record in records) / 1000, charged)

    def test_shares_count_the_time(self):
        jobs = [self.live.submit(["sh", "-c", "while :; do sleep 0.05; done"], uid=uid) for uid in (ANN, 0) for _ in range(2)]
        for job in jobs:
            self.live.await_state(job, "running")
        charged = self.take_for(15, ANN)
        self.assertGreater(charged, 10)
        began = {user: self.jobs_s(user) for user in ("nobody", "root")}
        time.sleep(8)  # on both GPUs: less than the time in which root catches up
        got = {user: self.jobs_s(user) - began[user] for user in began}
        self.assertGreater(got["root"], 5 * got["nobody"], got)
        for job in jobs:
            self.live.post(f"/v1/jobs/{job}/cancel")
        for job in jobs:
            self.live.await_end(job)
