"""From what an experiment or a command line says to data in memory and a split of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gossamer import datasets
from gossamer.core.checks import check_choice
from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.filters import filter_min_counts, keep_ratings
from gossamer.data.interactions import HeldOut, Interactions, Split
from gossamer.data.parts import Parts
from gossamer.data.readers import (
    read_arrays,
    read_counted_documents,
    read_documents,
    read_interactions,
    read_sequences,
)
from gossamer.data.readers.counted_documents import has_nameless_columns
from gossamer.data.sentences import Sentences
from gossamer.data.sequences import Sequences
from gossamer.data.splits import (
    split_contents,
    split_documents,
    split_given,
    split_global_time,
    split_items,
    split_pair_ids,
    split_random,
    split_user_ids,
    split_user_time,
    split_users,
    split_users_fold,
)
from gossamer.data.splits.documents import find_repeats
from gossamer.runner.directory import is_directory, read_directory
from gossamer.runner.specs import DataSpec, SplitSpec, check_keys

Division: TypeAlias = Split | Parts  # interactions held out of users, or documents in parts

FILE_FORMS: dict[type, str] = {  # what a file can be read as
    Interactions: "interactions",
    Sentences: "sentences",
    Counts: "counts",
    Sequences: "sequences",
    LabelledArrays: "arrays",
}
COUNTING_OPTIONS = ("vocabulary", "max_terms", "min_documents", "pattern")

_SEEDED: dict[str, Callable[..., Split]] = {
    "users": split_users,
    "random": split_random,
    "items": split_items,
    "user-ids": split_user_ids,
    "pair-ids": split_pair_ids,
    "user-time": split_user_time,
}


def is_file(name: str) -> bool:
    """Say whether a name of data means a file rather than a data set.

    >>> is_file("ratings.csv"), is_file("stdlib-usage")
    (True, False)
    """
    return name not in datasets.available() and (Path(name).exists() or "/" in name or "\\" in name or "." in name)


def open_data(spec: DataSpec, split: SplitSpec | None = None) -> Any:
    """Load a data set by name, or read a file or a directory, and keep what the spec says of it.

    For the split "given" the answer is `Parts`: training, test and, where it is published, validation documents.
    """
    if is_file(spec.name):
        data: Any = _read_file(spec)
    else:
        if spec.columns:
            raise ValueError(f"columns must be left out for the data set {spec.name!r}, got {spec.columns!r}")
        is_given = split is not None and split.kind == "given"
        data = _load_parts(spec) if is_given else datasets.load(spec.name, **spec.options)
    if spec.min_rating is None and spec.min_per_user is None and spec.min_per_item is None:
        return data
    if not isinstance(data, Interactions):
        raise ValueError(f"data must be interactions to be filtered, got {type(data).__name__} from {spec.name!r}")
    if spec.min_rating is not None:
        data = keep_ratings(data, at_least=spec.min_rating)
    data = filter_min_counts(data, min_per_user=spec.min_per_user or 1, min_per_item=spec.min_per_item or 1)
    if data.nnz == 0:
        raise ValueError(f"{spec.name} must keep some interactions, got none after filtering with {spec.as_json()}")
    return data


def make_split(data: Any, spec: SplitSpec, seed: int = 0) -> Division:
    """Divide data as the spec says; its own seed, where it has one, is used rather than `seed`.

    "user-folds" takes the seed for the number of the fold: the folds themselves are always the same, so that seeds
    0 to num_folds − 1 of an experiment test every user once. "none" holds nothing out: everything is training data, as
    for a model that goes into service. "rows", "contents" and "given" are for documents, the others for interactions.
    """
    random_state = seed if spec.seed is None else spec.seed
    if spec.kind == "given":
        if not isinstance(data, Parts):
            raise ValueError(f"data must come in parts to be split by 'given', got {type(data).__name__}; use 'rows'")
        return split_given(data, **spec.arguments, random_state=random_state)
    if not isinstance(data, Interactions):
        if spec.kind not in ("rows", "contents", "none") or not hasattr(data, "__getitem__"):
            raise ValueError(f"data must be interactions to be split by {spec.kind!r}, got {type(data).__name__}")
        if spec.kind == "none":
            return Parts(data, None, data[:0], {"kind": "none"})
        if spec.kind == "contents":
            return split_contents(data, **spec.arguments, random_state=random_state)
        return split_documents(data, **spec.arguments, random_state=random_state)
    if spec.kind in ("rows", "contents"):
        raise ValueError(
            f"data must be documents to be split by {spec.kind!r}, got interactions; use 'users' or 'random'"
        )
    if spec.kind == "none":
        nothing = data.keep(np.zeros(data.nnz, dtype=bool))
        return Split(data, None, HeldOut(data, nothing), {"kind": "none"})
    if spec.kind == "global-time":  # nothing in it is random
        return split_global_time(data, **spec.arguments)
    if spec.kind == "user-folds":
        return split_users_fold(data, random_state, **spec.arguments)
    return _SEEDED[spec.kind](data, **spec.arguments, random_state=random_state)


def _read_file(spec: DataSpec) -> Interactions | Sentences | Counts | Sequences | LabelledArrays:
    if is_directory(spec.name):
        return read_directory(spec)  # type: ignore[no-any-return]
    options = dict(spec.options)
    usual = "counts" if has_nameless_columns(spec.name) else "interactions"
    form = check_choice("form", options.pop("form", usual), FILE_FORMS.values())
    if form == "counts":
        check_keys("a file of counts", options, COUNTING_OPTIONS, noun="option")
        return read_counted_documents(spec.name, columns=spec.columns or None, **options)
    if form == "sentences":
        check_keys("a file of sentences", options, ["max_words", "min_count"], noun="option")
        return read_documents(spec.name, columns=spec.columns or None, **options)
    if form == "sequences":
        check_keys("a file of sequences", options, ["values", "features"], noun="option")
        return read_sequences(spec.name, columns=spec.columns or None, **options)
    if form == "arrays":
        check_keys("a file of arrays", options, ["labels", "target"], noun="option")
        if spec.columns:
            raise ValueError(
                f"columns must be left out for a file of arrays, got {spec.columns!r}; use --option labels"
            )
        return read_arrays(spec.name, **options)
    if options:
        raise ValueError(f"options must be left out for a file of interactions, got {options!r}")
    return read_interactions(spec.name, columns=spec.columns or None)


def _load_parts(spec: DataSpec) -> Parts:
    entry = datasets.find(spec.name)
    if "train" not in entry.parts:
        raise ValueError(f"data must have parts of their own to be split by 'given', got {spec.name!r}; use 'rows'")
    if "part" in spec.options:
        raise ValueError(f"options must leave out part, because 'given' loads all of them, got {spec.options!r}")
    train, test = (datasets.load(spec.name, part=part, **spec.options) for part in ("train", "test"))
    valid = datasets.load(spec.name, part="valid", **spec.options) if "valid" in entry.parts else None
    if "form" not in entry.options():
        return Parts(train, valid, test)
    # The texts as published tell more repeats than sentences do, where rare words are all the same.
    texts, test_texts = (datasets.load(spec.name, part=part, form="texts").texts for part in ("train", "test"))
    is_repeat = find_repeats(texts, test_texts)
    return Parts(train[~is_repeat], valid, test, {"dropped_repeats": int(is_repeat.sum())})
