#!/usr/bin/env python3
"""Measures whole runs and writes docs/performance.md.

Counts (events, decisions, allocations) are exact and repeatable; seconds depend on the machine, so
every figure is the median of some repeats in this one run, and growth is given as ratios.
`--quick` leaves out the largest sizes and writes nothing. `--only TITLE` measures the section of that
title alone, and leaves the rest of the page as it is.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
SHARED = pathlib.Path(os.environ.get("FAIRLEAD_SHARED", ROOT.parent / "shared"))
PAGE = ROOT / "docs/performance.md"
QUICK = False


def median_run(key, repeats, program, *arguments):
    """Returns the JSON of the benchmark's median run by `key`."""
    command = [BUILD / "bench" / program, *map(str, arguments)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for _ in range(repeats)]
    runs.sort(key=lambda run: run[key])
    print(f"  {' '.join(command[1:])}: {key} {runs[repeats // 2][key]}", file=sys.stderr)
    return runs[repeats // 2]


def engine_run(policy, jobs, gpus, load, repeats):
    return median_run("run_s", repeats, "bench_run", policy, jobs, gpus, load)


def tool_run(arguments, repeats):
    """Returns wall seconds and peak memory of the whole command: reading, simulating, writing the files."""
    seconds, memory = [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as out:
            begin = time.monotonic()
            subprocess.run([BUILD / "fairlead", "simulate", "--out", out, *arguments], check=True,
                           capture_output=True)
            seconds.append(time.monotonic() - begin)
            run = json.loads(pathlib.Path(out, "run.json").read_text())
            summary = json.loads(pathlib.Path(out, "summary.json").read_text())
            memory.append(run["peak_rss_mb"])
    print(f"  fairlead simulate {' '.join(map(str, arguments))}: {statistics.median(seconds):.2f} s",
          file=sys.stderr)
    return statistics.median(seconds), max(memory), summary["finished"], summary["jobs_read"]


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|---|" + "--:|" * (len(header) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def growth(policy, sizes, gpus, load):
    runs = [engine_run(policy, jobs, gpus, load, 3) for jobs in sizes]
    rows = []
    for before, run in zip([None] + runs, runs):
        ratio = ""
        if before:
            doublings = run["jobs"] / before["jobs"]
            ratio = f"{run['run_s'] / before['run_s']:.2f} for {doublings:.2g} times the jobs"
        rows.append([f"{run['jobs']:,}", f"{run['run_s']:.3f}", f"{run['ns_per_event']:.0f}",
                     f"{run['jobs'] / run['run_s']:,.0f}", f"{run['decisions']:,}",
                     f"{run['queue_max']:,}", run["allocations_second_half"], run["peak_rss_mb"], ratio])
    header = ["jobs", "s", "ns per event", "jobs/s", "decisions", "longest queue",
              "allocations in the 2nd half", "peak MB", "time ratio"]
    return table(header, rows)


def overload():
    rows = []
    for policy in ["fifo:skip=true", "sjf", "tiresias", "gandiva-fair", "srtf", "las"]:
        # las and srtf walk the running jobs at every decision, so fewer jobs show as much.
        sizes = [25_000, 50_000, 100_000, 200_000] if policy not in ("srtf", "las") else [10_000, 20_000, 40_000]
        for jobs in sizes[: 2 if QUICK else 4]:
            run = engine_run(policy, jobs, 1_000, 4, 1)
            rows.append([f"`{policy}`", f"{jobs:,}", f"{run['queue_max']:,}", f"{run['decisions']:,}",
                         f"{run['run_s'] * 1e9 / run['decisions']:.0f}"])
    return table(["policy", "jobs", "longest queue", "decisions", "ns per decision"], rows)


def time_slicing():
    """Every GPU wanted twice over for 24 hours, so that every server takes turns every quantum."""
    gangs = [1] * 14 + [2] * 2 + [4] * 3 + [8]  # 70:10:15:5, 1.9 GPUs each
    rows, before = [], None
    for gpus in [1_250, 2_500, 5_000] if QUICK else [1_250, 2_500, 5_000, 10_000, 20_000]:
        jobs = gpus * 21 // 20
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "endless.csv")
            lines = [f"j{i},u{i % 100},{gangs[i * 7 % 20]},0,100000000" for i in range(jobs)]
            trace.write_text("job,user,gpus,submit_s,duration_s\n" + "\n".join(lines) + "\n")
            out = pathlib.Path(folder, "out")
            seconds = []
            for _ in range(3):
                begin = time.monotonic()
                subprocess.run([BUILD / "fairlead", "simulate", "--cluster", f"{gpus // 8}xV100:8",
                                "--trace", trace, "--policy", "gandiva-fair", "--until", "86400",
                                "--out", out], check=True, capture_output=True)
                seconds.append(time.monotonic() - begin)
            summary = json.loads((out / "summary.json").read_text())
            journal = (out / "journal.flj").stat().st_size
        run_s = statistics.median(seconds)
        ratio = f"{run_s / before:.2f}" if before else ""
        before = run_s
        rows.append([f"{gpus:,}", f"{jobs:,}", f"{run_s:.2f}", f"{run_s / 1440 * 1e3:.2f}",
                     f"{summary['preemptions']:,}", f"{summary['migrations']:,}",
                     f"{summary['gpu_utilization'] * 100:.1f} %", f"{journal / 1e6:.1f}", ratio])
        print(f"  time slicing on {gpus:,} GPUs: {run_s:.2f} s", file=sys.stderr)
    return table(["GPUs", "jobs", "s", "ms per quantum", "preemptions", "migrations", "utilised",
                  "journal MB", "time ratio for twice the GPUs"], rows)


def real_traces():
    rows = []
    cases = [
        ("Philly, 82,247 jobs, 48 nodes of 8",
         ["--cluster", "48xV100:8", "--trace", SHARED / "data/traces/philly_sia_82k.csv.gz"],
         ["fifo", "fifo:skip=true", "tiresias", "srtf", "gandiva-fair"]),
        ("Tiresias' 5,000 jobs, 32 nodes of 8",
         ["--cluster", "32xV100:8", "--trace", SHARED / "gold/tiresias/5000_job__n32g8/trace.csv"],
         ["fifo", "tiresias"]),
    ]
    for name, arguments, policies in cases:
        if not pathlib.Path(arguments[-1]).exists():
            continue
        for policy in policies:
            seconds, memory, finished, jobs = tool_run([*arguments, "--policy", policy], 3)
            rows.append([f"{name}: `{policy}`", f"{seconds:.3f}", f"{memory:.0f}", f"{finished:,} of {jobs:,}"])
    return table(["run", "s", "peak MB", "finished"], rows) if rows else "(no shared traces here)"


def million_jobs_with_files():
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "million.csv")
        subprocess.run([BUILD / "fairlead", "trace", "generate", "--jobs", "1000000", "--cluster",
                        "1250xV100:8", "--load", "0.9", "-o", trace], check=True, capture_output=True)
        for policy in ["fifo:skip=true", "tiresias", "gandiva-fair", "fairlead"]:
            seconds, memory, finished, jobs = tool_run(
                ["--cluster", "1250xV100:8", "--trace", trace, "--policy", policy], 3)
            rows.append([f"`{policy}`", f"{seconds:.2f}", f"{memory:.0f}", f"{finished:,} of {jobs:,}"])
    return table(["policy", "s", "peak MB", "finished"], rows)


