"""What a fitted model tells the report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from gossamer.cli.reporting import write_models_report
from gossamer.cli.results import result_of
from gossamer.data import Counts, HeldOut, Interactions, Parts, Split, Vocabulary
from gossamer.runner.outcome import Outcome, fit_and_judge
from gossamer.runner.provenance import Origin
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.testing.planted import planted_topics


class Diagnosed:
    """A model that can do nothing but say what it was shown."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return {"latent_dim": 3}

    def learned_arrays(self) -> dict[str, np.ndarray]:
        return {"weight": np.zeros((2, 3), dtype=np.float32)}

    def diagnose(self, data: Any, training: Any = None) -> dict[str, Any]:
        return {"data": data, "training": training}


def documents(count: int) -> Counts:
    return Counts(csr_array(np.ones((count, 2))), Vocabulary(["ham", "eggs"]))


def test_models_without_a_diagnosis_have_none() -> None:
    data = Interactions.from_pairs([0, 0, 1, 1, 2], [0, 1, 0, 1, 0])
    split = Split(data, None, HeldOut(data[:1], data[:1]), {})
    result = result_of(fit_and_judge("popularity", split, metrics=["recall@20"]), split)
    assert result.diagnosis == {}
    assert result.settings == {"weighted": False}
    assert result.num_values == 2
    assert result.explanation


def test_a_diagnosis_is_of_the_held_out_documents() -> None:
    parts = Parts(documents(5), None, documents(2))
    result = result_of(Outcome("stub", Diagnosed(), None, None), parts)
    assert result.diagnosis == {"data": parts.test, "training": parts.train}
    assert (result.num_values, result.num_bytes, result.seconds) == (6, 24, None)


def test_a_diagnosis_is_of_what_there_is() -> None:
    outcome = Outcome("stub", Diagnosed(), None, None)
    nothing_held_out, nothing_seen = Parts(documents(5), None, documents(0)), Parts(documents(0), None, documents(3))
    assert result_of(outcome, nothing_held_out).diagnosis["data"] is nothing_held_out.train
    assert result_of(outcome, nothing_seen).diagnosis == {"data": nothing_seen.test, "training": None}


def test_of_held_out_users_the_history_is_looked_at() -> None:
    data = Interactions.from_pairs([0, 0, 1], [0, 1, 0])
    split = Split(data, None, HeldOut(data[:1], data[:1]), {})
    found = result_of(Outcome("stub", Diagnosed(), None, None), split).diagnosis
    assert found == {"data": split.test.history, "training": data}


def test_the_page_of_a_count_model_shows_its_latent_space(tmp_path: Path) -> None:
    data = planted_topics(num_documents=60, num_terms=30).data
    parts = Parts(data[:45], None, data[45:], {"kind": "rows"})
    settings = {"latent_dim": 3, "encoder_dims": [8], "epochs": 1, "batch_size": 20}
    outcome = fit_and_judge("count-vae", parts, settings=settings)
    origin = Origin("count-vae", DataSpec("memory"), SplitSpec("rows", {}, seed=0), data.fingerprint())
    path = tmp_path / "page.html"
    write_models_report(path, title="T", data=data, split=parts, outcomes=[outcome], origin=origin)
    page = path.read_text(encoding="utf-8")
    for expected in (
        "How it uses its latent space",
        "directions in use",
        "Singular values of the Jacobian",
        "KL by number of rare terms",
        "The strongest directions, and documents far out on them",
        "What it learned",
    ):
        assert expected in page
