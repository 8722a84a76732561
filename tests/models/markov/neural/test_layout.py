"""Parameters and their vectors: there and back, within their constraints."""

from __future__ import annotations

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_series import GAUSSIAN, tiny_parameters

from gossamer.models.markov.neural.layout import Layout, inverse_softplus


def layout_of(num_states: int, num_dimensions: int) -> Layout:
    usual = {
        "duration.rates": torch.full((1, num_states), 4.0, dtype=torch.double),
        "emission.means": torch.randn(1, num_states, num_dimensions, dtype=torch.double),
        "emission.variances": torch.ones(1, num_states, num_dimensions, dtype=torch.double),
    }
    return Layout(num_states, GAUSSIAN.shapes(num_states, num_dimensions), usual)


@settings(max_examples=20, deadline=None)
@given(st.integers(2, 5), st.integers(1, 3), st.integers(1, 4), st.integers(0, 1000))
def test_vectors_are_parameters_and_come_back(num_states, num_dimensions, num_series, seed):
    layout = layout_of(num_states, num_dimensions)
    generator = torch.Generator().manual_seed(seed)
    vectors = 2 * torch.randn(num_series, layout.size, dtype=torch.double, generator=generator)
    parameters = layout.unpack(vectors)
    torch.testing.assert_close(parameters["initial"].sum(-1), torch.ones(num_series, dtype=torch.double))
    torch.testing.assert_close(parameters["transition"].sum(-1), torch.ones(num_series, num_states).double())
    assert (parameters["transition"].diagonal(dim1=1, dim2=2) == 0).all()
    assert (parameters["duration.rates"] > 0).all()
    assert (parameters["emission.variances"] > 0).all()
    again = layout.unpack(layout.pack(parameters))
    for name, value in parameters.items():
        torch.testing.assert_close(again[name], value, rtol=2e-2, atol=2e-3, msg=name)


def test_usual_parameters_come_back_exactly():
    layout = Layout(2, GAUSSIAN.shapes(2, 1), tiny_parameters())
    again = layout.unpack(layout.pack(tiny_parameters(3)))
    for name, value in tiny_parameters(3).items():
        torch.testing.assert_close(again[name], value, rtol=1e-6, atol=1e-9, msg=name)


def test_packing_has_gradients():
    layout = layout_of(3, 2)
    vectors = torch.randn(2, layout.size, dtype=torch.double, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: tuple(layout.unpack(x).values()), (vectors,))
    assert torch.autograd.gradcheck(lambda x: layout.pack(layout.unpack(x)), (vectors,))


def test_spread_says_which_state_an_element_belongs_to():
    layout = Layout(2, GAUSSIAN.shapes(2, 1), tiny_parameters())
    counts = layout.spread(torch.tensor([[3.0, 5.0]]))
    assert counts.tolist() == [[8, 8, 3, 5, 3, 5, 3, 5, 3, 5]]  # initial, transition, rates, means, variances


def test_inverse_softplus():
    x = torch.linspace(-8, 30, 50, dtype=torch.double)
    torch.testing.assert_close(inverse_softplus(torch.nn.functional.softplus(x)), x)