def machine():
    model = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if "model name" in line), "")
    return f"{os.cpu_count()} cores, {model}"


def parts():
    out = subprocess.run([BUILD / "bench/bench_parts", "--benchmark_format=json"], check=True,
                         capture_output=True, text=True).stdout
    rows = [[f"`{b['name']}`", f"{b['cpu_time']:.1f}"] for b in json.loads(out)["benchmarks"]]
    return table(["part", "ns"], rows)


def million_jobs():
    sizes = [10_000, 20_000, 40_000] if QUICK else [10_000, 30_000, 100_000, 300_000, 500_000, 1_000_000]
    return f"""Synthetic Philly-like jobs (`fairlead trace generate`), 10,000 GPUs in nodes of 8, load 0.9. The engine
with its journal encoded and hashed, without reading or writing files. An event is an arrival or a
finish; allocations are calls of operator new after half of the events.

### `fifo:skip=true`

{growth("fifo:skip=true", sizes, 10_000, 0.9)}

### `tiresias`

{growth("tiresias", sizes, 10_000, 0.9)}

### `gandiva-fair`

Quanta of 60 s.

{growth("gandiva-fair", sizes, 10_000, 0.9)}

### `fairlead`

Rounds of 60 s; a round in which no job waits and each runs on its fastest gang is skipped.

{growth("fairlead", sizes, 10_000, 0.9)}"""


