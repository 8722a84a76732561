from __future__ import annotations

import torch

from gossamer.models.embeddings.rivals.dense import DenseEmbedding
from gossamer.models.embeddings.text.lm_streams import TableStreamLoss
from gossamer.networks.awd_lstm import AWDLSTM


class Charged(DenseEmbedding):
    """A table that costs 40 per epoch."""

    def penalty(self) -> torch.Tensor:
        return torch.tensor(40.0)


def test_penalties_of_table_and_network_are_added():
    model = AWDLSTM(Charged(9, 4), hidden_dim=4, num_layers=1)
    found = TableStreamLoss(model, num_lanes=4, num_tokens=80)(torch.randint(9, (4, 6)), True)
    torch.testing.assert_close(found["loss"] - found["cross_entropy"], model.activation_penalty() + 0.5)
