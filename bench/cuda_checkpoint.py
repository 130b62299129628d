#!/usr/bin/env python3
"""Tries whether NVIDIA's driver can take a training job off its GPU and put it back, without the job's help.

    cuda_checkpoint.py [--gb 1,4,16] [--fraction 0.7] [--swaps 10] [--steps 4000] [--framework torch|jax]

Needs a GPU, its driver from 570 on, and PyTorch or JAX. Prints

- the seconds in which a job with so many GB leaves the GPU and returns (lock, checkpoint, restore, unlock);
- whether two jobs, each with a fraction of the memory, compute the same losses in turns as alone, to the bit. A job
  off the GPU is also stopped (SIGSTOP).

Source of the calls: CUDA driver API, Checkpointing (cuCheckpointProcess*)."""

import argparse
import atexit
import ctypes
import os
import pathlib
import signal
import subprocess
import sys
import time

GB = 10**9
RUNNING, CHECKPOINTED = 0, 2  # CUprocessState
LOCK_TIMEOUT_MS = 10_000
LINES = 42  # that a job prints: "ready", 40 losses, a checksum of its memory
TRAIN = pathlib.Path(__file__).resolve().parent.parent / "tests/live/gpu_train.py"
JAX = """
import os, sys
os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
os.environ["XLA_FLAGS"] = "--xla_gpu_deterministic_ops=true"
import jax, jax.numpy as jnp
gb, steps = float(sys.argv[1]), int(sys.argv[2])
parts = max(1, int(gb * 1e9 / 4) >> 28)
ballast = [jax.random.bits(jax.random.key(i), (int(gb * 1e9 / 4) // parts,), "uint32") for i in range(parts)]
key = jax.random.key(1)
w = jax.random.normal(key, (1024, 1024)) * 0.02
@jax.jit
def train(w, key):
    x = jax.random.normal(key, (2048, 1024))
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(x @ w) - x) ** 2))(w)
    return w - 0.1 * grad, loss
print("ready", flush=True)
for step in range(steps):
    key, part = jax.random.split(key)
    w, loss = train(w, part)
    if step % (steps // 40) == 0:
        print("loss", float(loss).hex(), flush=True)
print("sum", sum(int(part.sum()) for part in ballast), flush=True)
"""


class Driver:
    """The calls of libcuda that act on another process. The four that change it return the seconds that they took."""

    def __init__(self):
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._check("cuInit", 0)

    def version(self):
        version = ctypes.c_int()
        self._check("cuDriverGetVersion", ctypes.byref(version))
        return f"{version.value // 1000}.{version.value % 1000 // 10}"

    def lock(self, pid):
        arguments = (ctypes.c_uint64 * 8)(LOCK_TIMEOUT_MS)  # CUcheckpointLockArgs: the timeout is its first field
        return self._check("cuCheckpointProcessLock", pid, arguments)

    def checkpoint(self, pid):
        return self._check("cuCheckpointProcessCheckpoint", pid, None)

    def restore(self, pid):
        return self._check("cuCheckpointProcessRestore", pid, None)

    def unlock(self, pid):
        return self._check("cuCheckpointProcessUnlock", pid, None)

    def state(self, pid):
        state = ctypes.c_int()
        self._check("cuCheckpointProcessGetState", pid, ctypes.byref(state))
        return state.value

    def _check(self, name, *arguments):
        start = time.monotonic()
        status = getattr(self._cuda, name)(*arguments)
        if status != 0:
            text = ctypes.c_char_p()
            self._cuda.cuGetErrorName(status, ctypes.byref(text))
            raise OSError(f"{name}: {text.value.decode() if text.value else status}")
        return time.monotonic() - start


class Job:
    """A training process and the lines that it printed."""

    def __init__(self, framework, gb, steps):
        script = {"torch": [str(TRAIN)], "jax": ["-c", JAX]}[framework]
        environment = os.environ | {"CUBLAS_WORKSPACE_CONFIG": ":4096:8"}
        self.program = subprocess.Popen([sys.executable, *script, str(gb), str(steps)], text=True,
                                        stdout=subprocess.PIPE, env=environment)
        self.lines = []
        atexit.register(self.kill)

    @property
    def pid(self):
        return self.program.pid

    def read_line(self):
        line = self.program.stdout.readline()
        if not line:
            raise RuntimeError(f"the job ended with {self.program.wait()} after {self.lines}")
        self.lines.append(line.strip())

    def read_rest(self):
        while len(self.lines) < LINES:
            self.read_line()
        self.program.wait()
        return self.lines

    def kill(self):
        self.program.kill()
        self.program.wait()