# Each with the options that make it reconsider all jobs at every multiple of 360 s.
ROUNDS = [
    ("gavel:reallocation_s=0", "models"),
    ("gavel:reallocation_s=0,water_filling=true", "models"),
    ("gavel:reallocation_s=0,objective=max-throughput", "models"),
    ("gavel:reallocation_s=0,objective=makespan", "models"),
    ("gavel:reallocation_s=0,objective=ftf", "models"),
    ("gavel:reallocation_s=0", "own"),
    ("gavel:reallocation_s=0,water_filling=true", "own"),
    ("gavel:reallocation_s=0,objective=max-throughput", "own"),
    ("gavel:reallocation_s=0,objective=makespan", "own"),
    ("gavel:reallocation_s=0,objective=ftf", "own"),
    ("hadar", "models"),
    ("hadar:utility=makespan", "models"),
    ("hadar", "own"),
    ("hadar:utility=makespan", "own"),
    ("hadare", "models"),
    ("hadare", "own"),
    ("optimus:round_s=360", "models"),
    ("gandiva-fair:quantum_s=360,trade_quanta=1", "models"),
    ("tiresias", "models"),
    ("srtf", "models"),
]


# Every policy, with the options that make it reconsider jobs at every multiple of 360 s.
SCALED = ["fairlead:round_s=360", "dally:round_s=360", "slurm", "hadar", "gavel:reallocation_s=0", "gandiva-fair:quantum_s=360,trade_quanta=1",
          "ffdl", "fifo:skip=true", "gandiva:quantum_s=360", "gang-stride:quantum_s=360", "hadare", "kube", "las", "lwf",
          "optimus:round_s=360", "philly", "proportional", "sjf", "smallest", "srsf", "srtf", "stride:quantum_s=360",
          "themis", "tiresias", "yarn-cs"]
# Milliseconds of a decision at 10,000 and 100,000 GPUs. The other policies have no budget yet.
BUDGETS = dict(zip(SCALED, [(5, 60), (10, 100), (10, 100), (10, 100), (10, 100), (8, 80)]))
GROWTH = 13  # the largest factor for 10 times the work


def short(ms):
    return f"{ms:,.0f}" if ms >= 1000 else f"{ms:.3g}"


def missed(policy, runs):
    """Returns what the policy misses of its budget, in words."""
    if policy not in BUDGETS:
        return []
    misses = []
    for run, budget in zip(runs[1:], BUDGETS[policy]):
        for figure, name in (("ms", "median"), ("ms_max", "slowest")):
            if run[figure] > budget:
                misses.append(f"{name} {run[figure]:.3g} ms in place of {budget} at {run['gpus']:,} GPUs")
    factor = runs[-1]["ms"] / max(runs[-2]["ms"], 1e-4)
    if factor > GROWTH:
        misses.append(f"{factor:.1f} times for 10 times the work")
    return misses


