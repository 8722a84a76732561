from __future__ import annotations

import logging
import shutil
import threading

import pytest

from gossamer.models.linear import EASE, Popularity
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.service import Service
from gossamer.testing.right_answers import two_blocks


def test_one_model_need_not_be_named(shelf):
    assert Service([shelf / "ease"]).recommend(history=["a0"])["model"] == "ease"


def test_one_of_several_must_be(service):
    with pytest.raises(CannotAnswer, match="model must be given, one of als, biased, ease"):
        service.recommend(history=["a0"])
    with pytest.raises(NotFound, match=r"model must be one of als, biased, .*, got '../etc/passwd'"):
        service.recommend("../etc/passwd")


def test_names_are_unique(shelf, tmp_path):
    shutil.copytree(shelf / "ease", tmp_path / "ease")
    with pytest.raises(ValueError, match="artifacts must have different names to be served together, got 'ease' twice"):
        Service([shelf / "ease", tmp_path / "ease"])
    with pytest.raises(ValueError, match="paths must name at least one artifact"):
        Service([])


@pytest.mark.parametrize("ask", ["recommend", "similar", "explain", "next"])
def test_n_is_checked(service, ask):
    arguments = {"similar": {"item": "a0"}, "next": {"sequence": ["open"]}}.get(ask, {})
    with pytest.raises(ValueError, match="n must be"):
        getattr(service, ask)("ease", n=0, **arguments)


def test_models_are_not_to_be_written_to(service):
    with pytest.raises(TypeError):
        service.models["ease"] = None


def test_a_replaced_artifact_is_served_and_a_broken_one_is_not(tmp_path, caplog):
    blocks = two_blocks().history
    path = tmp_path / "model"
    EASE(regularization=1.0).fit(blocks).save(path)
    service = Service([path])
    assert service.load_replaced() == []
    Popularity().fit(blocks).save(path)
    (fresh,) = service.load_replaced()
    assert service.find().kind == "EASE"
    service.warm_up([fresh])
    service.adopt([fresh])
    assert service.find().kind == "Popularity"
    EASE(regularization=1.0).fit(blocks).save(path)
    (path / "model.safetensors").write_bytes(b"broken")
    with caplog.at_level(logging.ERROR):
        assert service.load_replaced() == []
        assert service.load_replaced() == []
    assert len(caplog.records) == 1  # said once
    assert "was replaced by what cannot be served, the old one stays" in caplog.text
    assert service.find().kind == "Popularity"
    shutil.rmtree(path)
    assert service.load_replaced() == []
    assert service.recommend(n=1)["items"]
    EASE(regularization=1.0).fit(blocks).save(path)
    service.adopt(service.load_replaced())
    assert service.find().kind == "EASE"


def test_many_threads_may_ask(service):
    wanted = service.recommend("als", history=["a0"], n=5)
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(service.recommend("als", history=["a0"], n=5)))
        for _ in range(16)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [wanted] * 16


def test_warming_up_answers_nothing_new(service):
    service.warm_up()
    assert "names" in service.models["als"].__dict__
