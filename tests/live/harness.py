"""A real daemon in a folder of its own, its clients, and the machine's own facts about its jobs.

Tests wait for an answer of the daemon (GET /v1/jobs/ID/end) or for a pipe that a job writes to. If there is
no such signal, they poll within a bound (`until`). No test relies on a pause.
"""

import contextlib
import glob
import http.client
import json
import os
import pathlib
import random
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
IS_ROOT = os.geteuid() == 0
DONE = ("finished", "failed", "cancelled", "rejected")
PAUSE_S = 0.02  # between two polls


class Settings:
    """The arguments of the command line (run.py)."""

    programs = pathlib.Path("build/dev")
    is_long = False
    seed = 1
    kills = None

    @classmethod
    def either(cls, short, long):
        return long if cls.is_long else short


class Figures:
    """The measurements, for the table at the end."""

    rows = []

    @classmethod
    def add(cls, group, what, value, target=""):
        cls.rows.append({"group": group, "what": what, "value": value, "target": target})

    @classmethod
    def text(cls):
        if not cls.rows:
            return "no figures"
        names = ("group", "what", "value", "target")
        lines = [names] + [tuple(str(row[name]) for name in names) for row in cls.rows]
        widths = [max(len(line[i]) for line in lines) for i in range(len(names))]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines)


def quantile(values, q):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(q * len(ordered)))]


def until(condition, limit_s=30, what="a condition"):
    """Returns the first true result of `condition`, which is called again and again. `what` is a text or makes one."""
    end = time.monotonic() + limit_s
    while True:
        answer = condition()
        if answer:
            return answer
        if time.monotonic() > end:
            raise AssertionError(f"not within {limit_s} s: {what() if callable(what) else what}")
        select.select([], [], [], PAUSE_S)


_user_lock = threading.Lock()


@contextlib.contextmanager
def as_user(uid):
    """The process acts as that user meanwhile; a socket that is connected then is that user's."""
    if uid is None:
        yield
        return
    with _user_lock:
        os.setegid(uid)
        os.seteuid(uid)
        try:
            yield
        finally:
            os.seteuid(0)
            os.setegid(0)


class Connection(http.client.HTTPConnection):
    def __init__(self, path, uid=None, timeout=60):
        super().__init__("localhost", timeout=timeout)
        self.path, self.uid = path, uid

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        with as_user(self.uid):
            self.sock.connect(self.path)

    def ask(self, method, target, body=None):
        """Returns the status and the body of the answer, parsed if it is JSON."""
        text = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
        self.request(method, target, text)
        answer = self.getresponse()
        raw = answer.read()
        is_json = answer.getheader("Content-Type", "").startswith("application/json")
        return answer.status, json.loads(raw) if is_json else raw.decode()


GONE = (OSError, http.client.HTTPException)  # the errors of a client when the daemon is killed


