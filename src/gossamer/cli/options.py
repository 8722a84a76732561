"""Options that several verbs share, and how `key=value` is read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any

import typer

TABLE_ROLES = ("user", "item", "rating", "time", "text", "label", "document", "term", "count")
COLUMN_ROLES = (*TABLE_ROLES, "sequence", "category", "state")

Data = Annotated[str, typer.Option("--data", "-d", help="A data set (see `gossamer data list`) or a file.")]
Split = Annotated[
    str | None,
    typer.Option(help="users, user-ids, random, pair-ids, items, user-time, global-time; rows, contents, given; none."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help=f"A file's column, as user=userId; for {', '.join(COLUMN_ROLES)}."),
]
DataOptions = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the data, as form=counts or max_words=50000.")
]
MinRating = Annotated[float | None, typer.Option(help="Keep only interactions rated at least this.")]
MinPerUser = Annotated[int | None, typer.Option(help="Keep only users with at least so many items.")]
MinPerItem = Annotated[int | None, typer.Option(help="Keep only items with at least so many users.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda or auto, for models that have one.")]
Seed = Annotated[int, typer.Option(help="Seed of the split and of the model.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for a program to read.")]
Artifact = Annotated[str, typer.Argument(metavar="DIR", help="The directory that `gossamer fit` wrote.")]


def parse_settings(pairs: Sequence[str] | None, option: str = "--set") -> dict[str, Any]:
    """Read `key=value` pairs; a value is JSON where it can be, else the text as it is.

    >>> parse_settings(["l2=10", "solver=cg", "flag=true"])
    {'l2': 10, 'solver': 'cg', 'flag': True}
    """
    return _parse_values(option, pairs)


def parse_options(pairs: Sequence[str] | None) -> dict[str, Any]:
    """Read options of data, as settings are read."""
    return _parse_values("--option", pairs)


def _parse_values(option: str, pairs: Sequence[str] | None) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in parse_pairs(option, pairs).items():
        try:
            values[key] = json.loads(value)
        except ValueError:
            values[key] = value
    return values


def parse_pairs(option: str, pairs: Sequence[str] | None) -> dict[str, str]:
    """Read `key=value` pairs as text; a pair without = or a repeated key is named."""
    found: dict[str, str] = {}
    for pair in pairs or ():
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise ValueError(f"{option} must be key=value, got {pair!r}")
        if key in found:
            raise ValueError(f"{option} must give {key!r} once, got it twice")
        found[key] = value
    return found


def parse_columns(pairs: Sequence[str] | None) -> dict[str, str]:
    """Read the column map of a file."""
    columns = parse_pairs("--columns", pairs)
    for role in columns:
        if role not in COLUMN_ROLES:
            raise ValueError(f"--columns must name {', '.join(COLUMN_ROLES)}, got {role!r}")
    return columns
