"""Training through the one loop."""

from __future__ import annotations

import torch
from torch import nn

from gossamer.models.lowrank.classifier_training import train_classifier


def test_a_line_is_learned():
    inputs = torch.randn(64, 2)
    targets = (inputs[:, 0] > 0).long()
    network = nn.Linear(2, 2)
    history = train_classifier(
        network,
        lambda rows: (inputs[rows], targets[rows]),
        64,
        epochs=15,
        learning_rate=0.5,
        batch_size=16,
        random_state=0,
        description="training",
    )
    assert (network(inputs).argmax(dim=1) == targets).float().mean() > 0.95
    assert len(history.epochs) == 15
    assert not network.training
