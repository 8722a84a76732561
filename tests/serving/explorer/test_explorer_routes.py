"""The explorer over HTTP: typed answers, sentences for errors, a strict policy for the page."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from explorer_samples import HOSTILE, NAMES

pytest.importorskip("fastapi", reason="needs the extra serve")
from fastapi.testclient import TestClient

from gossamer.serving.app import create_app
from gossamer.serving.explorer import make_router, routes
from gossamer.serving.explorer.tensors import find_array
from gossamer.serving.service import Service

STATIC = Path(routes.__file__).parent / "static"


@pytest.fixture(scope="module")
def client(served, results) -> Iterator[TestClient]:
    with TestClient(create_app(served, explorer=make_router(served, results))) as opened:
        yield opened


def test_the_page_and_its_files_come_with_a_policy(client):
    page = client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    paths = re.findall(r'(?:src|href)="(/[^"]+)"', page.text)
    assert len(paths) >= 3
    for path in paths:
        answer = client.get(path)
        assert answer.status_code == 200
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"https?:", policy)


@pytest.mark.parametrize("name", ["../routes.py", "..%2Froutes.py", "absent.js", "%2Fetc%2Fpasswd", "main.js%00"])
def test_only_files_of_the_page_are_served(client, name):
    assert client.get(f"/explore/static/{name}").status_code == 404


@pytest.mark.parametrize("path", sorted(STATIC.glob("*.js")), ids=lambda path: path.name)
def test_scripts_are_short_import_what_exists_and_never_write_markup(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert text.startswith("//")
    for name in re.findall(r'from "\./([^"]+)"', text):
        assert (STATIC / name).is_file()
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|new Function", text)


def test_nothing_is_loaded_from_elsewhere():
    for path in STATIC.iterdir():
        addresses = re.findall(r"https?://[^\s\"')]+", path.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}


QUESTIONS = [
    ("models", {}),
    ("model", {"model": "topics"}),
    ("layers", {"model": "network"}),
    ("search", {"model": "als", "q": "apple"}),
    ("examples", {"model": "als"}),
    ("about", {"model": "als", "kind": "items", "name": HOSTILE}),
    ("map", {"model": "als", "kind": "items", "projection": "neighbours"}),
    ("map", {"model": "als", "kind": "items", "projection": "tsne"}),
    (
        "map",
        {
            "model": "als",
            "kind": "items",
            "projection": "directions",
            "across_from": NAMES[0],
            "across_to": NAMES[12],
            "up_from": NAMES[3],
            "up_to": HOSTILE,
        },
    ),
    ("groups", {"model": "topics"}),
    ("group", {"model": "topics", "key": "topics", "number": 0, "relevance": 0.3}),
    ("salient", {"model": "topics", "key": "topics"}),
    ("spread", {"model": "topics", "key": "topics", "name": NAMES[0]}),
    ("neighbours", {"model": "als", "kind": "items", "name": NAMES[0], "measure": "euclidean"}),
    ("graph", {"model": "network"}),
    ("tensor", {"model": "network", "layer": "7", "weight": "bias"}),
    ("compare", {"left": "als", "right": "ease"}),
    ("answers", {"left": "als", "right": "ease", "kind": "items", "name": NAMES[0]}),
    ("runs", {}),
    ("trade", {"experiment": "tiny", "x": "values", "y": "test_mse"}),
]


@pytest.mark.parametrize(("path", "parameters"), QUESTIONS, ids=[path for path, _ in QUESTIONS])
def test_every_question_has_an_answer(client, path, parameters):
    answer = client.get(f"/explore/{path}", params=parameters)
    assert answer.status_code == 200, answer.text
    assert answer.json()
    assert f"/explore/{path}" in client.get("/openapi.json").json()["paths"]


BAD = [
    ("model", {"model": "absent"}, 404, "absent"),
    ("about", {"model": "als", "kind": "items", "name": "absent"}, 404, "is not among the 20 items"),
    ("about", {"model": "als", "kind": "items", "name": "x" * 20_000}, 422, "name"),
    ("map", {"model": "network", "kind": "classes"}, 404, "no map"),
    ("map", {"model": "als", "kind": "items", "projection": "magic"}, 422, "projection"),
    ("group", {"model": "topics", "key": "absent", "number": 0}, 404, "no groups called"),
    ("group", {"model": "topics", "key": "topics", "number": 10**40}, 404, "There is no topic"),
    ("group", {"model": "topics", "key": "topics", "number": 0, "relevance": "nan"}, 422, "relevance"),
    ("map", {"model": "als", "kind": "items", "axes": "1,2,x"}, 422, "axes"),
    ("map", {"model": "als", "kind": "items", "axes": "1,9"}, 400, "axes must be 2 or 3 different numbers"),
    ("map", {"model": "als", "kind": "items", "colour": "absent"}, 400, "colour must be one of"),
    ("neighbours", {"model": "als", "kind": "items", "name": NAMES[0], "measure": "taste"}, 400, "measure must be"),
    ("neighbours", {"model": "als", "kind": "users", "name": "user1"}, 404, "users"),
    ("salient", {"model": "communities", "key": "communities-items"}, 404, "no shares"),
    ("spread", {"model": "topics", "key": "topics", "name": "absent"}, 404, "is not among"),
    ("graph", {"model": "index"}, 404, "This model has no graph"),
    ("graph", {"model": "network", "part": 5}, 404, "There is no part 5"),
    ("graph", {"model": "network", "part": 10**40}, 404, "There is no part 1"),
    ("graph", {"model": "network", "part": -1}, 422, "part"),
    ("tensor", {"model": "network", "layer": "7", "weight": "absent"}, 404, "has no weight"),
    ("tensor.npy", {"model": "network", "layer": "absent", "weight": "bias"}, 404, "has no layer"),
    ("search", {"model": "als", "q": "a", "n": 0}, 422, "n"),
    ("trade", {"experiment": "absent", "x": "values", "y": "test_mse"}, 404, "There are no runs"),
]


@pytest.mark.parametrize(("path", "parameters", "status", "sentence"), BAD)
def test_errors_are_sentences(client, path, parameters, status, sentence):
    answer = client.get(f"/explore/{path}", params=parameters)
    assert answer.status_code == status
    assert sentence in answer.json()["error"]
    assert "Traceback" not in answer.text


def test_an_array_can_be_taken_away(client, known):
    answer = client.get("/explore/tensor.npy", params={"model": "network", "layer": "7", "weight": "bias"})
    assert answer.headers["content-disposition"] == 'attachment; filename="weight.npy"'
    found = np.load(io.BytesIO(answer.content), allow_pickle=False)
    np.testing.assert_array_equal(found, find_array(known["network"].estimator, "7", "bias"))


def test_an_empty_search_finds_nothing(client):
    assert client.get("/explore/search", params={"model": "als", "q": " "}).json() == {"hits": [], "total": 0}


def test_hostile_names_stay_text(client):
    found = client.get("/explore/search", params={"model": "als", "q": "onerror"})
    assert found.headers["content-type"] == "application/json"
    assert found.json()["hits"] == [{"kind": "items", "name": HOSTILE}]


def test_a_replaced_model_is_looked_at_anew(folder, tmp_path):
    shutil.copytree(folder / "als", tmp_path / "one")
    service = Service([tmp_path / "one"])
    shelf = routes.Shelf(service)
    before = shelf.open("one")
    assert shelf.open("one") is before
    shutil.rmtree(tmp_path / "one")
    shutil.copytree(folder / "ease", tmp_path / "one")
    service.adopt(service.load_replaced())
    assert type(shelf.open("one").estimator).__name__ == "EASE"
