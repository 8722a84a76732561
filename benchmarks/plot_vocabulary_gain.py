"""Figure 4 on our own corpora: what refined training gains over amortised training as the vocabulary grows.

    python benchmarks/plot_vocabulary_gain.py docs/images docs/families/counts.md
    python benchmarks/plot_vocabulary_gain.py --small                    # a trial of seconds that keeps nothing

For each corpus and number of terms, the decoder with two hidden layers is trained twice: the same documents, seed and
number of epochs, the epoch chosen on validation documents. Records go to results/nfa-vocabulary/, and a pair that has
its records is not trained again; figure and table are written from the records alone. About 35 minutes on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pages import write_between
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

from gossamer import datasets
from gossamer.data import Counts, Parts
from gossamer.data.readers import count_words
from gossamer.data.splits import split_documents
from gossamer.models.counts import CountVAE
from gossamer.models.counts.bound import bound
from gossamer.models.counts.diagnostics import PerplexityGain, gains_by_vocabulary
from gossamer.persistence.strict_json import canonical_json, plain_json
from gossamer.report.latent_figures import gain_curves
from gossamer.report.svg import write_svg
from gossamer.runner.machine import code_hash, commit, machine, peak_rss_bytes, versions
from gossamer.runner.records import Record, read_record, read_records, write_record

RESULTS = Path(__file__).parent.parent / "results" / "nfa-vocabulary"
NAME = "nfa-vocabulary"
TRAININGS = ("amortised", "refined")
SETTINGS: dict[str, Any] = {
    "latent_dim": 100,
    "decoder_dims": [400, 400],
    "encoder_dims": [400, 400],
    "inputs": "tfidf",
    "batch_size": 100,
    "learning_rate": 0.002,
    "random_state": 0,
}


@dataclass(frozen=True)
class Corpus:
    """A corpus, how many of its documents are taken, for how many epochs, and the numbers of terms."""

    name: str
    options: dict[str, Any]
    max_documents: int
    epochs: int
    sizes: tuple[int, ...]


# Epochs are what the time allows; more documents and fewer epochs overfit less than the reverse. The docstrings have
# about 5,000 words that are seen three times.
CORPORA = (
    Corpus("stdlib-docs", {"form": "sentences"}, 10_000, 12, (500, 1000, 2000, 4000)),
    Corpus("ag_news", {"part": "train", "form": "texts"}, 14_000, 8, (1000, 2000, 4000, 8000)),
)


def main() -> None:
    parser = argparse.ArgumentParser(description="refined against amortised training by vocabulary size")
    parser.add_argument("folder", nargs="?", type=Path, help="where the figure goes")
    parser.add_argument("page", nargs="?", type=Path, help="a page with the mark of the table")
    parser.add_argument("--small", action="store_true", help="few documents and terms, one epoch; nothing is kept")
    arguments = parser.parse_args()
    if arguments.small:
        for corpus in CORPORA:
            tiny = replace(corpus, max_documents=120, epochs=1)
            print(table(list(records_of_pair(tiny, documents_of(tiny), 50))))
        return
    for corpus in CORPORA:
        sizes = [size for size in corpus.sizes if not is_done(corpus, size)]
        parts = documents_of(corpus) if sizes else None
        for size in sizes:
            assert parts is not None
            for record in records_of_pair(corpus, parts, size):
                write_record(record, path_of(record.row))
            print(f"{corpus.name}, {size:,} terms: done")
    records = read_records(RESULTS)
    text = table(records)
    print(text)
    if arguments.folder:
        drawing = gain_curves(curves(records))
        write_svg(drawing.svg, arguments.folder / f"{NAME}.svg")
        text = f"![{drawing.alt}](../images/{NAME}.svg)\n\n{text}"
    if arguments.page:
        write_between(arguments.page, NAME, text)


def documents_of(corpus: Corpus) -> Parts:
    """Return words of three letters and more that are no stop words, of so many documents, spread over the corpus."""
    data: Any = datasets.load(corpus.name, **corpus.options)
    rows = np.linspace(0, len(data) - 1, min(len(data), corpus.max_documents)).astype(int)
    texts = [data.texts[row] if hasattr(data, "texts") else " ".join(data.words(row)) for row in rows]
    counts = count_words(texts, pattern=r"[a-z]{3,}")
    kept = np.array([str(term) not in ENGLISH_STOP_WORDS and str(term) != "unk" for term in counts.terms])
    chosen = Counts(counts.matrix[:, kept], counts.terms.take(np.flatnonzero(kept)))
    return split_documents(chosen[np.diff(chosen.matrix.indptr) > 0], (0.8, 0.05, 0.15), random_state=0)


def records_of_pair(corpus: Corpus, parts: Parts, size: int) -> Iterator[Record]:
    """Train amortised and refined on the `size` most frequent terms, and judge both with both kinds of posteriors."""
    models: dict[str, CountVAE] = {}
    seconds: dict[str, float] = {}
    data: dict[str, Any] = {}

    def fit(kept: Parts, inference: str) -> CountVAE:
        began = time.perf_counter()
        models[inference] = CountVAE(**SETTINGS, epochs=corpus.epochs, inference=inference)
        models[inference].fit(kept.train, validation=kept.valid)
        seconds[inference] = time.perf_counter() - began
        data[inference] = kept
        return models[inference]

    gains = {gain.part: gain for gain in gains_by_vocabulary(fit, parts, [size])}
    test = data["refined"].test
    of_gain = gain_standard_error(models, test)
    for inference, model in models.items():
        yield Record(
            experiment=NAME,
            row=f"{corpus.name.replace('_', '-')}-{size}-{inference}",
            method=f"NFA 3, {inference} training",
            model="count-vae",
            seed=0,
            commit=commit()[0],
            dirty=commit()[1],
            date=datetime.now(UTC).isoformat(timespec="seconds"),
            machine=machine(),
            versions=versions(),
            data={"name": corpus.name, "options": corpus.options, "fingerprint": data[inference].fingerprint()},
            split={**data[inference].description, "max_documents": corpus.max_documents},
            settings={**SETTINGS, "epochs": corpus.epochs, "inference": inference},
            search=None,
            seconds=seconds[inference],
            peak_rss_bytes=peak_rss_bytes(),  # of all pairs so far: they share a process
            metrics={**metrics_of(model, test, inference, gains), "best_epoch": best_epoch(model)},
            standard_error={"gain": of_gain} if inference == "refined" else {},
            paper={},
            peer={},
            code=code_of(corpus, size),
        )


def metrics_of(model: CountVAE, test: Counts, inference: str, gains: dict[str, PerplexityGain]) -> dict[str, float]:
    found = {
        f"test_perplexity_{per}_{how}": model.perplexity(test, per, refine=how == "refined")
        for per in ("document", "token")
        for how in ("amortised", "refined")
    }
    found["train_perplexity_document_refined"] = getattr(gains["train"], inference)
    if inference == "refined":
        found |= {"gain": gains["test"].gain, "train_gain": gains["train"].gain}
    return found


def gain_standard_error(models: dict[str, CountVAE], test: Counts) -> float:
    """Return the standard error over test documents of log(P[ψ(x)] / P[ψ*]), which for small gains is the gain."""
    lengths = np.asarray(test.matrix.sum(axis=1))
    loss = {name: -refined_bounds(model, test)[lengths > 0] / lengths[lengths > 0] for name, model in models.items()}
    difference = loss["amortised"] - loss["refined"]
    return float(difference.std(ddof=1) / math.sqrt(len(difference)))


@torch.no_grad()
def refined_bounds(model: CountVAE, documents: Counts) -> np.ndarray:
    posterior = model.posterior(documents, refine=True)
    noise = torch.randn(posterior.mean.shape, generator=torch.Generator().manual_seed(0))  # the same for both models
    values: np.ndarray = bound(model.network_.decoder, posterior, model.batch(documents), noise).double().numpy()
    return values


def best_epoch(model: CountVAE) -> float:
    """Return the chosen epoch, counted from 1."""
    history: Any = model.history_
    return float(np.argmin([epoch["perplexity_document_refined"] for epoch in history["epochs"]]) + 1)


def path_of(row: str) -> Path:
    RESULTS.mkdir(parents=True, exist_ok=True)
    return RESULTS / f"{row}.0.json"


def code_of(corpus: Corpus, size: int) -> str:
    """Hash what decides the numbers: a pair is trained again when it changes."""
    corpus_said = {**vars(corpus), "sizes": [size]}
    said = {"corpus": corpus_said, "settings": SETTINGS, "source": code_hash("counts")}
    return hashlib.sha256(canonical_json(plain_json("pair", said)).encode()).hexdigest()


def is_done(corpus: Corpus, size: int) -> bool:
    paths = [path_of(f"{corpus.name.replace('_', '-')}-{size}-{inference}") for inference in TRAININGS]
    return all(path.is_file() and read_record(path).code == code_of(corpus, size) for path in paths)


def pairs(records: Sequence[Record]) -> list[tuple[Record, Record]]:
    """Return (amortised, refined) per corpus and number of terms."""
    ordered = sorted(records, key=lambda record: (record.data["name"], size_of(record), record.settings["inference"]))
    groups = [list(group) for _, group in groupby(ordered, lambda record: (record.data["name"], size_of(record)))]
    return [(group[0], group[1]) for group in groups if len(group) == len(TRAININGS)]


def size_of(record: Record) -> int:
    return int(record.split["num_terms"])


def curves(records: Sequence[Record]) -> dict[str, list[tuple[int, float]]]:
    found: dict[str, list[tuple[int, float]]] = {}
    for _, refined in pairs(records):
        for part, metric in (("test", "gain"), ("train", "train_gain")):
            points = found.setdefault(f"{refined.data['name']}, {part}", [])
            points.append((size_of(refined), refined.metrics[metric]))
    return found


def table(records: Sequence[Record]) -> str:
    """Return test perplexities per document of both trainings, each by ψ(x) and by ψ*, and the gain of figure 4."""
    lines = [
        "| corpus | terms | amortised: ψ(x) | ψ* | refined: ψ(x) | ψ* | gain, test | gain, train | seconds |",
        "| :-- | --: | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for pair in pairs(records):
        refined = pair[1]
        perplexities = [
            f"{record.metrics[f'test_perplexity_document_{how}']:.1f}" for record in pair for how in TRAININGS
        ]
        gain = f"{100 * refined.metrics['gain']:.2f} % ± {100 * refined.standard_error['gain']:.2f}"
        cells = [
            refined.data["name"],
            f"{size_of(refined):,}",
            *perplexities,
            gain,
            f"{100 * refined.metrics['train_gain']:.2f} %",
            " and ".join(f"{record.seconds:.0f}" for record in pair),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    commits = sorted({(record.commit or "unknown")[:10] + ("+" if record.dirty else "") for record in records})
    origin = f"commit {', '.join(commits)}; `python benchmarks/plot_vocabulary_gain.py`"
    return "\n".join([*lines, "", f"± standard error over test documents, one seed; seconds on one core; {origin}."])


if __name__ == "__main__":
    main()
