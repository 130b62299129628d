#!/usr/bin/env python3
"""Runs jobs on a real slurmctld and has `fairlead` guess their waits.

Starts munged, a slurmctld and a slurmd per node with made-up GPUs on loopback, in a folder of their own;
submits short jobs that sleep; writes slurmctld's log of them as a trace; and compares as-recorded with the
slurm policy of the same settings.

    apt-get install slurmctld slurmd slurm-client munge
    tests/slurm/real_slurm.py --fairlead build/dev/fairlead --out /tmp/today

It must run as root, because only root may start tasks of other users. --trace FILE leaves Slurm alone and
only compares, from a trace that an earlier run wrote (OUT/trace.csv).
"""

import argparse
import bisect
import csv
import datetime
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

NODES = 4
NODE_GPUS = 4
BF_INTERVAL_S = 10
BF_WINDOW_MIN = 60
WEIGHT_JOB_SIZE = 1000

CONF = """\
ClusterName=today
SlurmctldHost={host}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={out}/munge.socket
CredType=cred/munge
StateSaveLocation={out}/state
SlurmdSpoolDir={out}/spool-%n
SlurmctldPidFile={out}/slurmctld.pid
SlurmdPidFile={out}/slurmd-%n.pid
SlurmctldLogFile={out}/slurmctld.log
SlurmdLogFile={out}/slurmd-%n.log
SlurmctldPort=26817
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
KillWait=1
MinJobAge=600
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval={bf},bf_resolution=1,bf_window={window},batch_sched_delay=0,sched_min_interval=0
PriorityType=priority/multifactor
PriorityWeightJobSize={size}
PriorityCalcPeriod=1
JobCompType=jobcomp/filetxt
JobCompLoc={out}/jobs.txt
GresTypes=gpu
SlurmdParameters=config_overrides
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{port}-{port_last}] CPUs=16 RealMemory=1000 Gres=gpu:{gpus}
PartitionName=gpu Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def drawn_jobs(seed, count, load):
    """(submission in s, nodes, GPUs on each, seconds, limit in minutes), by submission."""
    rng = random.Random(seed)
    jobs = []
    for _ in range(count):
        gpus = rng.choice([1, 1, 1, 2, 2, 4, 4, 8])
        seconds = round(min(60, rng.lognormvariate(2.0, 0.7)) + 2)
        limit = max(1, -(-seconds * rng.choice([1, 2, 4, 8]) // 60))
        jobs.append([0, max(1, gpus // NODE_GPUS), min(gpus, NODE_GPUS), seconds, limit])
    work = sum(nodes * gpus * seconds for _, nodes, gpus, seconds, _ in jobs)
    span = work / (NODES * NODE_GPUS * load)
    for job, at in zip(jobs, sorted(rng.uniform(0, span) for _ in jobs)):
        job[0] = at
    return jobs


class Slurm:
    def __init__(self, out):
        self.out = out
        self.children = []
        self.env = dict(os.environ, SLURM_CONF=str(out / "slurm.conf"))

    def start(self, *command):
        log = open(self.out / "daemons.log", "a")
        self.children.append(subprocess.Popen(command, env=self.env, stdout=log, stderr=log))

    def ask(self, *command):
        done = subprocess.run(command, env=self.env, capture_output=True, text=True)
        return done.stdout + done.stderr

    def __enter__(self):
        try:
            return self.come_up()
        except BaseException:
            self.__exit__()
            raise

    def come_up(self):
        out = self.out
        host = socket.gethostname().split(".")[0]
        (out / "slurm.conf").write_text(CONF.format(
            out=out, host=host, bf=BF_INTERVAL_S, window=BF_WINDOW_MIN,
            size=WEIGHT_JOB_SIZE, last=NODES - 1, gpus=NODE_GPUS,
            port=26820, port_last=26820 + NODES - 1))
        for gpu in range(NODE_GPUS):
            (out / f"gpu{gpu}").touch()
        (out / "gres.conf").write_text(f"Name=gpu File={out}/gpu[0-{NODE_GPUS - 1}]\n")
        (out / "state").mkdir()
        (out / "munge.key").write_bytes(os.urandom(1024))
        os.chmod(out / "munge.key", 0o400)
        self.start("munged", "--foreground", "--force", f"--socket={out}/munge.socket",
                   f"--key-file={out}/munge.key", f"--pid-file={out}/munge.pid",
                   f"--log-file={out}/munge.log", f"--seed-file={out}/munge.seed")
        self.wait_for("munged", lambda: (out / "munge.socket").exists())
        self.start("slurmctld", "-D", "-c")
        for node in range(NODES):
            self.start("slurmd", "-D", "-N", f"n{node}")
        self.wait_for("nodes", lambda: self.ask("sinfo", "-h", "-o", "%D %t").strip() == f"{NODES} idle")
        return self

    def wait_for(self, what, is_there):
        for _ in range(300):
            if is_there():
                return
            time.sleep(0.2)
        raise SystemExit(f"{what} did not come up: see {self.out}/*.log\n{self.ask('sinfo')}")

    def __exit__(self, *_):
        for child in reversed(self.children):
            child.send_signal(signal.SIGTERM)
        for child in self.children:
            try:
                child.wait(timeout=20)
            except subprocess.TimeoutExpired:
                child.kill()


def run_jobs(slurm, jobs):
    begin = time.monotonic()
    for at, nodes, gpus, seconds, limit in jobs:
        time.sleep(max(0, begin + at - time.monotonic()))
        said = slurm.ask("sbatch", "-N", str(nodes), "--ntasks-per-node=1", "-c", str(4 * gpus), f"--gres=gpu:{gpus}",
                         "-t", str(limit), "-J", str(nodes * gpus), "-o", "/dev/null", "-D", "/tmp", "--wrap",
                         f"exec sleep {seconds}")
        if "Submitted" not in said:
            raise SystemExit(f"sbatch: {said}")
    log = slurm.out / "jobs.txt"
    while len(log.read_text().splitlines()) < len(jobs):
        time.sleep(1)


def trace_of(log, path):
    """The jobs of a jobcomp/filetxt log as Fairlead's own format."""
    def at(text):
        return int(datetime.datetime.fromisoformat(text).timestamp())
    rows = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in log.read_text().splitlines()]
    rows.sort(key=lambda row: int(row["JobId"]))
    first = min(at(row["SubmitTime"]) for row in rows)
    with open(path, "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(["job", "user", "gpus", "submit_s", "duration_s", "time_limit_s", "partition", "start_s"])
        for row in rows:
            start, end = at(row["StartTime"]), at(row["EndTime"])
            out.writerow([row["JobId"], "root", row["Name"], at(row["SubmitTime"]) - first,
                          max(1, end - start), int(row["TimeLimit"]) * 60, row["Partition"], start - first])


def compare(fairlead, trace, out):
    """Returns the trace as in the log, and again with the time that slurmctld takes to fill free GPUs."""
    slurm = (f"slurm:bf_interval_s={BF_INTERVAL_S},bf_resolution_s=1,bf_window_s={BF_WINDOW_MIN * 60},"
             f"priority_weight_job_size={WEIGHT_JOB_SIZE},placement=consolidate")
    with open(trace) as file:
        rows = list(csv.DictReader(file))
    real = {row["job"]: float(row["start_s"]) for row in rows}
    gap = gap_s(rows)
    for name, start_s in (("as it is", 0), (f"starts take {gap:.2f} s", gap)):
        folder = out / f"start-{start_s:.2f}"
        print(f"--- {name}", flush=True)
        subprocess.run([fairlead, "compare", "--cluster", f"{NODES}xV100:{NODE_GPUS}", "--trace", trace,
                        "--policies", f"as-recorded:placement=consolidate;{slurm}", "--set", "costs=none",
                        "--set", f"start_s={start_s:.2f}", "--out", folder], check=True)
        [jobs] = folder.glob("slurm*/jobs.csv")
        with open(jobs) as file:
            print(order_text(real, {row["job"]: float(row["start_s"]) for row in csv.DictReader(file)}))


def gap_s(rows):
    """Mean time from the last end of a job to the start of one that had waited for 5 s and more."""
    starts = [(float(row["submit_s"]), float(row["start_s"])) for row in rows]
    ends = sorted(float(row["start_s"]) + float(row["duration_s"]) for row in rows)
    gaps = [start - ends[bisect.bisect_right(ends, start) - 1]
            for submit, start in starts if start - submit >= 5 and start >= ends[0]]
    return sum(gaps) / len(gaps) if gaps else 0


def order_text(real, model):
    """Returns how far the two orders of starts agree: Kendall's tau over pairs that both distinguish."""
    names = sorted(real)
    agree = differ = 0
    for i, a in enumerate(names):
        for b in names[:i]:
            product = (real[a] - real[b]) * (model[a] - model[b])
            agree += product > 0
            differ += product < 0
    off = sorted(abs(real[a] - model[a]) for a in names)
    return (f"order of starts: {agree} pairs agree, {differ} do not (tau {(agree - differ) / (agree + differ):.3f}); "
            f"starts differ by {off[len(off) // 2]:.0f} s in the median, {off[int(len(off) * 0.9)]:.0f} s at the "
            f"9th decile")


def main():
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flags.add_argument("--fairlead", default="build/dev/fairlead")
    flags.add_argument("--out", required=True, type=pathlib.Path)
    flags.add_argument("--jobs", type=int, default=300)
    flags.add_argument("--load", type=float, default=1.1)
    flags.add_argument("--seed", type=int, default=1)
    flags.add_argument("--trace", help="of an earlier run: only compare")
    given = flags.parse_args()
    out = given.out.resolve()
    if given.trace:
        out.mkdir(parents=True, exist_ok=True)
        return compare(given.fairlead, given.trace, out)
    missing = [name for name in ("munged", "slurmctld", "slurmd", "sbatch") if not shutil.which(name)]
    if missing:
        print(f"skipped: there is no {', '.join(missing)}; apt-get install slurmctld slurmd slurm-client munge")
        return None
    out.mkdir(parents=True)
    with Slurm(out) as slurm:
        run_jobs(slurm, drawn_jobs(given.seed, given.jobs, given.load))
    trace_of(out / "jobs.txt", out / "trace.csv")
    return compare(given.fairlead, out / "trace.csv", out)


if __name__ == "__main__":
    sys.exit(main())
