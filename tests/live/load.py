"""Many submissions at once, and many jobs that wait."""

import contextlib
import json
import os
import selectors
import socket
import statistics
import time
import unittest

from harness import IS_ROOT, Figures, LiveTest, Settings, quantile, until

CONNECTIONS = 50
TURNS = "fairlead:resident=true,patience_s=60,job_patience_s=3600,copies=0,notes=true"  # serve's default on one machine


class Submitter:
    """A connection that submits again as soon as its last request was answered."""

    def __init__(self, path, count, body):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        self.left, self.ids, self.latencies, self.received = count, [], [], b""
        self.request = b"POST /v1/jobs HTTP/1.1\r\nHost: l\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)

    def ask(self):
        self.start = time.perf_counter()
        self.socket.sendall(self.request)

    def on_bytes(self):
        """Returns true once it is done."""
        self.received += self.socket.recv(65536)
        head, gap, body = self.received.partition(b"\r\n\r\n")
        length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
        if not gap or len(body) < length:
            return False
        self.latencies.append(time.perf_counter() - self.start)
        assert b" 201 " in head.split(b"\r\n")[0], self.received
        self.ids.append(json.loads(body)["id"])
        self.received = b""
        self.left -= 1
        if self.left > 0:
            self.ask()
        return self.left == 0


def submit_many(path, connections, each, body):
    """Returns the ids, and the time of each acknowledgement."""
    with contextlib.ExitStack() as stack, selectors.DefaultSelector() as selector:
        submitters = [Submitter(path, each, body) for _ in range(connections)]
        for submitter in submitters:
            stack.callback(submitter.socket.close)
            selector.register(submitter.socket, selectors.EVENT_READ, submitter)
            submitter.ask()
        left = connections
        while left > 0:
            ready = selector.select(60)
            assert ready, "no answer in a minute"
            for key, _ in ready:
                left -= key.data.on_bytes()
    return [job for s in submitters for job in s.ids], [latency for s in submitters for latency in s.latencies]


def sync_ms(folder, count=100):
    """Measures the time to sync a file on this disk; median and p99."""
    took = []
    for i in range(count):
        start = time.perf_counter()
        descriptor = os.open(folder / "probe", os.O_WRONLY | os.O_CREAT)
        os.write(descriptor, b"x" * 300)
        os.fsync(descriptor)
        os.close(descriptor)
        took.append(1000 * (time.perf_counter() - start))
    return quantile(took, 0.5), quantile(took, 0.99)


def ms(latencies):
    return f"{1000 * quantile(latencies, 0.5):.1f} / {1000 * quantile(latencies, 0.99):.1f}"


class LoadTest(LiveTest):
    def body(self, live, command=("true",), **more):
        return json.dumps(live.request_for(command, **more)).encode()

    def test_submissions_at_once(self):
        live = self.daemon("2xV100")
        # One job has all GPUs, so that the measurement is of accepting, not of running.
        live.post(f"/v1/jobs/{live.submit(['sleep', '1000'], 2)}/hold")
        for node in live.get("/v1/cluster")["nodes"]:
            live.post(f"/v1/nodes/{node['name']}/cordon")
        path = str(live.folder / "socket")
        _, alone = submit_many(path, 1, 300, self.body(live))
        median, p99 = sync_ms(live.work)
        start = time.monotonic()
        ids, crowded = submit_many(path, CONNECTIONS, 1000 // CONNECTIONS, self.body(live))
        took = time.monotonic() - start
        self.assertEqual(len(ids), 1000)
        self.assertEqual(len(set(ids)), 1000)
        self.assertLessEqual(set(ids), {job["id"] for job in live.jobs()})
        live.kill()
        live.start()
        self.assertLessEqual(set(ids), {job["id"] for job in live.jobs()})
        Figures.add("load", "a file written and synced on this disk, ms: p50 / p99", f"{median:.1f} / {p99:.1f}")
        Figures.add("load", "acknowledgement alone, ms: p50 / p99", ms(alone), "p99 < 5 (release)")
        Figures.add("load", "the same of 1,000 from 50 connections, ms: p50 / p99", ms(crowded))
        Figures.add("load", "submissions acknowledged a second", f"{1000 / took:.0f}")
        Figures.add("load", "submissions acknowledged / lost after SIGKILL", "1,000 / 0", "n / 0")

    @unittest.skipUnless(IS_ROOT, "jobs of several users take root")
    def test_a_new_users_first_job_beside_many(self):
        waiting, most_s = Settings.either(200, 5000), 120
        live = self.daemon("4xV100", TURNS)
        before = live.cpu_s()
        submit_many(str(live.folder / "socket"), CONNECTIONS, waiting // CONNECTIONS, self.body(live, ("sleep", "100000")))
        Figures.add("load", f"{waiting:,} submissions: processor time of each, ms", f"{1000 * (live.cpu_s() - before) / waiting:.1f}")
        start = time.monotonic()
        job = live.submit(["sleep", "100000"], uid=65534)
        until(lambda: live.job(job)["state"] == "running", most_s, "it runs")
        Figures.add("load", f"a new user's first job beside {waiting:,} of another user: s until it runs",
                    f"{time.monotonic() - start:.1f}", f"<= {most_s}")

    def test_a_start_while_many_wait(self):
        waiting = Settings.either(1000, 10_000)
        live = self.daemon("4xV100", TURNS)
        submit_many(str(live.folder / "socket"), CONNECTIONS, waiting // CONNECTIONS, self.body(live, ("sleep", "100000")))
        live.kill()
        start = time.monotonic()
        live.start()
        live.get("/v1/cluster")
        Figures.add("load", f"SIGKILL while {waiting:,} jobs wait, and a start: s until it answers / of a processor",
                    f"{time.monotonic() - start:.2f} / {live.cpu_s():.2f}", "< 1 with 10,000")
        self.assertEqual(len(live.jobs(every=False)), waiting)

    def test_decisions_while_many_wait(self):
        waiting, turns = Settings.either(1000, 10_000), Settings.either(5, 20)
        for policy in ("gandiva-fair:quantum_s=1,resident=true", "tiresias", "fifo:skip=true"):
            with self.subTest(policy=policy):
                self.measure_decisions(policy, waiting, turns)

    def measure_decisions(self, policy, waiting, turns):
        live = self.daemon("4xV100", policy)
        long = [live.submit(["sleep", "1000"]) for _ in range(4)]
        submit_many(str(live.folder / "socket"), CONNECTIONS, waiting // CONNECTIONS,
                    self.body(live, ("sleep", "1000"), gpus=4))
        began, cpu = time.monotonic(), live.cpu_s()
        decisions = []
        for job in long[:1] * turns:
            # Each is a decision of its own: a job is held, or released.
            verb = "hold" if live.job(job)["state"] != "held" else "release"
            before = live.cpu_s()
            live.post(f"/v1/jobs/{job}/{verb}")
            decisions.append(1000 * (live.cpu_s() - before))
        until(lambda: time.monotonic() > began + turns, turns + 10)
        share = (live.cpu_s() - cpu) / (time.monotonic() - began)
        title = f"{policy.split(':')[0]}, {waiting:,} jobs wait"
        Figures.add("load", f"{title}: processor time of a decision, ms: median / most",
                    f"{statistics.median(decisions):.2f} / {max(decisions):.2f}", "< 10 with 10,000")
        Figures.add("load", f"{title}: share of a processor", f"{100 * share:.1f} %")
        live.remove()
