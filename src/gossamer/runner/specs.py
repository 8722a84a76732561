"""What an experiment file or a command line says about data, split and search: plain, checked, JSON-able values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from gossamer.core.checks import check_bool, check_choice, check_int, check_real
from gossamer.metrics.ranking import parse_metric

PEER_PREFIX = "peer."

SPLIT_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "users": ("num_valid", "num_test", "fold_in"),
    "random": ("fractions",),
    "items": ("valid_share", "test_share"),
    "user-ids": ("valid_share", "test_share", "fold_in"),
    "pair-ids": ("valid_share", "test_share"),
    "user-time": ("fractions",),
    "user-folds": ("num_folds", "num_valid", "fold_in"),
    "global-time": ("fractions", "cutoffs"),
    "rows": ("fractions",),
    "contents": ("valid_share", "test_share"),
    "given": ("valid_fraction",),
    "none": (),
}


@dataclass(frozen=True)
class DataSpec:
    """Which data, and what is kept of it: the name of a data set or the path of a file.

    `seeded` is for made-up data: every seed of an experiment draws its own, by the data set's option `seed`. `embed`,
    a table with a `model` and its `settings`, gives series the embeddings of their people as features.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    min_rating: float | None = None
    min_per_user: int | None = None
    min_per_item: int | None = None
    seeded: bool | None = None
    embed: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise ValueError(f"name must be a data set or a file, got {self.name!r}")
        if self.min_rating is not None:
            check_real("min_rating", self.min_rating)
        if self.seeded is not None:
            check_bool("seeded", self.seeded)
        for key in ("min_per_user", "min_per_item"):
            if getattr(self, key) is not None:
                check_int(key, getattr(self, key), at_least=1)

    def with_options(self, options: Mapping[str, Any], seed: int) -> DataSpec:
        """Return the data of one row and seed: other options where the row has some, drawn by the seed if seeded."""
        drawn = {"seed": seed} if self.seeded else {}
        return replace(self, options={**self.options, **options, **drawn})

    def as_json(self) -> dict[str, Any]:
        """Return what was said, without what was left open."""
        return _said(asdict(self))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> DataSpec:
        """Build from a table of an experiment or an artifact; an unknown key is named."""
        check_keys("[data]", values, cls.__dataclass_fields__, required=["name"])
        return cls(**values)


@dataclass(frozen=True)
class SplitSpec:
    """How data are divided; `seed` None means that every seed of an experiment draws its own split."""

    kind: str
    arguments: dict[str, Any] = field(default_factory=dict)
    seed: int | None = None

    def __post_init__(self) -> None:
        check_choice("split kind", self.kind, SPLIT_ARGUMENTS)
        check_keys(f"the split {self.kind!r}", self.arguments, SPLIT_ARGUMENTS[self.kind])
        if self.seed is not None:
            check_int("split seed", self.seed, at_least=0)

    def as_json(self) -> dict[str, Any]:
        """Return kind, arguments and seed as one flat table, as an experiment file writes it."""
        return _said({"kind": self.kind, **self.arguments, "seed": self.seed})

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SplitSpec:
        """Build from a flat table; an unknown key is named."""
        check_keys("[split]", values, ["kind", "seed", *sum(SPLIT_ARGUMENTS.values(), ())], required=["kind"])
        arguments = {key: value for key, value in values.items() if key not in ("kind", "seed")}
        return cls(values["kind"], arguments, values.get("seed"))


@dataclass(frozen=True)
class SearchSpec:
    """Which settings are tried, and the validation metric that chooses among them.

    A value of `space` is a list of choices, or, in a random search, a table with `low`, `high` and optionally
    `scale = "log"` and `integer = true`. A grid tries every combination; a random search draws `trials` of them.
    """

    kind: str
    metric: str
    space: dict[str, Any]
    trials: int

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> SearchSpec:
        """Build from a [row.search] table; an unknown key or a hollow space is named."""
        check_keys("[row.search]", values, ["kind", "metric", "space", "trials"], required=["kind", "metric", "space"])
        kind = check_choice("search kind", values["kind"], ["grid", "random"])
        space = values["space"]
        if not isinstance(space, Mapping) or not space:
            raise ValueError(f"space must be a table of settings and their values, got {space!r}")
        combinations = 1
        for name, choices in space.items():
            if isinstance(choices, Mapping) and kind == "random":
                _check_range(name, choices)
            elif isinstance(choices, list) and choices:
                combinations *= len(choices)
            else:
                ranges = " or a table with low and high" if kind == "random" else ""
                raise ValueError(f"space.{name} must be a list of values{ranges}, got {choices!r}")
        if kind == "random":
            return cls(kind, values["metric"], dict(space), check_int("trials", values.get("trials"), at_least=1))
        if values.get("trials", combinations) != combinations:
            raise ValueError(f"trials must be {combinations}, the size of the grid, got {values['trials']!r}")
        return cls(kind, values["metric"], dict(space), combinations)


@dataclass(frozen=True)
class PairedSpec:
    """Which ranking metric is compared user by user, and the row that all others are compared with."""

    metric: str
    against: str

    @property
    def column(self) -> str:
        """What a table calls the difference."""
        return f"{self.metric} − {self.against}"

    @classmethod
    def from_json(cls, values: Mapping[str, Any], metrics: Sequence[str], rows: Sequence[str]) -> PairedSpec:
        """Build from the table `paired` of an experiment that has these metrics and rows."""
        check_keys("paired", values, cls.__dataclass_fields__, required=list(cls.__dataclass_fields__))
        metric = check_choice("paired.metric", values["metric"], metrics)
        if "@" not in metric or not parse_metric(metric).is_per_user:
            raise ValueError(f"paired.metric must have a value per user, as ndcg@100 has, got {metric!r}")
        return cls(metric, check_choice("paired.against", values["against"], rows))


def check_keys(
    where: str, values: Mapping[str, Any], known: Iterable[str], required: Sequence[str] = (), noun: str = "key"
) -> None:
    """Raise a ValueError that names the first unknown or missing key of a table, with the nearest known one.

    >>> check_keys("[data]", {"nmae": "ml-1m"}, ["name", "options"])
    Traceback (most recent call last):
    ValueError: [data] has no key 'nmae' (did you mean 'name'?); it has name, options
    """
    if not isinstance(values, Mapping):
        raise ValueError(f"{where} must be a table, got {values!r}")
    names = list(known)
    for key in values:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1) or [name for name in names if name.startswith(key)]
            hint = f" (did you mean {near[0]!r}?)" if near else ""
            raise ValueError(f"{where} has no {noun} {key!r}{hint}; it has {', '.join(names) or 'none'}")
    for key in required:
        if key not in values:
            raise ValueError(f"{where} must have the key {key!r}")


def _check_range(name: str, limits: Mapping[str, Any]) -> None:
    check_keys(f"space.{name}", limits, ["low", "high", "scale", "integer"], required=["low", "high"])
    is_log = check_choice(f"space.{name}.scale", limits.get("scale", "linear"), ["linear", "log"]) == "log"
    low = check_real(f"space.{name}.low", limits["low"], above=0 if is_log else None)
    check_real(f"space.{name}.high", limits["high"], above=low)
    if not isinstance(limits.get("integer", False), bool):
        raise ValueError(f"space.{name}.integer must be true or false, got {limits['integer']!r}")


def _said(values: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in values.items() if value is not None and value != {}}
