"""A CPU quota that stands for the type of a job's GPU, so that a script that knows nothing of it slows down."""

import contextlib
import multiprocessing
import os
import pathlib
import tempfile
import time

from harness import Task, until

PERIOD_US = 100_000  # long, because a script computes slowly in the first milliseconds after a pause
WEIGHT = 32  # of the daemon and of a script that trains, relative to one that starts
TICK_S = 0.0005
PAUSE_S = 0.005  # between two looks; a script that has begun to train runs for so long without a quota


def mounts(kind):
    """Returns the folders and options of the mounted file systems of a kind."""
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, folder, type_, options = line.split()[:4]
        if type_ == kind:
            yield pathlib.Path(folder), options.split(",")


def cpu_root():
    """Returns the root of the cpu controller and its version of cgroups, 0 if there is none."""
    for folder, options in mounts("cgroup"):
        if "cpu" in options:
            return folder, 1
    for folder, _ in mounts("cgroup2"):
        if "cpu" in (folder / "cgroup.controllers").read_text().split():
            return folder, 2
    return None, 0


class GroupsV1:
    """The cgroups of a daemon and its tasks, made here. Together they go before all other work of the machine."""

    def __init__(self, root):
        self.parent = pathlib.Path(tempfile.mkdtemp(prefix="fl-quota-", dir=root))
        (self.parent / "cpu.shares").write_text("262144")
        self.own = self.parent / "own"  # of the daemon and the test, which must not wait for scripts that start
        self.own.mkdir()
        (self.own / "cpu.shares").write_text(str(WEIGHT * 1024))

    def adopt(self, pid):
        """Moves a process here. The daemon's later tasks begin here, too."""
        (self.own / "cgroup.procs").write_text(str(pid))

    def group_of(self, task):
        group = self.parent / task.name
        group.mkdir(exist_ok=True)
        return group

    def enter(self, group, task):
        """Moves the processes of a task; later ones inherit the group. Returns whether the task has any yet."""
        below = below_of(task.shim)
        for pid in [task.shim, *below]:
            with contextlib.suppress(ProcessLookupError):
                (group / "cgroup.procs").write_text(str(pid))
        return bool(below)

    def limit(self, group, quota_us, period_us):
        """Sets a quota; None for none. A task with a quota gets it before tasks without one get anything."""
        (group / "cpu.shares").write_text(str(WEIGHT * 1024 if quota_us else 1024))
        (group / "cpu.cfs_quota_us").write_text("-1")
        (group / "cpu.cfs_period_us").write_text(str(period_us))
        if quota_us:
            (group / "cpu.cfs_quota_us").write_text(str(quota_us))

    def remove(self):
        def is_gone():
            # A daemon that starts inside makes groups of its own below.
            for folder in [*sorted(self.parent.rglob("*/"), reverse=True), self.parent]:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            return not self.parent.exists()

        (self.parent.parent / "cgroup.procs").write_text(str(os.getpid()))
        until(is_gone, 10, f"{self.parent} is empty")


class GroupsV2:
    """The cgroups that the daemon has made for its tasks. They get the cpu controller here."""

    def __init__(self, root):
        self.root = root

    def adopt(self, pid):
        """Leaves it where it is: the groups of tasks have a weight of their own."""

    def group_of(self, task):
        group = pathlib.Path(task.cgroup)
        for above in reversed(group.parents):
            if above.is_relative_to(self.root):
                (above / "cgroup.subtree_control").write_text("+cpu")
        (group.parent / "cpu.weight").write_text("10000")
        return group

    def enter(self, group, task):
        return True

    def limit(self, group, quota_us, period_us):
        """As in GroupsV1."""
        (group / "cpu.weight").write_text(str(WEIGHT * 100 if quota_us else 100))
        (group / "cpu.max").write_text(f"{quota_us or 'max'} {period_us}")

    def remove(self):
        """Leaves the groups to the daemon."""


