from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from gossamer.serving.app import create_app
from gossamer.serving.settings import Settings

JSON = {"content-type": "application/json"}


def test_answers_are_the_service_s(client, service):
    asked = {
        "recommend": {"model": "ease", "history": ["a0", "a1"], "n": 3},
        "encode": {"model": "topics", "texts": ["and"]},
        "similar": {"model": "als", "item": "a0"},
        "explain": {"model": "ease", "n": 2},
        "next": {"model": "events", "sequence": ["open", None]},
    }
    for question, body in asked.items():
        response = client.post(f"/{question}", json=body)
        assert response.status_code == 200, response.text
        assert response.json() == json.loads(json.dumps(getattr(service, question)(**body)))


def test_answers_are_as_the_schema_says(client):
    from gossamer.serving import messages

    asked = {
        "recommend": {"model": "ease", "history": ["a0", "zz"]},
        "encode": {"model": "topics", "documents": [{"a1": 2}]},
        "similar": {"model": "als", "item": "a0"},
        "explain": {"model": "phases"},
        "next": {"model": "phases", "sequence": [[0, 1]]},
    }
    for question, body in asked.items():
        kind = getattr(messages, f"{question.capitalize()}Response")
        kind.model_validate_json(client.post(f"/{question}", json=body).content)
    for description in client.get("/models").json():
        messages.ModelDescription.model_validate(description)


@pytest.mark.parametrize(
    ("path", "body", "status", "sentence"),
    [
        ("/recommend", {"model": "zz"}, 404, "model must be one of als"),
        ("/recommend", {}, 400, "model must be given, one of als"),
        ("/recommend", {"model": "biased"}, 400, "the model must recommend"),
        ("/recommend", {"model": "ease", "n": 0}, 422, "n is not as it must be: Input should be greater than or equal"),
        ("/recommend", {"model": "ease", "N": 3}, 422, "N is not as it must be: Extra inputs are not permitted"),
        (
            "/recommend",
            {"model": "ease", "user": True},
            422,
            "user is not as it must be: Input should be a valid string",
        ),
        ("/recommend", [], 422, "the body is not as it must be: Input should be a valid dict"),
        (  # a history may be a list, too, but this one was not meant to be
            "/recommend",
            {"model": "ease", "history": {"tea": 1e31}},
            422,
            "history.tea is not as it must be: Input should be less than or equal to 1000",
        ),
        ("/similar", {"model": "ease", "item": "zz"}, 404, "item must be one of the 12 that 'ease' knows"),
        ("/similar", {"model": "ease"}, 422, "item is not as it must be: Field required"),
        ("/encode", {"model": "topics"}, 400, "one of documents, texts, histories, rows must be given"),
        ("/next", {"model": "phases", "sequence": [[1], [1, 2]]}, 400, "vectors of one length"),
        (
            "/next",
            {"model": "phases", "sequence": [[1, 2]] * 10_001},
            422,
            "sequence is not as it must be: a series may have at most 10000 steps, got 10001; send the last ones",
        ),
    ],
)
def test_errors_are_one_sentence(client, path, body, status, sentence):
    response = client.post(path, json=body)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]
    assert response.json()["error"].startswith(sentence) or sentence in response.json()["error"]
    assert "\n" not in response.text


@pytest.mark.parametrize(
    ("content", "headers", "status"),
    [
        (b'{"model": "ease"', JSON, 422),
        (b"", JSON, 422),
        (b'{"model": "ease", "history": {"a0": NaN}}', JSON, 422),
        (b'{"model": "ease", "history": {"a0": 1e999}}', JSON, 422),
        (b'{"model": "ease", "history": ["\\ud800"]}', JSON, 422),
        (b'{"model": "ease", "history": ["\xff\xfe"]}', JSON, 400),
        (b'{"model": "ease", "n": ' + b"9" * 5000 + b"}", JSON, 400),
        (b"[" * 100_000, JSON, 400),
        (b'{"a":' * 50_000, JSON, 400),
        (b'{"model": "ease"}', {"content-type": "text/plain"}, 422),
        (b'{"model": "ease"}', {}, 422),
    ],
)
def test_hostile_bodies_are_refused(client, content, headers, status):
    response = client.post("/recommend", content=content, headers=headers)
    assert response.status_code == status, response.text
    assert list(response.json()) == ["error"]


@pytest.mark.parametrize("item", ["\0", "\U0001f600" * 100, "../../etc/passwd", "a0\n", "<script>", "'; --"])
def test_strange_ids_are_unknown_and_nothing_more(client, item):
    assert client.post("/similar", json={"model": "ease", "item": item}).status_code == 404
    answer = client.post("/recommend", json={"model": "ease", "history": [item]}).json()
    assert answer["unknown"] == [item]


def test_paths_and_methods_that_are_not_there(client):
    assert client.get("/nothing").json() == {"error": "there is no such page; /docs lists those there are"}
    assert client.get("/recommend").status_code == 405
    assert client.get("/..%2f..%2fetc/passwd").status_code == 404


def test_health_and_metrics(service):
    with TestClient(create_app(service, Settings(reload_seconds=0))) as client:
        client.post("/recommend", json={"model": "ease"})
        assert client.get("/health").json()["models"] == len(service.models)
        metrics = client.get("/metrics")
    assert metrics.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert 'gossamer_requests_total{route="/recommend",status="200"} 1' in metrics.text
    assert "gossamer_batches_total 1" in metrics.text
