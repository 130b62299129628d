#!/usr/bin/env python3
"""Runs of `fairlead simulate` in random worlds: each ends in time, and says what it leaves undone.

  tests/ends/worlds.py build/dev/fairlead --worlds 3000 --seed 1

A seed draws a cluster of several GPU types and racks, jobs of which some can never run, a policy with
random options, speeds, overheads, outages and failures. Worlds take turns through all policies. A world
is broken if its run takes more than --limit_s of a processor, or crashes; if it leaves jobs pending (exit code 3)
although nothing is down for ever; or if it ends with an error other than a standstill. What is broken is
left in --keep with the command that repeats it; the exit code is then 1.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TYPES = ["V100", "K80", "P100"]
TABLES = ["slides", "gavel", "published"]  # speeds of all of TYPES
STANDSTILLS = ["has brought the jobs to a standstill", "the run gets nowhere"]


def catalogue(fairlead):
    text = subprocess.run([fairlead, "policies", "--json"], capture_output=True, check=True).stdout
    return json.loads(text)


def drawn_option(rng, option):
    """A value of the option, or None: its default."""
    if rng.random() < 0.6:
        return None
    if option["type"] == "flag":
        return rng.choice(["true", "false"])
    if option["type"] == "choice":
        return rng.choice(option["choices"])
    if option["type"] == "integer":
        low, high = option["range"]
        number = rng.choice([1, 2, 5, 30, 60, 360])
        return str(int(min(max(number, low), high)))
    return None


def drawn_policy(rng, policy):
    options = []
    for option in policy["options"]:
        value = drawn_option(rng, option)
        if value is not None:
            options.append(f"{option['name']}={value}")
    return policy["policy"] + (":" + ",".join(options) if options else "")


def drawn_cluster(rng, path):
    """Writes a cluster file; returns its nodes by name with their GPUs."""
    types = rng.sample(TYPES, rng.randint(1, 3))
    racks, nodes = [], []
    for rack in range(rng.randint(1, 3)):
        groups = []
        for number in range(rng.randint(1, 3)):
            gpus = rng.choice([1, 2, 4, 4, 8])
            count = rng.randint(1, 3)
            name = f"r{rack}g{number}"
            groups.append(f"{{name: {name}, count: {count}, gpu_type: {rng.choice(types)}, gpus: {gpus}}}")
            nodes += [(name if count == 1 else f"{name}-{i}", gpus) for i in range(count)]
        racks.append(f"  - {{name: rack{rack}, nodes: [{', '.join(groups)}]}}")
    path.write_text("racks:\n" + "\n".join(racks) + "\n")
    return nodes


def drawn_jobs(rng, path, gpus):
    """A trace with jobs that fit, that hardly do, and that never do."""
    elastic, tasks, levels, types = (rng.random() < 0.4 for _ in range(4))
    span = rng.choice([1, 100, 3000])
    longest = rng.choice([60, 600, 20_000])
    fields = ["job", "user", "gpus", "gpus_min", "gpus_max", "task_gpus", "submit_s", "duration_s", "runs_on",
              "require_level", "prefer_level", "start_s"]
    with path.open("w", newline="") as file:
        rows = csv.DictWriter(file, fields)
        rows.writeheader()
        for number in range(rng.randint(1, 40)):
            gang = rng.choice([1, 1, 2, 3, 4, 8, rng.randint(1, gpus), rng.randint(1, gpus + 4)])
            task = rng.choice([1, 2, 4, 8]) if tasks and rng.random() < 0.5 else 1
            gang = max(gang // task, 1) * task
            submit = rng.randint(0, span)
            job = {"job": f"j{number}", "user": f"u{rng.randint(0, 3)}", "gpus": gang, "task_gpus": task,
                   "submit_s": submit, "duration_s": rng.randint(1, longest),
                   "start_s": submit + rng.randint(0, 300)}
            if elastic and rng.random() < 0.5:
                job["gpus_min"] = max(gang // task // rng.choice([1, 2, 4]), 1) * task
                job["gpus_max"] = gang * rng.choice([1, 2, 4])
            if types and rng.random() < 0.5:
                job["runs_on"] = "+".join(rng.sample(TYPES, rng.randint(1, 2)))
            if levels and rng.random() < 0.5:
                job["require_level"] = rng.choice(["", "host", "rack"])
                job["prefer_level"] = rng.choice(["", "host", "rack"])
            rows.writerow(job)


def drawn_settings(rng, folder, nodes):
    """What --set gets, and whether GPUs are gone for ever."""
    settings, lost = [], False
    if rng.random() < 0.5:
        settings.append("costs=none")
    elif rng.random() < 0.5:
        settings.append(f"start_s={rng.choice([0, 1, 10, 100])}")
    if rng.random() < 0.5:
        settings.append(f"models={rng.choice(TABLES)}")
    kind = rng.choice(["", "", "outages", "drawn", "unreliable"])
    if kind == "outages":
        rows = ["node,down_s,up_s"]
        for name, _ in nodes:
            at = 0
            for _ in range(rng.choice([0, 1, 2, 20])):
                at += rng.randint(1, 3000)
                up = at + rng.choice([1, 10, 1000, 100_000])
                if rng.random() < 0.02:
                    rows.append(f"{name},{at},")
                    lost = True
                    break
                rows.append(f"{name},{at},{up}")
                at = up
        (folder / "outages.csv").write_text("\n".join(rows) + "\n")
        settings.append(f"outages={folder / 'outages.csv'}")
    if kind == "drawn":
        settings.append(f"mtbf_h={rng.choice(['1e-9', '1e-3', '0.1', '10', '100'])}")
        settings.append(f"mttr_h={rng.choice(['0.001', '0.1', '10'])}")
        settings.append(f"checkpoint_interval_s={rng.choice([0, 60, 1800])}")
    if kind == "unreliable":
        faults = {"late_s": rng.choice([0, 5]), "start_s": rng.choice([0, 20]), "stop_s": rng.choice([0, 20]),
                  "repeat": rng.choice([0, 0.3]), "shuffle": rng.choice([0, 1]),
                  "start_fails": rng.choice([0, 0.3]), "stop_fails": rng.choice([0, 0.3]),
                  "gpu_losses_per_h": rng.choice([0, 1, 100, 10_000])}
        # Nodes are cordoned and nobody uncordons them; a node that comes up may be told before it went down.
        lost = faults["start_fails"] > 0 or faults["shuffle"] > 0 or faults["late_s"] > 0
        settings.append("faults=" + "/".join(f"{name}:{value}" for name, value in faults.items()))
    return settings, lost


class World:
    """One seed: its files, its command, and what came of it."""

    def __init__(self, fairlead, policies, seed, folder):
        rng = random.Random(seed)
        self.seed, self.folder = seed, folder
        folder.mkdir(parents=True)
        nodes = drawn_cluster(rng, folder / "cluster.yaml")
        drawn_jobs(rng, folder / "jobs.csv", sum(gpus for _, gpus in nodes))
        self.policy = drawn_policy(rng, policies[seed % len(policies)])
        settings, self.loses_gpus = drawn_settings(rng, folder, nodes)
        self.command = [fairlead, "simulate", "--cluster", str(folder / "cluster.yaml"), "--trace",
                        str(folder / "jobs.csv"), "--policy", self.policy, "--seed", str(seed),
                        "--out", str(folder / "out"), "--json"]
        for setting in settings:
            self.command += ["--set", setting]

    def run(self, limit_s):
        """Sets `verdict` (one word), `problem` (empty: none) and `rejected` (jobs)."""
        began = time.monotonic()
        self.rejected, self.problem = 0, ""
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=20 * limit_s,
                                  preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (limit_s, limit_s)))
        except subprocess.TimeoutExpired:
            done = None
        self.took_s = time.monotonic() - began
        if done is None or done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
            self.verdict, self.problem = "endless", f"no end within {limit_s} s"
        else:
            self.judge(done)
        return self

    def judge(self, done):
        if done.returncode in (0, 3):
            summary = json.loads(done.stdout)
            self.rejected = summary["rejected"]
            self.verdict = "pending" if summary["pending"] else "complete"
            if (summary["pending"] > 0) != (done.returncode == 3):
                self.problem = f"{summary['pending']} pending, exit code {done.returncode}"
            may_wait = self.loses_gpus or self.policy.startswith("kube") and "gang=false" in self.policy
            if summary["pending"] and not may_wait:
                self.problem = f"{summary['pending']} jobs pending"
        elif done.returncode == 1 and any(text in done.stderr for text in STANDSTILLS):
            self.verdict = "standstill"
        elif done.returncode == 2:
            self.verdict = "refused"  # options that exclude each other
        else:
            self.verdict = "failed"
            self.problem = f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fairlead")
    parser.add_argument("--worlds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1, help="of the first world; the next ones count up")
    parser.add_argument("--limit_s", type=int, default=30, help="of one processor, per run")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--keep", type=pathlib.Path, help="folder for what is broken")
    args = parser.parse_args()
    policies = catalogue(args.fairlead)
    verdicts, broken, rejected, slowest = collections.Counter(), 0, 0, (0.0, "")
    began = time.monotonic()

    def one(seed):
        with tempfile.TemporaryDirectory() as temporary:
            world = World(args.fairlead, policies, seed, pathlib.Path(temporary) / str(seed)).run(args.limit_s)
            if world.problem and args.keep:
                shutil.copytree(world.folder, args.keep / str(seed), dirs_exist_ok=True)
            return world

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for world in pool.map(one, range(args.seed, args.seed + args.worlds)):
            verdicts[world.verdict] += 1
            rejected += world.rejected
            slowest = max(slowest, (world.took_s, f"seed {world.seed}, {world.policy}"))
            if world.problem:
                broken += 1
                print(f"seed {world.seed}: {world.problem}\n  {' '.join(world.command[1:])}", flush=True)
    counts = ", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items()))
    print(f"{args.worlds} worlds in {time.monotonic() - began:.0f} s: {counts}; {rejected} jobs rejected; "
          f"slowest {slowest[0]:.1f} s ({slowest[1]}); {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
