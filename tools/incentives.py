#!/usr/bin/env python3
"""What a user gains by not telling the truth: tools/incentives.py build/release/fairlead

Ten users hand in jobs for two days, drawn for each seed: 1.2 times what 64 GPUs can do. One of them then
hands in its jobs in another way, all others as before. Prints the
user's mean JCT over what it is when it is honest, as a table in Markdown: the mean over seeds, and the smallest.
A job that is handed in as several is done when the last of them is.
"""

import argparse
import collections
import csv
import pathlib
import statistics
import subprocess
import tempfile
from random import Random

CLUSTER, GPUS = "8xV100:8", 64
USERS, DAYS, LOAD = 10, 2, 1.2
POLICIES = {"fairlead": "fairlead", "without shares": "fairlead:window_s=inf", "gandiva-fair": "gandiva-fair:quantum_s=60"}
LIAR = "user-3"


def honest(job):
    return [job]


def two_names(job):
    """Half of the jobs under another name, which has tickets of its own."""
    return [{**job, "user": f"{LIAR}{'ab'[int(job['number']) % 2]}"}]


def two_names_of_a_group(job):
    """The same where both are of a group with the tickets of one user."""
    return [{**one, "group": LIAR, "group_tickets": 1} for one in two_names(job)]


def single_gpus(job):
    """Each gang as so many jobs of one GPU."""
    return [{**job, "job": f"{job['job']}/{i}", "gpus": 1} for i in range(int(job["gpus"]))]


def larger_gangs(job):
    """Each gang asks for twice the GPUs, and is no faster."""
    return [{**job, "gpus": min(64, 2 * int(job["gpus"]))}]


def idle_jobs(job):
    """With each job another of one GPU, for as long, that does nothing."""
    return [job, {**job, "job": f"{job['job']}/idle", "gpus": 1}]


def chopped(job):
    """Each job as four that take a quarter of the time, all there at once."""
    return [{**job, "job": f"{job['job']}/{i}", "duration_s": float(job["duration_s"]) / 4} for i in range(4)]


LIES = [two_names, two_names_of_a_group, single_gpus, chopped, larger_gangs, idle_jobs]


def draw(seed):
    """Jobs of 1 to 16 GPUs, of some minutes to some hours."""
    random = Random(seed)
    jobs, gpu_s = [], 0
    while gpu_s < LOAD * GPUS * DAYS * 86400:
        gpus = random.choice([1, 1, 1, 1, 2, 2, 4, 4, 8, 16])
        duration_s = min(43200, random.lognormvariate(8, 1.2))
        gpu_s += gpus * duration_s
        jobs.append({"user": f"user-{random.randrange(USERS)}", "gpus": gpus, "submit_s": random.uniform(0, DAYS * 86400),
                     "duration_s": duration_s, "group": "", "group_tickets": ""})
    jobs.sort(key=lambda job: job["submit_s"])
    return [{**job, "number": number, "job": str(number)} for number, job in enumerate(jobs)]


def mean_jct(fairlead, policy, work, jobs, lie):
    """Of the user's jobs, as it sees them."""
    told = [one for job in jobs for one in (lie(job) if job["user"] == LIAR else [job])]
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.csv"
        columns = [column for column in told[0] if column != "number" and (lie is two_names_of_a_group or "group" not in column)]
        with trace.open("w", newline="") as file:
            writer = csv.DictWriter(file, columns, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(told)
        subprocess.run([fairlead, "simulate", "--cluster", CLUSTER, "--trace", trace, "--policy", policy, "--set", f"work={work}",
                        "--out", f"{folder}/out"], check=True, capture_output=True)
        jct = collections.defaultdict(float)
        with open(f"{folder}/out/jobs.csv", newline="") as file:
            for row in csv.DictReader(file):
                name, _, part = row["job"].partition("/")
                if row["user"].startswith(LIAR) and part != "idle":
                    jct[name] = max(jct[name], float(row["jct_s"]))
    return statistics.mean(jct.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fairlead")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--work", default="exact", help="what policies know: exact, none (default: %(default)s)")
    args = parser.parse_args()
    traces = [draw(seed) for seed in range(1, args.seeds + 1)]
    print(f"| | {' | '.join(POLICIES)} |\n|---|{'--:|' * len(POLICIES)}")
    before = {policy: [mean_jct(args.fairlead, policy, args.work, jobs, honest) for jobs in traces] for policy in POLICIES.values()}
    for lie in LIES:
        cells = []
        for policy in POLICIES.values():
            ratios = [mean_jct(args.fairlead, policy, args.work, jobs, lie) / was
                      for jobs, was in zip(traces, before[policy])]
            cells.append(f"{statistics.mean(ratios):.2f} ({min(ratios):.2f})")
        print(f"| {lie.__name__.replace('_', ' ')} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
