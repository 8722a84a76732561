"""Tables of features as codes: categories, sets of categories and numbers, so that new rows are read like old ones."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float32, Int64

from gossamer.core.checks import check_choice
from gossamer.persistence import JSON

logger = logging.getLogger(__name__)

KINDS = ("categorical", "multi", "numeric")
NUM_BINS = 10
# A text that nearly every row has for itself is a name, and says nothing about other rows.
MOST_DISTINCT = 0.5


@dataclass(frozen=True)
class FeatureCodes:
    """Rows as the network reads them: ragged numbers of values that are on, and standardised numbers."""

    offsets: Int64[np.ndarray, " N1"]
    values: Int64[np.ndarray, " Z"]
    numbers: Float32[np.ndarray, "N C"]

    def __len__(self) -> int:
        return len(self.offsets) - 1


@dataclass(frozen=True)
class Column:
    """One column: its kind; the values that have a number, or the edges of bins; mean and scale of a number."""

    name: str
    kind: str
    values: tuple[Any, ...] = ()
    edges: tuple[float, ...] = ()
    mean: float = 0.0
    scale: float = 1.0

    @property
    def width(self) -> int:
        """How many values, or bins, have an embedding."""
        return len(self.edges) + 1 if self.kind == "numeric" else len(self.values)


class FeatureReader:
    """Learns the values of a table's columns and turns any such table into codes.

    Values it has not seen and empty cells are on nowhere, and so say nothing; so does a column that is missing. Both
    are logged. A number is standardised, and is also one of ten bins, so that its effect may be anything.
    """

    def __init__(self, columns: Sequence[Column] = ()) -> None:
        self.columns = tuple(columns)

    @classmethod
    def learn(cls, name: str, table: pl.DataFrame | None, kinds: Mapping[str, str] | None) -> FeatureReader:
        """Read off a table what its columns are.

        `kinds` names the columns to use and their kinds; None takes all, lists as sets, numbers as numbers, texts and
        booleans as categories, without texts that are names.
        """
        if table is None:
            if kinds:
                raise ValueError(f"{name} must be left out for data without such a table, got {dict(kinds)!r}")
            return cls()
        if kinds is None:
            kinds = {column: kind for column in table.columns if (kind := _kind_of(table[column])) is not None}
        for column, kind in kinds.items():
            check_choice(f"{name}[{column!r}]", kind, KINDS)
            if column not in table.columns:
                raise ValueError(f"{name} must name columns of the table ({', '.join(table.columns)}), got {column!r}")
        return cls([_learn_column(table[column], column, kind) for column, kind in kinds.items()])

    @property
    def num_values(self) -> int:
        """How many values of all columns have an embedding."""
        return sum(column.width for column in self.columns)

    @property
    def num_numbers(self) -> int:
        """How many columns are numbers."""
        return sum(column.kind == "numeric" for column in self.columns)

    def read(self, table: pl.DataFrame | None, num_rows: int) -> FeatureCodes:
        """Return the codes of a table's rows; without a table, of `num_rows` of which nothing is known."""
        numbers = np.zeros((num_rows, self.num_numbers), dtype=np.float32)
        rows, values = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        first, number = 0, 0
        missing = [column.name for column in self.columns if table is None or column.name not in table.columns]
        if missing and num_rows:
            logger.warning("features must have %s as in training, got none: nothing is known of it", ", ".join(missing))
        for column in self.columns:
            if table is not None and column.name in table.columns:
                if column.kind == "numeric":
                    found_rows, found, numbers[:, number] = _read_number(table[column.name], column)
                else:
                    found_rows, found = _read_values(table[column.name], column)
                rows.append(found_rows)
                values.append(first + found)
            first += column.width
            number += column.kind == "numeric"
        all_rows = np.concatenate(rows)
        order = np.argsort(all_rows, kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(all_rows, minlength=num_rows))]).astype(np.int64)
        return FeatureCodes(offsets, np.concatenate(values)[order], numbers)

    def as_json(self) -> JSON:
        """Return what an artifact keeps."""
        return [{**vars(column), "values": list(column.values), "edges": list(column.edges)} for column in self.columns]

    @classmethod
    def from_json(cls, content: Any) -> FeatureReader:
        """Take back what an artifact keeps."""
        if not isinstance(content, list):
            raise ValueError(f"features must be a list of columns, got {content!r}")
        columns = [
            Column(**{**column, "values": tuple(column["values"]), "edges": tuple(column["edges"])})
            for column in content
        ]
        return cls(columns)


