"""Jobs in containers (`--container`, docs/decisions/0088-containers.md): frozen, limited and ended as any other job.

The image has programs of this machine, so no registry is asked. The containers are those of root, and those of a user
with a range of ids in /etc/subuid."""

import contextlib
import io
import os
import pathlib
import pwd
import re
import shutil
import subprocess
import tarfile
import unittest

from harness import IS_ROOT, LiveTest, Settings, is_alive, play_driver, until
from limits import can_limit

IMAGE = "fairlead-test"
PROGRAMS = ("sh", "cat", "sleep", "head", "tr")
IS_UNIFIED = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
# Counts in the file. `trap`: for SIGTERM.
COUNT = "{trap} i=0; while :; do i=$((i + 1)); echo $i > {file}; sleep 0.01; done"


def image():
    """Returns the archive of a root folder with programs of this machine and their libraries."""
    found = {"/bin/" + name: shutil.which(name) for name in PROGRAMS}
    for program in list(found.values()):
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
        found |= {path: path for path in re.findall(r"(/\S+) \(", listed)}
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", dereference=True) as tar:
        for inside, path in found.items():
            tar.add(os.path.realpath(path), inside.lstrip("/"))
        for folder in ("dev", "etc", "proc", "run", "sys", "tmp"):
            entry = tarfile.TarInfo(folder)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
    return archive.getvalue()


def subuid_account():
    """Returns the account of a user that may have containers."""
    with contextlib.suppress(OSError):
        for line in pathlib.Path("/etc/subuid").read_text().splitlines():
            with contextlib.suppress(KeyError):
                return pwd.getpwnam(line.split(":")[0])
    return None


class Containers(LiveTest):
    def account(self):
        return None  # this process's own

    def setUp(self):
        super().setUp()
        runtime = "crun" if IS_UNIFIED else "runc"
        for program in ("podman", "conmon", "catatonit", runtime):
            if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/libexec/podman"):
                raise unittest.SkipTest(f"{program} is not installed")

    def begin(self, *arguments, start=True, **more):
        """Starts a daemon, and makes a folder for podman with the image."""
        self.live = self.daemon(*arguments, start=start, **more)
        self.own = self.live.base / "own"
        (self.own / "run").mkdir(parents=True)
        (self.own / "containers.conf").write_text(
            f'[engine]\nevents_logger = "file"\nruntime = "{"crun" if IS_UNIFIED else "runc"}"\n'
            '[containers]\ndefault_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]\n')  # some machines let root raise none
        (self.own / "storage.conf").write_text(
            f'[storage]\ndriver = "vfs"\ngraphroot = "{self.own}/root"\nrunroot = "{self.own}/run"\n'
            f'rootless_storage_path = "{self.own}/root"\n')
        account = self.account()
        self.as_account = {} if account is None else {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
        if account:
            for path in (self.own, self.own / "run"):
                os.chown(path, account.pw_uid, account.pw_gid)
        os.chmod(self.own / "run", 0o700)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(self.own), "XDG_RUNTIME_DIR": str(self.own / "run"),
                            "CONTAINERS_CONF": str(self.own / "containers.conf"),
                            "CONTAINERS_STORAGE_CONF": str(self.own / "storage.conf"),
                            "FAIRLEAD_SOCKET": str(self.live.folder / "socket")}
        name, _, value = self.live.token.partition("=")
        self.environment[name] = value
        self.addCleanup(self.remove_groups)
        made = self.podman("import", "-", IMAGE, input=image(), check=False)
        self.addCleanup(self.podman, "system", "migrate", check=False)  # ends podman's process for the user's ids
        if made.returncode != 0:
            raise unittest.SkipTest(f"podman does not work here: {made.stderr.decode()}")

    def remove_groups(self):
        """Removes groups that runc leaves in hierarchies that Fairlead does not use."""
        for place in self.live.cgroups():
            for folder, _, _ in os.walk(place, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)

    def podman(self, *words, check=True, **more):
        return subprocess.run(["podman", "--cgroup-manager=cgroupfs", *words], env=self.environment, cwd=self.live.work,
                              capture_output=True, check=check, **self.as_account, **more)

    def fairlead(self, command, *flags, script, typed=""):
        return subprocess.run([Settings.programs / "fairlead", command, *flags, "--container", IMAGE, "--", "/bin/sh", "-c", script],
                              input=typed, env=self.environment, cwd=self.live.work, capture_output=True, text=True, check=False, **self.as_account)

    def submit(self, *flags, script):
        done = self.fairlead("submit", *flags, script=script)
        self.assertEqual(done.returncode, 0, done.stderr)
        return int(done.stdout)

    def count_in(self, name, *flags, trap=""):
        """Submits a job that counts; returns it, and the file in which it counts."""
        file = self.live.work / name
        return self.submit(*flags, script=COUNT.format(trap=trap, file=file)), file

    def listed(self):
        """Returns the containers that podman knows."""
        return self.podman("ps", "--all", "--quiet").stdout.decode().split()

    def pid_of(self, job):
        """Returns the number on this machine of the job's shell, once it runs in its container."""
        def inner():
            for pid, variables in self.live.processes().items():
                with contextlib.suppress(OSError):
                    status = pathlib.Path(f"/proc/{pid}/status").read_text()
                    if variables.get("FAIRLEAD_JOB_ID") == str(job) and status.startswith("Name:\tsh\n") and \
                            re.search(r"^NSpid:\t\d+\t\d+$", status, re.MULTILINE):
                        return pid
            return None
        return until(inner, 60, f"job {job} runs in its container")

    @staticmethod
    def text(file):
        with contextlib.suppress(OSError):
            return pathlib.Path(file).read_text().strip()
        return ""

    def end(self):
        self.podman("system", "migrate", check=False)
        self.assert_clean_end(self.live)


