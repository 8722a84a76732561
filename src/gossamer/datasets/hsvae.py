"""The DBpedia and Yahoo sentences of the HSVAE paper, as its authors published them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.data import Sentences
from gossamer.data.parts import UNKNOWN_WORD
from gossamer.data.readers import read_sentences
from gossamer.data.vocabulary import Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Source, check_count

ADDRESS = "https://raw.githubusercontent.com/VictorProkhorov/HSVAE/HEAD/Data"
FILES = ("valid.txt", "valid_class_label.txt", "test.txt", "test_class_label.txt", "vocab.txt")
THEIR_UNKNOWN = "_UNK"
SIZES = {"New_DBPedia": (14_000, 14), "New_Yahoo": (10_000, 10)}


def load_hsvae(folder: str, *, part: str = "valid") -> Sentences:
    """Return the sentences of `part` "valid", "test" or "all" (both) over the authors' vocabulary, with class labels.

    The training sentences are not published (only their labels are), so the default part is "valid". The authors' word
    for all rare ones, `_UNK`, is `<unk>` as everywhere in this library.
    """
    check_choice("part", part, ["valid", "test", "all"])
    if part == "all":
        return _together(load_hsvae(folder), load_hsvae(folder, part="test"))
    files = SOURCES[folder].obtain()
    path = files.checked_path(f"{part}.txt")
    sentences = read_sentences(
        path,
        vocabulary=files.paths["vocab.txt"],
        unknown=THEIR_UNKNOWN,
        labels=files.paths[f"{part}_class_label.txt"],
    )
    num_sentences, num_classes = SIZES[folder]
    check_count("sentences", len(sentences), num_sentences, path)
    check_count("classes", len(sentences.label_names or ()), num_classes, path)
    words = [UNKNOWN_WORD if word == THEIR_UNKNOWN else str(word) for word in sentences.vocabulary]
    return replace(sentences, vocabulary=Vocabulary(words))


def _together(first: Sentences, second: Sentences) -> Sentences:
    assert first.labels is not None
    assert second.labels is not None
    return replace(
        first,
        tokens=np.concatenate([first.tokens, second.tokens]),
        offsets=np.concatenate([first.offsets, first.offsets[-1] + second.offsets[1:]]),
        labels=np.concatenate([first.labels, second.labels]),
    )


# No checksums are published: sentences and classes are counted.
SOURCES = {
    folder: Source(f"hsvae/{folder}", (FILES,), tuple(Download(f"{ADDRESS}/{folder}/{name}") for name in FILES))
    for folder in SIZES
}


def _dataset(folder: str, title: str, licence: str) -> Dataset:
    num_sentences, num_classes = SIZES[folder]
    return Dataset(
        DatasetInfo(
            title=title,
            kind="Sentences",
            size=f"{num_sentences:,} valid and as many test sentences, {num_classes} classes",
            licence=licence,
            homepage="https://github.com/VictorProkhorov/HSVAE",
            citation="Prokhorov et al., Learning Sparse Sentence Encoding without Supervision, RepL4NLP 2021",
        ),
        partial(load_hsvae, folder),
        SOURCES[folder],
    )


DATASETS = {
    "hsvae-dbpedia": _dataset("New_DBPedia", "DBpedia sentences of the HSVAE paper", "CC BY-SA (DBpedia text)"),
    "hsvae-yahoo": _dataset("New_Yahoo", "Yahoo Answers sentences of the HSVAE paper", "Yahoo Webscope research terms"),
}
