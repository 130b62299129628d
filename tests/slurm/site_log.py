#!/usr/bin/env python3
"""Writes a Slurm log as sites have it, with waits that are known to be right.

    site_log.py --jobs 27000 --out DIR [--site limited]

DIR gets scontrol.txt, sacct.txt and squeue.txt in the form of Slurm's own commands, sacct-local.txt with local times
without a zone, and truth.json with what a reader must find. The site has three GPU partitions with node types of their own, MIG instances, a feature that only some nodes
have, and a partition without GPUs. Jobs are cancelled while they wait, requeued after a failure, and some rows are from
before a change of the clock. Starts are those of a scheduler as Slurm's: first come, first served in each partition, and
every 30 s conservative backfill by time limits. It shares no code with Fairlead's model of Slurm.

The site `limited` has one partition whose jobs ask for features, and limits of QOS and accounts on the GPUs and jobs that run
at once; sacctmgr-qos.txt and sacctmgr-assoc.txt have them. A job that a limit blocks does not block others. It counts from its
start to its end.
"""

import argparse
import bisect
import datetime
import heapq
import json
import math
import pathlib
import random

START = datetime.datetime(2026, 10, 5, tzinfo=datetime.timezone.utc)
CLOCK_CHANGE = datetime.datetime(2026, 10, 25, 1, tzinfo=datetime.timezone.utc)  # from UTC+2 to UTC+1
BACKFILL_S = 30
FAR = 1 << 60


class Node:
    def __init__(self, name, partition, kind, gpus, features):
        self.name, self.partition, self.kind, self.gpus, self.features = name, partition, kind, gpus, features
        self.free = gpus


def site(name):
    nodes = []

    def add(prefix, count, partition, kind, gpus, features):
        for i in range(count):
            nodes.append(Node(f"{prefix}{i + 1:02}", partition, kind, gpus, features))

    if name == "limited":
        add("hop", 4, "gpu", "h100", 8, ["h100", "nvlink"])
        add("amp", 6, "gpu", "a100", 8, ["a100", "nvlink"])
        add("amq", 6, "gpu", "a100", 8, ["a100", "pcie"])
        return nodes
    add("hopper", 5, "h100", "h100", 8, ["h100", "nvlink"])
    add("amp", 6, "a100", "a100", 8, ["a100", "nvlink"])
    add("amq", 4, "a100", "a100", 8, ["a100", "pcie"])
    add("volta", 6, "small", "v100", 4, ["v100"])
    add("mig", 2, "small", "a100_1g.5gb", 28, ["mig"])
    add("mih", 1, "small", "a100_3g.20gb", 8, ["mig"])
    add("cpu", 10, "cpu", "", 0, [])
    return nodes


# Of each kind of request: partition, requested type, features, sizes as (GPUs, nodes) with their weights, and the part
# of the partition's GPUs of that type that these jobs keep busy.
KINDS = [
    ("h100", "h100", "", [(1, 1), (2, 1), (4, 1), (8, 1), (16, 2)], [30, 15, 25, 22, 8], 0.80),
    ("a100", "", "", [(1, 1), (2, 1), (4, 1), (8, 1)], [45, 20, 20, 15], 0.57),
    ("a100", "a100", "nvlink", [(2, 1), (4, 1), (8, 1), (16, 2)], [25, 35, 30, 10], 0.28),
    ("small", "v100", "", [(1, 1), (2, 1), (4, 1)], [60, 25, 15], 0.88),
    ("small", "a100_1g.5gb", "", [(1, 1), (2, 1)], [90, 10], 0.75),
    ("small", "a100_3g.20gb", "", [(1, 1), (2, 1)], [85, 15], 0.80),
]


LIMITED_KINDS = [
    ("gpu", "", "h100", [(1, 1), (2, 1), (4, 1), (8, 1)], [35, 20, 25, 20], 0.75),
    ("gpu", "", "a100", [(1, 1), (2, 1), (4, 1)], [50, 30, 20], 0.45),
    ("gpu", "", "nvlink", [(2, 1), (4, 1), (8, 1)], [40, 35, 25], 0.08),
    ("gpu", "", "pcie", [(1, 1), (2, 1)], [70, 30], 0.12),
]
# Of each QOS: most GPUs and jobs of a user, most GPUs of all its jobs; 0: no limit.
QOS = {"normal": (20, 0, 0), "student": (8, 6, 20), "free": (0, 0, 0)}
ACCOUNTS = {"physics": 48, "biology": 0, "school": 0}  # most GPUs