def host_gb(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS")) * 1024 / GB


def gpu_gb():
    """Returns the used and the whole memory of the GPU."""
    text = subprocess.run(["nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"],
                          capture_output=True, text=True, check=True).stdout
    return [int(part) * 1024 * 1024 / GB for part in text.splitlines()[0].split(",")]


def leave(driver, job):
    """Takes a job off its GPU and stops it. Returns the seconds of each call."""
    lock_s, checkpoint_s = driver.lock(job.pid), driver.checkpoint(job.pid)
    assert driver.state(job.pid) == CHECKPOINTED
    os.kill(job.pid, signal.SIGSTOP)
    return lock_s, checkpoint_s


def come_back(driver, job):
    """Puts a job back on its GPU. Returns the seconds of each call."""
    os.kill(job.pid, signal.SIGCONT)
    restore_s = driver.restore(job.pid)
    unlock_s = driver.unlock(job.pid)
    assert driver.state(job.pid) == RUNNING
    return restore_s, unlock_s


def measure(driver, framework, gb, repeats=3):
    job = Job(framework, gb, 10**7)
    try:
        job.read_line()
        for _ in range(repeats):
            time.sleep(0.5)
            used_gb = gpu_gb()[0]
            away = leave(driver, job)
            left_gb, in_host_gb = gpu_gb()[0], host_gb(job.pid)
            back = come_back(driver, job)
            print(f"{framework} {gb} GB: on the GPU {used_gb:.1f} GB, then {left_gb:.1f}, in the host {in_host_gb:.1f}; "
                  f"lock {away[0]:.2f} s, checkpoint {away[1]:.2f} s ({(used_gb - left_gb) / away[1]:.1f} GB/s), "
                  f"restore {back[0]:.2f} s ({(used_gb - left_gb) / back[0]:.1f} GB/s), unlock {back[1]:.2f} s", flush=True)
    finally:
        job.kill()


def take_turns(driver, framework, fraction, swaps, steps):
    whole_gb = gpu_gb()[1]
    gb = whole_gb * fraction - 1.0  # the context and the model have the rest
    start = time.monotonic()
    alone = Job(framework, gb, steps).read_rest()
    alone_s = time.monotonic() - start
    print(f"{framework}, each {fraction:.0%} of {whole_gb:.0f} GB: alone {alone_s:.1f} s", flush=True)
    start = time.monotonic()
    jobs = [Job(framework, gb, steps)]
    seconds = []
    try:
        jobs[0].read_line()
        for turn in range(swaps):
            on = jobs[turn % 2]
            on.read_line()
            begin = time.monotonic()
            leave(driver, on)
            if len(jobs) == 1:
                jobs.append(Job(framework, gb, steps))
                jobs[1].read_line()
            else:
                come_back(driver, jobs[(turn + 1) % 2])
                seconds.append(time.monotonic() - begin)
                print(f"swap {turn + 1} of {swaps}: {seconds[-1]:.1f} s; host memory of both {host_gb(jobs[0].pid) + host_gb(jobs[1].pid):.1f} GB", flush=True)
        last = swaps % 2
        results = {last: jobs[last].read_rest()}
        come_back(driver, jobs[1 - last])
        results[1 - last] = jobs[1 - last].read_rest()
    finally:
        for job in jobs:
            job.kill()
    for i in (0, 1):
        print(f"job {i}: {'equal' if results[i] == alone else 'DIFFERENT'} losses and memory after {swaps} swaps in {time.monotonic() - start:.0f} s")
    if seconds:
        print(f"a swap takes {min(seconds):.1f} to {max(seconds):.1f} s, {2 * gb / (sum(seconds) / len(seconds)):.1f} GB/s both ways", flush=True)
    return results[0] == results[1] == alone


def end(number, frame):
    sys.exit(128 + number)  # so that the jobs are killed


def main():
    signal.signal(signal.SIGTERM, end)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gb", default="1,4,16", help="sizes of the jobs that leave and return; empty: none")
    parser.add_argument("--fraction", type=float, default=0.7, help="of the GPU's memory, for each of two jobs; 0: none")
    parser.add_argument("--swaps", type=int, default=10)
    parser.add_argument("--steps", type=int, default=4000, help="of each of the two jobs")
    parser.add_argument("--framework", choices=("torch", "jax"), default="torch")
    given = parser.parse_args()
    driver = Driver()
    print(f"CUDA driver API {driver.version()}")
    for gb in filter(None, given.gb.split(",")):
        measure(driver, given.framework, float(gb))
    if given.fraction and not take_turns(driver, given.framework, given.fraction, given.swaps, given.steps):
        sys.exit(1)


if __name__ == "__main__":
    main()
