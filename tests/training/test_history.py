from __future__ import annotations

import json

import pytest

from gossamer.training.history import EarlyStopping, History


def test_history_is_json():
    history = History(epochs=[{"epoch": 0, "loss": 0.5}], best_epoch=0, steps=3)
    assert History(**json.loads(json.dumps(history.as_dict()))) == history


def test_patience_counts_from_the_best_epoch_and_the_first_of_equals_wins():
    watch = EarlyStopping("auc", "max", patience=2)
    values = [0.5, 0.7, 0.7, 0.6]
    assert [watch.is_best(epoch, {"auc": value}) for epoch, value in enumerate(values)] == [True, True, False, False]
    assert [watch.is_over(epoch) for epoch in range(4)] == [False, False, False, True]


def test_without_patience_it_is_never_over():
    watch = EarlyStopping("loss")
    watch.is_best(0, {"loss": 1.0})
    assert not watch.is_over(1000)


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="monitor must be one of 'loss', 'mse', got 'auc'"):
        EarlyStopping("auc").is_best(0, {"loss": 1.0, "mse": 2.0})
