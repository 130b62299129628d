"""Tables of results."""

from __future__ import annotations

from typing import Any, Iterator

from fairlead import _core
from fairlead._saved import Columns


class Table:
    """Columns by name. Numbers are numpy arrays without a copy (not-a-number: not known), texts are lists.

    pandas, polars, DuckDB and pyarrow read it directly, by the Arrow C stream interface: `polars.DataFrame(table)`,
    `pyarrow.table(table)`, `duckdb.sql("from table")`.
    """

    def __init__(self, table: _core.Table | Columns) -> None:
        self._table = table

    @property
    def column_names(self) -> list[str]:
        return self._table.column_names

    def __len__(self) -> int:
        return len(self._table)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._table[name]
        except KeyError:
            raise KeyError(f"no column {name!r}; the columns are {', '.join(self.column_names)}") from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.column_names)

    def to_dict(self) -> dict[str, Any]:
        return {name: self._table[name] for name in self.column_names}

    def to_pandas(self) -> Any:
        """Returns a pandas DataFrame; pandas must be installed."""
        import pandas

        return pandas.DataFrame(self.to_dict())

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        return f"<fairlead.Table of {len(self)} rows: {', '.join(self.column_names)}>"

    def _repr_html_(self) -> str:
        from html import escape

        names = self.column_names
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        columns: list[Any] = [self._table[name] for name in names]
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(str(column[i]))}</td>" for column in columns) + "</tr>"
            for i in range(min(10, len(self))))
        more = f"<p>{len(self)} rows</p>" if len(self) > 10 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"
