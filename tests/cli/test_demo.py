"""`gossamer demo`: from nothing to a table, a report and saved models, on data that every Python has."""

from __future__ import annotations

import inspect
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import Gossamer

from gossamer import load
from gossamer.runner import demonstration
from gossamer.runner.estimators import find_class


def shortened(chapter: demonstration.Chapter) -> demonstration.Chapter:
    """Return a chapter whose models are those of the demo after one epoch: how good they are is not asked here."""
    models = {
        model: {**settings, "epochs": 1} if "epochs" in inspect.signature(find_class(model)).parameters else settings
        for model, settings in chapter.models.items()
    }
    return replace(chapter, models=models)


def test_the_demo_compares_compresses_recommends_saves_and_reports(
    gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demonstration, "CHAPTERS", tuple(map(shortened, demonstration.CHAPTERS)))
    done = gossamer("demo", "--out", "shown", "--no-serve")
    assert done.code == 0, done.err
    for expected in ("popularity", "ease", "count-recommender", "anchor-recommender", "count-vae", "json.decoder"):
        assert expected in done.out
    for expected in ("zipfile", "ndcg@100", "ms per query", "sparse-discrete-vae-half"):
        assert expected in done.out
    assert "report: shown/report.html; models: shown/models" in done.out
    page = Path("shown/report.html").read_text(encoding="utf-8")
    assert "standard library" in page
    assert "zipfile" in page
    assert "sparse-discrete-vae-half" in page
    whole, half = (load(f"shown/models/sparse-discrete-vae{end}") for end in ("", "-half"))
    sizes = [sum(array.size for array in model.learned_arrays().values()) for model in (whole, half)]
    assert sizes[1] < 0.52 * sizes[0]