class Limits:
    """The use of QOS and accounts by the jobs that run."""

    def __init__(self):
        self.gpus, self.jobs = {}, {}

    @staticmethod
    def of(job):
        user_gpus, user_jobs, all_gpus = QOS[job.qos]
        return [((job.qos, job.user), user_gpus, user_jobs), ((job.qos,), all_gpus, 0),
                ((job.account, "account"), ACCOUNTS[job.account], 0)]

    def allow(self, job):
        return job.qos == "" or all((not gpus or self.gpus.get(key, 0) + job.gpus <= gpus)
                                    and (not jobs or self.jobs.get(key, 0) < jobs)
                                    for key, gpus, jobs in self.of(job))

    def count(self, job, sign):
        if job.qos:
            for key, _, _ in self.of(job):
                self.gpus[key] = self.gpus.get(key, 0) + sign * job.gpus
                self.jobs[key] = self.jobs.get(key, 0) + sign


class Job:
    qos = account = ""

    def __init__(self, number, user, partition, kind, features, gpus, nodes, submit, work, limit):
        self.id, self.user, self.partition = number, user, partition
        self.kind, self.features = kind, features
        self.gpus, self.nodes, self.submit, self.work, self.limit = gpus, nodes, submit, work, limit
        self.patience = FAR  # it is cancelled if it waits longer
        self.breaks = 0      # it is requeued after that much of its work, if not 0
        self.start = None

    def may_use(self, node):
        return (node.partition == self.partition and self.kind in ("", node.kind)
                and (not self.features or self.features in node.features))


def draw_jobs(jobs, nodes, rng, kinds):
    """Draws jobs so that each kind of request has its load: first sizes and durations, then the times."""
    weights = []
    for partition, kind, feature, sizes, shares, load in kinds:
        capacity = sum(n.gpus for n in nodes if n.partition == partition and kind in ("", n.kind)
                       and (kinds is KINDS or feature in n.features))
        mean = sum(g * s for (g, _), s in zip(sizes, shares)) / sum(shares)
        weights.append(load * capacity / mean)
    users = [f"u{i:02}" for i in range(40)]
    popularity = [1 / (i + 1) ** 0.8 for i in range(40)]
    work_mean = 0
    drawn = []
    for _ in range(jobs):
        row = rng.choices(range(len(kinds)), weights)[0]
        partition, kind, features, sizes, shares, _ = kinds[row]
        gpus, count = rng.choices(sizes, shares)[0]
        work = min(max(int(rng.lognormvariate(math.log(3600), 1.5)), 20), 2 * 86400)
        limit = next(x for x in (3600, 4 * 3600, 12 * 3600, 86400, 2 * 86400, 4 * 86400)
                     if x >= work * rng.uniform(1, 3) or x == 4 * 86400)
        if rng.random() < 0.03:
            work = limit = min(limit, 4 * 3600)  # it meets its limit
        drawn.append((rng.choices(users, popularity)[0], partition, kind, features, gpus, count, work, limit))
        work_mean += work / jobs
    # Of the kinds together, `sum(weights)` jobs run at a time.
    span = jobs * work_mean / sum(weights)
    times = []
    while len(times) < jobs:
        t = rng.random() * span
        hour = (t / 3600) % 24
        if rng.random() * 1.5 < 1 + 0.5 * math.sin((hour - 8) / 24 * 2 * math.pi):
            times.append(int(t))
    made = []
    for number, (t, one) in enumerate(zip(sorted(times), drawn)):
        job = Job(48000 + number, *one[:4], *one[4:6], t, *one[6:])
        if rng.random() < 0.04:
            job.patience = int(rng.expovariate(1 / 1800)) + 1
        if rng.random() < 0.01 and job.work > 600:
            job.breaks = int(job.work * rng.uniform(0.2, 0.9))
        if kinds is LIMITED_KINDS:
            number = int(job.user[1:])
            job.qos = "student" if number >= 25 else "free" if number % 7 == 3 else "normal"
            job.account = "school" if number >= 25 else "physics" if number % 2 else "biology"
        made.append(job)
    return made, int(span)


