from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.models.markov import ragged


def test_owners_are_counted_and_counts_come_back_in_the_parameters_shape():
    shared, own = torch.zeros(1, 3), torch.zeros(4, 3, 3)
    assert [tensor.shape[0] for tensor in ragged.same_owners([shared, own])] == [4, 4]
    assert ragged.shaped_as(torch.ones(4, 3), torch.zeros(3)).tolist() == [4.0] * 3
    assert ragged.shaped_as(torch.ones(1, 3), torch.zeros(3)).tolist() == [1.0] * 3


def test_relative_emissions_tell_which_sequences_span_very_much():
    logs = np.array([[0.0, -1.0], [5.0, -1000.0], [-np.inf, -np.inf], [-np.inf, 3.0]])
    emissions, peaks, spans = ragged.relative_emissions(logs, np.array([0, 1, 2, 4]))
    assert peaks.tolist() == [0.0, 5.0, 0.0, 3.0]
    np.testing.assert_allclose(emissions, [[1.0, np.exp(-1)], [1.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    assert spans.tolist() == [False, True, False]
    with pytest.raises(ValueError, match=r"log_emissions must be finite or -inf, got NaN or \+inf"):
        ragged.relative_emissions(np.array([[np.inf]]), np.array([0, 1]))


def test_chunks_cover_every_sequence_once():
    assert ragged.chunk_bounds(5, 5).tolist() == [0, 1, 2, 3, 4, 5]
    bounds = ragged.chunk_bounds(100, 1)
    assert bounds[0] == 0
    assert bounds[-1] == 100
    assert len(bounds) == ragged.NUM_CHUNKS + 1
    assert ragged.chunk_bounds(0, 1).tolist() == [0, 0]


def test_step_size_is_relative_to_the_largest_direction():
    assert ragged.step_size([np.zeros(2), np.array([-4.0])]) == ragged.STEP / 4
    assert ragged.step_size([np.zeros(2)]) == 0.0


def test_offsets_may_be_a_tensor():
    assert ragged.check_sequences(torch.zeros(3, 2), torch.tensor([0, 1, 3])).tolist() == [0, 1, 3]
    assert ragged.sequence_numbers(torch.tensor([0, 1, 3])).tolist() == [0, 1, 1]
