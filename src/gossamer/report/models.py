"""The report on models: data, comparison, training, size, what was learned, examples, provenance."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gossamer.data import Interactions, Parts, Split
from gossamer.report.blocks import Block, Cell, Facts, Figure, Fold, Hit, Section, Table, Text
from gossamer.report.codes import codes_section
from gossamer.report.communities import communities_section
from gossamer.report.comparison import Scores, comparison_section
from gossamer.report.compression import compression_section
from gossamer.report.data_summary import Data, data_section
from gossamer.report.figures import training_curves
from gossamer.report.latent import latent_section
from gossamer.report.numbers import format_bytes, format_seconds
from gossamer.report.page import Report
from gossamer.report.phases import phases_section
from gossamer.report.tables import explanation_blocks
from gossamer.runner.measure import name_rows


@dataclass(frozen=True)
class ModelResult:
    """What is known of one fitted model; everything but its scores may be missing.

    `scores` are the per-user scores of the evaluation, or means by metric, or (mean, low, high) by metric.
    `num_values` and `num_bytes` count what must be stored, `history` has one dict per epoch, and `explanation` is
    what the model's `explain()` returned; `size` and `entries` are those of `compression_section`, `diagnosis` that of
    `latent_section`, `codes` that of `codes_section`, `phases` that of `phases_section`, `communities` that of
    `communities_section`.
    """

    scores: Scores = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    seconds: float | None = None
    num_values: int | None = None
    num_bytes: int | None = None
    history: Sequence[Mapping[str, Any]] = ()
    explanation: Mapping[str, Any] = field(default_factory=dict)
    size: Mapping[str, float] = field(default_factory=dict)
    entries: Mapping[str, np.ndarray] = field(default_factory=dict)
    diagnosis: Mapping[str, Any] = field(default_factory=dict)
    codes: Mapping[str, Any] = field(default_factory=dict)
    phases: Mapping[str, Any] = field(default_factory=dict)
    communities: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Example:
    """One user's history and what each model recommends, best first; what is in `held_out` is a hit."""

    user: str
    history: Sequence[str]
    recommended: Mapping[str, Sequence[str]]
    held_out: Collection[str] = ()


def models_report(
    *,
    title: str,
    data: Data | Parts | None,
    split: Split | Parts | None,
    models: Mapping[str, ModelResult],
    examples: Sequence[Example] = (),
    provenance: Mapping[str, Any] | None = None,
    subtitle: str = "",
) -> Report:
    """Put together the report on one model or several; sections without content are left out.

    `models` is in the order to show. `provenance` names what is needed to run it again: commit, versions, seed,
    date. Nothing is read from the clock or the machine, so that equal arguments give equal pages.
    """
    sections = [
        comparison_section({name: result.scores for name, result in models.items()}, split),
        None if data is None else data_section(data.train if isinstance(data, Parts) else data),
        _training_section(models),
        compression_section(
            {name: result.size for name, result in models.items()},
            {name: result.entries for name, result in models.items()},
        ),
        _size_section(models),
        _examples_section(examples),
        latent_section({name: result.diagnosis for name, result in models.items()}),
        phases_section({name: result.phases for name, result in models.items()}),
        communities_section({name: result.communities for name, result in models.items()}),
        codes_section({name: result.codes for name, result in models.items()}),
        _learned_section(models),
        _provenance_section(models, split, provenance or {}),
    ]
    described = subtitle or _describe(data, models)
    return Report(title, described, [section for section in sections if section is not None])


def _describe(data: Data | Parts | None, models: Mapping[str, ModelResult]) -> str:
    names = list(models)
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    if data is None:
        return ""
    on = f"{len(data):,} {name_rows(data.train if isinstance(data, Parts) else data)}"
    if isinstance(data, Interactions):
        on = f"{data.num_users:,} users, {data.num_items:,} items and {data.nnz:,} interactions"
    return f"{listed} on {on}." if names else f"{on}."


def _training_section(models: Mapping[str, ModelResult]) -> Section | None:
    blocks: list[Block] = [
        Figure(drawings, f"{name}, {len(result.history)} epochs.")
        for name, result in models.items()
        if (drawings := training_curves(result.history))
    ]
    return Section("How it was trained", blocks, "Values after each epoch.") if blocks else None


def _size_section(models: Mapping[str, ModelResult]) -> Section | None:
    rows: list[dict[str, Cell]] = []
    for name, result in models.items():
        costs = {"values": result.num_values, "size": result.num_bytes, "time to fit": result.seconds}
        if any(cost is not None for cost in costs.values()):
            rows.append({"model": name, **costs})
    if not rows:
        return None
    table = Table(
        rows,
        "Numbers stored, bytes with their indices, and time",
        best={"values": "min", "size": "min", "time to fit": "min"},
        formats={"size": format_bytes, "time to fit": format_seconds},
    )
    return Section("What it costs", [table], "Sizes count all that must be stored: values, indices and biases.")


def _examples_section(examples: Sequence[Example]) -> Section | None:
    if not examples:
        return None
    blocks: list[Block] = []
    for example in examples:
        length = max((len(items) for items in example.recommended.values()), default=0)
        rows: list[dict[str, Cell]] = [
            {"rank": str(rank + 1)}
            | {model: _recommended(items, rank, example.held_out) for model, items in example.recommended.items()}
            for rank in range(length)
        ]
        inner: list[Block] = [Facts({"has": list(example.history)}), Table(rows, f"Recommended to {example.user}")]
        blocks.append(Fold(example.user, inner, is_open=True))
    has_hits = any(example.held_out for example in examples)
    lead = "What the models suggest to some users, from what they have."
    return Section("Examples", blocks, lead + (" A tick marks what was held out and found." if has_hits else ""))


def _recommended(items: Sequence[str], rank: int, held_out: Collection[str]) -> Cell:
    if rank >= len(items):
        return None
    return Hit(str(items[rank])) if items[rank] in held_out else str(items[rank])


def _learned_section(models: Mapping[str, ModelResult]) -> Section | None:
    blocks: list[Block] = []
    for name, result in models.items():
        if len(models) == 1:
            blocks += explanation_blocks(result.explanation, is_open=True)
        elif result.explanation:
            blocks.append(Fold(name, explanation_blocks(result.explanation, is_open=True)))
    return Section("What it learned", blocks) if blocks else None


def _provenance_section(
    models: Mapping[str, ModelResult], split: Split | Parts | None, provenance: Mapping[str, Any]
) -> Section | None:
    blocks: list[Block] = [Facts(provenance)] if provenance else []
    if split is not None:
        facts = {name.replace("_", " "): value for name, value in split.description.items()}
        blocks.append(Fold("Split", [Facts(facts)]))
    blocks += [
        Fold(f"Settings of {name}", [Facts(result.settings)]) for name, result in models.items() if result.settings
    ]
    if not blocks:
        return None
    if not provenance:
        blocks.insert(0, Text("No provenance was recorded."))
    return Section("Where it comes from", blocks, "What is needed to run it again.")
