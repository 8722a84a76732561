"""Models by name, with settings that are checked before anything is loaded."""

from __future__ import annotations

import pytest

from gossamer.runner.estimators import family_of, find_class, make_estimator
from gossamer.runner.peers import IrspackEASE


def test_settings_reach_the_model() -> None:
    assert make_estimator("item-knn", {"num_neighbours": 7}, seed=0).num_neighbours == 7


def test_the_seed_becomes_the_random_state_unless_given() -> None:
    assert make_estimator("als", {}, seed=5).random_state == 5
    assert make_estimator("als", {"random_state": 6}, seed=5).random_state == 6
    make_estimator("popularity", {}, seed=5)


def test_an_unknown_setting_names_what_there_is() -> None:
    sentence = r"item-knn has no setting 'num_neighbors' \(did you mean 'num_neighbours'\?\); it has num_neighbours, "
    with pytest.raises(ValueError, match=sentence):
        make_estimator("item-knn", {"num_neighbors": 7}, seed=0)


def test_an_unknown_model_names_what_there_is() -> None:
    with pytest.raises(ValueError, match="ease"):
        make_estimator("easy", {}, seed=0)


def test_a_device_is_for_models_that_have_one() -> None:
    make_estimator("popularity", {}, seed=0, device="cpu")
    make_estimator("popularity", {}, seed=0, device="auto")
    with pytest.raises(ValueError, match="device must be 'cpu' for popularity, which runs nowhere else, got 'cuda'"):
        make_estimator("popularity", {}, seed=0, device="cuda")


def test_peers_are_found_by_their_prefix() -> None:
    assert find_class("peer.irspack-ease") is IrspackEASE
    assert family_of("peer.irspack-ease") is None
    assert family_of("ease") == "linear"
