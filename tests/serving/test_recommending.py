from __future__ import annotations

import numpy as np
import pytest

from gossamer.serving.errors import CannotAnswer
from gossamer.serving.recommending import items_of, look_up, recommend_all
from gossamer.serving.service import Service
from gossamer.testing.right_answers import two_blocks


def names(answer):
    return [row["item"] for row in answer["items"]]


def test_many_questions_have_the_answers_they_have_alone(service):
    model = service.models["ease"]
    histories = [["a0", "a1"], [], ["b5"], ["a0", "b0", "zz"], ["a0", "a1"]]
    wanted = [look_up(model, None, history, n) for history, n in zip(histories, (3, 2, 1, 5, 4), strict=True)]
    together = recommend_all(model, wanted)
    assert together == [recommend_all(model, [question])[0] for question in wanted]
    assert [len(answer["items"]) for answer in together] == [3, 2, 1, 5, 4]


def test_the_answer_is_the_model_s_own(service):
    held_out = two_blocks()
    best = service.models["als"].estimator.recommend(held_out.history[:1], 3)
    history = [held_out.history.items[int(item)] for item in held_out.history[:1].indices]
    answer = service.recommend("als", history=history, n=3)
    assert names(answer) == [held_out.history.items[int(item)] for item in best.items[0]]
    assert names(answer)[0] == held_out.target.items[int(held_out.target.indices[0])]
    np.testing.assert_allclose([row["score"] for row in answer["items"]], best.scores[0], rtol=1e-5)


def test_items_of_the_history_are_left_out_or_not(service):
    assert "a0" not in names(service.recommend("ease", history=["a0"], n=12))
    assert "a0" in names(service.recommend("ease", history=["a0"], n=12, exclude_seen=False))


def test_more_items_than_there_are_is_all_of_them(service):
    assert len(service.recommend("ease", history=["a0"], n=1000)["items"]) == 11


def test_unknown_items_are_named_and_change_nothing(service):
    with_unknown = service.recommend("ease", history=["a0", "zz", 7], n=3)
    assert with_unknown["unknown"] == ["zz", 7]
    assert with_unknown["items"] == service.recommend("ease", history=["a0"], n=3)["items"]


@pytest.mark.parametrize("asked", [{}, {"history": []}, {"history": ["zz"]}, {"user": "nobody"}])
def test_strangers_get_what_the_model_has_for_strangers(service, asked):
    answer = service.recommend("numbers", n=1, **asked)
    assert answer["cold_start"]
    assert names(answer) == [10]


def test_ratings_count_where_the_model_weighs(service):
    loved = service.recommend("weighted", history={"a0": 5.0, "b0": 0.1}, n=4)
    hated = service.recommend("weighted", history={"a0": 0.1, "b0": 5.0}, n=4)
    assert {name[0] for name in names(loved)} == {"a"}
    assert {name[0] for name in names(hated)} == {"b"}
    assert service.recommend("weighted", history=["a0", "b0"], n=4)["cold_start"] is False


def test_users_of_the_training_data_are_known_where_it_is_opened(remembered):
    service = Service([remembered], with_users=True)
    known = service.recommend(user="u0", n=3)
    assert not known["cold_start"]
    assert known == service.recommend(history=["a0", "a1", "a2", "a3", "a4"], n=3)
    model = service.models["knn"]
    twice = recommend_all(model, [look_up(model, user, None, n) for user, n in (("u1", 2), ("u0", 3), ("u1", 1))])
    assert twice[1] == known
    assert twice[2]["items"] == twice[0]["items"][:1]
    assert service.recommend(user="u0", history=["b1"], n=1)["items"][0]["item"].startswith("b")
    assert service.recommend(user="nobody", n=1)["unknown"] == ["nobody"]


def test_without_the_data_users_are_strangers(remembered):
    assert Service([remembered]).recommend(user="u0")["cold_start"]


def test_a_model_that_does_not_recommend_says_so(service):
    with pytest.raises(CannotAnswer, match=r"the model must recommend, which 'biased' \(BiasedMF\) does not do"):
        items_of(service.models["biased"])
