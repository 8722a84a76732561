"""From outcomes to rows and to the report."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gossamer.cli.reporting import comparison_rows, write_models_report
from gossamer.data.interactions import Interactions
from gossamer.runner.outcome import fit_and_judge
from gossamer.runner.provenance import Origin
from gossamer.runner.source import make_split
from gossamer.runner.specs import DataSpec, SplitSpec


def test_rows_and_page_of_fitted_models(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    users = np.repeat(np.arange(30), 6)
    items = np.concatenate([generator.permutation(12)[:6] for _ in range(30)])
    data = Interactions.from_pairs(users, items)
    spec = SplitSpec("users", {"num_valid": 4, "num_test": 5}, seed=0)
    split = make_split(data, spec)
    outcomes = [fit_and_judge(model, split) for model in ("popularity", "item-knn")]
    rows = comparison_rows(outcomes)
    assert [row["model"] for row in rows] == ["popularity", "item-knn"]
    assert rows[0]["values"] == split.train.num_items
    path = tmp_path / "page.html"
    origin = Origin("popularity, item-knn", DataSpec("memory"), spec, data.fingerprint())
    write_models_report(path, title="T & T", data=data, split=split, outcomes=outcomes, origin=origin, users=["3"])
    page = path.read_text(encoding="utf-8")
    assert "T &amp; T" in page
    assert data.fingerprint()[:12] in page