class Limited:
    """A task, from the first look at it."""

    def __init__(self, task, group, log):
        self.task, self.group, self.log = task, group, log
        self.is_inside = self.trains = self.leaves = False
        self.from_byte = log.stat().st_size if log.exists() else 0

    def has_begun(self):
        """Returns whether the script has printed a step in this run."""
        if not self.log.exists() or self.log.stat().st_size == self.from_byte:
            return False
        with open(self.log, "rb") as file:
            file.seek(self.from_byte)
            return b"step " in file.read(65536)


class Ticks:
    """Interrupts each processor often.

    The kernel compares a quota with the time used at its own ticks only, every 4 ms, or if another process comes between.
    A script would overdraw a quota of 2 ms by 2 ms, and would never pay that back if it is suspended then."""

    def __init__(self):
        context = multiprocessing.get_context("fork")
        self.processes = [context.Process(target=self.run, args=(processor,), daemon=True) for processor in os.sched_getaffinity(0)]
        for process in self.processes:
            process.start()

    def run(self, processor):
        os.sched_setaffinity(0, {processor})
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        while True:
            time.sleep(TICK_S)

    def remove(self):
        for process in self.processes:
            process.terminate()
            process.join()


class Quotas:
    """Gives each task of a daemon, while its script trains, a quota of `cores(speed, user)` cores.

    A task has no quota while it imports its framework and while it saves its work. A process does this, because the
    threads of the test act as other users at times."""

    def __init__(self, live, cores):
        root, version = cpu_root()
        self.live, self.cores, self.tasks = live, cores, {}
        self.groups = GroupsV1(root) if version == 1 else GroupsV2(root)
        self.process = multiprocessing.get_context("fork").Process(target=self.run, daemon=True)

    def start(self):
        """To be called when the daemon runs and has no jobs."""
        self.groups.adopt(self.live.program.pid)
        self.groups.adopt(os.getpid())
        self.process.start()

    def run(self):
        while True:
            time.sleep(PAUSE_S)
            with contextlib.suppress(FileNotFoundError):
                for folder in (self.live.folder / "tasks").iterdir():
                    if folder.name not in self.tasks:
                        self.begin(folder)
            for limited in self.tasks.values():
                with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                    self.follow(limited)

    def begin(self, folder):
        with contextlib.suppress(FileNotFoundError, ValueError, IndexError):  # the task has only begun
            task = Task(folder)
            self.tasks[folder.name] = Limited(task, self.groups.group_of(task), self.live.folder / "logs" / f"{task.job}.log")

    def follow(self, limited):
        if limited.leaves:
            return
        if not limited.is_inside:
            limited.is_inside = self.groups.enter(limited.group, limited.task)
        elif (limited.task.folder / "asked").exists():
            limited.leaves = True
            self.groups.limit(limited.group, None, PERIOD_US)
        elif not limited.trains and limited.has_begun():
            limited.trains = True
            self.groups.enter(limited.group, limited.task)  # again: on its way to the command it joins the groups of the daemon
            cores = self.cores(*facts_of(limited.task))
            quota_us = max(1000, round(PERIOD_US * cores))  # the least that the kernel takes
            self.groups.limit(limited.group, quota_us, round(quota_us / cores))

    def remove(self):
        """To be called after the daemon and its jobs are gone."""
        if not self.groups:
            return
        has_failed = self.process.exitcode is not None
        if self.process.pid and not has_failed:
            self.process.terminate()
            self.process.join()
        self.groups.remove()
        self.groups = None
        assert not has_failed, "the process that sets quotas has failed"


def below_of(pid):
    """Returns the processes below a process. It does not look at all others of the machine, because it is called often."""
    children = [int(child) for file in pathlib.Path(f"/proc/{pid}/task").glob("*/children") for child in file.read_text().split()]
    return children + [each for child in children for each in below_of(child)]


def facts_of(task):
    """Returns the speed of a task's GPUs, and its user."""
    for pid in below_of(task.shim):
        variables = dict(item.partition(b"=")[::2] for item in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
        if b"FAIRLEAD_SPEED" in variables:
            return float(variables[b"FAIRLEAD_SPEED"]), os.stat(f"/proc/{pid}").st_uid
    raise ProcessLookupError(task.name)
