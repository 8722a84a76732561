"""A server as a whole: many at once, artifacts that are replaced, and limits."""

from __future__ import annotations

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from answers_alike import assert_alike
from fastapi import APIRouter
from fastapi.testclient import TestClient

from gossamer.models.linear import EASE, Popularity
from gossamer.serving.app import create_app
from gossamer.serving.counters import Counters
from gossamer.serving.loading import LoadedModel
from gossamer.serving.service import Service
from gossamer.serving.settings import Settings
from gossamer.testing.right_answers import two_blocks


def test_many_at_once_have_the_answers_they_have_alone(client, service):
    bodies = [{"model": model, "history": [item], "n": 4} for model in ("ease", "als") for item in ("a0", "b3")] * 10
    with ThreadPoolExecutor(max_workers=8) as threads:
        answers = list(threads.map(lambda body: client.post("/recommend", json=body).json(), bodies))
    for body, answer in zip(bodies, answers, strict=True):
        alone = service.recommend(**body)
        assert [row["item"] for row in answer["items"]] == [row["item"] for row in alone["items"]]
        assert [row["score"] for row in answer["items"]] == pytest.approx([row["score"] for row in alone["items"]])


def test_questions_of_every_kind_go_to_the_model_together(service):
    asked = [("/recommend", {"model": "als", "history": [item], "n": 3}) for item in ("a0", "b1")]
    asked += [("/similar", {"model": "als", "item": item, "n": n}) for item in ("a0", "a0", "b1") for n in (2, 5)]
    asked += [("/encode", {"model": "topics", "texts": [text, "and"]}) for text in ("a1 a2", "", "b1")]
    asked += [("/encode", {"model": "topics", "documents": [{"a1": 2}]})]
    # So long that all have come, whatever else the machine does.
    with (
        TestClient(create_app(service, Settings(wait_seconds=1.0, reload_seconds=0))) as client,
        ThreadPoolExecutor(max_workers=len(asked)) as threads,
    ):
        answers = [answer.json() for answer in threads.map(lambda one: client.post(one[0], json=one[1]), asked)]
        metrics = client.get("/metrics").text
    for (path, body), answer in zip(asked, answers, strict=True):
        assert_alike(answer, json.loads(json.dumps(getattr(service, path[1:])(**body))))
    assert "gossamer_batches_total 3" in metrics
    assert f"gossamer_batched_questions_total {len(asked)}" in metrics


def test_a_question_that_cannot_be_answered_fails_alone(service):
    asked = [{"model": "topics", "documents": [{"and": count}]} for count in (1, 0.5, 2)]
    with (
        TestClient(create_app(service, Settings(wait_seconds=0.5, reload_seconds=0))) as client,
        ThreadPoolExecutor(max_workers=3) as threads,
    ):
        answers = list(threads.map(lambda body: client.post("/encode", json=body), asked))
    assert [answer.status_code for answer in answers] == [200, 400, 200]
    assert "whole numbers" in answers[1].json()["error"]


def wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def test_a_replaced_artifact_is_served_without_a_failed_request(tmp_path: Path):
    blocks = two_blocks().history
    path = tmp_path / "model"
    EASE(regularization=1.0).fit(blocks).save(path)
    statuses: list[int] = []
    over = threading.Event()
    with TestClient(create_app(Service([path]), Settings(reload_seconds=0.02))) as client:

        def ask() -> None:
            while not over.is_set():
                statuses.append(client.post("/recommend", json={"history": ["a0"], "n": 1}).status_code)

        asking = threading.Thread(target=ask)
        asking.start()
        try:
            for kind in (Popularity, EASE, Popularity):
                kind().fit(blocks).save(path)
                wait_until(lambda kind=kind: client.get("/models").json()[0]["kind"] == kind.__name__)
            EASE().fit(blocks).save(path)
            (path / "config.json").write_text("broken")
            before = len(statuses)
            wait_until(lambda: len(statuses) > before + 20)
            assert client.get("/models").json()[0]["kind"] in ("Popularity", "EASE")
            Popularity().fit(blocks).save(tmp_path / "other")
            (path / "config.json").unlink()
            before = len(statuses)
            wait_until(lambda: len(statuses) > before + 20)
        finally:
            over.set()
            asking.join()
        assert int(client.get("/metrics").text.split("\ngossamer_reloads_total ")[1].split()[0]) >= 3
    assert set(statuses) == {200}


