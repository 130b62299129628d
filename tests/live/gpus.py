"""Foreign processes on the GPUs, reported by a played driver (fairlead/io/testing_nvml.cc)."""

import os
import subprocess
import unittest

from harness import LiveTest, Settings, until


class GpusTest(LiveTest):
    def setUp(self):
        super().setUp()
        library = Settings.programs / "modules/io/libfl_testing_nvml.so"
        if not library.exists():
            raise unittest.SkipTest(f"{library} is not built")
        if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
            raise unittest.SkipTest("a container, in which the driver's processes are not found")
        self.live = self.daemon(None, "fifo", start=False)
        libraries = self.live.base / "lib"
        libraries.mkdir()
        (libraries / "libnvidia-ml.so.1").symlink_to(library)
        self.says = self.live.base / "nvml"
        self.live.environment |= {"LD_LIBRARY_PATH": str(libraries), "FAIRLEAD_TESTING_NVML": str(self.says)}
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
        environment = {**os.environ, "FAIRLEAD_SOCKET": str(live.folder / "socket")}
        for command in (["ps"], ["gpus"], ["why", str(more)]):
            told = subprocess.run([Settings.programs / "fairlead", *command], env=environment, capture_output=True, text=True, check=True)
            self.assertIn(f"(pid {other.pid}) is not a Fairlead job", told.stdout, command)
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
