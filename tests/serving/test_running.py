"""A server in processes of its own, as `gossamer serve` starts it."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest

from gossamer.models.linear import EASE, Popularity
from gossamer.persistence import ArtifactError
from gossamer.serving.running import app_of_worker, check_installed, check_port, run_server
from gossamer.serving.settings import Settings
from gossamer.testing.right_answers import two_blocks


def is_up(client: httpx.Client) -> bool:
    try:
        return client.get("/health").status_code == 200
    except httpx.TransportError:
        return False


@contextmanager
def serving(*arguments: object, **environment: str) -> Iterator[tuple[subprocess.Popen[str], httpx.Client]]:
    """Start `gossamer serve` on a free port and yield the process and a client, when it is up."""
    command = [sys.executable, "-m", "gossamer.cli", "serve", *map(str, arguments), "--port", "0"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    assert process.stdout is not None
    try:
        line = process.stdout.readline()
        url = re.search(r"http://\S+:\d+", line)
        assert url, f"{line}{process.stderr.read() if process.stderr and process.poll() is not None else ''}"
        with httpx.Client(base_url=url[0], timeout=60) as client:
            assert is_up(client), "it was announced before it listened"
            yield process, client
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()


def test_it_answers_reloads_and_ends_when_told(tmp_path: Path):
    path = tmp_path / "model"
    EASE(regularization=1.0).fit(two_blocks().history).save(path)
    with serving(path, "--token", "sesame") as (process, client):
        assert client.post("/recommend", json={"history": ["a0"]}).status_code == 401
        client.headers["Authorization"] = "Bearer sesame"
        answer = client.post("/recommend", json={"history": ["a0"], "n": 5}).json()
        assert {row["item"][0] for row in answer["items"]} == {"a"}
        Popularity().fit(two_blocks().history).save(path)
        for _ in range(200):
            if client.get("/models").json()[0]["kind"] == "Popularity":
                break
            time.sleep(0.05)
        assert client.get("/models").json()[0]["kind"] == "Popularity"
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_what_is_being_asked_when_it_is_told_to_end_is_answered(shelf: Path):
    body = b'{"history": ["a0"], "n": 2}'
    head = (
        f"POST /recommend HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with serving(shelf / "ease") as (process, client):
        address = (client.base_url.host, client.base_url.port)
        with socket.create_connection(address, timeout=60) as asking:
            asking.sendall(head.encode() + body[:5])
            assert is_up(client)  # one thread takes connections in turn: the other request has begun
            process.send_signal(signal.SIGTERM)
            wait_until_refused(address)
            assert process.poll() is None
            asking.sendall(body[5:])
            with asking.makefile("rb") as stream:
                answer = stream.read()
        assert answer.startswith(b"HTTP/1.1 200 OK")
        assert len(json.loads(answer.split(b"\r\n\r\n", 1)[1])["items"]) == 2
        assert process.wait(timeout=60) == 0


def wait_until_refused(address: tuple[str, int]) -> None:
    """Wait until no more connections are taken."""
    for _ in range(600):
        try:
            socket.create_connection(address, timeout=60).close()
        except ConnectionRefusedError:
            return
        time.sleep(0.05)
    raise AssertionError("connections are still taken")


def test_workers_share_a_port_and_their_counters(shelf: Path):
    with serving(shelf / "ease", shelf / "als", "--workers", 2) as (process, client):
        for _ in range(20):
            with httpx.Client(base_url=client.base_url, timeout=60) as other:  # a connection may end at either worker
                assert other.post("/recommend", json={"model": "ease", "history": ["a0"]}).status_code == 200
        wanted = 'gossamer_requests_total{route="/recommend",status="200"} 20'
        for _ in range(100):
            if wanted in client.get("/metrics").text:
                break
            time.sleep(0.1)
        assert wanted in client.get("/metrics").text
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_worker_reads_its_plan_from_the_environment(shelf, tmp_path, monkeypatch):
    plan = f'{{"paths": ["{shelf / "ease"}"], "with_users": false, "counters": "{tmp_path}", "settings": '
    text = Settings(max_body=77).as_text().replace('"', '\\"')
    monkeypatch.setenv("GOSSAMER_SERVE", f'{plan}"{text}"}}')
    monkeypatch.setenv("GOSSAMER_TOKEN", "sesame")
    logger = logging.getLogger("gossamer.models")
    try:
        assert list(app_of_worker().state.service.models) == ["ease"]
        assert logger.level == logging.ERROR  # strangers must not be able to fill a log
    finally:
        logger.setLevel(logging.NOTSET)


def test_a_port_that_is_taken_is_named():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=rf"cannot listen on 127\.0\.0\.1, port {port}: "):
            check_port("127.0.0.1", port)
    assert check_port("127.0.0.1", 0) > 0
    with pytest.raises(OSError, match="cannot listen on 203"):
        check_port("203.0.113.7", 0)


def test_what_is_missing_is_named(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "uvicorn" else object())
    with pytest.raises(ImportError, match=r"serving needs uvicorn; install with: pip install 'gossamer\[serve\]'"):
        check_installed()


def test_a_broken_artifact_is_named_before_anything_starts(shelf, tmp_path):
    shutil.copytree(shelf / "ease", tmp_path / "ease")
    (tmp_path / "ease" / "card.md").write_text("changed")
    for workers in (1, 2):
        with pytest.raises(ArtifactError, match=r"card\.md"):
            run_server([tmp_path / "ease"], Settings(), port=0, workers=workers)
