"""Delimited text: CSV, TSV, MovieLens .dat and RecBole .inter, parsed block by block."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from gossamer.data.tables.chunk import Chunk
from gossamer.data.text_files import FilePath, file_name, read_blocks, readable

# MovieLens separates with two characters and polars with one: an unused control character stands in for "::".
STAND_IN = "\x1f"
USUAL_ORDER = ("user", "item", "rating", "time")
_BLANK_LINE = re.compile(rb"(?m)^\r?\n")
_QUOTED_OR_BLANK_LINE = re.compile(rb'(?m)("[^"]*")|^\r?\n')


@dataclass(frozen=True)
class Dialect:
    """How fields are separated, whether quotes protect separators, and whether the first line names the columns."""

    separator: str
    quoted: bool = False
    header: bool = True
    encoding: str = "utf-8"
    typed_header: bool = False


DIALECTS = {
    "csv": Dialect(",", quoted=True),
    "tsv": Dialect("\t", quoted=True),
    "dat": Dialect("::", header=False, encoding="latin-1"),
    "inter": Dialect("\t", typed_header=True),
}


class DelimitedTable:
    """A delimited text file; every column is read as strings, and types are the reader's business."""

    is_text = True

    def __init__(self, path: FilePath, dialect: Dialect, names: Sequence[str] | None = None) -> None:
        self.path = path
        self.name = file_name(path)
        self.dialect = dialect
        self._separator = STAND_IN if dialect.separator == "::" else dialect.separator
        first = next((fields for line, block in self._blocks() for _, fields in self._records(line, block)), None)
        if first is None:
            raise ValueError(f"{self.name} must have content, got nothing but blank lines")
        self.columns = self._named(first, names)
        repeated = {name for name in self.columns if self.columns.count(name) > 1}
        if repeated:
            raise ValueError(f"{self.name} must name each column once, got {min(repeated)!r} more than once")

    def _named(self, first: list[str], names: Sequence[str] | None) -> list[str]:
        if names is not None:
            if len(names) != len(first):
                raise ValueError(f"names must be {len(first)} column names for {self.name}, got {list(names)!r}")
            return list(names)
        if not self.dialect.header:
            return [*USUAL_ORDER[: len(first)], *(f"column_{n}" for n in range(5, len(first) + 1))]
        return [field.split(":")[0] if self.dialect.typed_header else field.strip() for field in first]

    def chunks(self, columns: Sequence[str]) -> Iterator[Chunk]:
        """Yield the rows block by block; blank lines are skipped."""
        skip = 1 if self.dialect.header else 0
        for first_line, block in self._blocks():
            frame = self._parsed(first_line, block)[skip:]
            frame = frame.select([f"column_{self.columns.index(name) + 1}" for name in columns])
            frame.columns = list(columns)
            if frame.height:
                yield Chunk(frame, self._placer(first_line, block, skip))
            skip = 0

    def _blocks(self) -> Iterator[tuple[int, bytes]]:
        dialect = self.dialect
        for first_line, block in read_blocks(self.path, encoding=dialect.encoding, quoted=dialect.quoted):
            if dialect.separator == "::":
                if STAND_IN.encode() in block:
                    raise ValueError(f"{self.name} must be text, got the control character 0x1f; remove it")
                block = block.replace(b"::", STAND_IN.encode())
            # A block of blank lines only would be an empty CSV, which polars refuses.
            if block.strip():
                yield first_line, block

    def _parsed(self, first_line: int, block: bytes) -> pl.DataFrame:
        text = block
        if _BLANK_LINE.search(block):  # polars would make a row of nothing of each
            pattern = _QUOTED_OR_BLANK_LINE if self.dialect.quoted else _BLANK_LINE
            text = pattern.sub(lambda match: (match[1] or b"") if pattern.groups else b"", block)
        try:
            with readable(self.name):
                return pl.read_csv(
                    text,
                    has_header=False,
                    separator=self._separator,
                    quote_char='"' if self.dialect.quoted else None,
                    schema={f"column_{n + 1}": pl.String for n in range(len(self.columns))},
                    infer_schema=False,
                )
        except ValueError as fault:
            self._check_fields(first_line, block)
            raise fault from None

    def _records(self, first_line: int, block: bytes) -> Iterator[tuple[int, list[str]]]:
        """Yield (line, fields) of every record, the slow and careful way; blank lines are none."""
        reader = csv.reader(
            io.StringIO(block.decode(), newline="\n"),
            delimiter=self._separator,
            quoting=csv.QUOTE_MINIMAL if self.dialect.quoted else csv.QUOTE_NONE,
            strict=True,
        )
        line = first_line
        try:
            for fields in reader:
                if fields:
                    yield line, fields
                line = first_line + reader.line_num
        except csv.Error as fault:
            raise ValueError(f"{self.name}, line {line} must be a well-formed record, got: {fault}") from None

    def _check_fields(self, first_line: int, block: bytes) -> None:
        for line, fields in self._records(first_line, block):
            self._check_count(line, fields)

    def _check_count(self, line: int, fields: list[str]) -> None:
        if len(fields) != len(self.columns):
            raise ValueError(
                f"{self.name}, line {line} must have {len(self.columns)} fields ({', '.join(self.columns)}), "
                f"got {len(fields)}"
            )

    def _placer(self, first_line: int, block: bytes, skip: int) -> Callable[[int], str]:
        def place(row: int) -> str:
            for number, (line, fields) in enumerate(self._records(first_line, block)):
                if number == row + skip:
                    self._check_count(line, fields)
                    return f"{self.name}, line {line}"
            return self.name

        return place
