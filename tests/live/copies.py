"""Jobs that train as copies on nodes of unequal speed (HadarE): steps add up whatever is killed, and models and total
times are compared with one copy and with the simulator."""

import csv
import json
import os
import random
import re
import signal
import statistics
import subprocess

from harness import Figures, LiveTest, Settings, until

# The clusters of the experiments hadare and hadare-lab, with ResNet-18's speeds (examples/copies/copies.cc).
CLUSTERS = {"hadare": "2xV100,2xP100@0.926,1xK80@0.293", "hadare-lab": "1xV100,4xK80@0.293"}
EACH_ALONE = ("--node-gpus", "1")
DATA = "/usr/share/datasets/fashion-mnist"
STEP_MS = 20  # of a V100
ROUND_S = 10  # of the policies; for jobs of an hour it would be six minutes
GPU_S = (6, 60)  # of a job on a V100: an hour is six seconds


def trainer(steps, seed=1, rate=0.1, step_ms=STEP_MS):
    data = ["--data", DATA] if os.path.isdir(DATA) else []
    return [str(Settings.programs / "fairlead-copy-trainer"), "--steps", str(steps), "--seed", str(seed), "--rate", str(rate),
            "--step-ms", str(step_ms), *data]


class CopiesTest(LiveTest):
    def train(self, live, command, copies=0, flags=(), **more):
        """Submits a job like `fairlead submit --copies`; 0: any number of copies."""
        tracker = [str(Settings.programs / "fairlead"), "tracker", *flags, "--"]
        return live.submit(tracker + command, copies_max=copies, **more)

    def rounds(self, live, job):
        with open(live.work / f"copies-{job}" / "rounds.csv") as file:
            return list(csv.DictReader(file))

    def finish(self, live, job, limit_s=900):
        ended = live.await_end(job, limit_s=limit_s)
        self.assertEqual(ended["state"], "finished", live.output(job))
        return ended

    def check_steps(self, live, job, total):
        done = 0
        for row in self.rounds(live, job):
            done += int(row["steps"])
            self.assertEqual(int(row["done"]), done)
        self.assertEqual(done, total)

    def test_steps_add_up_whatever_is_killed(self):
        live = self.daemon(CLUSTERS["hadare"], "hadare:round_s=3,switch_s=0", grace_s=2, flags=EACH_ALONE)
        total, kills = 6000, {"daemon": 0, "tracker": 0, "trainer": 0}
        jobs = [self.train(live, trainer(total, seed), flags=["--round-steps", "50"], retries=1000) for seed in (1, 2)]
        until(lambda: all((live.work / f"copies-{job}" / "rounds.csv").exists() for job in jobs), 60, "all train")
        for _ in range(Settings.either(15, 100)):
            before = [len(self.rounds(live, job)) for job in jobs]
            what = self.random.choice(sorted(kills))
            if what == "daemon":
                live.kill()
                live.start()
            else:
                names = {"tracker": b"\0tracker\0", "trainer": b"fairlead-copy-trainer\0--steps"}
                pids = [pid for pid in live.processes() if self.is_a(pid, names[what], b"\0tracker\0" if what == "trainer" else None)]
                if not pids:
                    continue
                os.kill(self.random.choice(pids), signal.SIGKILL)
            kills[what] += 1
            here = [job for job in jobs if live.job(job)["state"] not in ("finished", "failed")]
            if not here:
                break
            until(lambda: any(len(self.rounds(live, job)) > before[jobs.index(job)] or live.job(job)["state"] == "finished"
                              for job in here), 60, "one goes on")
        for job in jobs:
            self.finish(live, job)
            self.check_steps(live, job, total)
        Figures.add("copies", "killed: " + ", ".join(f"{count} {what}s" for what, count in kills.items()),
                    f"{total} steps of each job in its rounds", "all, once")
        self.assert_clean_end(live)

    def is_a(self, pid, has, has_not=None):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                line = file.read()
        except OSError:
            return False
        return has in line and (has_not is None or has_not not in line)

    def test_models_are_as_good_in_less_time(self):
        """HadarE against one copy, of one model, on both clusters."""
        steps, seeds = Settings.either((400, 1), (2000, 3))
        for cluster, nodes in CLUSTERS.items():
            for arm, copies, flags in (("one copy", 1, ["--plain"]), ("copies, plain", 0, ["--plain", "--round-steps", "50"]),
                                       ("copies, momentum", 0, ["--round-steps", "50"])):
                took, losses = [], []
                for seed in range(1, seeds + 1):
                    live = self.daemon(nodes, "hadare", flags=EACH_ALONE)
                    job = self.train(live, trainer(steps, seed), copies, flags, types=["V100"] if copies == 1 else [])
                    self.finish(live, job)
                    self.check_steps(live, job, steps)
                    ended = live.job(job)
                    took.append((ended["finished_unix_ms"] - ended["submitted_unix_ms"]) / 1000)
                    losses.append(float(re.search(r"held-out loss ([0-9.]+)", live.output(job)).group(1)))
                    live.remove()
                Figures.add("copies", f"{cluster}, {arm}: {steps} steps, mean of {seeds}",
                            f"{statistics.mean(took):.1f} s, held-out loss {statistics.mean(losses):.3f}")

    def mix(self, count):
        chance = random.Random(count)
        return [round(chance.uniform(*GPU_S) * 1000 / STEP_MS) for _ in range(count)]

    def total_time(self, nodes, policy, mix, copies):
        live = self.daemon(nodes, policy, flags=EACH_ALONE)
        jobs = [self.train(live, trainer(steps, seed), copies, declared_s=steps * STEP_MS / 1000, model="dense-32")
                for seed, steps in enumerate(mix, 1)]
        ends = [self.finish(live, job) for job in jobs]
        start = min(end["submitted_unix_ms"] for end in ends)
        total_s = (max(end["finished_unix_ms"] for end in ends) - start) / 1000
        gpu_s = sum(end["gpu_s"] for end in ends)
        live.remove()
        return total_s, gpu_s / (5 * total_s)

    def simulated_total_time(self, cluster, policy, mix):
        folder = self.daemon(CLUSTERS[cluster], start=False).work
        kinds = {"hadare": [("V100", 2), ("P100", 2), ("K80", 1)], "hadare-lab": [("V100", 1), ("K80", 4)]}[cluster]
        (folder / "cluster.yaml").write_text("name: live\nracks:\n  - nodes:\n" + "".join(
            f"      - {{name: {kind}, count: {count}, gpu_type: {kind}, gpus: 1}}\n" for kind, count in kinds))
        (folder / "models.yaml").write_text(
            "source: live\nmodels:\n  - name: dense-32\n    rates: {V100: 1, P100: 0.926, K80: 0.293}\n")
        (folder / "trace.csv").write_text("job,user,model,gpus,submit_s,duration_s\n" + "".join(
            f"{i},u,dense-32,1,0,{steps * STEP_MS / 1000}\n" for i, steps in enumerate(mix)))
        subprocess.run(
            [Settings.programs / "fairlead", "simulate", "--cluster", folder / "cluster.yaml", "--trace", folder / "trace.csv",
             "--policy", policy, "--out", folder / "out", "--set", f"models={folder / 'models.yaml'}", "--set",
             "reference_gpu=V100", "--set", "copies_exchange_s=0", "--set", "costs=none"],
            check=True, capture_output=True, text=True)
        return json.loads((folder / "out" / "summary.json").read_text())["makespan_s"]

    def test_total_times_of_mixes_are_as_simulated(self):
        """Compares HadarE's times with the simulator, and the use of the nodes with Hadar's."""
        policies = {"hadare": (f"hadare:round_s={ROUND_S},switch_s=1", 0),
                    "hadar": (f"hadar:utility=makespan,round_s={ROUND_S},between_rounds=wait", 1)}
        for cluster, nodes in CLUSTERS.items():
            uses = {name: [] for name in policies}
            for count in Settings.either((1, 3), (1, 2, 4, 8, 12)):
                mix, cells = self.mix(count), []
                for name, (policy, copies) in policies.items():
                    took, use = self.total_time(nodes, policy, mix, copies)
                    simulated = self.simulated_total_time(cluster, policy, mix)
                    uses[name].append(use)
                    cells.append(f"{name} {took:.1f} s, simulated {simulated:.1f} ({100 * (simulated / took - 1):+.0f} %)")
                Figures.add("copies", f"{cluster}, {count} jobs: all done", "; ".join(cells))
            ratio = statistics.mean(uses["hadare"]) / statistics.mean(uses["hadar"])
            Figures.add("copies", f"{cluster}: use of the nodes, all mixes, HadarE's / Hadar's", f"{ratio:.2f}")
