"""What a model is, as its artifact says."""

from __future__ import annotations

import json
import shutil
from dataclasses import asdict

import pytest

from gossamer.metrics.size import count_bytes, count_values
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.explorer.overview import as_text, overview, summarise
from gossamer.serving.loading import load_model


@pytest.mark.parametrize(
    "name", ["als", "ease", "anchors", "communities", "topics", "codes", "phases", "index", "network"]
)
def test_every_model_has_an_overview_that_is_json(known, name):
    found = overview(known[name])
    json.dumps(asdict(found), allow_nan=False)
    stored = known[name].estimator.learned_arrays()
    assert (found.values, found.bytes) == (count_values(stored), count_bytes(stored))
    assert found.card.startswith(f"# {found.class_name}")
    assert found.settings == as_text(known[name].config["arguments"])


def test_metrics_data_and_training(known):
    found = overview(known["als"])
    assert found.metrics == {"recall@20": 0.6, "test_mse": 0.9}
    assert found.data == {"model": "ease", "data name": "planted", "split kind": "none"}
    assert found.vocabularies == {"items": 20}
    assert found.maps == ["items"]
    assert not found.has_groups
    (loss,) = [curve for curve in found.curves if curve.name == "loss"]
    assert len(loss.values) == 5
    assert "directions in which items differ" in found.tables
    assert overview(known["ease"]).curves == []


def test_a_model_that_was_moved_has_no_card(folder, tmp_path):
    shutil.copytree(folder / "als", tmp_path / "moved")
    knowledge = Knowledge(load_model(tmp_path / "moved"))
    shutil.rmtree(tmp_path / "moved")
    assert overview(knowledge).card == ""


def test_a_summary_is_one_sentence(known):
    found = summarise(known["als"])
    assert (found.name, found.class_name) == ("als", "ALS")
    assert "\n" not in found.summary
