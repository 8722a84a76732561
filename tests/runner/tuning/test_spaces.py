"""Search spaces: declared for every estimator, of arguments it has, around its defaults."""

from __future__ import annotations

import inspect
import json
from typing import Any

import pytest

from gossamer.core.search_space import Choice, Integer, Real, SearchSpace
from gossamer.models import catalogue
from gossamer.runner.estimators import make_estimator
from gossamer.runner.search import has_a_best
from gossamer.runner.tuning.spaces import defaults_in, describe_space, merge_space, parse_range, space_of, suggest

MODELS = sorted(catalogue.available())


class Lowest:
    """Draws the first of everything."""

    def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
        return low

    def suggest_int(self, name: str, low: int, high: int, *, log: bool = False) -> int:
        return low

    def suggest_categorical(self, name: str, choices: list[str]) -> str:
        return choices[0]


@pytest.mark.parametrize("model", MODELS)
def test_every_estimator_declares_arguments_of_its_own_around_its_defaults(model: str) -> None:
    cls = catalogue.find(model)
    assert "SEARCH_SPACE" in vars(cls)  # not that of a parent, whose arguments may be others
    space = space_of(model)
    parameters = inspect.signature(cls).parameters
    assert set(space.ranges) | set(space.fixed) <= set(parameters)
    assert not set(space.ranges) & set(space.fixed)
    assert not {"random_state", "epochs", "device"} & set(space.ranges)  # not a matter of quality but of cost
    assert has_a_best(space.metric)
    optional = {name for name in space.ranges if parameters[name].default is None}
    assert set(defaults_in(model, space)) == set(space.ranges) - optional
    for name in space.fixed:
        assert parameters[name].default is None
    drawn = suggest(Lowest(), space)
    assert json.loads(json.dumps(drawn)) == drawn
    make_estimator(model, drawn, seed=0)


def test_what_is_set_stays_and_what_is_tried_is_tried() -> None:
    space = merge_space("als", {"regularization": 0.1}, {"num_factors": [8, 16], "epochs": {"low": 2, "high": 9}})
    assert set(space.ranges) == {"unobserved_weight", "num_factors", "epochs"}
    assert (space.ranges["num_factors"], space.ranges["epochs"]) == (Choice((8, 16)), Integer(2, 9))
    assert space.fixed == {"regularization": 0.1}
    drawn = suggest(Lowest(), space)
    assert drawn == {"regularization": 0.1, "unobserved_weight": 0.005, "num_factors": 8, "epochs": 2}
    assert describe_space(space)["num_factors"] == {"options": [8, 16]}


def test_numbers_are_drawn_with_few_digits_and_lists_come_back() -> None:
    class Third(Lowest):
        def suggest_float(self, name: str, low: float, high: float, *, log: bool = False) -> float:
            return 1 / 3

    space = SearchSpace("error", {"rate": Real(0, 1), "dims": Choice(([4, 2], []))}, {"patience": 3})
    assert suggest(Third(), space) == {"rate": 0.3333, "dims": [4, 2], "patience": 3}


@pytest.mark.parametrize(
    ("model", "settings", "tried", "problem"),
    [
        ("ease", {}, {"regularisation": [1]}, "ease has no setting 'regularisation' (did you mean 'regularization'?)"),
        ("ease", {"weighted": True}, {"weighted": [True]}, "'weighted' must be set or tried, not both"),
        ("ease", {"regularization": 1}, {}, "ease must have a setting left to try, got none; name one with --try"),
        ("popularity", {}, {}, "popularity must have a setting left to try, got none"),
        ("ease", {}, {"regularization": 3}, "regularization must be tried as a list of values or as a table"),
        ("ease", {}, {"regularization": []}, "regularization must be tried as a list of values or as a table"),
        ("ease", {}, {"regularization": {"low": 1}}, "regularization must have the key 'high'"),
        ("ease", {}, {"regularization": {"low": 2, "high": 1.5}}, "regularization: high must be a finite number > 2"),
        ("peer.irspack-ease", {}, {}, "model must be one that declares what to try, got 'peer.irspack-ease'"),
    ],
)
def test_what_cannot_be_tried_is_said(
    model: str, settings: dict[str, Any], tried: dict[str, Any], problem: str
) -> None:
    with pytest.raises(ValueError) as caught:
        merge_space(model, settings, tried)
    assert str(caught.value).startswith(problem)


def test_whole_numbers_stay_whole() -> None:
    assert parse_range("k", {"low": 1, "high": 4}) == Integer(1, 4)
    assert parse_range("k", {"low": 1, "high": 4.0, "log": True}) == Real(1, 4.0, log=True)