def scale():
    gpus = [1_000] if QUICK else [1_000, 10_000, 100_000]
    rows, misses, steep = [], [], []
    for policy in SCALED:
        runs = [median_run("ms", 3, "bench_rounds", "decide", policy, 3 * count // 2, "models", f"{count // 8}xV100:8")
                for count in gpus]
        factors = [f"{run['ms'] / before['ms']:.1f}" if before["ms"] > 0.01 else "" for before, run in zip(runs, runs[1:])]
        rows.append([f"`{policy}`", *(short(run["ms"]) for run in runs), *factors,
                     *(short(run["ms_max"]) for run in runs[1:]), *(short(run["first_ms"]) for run in runs[1:]),
                     " / ".join(map(str, BUDGETS.get(policy, [""])))])
        missing = [] if QUICK else missed(policy, runs)
        if not QUICK and runs[-1]["first_ms"] > GROWTH * runs[-2]["first_ms"]:
            steep.append(f"`{policy}` {runs[-1]['first_ms'] / runs[-2]['first_ms']:.0f}")
        if missing:
            misses.append(f"- `{policy}`: {'; '.join(missing)}.")
    headings = [f"{count:,}" for count in gpus]
    header = ["policy", *headings, *(f"{b} / {a}" for a, b in zip(headings, headings[1:])),
              *(f"slowest, {each}" for each in headings[1:]), *(f"all are new, {each}" for each in headings[1:]), "budget"]
    return f"""Milliseconds of CPU of one decision, by the number of GPUs: the median of 15 rounds, without the engine. There are
1.5 jobs per GPU on nodes of 8 V100, with the gangs and models of the section above. No job finishes, and one more
arrives at the start of each round. The slowest is one of these rounds. In the decision "all are new" all jobs arrive.
Two columns are the growth for ten times the GPUs. For example: `build/release/bench/bench_rounds decide fairlead
150000 models 12500xV100:8`.

{table(header, rows)}

Budgets are for 10,000 and 100,000 GPUs, and {GROWTH} times for 10 times the work. These policies miss theirs:

{chr(10).join(misses) if misses else "none."}

The decision "all are new" grows by more than {GROWTH} times from 10,000 to 100,000 GPUs: {", ".join(steep) or "none"}."""


def ratios(runs):
    return [f"{run['ms'] / before['ms']:.2f}" for before, run in zip(runs, runs[1:])]


def rounds():
    sizes = [32, 64, 128] if QUICK else [32, 64, 128, 256, 512, 1_024, 2_048]
    times, doublings, programs = [], [], []
    for policy, speeds in ROUNDS:
        runs = [median_run("ms", 3, "bench_rounds", "decide", policy, jobs, speeds) for jobs in sizes]
        last = runs[-1]
        name = [f"`{policy}`", speeds]
        times.append([*name, *(f"{run['ms']:.3g}" for run in runs), f"{last['ms_max']:.3g}",
                      f"{last['first_ms']:.3g}"])
        doublings.append([*name, *ratios(runs), last["decisions"], f"{last['steps']:,}",
                          f"{last['allocations']:,}"])
    for method in ["prices", "clp"]:
        runs = [median_run("ms", 3, "bench_rounds", "shares", method, jobs, "own") for jobs in sizes]
        programs.append([method, *(f"{run['ms']:.3g}" for run in runs), ratios(runs)[-1], runs[-1]["turns"]])
    headings = [f"{jobs:,}" for jobs in sizes]
    return f"""Milliseconds of CPU of one decision in which every job is reconsidered, by the number of present jobs: the median of 15
rounds, without the engine. There is one GPU for two jobs, of V100, P100 and K80 in equal numbers, in nodes of 4.
Gangs have 1, 2, 4 and 8 GPUs (70:10:15:5; `optimus` may choose from 1 to 8). No job finishes, and one more
arrives at the start of each round. Speeds come from Gavel's 26 models, or are the job's own, within a tenth of its
model's. With the models many jobs are alike and become one row of Gavel's linear programs. `hadar` hardly
grows beyond 512 jobs, because its beam covers only the head of larger rounds (`fairlead/policy/hadar/dual.h`).
`tiresias` and `srtf` have no rounds: they decide when a job arrives.

{table(["policy", "speeds", *headings, f"slowest, {headings[-1]}", f"all are new, {headings[-1]}"], times)}

The factor for twice the number of jobs; and, at {headings[-1]} jobs, decisions of the whole run, and steps
(starts and stops) and allocations of a round.

{table(["policy", "speeds", *headings[1:], "decisions", "steps", "allocations"], doublings)}

The linear program of Gavel's max-min alone, without breaking ties, with one row for each job: solved by prices
(`raise_level` in `fairlead/solve/time_shares.h`), and by Clp.

{table(["ms", *headings, f"{headings[-1]} to {headings[-2]}", f"turns, {headings[-1]}"], programs)}"""


def pair(run):
    """Returns the fastest run of each network, in turn, so that other load slows neither or both."""
    alone, shared = [], []
    while len(shared) < 3 or (len(shared) < 15 and sum(found["run_s"] for found in alone + shared) < 3):
        alone.append(run("analytic"))
        shared.append(run("contention"))
    return min(alone, key=lambda found: found["run_s"]), min(shared, key=lambda found: found["run_s"])


def shared_links():
    """The engine alone, by running jobs; one row for each mix and size."""
    rows = []
    for mix in ["packed", "flat", "fragmented", "scattered"]:
        for running in [375, 750] if QUICK else [375, 750, 1_500, 3_000, 6_000]:
            alone, shared = pair(lambda network: median_run("run_s", 1, "bench_network", mix, running,
                                                            network))
            placements = shared["placements"]
            changes = shared["speed_changes"]
            each = (shared["run_s"] - alone["run_s"]) / changes * 1e6 if changes > placements else None
            rows.append([mix, f"{shared['gpus']:,}", f"{shared['running']:,}",
                         f"{shared['crossing'] / placements * 100:.0f} %",
                         f"{shared['link_updates'] / placements:.1f}", f"{changes / placements:.1f}",
                         f"{alone['run_s']:.3f}", f"{shared['run_s']:.3f}",
                         f"{shared['run_s'] / alone['run_s']:.1f}", f"{each:.2f}" if each else ""])
    return table(["mix", "GPUs", "running", "on several hosts", "link updates per placement",
                  "speed changes per placement", "analytic, s", "contention, s", "ratio",
                  "µs per speed change"], rows)


def shared_links_command():
    """The whole command on the same cluster and jobs, about 3,000 of them at a time."""
    rows = []
    for mix in ["packed", "flat", "fragmented", "scattered"]:
        with tempfile.TemporaryDirectory() as folder:
            made = json.loads(subprocess.run([BUILD / "bench/bench_network", mix, "3000", "files", folder], check=True,
                                             capture_output=True, text=True).stdout)

            def run(network):
                seconds, _, _, _ = tool_run(
                    ["--cluster", f"{folder}/cluster.yaml", "--trace", f"{folder}/trace.csv", "--policy",
                     made["policy"], "--set", "models=wang", "--set", f"network={network}"], 1)
                return {"run_s": seconds}

            alone, shared = pair(run)
        rows.append([mix, f"`{made['policy']}`", f"{alone['run_s']:.3f}", f"{shared['run_s']:.3f}",
                     f"{shared['run_s'] / alone['run_s']:.1f}"])
    return table(["mix", "policy", "analytic, s", "contention, s", "ratio"], rows)


def network():
    return f"""These runs compare `network=contention` with `network=analytic` on the same jobs. Nodes have 8 GPUs and 100 Gbit/s; a
rack has 25 nodes. Jobs use the four models of `wang`, with all communication exposed, and 30 to 90 minutes of work.

| mix | gangs | placement | a rack's uplink |
|---|---|---|---|
| packed | 1, 2, 4, 8, 16, 32 GPUs (50:15:15:17:2:1) | `fifo:skip=true,placement=best-fit` | a quarter of its hosts' |
| flat | the same | `fifo:skip=true`: any free GPUs | all of its hosts' |
| fragmented | the same | the same | a quarter |
| scattered | 2, 3, 4, 5 GPUs (30:30:30:10) | `placement=spread`: each GPU on another node | a quarter |

The engine with its journal, without files; the fastest of three to fifteen runs, both networks in turn. A link
update is one pass over the flows of one link.

{shared_links()}

The whole command at 3,000 jobs: reading, simulating, auditing, writing.

{shared_links_command()}

The cost of contention depends on the number of jobs that change their speed: each has its work settled, its finish
moved and a record written. If gangs are packed or the fabric does not oversubscribe, that is a few jobs per placement.
If all uplinks are full, every gang on the uplinks of a new or ended gang may change its speed. If one gang takes the
links of another at the same instant, most speeds stay, because links are settled once per instant
([decision 0031](decisions/0031-links-and-fabrics.md))."""


def files():
    return f"""`fairlead simulate` on a million-row CSV: reading, simulating, and writing jobs.csv, the timeline, the
summary and the compressed journal.

{million_jobs_with_files() if not QUICK else ""}"""


def slicing():
    return f"""`gandiva-fair` with quanta of 60 s for 24 hours; 100 users' jobs on 1, 2, 4 and 8 GPUs (70:10:15:5) that
outlast the day request every GPU twice. The whole command, files and all.

{time_slicing()}"""


def overloaded():
    return f"""An offered load of 4 on 1,000 GPUs, so that the queue keeps growing: the cost of a decision must not
depend on the number of waiting jobs.

{overload()}"""


def traces():
    return f"""The whole command. The Tiresias simulator takes 8.7 s for its 5,000 jobs on a 2-core machine.

{real_traces()}"""


def small_parts():
    return f"""Google Benchmark (`build/release/bench/bench_parts`).

{parts()}"""


SECTIONS = {
    "A million jobs": million_jobs,
    "The same as a command": files,
    "Time slicing everywhere": slicing,
    "Scheduling time per round": rounds,
    "One decision by the size of the cluster": scale,
    "Shared links": network,
    "Overload": overloaded,
    "Real traces": traces,
    "Parts": small_parts,
}


def whole_page():
    text = f"""# Performance

`./dev bench` measures these figures and writes this page: {machine()}. Seconds are medians of three runs on a
machine with other work; counts are exact.
"""
    for title, section in SECTIONS.items():
        text += f"\n## {title}\n\n{section()}\n"
    return text


def page_with(title):
    """Returns the page with only one section replaced, which must be there."""
    body = SECTIONS[title]()
    pattern = rf"(?ms)^## {re.escape(title)}\n.*?(?=^## |\Z)"
    text, found = re.subn(pattern, lambda _: f"## {title}\n\n{body}\n\n", PAGE.read_text())
    assert found == 1, f"{PAGE} has no section {title}"
    return text.rstrip("\n") + "\n"


def main():
    global QUICK
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", metavar="TITLE", choices=SECTIONS)
    options = parser.parse_args()
    QUICK = options.quick
    if QUICK:
        print(SECTIONS[options.only]() if options.only else whole_page())
        return
    PAGE.write_text(page_with(options.only) if options.only else whole_page())
    print("wrote docs/performance.md", file=sys.stderr)


if __name__ == "__main__":
    main()
