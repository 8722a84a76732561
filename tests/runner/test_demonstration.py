"""The chapters of the demo, run small: what is fitted, halved, timed and saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.core.protocols import Recommender
from gossamer.persistence import read_artifact
from gossamer.runner.demonstration import CHAPTERS, Chapter, milliseconds_per_query, save_models, summary, tell
from gossamer.runner.provenance import read_origin
from gossamer.runner.tasks import task_of


@pytest.fixture(scope="module")
def told():
    small = {"num_features": 8, "max_active": 2, "encoder_dims": [8], "decoder_dims": [], "epochs": 1}
    codes = {"observation": "counts", **small}
    return [
        tell(Chapter("names", "stdlib-usage", {"popularity": {}}, "ndcg@100"), 0),
        tell(Chapter("counts", "stdlib-usage", {"biased-mf": {"epochs": 1}}, "mae"), 0),
        tell(Chapter("codes", "stdlib-docs", {"sparse-discrete-vae": codes}, "hard", halved="sparse-discrete-vae"), 0),
    ]


def test_one_row_per_model_with_quality_bytes_and_time(told) -> None:
    rows = summary(told)
    assert [row["model"] for row in rows] == [
        "popularity",
        "biased-mf",
        "sparse-discrete-vae",
        "sparse-discrete-vae-half",
    ]
    assert all(row["quality"] > 0 and row["bytes"] > 0 and row["ms per query"] > 0 for row in rows)
    assert rows[3]["bytes"] < rows[2]["bytes"]


def test_models_that_answer_no_single_rows_have_no_time(told) -> None:
    assert milliseconds_per_query(object(), told[2].split) is None
    assert not isinstance(told[1].outcomes[0].estimator, Recommender), "a rating is asked for, not a list"


def test_saved_models_remember_what_they_are(told, tmp_path: Path) -> None:
    saved = save_models(told, tmp_path)
    assert [path.name for path in saved][-1] == "sparse-discrete-vae-half"
    for path in saved:
        artifact = read_artifact(path)
        assert read_origin(artifact.config).model == path.name.removesuffix("-half")


def test_chapters_are_of_one_task_each_and_name_models_of_the_catalogue() -> None:
    from gossamer.runner.estimators import find_class, make_estimator

    for chapter in CHAPTERS:
        assert len({task_of(find_class(model)) for model in chapter.models}) == 1
        for model, settings in chapter.models.items():
            make_estimator(model, settings, seed=0)
        assert chapter.halved is None or chapter.halved in chapter.models


def test_the_demo_fits_every_linear_model() -> None:
    from gossamer.models.linear import ESTIMATORS

    assert set(ESTIMATORS) <= {model for chapter in CHAPTERS for model in chapter.models}
