from __future__ import annotations

import numpy as np
import torch

from gossamer.models.discrete.module import DiscreteNetwork
from gossamer.models.discrete.new_rows import draw_rows, length_quantiles
from gossamer.models.discrete.observations import BinaryObservation, CountObservation, Observation, RealObservation
from gossamer.models.discrete.rows import Rows
from gossamer.models.discrete.slots import SlotLatent
from gossamer.models.discrete.temperatures import Temperatures


def blind(observation: Observation) -> DiscreteNetwork:
    """Return a network whose decoder says the same of every code."""
    network = DiscreteNetwork(
        observation, SlotLatent(2, 2), Temperatures(1, "fixed", 1.0, 0.1, 1), encoder_dims=[], decoder_dims=[]
    )
    torch.nn.init.zeros_(network.decoder[0].weight)
    return network


def test_new_rows_have_the_decoders_means():
    codes, generator = torch.zeros(4000, 2), np.random.default_rng(0)
    binary = draw_rows(blind(BinaryObservation(torch.tensor([0.2, 0.7]))), codes, None, generator)
    np.testing.assert_allclose(binary.mean(axis=0), [0.2, 0.7], atol=0.04)
    real = RealObservation(torch.tensor([3.0, -1.0]), torch.tensor([2.0, 0.5]))
    drawn = draw_rows(blind(real), codes, None, generator)
    np.testing.assert_allclose(drawn.mean(axis=0), [3.0, -1.0], atol=0.2)
    np.testing.assert_allclose(drawn.std(axis=0), [2.0, 0.5], rtol=0.1)


def test_new_counts_are_as_long_as_training_rows():
    rows = Rows(np.array([[3, 0], [2, 2], [0, 0], [5, 0]], dtype=np.float32))
    quantiles = length_quantiles(rows)
    assert (quantiles[0], quantiles[-1]) == (3, 5)
    network = blind(CountObservation(torch.tensor([0.25, 0.75])))
    drawn = draw_rows(network, torch.zeros(2000, 2), quantiles, np.random.default_rng(0))
    lengths = drawn.sum(axis=1)
    assert set(lengths) <= {3, 4, 5}
    assert abs(drawn.toarray()[:, 1].sum() / lengths.sum() - 0.75) < 0.03
