"""What `compress_embeddings_` did: each table before and after."""

from __future__ import annotations

from dataclasses import dataclass

from gossamer.core.html import html_table


@dataclass(frozen=True)
class TableChange:
    """One table of a model: its modules' names, its size before and after, and why it stayed where it did.

    `error` is ‖E − Ê‖ / ‖E‖ over all vectors, the share of the table's length that the approximation misses.
    """

    names: tuple[str, ...]
    shape: tuple[int, int]
    method: str
    values_before: int
    values_after: int
    bytes_before: int
    bytes_after: int
    error: float = 0.0
    stayed: str | None = None


@dataclass(frozen=True)
class CompressionReport:
    """All tables of a model; `print` shows them as text, `table()` gives the rows.

    >>> change = TableChange(("words",), (1000, 64), "ant", 64_000, 3_200, 256_000, 15_000, error=0.31)
    >>> print(CompressionReport((change,)))
    table  V × D      method  values before  values after  bytes before  bytes after  error  stayed
    words  1000 × 64  ant     64,000         3,200         256,000       15,000       0.310
    all                       64,000         3,200         256,000       15,000
    """

    tables: tuple[TableChange, ...]

    @property
    def values_before(self) -> int:
        """Numbers stored before."""
        return sum(change.values_before for change in self.tables)

    @property
    def values_after(self) -> int:
        """Numbers stored now; indices count as bytes, not as values."""
        return sum(change.values_after for change in self.tables)

    @property
    def bytes_before(self) -> int:
        """Bytes stored before."""
        return sum(change.bytes_before for change in self.tables)

    @property
    def bytes_after(self) -> int:
        """Bytes stored now, indices included."""
        return sum(change.bytes_after for change in self.tables)

    def table(self) -> list[dict[str, str]]:
        """Return one row per table, and one for all of them together, as text by column."""
        rows = [
            {
                "table": ", ".join(change.names),
                "V × D": " × ".join(map(str, change.shape)),
                "method": change.method,
                **_sizes(change),
                "error": f"{change.error:.3f}" if change.stayed is None else "",
                "stayed": change.stayed or "",
            }
            for change in self.tables
        ]
        return [*rows, {"table": "all", "V × D": "", "method": "", **_sizes(self), "error": "", "stayed": ""}]

    def _repr_html_(self) -> str:
        *rows, total = self.table()
        return html_table(rows, total=total)

    def __str__(self) -> str:
        rows = self.table()
        widths = {name: max(len(name), *(len(row[name]) for row in rows)) for name in rows[0]}
        lines = [{name: name for name in widths}, *rows]
        return "\n".join("  ".join(line[name].ljust(widths[name]) for name in widths).rstrip() for line in lines)


def _sizes(sized: TableChange | CompressionReport) -> dict[str, str]:
    return {
        "values before": f"{sized.values_before:,}",
        "values after": f"{sized.values_after:,}",
        "bytes before": f"{sized.bytes_before:,}",
        "bytes after": f"{sized.bytes_after:,}",
    }
