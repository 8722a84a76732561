"""The data sets by name: what there is, where it lies, and loading it."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from gossamer.datasets import (
    ag_news,
    cifar10,
    dbpedia,
    glove,
    gowalla,
    hsmm_collection,
    hsvae,
    mnist,
    mnist_columns,
    movielens,
    movielens_genres,
    mulan,
    netflix,
    newsgroups,
    planted_communities,
    pretrained,
    ptb,
    stdlib,
    wordnet,
)
from gossamer.datasets.dataset import Dataset, DatasetInfo

_MODULES = (
    stdlib,
    movielens,
    movielens_genres,
    gowalla,
    netflix,
    newsgroups,
    ag_news,
    dbpedia,
    hsvae,
    ptb,
    mnist,
    mnist_columns,
    cifar10,
    mulan,
    planted_communities,
    pretrained,
    glove,
    wordnet,
    hsmm_collection,
)
_DATASETS: dict[str, Dataset] = {name: dataset for module in _MODULES for name, dataset in module.DATASETS.items()}


def available() -> dict[str, DatasetInfo]:
    """Return what is known of every data set, by name, whether or not its files are on this machine.

    >>> available()["stdlib-usage"].kind
    'Interactions'
    """
    return {name: dataset.info for name, dataset in _DATASETS.items()}


def load(name: str, **options: Any) -> Any:
    """Return a data set in its container (see `available()[name].kind`).

    Files are looked for in `$GOSSAMER_DATA/<folder>`, then in the cache (`$GOSSAMER_CACHE`, else
    `$XDG_CACHE_HOME/gossamer`, else `~/.cache/gossamer`), then downloaded from their official address into the
    cache. Where that fails, the FileNotFoundError says what to put where. Options are those of the set's own loader;
    sets with an official split take `part="train"`, `"test"` and, where there is one, `"valid"`, and parts share their
    vocabularies. The default is "train", but "all" where people usually split anew (ml-100k, birds, emotions), and
    "valid" where no training text is published (hsvae-dbpedia, hsvae-yahoo).
    """
    dataset = find(name)
    known = dataset.options()
    for option in options:
        if option not in known:
            allowed = ", ".join(known) or "none"
            raise ValueError(f"options of {name!r} must be among: {allowed}, got {option!r}")
    return dataset.load(**options)


def locate(name: str) -> Path | None:
    """Return the directory that holds a data set's files, None where they are not on this machine.

    Built-in data has no files of its own: it lies in Python's standard library, or is made up by the code here.
    """
    dataset = find(name)
    if dataset.source is None:
        return stdlib.library_directory() if name in stdlib.DATASETS else Path(__file__).parent
    found = dataset.source.find()
    return None if found is None else found.directory


def find(name: str) -> Dataset:
    """Return the entry of a data set: its description, loader, files, parts and options."""
    if name in _DATASETS:
        return _DATASETS[name]
    near = difflib.get_close_matches(str(name), _DATASETS, n=3, cutoff=0.5)
    meant = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
    raise ValueError(f"name must be a known data set, got {name!r}; {meant}known are {', '.join(_DATASETS)}")
