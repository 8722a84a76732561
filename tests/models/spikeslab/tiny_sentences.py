"""Networks small enough for tests, and sentences for them."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from gossamer.data.sentences import Sentences
from gossamer.data.text import build_sentences
from gossamer.models.spikeslab.codes import Codes, GaussianCodes
from gossamer.models.spikeslab.hierarchical import HierarchicalCodes
from gossamer.models.spikeslab.module import GRUEncoder, SentenceNetwork, WordVectors
from gossamer.models.spikeslab.rivals import MatCodes, SparseCodingCodes

FEATURES, DIMS = 6, 4


def all_codes() -> dict[str, Codes]:
    torch.manual_seed(0)
    return {
        "gaussian": GaussianCodes(FEATURES, DIMS, norm="l1"),
        "joint": HierarchicalCodes(FEATURES, DIMS, gates="free"),
        "balanced": HierarchicalCodes(FEATURES, DIMS),
        "mixture": HierarchicalCodes(FEATURES, DIMS, divergence="mixture", alpha=0.5, beta=0.5, gates="free"),
        "mat": MatCodes(FEATURES, DIMS),
        "vsc": SparseCodingCodes(FEATURES, DIMS, num_pseudo_inputs=3),
    }


def few_sentences() -> Sentences:
    return build_sentences(["a b c", "b", "", "c c a b a", "a"], labels=["x", "y", "x", "y", "x"])


def tiny_network(codes: Codes | None = None, softmax: str = "full", num_words: int = 4) -> SentenceNetwork:
    torch.manual_seed(0)
    return SentenceNetwork(
        WordVectors(nn.Embedding(num_words, 3), num_words, 3),
        GRUEncoder(3, FEATURES),
        GaussianCodes(FEATURES, DIMS) if codes is None else codes,
        hidden_dim=5,
        word_counts=torch.tensor([1.0, 5.0, 3.0, 2.0, 5.0]),
        softmax=softmax,
    )


def rows_of(data: Sentences) -> np.ndarray:
    return np.arange(len(data))
