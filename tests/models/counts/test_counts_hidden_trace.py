import pytest
import torch
from refinement_problems import HIDDEN, decoder_of
from torch.autograd.functional import jacobian

from gossamer.models.counts.hidden_trace import trace_hidden


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
@pytest.mark.parametrize("hidden_dims", HIDDEN)
def test_both_directions_are_products_with_autograds_jacobian(hidden_dims, activation):
    decoder = decoder_of(hidden_dims, activation=activation)
    z = torch.randn(4, 3, dtype=torch.float64)
    traced = trace_hidden(decoder, z)
    torch.testing.assert_close(traced.hidden, decoder.hidden(z).detach())
    jacobians = torch.stack([jacobian(decoder.hidden, row) for row in z])  # (4, H, 3)
    gradients, directions = torch.randn(2, 4, traced.hidden.shape[1]).double(), torch.randn(2, 4, 3).double()
    torch.testing.assert_close(traced.pull_back(gradients), torch.einsum("rbh,bhk->rbk", gradients, jacobians))
    torch.testing.assert_close(traced.push_forward(directions), torch.einsum("rbk,bhk->rbh", directions, jacobians))
    assert not traced.hidden.requires_grad


def test_rows_can_be_taken_out_and_replaced():
    decoder = decoder_of((6, 7))
    z = torch.randn(4, 3, dtype=torch.float64)
    traced, vector = trace_hidden(decoder, z), torch.randn(4, 7, dtype=torch.float64)
    rows = torch.tensor([2, 0])
    torch.testing.assert_close(traced.take(rows).pull_back(vector[rows]), traced.pull_back(vector)[rows])
    changed = z.clone()
    changed[rows] += 1
    traced.put(rows, trace_hidden(decoder, changed[rows]))
    expected = trace_hidden(decoder, changed)
    torch.testing.assert_close(traced.hidden, expected.hidden)
    torch.testing.assert_close(traced.pull_back(vector), expected.pull_back(vector))


@pytest.mark.parametrize("activation", ["relu", "tanh", "softplus"])
def test_bends_are_second_derivatives_of_a_smoothed_layer(activation):
    """With one hidden layer and variances held fixed, ∂²/∂z_k² of g·h̃(z) is Σ_i g_i f''_i A_ik²."""
    decoder = decoder_of((7,), activation=activation)
    z, gradient = torch.randn(2, 3, dtype=torch.float64), torch.randn(2, 7, dtype=torch.float64)
    spreads = [torch.full((2, 7), 0.6, dtype=torch.float64)]
    traced = trace_hidden(decoder, z, spreads)
    found = traced.bend_along(gradient, [decoder.layers[0].weight.detach().square().T])
    small = 1e-5
    for k in range(3):
        shift = torch.zeros(3, dtype=torch.float64)
        shift[k] = small
        ahead, behind = (trace_hidden(decoder, z + sign * shift, spreads).pull_back(gradient) for sign in (1, -1))
        # By quadrature, f'' is only as exact as Stein's identity is under it.
        tolerance = 1e-6 if activation == "relu" else 2e-2
        torch.testing.assert_close(found[:, k], (ahead - behind)[:, k] / (2 * small), atol=tolerance, rtol=tolerance)


def test_smoothed_layers_are_taken_out_and_replaced_whole():
    decoder = decoder_of((6, 7))
    z = torch.randn(4, 3, dtype=torch.float64)
    spreads = [torch.rand(4, 6).double(), torch.rand(4, 7).double()]
    rows = torch.tensor([3, 1])
    traced, part = (
        trace_hidden(decoder, z, spreads),
        trace_hidden(decoder, z[rows], [spread[rows] for spread in spreads]),
    )
    for mine, theirs in zip(traced.take(rows).bends, part.bends, strict=True):
        torch.testing.assert_close(mine, theirs)
    other = trace_hidden(decoder, z - 1, spreads)
    other.put(rows, part)
    torch.testing.assert_close(other.bends[1][rows], part.bends[1])
    assert not trace_hidden(decoder, z).bends