class Cases:
    """The cases, for each kind of user."""

    def test_the_command_runs_in_the_folder_and_its_exit_code_is_reported(self):
        self.begin("1xV100", "fifo")
        done = self.fairlead("run", script="echo job $FAIRLEAD_JOB_ID on $CUDA_VISIBLE_DEVICES in $PWD; echo made > file; cat; "
                             "echo 1 > $FAIRLEAD_PROGRESS && exit 7", typed="typed\n")
        self.assertEqual((done.returncode, done.stdout), (7, f"job 0 on 0 in {self.live.work}\ntyped\n"), done.stderr)
        self.assertEqual((self.live.work / "file").stat().st_uid, self.as_account.get("user", os.geteuid()))
        done = self.fairlead("run", "--container-option=--no-such-flag", script="true")
        self.assertEqual(done.returncode, 125, done.stderr)
        self.assertEqual(self.listed(), [])
        self.end()

    def test_it_is_frozen_in_the_turn_of_another_job(self):
        self.begin("1xV100", "gandiva-fair:quantum_s=1,resident=true")
        jobs = dict(self.count_in(name) for name in ("one", "two"))
        for job in jobs:
            self.pid_of(job)
        for still, file in jobs.items():
            other = next(path for job, path in jobs.items() if job != still)
            self.assert_still(still, file, other)
        for job in jobs:
            self.live.post(f"/v1/jobs/{job}/cancel")
        self.end()

    def assert_still(self, job, file, other):
        """Waits for a turn of the other job in which this one counts no further."""
        def is_frozen():
            return any(task.job == job and task.is_frozen() is True for task in self.live.tasks())

        def was_still():
            until(is_frozen, 60, f"job {job} is frozen")
            before, beside = self.text(file), self.text(other)
            until(lambda: self.text(other) != beside or not is_frozen(), 60, "the other job counts")
            after = self.text(file)
            if is_frozen():
                self.assertEqual(after, before)
                return self.text(other) != beside
            return False
        until(was_still, 120, "a turn in which it is frozen and the other one counts")

    def test_a_cancelled_one_leaves_nothing_and_one_that_had_to_be_killed_is_removed_by_the_next(self):
        self.begin("1xV100", "fifo", grace_s=1)
        for trap, left in (("", 0), ("trap '' TERM;", 1)):
            job, file = self.count_in(f"count{left}", trap=trap)
            pid = self.pid_of(job)
            until(lambda path=file: self.text(path), 60, "it counts")
            self.assertEqual(len(self.listed()), 1)
            self.live.post(f"/v1/jobs/{job}/cancel")
            self.assertEqual(self.live.await_end(job)["state"], "cancelled")
            self.assertFalse(is_alive(pid))
            self.assertEqual(len(self.listed()), left)
        self.assertEqual(self.fairlead("run", script="exit 0").returncode, 0)
        self.assertEqual(self.listed(), [])
        self.end()

    @unittest.skipUnless(can_limit("memory"), "no cgroups here that limit memory")
    def test_its_memory_is_limited(self):
        self.begin("1xV100", "fifo")
        if "not limited in memory" in self.live.said():
            raise unittest.SkipTest("no cgroups here that limit memory")
        script = "x=$(head -c {} /dev/zero | tr '\\0' x); echo has it"
        small = self.fairlead("run", "--mem", "200M", script=script.format(400_000_000))
        self.assertEqual((small.returncode, small.stdout), (137, ""), small.stderr)
        large = self.fairlead("run", "--mem", "2G", script=script.format(4_000_000))
        self.assertEqual((large.returncode, large.stdout), (0, "has it\n"), large.stderr)
        self.end()

    def test_its_processes_are_not_foreign(self):
        if os.stat("/proc/self/ns/pid").st_ino != 0xEFFFFFFC:
            raise unittest.SkipTest("a container, in which the driver's processes are not found")
        if os.path.exists("/dev/nvidiactl"):
            raise unittest.SkipTest("this machine has another driver than the played one")
        self.begin(None, "fifo", start=False)
        says = play_driver(self.live, "nvml", "libnvidia-ml.so.1")
        gpus = "".join(f"gpu GPU-{name} 50 NVIDIA A100-SXM4-80GB\n" for name in "ab")
        says.write_text(gpus)
        self.live.start()
        job, _ = self.count_in("count")
        other = subprocess.Popen(["sleep", "600"])
        self.addCleanup(other.wait)
        self.addCleanup(other.kill)
        says.write_text(gpus + f"process GPU-a {self.pid_of(job)}\nprocess GPU-b {other.pid}\n")

        def foreign():
            return [[process["pid"] for process in gpu["foreign"]] for gpu in self.live.get("/v1/cluster")["nodes"][0]["gpus"]]
        until(lambda: foreign()[1], 30, "the daemon has looked")
        self.assertEqual(foreign(), [[], [other.pid]])
        self.live.post(f"/v1/jobs/{job}/cancel")
        self.end()


class OwnTest(Cases, Containers):
    """Containers of the user that runs the tests: root, in general."""


@unittest.skipUnless(IS_ROOT, "root starts the daemon for another user")
@unittest.skipUnless(subuid_account(), "no user has a range in /etc/subuid")
@unittest.skipUnless(shutil.which("newuidmap"), "newuidmap is not installed")
class UserTest(Cases, Containers):
    """Containers of a user, under a daemon of root."""

    def account(self):
        return subuid_account()
