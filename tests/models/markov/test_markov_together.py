"""What is counted together: a process whose twin holds the same series learns what it would from all of them twice."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.data import Sequences
from gossamer.data.share import Share
from gossamer.models.markov import HSMM, starts
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.models.markov.inputs import read_batch
from gossamer.models.markov.labels import match_labels
from gossamer.models.markov.neural.arguments import feature_dim_of
from gossamer.models.markov.neural.regression import weighted_ridge
from gossamer.models.markov.starts import cluster_labels, mean_run
from gossamer.models.markov.together import add_up_tensors, agree_on_size, largest, moments
from gossamer.training.sharing import Sharing

ALONE = Sharing(is_divided=False)


class Twin(Sharing):
    """A process whose only other one holds the same series, and `more` dimensions."""

    def __init__(self, more: int = 0) -> None:
        super().__init__(is_divided=False)
        self.more = more

    @property
    def is_divided(self) -> bool:
        return True

    def sum(self, values: np.ndarray) -> np.ndarray:
        return values + values

    def max(self, values: np.ndarray) -> np.ndarray:
        return values + self.more

    def gather(self, values: np.ndarray) -> np.ndarray:
        return np.concatenate([values, values])


def observations(emission: str) -> np.ndarray:
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, 30) if emission == "categorical" else rng.integers(0, 9, (30, 2)) + 1.0
    values[7] = -1 if emission == "categorical" else np.nan
    return values


@pytest.mark.parametrize("emission", EMISSIONS)
def test_em_of_twins_is_that_of_one_process_with_all_series(emission, monkeypatch):
    data = Sequences(observations(emission), np.array([0, 10, 30]))
    guess = np.repeat([0, 1, 0], 10)
    monkeypatch.setattr(starts, "cluster_labels", lambda features, *_: np.resize(guess, len(features)))
    found = []
    for series, sharing in ((data, Twin()), (data[np.array([0, 1, 0, 1])], ALONE)):
        model = HSMM(num_states=2, emission=emission, num_starts=1)
        batch = read_batch(series, EMISSIONS[emission])
        model.n_features_in_ = agree_on_size(EMISSIONS[emission], batch, sharing)
        step = model._new_step(batch, EMISSIONS[emission], np.random.default_rng(0), sharing)
        losses = [step(None, 1.0)["loss"] for _ in range(3)]
        found.append({**step.parameters, "losses": torch.tensor(losses), "longest": torch.tensor(step.chain.longest)})
    for name, value in found[1].items():
        torch.testing.assert_close(found[0][name], value, rtol=1e-9, atol=1e-12)


def test_one_process_with_a_share_of_everything_learns_what_it_would_without(tmp_path):
    data = Sequences(observations("gaussian"), np.array([0, 10, 30]))
    settings = {"num_states": 2, "num_starts": 2, "start_epochs": 2, "epochs": 4}
    shared = HSMM(**settings).fit(Share(data), Share(data[:1]), checkpoint=tmp_path / "shared")
    whole = HSMM(**settings).fit(data, data[:1])
    for name, value in whole.parameters_.items():
        np.testing.assert_allclose(shared.parameters_[name], value, rtol=1e-7, atol=1e-12)
    assert shared.history_["epochs"][-1]["valid_loglik"] == pytest.approx(
        whole.history_["epochs"][-1]["valid_loglik"], rel=1e-7
    )


def test_moments_are_those_of_all_rows():
    values = np.array([[1e8, 1.0], [1e8 + 1, np.nan], [1e8 + 3, 4.0]])
    mean, variance = moments(values)
    np.testing.assert_array_equal(mean, np.nanmean(values, axis=0))
    np.testing.assert_array_equal(variance, np.nanvar(values, axis=0))
    for found, expected in zip(moments(values, Twin()), (mean, variance), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-14)


def test_several_tensors_go_round_at_once():
    counts = [torch.ones(2, 3, dtype=torch.double), torch.full((1,), 2.0, dtype=torch.double)]
    assert [total.tolist() for total in add_up_tensors(counts, Twin())] == [[[2.0] * 3] * 2, [4.0]]
    assert add_up_tensors(counts, None) == add_up_tensors(counts, ALONE) == counts
    assert largest(3, None) == largest(3, ALONE) == 3


@pytest.mark.parametrize("sample", [1000, 6])
def test_clusters_are_those_of_everybodys_steps(sample, monkeypatch):
    monkeypatch.setattr(starts, "LARGEST_SAMPLE", sample)
    sizes = []

    class Counting(Twin):
        def gather(self, values: np.ndarray) -> np.ndarray:
            sizes.append(2 * len(values))
            return np.concatenate([values, values + 10.0])  # the other process has other clusters

    features = np.repeat([[0.0], [1.0]], 10, axis=0)
    labels = cluster_labels(features, np.zeros(20, dtype=bool), 2, np.random.default_rng(0), Counting())
    assert len(set(labels.tolist())) == 1, "beside the other process's, these are one"
    assert sizes == [min(sample, 40)]
    assert mean_run(np.array([0, 0, 1, 1]), np.array([0, 2, 4]), Twin()) == 2.0


def test_ridge_and_matching_see_all_rows():
    rng = np.random.default_rng(0)
    rows = [torch.from_numpy(rng.random((8, width))) for width in (2, 3, 3)]
    usual = torch.zeros(3, dtype=torch.double)
    shared = weighted_ridge(*rows, usual, Twin())
    whole = weighted_ridge(*(torch.cat([values, values]) for values in rows), usual)
    torch.testing.assert_close(shared.intercept, whole.intercept)
    torch.testing.assert_close(shared.weights, whole.weights)
    assert match_labels(np.array([1, 1, 0]), np.array([0, 0, 1]), Twin()) == {0: 1, 1: 0}


def test_processes_must_agree_on_dimensions_and_features():
    batch = read_batch(Sequences(np.zeros((3, 2)), np.array([0, 3]), features=np.ones((1, 2))), EMISSIONS["gaussian"])
    with pytest.raises(ValueError, match="must have the same dimensions on every process, got 2 here and 3 elsewhere"):
        agree_on_size(EMISSIONS["gaussian"], batch, Twin(more=1))
    with pytest.raises(ValueError, match="features must be as many on every process, got 2 here and 3 elsewhere"):
        feature_dim_of(batch, Twin(more=1))
    events = read_batch(Sequences(np.array([0, 1]), np.array([0, 2])), EMISSIONS["categorical"])
    assert agree_on_size(EMISSIONS["categorical"], events, Twin(more=3)) == 5, "categories this process has not seen"