class Daemon:
    def __init__(self, nodes, policy="gandiva-fair:quantum_s=1,resident=true", grace_s=3, flags=(), folder=None):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="fl-"))
        os.chmod(self.base, 0o755)  # jobs of other users go through it
        self.folder = pathlib.Path(folder or self.base / "d")
        self.work = self.base / "work"  # where jobs run and write
        self.work.mkdir(mode=0o777)
        os.chmod(self.work, 0o777)
        self.token = f"FAIRLEAD_LIVE={self.base.name}"
        self.arguments = [str(Settings.programs / "fairlead"), "serve", *(["--nodes", nodes] if nodes else []),
                          "--policy", policy, "--grace", str(grace_s), "--folder", str(self.folder), *flags]
        self.environment = dict(os.environ)
        self.program = None
        self.log = open(self.base / "daemon.log", "ab")

    # Its life.

    def spawn(self):
        self.program = subprocess.Popen(self.arguments, stdout=subprocess.PIPE, stderr=self.log, env=self.environment)

    def await_ready(self, limit_s=60):
        """Returns its first line; raises if it ended instead."""
        ready, _, _ = select.select([self.program.stdout], [], [], limit_s)
        line = self.program.stdout.readline().decode() if ready else ""
        if "clients at" not in line:
            self.kill()
            raise AssertionError(f"the daemon did not begin: {self.said()}")
        return line

    def start(self):
        start = time.monotonic()
        self.spawn()
        self.await_ready()
        return time.monotonic() - start

    def kill(self):
        self.program.kill()
        self.program.wait()
        self.program.stdout.close()

    def stop(self):
        self.program.terminate()
        code = self.program.wait(timeout=60)
        self.program.stdout.close()
        return code

    def is_up(self):
        return self.program is not None and self.program.poll() is None

    def said(self):
        return (self.base / "daemon.log").read_text(errors="replace")[-2000:]

    def remove(self):
        """Removes the rest of it, including its jobs."""
        if self.is_up():
            self.kill()
        groups = {task.cgroup for task in self.tasks() if task.cgroup}
        limits = {group for task in self.tasks() for group in task.limit_groups}
        for task in self.tasks():
            with contextlib.suppress(OSError):
                os.kill(task.shim, signal.SIGUSR2)
        for group in groups:
            with contextlib.suppress(OSError):
                pathlib.Path(group, "cgroup.kill").write_text("1")
        for pid in self.processes():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(AssertionError):
            until(lambda: not self.processes(), 10)
        for group in groups:
            with contextlib.suppress(OSError, AssertionError):
                until(lambda: "populated 0" in pathlib.Path(group, "cgroup.events").read_text(), 5)
                os.rmdir(group)
        for group in limits:
            with contextlib.suppress(OSError):
                os.rmdir(group)
        for place in self.cgroups():
            with contextlib.suppress(OSError):
                os.rmdir(place)
        self.log.close()
        shutil.rmtree(self.base, ignore_errors=True)

    def cgroups(self):
        """Returns the folders of its tasks' cgroups, in each hierarchy."""
        with contextlib.suppress(OSError):
            name = f"{(self.folder / 'began').read_text().strip()}.{self.folder.stat().st_ino}"
            return glob.glob(f"/sys/fs/cgroup/**/fairlead/{name}", recursive=True)
        return []

    # Its clients.

    def connect(self, uid=None, timeout=60):
        return Connection(str(self.folder / "socket"), uid, timeout)

    def ask(self, method, target, body=None, uid=None, timeout=60):
        with contextlib.closing(self.connect(uid, timeout)) as connection:
            return connection.ask(method, target, body)

    def get(self, target, uid=None):
        status, body = self.ask("GET", target, uid=uid)
        assert status == 200, (target, status, body)
        return body

    def post(self, target, uid=None):
        status, body = self.ask("POST", target, uid=uid)
        assert status == 200, (target, status, body)

    def request_for(self, command, gpus=1, environment=(), **more):
        path = "PATH=" + os.environ.get("PATH", "/usr/bin:/bin")
        return {"command": list(command), "gpus": gpus, "folder": str(self.work),
                "environment": [path, self.token, *environment], **more}

    def submit(self, command, gpus=1, environment=(), uid=None, **more):
        status, body = self.ask("POST", "/v1/jobs", self.request_for(command, gpus, environment, **more), uid)
        assert status == 201, (status, body)
        return body["id"]

    def job(self, job, uid=None):
        return self.get(f"/v1/jobs/{job}", uid)

    def jobs(self, every=True):
        return self.get("/v1/jobs" + ("?all=1" if every else ""))["jobs"]

    def users(self):
        return {user["name"]: user for user in self.get("/v1/users")["users"]}

    def await_state(self, job, *states, limit_s=30):
        return until(lambda: (now := self.job(job))["state"] in states and now, limit_s,
                     f"job {job} is {' or '.join(states)}")

    def await_end(self, job, limit_s=60):
        status, body = self.ask("GET", f"/v1/jobs/{job}/end", timeout=limit_s)
        assert status == 200, (status, body)
        return body

    def set_tickets(self, user, tickets):
        status, body = self.ask("PUT", f"/v1/users/{urllib.parse.quote(user)}", {"tickets": tickets})
        assert status == 200, (status, body)

    def output(self, job):
        return (self.folder / "logs" / f"{job}.log").read_text(errors="replace")

    # The machine: facts that do not depend on the daemon.

    def processes(self):
        """Returns the environments of all live processes of jobs of this daemon, by process."""
        token = self.token.encode()
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                raw = pathlib.Path("/proc", entry, "environ").read_bytes()
            except OSError:
                continue
            variables = raw.split(b"\0")
            if token in variables:
                pairs = (variable.decode(errors="replace").partition("=") for variable in variables)
                found[int(entry)] = {name: value for name, _, value in pairs}
        return found

    def tasks(self):
        """Returns the tasks with live shims."""
        found = []
        with contextlib.suppress(OSError):
            for folder in sorted((self.folder / "tasks").iterdir()):
                with contextlib.suppress(OSError, ValueError, IndexError):
                    task = Task(folder)
                    if is_alive(task.shim):
                        found.append(task)
        return found

    def cpu_s(self):
        """Returns the processor time of the daemon so far."""
        return int(pathlib.Path(f"/proc/{self.program.pid}/schedstat").read_text().split()[0]) / 1e9

    # Its journal.

    def journal(self, command, *arguments):
        return subprocess.run([Settings.programs / "fairlead", "journal", command, *arguments,
                               self.folder / "journal.flj"], capture_output=True, text=True, check=False)

    def records(self):
        return [json.loads(line) for line in self.journal("dump").stdout.splitlines()]


