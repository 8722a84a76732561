"""What is known of a model is worked out once, also by many at a time, and names are people's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Barrier

import numpy as np
import polars as pl
import pytest
from explorer_samples import NAMES, halves

from gossamer.serving.errors import NotFound
from gossamer.serving.explorer.about import about
from gossamer.serving.explorer.knowledge import Knowledge
from gossamer.serving.loading import load_model


def test_each_answer_is_worked_out_once_and_through_ask(folder):
    asked = []

    def ask(question):
        asked.append(question)
        return question()

    knowledge = Knowledge(load_model(folder / "communities"), ask)
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: knowledge.groups, range(8)))
    assert all(one is found[0] for one in found)
    assert len(asked) == 1
    assert knowledge.projected("items", "pca", np.arange(20)) is knowledge.projected("items", "pca", np.arange(20))


@pytest.mark.parametrize(("name", "method"), [("ease", "item_weights"), ("als", "item_vectors")])
def test_a_model_is_called_through_ask_only(folder, monkeypatch, name, method):
    asking, called = [], []

    def ask(question):
        asking.append(True)
        try:
            return question()
        finally:
            asking.pop()

    model = load_model(folder / name)
    original = getattr(model.estimator, method)
    monkeypatch.setattr(model.estimator, method, lambda *given: called.append(bool(asking)) or original(*given))
    about(Knowledge(model, ask), "items", NAMES[0])
    assert called
    assert all(called)


def test_threads_that_ask_first_wait_for_one_answer(folder):
    knowledge = Knowledge(load_model(folder / "ease"))
    made: list[int] = []
    barrier = Barrier(8)

    def ask(number: int) -> list[int]:
        answers = []
        for key in range(50):
            barrier.wait(30)
            answers.append(knowledge._once(key, lambda key=key: made.append(key) or (key, number)))
        return answers

    with ThreadPoolExecutor(max_workers=8) as threads:
        answers = list(threads.map(ask, range(8)))
    assert made == list(range(50))
    assert all(one == answers[0] for one in answers)


@pytest.mark.parametrize(("kind", "name"), [("items", "absent"), ("spoons", "a"), ("items", "")])
def test_unknown_names_are_said_to_be_unknown(known, kind, name):
    with pytest.raises(NotFound, match=r"This model has no|is not among the 20"):
        known["als"].index_of(kind, name)


def test_unknown_groups_are_said_to_be_unknown(known):
    with pytest.raises(NotFound, match="it has topics"):
        known["topics"].find_group_set("anchors")


def test_titles_name_members(known):
    groups = known["phases"].groups[0]
    for title in known["phases"].titles(groups):
        assert len(title.split(", ")) == 3


def test_users_and_titles_come_from_histories(folder):
    data = halves()
    titles = ["Apple", *(f"Thing {number}" for number in range(18)), "Apple"]
    features = pl.DataFrame({"title": titles})
    model = replace(load_model(folder / "ease"), histories=replace(data, item_features=features))
    knowledge = Knowledge(model)
    assert knowledge.vocabularies["items"][1] == "Thing 0"
    assert knowledge.vocabularies["items"][0] == "Apple (fruit.apple0)"
    found = about(knowledge, "users", "user3", 5)
    (ranking,) = found.rankings
    expected = model.estimator.recommend(data[3:4], 5).items[0]
    assert [row.name for row in ranking.rows] == [knowledge.name_of("items", item) for item in expected]
    assert ranking.title == "Recommended"
    # What the model says of itself has ids, and they are links, too.
    assert knowledge.index_of("items", "fruit.apple1") == knowledge.index_of("items", "Thing 0") == 1


def test_a_user_is_found_by_id_and_not_by_place(folder):
    data = halves()
    backwards = data[np.arange(len(data))[::-1]]
    model = load_model(folder / "communities")
    knowledge = Knowledge(replace(model, histories=backwards))
    (ranking,) = [one for one in about(knowledge, "users", "user1", 5).rankings if one.title == "Recommended"]
    expected = model.estimator.recommend(data[1:2], 5)
    assert [row.name for row in ranking.rows] == [knowledge.name_of("items", item) for item in expected.items[0]]
