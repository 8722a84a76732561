"""Tiny models of planted data, fitted and saved once, and services and clients over them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gossamer.cli.app import main
from gossamer.data import Interactions, Sequences, Vocabulary
from gossamer.models.counts import CountVAE
from gossamer.models.discrete import SparseDiscreteVAE
from gossamer.models.linear import ALS, EASE, BiasedMF, Popularity
from gossamer.models.markov import HMM, HSMM
from gossamer.models.spikeslab import SentenceVAE
from gossamer.serving.app import create_app
from gossamer.serving.service import Service
from gossamer.serving.settings import Settings
from gossamer.testing.right_answers import two_blocks, two_patterns, two_phases, two_themes, two_topics

SMALL = {"epochs": 20, "batch_size": 8, "learning_rate": 0.03}


def two_events() -> Sequences:
    """Return series in which "open" is followed by "read", "read" by "close" and "close" by "open"."""
    observations = np.arange(60) % 3
    return Sequences(observations, np.arange(0, 61, 12), vocabulary=Vocabulary(["open", "read", "close"]))


@pytest.fixture(scope="session")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of artifacts, one per kind of question; never written to by a test."""
    folder = tmp_path_factory.mktemp("shelf")
    blocks = two_blocks().history
    EASE(regularization=1.0).fit(blocks).save(folder / "ease")
    ALS(num_factors=3, epochs=5).fit(blocks).save(folder / "als")
    ALS(num_factors=3, epochs=5, weighted=True).fit(blocks).save(folder / "weighted")
    BiasedMF(num_factors=2, epochs=5).fit(blocks).save(folder / "biased")
    numbered = Interactions.from_pairs([1, 1, 2, 3], [10, 20, 10, 30])
    Popularity().fit(numbered).save(folder / "numbers")
    CountVAE(latent_dim=2, decoder_dims=[], encoder_dims=[8], **SMALL).fit(two_themes().train).save(folder / "topics")
    patterns = SparseDiscreteVAE(
        num_features=6, encoder_dims=[8], decoder_dims=[8], max_active=2, gate_dims=[], **SMALL
    )
    patterns.fit(two_patterns().train).save(folder / "patterns")
    sentences = SentenceVAE(latent_dim=4, embedding_dim=6, hidden_dim=8, epochs=2, batch_size=18, max_length=8)
    sentences.fit(two_topics().train).save(folder / "sentences")
    HSMM(num_states=2, epochs=20).fit(two_phases().train).save(folder / "phases")
    HMM(num_states=3, emission="categorical", epochs=30).fit(two_events()).save(folder / "events")
    return folder


@pytest.fixture(scope="session")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an artifact that remembers the file it was fitted on: users u0 … of two blocks, items a0 … and b0 …"""
    folder = tmp_path_factory.mktemp("remembered")
    lines = ["user,item"] + [
        f"u{user},{'ab'[user % 2]}{(user + place) % 8}" for user in range(40) for place in range(5)
    ]
    (folder / "events.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    fit = ["fit", "item-knn", "--data", str(folder / "events.csv"), "--split", "none", "--set", "num_neighbours=5"]
    with contextlib.chdir(folder), pytest.raises(SystemExit) as done:
        main([*fit, "--out", "knn"])
    assert not done.value.code
    return folder / "knn"


@pytest.fixture(scope="session")
def service(shelf: Path) -> Service:
    """Return a service over the whole shelf."""
    return Service(sorted(shelf.iterdir()))


@pytest.fixture(scope="session")
def client(service: Service) -> Iterator[TestClient]:
    """Return a client of a server over the whole shelf."""
    with TestClient(create_app(service, Settings(reload_seconds=0))) as opened:
        yield opened
