"""Tiny models of every kind that the explorer shows, saved once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from explorer_samples import documents, halves, pictures, record, series

from gossamer.models.community import CommunityRecommender
from gossamer.models.counts import CountVAE
from gossamer.models.discrete import SparseCodes, SparseDiscreteVAE
from gossamer.models.embeddings.ratings.recommender import AnchorRecommender
from gossamer.models.linear import ALS, EASE
from gossamer.models.lowrank import CompressedClassifier
from gossamer.models.markov import HSMM
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.loading import load_model
from gossamer.serving.service import Service

if TYPE_CHECKING:
    from browsing import Visit
    from playwright.sync_api import Browser, BrowserContext


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder of saved models."""
    root = tmp_path_factory.mktemp("models")
    data, texts = halves(), documents()
    origin = {"model": "ease", "data": {"name": "planted"}, "split": {"kind": "none"}, "fingerprint": None}
    EASE(regularization=5.0).fit(data).save(root / "ease", provenance=origin, metrics={"recall@20": 0.5})
    als = ALS(num_factors=4, epochs=5).fit(data)
    als.save(root / "als", provenance=origin, metrics={"recall@20": 0.6, "test_mse": 0.9})
    anchors = AnchorRecommender(embedding_dim=4, user_anchors=4, item_anchors=4, epochs=4, charge=0.01)
    anchors.fit(data).save(root / "anchors")
    CountVAE(latent_dim=2, encoder_dims=[16], epochs=20, learning_rate=0.02).fit(texts).save(root / "topics")
    sizes = {"num_features": 8, "max_active": 2, "encoder_dims": [16], "decoder_dims": [16]}
    codes = SparseDiscreteVAE(observation="counts", epochs=30, learning_rate=0.01, batch_size=20, **sizes).fit(texts)
    codes.save(root / "codes")
    SparseCodes().fit(codes.transform(texts), [f"page {row}" for row in range(80)]).save(root / "index")
    communities = CommunityRecommender(embedding_dim=8, num_communities=2, epochs=4, batch_size=16)
    communities.fit(data).save(root / "communities")
    HSMM(num_states=2, emission="categorical", epochs=15, num_starts=2).fit(series()).save(root / "phases")
    network = CompressedClassifier(hidden_dims=[24, 24], params=0.6, epochs=2, iterations=6, polish=0, search_rows=32)
    network.fit(pictures()).save(root / "network")
    return root


@pytest.fixture(scope="session")
def served(folder: Path) -> Service:
    return Service(sorted(folder.iterdir()))


@pytest.fixture(scope="session")
def known(folder: Path) -> dict[str, Knowledge]:
    """Return what is known of every model."""
    return {path.name: Knowledge(load_model(path)) for path in sorted(folder.iterdir())}


@pytest.fixture(scope="session")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return records of three rows, one of them with two seeds, beside a benchmark that is no record."""
    root = tmp_path_factory.mktemp("results")
    rows = [
        record("ant-small", 0, values=100, test_mse=0.8),
        record("ant-small", 1, values=120, test_mse=0.9),
        record("dense-large", 0, values=1000, test_mse=0.7),
        record("hash-bad", 0, values=1000, test_mse=0.95),
        record("hash-unmeasured", 0, test_mse=0.95),
    ]
    (root / "tiny").mkdir()
    for content in rows:
        (root / "tiny" / f"{content['row']}.{content['seed']}.json").write_text(json.dumps(content))
    (root / "bench").mkdir()
    (root / "bench" / "ease-fit.json").write_text('{"name": "ease-fit"}')
    return root


# Imported late below: where there is no browser, tests beside those need none.
@pytest.fixture(scope="module")
def address(served: Service, results: Path) -> Iterator[str]:
    """Return the address of a server over the whole folder."""
    from browsing import running

    with running(served, results) as found:
        yield found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Return the browser that `tests/conftest.py` has looked for."""
    from browsing import FLAGS, PATIENCE
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def context(browser: Browser) -> Iterator[BrowserContext]:
    """Yield what pages share that keep nothing in the browser; those that do make one of their own."""
    from browsing import DESK

    opened = browser.new_context(viewport=DESK)
    yield opened
    opened.close()


@pytest.fixture
def visit(context: BrowserContext, address: str) -> Iterator[Visit]:
    """Yield a visit that must end without an error on the console and without a request to anybody else."""
    from browsing import REFUSED, Visit

    found = Visit(context, address)
    yield found
    found.page.close()
    assert [text for text in found.said if f"{REFUSED}{found.allowed}" not in text] == []
    assert found.asked <= {urlsplit(address).netloc}
