"""The best trial and the front, against what enumeration says."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from gossamer.runner.tuning.front import COMPLETE, FAILED, PRUNED, Trial, best_trial, front_of


@pytest.mark.parametrize("metric", ["ndcg@10", "mse"])
def test_the_front_is_what_nothing_dominates(metric: str) -> None:
    sign = 1 if metric == "mse" else -1
    generator = np.random.default_rng(0)
    for _ in range(50):
        drawn = generator.integers(0, 5, size=(8, 2))
        trials = [Trial(row, COMPLETE, {}, float(value), int(size)) for row, (value, size) in enumerate(drawn)]
        points = {(sign * trial.value, trial.bytes) for trial in trials}
        free = {
            one
            for one in points
            if not any(other != one and other[0] <= one[0] and other[1] <= one[1] for other in points)
        }
        front = front_of(trials, metric)
        assert {(sign * trial.value, trial.bytes) for trial in front} == free
        assert len(front) == len(free)
        assert all(one.bytes < other.bytes for one, other in itertools.pairwise(front))
        assert (sign * best_trial(trials, metric).value, best_trial(trials, metric).bytes) == min(points)


def test_only_what_ended_well_counts() -> None:
    trials = [
        Trial(0, PRUNED, {}, 0.9),
        Trial(1, FAILED, {}, problem="loss is nan"),
        Trial(2, COMPLETE, {"l2": 1}, 0.5, 10, 0.1),
    ]
    assert best_trial(trials, "ndcg@10").number == 2
    assert [trial.number for trial in front_of(trials, "ndcg@10")] == [2]
    assert trials[1].as_json() == {"number": 1, "state": "failed", "settings": {}, "problem": "loss is nan"}
    with pytest.raises(ValueError, match="one trial of 2 must end well to choose settings, got none; the last"):
        best_trial(trials[:2], "ndcg@10")
