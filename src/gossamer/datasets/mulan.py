"""Three of Mulan's multi-label sets: bird songs, emotions in music, and tags of songs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from gossamer.core.checks import check_bool, check_choice
from gossamer.data import LabelledArrays
from gossamer.data.readers import read_multilabel
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Source, check_count

ADDRESS = "https://raw.githubusercontent.com/tsoumakas/mulan/HEAD/data/multi-label"


@dataclass(frozen=True)
class _Set:
    """Published numbers of one set; `files` maps its parts to ARFF files."""

    title: str
    files: dict[str, str]
    sizes: dict[str, int]
    num_features: int
    num_labels: int
    citation: str


SETS = {
    "birds": _Set(
        "Birds: species heard in ten-second recordings",
        {"train": "birds-train.arff", "test": "birds-test.arff"},
        {"train": 322, "test": 323},
        260,
        19,
        "Briggs et al., The 9th Annual MLSP Competition, MLSP 2013",
    ),
    "emotions": _Set(
        "Emotions: moods of songs",
        {"train": "emotions-train.arff", "test": "emotions-test.arff"},
        {"train": 391, "test": 202},
        72,
        6,
        "Trohidis et al., Multilabel Classification of Music into Emotions, ISMIR 2008",
    ),
    "cal500": _Set(
        "CAL500: tags of songs",
        {"all": "cal500.arff"},
        {"all": 502},
        68,
        174,
        "Turnbull et al., Semantic Annotation and Retrieval of Music, IEEE TASLP 16(2), 2008",
    ),
}


def load_mulan(name: str, *, part: str = "all", drop_unlabelled: bool = False) -> LabelledArrays:
    """Return features (N, F) and a 0/1 table of labels (N, L), with `drop_unlabelled` of rows that have a label only.

    `part` is "train" or "test" where Mulan publishes a split (birds, emotions), "all" is both, in this order.
    Unlike other sets the default is "all": these sets are so small that they are usually split anew, many times.
    """
    description = SETS[name]
    check_bool("drop_unlabelled", drop_unlabelled)
    check_choice("part", part, dict.fromkeys(["all", *description.files]))
    files = SOURCES[name].obtain()
    chosen = list(description.files) if part == "all" else [part]
    halves = []
    for half in chosen:
        file = description.files[half]
        data = read_multilabel(files.checked_path(file), labels=files.paths[f"{name}.xml"])
        check_count("examples", len(data), description.sizes[half], files.paths[file])
        check_count("features", data.inputs.shape[1], description.num_features, files.paths[file])
        check_count("labels", len(data.target_names or ()), description.num_labels, files.paths[file])
        halves.append(data)
    inputs = np.concatenate([half.inputs for half in halves])
    labels = np.concatenate([half.targets for half in halves if half.targets is not None])
    kept = labels.any(axis=1) if drop_unlabelled else slice(None)
    return LabelledArrays(inputs[kept], labels[kept], halves[0].input_names, halves[0].target_names)


def _source(name: str) -> Source:
    files = (*SETS[name].files.values(), f"{name}.xml")
    # Mulan publishes no checksums: examples, features and labels are counted.
    return Source(f"mulan/{name}", (files,), tuple(Download(f"{ADDRESS}/{name}/{file}") for file in files))


SOURCES = {name: _source(name) for name in SETS}

DATASETS = {
    name: Dataset(
        DatasetInfo(
            title=description.title,
            kind="LabelledArrays",
            size=f"{sum(description.sizes.values())} examples × {description.num_features} features, "
            f"{description.num_labels} labels",
            licence="none stated (Mulan)",
            homepage="https://mulan.sourceforge.net/datasets-mlc.html",
            citation=description.citation,
        ),
        partial(load_mulan, name),
        SOURCES[name],
        parts=("train", "test") if "test" in description.files else (),
    )
    for name, description in SETS.items()
}
