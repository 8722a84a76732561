"""What schemathesis makes up for the routes of questions and of the server's own state ends in no surprise."""

from __future__ import annotations

import pytest
import schemathesis
from schema_probing import probe
from schemathesis import GenerationMode

from gossamer.serving.app import create_app
from gossamer.serving.service import Service
from gossamer.serving.settings import Settings

QUESTIONS = [
    ("/recommend", "ease"),
    ("/recommend", "topics"),
    ("/encode", "topics"),
    ("/encode", "sentences"),
    ("/encode", "patterns"),
    ("/similar", "als"),
    ("/explain", "ease"),
    ("/next", "events"),
    ("/next", "phases"),
]


def without_model(case: schemathesis.Case) -> None:
    """Let the only model be asked, or nearly every question would end at a model that is not there."""
    if isinstance(case.body, dict):
        case.body.pop("model", None)


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
@pytest.mark.parametrize(("path", "model"), QUESTIONS)
def test_schemathesis_finds_nothing(shelf, path, model, mode):
    app = create_app(Service([shelf / model]), Settings(reload_seconds=0))
    probe(app, path, "POST", mode, 16, without_model)


@pytest.mark.parametrize("path", ["/models", "/health", "/metrics"])
def test_schemathesis_finds_nothing_in_what_the_server_says_of_itself(service, path):
    probe(create_app(service, Settings(reload_seconds=0)), path, "GET", GenerationMode.POSITIVE, 3)


def test_every_question_is_probed(service):
    paths = create_app(service, Settings(reload_seconds=0)).openapi()["paths"]
    assert {path for path, methods in paths.items() if "post" in methods} == {path for path, _ in QUESTIONS}
    assert {path for path, methods in paths.items() if "get" in methods} == {"/models", "/health", "/metrics"}
