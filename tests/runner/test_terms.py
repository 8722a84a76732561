"""Documents that a model has not seen come over the terms that it knows."""

from __future__ import annotations

import logging

import pytest
from scipy import sparse

from gossamer.data import Counts, Vocabulary
from gossamer.runner.terms import over_terms, terms_of

TERMS = Vocabulary(["ham", "eggs", "tea"])
OTHERS = Counts(sparse.csr_array([[2, 1, 1], [0, 0, 3]]), Vocabulary(["eggs", "spam", "ham"]))


def test_terms_are_matched_by_name_and_unknown_ones_left_out_aloud(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        found = over_terms(OTHERS, TERMS, "mail.csv")
    assert found.terms == TERMS
    assert found.matrix.toarray().tolist() == [[1, 2, 0], [3, 0, 0]]
    assert "mail.csv has 1 of 3 terms, 14.3 % of all it counts, that the model does not know" in caplog.text
    with pytest.raises(ValueError, match=r"mail\.csv must have some of the 1 terms that the model knows, got none"):
        over_terms(OTHERS, Vocabulary(["jam"]), "mail.csv")


def test_what_fits_is_left_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    assert over_terms(OTHERS, OTHERS.terms, "mail.csv") is OTHERS
    assert over_terms(OTHERS, None, "mail.csv") is OTHERS
    assert over_terms("anything", TERMS, "mail.csv") == "anything"
    assert over_terms(OTHERS[:0], TERMS, "mail.csv").terms == TERMS
    known = over_terms(Counts(OTHERS.matrix[:, [0, 2]], Vocabulary(["eggs", "ham"])), TERMS, "mail.csv")
    assert known.matrix.toarray().tolist() == [[1, 2, 0], [3, 0, 0]]
    assert not caplog.records


def test_columns_without_names_are_matched_by_place() -> None:
    numbered = Counts(OTHERS.matrix, Vocabulary.numbered(3))
    assert over_terms(numbered, TERMS, "a.npz").matrix.toarray().tolist() == OTHERS.matrix.toarray().tolist()
    fewer = Counts(OTHERS.matrix[:, :2], Vocabulary.numbered(2))
    assert over_terms(fewer, TERMS, "a.svmlight").matrix.toarray().tolist() == [[2, 1, 0], [0, 0, 0]]
    for name, data in (("a.npz", fewer), ("a.mtx", Counts(sparse.csr_array([[1] * 4]), Vocabulary.numbered(4)))):
        columns = len(data.terms)
        with pytest.raises(ValueError, match=f"{name} must have the 3 columns of the training data, got {columns}"):
            over_terms(data, TERMS, name)


def test_only_models_of_counts_have_terms() -> None:
    class Model:
        terms_ = TERMS

    assert terms_of(Model()) is TERMS
    assert terms_of(object()) is None
