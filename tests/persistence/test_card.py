"""The card says what a person needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_card_shows_class_data_metrics_size_and_loading(probe: Any, tmp_path: Path) -> None:
    probe.save(tmp_path / "model", provenance={"data": "a|b", "split": {"seed": 1}}, metrics={"ndcg@100": 0.4171})
    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    for line in (
        "# Probe",
        "Remembers one matrix of every kind.",
        "from gossamer.models._probe import Probe",
        'model = Probe.load("model")',
        r"| data | a\|b |",
        '| split | {"seed": 1} |',
        "| ndcg@100 | 0.4171 |",
        "| rate | 0.5 |",
        "28 values in 115 bytes.",
        "| weights | float32 3×4 | 48 |",
        "| ids of items | 4 ids |  |",
    ):
        assert line in card.splitlines()


def test_card_says_what_was_not_recorded(probe: Any, tmp_path: Path) -> None:
    probe.save(tmp_path / "model")
    card = (tmp_path / "model" / "card.md").read_text(encoding="utf-8")
    assert card.count("Not recorded.") == 2