class Profile:
    """What will be free on each node, as steps in time: for promises to jobs that wait."""

    def __init__(self, now, nodes, ends):
        self.times = [now]
        self.free = [[node.free for node in nodes]]
        at = {}
        for end, taken in ends:
            at.setdefault(max(end, now + 1), []).append(taken)
        for end in sorted(at):
            row = list(self.free[-1])
            for taken in at[end]:
                for node, gpus in taken:
                    row[node] += gpus
            self.times.append(end)
            self.free.append(row)

    def fit(self, job, usable, length):
        """Returns the earliest step at which the job fits for its whole length, and its nodes."""
        each = job.gpus // job.nodes
        for first, begin in enumerate(self.times):
            least = [self.free[first][node] for node in usable]
            if sum(x >= each for x in least) < job.nodes:
                continue
            step = first + 1
            while step < len(self.times) and self.times[step] < begin + length:
                least = [min(x, self.free[step][node]) for x, node in zip(least, usable)]
                if sum(x >= each for x in least) < job.nodes:
                    break
                step += 1
            else:
                fitting = sorted((x, node) for x, node in zip(least, usable) if x >= each)
                return first, [(node, each) for _, node in fitting[:job.nodes]]
        return None, []

    def take(self, first, length, taken):
        end = self.times[first] + length
        last = bisect.bisect_left(self.times, end)
        if last == len(self.times) or self.times[last] != end:
            self.times.insert(last, end)
            self.free.insert(last, list(self.free[last - 1]))
        for step in range(first, last):
            for node, gpus in taken:
                self.free[step][node] -= gpus


class Partition:
    """The scheduler of one partition; partitions share no node."""

    def __init__(self, nodes):
        self.nodes, self.waiting, self.running, self.limits = nodes, [], {}, Limits()
        self.usable, self.has_changed = {}, False

    def nodes_for(self, job):
        key = (job.kind, job.features)
        if key not in self.usable:
            self.usable[key] = [i for i, node in enumerate(self.nodes) if job.may_use(node)]
        return self.usable[key]

    def room(self, job):
        each = job.gpus // job.nodes
        fitting = sorted((self.nodes[i].free, i) for i in self.nodes_for(job) if self.nodes[i].free >= each)
        return [(i, each) for _, i in fitting[:job.nodes]] if len(fitting) >= job.nodes else []

    def start(self, job, taken, now):
        job.start = now
        for node, gpus in taken:
            self.nodes[node].free -= gpus
        self.running[job] = taken
        self.limits.count(job, 1)

    def in_order(self, now):
        started = []
        for job in list(self.waiting):
            if not self.limits.allow(job):
                continue
            taken = self.room(job)
            if not taken:
                break
            self.waiting.remove(job)
            self.start(job, taken, now)
            started.append(job)
        return started

    def backfill(self, now):
        started, left = [], []
        self.has_changed = False
        if not self.waiting or not any(node.free for node in self.nodes):
            return started
        profile = Profile(now, self.nodes, [(j.start + j.limit, taken) for j, taken in self.running.items()])
        for place, job in enumerate(self.waiting):
            if place >= 100 or not self.limits.allow(job):
                left.append(job)
                continue
            first, taken = profile.fit(job, self.nodes_for(job), job.limit)
            if first is not None:
                profile.take(first, job.limit, taken)
            if first == 0:
                self.start(job, taken, now)
                started.append(job)
            else:
                left.append(job)
        self.waiting = left
        return started

    def stop(self, job):
        for node, gpus in self.running.pop(job):
            self.nodes[node].free += gpus
        self.limits.count(job, -1)