def _kind_of(series: pl.Series) -> str | None:
    if isinstance(series.dtype, pl.List):
        return "multi"
    if series.dtype.is_numeric():
        return "numeric"
    is_name = series.n_unique() > MOST_DISTINCT * max(len(series), 2)
    return None if is_name else "categorical"


def _learn_column(series: pl.Series, name: str, kind: str) -> Column:
    if kind == "numeric":
        if not series.dtype.is_numeric():
            raise ValueError(f"column {name!r} must hold numbers to be numeric, got {series.dtype}")
        known = series.drop_nulls().cast(pl.Float64).to_numpy()
        known = known[np.isfinite(known)]
        distinct = np.unique(known)
        if len(distinct) <= NUM_BINS:
            edges = (distinct[1:] + distinct[:-1]) / 2
        else:
            edges = np.unique(np.quantile(known, np.arange(1, NUM_BINS) / NUM_BINS))
        mean, scale = (float(known.mean()), float(known.std())) if len(known) else (0.0, 1.0)
        return Column(name, kind, edges=tuple(edges.tolist()), mean=mean, scale=scale if scale > 0 else 1.0)
    if (kind == "multi") != isinstance(series.dtype, pl.List):
        wanted = "lists to be multi" if kind == "multi" else "single values to be categorical"
        raise ValueError(f"column {name!r} must hold {wanted}, got {series.dtype}")
    flat = series.explode() if kind == "multi" else series
    if not _is_storable(flat.dtype):
        raise ValueError(
            f"column {name!r} must hold texts, booleans or numbers, got {flat.dtype}; turn it into one of them "
            "(a date into its year, for example), or name the columns to use without it"
        )
    return Column(name, kind, values=tuple(flat.drop_nulls().unique().sort().to_list()))


def _is_storable(dtype: pl.DataType) -> bool:
    """Say whether an artifact can keep values of a type; a date, for example, is nothing that JSON knows."""
    return dtype.is_integer() or dtype.is_float() or dtype in (pl.String, pl.Categorical, pl.Enum, pl.Boolean, pl.Null)


def _read_number(series: pl.Series, column: Column) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if not series.dtype.is_numeric() and series.dtype != pl.Null:
        raise ValueError(f"column {column.name!r} must hold numbers, as in training, got {series.dtype}")
    values = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
    is_known = np.isfinite(values)
    rows = np.flatnonzero(is_known)
    bins = np.searchsorted(np.array(column.edges), values[rows], side="right").astype(np.int64)
    standardised = np.where(is_known, (values - column.mean) / column.scale, 0.0)
    return rows, bins, np.clip(standardised, -5, 5).astype(np.float32)


def _read_values(series: pl.Series, column: Column) -> tuple[np.ndarray, np.ndarray]:
    frame = pl.DataFrame({"row": np.arange(len(series)), "value": series})
    if isinstance(series.dtype, pl.List):
        frame = frame.explode("value")
    frame = frame.drop_nulls()
    numbers = {value: number for number, value in enumerate(column.values)}
    found = np.array([numbers.get(value, -1) for value in frame["value"].to_list()], dtype=np.int64)
    is_known = found >= 0
    if not is_known.all():
        strange = frame["value"].to_list()[int(np.argmin(is_known))]
        logger.warning(
            "%d values of column %r are unknown, such as %r: nothing is known of them",
            np.count_nonzero(~is_known), column.name, strange,
        )  # fmt: skip
    return frame["row"].to_numpy()[is_known].astype(np.int64), found[is_known]
