from __future__ import annotations

import numpy as np
import pytest
import torch

from gossamer.core.randomness import derive_seed, numpy_generator, torch_generator


def test_same_seed_gives_the_same_stream():
    assert numpy_generator(3).random() == numpy_generator(3).random()
    first, second = (torch.rand(4, generator=torch_generator(3)) for _ in range(2))
    assert torch.equal(first, second)


def test_a_generator_is_used_as_it_is():
    generator = np.random.default_rng(0)
    assert numpy_generator(generator) is generator
    before = generator.bit_generator.state["state"]["state"]
    torch_generator(generator)
    assert generator.bit_generator.state["state"]["state"] != before


@pytest.mark.parametrize("value", [-1, True, 1.5, "0"])
def test_other_values_are_refused(value):
    with pytest.raises(ValueError, match="random_state must be None, a non-negative int or a numpy Generator, got"):
        numpy_generator(value)


def test_derived_seeds_differ_by_order_type_and_value():
    seeds = {derive_seed(0, 1), derive_seed(1, 0), derive_seed(0, "1"), derive_seed(0, 1, 0), derive_seed("01")}
    assert len(seeds) == 5
    assert all(0 <= seed < 2**63 for seed in seeds)


def test_derived_seeds_are_the_same_on_every_machine():
    assert derive_seed(0, "epoch", 1) == 4431594060881242092
