"""The daemon is killed again and again, at random moments, while users submit, cancel, hold and release
jobs that count, some of them after others and some as the tasks of an array, and an administrator reserves GPUs. Nothing that it
acknowledged may be lost, no job may run twice, and none may start too early."""

import contextlib
import os
import pathlib
import random
import threading
import time

from harness import DONE, GONE, HERE, IS_ROOT, Figures, LiveTest, Settings, Task, quantile, until

NODES = "4xV100,2xK80@0.5"
GPUS = 6
OPEN_MAX = 16  # jobs that are not done
HOUR_S = 3600
PATIENCE_S = 8  # for a fault that may lie between two steps


class Asked:
    """A submitted job, and the acknowledged facts about it."""

    def __init__(self, name, units, code, processes):
        self.name, self.units, self.code, self.processes = name, units, code, processes
        self.id = None
        self.is_cancelled = False
        self.was_told_to_end = False  # whether that was acknowledged or not
        self.hold = None  # True, False: the last acknowledged state; None: unknown
        self.final = None  # the final state that was seen
        self.after, self.needs_good_ends = [], False
        self.array = [self]  # the tasks of its array, of which one may run at a time, or only itself

    def is_endless(self):
        return self.units > 1000


class Storm(threading.Thread):
    """Users, all day long, who try again when no daemon answers."""

    def __init__(self, daemon, seed):
        super().__init__(daemon=True)
        self.daemon_, self.random = daemon, random.Random(seed)
        self.lock = threading.Lock()  # locked during a request
        self.is_up, self.is_over = threading.Event(), threading.Event()
        self.asked = []
        self.counts = {"submit": 0, "cancel": 0, "hold": 0, "release": 0}
        self.reserved = {}  # whether each acknowledged reservation was told to end
        self.next_hour_ms = (int(time.time()) // HOUR_S + 2) * HOUR_S * 1000

    def run(self):
        while not self.is_over.wait(self.random.expovariate(1 / 0.03)):
            if not self.is_up.wait(1):
                continue
            with self.lock, contextlib.suppress(*GONE):
                self.act()

    def open_jobs(self):
        return [job for job in self.asked if job.id is not None and not job.is_cancelled and not job.final]

    def act(self):
        if IS_ROOT and self.random.random() < 0.05:
            return self.reserve()
        here = self.open_jobs()
        if len(here) < OPEN_MAX and self.random.random() < 0.7:
            return self.submit()
        if not here:
            return None
        job = self.random.choice(here)
        held = [other for other in here if other.hold is not False]
        draw = self.random.random()
        if draw < 0.15:
            return self.tell(job, "cancel")
        if draw < 0.5 and len(held) < 4:
            return self.tell(job, "hold")
        return self.tell(self.random.choice(held), "release") if held else None

    def reserve(self):
        """Reserves a GPU for an hour of its own, or ends a reservation."""
        here = [number for number, is_over in self.reserved.items() if not is_over]
        if here and self.random.random() < 0.5:
            number = self.random.choice(here)
            self.reserved[number] = None  # not known until the answer
            status, body = self.daemon_.ask("POST", f"/v1/reservations/{number}/cancel")
            assert status == 200, body
            self.reserved[number] = True
            return
        begin = self.next_hour_ms
        self.next_hour_ms += HOUR_S * 1000
        status, body = self.daemon_.ask("POST", "/v1/reservations", {
            "user": "root", "gpus": 1, "gpu_type": "K80", "from_unix_ms": begin, "to_unix_ms": self.next_hour_ms})
        assert status == 201, body
        self.reserved[body["id"]] = False

    def submit(self):
        draw, name = self.random.random(), f"j{len(self.asked)}"
        gpus, processes = (1, 1) if draw < 0.55 else (2, 2) if draw < 0.75 else (2, 1) if draw < 0.9 else (4, 1)
        units = 10 ** 6 if self.random.random() < 0.1 else self.random.randrange(0, 20)
        job = Asked(name, units, self.random.choice((0, 0, 0, 3)), processes)
        known = [other for other in self.asked if other.id is not None]
        if known and self.random.random() < 0.25:
            job.after = self.random.sample(known, min(2, len(known)))
            job.needs_good_ends = self.random.random() < 0.5
        conditions = {"after_ok" if job.needs_good_ends else "after": [other.id for other in job.after]}
        if not job.is_endless() and self.random.random() < 0.15:
            return self.submit_array(job, gpus, conditions)
        self.asked.append(job)
        job.hold = False
        job.id = self.daemon_.submit(self.command_of(job), gpus, name=name, processes=processes, **conditions)
        self.counts["submit"] += 1
        return None

    def command_of(self, job):
        return [str(HERE / "count.sh"), str(self.daemon_.work / job.name), str(job.units), "0.1", str(job.code)]

    def submit_array(self, first, gpus, conditions):
        array = first.array
        for _ in range(2):
            job = Asked(f"j{len(self.asked) + len(array)}", first.units, first.code, first.processes)
            job.after, job.needs_good_ends, job.array = first.after, first.needs_good_ends, array
            array.append(job)
        self.asked += array
        for job in array:
            job.hold = False
        tasks = [{"name": job.name, "command": self.command_of(job)} for job in array]
        numbers = self.daemon_.submit(self.command_of(first), gpus, processes=first.processes, tasks=tasks, at_once=1,
                                      **conditions)
        for number, job in enumerate(array, numbers):
            job.id = number
        self.counts["submit"] += 1

    def tell(self, job, verb):
        if verb == "cancel":
            job.was_told_to_end = True
        else:
            job.hold = None
        status, body = self.daemon_.ask("POST", f"/v1/jobs/{job.id}/{verb}")
        if status == 409:  # it is done, or is held only until others have ended
            state = self.daemon_.job(job.id)["state"]
            job.final = state if state in DONE else None
            job.hold = False
            return
        assert status == 200, body
        self.counts[verb] += 1
        if verb == "cancel":
            job.is_cancelled = True
        else:
            job.hold = verb == "hold"


class KillTest(LiveTest):
    def torment(self, title, kills, flags):
        self.title, self.recoveries = title, []
        daemon = self.daemon(NODES, flags=flags, start=False)
        storm = Storm(daemon, self.random.random())
        storm.start()
        self.addCleanup(storm.is_over.set)
        for _ in range(kills):
            self.one_life(daemon, storm)
        storm.is_over.set()
        self.recoveries.append(daemon.start())
        self.let_all_end(daemon, storm)
        self.assert_jobs_did_their_work(daemon, storm)
        self.assert_none_started_too_early(daemon, storm)
        self.assert_clean_end(daemon)
        self.report(daemon, storm, kills)

    def one_life(self, daemon, storm):
        random = self.random
        if random.random() < 0.2:  # while it starts
            daemon.spawn()
            storm.is_over.wait(random.uniform(0, 0.15))
            if daemon.program.poll() is None:
                return daemon.kill()
            self.fail(f"it did not begin: {daemon.said()}")
        self.recoveries.append(daemon.start())
        storm.is_up.set()
        self.assert_nothing_was_lost(daemon, storm)
        if IS_ROOT:
            self.assert_reservations_are_as_told(daemon, storm)
        self.assert_machine_is_as_told(daemon)
        storm.is_over.wait(random.uniform(0, 2.5 if random.random() < 0.2 else 0.6))
        storm.is_up.clear()
        self.assertIsNone(daemon.program.poll(), f"the daemon ended: {daemon.said()}")
        daemon.kill()
        return None

    def assert_nothing_was_lost(self, daemon, storm):
        with storm.lock:
            listed = daemon.jobs()
            by_name = {job["name"]: job for job in listed}
            self.assertEqual(len(by_name), len(listed), "a submission exists twice")
            for asked in storm.asked:
                job = by_name.get(asked.name)
                if job is None:
                    self.assertIsNone(asked.id, f"lost: {asked.name}")
                    self.assertFalse(any(task.name in by_name for task in asked.array), f"lost of an array: {asked.name}")
                    continue
                if asked.id is None:  # it was accepted, and the answer was lost
                    asked.id = job["id"]
                self.assertEqual(asked.id, job["id"], asked.name)
                state = job["state"]
                if asked.final:
                    self.assertEqual(asked.final, state, f"{asked.name} was done")
                if asked.is_cancelled:
                    self.assertIn(state, DONE, f"the cancelling of {asked.name} was lost")
                    if asked.is_endless():
                        self.assertEqual(state, "cancelled", asked.name)
                if asked.hold:
                    self.assertIn(state, ("held", *DONE), f"the hold of {asked.name} was lost")
                asked.final = state if state in DONE else None

    def assert_reservations_are_as_told(self, daemon, storm):
        with storm.lock:
            listed = daemon.get("/v1/reservations")["reservations"]
            self.assertEqual(len({each["from_unix_ms"] for each in listed}), len(listed), "a reservation exists twice")
            numbers = {each["id"] for each in listed}
            for number, is_over in storm.reserved.items():
                if is_over is None:
                    storm.reserved[number] = number not in numbers
                else:
                    self.assertEqual(number not in numbers, is_over, f"reservation {number}")

    def assert_machine_is_as_told(self, daemon):
        """Faults that exist at each look, for long."""
        faults = None

        def look():
            nonlocal faults
            now = self.faults(daemon)
            faults = now if faults is None else faults & now
            return not faults

        try:
            until(look, PATIENCE_S)
        except AssertionError:
            self.fail(f"{sorted(faults)}\n{daemon.said()}")

    def faults(self, daemon):
        jobs = {job["id"]: job for job in daemon.jobs(every=False)}
        environments = daemon.processes()
        faults, gpus, lives = set(), {}, {}
        for task in daemon.tasks():
            try:
                frozen = task.is_frozen()
                task = Task(task.folder)  # it may have been asked to leave meanwhile
            except (OSError, ValueError, IndexError):
                continue
            state = jobs[task.job]["state"] if task.job in jobs else "done"
            if frozen == "half":
                faults.add(f"half of {task.name} is frozen")
            if frozen is True and state in ("running", "done"):
                faults.add(f"{task.name} is frozen, and its job is {state}")
            if frozen is False and state in ("suspended", "held", "waiting") and not task.was_asked:
                faults.add(f"{task.name} runs, and its job is {state}")
            mine = [of for of in environments.values() if of.get("FAIRLEAD_PROGRESS", "").endswith(f"/{task.name}/progress")]
            if mine and frozen is False and not task.was_asked:
                for gpu in mine[0]["CUDA_VISIBLE_DEVICES"].split(","):
                    if gpu in gpus:
                        faults.add(f"{task.name} and {gpus[gpu]} work on GPU {gpu}")
                    gpus[gpu] = task.name
            ranks = {of["RANK"] for of in mine if "RANK" in of}
            if mine and mine[0].get("WORLD_SIZE") == "2" and len(ranks) == 1 and not task.was_asked:
                missing = 1 - int(next(iter(ranks)))
                file = daemon.work / f"{jobs[task.job]['name'] if task.job in jobs else ''}.{missing}"
                if not file.exists() or "end" not in file.read_text():
                    faults.add(f"{task.name} is half a gang")
            lives.setdefault(task.job, set()).add(task.name)
        for of in environments.values():
            if "FAIRLEAD_PROGRESS" in of:
                lives.setdefault(int(of["FAIRLEAD_JOB_ID"]), set()).add(pathlib.Path(of["FAIRLEAD_PROGRESS"]).parent.name)
        faults |= {f"job {job} lives twice: {sorted(names)}" for job, names in lives.items() if len(names) > 1}
        return faults

    def let_all_end(self, daemon, storm):
        self.assert_nothing_was_lost(daemon, storm)
        for asked in storm.asked:
            if asked.id is None or asked.final:
                continue
            storm.tell(asked, "release")
            if asked.is_endless() and not asked.final:
                storm.tell(asked, "cancel")
        for asked in storm.asked:
            if asked.id is not None:
                self.await_end(daemon, asked.id)
        self.assert_nothing_was_lost(daemon, storm)

    def await_end(self, daemon, job):
        """Opens the GPUs again that jobs closed which failed at once, as they were told: others may need them."""
        for _ in range(24):
            with contextlib.suppress(TimeoutError):
                daemon.await_end(job, limit_s=5)
                return
            for gpu in range(GPUS):
                daemon.post(f"/v1/gpus/{gpu}/uncordon")
        self.fail(f"job {job} does not end")

    def assert_jobs_did_their_work(self, daemon, storm):
        states = {job["id"]: job for job in daemon.jobs()}
        # A job that must leave its GPUs in the instant in which it ends by itself starts again, elsewhere, and
        # finds that there is nothing left to do. No other job starts again.
        moved = {job["name"] for job in states.values() if job["restarts"] > 0}
        wrong = {file.stem for file in daemon.work.glob("*.wrong") if file.stem not in moved or "beside" in file.read_text()}
        self.ended_as_told = len(list(daemon.work.glob("*.wrong"))) - len(wrong)
        self.assertFalse(wrong, "\n".join(self.story(daemon, asked) for asked in storm.asked if asked.name in wrong))
        for asked in storm.asked:
            if asked.id is None:
                continue
            job = states[asked.id]
            if job["state"] == "cancelled":
                bad = [other for other in asked.after if states[other.id]["state"] != "finished"]
                self.assertTrue(asked.was_told_to_end or (asked.needs_good_ends and bad),
                                f"{asked.name} was not cancelled by a user")
                continue
            told = f"{job}\n{self.story(daemon, asked)}\n{daemon.output(asked.id)}"
            self.assertEqual(job["state"], "failed" if asked.code else "finished", told)
            self.assertEqual(job["exit_code"], asked.code, told)
            ranks = [""] if asked.processes == 1 else [".0", ".1"]
            for rank in ranks if asked.code == 0 else []:
                lines = (daemon.work / (asked.name + rank)).read_text().splitlines()
                units = [int(line.split()[1]) for line in lines if line.startswith("unit")]
                self.assertEqual(units, list(range(asked.units)), f"{asked.name}{rank}")

    def assert_none_started_too_early(self, daemon, storm):
        asked = {job.id: job for job in storm.asked if job.id is not None}
        ended, released = {}, set()
        for record in daemon.records():
            number, kind = record.get("job"), record["kind"]
            if kind in ("finished", "failed", "cancelled"):
                ended[number] = kind
                released.discard(number)
            if kind != "place" or number not in asked:
                continue
            job = asked[number]
            released.add(number)
            for other in job.after:
                good = ("finished",) if job.needs_good_ends else DONE
                self.assertIn(ended.get(other.id), good, f"{job.name} started before the end of {other.name}")
            together = [task.name for task in job.array if task.id in released]
            self.assertEqual(len(together), 1, f"of an array: {together}")

    def story(self, daemon, asked):
        """Returns all known facts of a job."""
        lines = [f"{asked.name}, job {asked.id}:"]
        for file in sorted(daemon.work.glob(f"{asked.name}.*")) + [daemon.work / asked.name]:
            if file.exists() and file.suffix != ".lock":
                lines.append(f"  {file.name}: " + "; ".join(file.read_text().splitlines()))
        return "\n".join(lines + [f"  {record}" for record in daemon.records() if record.get("job") == asked.id])

    def report(self, daemon, storm, kills):
        states = [job.final for job in storm.asked if job.id is not None]
        moves = sum(job["restarts"] for job in daemon_jobs(daemon))
        group = f"kill, {self.title}"
        Figures.add(group, "SIGKILL at random moments", kills)
        Figures.add(group, "jobs acknowledged / lost / run twice / run again", f"{len(states)} / 0 / 0 / 0", "n / 0 / 0 / 0")
        arrays = {id(job.array) for job in storm.asked if len(job.array) > 1}
        Figures.add(group, "jobs after others / arrays", f"{sum(bool(job.after) for job in storm.asked)} / {len(arrays)}")
        Figures.add(group, "reservations acknowledged / ended / lost",
                    f"{len(storm.reserved)} / {sum(map(bool, storm.reserved.values()))} / 0", "n / n / 0")
        Figures.add(group, "jobs finished / failed as told to / cancelled",
                    " / ".join(str(states.count(state)) for state in ("finished", "failed", "cancelled")))
        Figures.add(group, "cancels / holds / releases acknowledged, lost",
                    "{cancel} / {hold} / {release}, 0".format(**storm.counts), "0")
        Figures.add(group, "jobs started again on other GPUs; of these, that ended as they were told to leave", f"{moves}; {self.ended_as_told}")
        ms = [1000 * s for s in self.recoveries]
        Figures.add(group, "start to ready, ms: median / p99 / most",
                    f"{quantile(ms, 0.5):.0f} / {quantile(ms, 0.99):.0f} / {max(ms):.0f}")
        Figures.add(group, "journal, KiB", os.path.getsize(daemon.folder / "journal.flj") // 1024)

    def kills(self):
        return (Settings.kills or Settings.either(12, 1000)) // 2

    def test_under_cgroups(self):
        self.torment("cgroups", self.kills(), ())

    def test_under_signals(self):
        self.torment("signals", self.kills(), ("--signals",))


def daemon_jobs(daemon):
    """Returns, for jobs that have ended, the restarts in the journal."""
    counts = {}
    for record in daemon.records():
        if record["kind"] == "place" and record.get("place") != "resume":
            counts[record["job"]] = counts.get(record["job"], 0) + 1
    return [{"restarts": count - 1} for count in counts.values()]
