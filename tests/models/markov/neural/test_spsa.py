"""Simultaneous perturbation: theorem 1 without and with chance."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
import torch
from tiny_series import tiny_batch, tiny_parameters, tiny_problem, tiny_series

from gossamer.models.markov.neural.network import em_function
from gossamer.models.markov.neural.spsa import spsa, spsa_vector_product

NUM_ELEMENTS = 10


def em_of_one_series(copies: int):
    """Return the EM layer of one series, as a function of `copies` rows of vectors, and the vector it is judged at."""
    batch = tiny_batch(num_series=1, length=6)
    many = batch._replace(values=np.tile(batch.values, (copies, 1)), offsets=np.arange(copies + 1) * 6)
    problem = tiny_problem(batch, longest=6)
    layer = em_function(tiny_series(many), problem)
    return (lambda x: layer(x)[0]), problem.layout.pack(tiny_parameters())


def exact_jacobian() -> torch.Tensor:
    layer, vector = em_of_one_series(1)
    return torch.autograd.functional.jacobian(lambda x: layer(x[None])[0], vector[0])


def expected_jacobian(c: float) -> torch.Tensor:
    """Return E Ĵ (4.16) over all 2^M directions, each as likely as the others: no Monte-Carlo error."""
    signs = torch.tensor(list(product([-1.0, 1.0], repeat=NUM_ELEMENTS)), dtype=torch.double)
    layer, vector = em_of_one_series(len(signs))
    difference = (layer(vector + c * signs) - layer(vector - c * signs)) / (2 * c)
    return torch.einsum("ni,nj->ij", difference, signs) / len(signs)


def test_theorem_1_the_bias_is_of_order_c_squared():
    exact = exact_jacobian()
    errors = [float((expected_jacobian(c) - exact).norm()) for c in (0.2, 0.1, 0.05)]
    assert errors[2] < 0.05 * float(exact.norm())
    for coarse, fine in pairwise(errors):
        assert 3.4 < coarse / fine < 4.6  # halving c quarters the error


def test_what_is_random_falls_with_the_root_of_the_draws():
    exact = exact_jacobian()
    layer, vector = em_of_one_series(NUM_ELEMENTS)
    identity, many = torch.eye(NUM_ELEMENTS, dtype=torch.double), vector.repeat(NUM_ELEMENTS, 1)
    errors = []
    for draws in (25, 400):
        generator = torch.Generator().manual_seed(0)
        found = spsa_vector_product(layer, many, identity, perturbations=draws, c=0.01, generator=generator)
        errors.append(float((found - exact).norm()))
    assert 2.5 < errors[0] / errors[1] < 6.5  # four in theory


def test_backward_is_the_vector_product_and_forward_the_layer():
    layer, vector = em_of_one_series(1)
    inputs = vector.clone().requires_grad_()
    out = spsa(layer, inputs, perturbations=3, c=0.01, generator=torch.Generator().manual_seed(5))
    torch.testing.assert_close(out.detach(), layer(vector))
    weights = torch.linspace(-1, 1, NUM_ELEMENTS, dtype=torch.double)[None]
    (out * weights).sum().backward()
    drawing = {"perturbations": 3, "c": 0.01, "generator": torch.Generator().manual_seed(5)}
    torch.testing.assert_close(inputs.grad, spsa_vector_product(layer, vector, weights, **drawing))


def test_arguments_are_checked():
    drawing = {"generator": torch.Generator()}
    with pytest.raises(ValueError, match="perturbations must be an integer >= 1, got 0"):
        spsa(torch.square, torch.ones(1, 1), perturbations=0, c=0.1, **drawing)
    with pytest.raises(ValueError, match=r"c must be .* > 0, got 0"):
        spsa(torch.square, torch.ones(1, 1), perturbations=1, c=0, **drawing)
