from __future__ import annotations

import asyncio
import logging

import pytest
from fastapi.testclient import TestClient

from gossamer.serving.app import create_app
from gossamer.serving.counters import Counters
from gossamer.serving.gate import Gate, is_authorised
from gossamer.serving.settings import Settings


def through(app, settings=None, *, messages=None, headers=(), path="/recommend"):
    """Return status, body and counters of one request that passes the gate to `app`."""
    sent = []
    counters = Counters()
    gate = Gate(app, settings or Settings(), counters, {"/recommend"})
    waiting = list(messages or [{"type": "http.request", "body": b"{}", "more_body": False}])

    async def receive():
        if not waiting:
            await asyncio.sleep(60)
        return waiting.pop(0)

    async def send(message):
        sent.append(message)

    asyncio.run(gate({"type": "http", "path": path, "headers": list(headers)}, receive, send))
    body = b"".join(message.get("body", b"") for message in sent)
    return sent[0]["status"], body.decode(), counters.text()


async def reads_all(_scope, receive, send):
    while (await receive()).get("more_body"):
        pass
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"done"})


def test_a_request_passes_and_is_counted():
    status, body, counters = through(reads_all)
    assert (status, body) == (200, "done")
    assert 'gossamer_requests_total{route="/recommend",status="200"} 1' in counters


def test_made_up_paths_are_not_names_of_counters():
    assert 'route="other"' in through(reads_all, path='/x",evil="')[2]


def test_a_body_that_says_it_is_too_large_is_not_read():
    for length in (b"11", b"9" * 5000, b"-1", b"ten"):
        status, body, _ = through(reads_all, Settings(max_body=10), headers=[(b"content-length", length)])
        assert (status, body) == (413, '{"error": "the body must have at most 10 bytes"}')


def test_a_body_that_does_not_say_so_is_not_read_to_its_end():
    parts = [{"type": "http.request", "body": b"123456", "more_body": True} for _ in range(2)]
    status, body, counters = through(reads_all, Settings(max_body=10), messages=parts)
    assert (status, body) == (413, '{"error": "the body must have at most 10 bytes"}')
    assert 'status="413"' in counters


def test_headers_have_a_limit():
    assert through(reads_all, headers=[(b"x-long", b"x" * 20_000)])[0] == 431


@pytest.mark.parametrize("reads_body", [True, False])
def test_an_answer_that_takes_too_long_is_given_up(reads_body):
    async def never_answers(_scope, receive, _send):
        if reads_body:  # a route of GET does not
            await receive()
        await asyncio.sleep(60)

    status, body, _ = through(never_answers, Settings(time_limit=0.05))
    assert (status, body) == (503, '{"error": "the answer took longer than 0.05 seconds; ask again, or for less"}')


def test_a_body_that_takes_too_long_is_given_up():
    unfinished = [{"type": "http.request", "body": b"{", "more_body": True}]
    assert through(reads_all, Settings(time_limit=0.05), messages=unfinished)[0] == 408


def test_a_bug_is_logged_and_not_shown(caplog):
    async def has_a_bug(_scope, _receive, _send):
        raise RuntimeError("secret")

    with caplog.at_level(logging.ERROR):
        status, body, _ = through(has_a_bug)
    assert (status, body) == (500, '{"error": "this is a bug of the server; its log says more"}')
    assert "secret" in caplog.text


def test_an_answer_that_breaks_off_breaks_the_connection():
    async def breaks_off(_scope, _receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("secret")

    with pytest.raises(ConnectionAbortedError):
        through(breaks_off)


def test_web_sockets_are_refused():
    sent = []

    async def send(message):
        sent.append(message)

    asyncio.run(Gate(reads_all, Settings(), Counters(), ())({"type": "websocket"}, None, send))
    assert sent == [{"type": "websocket.close", "code": 1000}]


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"",
        b"Bearer",
        b"Bearer ",
        b"Bearer Sesame",
        b"Bearer sesame2",
        b"Token sesame",
        b"sesame",
        b"Basic !!!",
        b"Basic c2VzYW1l",  # without a colon there is no password
        b"Bearer \xff\xfe",
    ],
)
def test_who_has_not_the_token_is_sent_away(header):
    assert not is_authorised(header, "sesame")


def test_the_token_opens_everything_and_health_is_open(service):
    with TestClient(create_app(service, Settings(token="sesame", reload_seconds=0))) as client:
        assert client.get("/health").status_code == 200
        for path in ("/models", "/metrics", "/docs", "/openapi.json", "/nothing"):
            refused = client.get(path)
            assert refused.status_code == 401
            assert refused.headers["www-authenticate"].startswith("Bearer")
            assert list(refused.json()) == ["error"]
        assert client.get("/models", headers={"Authorization": "bearer sesame"}).status_code == 200
        assert client.get("/models", auth=("anybody", "sesame")).status_code == 200
