"""GloVe word vectors (6 billion tokens, 50 dimensions)."""

from __future__ import annotations

import io
from dataclasses import dataclass

import numpy as np

from gossamer.data import Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Files, Source, check_count

OFFICIAL, REDUCED = "glove.6B.50d.txt", "glove.6B.50d.top40k_f16.npz"
NUM_WORDS = {OFFICIAL: 400_000, REDUCED: 40_712}
DIM = 50
SOURCE = Source(
    "glove",
    ((OFFICIAL,), (REDUCED,)),
    (Download("https://nlp.stanford.edu/data/glove.6B.zip", "md5:056ea991adb4740ac6bf1b6d9b50408b", (OFFICIAL,)),),
)


@dataclass(frozen=True, eq=False)
class WordVectors:
    """A table of vectors (V, D) in float32, row i for word i."""

    words: Vocabulary
    vectors: np.ndarray

    def __post_init__(self) -> None:
        if self.vectors.shape != (len(self.words), DIM) or not np.isfinite(self.vectors).all():
            raise ValueError(
                f"vectors must be finite and {len(self.words)} × {DIM}, got {self.vectors.dtype} {self.vectors.shape}"
            )

    def __len__(self) -> int:
        return len(self.words)


def load_glove() -> WordVectors:
    """Return words, most frequent first, and their vectors.

    The official file has 400,000 words; a reduced copy in float16 with the 40,000 most frequent ones and 712 words
    of other sets is read where it is what the machine has.
    """
    files = SOURCE.obtain()
    name = OFFICIAL if OFFICIAL in files else REDUCED
    words, vectors = _read_official(files) if name == OFFICIAL else _read_reduced(files)
    check_count("words", len(words), NUM_WORDS[name], files.paths[name])
    return WordVectors(Vocabulary(words), vectors)


def _read_official(files: Files) -> tuple[list[str], np.ndarray]:
    lines = files.read_text(OFFICIAL).split("\n")
    rows = [line.partition(" ") for line in lines if line]
    vectors = np.array([np.fromstring(numbers, dtype=np.float32, sep=" ") for _, _, numbers in rows])
    return [word for word, _, _ in rows], vectors


def _read_reduced(files: Files) -> tuple[list[str], np.ndarray]:
    with np.load(io.BytesIO(files.read(REDUCED)), allow_pickle=False) as stored:
        return stored["words"].tolist(), stored["vectors"].astype(np.float32)


DATASETS = {
    "glove": Dataset(
        DatasetInfo(
            title="GloVe 6B, 50 dimensions: word vectors",
            kind="WordVectors",
            size="400,000 words (reduced copy: 40,712) × 50",
            licence="PDDL-1.0",
            homepage="https://nlp.stanford.edu/projects/glove/",
            citation="Pennington, Socher and Manning, GloVe, EMNLP 2014",
        ),
        load_glove,
        SOURCE,
    )
}
