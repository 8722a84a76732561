"""Models side by side: what is fitted stays as it is, what is not is fitted."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.models.linear import EASE, Popularity
from gossamer.runner.comparing import compare
from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec


def test_models_are_compared_and_shown(blocks_file: Path) -> None:
    split = make_split(open_data(DataSpec(str(blocks_file))), SplitSpec("users", {"num_valid": 6, "num_test": 6}))
    popular, ease = Popularity().fit(split.train), EASE(regularization=1.0)
    comparison = compare({"<b>": popular, "ease": ease}, split, ["ndcg@5"])
    first, second = comparison.table()
    assert list(first) == ["model", "ndcg@5", "values", "seconds"]
    assert first["seconds"] is None
    assert second["seconds"] > 0
    assert second["ndcg@5"] > first["ndcg@5"]
    assert ease.items_ == split.train.items  # fitted in place
    assert repr(comparison) == "Comparison(<b>, ease on 6 held-out users)"
    assert "<td" in comparison._repr_html_()
    assert "<b>" not in comparison._repr_html_()


def test_something_must_be_held_out(blocks_file: Path) -> None:
    whole = make_split(open_data(DataSpec(str(blocks_file))), SplitSpec("none"))
    with pytest.raises(ValueError, match="split must hold something out to compare on, got 'none'"):
        compare({"popular": Popularity()}, whole)
