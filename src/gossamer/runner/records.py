"""One JSON file per finished row and seed: what was run, on what, with what outcome."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from gossamer.core.atomic import replacing_file
from gossamer.persistence.strict_json import canonical_json, parse_json, plain_json
from gossamer.runner.experiment import Experiment, Row
from gossamer.runner.per_user import PerUser


@dataclass(frozen=True)
class Record:
    """The outcome of one row and seed, and everything needed to believe it.

    `seconds` is the wall time of fitting the chosen settings once, `peak_rss_bytes` the largest resident memory of the
    row's own process from the moment the data were loaded and split. `standard_error` is over users. `code` is
    a hash of the source behind the row and of what the experiment says about it: a record is repeated when it changes.
    `per_user` is there where the experiment compares rows user by user. Of rows that ran `together`, in one process,
    the peak of memory is that of all so far, and `seconds` count what was remembered as if it had been computed.
    """

    experiment: str
    row: str
    method: str
    model: str
    seed: int
    commit: str | None
    dirty: bool | None
    date: str
    machine: dict[str, Any]
    versions: dict[str, str]
    data: dict[str, Any]
    split: dict[str, Any]
    settings: dict[str, Any]
    search: dict[str, Any] | None
    seconds: float
    peak_rss_bytes: int
    metrics: dict[str, float]
    standard_error: dict[str, float]
    paper: dict[str, float]
    peer: dict[str, float]
    code: str
    per_user: PerUser | None = None
    together: bool = False


OPTIONAL = {"per_user", "together"}


def record_path(experiment: Experiment, row: Row, seed: int) -> Path:
    """Return where the record of a row and seed lies."""
    return experiment.results / f"{row.name}.{seed}.json"


def write_record(record: Record, path: Path) -> None:
    """Write a record, all at once or not at all."""
    content = plain_json("record", asdict(record))
    assert isinstance(content, dict)
    per_user = content.pop("per_user")
    if not record.together:
        del content["together"]
    text = json.dumps(content, indent=2, ensure_ascii=False)
    if per_user is not None:  # a thousand users on one line, not on a thousand
        line = json.dumps(per_user, separators=(",", ":"))
        text = text.removesuffix("\n}") + f',\n  "per_user": {line}\n}}'
    with replacing_file(path) as temporary:
        temporary.write_text(text + "\n", encoding="utf-8")


def read_record(path: Path) -> Record:
    """Read a record, or raise a ValueError that says what is wrong with the file."""
    try:
        content = parse_json(path.read_bytes())
        required = {entry.name for entry in fields(Record)} - OPTIONAL
        keys = set(content) - OPTIONAL if isinstance(content, dict) else set()
        if not isinstance(content, dict) or keys != required:
            raise ValueError(f"it must have the keys of a record, got {sorted(keys ^ required)} missing or unknown")
        per_user = PerUser.from_json(content.pop("per_user")) if "per_user" in content else None
        return Record(**content, per_user=per_user)  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{path} is not a result record: {error}; remove it and run the row again") from error


def read_records(folder: Path) -> list[Record]:
    """Return every record of an experiment's results folder, none where there is no folder yet."""
    return [read_record(path) for path in sorted(folder.glob("*.json"))]


def spec_hash(experiment: Experiment, row: Row, source: str) -> str:
    """Hash what decides the numbers of a row: data, split, metrics, model, settings, search and the source's hash."""
    search = None if row.search is None else asdict(row.search)
    said = {
        "data": experiment.data.as_json(),
        "split": experiment.split.as_json(),
        "metrics": list(experiment.metrics),
        "model": row.model,
        "settings": row.settings,
        "search": search,
        "source": source,
    }
    if row.data:
        said["options"] = row.data
    if experiment.paired is not None:  # what it keeps; whom it is compared with decides no number
        said["paired"] = experiment.paired.metric
    return hashlib.sha256(canonical_json(plain_json("row", said)).encode()).hexdigest()