def test_a_replacement_that_cannot_answer_is_left_alone(tmp_path: Path, monkeypatch, caplog):
    path = tmp_path / "model"
    EASE(regularization=1.0).fit(two_blocks().history).save(path)
    service = Service([path])
    with TestClient(create_app(service, Settings(reload_seconds=0.02))) as client:
        monkeypatch.setattr(Popularity, "recommend", lambda *_, **__: 1 / 0)
        Popularity().fit(two_blocks().history).save(path)
        wait_until(lambda: "the old one stays: division by zero" in caplog.text)
        time.sleep(0.1)
        assert caplog.text.count("the old one stays") == 1
        assert client.post("/recommend", json={"history": ["a0"]}).status_code == 200
        assert client.get("/models").json()[0]["kind"] == "EASE"


def test_counters_that_cannot_be_shared_end_nothing(tmp_path: Path, monkeypatch, caplog):
    path = tmp_path / "model"
    EASE(regularization=1.0).fit(two_blocks().history).save(path)
    threads: set[str] = set()

    def fail(_: Counters) -> None:
        threads.add(threading.current_thread().name)
        raise OSError("no space left on device")

    monkeypatch.setattr(Counters, "share", fail)
    app = create_app(Service([path]), Settings(reload_seconds=0.02), shared_counters=tmp_path / "counters")
    with TestClient(app) as client:
        wait_until(lambda: caplog.text.count("could not be shared with other workers: no space left on device") > 1)
        Popularity().fit(two_blocks().history).save(path)
        wait_until(lambda: client.get("/models").json()[0]["kind"] == "Popularity")
    assert threads
    assert all(name.startswith("asyncio_") for name in threads)  # not the thread of the event loop


def test_a_look_for_replaced_artifacts_that_fails_is_not_the_last(tmp_path: Path, monkeypatch, caplog):
    path = tmp_path / "model"
    EASE(regularization=1.0).fit(two_blocks().history).save(path)
    service = Service([path])
    look = service.load_replaced
    failures = iter([OSError("the disk is gone"), RuntimeError("and so is the rest")])

    def fail_at_first() -> list[LoadedModel]:
        for error in failures:
            raise error
        return look()

    monkeypatch.setattr(service, "load_replaced", fail_at_first)
    with TestClient(create_app(service, Settings(reload_seconds=0.02))) as client:
        Popularity().fit(two_blocks().history).save(path)
        wait_until(lambda: client.get("/models").json()[0]["kind"] == "Popularity")
    assert "the disk is gone" in caplog.text
    assert "and so is the rest" in caplog.text


def test_an_answer_has_a_time_limit(service, monkeypatch):
    monkeypatch.setattr(service, "explain", lambda **_: time.sleep(0.5))
    with TestClient(create_app(service, Settings(time_limit=0.1, reload_seconds=0))) as client:
        response = client.post("/explain", json={"model": "ease"})
        assert response.status_code == 503
        assert response.json() == {"error": "the answer took longer than 0.1 seconds; ask again, or for less"}
        assert client.get("/health").status_code == 200


def test_too_many_questions_are_sent_away(service, monkeypatch):
    gate = threading.Event()
    monkeypatch.setattr(service, "explain", lambda **_: gate.wait(10) and {})
    with (
        TestClient(create_app(service, Settings(max_waiting=1, reload_seconds=0))) as client,
        ThreadPoolExecutor(max_workers=3) as threads,
    ):
        asked = [threads.submit(client.post, "/explain", json={"model": "ease"}) for _ in range(3)]
        wait_until(lambda: sum(one.done() for one in asked) == 2)
        gate.set()
        answers = [one.result() for one in asked]
    assert sorted(answer.status_code for answer in answers) == [200, 503, 503]
    busy = next(answer for answer in answers if answer.status_code == 503)
    assert busy.headers["retry-after"] == "1"
    assert "questions are waiting already" in busy.json()["error"]


def test_a_router_of_others_is_included_and_sees_the_service(service):
    router = APIRouter()
    app = create_app(service, Settings(reload_seconds=0), explorer=router)

    @router.get("/explorer")
    async def page() -> dict[str, int]:
        return {"models": len(app.state.service.models)}

    app.include_router(router)
    with TestClient(app) as client:
        assert client.get("/explorer").json() == {"models": len(service.models)}
