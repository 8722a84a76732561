from __future__ import annotations

import pytest
from pydantic import ValidationError

from gossamer.serving.messages import EncodeRequest, NextRequest, RecommendRequest, SimilarRequest


def test_ids_stay_what_they_are():
    assert RecommendRequest(history=["1", 1]).history == ["1", 1]
    assert RecommendRequest(history={"1": 2}).history == {"1": 2.0}
    assert NextRequest(sequence=[1, None, "a"]).sequence == [1, None, "a"]
    assert NextRequest(sequence=[[1, None]]).sequence == [[1.0, None]]


@pytest.mark.parametrize(
    "body",
    [
        {"n": 0},
        {"n": 1001},
        {"n": 2.5},
        {"user": True},
        {"user": 1.5},
        {"user": 2**63},
        {"user": "x" * 513},
        {"history": ["a"] * 10_001},
        {"history": {"a": float("nan")}},
        {"history": {"a": 1e31}},
        {"history": [["a"]]},
        {"history": ["\ud800"]},
        {"surprise": 1},
        {"model": 3},
    ],
)
def test_bad_requests_are_refused(body):
    with pytest.raises(ValidationError):
        RecommendRequest(**body)


@pytest.mark.parametrize(
    "body",
    [
        {"texts": []},
        {"texts": ["a"] * 257},
        {"documents": [{"a": -1}]},
        {"rows": [[float("inf")]]},
        {"histories": [[1.5]]},
    ],
)
def test_bad_documents_are_refused(body):
    with pytest.raises(ValidationError):
        EncodeRequest(**body)


def test_an_item_must_be_named():
    with pytest.raises(ValidationError):
        SimilarRequest()
    with pytest.raises(ValidationError):
        NextRequest(sequence=[])


@pytest.mark.parametrize("step", ["open", None, [0.0, 1.0], [["?"]]])
def test_a_series_that_is_too_long_is_refused_in_one_sentence(step):
    with pytest.raises(ValidationError, match="1 validation error") as refused:
        NextRequest(sequence=[step] * 10_001)
    assert "a series may have at most 10000 steps, got 10001; send the last ones" in str(refused.value)
    assert NextRequest.model_json_schema()["properties"]["sequence"]["anyOf"][0]["maxItems"] == 10_000
