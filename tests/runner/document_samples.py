"""Documents for the runner's tests: a file of them, and a model that reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Self

import numpy as np
from sklearn.base import BaseEstimator

from gossamer.data import Sentences


class WordVotes(BaseEstimator):
    """Classifies by how often its classes use each word; as small as a model of documents can be."""

    def __init__(self, *, smoothing: float = 1.0) -> None:
        self.smoothing = smoothing

    def fit(self, data: Sentences, validation: Sentences | None = None) -> Self:
        counts = np.full((len(data.vocabulary), len(data.label_names or ())), self.smoothing)
        np.add.at(counts, (data.tokens, np.repeat(data.labels, data.lengths)), 1)
        self.votes_ = np.log(counts / counts.sum(axis=0))
        return self

    def evaluate(self, data: Sentences) -> dict[str, float]:
        scores = np.zeros((len(data), self.votes_.shape[1]))
        np.add.at(scores, np.repeat(np.arange(len(data)), data.lengths), self.votes_[data.tokens])
        return {"accuracy": float(np.mean(scores.argmax(axis=1) == data.labels))}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        return {"votes": self.votes_}

    def num_bytes(self) -> int:
        return 1234


def write_documents(path: Path, count: int = 80) -> Path:
    """Write a CSV of documents in two classes, each with the words of its class and one of its own."""
    lines = ["topic,body"]
    for number in range(count):
        topic, words = (("food", "ham eggs"), ("news", "vote court"))[number % 2]
        lines.append(f'{topic},"The {words}, no {number}."')
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
