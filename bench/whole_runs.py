#!/usr/bin/env python3
"""Measures whole runs and writes docs/performance.md.

Counts (events, decisions, allocations) are exact and repeatable; seconds depend on the machine, so
every figure is the median of some repeats in this one run, and growth is given as ratios.
`--quick` leaves out the largest sizes and writes nothing.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/release"
SHARED = pathlib.Path(os.environ.get("FAIRLEAD_SHARED", ROOT.parent / "shared"))
QUICK = "--quick" in sys.argv[1:]


def engine_run(policy, jobs, gpus, load, repeats):
    command = [BUILD / "bench/bench_run", policy, str(jobs), str(gpus), str(load)]
    runs = [json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for _ in range(repeats)]
    runs.sort(key=lambda run: run["run_s"])
    print(f"  {policy}, {jobs:,} jobs, {gpus:,} GPUs, load {load}: {runs[len(runs) // 2]['run_s']} s",
          file=sys.stderr)
    return runs[len(runs) // 2]


def tool_run(arguments, repeats):
    """Wall seconds and peak memory of the whole command: reading, simulating, writing the files."""
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
        # las and srtf walk the running jobs at every decision, so fewer jobs tell as much.
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
        for policy in ["fifo:skip=true", "tiresias", "gandiva-fair"]:
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


def main():
    sizes = [10_000, 20_000, 40_000] if QUICK else [10_000, 30_000, 100_000, 300_000, 500_000, 1_000_000]
    text = f"""# Performance

Measured by `./dev bench`, which writes this page: {machine()}. Seconds are medians of three runs on a
machine that does other things too; counts are exact.

## A million jobs

Synthetic Philly-like jobs (`fairlead trace generate`), 10,000 GPUs in nodes of 8, load 0.9. The engine
with its journal encoded and hashed, without reading or writing files. An event is an arrival or a
finish; allocations are calls of operator new after half of the events.

### `fifo:skip=true`

{growth("fifo:skip=true", sizes, 10_000, 0.9)}

### `tiresias`

{growth("tiresias", sizes, 10_000, 0.9)}

### `gandiva-fair`

Quanta of 60 s.

{growth("gandiva-fair", sizes, 10_000, 0.9)}

## The same as a command

`fairlead simulate` on a million-row CSV: reading, simulating, and writing jobs.csv, the timeline, the
summary and the compressed journal.

{million_jobs_with_files() if not QUICK else ""}

## Time slicing everywhere

`gandiva-fair` with quanta of 60 s for 24 hours; 100 users' jobs on 1, 2, 4 and 8 GPUs (70:10:15:5) that
outlast the day want every GPU twice. The whole command, files and all.

{time_slicing()}

## Overload

1,000 GPUs asked for four times over, so that the queue grows and grows: what a decision costs must not
depend on how many wait.

{overload()}

## Real traces

The whole command. The Tiresias simulator takes 8.7 s for its 5,000 jobs on a 2-core machine.

{real_traces()}

## Parts

Google Benchmark (`build/release/bench/bench_parts`).

{parts()}
"""
    if QUICK:
        print(text)
    else:
        (ROOT / "docs/performance.md").write_text(text)
        print("wrote docs/performance.md", file=sys.stderr)


if __name__ == "__main__":
    main()
