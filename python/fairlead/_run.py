"""Simulations and their results."""

from __future__ import annotations

import io
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import weakref
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from html import escape
from typing import Any, Iterator, Mapping, Sequence, Union

from fairlead import _core
from fairlead._errors import InputError, RunError
from fairlead._saved import SavedRun
from fairlead._table import Table
from fairlead._trace import TraceLike, trace as trace_of
from fairlead.policy import Policy

PolicyLike = Union[str, Policy]


def _settings(settings: Mapping[str, Any]) -> list[str]:
    """Returns the settings in the form of `--set`."""
    texts = []
    for key, value in settings.items():
        if not isinstance(value, (str, bool, int, float)):
            raise InputError(f"{key}: expected a text or a number, got {value!r}")
        texts.append(f"{key}={str(value).lower() if isinstance(value, bool) else value}")
    return texts


def _program(*words: str) -> str:
    """Returns the output of a command of the command line."""
    from fairlead.__main__ import program

    done = subprocess.run([program(), *words], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        kind = InputError if done.returncode == 2 else RunError
        raise kind(done.stderr.strip().removeprefix("fairlead: "))
    return done.stdout


class Report:
    """A page about a run; a notebook displays it."""

    def __init__(self, html: str) -> None:
        self.html = html

    def save(self, path: str | os.PathLike[str]) -> None:
        pathlib.Path(path).write_text(self.html)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{escape(self.html)}" style="width:100%;height:640px;border:1px solid #ccc"></iframe>'


class Run:
    """The result of a simulation. Tables are computed at their first use. Pickles have all results and the journal."""

    def __init__(self, finished: _core.FinishedRun | SavedRun, folder: pathlib.Path) -> None:
        self._finished = finished
        self._folder = folder  # contains the journal; deleted with the run
        self._is_written = False
        self._lock = threading.Lock()
        self._cleanup = weakref.finalize(self, shutil.rmtree, folder, True)
        self._cache: dict[str, Any] = {}

    def _once(self, name: str, make: Any) -> Any:
        with self._lock:
            if name not in self._cache:
                self._cache[name] = make()
            return self._cache[name]

    @property
    def summary(self) -> dict[str, Any]:
        """All figures of summary.json (docs/formats.md)."""
        made: dict[str, Any] = self._once("summary", lambda: json.loads(self._finished.summary()))
        return made

    @property
    def jobs(self) -> Table:
        """A row for each job: job, user, model, gpus, submit_s, start_s, finish_s, jct_s, queue_s, gpu_types, preemptions,
        migrations, status. Times in seconds; not-a-number if there is none."""
        table: Table = self._once("jobs", lambda: Table(self._finished.jobs()))
        return table

    @property
    def users(self) -> Table:
        """A row for each user: tickets, jobs, GPU-hours received and entitled, mean JCT and queueing in seconds."""
        table: Table = self._once("users", lambda: Table(self._finished.users()))
        return table

    @property
    def timeline(self) -> Table:
        """GPUs in use and entitled, and jobs running and waiting, by user, as means over bins that start at t_s."""
        table: Table = self._once("timeline", lambda: Table(self._finished.timeline()))
        return table

    @property
    def events(self) -> Table:
        """Events of jobs, in order: t_s, event (arrived, start, resume, migrate, stop, evicted, finished, ...), job,
        gpus."""
        journal = str(self._folder / "journal.flj")
        table: Table = self._once("events", lambda: Table(_core.events(journal)))
        return table

    @property
    def decisions(self) -> int:
        """Number of decisions of the policy."""
        return self._finished.decisions

    @property
    def journal_hash(self) -> str:
        """Identifies all events: equal runs have equal hashes."""
        return self._finished.journal_hash

    def why(self, job: str | None = None) -> dict[str, Any]:
        """Returns why a job waited, moment by moment; without a job, the causes of all waiting in the run."""
        words = ["why", str(self._written()), *([] if job is None else [str(job)]), "--json"]
        answer: dict[str, Any] = json.loads(_program(*words))
        return answer

    def report(self) -> Report:
        """Returns the page that `fairlead report` writes."""
        page = self._folder / "report.html"
        _program("report", str(self._written()), "-o", str(page))
        return Report(page.read_text())

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Writes the files of `fairlead simulate`: summary.json, jobs.csv, users.csv, timeline.csv, journal.flj."""
        shutil.copytree(self._written(), folder, dirs_exist_ok=True)

    def _written(self) -> pathlib.Path:
        with self._lock:
            if not self._is_written and isinstance(self._finished, _core.FinishedRun):
                self._finished.save(str(self._folder))
                self._is_written = True
            return self._folder

    def __reduce__(self) -> Any:
        archive = io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w:gz") as files:
            files.add(self._written(), arcname=".")
        return _unpickled, (archive.getvalue(),)

    def __repr__(self) -> str:
        jct = self.summary.get("jct_avg_s")
        return (f"<fairlead.Run of {self.summary['policy']} on {self.summary['cluster']}: {self.summary['jobs_read']} jobs"
                f"{'' if jct is None else f', mean JCT {jct:.0f} s'}>")


def load(folder: str | os.PathLike[str]) -> Run:
    """Returns the run whose results Run.save() or `fairlead simulate --out` wrote. Numbers of its tables have six decimals,
    as in the files. Raises InputError if there is none."""
    source = pathlib.Path(folder)
    SavedRun(source)  # checks the folder
    copy = pathlib.Path(tempfile.mkdtemp(prefix="fairlead-"))
    shutil.copytree(source, copy, dirs_exist_ok=True)
    return Run(SavedRun(copy), copy)


def _unpickled(archive: bytes) -> Run:
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead-"))
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return Run(SavedRun(folder), folder)


def simulate(cluster: str | os.PathLike[str], trace: TraceLike, policy: PolicyLike = "fairlead", *, seed: int = 0,
             until_s: float | None = None, **settings: Any) -> Run:
    """Simulates these jobs on that cluster under the policy.

    cluster: a preset ("slides"), a file, or shorthand ("8xV100:4"). trace: a path, a DataFrame, a dict of columns, a list
    of dicts, or a Trace (see fairlead.trace). policy: a name with options ("las:quantum_s=300"), or a Policy.
    until_s: time at which the clock stops. settings: as for `--set`, such as costs="none" or speeds="measured".

    Raises InputError if an argument is wrong, RunError if the run cannot continue, and any exception of a Policy.
    Ctrl-C ends the run. Built-in policies run without Python's lock, so threads run in parallel.
    """
    if not isinstance(policy, str) and not callable(getattr(policy, "decide", None)):
        kind = f"the class {policy.__name__}: make an object of it" if isinstance(policy, type) else repr(policy)
        raise InputError(f"policy: expected a name or a Policy, got {kind}")
    if isinstance(policy, type):
        raise InputError(f"policy: expected an object, got the class; use {policy.__name__}()")
    if not isinstance(seed, int) or isinstance(seed, bool) or not 0 <= seed < 2**64:
        raise InputError(f"seed: expected a whole number from 0, got {seed!r}")
    if until_s is not None and not 0 < until_s <= 3e9:
        raise InputError(f"until_s: expected seconds above 0, got {until_s!r}")
    texts = _settings(settings)
    jobs = trace_of(trace)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="fairlead-"))
    try:
        finished = _core.simulate(os.fspath(cluster), jobs, policy, texts, seed, until_s, str(folder / "journal.flj"))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Run(finished, folder)


class _Progress:
    """A line with the number of finished runs, in terminals and notebooks."""

    def __init__(self, total: int, is_on: bool | None) -> None:
        shows = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._is_on = total > 1 and (shows if is_on is None else is_on)
        self._done, self._total, self._lock = 0, total, threading.Lock()

    def one_more(self) -> None:
        with self._lock:
            self._done += 1
            if self._is_on:
                end = "\n" if self._done == self._total else ""
                print(f"\r{self._done} of {self._total} runs", end=end, file=sys.stderr, flush=True)


_FIGURES = ("jct_avg_s", "jct_p99_s", "queue_avg_s", "makespan_s", "gpu_utilization", "preemptions", "migrations")


class Comparison(Mapping[str, Run]):
    """Runs by label, in the order of the request."""

    def __init__(self, runs: dict[str, Run]) -> None:
        self._runs = runs

    def __getitem__(self, label: str) -> Run:
        return self._runs[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """A dict for each run: its label and main figures, in seconds and fractions."""
        return [{"run": label, **{name: run.summary.get(name) for name in _FIGURES}} for label, run in self._runs.items()]

    def to_pandas(self) -> Any:
        import pandas

        return pandas.DataFrame(self.rows).set_index("run")

    def __repr__(self) -> str:
        rows = [["run", *_FIGURES]] + [[str(row["run"]), *(_text(row[name]) for name in _FIGURES)] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*rows)]
        return "\n".join("  ".join([row[0].ljust(widths[0]), *(text.rjust(width) for text, width in zip(row[1:], widths[1:]))])
                         for row in rows)

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in ("run", *_FIGURES))
        rows = "".join("<tr>" + f"<td>{escape(str(row['run']))}</td>" + "".join(f"<td>{_text(row[name])}</td>" for name in _FIGURES)
                       + "</tr>" for row in self.rows)
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _text(value: Any) -> str:
    return "" if value is None else (f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}") if isinstance(value, float) else str(value)


def _label(policy: PolicyLike) -> str:
    return policy if isinstance(policy, str) else str(getattr(policy, "name", type(policy).__name__))


def compare(cluster: str | os.PathLike[str], trace: TraceLike, policies: Sequence[PolicyLike], *, seed: int = 0,
            until_s: float | None = None, progress: bool | None = None, workers: int | None = None,
            executor: Executor | None = None, **settings: Any) -> Comparison:
    """Simulates the same jobs under several policies. Built-in ones run on `workers` threads (default: as many as there
    are processors), policies in Python one after the other. With `executor`, each run is a task of this
    concurrent.futures.Executor, also in other processes or on other machines (the clients of Dask and Ray have one); the
    trace and policies must then be picklable. progress: whether a line shows the progress (default: in terminals and
    notebooks)."""
    if isinstance(policies, (str, Policy)):
        raise InputError("policies: expected a list, as in [\"fifo\", \"las\"]")
    labels = [_label(policy) for policy in policies]
    repeated = {label for label in labels if labels.count(label) > 1}
    if repeated:
        raise InputError(f"policies: two have the name {sorted(repeated)[0]}")
    line = _Progress(len(labels), progress)
    if executor is not None:
        if isinstance(trace, _core.Trace):
            raise InputError("trace: a Trace cannot be sent to an executor; give a path, a DataFrame or a dict of columns")
        tasks = [executor.submit(simulate, cluster, trace, policy, seed=seed, until_s=until_s, **settings) for policy in policies]
        return Comparison(dict(zip(labels, _results(tasks, line))))
    jobs = trace_of(trace)

    def one(policy: PolicyLike) -> Run:
        run = simulate(cluster, jobs, policy, seed=seed, until_s=until_s, **settings)
        line.one_more()
        return run

    with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
        built_in = {label: pool.submit(one, policy) for label, policy in zip(labels, policies) if isinstance(policy, str)}
        try:
            own = {label: one(policy) for label, policy in zip(labels, policies) if not isinstance(policy, str)}
            return Comparison({label: own[label] if label in own else built_in[label].result() for label in labels})
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _results(tasks: list[Future[Run]], line: _Progress) -> list[Run]:
    """Waits for the tasks. If one fails, cancels the others and raises its exception."""
    try:
        for task in as_completed(tasks):
            task.result()
            line.one_more()
    except BaseException:
        for task in tasks:
            task.cancel()
        raise
    return [task.result() for task in tasks]


def sweep(cluster: str | os.PathLike[str], trace: TraceLike, policy: str, options: Mapping[str, Sequence[Any]],
          **arguments: Any) -> Comparison:
    """Simulates one policy with all combinations of these options, as in sweep(..., "las", {"quantum_s": [60, 300]}). Further
    arguments are as for compare()."""
    if not options or any(isinstance(values, str) for values in options.values()):
        raise InputError("options: expected a list of values for each, as in {\"quantum_s\": [60, 300]}")
    texts = []
    for values in itertools.product(*options.values()):
        given = ",".join(f"{name}={str(value).lower() if isinstance(value, bool) else value}"
                         for name, value in zip(options, values))
        texts.append(f"{policy}{',' if ':' in policy else ':'}{given}")
    return compare(cluster, trace, texts, **arguments)


def what_if(folder: str | os.PathLike[str], policies: Sequence[PolicyLike], **arguments: Any) -> Comparison:
    """Simulates the queue in a folder of `fairlead import` or `fairlead whatif --save` under several policies, if no other
    job comes. Each job has its remaining time, and times count from now. Further arguments are as for compare()."""
    path = pathlib.Path(folder)
    return compare(path / "cluster.yaml", path / "queue.csv", policies, **arguments)


def replay(run: Run, policy: str) -> dict[str, Any]:
    """Returns the first different decision of another policy in the same run, and its alternative."""
    answer: dict[str, Any] = json.loads(_program("replay", str(run._written()), "--policy", policy, "--json"))
    return answer


def bounds(cluster: str | os.PathLike[str], trace: TraceLike, **settings: Any) -> dict[str, Any]:
    """Returns lower bounds for any policy with these jobs on that cluster: of makespan and mean JCT, in seconds."""
    found: dict[str, Any] = simulate(cluster, trace, "fifo", **settings).summary["bounds"]
    return found


def policies() -> list[str]:
    """Returns the names of the built-in policies."""
    return _core.policies()
