"""Where an artifact's data came from, written so that the same data and split can be opened again."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gossamer.core.processes import process_count
from gossamer.data.interactions import Interactions
from gossamer.data.parts import Parts
from gossamer.data.readers.counted_documents import has_nameless_columns
from gossamer.data.row_digests import SUMMED, fingerprint_of_sums, sum_row_digests
from gossamer.data.tables.opening import open_table
from gossamer.data.vocabulary import Vocabulary
from gossamer.runner.directory import (
    SHARED_SPLITS,
    SharedSplit,
    fingerprint_shares,
    is_directory,
    read_share,
    split_share,
)
from gossamer.runner.estimators import find_class
from gossamer.runner.source import Division, is_file, make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.runner.tasks import check_container, data_for, default_split, takes_shares, task_of
from gossamer.runner.terms import over_terms

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """What a model was trained on, as its artifact remembers it."""

    model: str
    data: DataSpec
    split: SplitSpec
    fingerprint: str | None

    def as_json(self) -> dict[str, Any]:
        """Return the provenance that goes into the artifact."""
        return {
            "model": self.model,
            "data": self.data.as_json(),
            "split": self.split.as_json(),
            "fingerprint": self.fingerprint,
        }


def open_for(model: str, data: DataSpec, kind: str | None = None, seed: int = 0) -> tuple[Origin, Division]:
    """Open data for a model that is to be fitted, and divide them by the split of that kind, or as suits the model."""
    source = data_for([model], data)
    division = _division(model, data, kind, seed)
    opened = open_data(source, division)
    check_container(model, opened, data.name)
    return Origin(model, source, division, opened.fingerprint()), make_split(opened, division)


def open_together(
    model: str,
    data: DataSpec,
    kind: str | None = None,
    seed: int = 0,
    settings: Mapping[str, Any] | None = None,
) -> tuple[Origin, Division | SharedSplit]:
    """Open data as `open_for` does, or this process's share of them.

    Several processes divide a directory among them where the model takes shares with its `settings` and the split needs
    nobody else's rows; the fingerprint is then the sum of what each has found of its own rows.
    """
    division = _division(model, data, kind, seed)
    is_shared = process_count() > 1 and is_directory(data.name) and division.kind in SHARED_SPLITS
    if not (is_shared and takes_shares(model, settings or {})):
        return open_for(model, data, kind, seed)
    source = data_for([model], data)
    share = read_share(source, with_all_users=task_of(find_class(model)) == "predict ratings")
    check_container(model, share, data.name)
    return Origin(model, source, division, fingerprint_shares(share)), split_share(share, division, seed)


def _division(model: str, data: DataSpec, kind: str | None, seed: int) -> SplitSpec:
    return default_split([model], seed, data.name) if kind is None else SplitSpec(kind, seed=seed)


def read_origin(config: Mapping[str, Any]) -> Origin:
    """Return the origin from an artifact's config, or a ValueError where it was saved without one."""
    provenance = config.get("provenance") or {}
    try:
        return Origin(
            str(provenance["model"]),
            DataSpec.from_json(provenance["data"]),
            SplitSpec.from_json(provenance["split"]),
            provenance["fingerprint"],
        )
    except (KeyError, TypeError):
        raise ValueError(
            "the model must remember its data, as one saved by `gossamer fit` does, got one that does not"
        ) from None


def open_origin(
    config: Mapping[str, Any], name: str | None = None, terms: Vocabulary | None = None
) -> tuple[Origin, Any]:
    """Open the data of an artifact, or the data called `name`, filtered as the training data were.

    Data that are no longer what the model was trained on are used, with a warning. Documents that are counted come over
    the model's `terms`.
    """
    origin = read_origin(config)
    if _is_other(origin, name):
        other = data_for([origin.model], _like(origin.data, str(name)))
        return replace(origin, data=other, fingerprint=None), over_terms(open_data(other), terms, other.name)
    data = open_data(origin.data, origin.split)
    if origin.fingerprint is not None and _fingerprint_like(origin.fingerprint, data) != origin.fingerprint:
        logger.warning(
            "%s has changed since the model was trained: it is divided differently now, and what the model has "
            "learned from may be among what is held out",
            origin.data.name,
        )
        data = over_terms(data, terms, origin.data.name)
    return origin, data


def reopen(
    config: Mapping[str, Any], name: str | None = None, terms: Vocabulary | None = None
) -> tuple[Origin, Any, Division]:
    """Open the data of an artifact, or the data called `name`, and divide them as the training data were divided.

    Other documents than those of the artifact are not divided: the model has seen none of them, and all are test data.
    """
    origin, data = open_origin(config, name, terms)
    if _is_other(read_origin(config), name) and not isinstance(data, Interactions):
        return origin, data, Parts(data[:0], None, data, {"kind": "whole"})
    return origin, data, make_split(data, origin.split)


def _fingerprint_like(known: str, data: Any) -> str:
    """Return the fingerprint of data of the kind that `known` is: of the container, or a sum over its rows."""
    if known.startswith(SUMMED):
        return fingerprint_of_sums([sum_row_digests(data)])
    found: str = data.fingerprint()
    return found


def _like(spec: DataSpec, name: str) -> DataSpec:
    """Return what was said of the training data for the data called `name`, where it means something there.

    How words are cut out of texts belongs to the model; which of them count, its own vocabulary says.
    """
    if not is_file(name):
        return replace(spec, name=name, options={})
    if has_nameless_columns(name):
        return replace(spec, name=name, options={}, columns={})
    kept = {key: spec.options[key] for key in ("pattern", "values", "features") if key in spec.options}
    return replace(spec, name=name, options=kept | _labels_there(spec, name))


def _labels_there(spec: DataSpec, name: str) -> dict[str, Any]:
    """Return which columns are labels, where the other file has them: rows to be labelled have none."""
    said: dict[str, Any] = {key: spec.options[key] for key in ("labels", "target") if key in spec.options}
    if not said or name.lower().endswith(".arff") or not Path(name).is_file():
        return said
    (wanted,) = said.values()
    columns = open_table(name).columns
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    return {} if isinstance(names, list) and not set(names) & set(columns) else said


def _is_other(origin: Origin, name: str | None) -> bool:
    return name is not None and name != origin.data.name
