from __future__ import annotations

import pytest
import torch
from tiny_sentences import all_codes, few_sentences, tiny_network

from gossamer.models.spikeslab.dial import SparsityDial
from gossamer.models.spikeslab.objective import Weights
from gossamer.models.spikeslab.training import Schedule, Training, make_batches, train_network


def trained(kind: str, tmp_path=None, epochs: int = 4, dial: SparsityDial | None = None) -> Training:
    training = Training(tiny_network(all_codes()[kind]), Weights(), Schedule(0.01, 2, epochs, None), dial)
    train_network(
        training,
        make_batches(few_sentences(), 10, 2, 0),
        random_state=0,
        validate=None,
        checkpoint=None if tmp_path is None else tmp_path / "checkpoint",
        log=None,
    )
    return training


@pytest.mark.parametrize("kind", ["joint", "vsc"])
def test_an_interrupted_training_goes_on_with_the_same_bits(kind, tmp_path):
    whole = trained(kind).state_dict()
    trained(kind, tmp_path, epochs=2)
    resumed = trained(kind, tmp_path).state_dict()
    assert all(torch.equal(value, resumed[name]) for name, value in whole.items())


def test_the_dial_turns_in_training_and_is_part_of_the_state():
    training = trained("joint", dial=SparsityDial(0.9, 4, 12, spike_scale=0.05, share=0.2))
    assert training.network.codes.log_alpha.item() != torch.tensor(4.0).log().item()
    assert "dial.hoyer" in training.state_dict()
    before = training.network.codes.log_alpha.clone()
    batch = next(iter(make_batches(few_sentences(), 10, 5, 0).epoch(0)))[0]
    scalars = training.eval()(batch, None)
    assert training.network.codes.log_alpha == before
    assert "hoyer" not in scalars