def play_driver(live, name, loaded_as):
    """Puts the library of a played driver before a daemon; returns the file of its answers."""
    library = Settings.programs / f"modules/io/libfl_testing_{name}.so"
    if not library.exists():
        raise unittest.SkipTest(f"{library} is not built")
    libraries = live.base / "lib"
    libraries.mkdir()
    (libraries / loaded_as).symlink_to(library)
    says = live.base / name
    live.environment |= {"LD_LIBRARY_PATH": str(libraries), f"FAIRLEAD_TESTING_{name.upper()}": str(says)}
    return says


class Task:
    """One run of a job: a folder tasks/JOB.RUN, a shim, and the processes below it."""

    def __init__(self, folder):
        self.folder = folder
        self.name = folder.name
        self.job = int(folder.name.split(".")[0])
        mark = (folder / "shim").read_text().split("\n")
        self.shim, self.cgroup = int(mark[1]), mark[3]
        self.limit_groups = [group for group in mark[4:] if group]
        self.was_asked = (folder / "asked").exists()

    def descendants(self):
        """Returns the processes below the shim, with their states."""
        children = {}
        for entry in os.listdir("/proc"):
            if entry.isdigit() and (stat := stat_of(int(entry))):
                children.setdefault(stat[1], []).append((int(entry), stat[0]))
        below, open_ = [], [self.shim]
        while open_:
            for pid, state in children.get(open_.pop(), ()):
                below.append((pid, state))
                open_.append(pid)
        return below

    def is_frozen(self):
        """True, False, or "half" of it."""
        if self.cgroup:
            return "\nfrozen 1" in "\n" + pathlib.Path(self.cgroup, "cgroup.events").read_text()
        states = [state in "Tt" for _, state in self.descendants() if state not in "ZX"]
        if not states or not any(states):
            return False
        return True if all(states) else "half"


def stat_of(pid):
    """State and parent."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    fields = text[text.rindex(")") + 2:].split()
    return fields[0], int(fields[1])


def is_alive(pid):
    stat = stat_of(pid)
    return stat is not None and stat[0] not in "ZX"


class LiveTest(unittest.TestCase):
    def setUp(self):
        self.random = random.Random(f"{Settings.seed} {self.id()}")

    def daemon(self, *arguments, start=True, **more):
        daemon = Daemon(*arguments, **more)
        self.addCleanup(daemon.remove)
        if start:
            daemon.start()
        return daemon

    def assert_clean_end(self, daemon):
        """Checks that no job, process or task folder is left, and that the journal is whole."""
        self.assertTrue(daemon.is_up(), daemon.said())
        until(lambda: not daemon.jobs(every=False), 60, "all jobs are done")
        until(lambda: not daemon.processes(), 30, "no process of a job is left")
        for folder in ("tasks", "jobs"):
            until(lambda: not os.listdir(daemon.folder / folder), 10, lambda: (
                f"nothing is left of {folder}: {os.listdir(daemon.folder / folder)}"))
        self.assertEqual(daemon.stop(), 0, daemon.said())
        verified = daemon.journal("verify")
        self.assertLess(verified.returncode, 2, verified.stdout + verified.stderr)
