"""The experiment file: the only home of a published number's settings, parsed and checked before anything runs."""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from gossamer.core.checks import check_int, check_real
from gossamer.runner.specs import PEER_PREFIX, DataSpec, PairedSpec, SearchSpec, SplitSpec, check_keys

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
_COMMAND = "# gossamer reproduce "
_REQUIRED_KEYS = ("name", "title", "metrics", "seeds", "data", "split", "row")
_KEYS = (*_REQUIRED_KEYS, "paired")
_ROW_KEYS = ("name", "method", "model", "data", "settings", "search", "paper", "peer")


@dataclass(frozen=True)
class Row:
    """One line of a table: a method, its model and settings, and what others publish for it.

    `model` is a name of the catalogue, or `peer.<name>` for another library's. `paper` and `peer` map metrics to the
    numbers that the paper, or a peer that cannot be run here, states. `data` are options in which the row's data differ
    from those of the others, such as the length of made-up series.
    """

    name: str
    method: str
    model: str
    settings: dict[str, Any] = field(default_factory=dict)
    search: SearchSpec | None = None
    paper: dict[str, float] = field(default_factory=dict)
    peer: dict[str, float] = field(default_factory=dict)
    data: dict[str, Any] = field(default_factory=dict)

    @property
    def is_peer(self) -> bool:
        """Whether another library does the work."""
        return self.model.startswith(PEER_PREFIX)


@dataclass(frozen=True)
class Experiment:
    """A table: data, split and metrics that its rows share, and the seeds they are run with."""

    name: str
    title: str
    metrics: tuple[str, ...]
    seeds: tuple[int, ...]
    data: DataSpec
    split: SplitSpec
    rows: tuple[Row, ...]
    path: Path
    paired: PairedSpec | None = None

    def row(self, name: str) -> Row:
        """Return the row called `name`."""
        for row in self.rows:
            if row.name == name:
                return row
        raise ValueError(f"row must be one of {', '.join(row.name for row in self.rows)}, got {name!r}")

    def matching(self, pattern: str) -> tuple[Row, ...]:
        """Return the rows whose names match a pattern, as in a shell; a name that nothing matches is refused."""
        return tuple(row for row in self.rows if fnmatchcase(row.name, pattern)) or (self.row(pattern),)

    @property
    def results(self) -> Path:
        """Where its records lie: `results/<name>` beside the `experiments` folder, else in the current folder."""
        folders = [folder.parent for folder in self.path.resolve().parents if folder.name == "experiments"]
        return (folders[0] if folders else Path.cwd()) / "results" / self.name