def run(jobs, nodes, until):
    """Runs the site. Returns the records of its accounting: (job, submit, start, end, state, nodes)."""
    partitions = {n.partition: None for n in nodes if n.gpus}
    for name in partitions:
        partitions[name] = Partition([n for n in nodes if n.partition == name])
    records, events, serial = [], [], 0

    def later(time, what, job):
        nonlocal serial
        serial += 1
        heapq.heappush(events, (time, serial, what, job))

    for job in jobs:
        later(job.submit, "submit", job)
    ticks = set()
    while events and events[0][0] <= until:
        now, _, what, job = heapq.heappop(events)
        where = partitions[job if what == "tick" else job.partition]
        started = []
        if what == "submit":
            where.waiting.append(job)
            if job.patience < FAR:
                later(now + job.patience, "give up", job)
        elif what == "give up":
            if job.start is not None or job not in where.waiting:
                continue
            where.waiting.remove(job)
            records.append((job, job.submit, None, now, "CANCELLED by 1004", []))
        elif what == "end":
            taken = [(where.nodes[i].name, gpus, where.nodes[i].kind) for i, gpus in where.running[job]]
            where.stop(job)
            again = job.breaks > 0
            state = ("NODE_FAIL" if job.id % 2 else "REQUEUED") if again else ended(job)
            records.append((job, job.submit, job.start, now, state, taken))
            if again:  # the run that follows has a submission of its own
                job.breaks, job.start, job.patience, job.submit = 0, None, FAR, now
                where.waiting.append(job)
        if what == "tick":
            ticks.discard((now, job))
            started = where.backfill(now) if where.has_changed else []
            name = job
        else:
            where.has_changed = True
            started = where.in_order(now)
            name = job.partition
        for one in started:
            later(now + (one.breaks or min(one.work, one.limit)), "end", one)
        tick = (now // BACKFILL_S + 1) * BACKFILL_S
        if where.has_changed and where.waiting and (tick, name) not in ticks:
            ticks.add((tick, name))
            later(tick, "tick", name)
    return records, partitions


def ended(job):
    if job.work >= job.limit:
        return "TIMEOUT"
    return "FAILED" if job.id % 11 == 3 else "CANCELLED by 1002" if job.id % 17 == 5 else "COMPLETED"


def unix(second):
    return "None" if second is None else int(START.timestamp()) + second


def local(second):
    if second is None:
        return "None"
    at = START + datetime.timedelta(seconds=second)
    return (at + datetime.timedelta(hours=2 if at < CLOCK_CHANGE else 1)).strftime("%Y-%m-%dT%H:%M:%S")


def tres(gpus, nodes, kind):
    typed = f"gres/gpu:{kind}={gpus}," if kind else ""
    return f"billing={8 * gpus},cpu={8 * gpus},{typed}gres/gpu={gpus},mem={64 * gpus}G,node={nodes}"


def clock(seconds):
    days, rest = divmod(seconds, 86400)
    text = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    return f"{days}-{text}" if days else text


def write_sacct(path, records, cpu, at):
    rows = [(submit, "|".join(map(str, [
        job.id, job.user, job.partition, at(submit), at(start), at(end), end - start if start is not None else 0,
        job.limit // 60, 4294 if start is not None else 0, job.nodes, job.features, tres(job.gpus, job.nodes, job.kind),
        tres(job.gpus, job.nodes, taken[0][2]) if taken else "", state] + ([job.qos, job.account] if job.qos else []))))
        for job, submit, start, end, state, taken in records]
    for number, submit, elapsed in cpu:
        rows.append((submit, f"{number}|u{number % 40:02}|cpu|{at(submit)}|{at(submit + 5)}|"
                     f"{at(submit + 5 + elapsed)}|{elapsed}|1440|4294|1||billing=4,cpu=4,mem=16G,node=1|"
                     "billing=4,cpu=4,mem=16G,node=1|COMPLETED"))
    rows.sort(key=lambda row: row[0])
    more = "|QOS|Account" if records[0][0].qos else ""
    path.write_text("JobID|User|Partition|Submit|Start|End|ElapsedRaw|TimelimitRaw|Priority|NNodes|Constraints|ReqTRES|"
                    f"AllocTRES|State{more}\n" + "".join(row + "\n" for _, row in rows))
    return len(rows)


def write_nodes(path, nodes):
    path.write_text("\n".join(
        f"NodeName={n.name} Arch=x86_64 CoresPerSocket=32\n   AvailableFeatures={','.join(n.features) or '(null)'}\n"
        f"   ActiveFeatures={','.join(n.features) or '(null)'}\n"
        f"   Gres={f'gpu:{n.kind}:{n.gpus}(S:0-1)' if n.gpus else '(null)'}\n"
        f"   State=MIXED ThreadsPerCore=2\n   Partitions={n.partition}\n" for n in nodes))


def gpus(amount):
    return f"cpu={16 * amount},gres/gpu={amount}" if amount else ""


def write_limits(out):
    (out / "sacctmgr-qos.txt").write_text(
        "Name|Priority|GraceTime|Flags|UsageFactor|GrpTRES|GrpJobs|MaxTRES|MaxTRESPU|MaxJobsPU|MaxTRESPA\n" + "".join(
            f"{name}|0|00:00:00||1.000000|{gpus(everyone)}||gres/gpu=64|{gpus(user)}|{jobs or ''}|\n"
            for name, (user, jobs, everyone) in QOS.items()))
    (out / "sacctmgr-assoc.txt").write_text(
        "Cluster|Account|Par Name|User|Partition|GrpTRES|GrpJobs|MaxJobs\nsite|root||||||\n" + "".join(
            f"site|{name}|root|||{gpus(most)}||\n" for name, most in ACCOUNTS.items()))


def write_queue(path, partitions, now):
    names = ("JOBID USER STATE TIME TIME_LIMIT NODES PARTITION FEATURES TRES_ALLOC REASON").split()
    has_qos = any(job.qos for partition in partitions.values() for job in (*partition.running, *partition.waiting))
    names += ["QOS", "ACCOUNT"] if has_qos else []
    lines = ["|".join(names) + "|"]
    for partition in partitions.values():
        for state, jobs in (("RUNNING", partition.running), ("PENDING", partition.waiting)):
            for job in jobs:
                kind = job.kind
                if state == "RUNNING":
                    kind = partition.nodes[partition.running[job][0][0]].kind
                lines.append("|".join(map(str, [
                    job.id, job.user, state, clock(now - job.start) if state == "RUNNING" else "0:00", clock(job.limit),
                    job.nodes, job.partition, job.features or "(null)", tres(job.gpus, job.nodes, kind),
                    "None" if state == "RUNNING" else "Resources"] + ([job.qos, job.account] if has_qos else []))) + "|")
    path.write_text("".join(line + "\n" for line in lines))
    return len(lines) - 1


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=27000, help="GPU jobs; a tenth as many without GPUs come with them")
    parser.add_argument("--site", choices=["three", "limited"], default="three", help="(default: three partitions)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    rng = random.Random(args.seed)
    nodes = site(args.site)
    jobs, span = draw_jobs(args.jobs, nodes, rng, LIMITED_KINDS if args.site == "limited" else KINDS)
    # The clock changes in the middle of the log.
    shift = int((CLOCK_CHANGE - START).total_seconds()) - span // 2
    for job in jobs:
        job.submit += shift
    records, partitions = run(jobs, nodes, shift + span)
    without_gpus = args.jobs // 10 if args.site == "three" else 0
    cpu = [(48000 + args.jobs + i, shift + rng.randrange(span), rng.randrange(60, 7200)) for i in range(without_gpus)]
    args.out.mkdir(parents=True, exist_ok=True)
    rows = write_sacct(args.out / "sacct.txt", records, cpu, unix)
    write_sacct(args.out / "sacct-local.txt", records, cpu, local)
    write_nodes(args.out / "scontrol.txt", nodes)
    if args.site == "limited":
        write_limits(args.out)
    queued = write_queue(args.out / "squeue.txt", partitions, shift + span)
    ran = [(start - submit, job) for job, submit, start, _, _, _ in records if start is not None]
    truth = {"rows": rows, "jobs": len(ran), "without_gpus": len(cpu), "queued": queued,
             "cancelled_while_waiting": sum(start is None for _, _, start, _, _, _ in records),
             "runs_again": sum(state in ("NODE_FAIL", "REQUEUED") for *_, state, _ in records),
             "mean_wait_s": sum(wait for wait, _ in ran) / len(ran)}
    for name in partitions:
        waits = [wait for wait, job in ran if job.partition == name]
        truth[f"mean_wait_s_{name}"] = sum(waits) / max(len(waits), 1)
    (args.out / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
    print(json.dumps(truth, indent=1))


if __name__ == "__main__":
    main()
