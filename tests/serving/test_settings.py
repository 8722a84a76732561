from __future__ import annotations

import pytest

from gossamer.serving.settings import Settings, check_exposure


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"token": ""}, "token"),
        ({"token": "tökén"}, "token"),
        ({"token": "a\nb"}, "token"),
        ({"max_body": 0}, "max_body"),
        ({"time_limit": 0}, "time_limit"),
        ({"time_limit": float("nan")}, "time_limit"),
        ({"max_batch": 0}, "max_batch"),
        ({"max_waiting": 0}, "max_waiting"),
        ({"wait_seconds": -1}, "wait_seconds"),
        ({"reload_seconds": -1}, "reload_seconds"),
    ],
)
def test_bad_settings_are_named(arguments, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        Settings(**arguments)


def test_settings_reach_another_process_without_the_token_in_them():
    settings = Settings(token="sesame", max_body=7)
    assert "sesame" not in settings.as_text()
    assert Settings.from_text(settings.as_text(), "sesame") == settings


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_this_machine_needs_no_token(host):
    check_exposure(host, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.1", "example.org", ""])
def test_other_machines_need_one_or_a_word(host):
    with pytest.raises(ValueError, match="host must be this machine's own"):
        check_exposure(host, None)
    check_exposure(host, "sesame")
    check_exposure(host, None, is_open=True)
