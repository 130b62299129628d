"""Converts the data of a notebook to the jobs of a run."""

from __future__ import annotations

import difflib
import math
import numbers
import os
from typing import Any, Iterable, Mapping, Union

from fairlead import _core
from fairlead._errors import InputError

#: A path to a trace file of any known format, or to a Parquet file (pyarrow must be installed); a DataFrame (pandas, polars, pyarrow); a dict of columns; a list of
#: dicts, one for each job; or a Trace.
TraceLike = Union[str, "os.PathLike[str]", _core.Trace, Mapping[str, Any], Iterable[Mapping[str, Any]], Any]

_TEXTS = ("job", "user", "model", "gpu_type", "runs_on", "require_level", "prefer_level", "group", "partition", "qos",
          "account", "state")
_WHOLES = ("gpus", "gpus_min", "gpus_max", "task_gpus", "copies_max", "tickets", "group_tickets", "group_quota", "priority")
_AMOUNTS = ("cpus", "memory_gb")
_SECONDS = ("submit_s", "duration_s", "time_limit_s", "start_s")
_REQUIRED = ("job", "gpus", "submit_s", "duration_s")


def trace(jobs: TraceLike, name: str = "jobs") -> _core.Trace:
    """Returns the jobs as a Trace, which several runs can share.

    The columns are as in Fairlead's own format. job, gpus, submit_s and duration_s are required; user, model, gpus_min,
    gpus_max, tickets and others are optional. Times are seconds. Raises InputError, which names column and row.
    """
    if isinstance(jobs, _core.Trace):
        return jobs
    if isinstance(jobs, (str, os.PathLike)):
        path = os.fspath(jobs)
        return trace(_parquet(path), name) if path.endswith(".parquet") else _core.read_trace(path)
    columns = _columns(jobs)
    _check_names(columns)
    return _core.trace_of(name, {column: _values(column, values) for column, values in columns.items()})


def _parquet(path: str) -> Any:
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_table(path)
    except (OSError, pyarrow.ArrowInvalid) as error:
        raise InputError(f"{path}: {error}") from error


def _columns(jobs: Any) -> dict[str, list[Any]]:
    if isinstance(jobs, Mapping):
        columns = {str(name): list(values) for name, values in jobs.items()}
    elif hasattr(jobs, "to_pylist") and hasattr(jobs, "column_names"):  # pyarrow
        columns = {name: jobs.column(name).to_pylist() for name in jobs.column_names}
    elif hasattr(jobs, "columns") and hasattr(jobs, "__getitem__"):  # pandas, polars
        columns = {str(name): list(jobs[name]) for name in jobs.columns}
    elif hasattr(jobs, "column_names"):  # a fairlead.Table
        columns = {name: list(jobs[name]) for name in jobs.column_names}
    elif isinstance(jobs, Iterable):
        rows = list(jobs)
        for i, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise InputError(f"trace: expected row {i} as a dict of columns, got {row!r}")
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {str(name): [row.get(name) for row in rows] for name in names}
    else:
        raise InputError(f"trace: expected a path, a DataFrame, a dict of columns or a list of dicts, got {jobs!r}")
    sizes = {len(values) for values in columns.values()}
    if len(sizes) > 1:
        raise InputError(f"trace: the columns have different lengths: {sorted(sizes)}")
    if not sizes or sizes == {0}:
        raise InputError("trace: it has no jobs")
    return columns


def _check_names(columns: Mapping[str, Any]) -> None:
    known = (*_TEXTS, *_WHOLES, *_AMOUNTS, *_SECONDS)
    for name in columns:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1) or difflib.get_close_matches(name + "_s", known, 1)
            hint = f"did you mean {near[0]}?" if near else f"the columns are {', '.join(known)}"
            raise InputError(f"trace: no such column: {name} ({hint})")
    for name in _REQUIRED:
        if name not in columns:
            raise InputError(f"trace: the column {name} is missing")


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, numbers.Real) and math.isnan(value)) or str(value) in ("NaT", "<NA>")


def _values(column: str, values: list[Any]) -> list[Any]:
    clean: list[Any] = []
    for row, value in enumerate(values):
        where = f"trace: {column}, row {row}"
        if _is_missing(value):
            if column in _REQUIRED:
                raise InputError(f"{where}: a value is missing")
            clean.append(None)
        elif column in _TEXTS:
            clean.append(str(value))
        else:
            clean.append(_number(where, column, value))
    return clean


def _number(where: str, column: str, value: Any) -> float | int:
    if hasattr(value, "total_seconds"):  # a timedelta
        value = value.total_seconds()
    if hasattr(value, "isoformat"):
        raise InputError(f"{where}: expected seconds, got a date: subtract the first one, as in "
                         f"(df.time - df.time.min()).dt.total_seconds(): {value}")
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputError(f"{where}: expected a number, got {value!r}")
    number = float(value)
    if math.isinf(number):
        raise InputError(f"{where}: expected a finite number, got {value!r}")
    if column in _SECONDS or column in _AMOUNTS:
        return number
    if not number.is_integer():
        raise InputError(f"{where}: expected a whole number, got {value!r}")
    return int(number)
