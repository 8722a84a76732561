from __future__ import annotations

import numpy as np
import pytest
from answers_alike import assert_alike

from gossamer.data.text import build_sentences
from gossamer.serving.encoding import encode_all, look_at
from gossamer.serving.errors import CannotAnswer
from gossamer.serving.service import Service
from gossamer.testing.right_answers import two_patterns, two_themes, two_topics


def dense(code, names):
    found = {feature["name"]: feature["value"] for feature in code}
    return [found.get(name, 0.0) for name in names]


def test_documents_have_the_codes_that_transform_gives(service):
    estimator = service.models["topics"].estimator
    data = two_themes().test
    documents = [
        {str(data.terms[int(term)]): float(count) for term, count in zip(row.indices, row.data, strict=True)}
        for row in (data.matrix[[place]] for place in range(3))
    ]
    codes = service.encode("topics", documents=documents)["codes"]
    names = list(estimator.get_feature_names_out())
    np.testing.assert_allclose(
        [dense(code, names) for code in codes], estimator.transform(data[:3]), rtol=1e-4, atol=1e-5
    )


def test_texts_and_histories_are_documents_too(service):
    counted = service.encode("topics", documents=[{"and": 1, "a": 1}])
    assert service.encode("topics", texts=["AND and-A?!"])["codes"] != counted["codes"]
    assert service.encode("topics", texts=["and, zzz!"]) == service.encode("topics", documents=[{"and": 1}])
    listed = service.encode("topics", histories=[["a1", "a2", "zz"]])
    assert listed == service.encode("topics", documents=[{"a1": 1, "a2": 1}])


def test_words_are_cut_as_those_of_the_training_data(shelf, tmp_path):
    from gossamer.models.counts import CountVAE

    model = CountVAE(latent_dim=2, decoder_dims=[], encoder_dims=[4], epochs=1).fit(two_themes().train)
    data = {"name": "mail.csv", "options": {"form": "counts", "pattern": "[a-z0-9]+"}}
    split = {"kind": "none"}
    model.save(
        tmp_path / "mail",
        provenance={"model": "count-vae", "data": data, "split": split, "fingerprint": None},
    )
    service = Service([tmp_path / "mail"])
    assert service.encode(texts=["a1 a2 a1"]) == service.encode(documents=[{"a1": 2, "a2": 1}])


def test_sentences_have_the_codes_that_transform_gives(service):
    estimator = service.models["sentences"].estimator
    codes = service.encode("sentences", texts=["a1 and a2", "a1 unheard a2"])["codes"]
    assert len(codes) == 2
    data = build_sentences(["a1 and a2", "a1 <unk> a2"], vocabulary=two_topics().train.vocabulary)
    expected = estimator.transform(data).toarray()
    np.testing.assert_allclose(
        [dense(code, list(map(str, range(4)))) for code in codes], expected, rtol=1e-4, atol=1e-5
    )


def test_rows_have_at_most_as_many_features_as_the_model_allows(service):
    rows = two_patterns().test.inputs[:4]
    codes = service.encode("patterns", rows=rows.tolist())["codes"]
    expected = service.models["patterns"].estimator.transform(rows)
    assert [len(code) for code in codes] == np.diff(expected.indptr).tolist()
    assert max(map(len, codes)) <= 2
    assert codes[0][0]["name"].startswith("sparsediscretevae")


@pytest.mark.parametrize("most_rows", [1, 4, 256])
@pytest.mark.parametrize("model", ["topics", "sentences", "patterns"])
def test_many_together_have_the_codes_they_have_alone(service, monkeypatch, model, most_rows):
    monkeypatch.setattr("gossamer.serving.encoding.MOST_ROWS", most_rows)
    if model == "patterns":
        asked = [{"rows": two_patterns().test.inputs[first : first + 2].tolist()} for first in range(4)]
    else:
        asked = [{"texts": texts} for texts in (["a1 a2"], ["", "b1 and b2 and b1 b2 b3"], ["zzz"], ["a1"] * 5)]
    if model == "topics":
        asked[1:1] = [{"documents": [{"a1": 2}, {}]}, {"histories": [["a1", "zz"]]}, {"documents": [{"b1": 1}]}]
    together = encode_all(service.models[model], [look_at(**one) for one in asked])
    for one, answer in zip(asked, together, strict=True):
        assert_alike(answer, service.encode(model, **one), absolute=1e-5)


@pytest.mark.parametrize(
    ("model", "asked", "error", "message"),
    [
        ("ease", {"texts": ["a"]}, CannotAnswer, "the model must encode"),
        ("patterns", {"texts": ["a"]}, CannotAnswer, "texts must be left out for 'patterns'"),
        ("patterns", {"documents": [{"a": 1}]}, CannotAnswer, "documents must be left out for 'patterns'"),
        ("sentences", {"rows": [[1.0]]}, CannotAnswer, "rows must be left out for 'sentences'"),
        ("patterns", {"rows": [[1.0]]}, ValueError, "rows must have 8 numbers each, as the training data have, got 1"),
        ("patterns", {"rows": [[0.5] * 7 + [7.0]]}, ValueError, "values in"),
        ("topics", {"documents": [{"and": 0.5}]}, ValueError, "whole numbers"),
        ("topics", {}, ValueError, "one of documents, texts, histories, rows must be given"),
        ("topics", {"texts": []}, ValueError, "one of documents, texts, histories, rows must be given"),
        ("topics", {"texts": ["a"], "rows": [[1]]}, ValueError, "one of documents, texts, histories, rows must be"),
    ],
)
def test_what_cannot_be_encoded_is_refused(service, model, asked, error, message):
    with pytest.raises(error, match=message):
        service.encode(model, **asked)


@pytest.mark.parametrize("text", ["", "   ", "ünïcödé \U0001f600", "zzz " * 2000])
@pytest.mark.parametrize("model", ["topics", "sentences"])
def test_texts_without_a_known_word_have_a_code(service, model, text):
    (code,) = service.encode(model, texts=[text])["codes"]
    assert all(np.isfinite(feature["value"]) for feature in code)
