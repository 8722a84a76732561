"""A small report with everything in it, and a reader of pages, for all tests of the room."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pytest

from gossamer.data import HeldOut, Interactions, Split
from gossamer.metrics.evaluation import RankingScores
from gossamer.report import Example, ModelResult, Report, models_report

VOID = {"meta", "link", "br", "img", "hr", "input", "source", "wbr", "area", "base", "col", "embed", "track"}


class PageReader(HTMLParser):
    """Checks that tags are balanced, and collects elements and texts."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(page)
        self.close()
        assert self.open == [], f"never closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1] == tag, f"</{tag}> closes <{self.open[-1]}>"
        self.open.pop()

    def handle_data(self, data):
        if data.strip() and self.open:
            self.texts.append((self.open[-1], data.strip()))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        return [text for name, text in self.texts if name == tag]


@pytest.fixture(scope="session")
def read_page():
    return PageReader


@pytest.fixture(scope="session")
def interactions() -> Interactions:
    rng = np.random.default_rng(0)
    weights = 1 / np.arange(1, 61)
    users, items = [], []
    for user in range(40):
        count = int(rng.integers(2, 30))
        users += [f"user {user}"] * count
        items += [f"item {item}" for item in rng.choice(60, count, replace=False, p=weights / weights.sum())]
    return Interactions.from_pairs(users, items, rating=rng.integers(1, 6, len(users)), time=np.arange(len(users)))


@pytest.fixture(scope="session")
def split(interactions: Interactions) -> Split:
    test = interactions[:10]
    is_history = np.arange(test.nnz) % 5 > 0
    held_out = HeldOut(test.keep(is_history), test.keep(~is_history))
    return Split(interactions[10:], None, held_out, {"kind": "strong generalisation", "seed": 3})


def ranking_scores(level: float) -> RankingScores:
    rng = np.random.default_rng(7)
    noise = rng.uniform(-0.1, 0.1, 10) + np.random.default_rng(int(level * 1000)).normal(0, 0.01, 10)
    return RankingScores({"recall@20": level + noise, "ndcg@100": 0.9 * level + noise}, {"coverage@100": level})


@pytest.fixture(scope="session")
def models() -> dict[str, ModelResult]:
    history = [{"epoch": epoch, "loss": 1 / (epoch + 1), "valid_loss": 0.1 + 1 / (epoch + 1)} for epoch in range(5)]
    similar = [{"item": "item 1", "similar": [{"item": "item 2", "weight": 0.51234}]}]
    return {
        "popularity": ModelResult(ranking_scores(0.3), {"weighted": False}, 0.002, 60, 240),
        "ease": ModelResult(
            ranking_scores(0.5), {"l2": 200.0}, 1.5, 3600, 14400, explanation={"similar_items": similar}
        ),
        "als": ModelResult(ranking_scores(0.45), {"num_factors": 8}, 61.0, 800, 3200, history=history),
    }


@pytest.fixture(scope="session")
def report(interactions: Interactions, split: Split, models: dict[str, ModelResult]) -> Report:
    # Long names, because those are what breaks a narrow page.
    long_name = "a.very.long.dotted.name.that.no.phone.can.show.on.one.line." * 3
    example = Example(long_name, ["item 3", long_name], {"ease": ["item 1", long_name], "als": ["item 4"]}, ["item 1"])
    return models_report(
        title="A comparison of " + long_name,
        data=interactions,
        split=split,
        models=models,
        examples=[example],
        provenance={"commit": "0" * 40, "seed": 3, "date": "2026-01-31", "versions": {"python": "3.11"}},
    )
