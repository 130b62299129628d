"""Runs the same trace through `fairlead simulate` and through the bed, and compares the two."""

import collections
import csv
import json
import pathlib
import statistics
import subprocess
import tempfile

from bed import Bed, Judgement, Settings
from measure import Holds, gpu_time
from side_by_side import play
from workload import draw, scaled, write_trace

# Many small jobs: with few large ones, a job that comes a moment later is placed hours later, in either world.
CLUSTER = "4xV100:8,4xP100:8"
SHAPES = {(1, 1): 4, (1, 2): 3, (1, 4): 2, (2, 2): 1, (2, 4): 1}
SETTINGS = ["models=slides", "reference_gpu=V100"]
# In a cluster the speeds of jobs are unknown, and users state how long they run.
KNOWN = ["work=declared", "speeds=measured", "profile_s=86400"]
POLICIES = {"gandiva-fair": "gandiva-fair:quantum_s=300", "hadar": "hadar:round_s=360,switch_s=60",
            "tiresias": "tiresias:limits=3240/7200", "fifo": "fifo:skip=true"}


def simulated(policy, arrivals, bin_s=10):
    """Returns JCT by job, and GPUs in use by user and bin."""
    with tempfile.TemporaryDirectory() as folder:
        trace, out = pathlib.Path(folder) / "trace.csv", pathlib.Path(folder) / "out"
        write_trace(trace, arrivals)
        sets = [word for setting in [*SETTINGS, *KNOWN, f"bin_s={bin_s}"] for word in ("--set", setting)]
        subprocess.run([Settings.programs / "fairlead", "simulate", "--cluster", CLUSTER, "--trace", trace, "--policy", policy,
                        *sets, "--out", out, "--json"], check=True, capture_output=True)
        with open(out / "jobs.csv", encoding="utf-8") as file:
            jobs = {row["job"]: row for row in csv.DictReader(file)}
        with open(out / "timeline.csv", encoding="utf-8") as file:
            bins = list(csv.DictReader(file))
    return jobs, bins


def shares(gpu_times):
    whole = sum(gpu_times.values())
    return {user: value / whole for user, value in sorted(gpu_times.items())}


def compare(name, seed, factor, jobs=100):
    arrivals = draw(seed, jobs=jobs, mean_s=480, factor=factor, shapes=SHAPES)
    told, bins = simulated(POLICIES[name], arrivals)
    with Bed(CLUSTER, SETTINGS, factor) as bed:
        bed.fairlead(scaled(POLICIES[name], factor))
        start_ms = play(bed, arrivals, 600)
        history = bed.history()
        judged = Judgement(history, bed.gpus_of_node(), [arrival.ask for arrival in arrivals])
    holds = Holds(history, factor, start_ms)
    user_of = {arrival.ask.name: arrival.ask.user for arrival in arrivals}
    finish = {job: float(row["finish_s"]) for job, row in told.items() if row["finish_s"]}
    # While all users have waiting jobs: up to the first user's last start.
    until = min(max(float(told[job]["start_s"]) for job in told if user_of[job] == user) for user in set(user_of.values()))
    in_bins = collections.Counter()
    for row in bins:
        if float(row["t_s"]) < until:
            in_bins[row["user"]] += float(row["gpus_held"]) * 10
    simulated_jct = [float(row["jct_s"]) for row in told.values()]
    played_jct = [holds.done[f"{a.ask.user}/{a.ask.name}"] - a.at_s for a in arrivals if f"{a.ask.user}/{a.ask.name}" in holds.done]
    of_sim = shares(in_bins)
    of_bed = shares({user: gpu_time(holds.held, 0, until, user) for user in of_sim})
    return {"policy": name, "seed": seed, "factor": factor, "jobs": jobs, "finished": [len(finish), len(played_jct)],
            "jct_mean_s": [statistics.fmean(simulated_jct), statistics.fmean(played_jct)],
            "jct_error": statistics.fmean(played_jct) / statistics.fmean(simulated_jct) - 1,
            "shares": [of_sim, of_bed], "share_error_max": max(abs(of_sim[user] - of_bed[user]) for user in of_sim),
            "begins": [sum(1 + int(row["preemptions"]) for row in told.values()), sum(line["what"] == "begins" for line in history)],
            "refused": judged.refused, "held_twice": judged.twice, "half_gang_s": judged.longest_half_s}


def against_simulator(policies=("gandiva-fair", "hadar", "tiresias"), seeds=(1, 2), factor=20):
    rows = []
    for name in policies:
        for seed in seeds:
            rows.append(compare(name, seed, factor))
            print(json.dumps(rows[-1]), flush=True)
    return rows
