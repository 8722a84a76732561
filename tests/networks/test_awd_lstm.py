from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from gossamer.networks.awd_lstm import AWDLSTM, locked_dropout

NO_DROPOUT = {"dropout": 0, "layer_dropout": 0, "input_dropout": 0, "word_dropout": 0, "weight_dropout": 0}


def test_without_dropout_it_is_a_stack_of_lstms():
    network = AWDLSTM(nn.Embedding(7, 4), hidden_dim=6, num_layers=3, **NO_DROPOUT)
    tokens = torch.randint(7, (2, 5))
    vectors = network.embedding(tokens)
    for layer in network.layers:
        vectors, _ = layer(vectors)
    logits, _ = network(tokens)
    torch.testing.assert_close(logits, vectors @ network.embedding.weight.t())
    first, state = network(tokens[:, :3], network.new_state(2))
    second, _ = network(tokens[:, 3:], state)
    torch.testing.assert_close(torch.cat([first, second], dim=1), logits)


def test_penalty_is_ar_and_tar():
    network = AWDLSTM(nn.Embedding(7, 4), hidden_dim=6, num_layers=2, activation=2.0, temporal=3.0, **NO_DROPOUT)
    hidden, _ = network.hidden(torch.randint(7, (2, 5)))
    steps = hidden[:, 1:] - hidden[:, :-1]
    expected = 2 * hidden.square().mean() + 3 * steps.square().mean()
    torch.testing.assert_close(network.activation_penalty(), expected)


def test_locked_dropout_keeps_one_mask_for_all_steps():
    dropped = locked_dropout(torch.ones(20, 5, 50), 0.4)
    assert (dropped == dropped[:, :1]).all()
    assert dropped.mean().item() == pytest.approx(1.0, abs=0.1)
    assert torch.equal(locked_dropout(torch.ones(2, 3, 4), 0.4, training=False), torch.ones(2, 3, 4))


def test_weight_dropout_changes_only_recurrent_weights_for_one_pass():
    network = AWDLSTM(nn.Embedding(7, 4), hidden_dim=6, num_layers=2, **{**NO_DROPOUT, "weight_dropout": 0.5})
    before = {name: value.clone() for name, value in network.state_dict().items()}
    tokens = torch.randint(7, (2, 5))
    one_step = [network.hidden(tokens[:, :1])[0] for _ in range(2)]
    torch.testing.assert_close(*one_step)  # the first step has no recurrence
    assert not torch.equal(network.hidden(tokens)[0], network.hidden(tokens)[0])
    network.hidden(tokens)[0].sum().backward()
    assert network.layers[0].weight_hh_l0.grad.abs().sum() > 0
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())
    network.eval()
    assert torch.equal(network.hidden(tokens)[0], network.hidden(tokens)[0])


def test_a_trained_network_can_be_copied():
    network = AWDLSTM(nn.Embedding(7, 4), hidden_dim=6, num_layers=2)
    tokens = torch.randint(7, (2, 5))
    network.hidden(tokens)
    penalty = network.activation_penalty()
    assert penalty.requires_grad
    again = copy.deepcopy(network.eval())
    assert torch.equal(again(tokens)[0], network(tokens)[0])
    assert torch.equal(network.activation_penalty(), penalty)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"weight_dropout must be a finite number >= 0 and < 1, got 1"):
        AWDLSTM(nn.Embedding(7, 4), weight_dropout=1)
    with pytest.raises(ValueError, match=r"activation must be a finite number >= 0, got -1"):
        AWDLSTM(nn.Embedding(7, 4), activation=-1)
