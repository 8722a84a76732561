from __future__ import annotations

import pytest


@pytest.fixture
def started(monkeypatch):
    """Return what the server would have been started with."""
    calls = []
    monkeypatch.delenv("GOSSAMER_TOKEN", raising=False)
    monkeypatch.setattr("gossamer.serving.running.run_server", lambda *args, **options: calls.append((args, options)))
    return calls


def test_options_reach_the_server(gossamer, started):
    done = gossamer("serve", "one", "two", "--port", 0, "--workers", 2, "--users", "--max-body", 99)
    assert done.code == 0, done.err
    ((paths, settings), options) = started[0]
    assert paths == ["one", "two"]
    assert (settings.token, settings.max_body) == (None, 99)
    assert (options["host"], options["port"], options["workers"], options["with_users"]) == ("127.0.0.1", 0, 2, True)


def test_the_address_is_printed(gossamer, monkeypatch):
    def start(*_, on_start, **__):
        on_start("http://127.0.0.1:9", ["ease"])

    monkeypatch.setattr("gossamer.serving.running.run_server", start)
    assert "serving ease on http://127.0.0.1:9, see http://127.0.0.1:9/docs" in gossamer("serve", "ease").out


def test_the_token_may_come_from_the_environment(gossamer, started, monkeypatch):
    monkeypatch.setenv("GOSSAMER_TOKEN", "sesame")
    assert gossamer("serve", "one", "--host", "0.0.0.0").code == 0
    assert started[0][0][1].token == "sesame"


def test_other_machines_are_not_let_in_by_mistake(gossamer, started):
    done = gossamer("serve", "one", "--host", "0.0.0.0")
    assert done.code == 2
    assert done.err.startswith("gossamer: host must be this machine's own, such as 127.0.0.1, without a token")
    assert not started
    assert gossamer("serve", "one", "--host", "0.0.0.0", "--without-token").code == 0


def test_mistakes_are_one_sentence(gossamer):
    for arguments, sentence in (
        (["nothing"], "does not exist"),
        (["nothing", "--time-limit", "0"], "time_limit must be"),
        (["nothing", "--token", "a\nb"], "token must be"),
    ):
        done = gossamer("serve", *arguments)
        assert done.code == 2
        assert sentence in done.err
        assert done.err.count("\n") == 1
