"""What schemathesis makes up for the routes of the explorer ends in no surprise."""

from __future__ import annotations

import random

import pytest
import schemathesis
from explorer_samples import NAMES
from schema_probing import probe
from schemathesis import GenerationMode

from gossamer.serving.app import create_app
from gossamer.serving.explorer import make_router
from gossamer.serving.settings import Settings

# What is there, by the name of a parameter; chance would find none of it.
THERE = {
    "model": ["als", "topics", "phases", "network"],
    "left": ["als"],
    "right": ["ease", "topics"],
    "kind": ["items", "terms", "events"],
    "name": NAMES[:3],
    "across_from": NAMES[:3],
    "across_to": NAMES[:3],
    "up_from": NAMES[3:6],
    "up_to": NAMES[3:6],
    "key": ["topics", "phases"],
    "layer": ["network", "item_factors"],
    "experiment": ["tiny"],
}
BARE = ["/explore/models", "/explore/runs"]  # without parameters, so that nothing can be wrong with them


def with_what_is_there(case: schemathesis.Case) -> None:
    """Give nine of ten parameters a value that names something, chosen by the question itself."""
    chosen = random.Random(repr(sorted(map(str, (case.query or {}).items()))))
    for parameter, values in THERE.items():
        if parameter in (case.query or {}) and chosen.random() < 0.9:
            case.query[parameter] = chosen.choice(values)


@pytest.fixture(scope="module")
def app(served, results):
    return create_app(served, Settings(reload_seconds=0), explorer=make_router(served, results))


def routes_of(app):
    return sorted(path for path in app.openapi()["paths"] if path.startswith("/explore/"))


def test_schemathesis_finds_nothing_in_the_explorer(app, subtests):
    for path in routes_of(app):
        for mode in [GenerationMode.POSITIVE, *([] if path in BARE else [GenerationMode.NEGATIVE])]:
            with subtests.test(path=path, mode=mode.value):
                probe(app, path, "GET", mode, 8, with_what_is_there)


def test_every_route_is_a_question_without_a_body(app):
    assert len(routes_of(app)) > 15
    assert all(list(app.openapi()["paths"][path]) == ["get"] for path in routes_of(app))
