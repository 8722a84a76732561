"""What a model is for decides how data are read, divided and judged."""

from __future__ import annotations

from pathlib import Path

import pytest
from document_samples import WordVotes

from gossamer.data import Interactions, Parts, Sentences
from gossamer.models import catalogue
from gossamer.runner.estimators import find_class, make_estimator
from gossamer.runner.source import open_data
from gossamer.runner.specs import DataSpec, SplitSpec
from gossamer.runner.tasks import (
    CONTAINERS,
    check_container,
    container_of,
    data_for,
    default_metrics,
    default_split,
    task_of,
)


@pytest.mark.parametrize("model", catalogue.available())
def test_every_model_says_what_it_is_fitted_on(model: str) -> None:
    assert container_of(find_class(model)) in CONTAINERS


def test_the_annotation_of_fit_says_what_a_model_is_fitted_on() -> None:
    class Either:
        def fit(self, data: Sentences | Interactions) -> None: ...

    class Neither:
        def fit(self, data: object) -> None: ...

    Either.fit.__annotations__["data"] = Sentences | Interactions
    Neither.fit.__annotations__["data"] = object
    assert container_of(Either()) is Sentences
    with pytest.raises(TypeError, match=r"Neither\.fit must be annotated with one of the containers, got .*object"):
        container_of(Neither)


def test_data_of_another_kind_are_refused() -> None:
    usage, docs = (open_data(DataSpec(name, options)) for name, options in (("stdlib-usage", {}), ("stdlib-docs", {})))
    check_container("ease", usage, "stdlib-usage")
    check_container("count-vae", docs, "stdlib-docs")
    check_container("count-vae", Parts(docs[:5], None, docs[5:]), "stdlib-docs")
    with pytest.raises(ValueError, match="data must be Counts for count-vae, got Interactions from 'stdlib-usage'"):
        check_container("count-vae", usage, "stdlib-usage")
    with pytest.raises(ValueError, match="data must be Interactions for ease, got Counts from 'stdlib-docs'"):
        check_container("ease", Parts(docs[:5], None, docs[5:]), "stdlib-docs")


def test_models_are_known_by_what_they_do() -> None:
    assert task_of(find_class("biased-mf")) == "predict ratings"
    assert task_of(make_estimator("ease", {}, seed=0)) == "recommend items"
    assert task_of(WordVotes) == "read sentences"
    assert default_metrics(find_class("ease")) == ("recall@20", "recall@50", "ndcg@100")
    assert default_metrics(find_class("biased-mf")) is default_metrics(WordVotes) is None


def test_models_of_one_kind_share_a_split(word_votes: str) -> None:
    assert default_split(["ease", "als"], 3) == SplitSpec("users", seed=3)
    assert default_split(["biased-mf"], 0) == SplitSpec("random", seed=0)
    with pytest.raises(
        ValueError, match="must all be for the same, got ease to recommend items, biased-mf to predict ratings"
    ):
        default_split(["ease", "biased-mf"], 0)
    with pytest.raises(ValueError, match="got ease to recommend items, word-votes to read sentences"):
        default_split(["ease", word_votes], 0)


def test_documents_are_split_as_they_were_published_or_by_rows(word_votes: str) -> None:
    assert default_split([word_votes], 2, "ag_news") == SplitSpec("given", seed=2)
    assert default_split([word_votes], 0, "stdlib-docs") == SplitSpec("rows", seed=0)
    assert default_split([word_votes], 0, "mail.csv") == SplitSpec("rows", seed=0)
    assert default_split(["ease"], 0, "gowalla") == SplitSpec("users", seed=0)


def test_data_come_in_the_form_the_model_takes(word_votes: str, documents_file: Path) -> None:
    assert data_for([word_votes], DataSpec("stdlib-docs")).options == {"form": "sentences"}
    assert data_for([word_votes], DataSpec("stdlib-docs", {"form": "counts"})).options == {"form": "counts"}
    assert data_for([word_votes], DataSpec("ptb")).options == {}
    assert data_for([word_votes], DataSpec(str(documents_file), {"min_count": 2})).options == {
        "form": "sentences",
        "min_count": 2,
    }
    assert data_for(["count-vae"], DataSpec(str(documents_file), {"max_terms": 9})).options == {
        "form": "counts",
        "max_terms": 9,
    }
    assert data_for(["ease"], DataSpec(str(documents_file))).options == {}
    assert data_for(["ease"], DataSpec("stdlib-usage")).options == {}


def test_a_model_of_arrays_reads_a_file_as_arrays(monkeypatch: pytest.MonkeyPatch, documents_file: Path) -> None:
    from gossamer.data import LabelledArrays

    class OfArrays:
        def fit(self, data: LabelledArrays) -> None: ...

    OfArrays.fit.__annotations__["data"] = LabelledArrays
    monkeypatch.setattr(catalogue, "available", lambda: {"of-arrays": OfArrays})
    assert data_for(["of-arrays"], DataSpec(str(documents_file))).options == {"form": "arrays"}
