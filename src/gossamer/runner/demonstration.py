"""The main job on data that every Python has: fit models of several families, shrink one, and time their answers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from gossamer.core.protocols import Recommender, Transformer
from gossamer.data.interactions import HeldOut
from gossamer.models.lowrank.budget import Budget
from gossamer.runner.compressing_estimators import compress_estimator
from gossamer.runner.measure import stored_size
from gossamer.runner.outcome import Outcome, fit_and_judge, judge
from gossamer.runner.provenance import Origin
from gossamer.runner.source import Division, make_split, open_data
from gossamer.runner.specs import DataSpec
from gossamer.runner.tasks import data_for, default_split

HALF = "-half"
NUM_QUERIES = 20
TIMED_ITEMS = 10  # how many items a timed recommendation asks for


@dataclass(frozen=True)
class Chapter:
    """Models for one task on one data set, the first measure of which is `quality`; `halved` is compressed as well."""

    title: str
    data: str
    models: Mapping[str, Mapping[str, Any]]
    quality: str
    halved: str | None = None


# Small enough for a minute or two on one core; the families' pages say what larger ones reach.
CHAPTERS = (
    Chapter(
        "Which names will a module call?",
        "stdlib-usage",
        {
            "popularity": {},
            "item-knn": {},
            "ease": {},
            "slim": {},
            "als": {},
            "count-recommender": {
                "latent_dim": 50,
                "encoder_dims": [200],
                "epochs": 30,
                "batch_size": 100,
                "learning_rate": 0.002,
            },
        },
        "ndcg@100",
    ),
    Chapter("How often does a module call a name?", "stdlib-usage", {"biased-mf": {}, "anchor-recommender": {}}, "mae"),
    Chapter(
        "What are docstrings about?",
        "stdlib-docs",
        {
            "unigram": {},
            "count-vae": {
                "latent_dim": 20,
                "encoder_dims": [100],
                "epochs": 15,
                "batch_size": 200,
                "learning_rate": 0.003,
            },
        },
        "perplexity_document_refined",
    ),
    Chapter(
        "Docstrings as at most ten features",
        "stdlib-docs",
        {
            "sparse-discrete-vae": {
                "observation": "counts",
                "num_features": 100,
                "max_active": 10,
                "encoder_dims": [100],
                "decoder_dims": [],
                "epochs": 8,
                "learning_rate": 0.005,
            }
        },
        "hard",
        halved="sparse-discrete-vae",
    ),
)


@dataclass(frozen=True)
class Told:
    """A chapter when it has been run: the data, how they were divided, and the models with their measures."""

    chapter: Chapter
    data: Any
    split: Division
    origin: Origin
    outcomes: Sequence[Outcome]


def tell(chapter: Chapter, seed: int) -> Told:
    """Fit and judge the models of a chapter, and the one that is to be halved once more at half its parameters."""
    names = list(chapter.models)
    source, division = data_for(names, DataSpec(chapter.data)), default_split(names, seed, chapter.data)
    data = open_data(source, division)
    split = make_split(data, division)
    outcomes = [fit_and_judge(name, split, settings=settings, seed=seed) for name, settings in chapter.models.items()]
    for outcome in list(outcomes):
        if outcome.model == chapter.halved:
            began = time.perf_counter()
            small, _ = compress_estimator(outcome.estimator, split.train, Budget(params=0.5), random_state=seed)
            seconds = time.perf_counter() - began
            outcomes.append(Outcome(f"{outcome.model}{HALF}", small, seconds, judge(small, split.test)))
    return Told(chapter, data, split, Origin(", ".join(names), source, division, data.fingerprint()), outcomes)


def summary(told: Sequence[Told]) -> list[dict[str, Any]]:
    """Return one row per model: its task, quality, bytes, and the milliseconds that one answer takes."""
    return [
        {
            "task": one.chapter.title,
            "model": outcome.model,
            "measure": one.chapter.quality,
            "quality": None if outcome.measured is None else outcome.measured.values[one.chapter.quality],
            "bytes": stored_size(outcome.estimator)[1],
            "ms per query": milliseconds_per_query(outcome.estimator, one.split),
        }
        for one in told
        for outcome in one.outcomes
    ]


def milliseconds_per_query(estimator: Any, split: Division) -> float | None:
    """Return the median time of one answer for one held-out row; None where a model answers no single rows."""
    test = split.test
    rows = test.history if isinstance(test, HeldOut) else test
    count = min(NUM_QUERIES, len(rows))
    if isinstance(estimator, Recommender) and isinstance(test, HeldOut):
        questions = [lambda row=row: estimator.recommend(rows[row : row + 1], TIMED_ITEMS) for row in range(count)]
    elif isinstance(test, HeldOut) and hasattr(estimator, "predict"):
        questions = [lambda row=row: estimator.predict(test.target[row : row + 1]) for row in range(count)]
    elif isinstance(estimator, Transformer):
        questions = [lambda row=row: estimator.transform(rows[row : row + 1]) for row in range(count)]
    else:
        return None
    if not questions:
        return None
    questions[0]()  # the first one may compile
    return 1000 * median(_seconds(questions))


def save_models(told: Sequence[Told], folder: Path) -> list[Path]:
    """Save every model in a directory of its own below `folder`, for `gossamer serve` and all other verbs."""
    saved = []
    for one in told:
        for outcome in one.outcomes:
            path = folder / outcome.model
            metrics = {} if outcome.measured is None else outcome.measured.values
            origin = Origin(outcome.model.removesuffix(HALF), one.origin.data, one.origin.split, one.origin.fingerprint)
            outcome.estimator.save(path, provenance=origin.as_json(), metrics=metrics)
            saved.append(path)
    return saved


def _seconds(questions: Sequence[Any]) -> Iterator[float]:
    for question in questions:
        began = time.perf_counter()
        question()
        yield time.perf_counter() - began
