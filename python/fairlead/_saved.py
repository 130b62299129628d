"""Runs that are read from a result folder."""

from __future__ import annotations

import csv
import json
import pathlib
from typing import Any, Sequence

import numpy as np

from fairlead._errors import InputError

_TEXTS = frozenset(("job", "user", "group", "model", "gpu_types", "status"))
_WHOLES = frozenset(("gpus", "preemptions", "migrations", "tickets", "jobs"))


class Columns:
    """The columns of a CSV file with a header, as in a _core.Table. A column of texts that the file lacks may be added."""

    def __init__(self, file: pathlib.Path, texts: Sequence[str] = ()) -> None:
        with file.open(newline="") as lines:
            header, *rows = csv.reader(lines)
        self._rows = len(rows)
        self._columns: dict[str, Any] = {name: [""] * len(rows) for name in texts}
        self._columns.update({name: _values(name, [row[i] for row in rows]) for i, name in enumerate(header)})

    @property
    def column_names(self) -> list[str]:
        return list(self._columns)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        import pyarrow

        table = pyarrow.table({name: pyarrow.array(values, from_pandas=True) for name, values in self._columns.items()})
        return table.__arrow_c_stream__(requested_schema)


def _values(name: str, texts: list[str]) -> Any:
    if name in _TEXTS:
        return texts
    if name in _WHOLES:
        return np.array([int(text) for text in texts], dtype=np.int64)
    return np.array([float(text) if text else np.nan for text in texts], dtype=np.float64)


class SavedRun:
    """The results in a folder of Run.save() or `fairlead simulate`, with the functions of a _core.FinishedRun."""

    def __init__(self, folder: pathlib.Path) -> None:
        for name in ("summary.json", "jobs.csv", "journal.flj"):
            if not (folder / name).is_file():
                raise InputError(f"{folder}: no results of a run; the file {name} is missing")
        self._folder = folder
        facts = folder / "run.json"
        self.decisions = int(json.loads(facts.read_text())["decisions"]) if facts.is_file() else 0
        self.journal_hash = str(json.loads(self.summary())["journal_hash"])

    def summary(self) -> str:
        return (self._folder / "summary.json").read_text()

    def jobs(self) -> Columns:
        return Columns(self._folder / "jobs.csv")

    def users(self) -> Columns:
        return Columns(self._folder / "users.csv", texts=["group"])

    def timeline(self) -> Columns:
        return Columns(self._folder / "timeline.csv")
