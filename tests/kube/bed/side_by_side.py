"""Schedulers under equal conditions: the same control plane, nodes, players of training and job lists."""

import json
import statistics
import sys
import time

from bed import Bed, Judgement
from control_plane import free_ports
from decisions import decisions_of
from measure import figures
from workload import USERS, draw, scaled

CLUSTER, GPUS, FACTOR = "4xV100:8,4xK80:8", 64, 60
SETTINGS = ["models=slides", "reference_gpu=V100"]
TICKETS = dict.fromkeys(USERS, 1)
SCHEDULERS = {
    "kube-scheduler": {"scheduler": True},
    "kube-scheduler, gang API": {"gang_api": True},
    "fairlead, gandiva-fair": {"policy": "gandiva-fair:quantum_s=300"},
    "fairlead, hadar": {"policy": "hadar:round_s=360,switch_s=60"},
    "fairlead, dally": {"policy": "dally:node_s=300,rack_s=900,least_s=60,limits_gpu_s=3300/13200/52800/208800/832800"},
}
STUCK_S = 20  # real; no gang trains, and all jobs are there


def play(bed, arrivals, limit_s):
    """Submits the jobs at their times, and waits until all are done. Returns the start, in Unix milliseconds."""
    for user in {arrival.ask.user for arrival in arrivals}:
        bed.name_space(user)
    start, start_ms = time.monotonic(), time.time() * 1000
    for arrival in arrivals:
        time.sleep(max(0.0, start + arrival.at_s / bed.factor - time.monotonic()))
        bed.submit(arrival.ask)
    quiet_since, lines, training = time.monotonic(), 0, set()
    while time.monotonic() < start + limit_s:
        history = bed.history()
        for line in history[lines:]:
            if line["what"] == "begins":
                training.add(line["job"])
            elif line["what"] in ("ends", "done"):
                training.discard(line["job"])
        if len(history) > lines or training:
            quiet_since = time.monotonic()
        lines = len(history)
        is_done = sum(line["what"] == "done" for line in history) == len(arrivals)
        if is_done or time.monotonic() > quiet_since + STUCK_S:
            break
        time.sleep(0.5)
    return start_ms


def run_one(name, seed, limit_s=300):
    options = dict(SCHEDULERS[name])
    policy = options.pop("policy", None)
    arrivals = draw(seed, factor=FACTOR, scheduler="fairlead" if policy else "default-scheduler")
    with Bed(CLUSTER, SETTINGS, FACTOR, **options) as bed:
        port = free_ports(1)[0] if policy else bed.plane.ports["scheduler"]
        process = bed.fairlead(scaled(policy, FACTOR), port=port) if policy else bed.plane.processes["kube-scheduler"]
        start_ms = play(bed, arrivals, limit_s)
        history = bed.history()
        cpu_s, peak = process.usage()
        decided = decisions_of(port, policy is None)
        judged = Judgement(history, bed.gpus_of_node(), [arrival.ask for arrival in arrivals])
        found = figures(history, arrivals, FACTOR, start_ms, GPUS, TICKETS)
    return {"scheduler": name, "seed": seed, **found, **decided, "cpu_s": cpu_s, "memory_mib": peak / 2**20,
            "refused": judged.refused, "held_twice": judged.twice, "half_gang_s": judged.longest_half_s}


def table(rows):
    lines = ["| scheduler | jobs finished | mean JCT, s | p90 JCT, s | largest share error of a user | GPUs training | half a gang held GPUs for at most, s | "
             "decisions | each second of deciding | CPU, s |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|"]
    for name in SCHEDULERS:
        of = [row for row in rows if row["scheduler"] == name]
        if not of:
            continue
        mean = lambda key: statistics.fmean(row[key] for row in of if row[key] is not None)
        lines.append(f"| {name} | {sum(row['finished'] for row in of)} of {sum(row['jobs'] for row in of)} | {mean('jct_mean_s'):,.0f} | "
                     f"{mean('jct_p90_s'):,.0f} | {mean('share_error_max'):.0%} | {mean('utilisation'):.0%} | "
                     f"{max(row['half_gang_s'] for row in of):.1f} | {mean('decisions'):,.0f} | {mean('decisions_per_s'):,.0f} | "
                     f"{mean('cpu_s'):.1f} |")
    return "\n".join(lines)


def side_by_side(seeds):
    rows = []
    for seed in range(1, seeds + 1):
        for name in SCHEDULERS:
            rows.append(run_one(name, seed))
            print(json.dumps(rows[-1]), flush=True)
    print(table(rows), file=sys.stderr)
    return rows