def read_experiment(path: Path) -> Experiment:
    """Parse and check an experiment file; whatever is wrong is said in one sentence that begins with the file."""
    try:
        return parse_experiment(path.read_text(encoding="utf-8"), path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: {error}") from error


def parse_experiment(text: str, path: Path) -> Experiment:
    """Return what `read_experiment` would, if `text` were in the file `path`."""
    try:
        first_line = text.split("\n", 1)[0]
        if not _runs(first_line.strip(), path):
            command = f"{_COMMAND}{path.stem}"
            raise ValueError(f"the first line must be the command that runs it, {command!r}, got {first_line!r}")
        return _experiment(tomllib.loads(text), path)
    except ValueError as error:  # tomllib's errors are ValueErrors, too
        raise ValueError(f"{path}: {error}") from error


def _runs(line: str, path: Path) -> bool:
    """Say whether a line is the command for this file: by its name, or by its path where it is no one's experiment."""
    if not line.startswith(_COMMAND):
        return False
    asked = line.removeprefix(_COMMAND)
    return asked == path.stem or "".join(shlex.split(asked)).rsplit("/", 1)[-1] == path.name


def find_experiments(folder: Path | None = None) -> dict[str, Path]:
    """Return the experiment files under `folder`, by name; None looks where `experiments_folder` says."""
    files = sorted((folder or experiments_folder()).rglob("*.toml"))
    return {file.stem: file for file in files}


def experiments_folder() -> Path:
    """Return the nearest `experiments` folder: of the current folder, its parents, or the checkout of this package."""
    here = Path.cwd()
    for parent in (here, *here.parents, Path(__file__).resolve().parents[3]):
        folder = parent / "experiments"
        if folder.is_dir() and any(folder.rglob("*.toml")):
            return folder
    raise FileNotFoundError("no folder 'experiments' here or above; run this inside a checkout of gossamer")


def find_experiment(name: str) -> Experiment:
    """Return an experiment by its name, or by the path of its file."""
    if name.endswith(".toml"):
        return read_experiment(Path(name))
    known = find_experiments()
    if name not in known:
        raise ValueError(f"experiment must be one of {', '.join(known)} or a .toml file, got {name!r}")
    return read_experiment(known[name])


def _experiment(values: dict[str, Any], path: Path) -> Experiment:
    check_keys("the file", values, _KEYS, required=_REQUIRED_KEYS)
    name = _check_name("name", values["name"])
    if name != path.stem:
        raise ValueError(f"name must be the file's own, {path.stem!r}, got {name!r}")
    metrics = _check_list("metrics", values["metrics"])
    seeds = [check_int("seeds", seed, at_least=0) for seed in _check_list("seeds", values["seeds"])]
    rows = [_row(row, metrics) for row in _check_list("row", values["row"], distinct=False)]
    names = _check_list("names of rows", [row.name for row in rows])
    split = SplitSpec.from_json(values["split"])
    paired = PairedSpec.from_json(values["paired"], metrics, names) if "paired" in values else None
    if paired is not None and len(seeds) > 1 and split.kind != "user-folds" and split.seed is None:
        # Somebody who is tested twice would count as two, and the standard error would be too small.
        raise ValueError(
            "paired must come with a split that tests no user twice: one seed, kind 'user-folds', or a seed of the "
            f"split's own, by which all runs test the same users, got {split.as_json()} and {len(seeds)} seeds"
        )
    return Experiment(
        name,
        str(values["title"]),
        tuple(metrics),
        tuple(seeds),
        DataSpec.from_json(values["data"]),
        split,
        tuple(rows),
        path,
        paired,
    )


def _row(values: Mapping[str, Any], metrics: Sequence[str]) -> Row:
    check_keys("[[row]]", values, _ROW_KEYS, required=["name", "method", "model"])
    name = _check_name("row name", values["name"])
    try:
        settings = values.get("settings", {})
        if not isinstance(settings, dict):
            raise ValueError(f"settings must be a table, got {settings!r}")
        options = values.get("data", {})
        if not isinstance(options, dict):
            raise ValueError(f"data must be a table of options, got {options!r}")
        search = SearchSpec.from_json(values["search"]) if "search" in values else None
        if search is not None:
            if search.metric not in metrics:
                raise ValueError(f"search metric must be one of {', '.join(metrics)}, got {search.metric!r}")
            fixed = sorted(set(settings) & set(search.space))
            if fixed:
                raise ValueError(f"{fixed[0]!r} must be in settings or in the search space, not in both")
        paper, peer = (_published(where, values.get(where, {})) for where in ("paper", "peer"))
    except ValueError as error:
        raise ValueError(f"row {name!r}: {error}") from error
    return Row(name, str(values["method"]), str(values["model"]), settings, search, paper, peer, options)


def _published(where: str, values: Mapping[str, Any]) -> dict[str, float]:
    if not isinstance(values, Mapping):
        raise ValueError(f"{where} must be a table of metrics and numbers, got {values!r}")
    return {metric: check_real(f"{where}.{metric}", number) for metric, number in values.items()}


def _check_name(what: str, name: object) -> str:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ValueError(f"{what} must be lower-case letters, digits and hyphens, got {name!r}")
    return name


def _check_list(what: str, values: object, distinct: bool = True) -> list[Any]:
    if not isinstance(values, list) or not values or (distinct and len({*map(str, values)}) != len(values)):
        raise ValueError(f"{what} must be a list of at least one value, each once, got {values!r}")
    return values
