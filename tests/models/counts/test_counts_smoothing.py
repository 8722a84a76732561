import numpy as np
import pytest
import torch
from scipy import integrate, stats

from gossamer.models.counts.module import ACTIVATIONS
from gossamer.models.counts.smoothing import slope_of, smooth


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize(("mean", "variance"), [(0.0, 1.0), (-1.3, 0.2), (2.0, 0.7), (0.4, 1e-4)])
def test_averages_are_those_of_numerical_integration(activation, mean, variance):
    function = ACTIVATIONS[activation]

    def expected(of):
        spread = np.sqrt(variance)
        density = stats.norm(mean, spread).pdf
        ends = mean - 9 * spread, mean + 9 * spread
        points = [0.0] if ends[0] < 0 < ends[1] else None
        return integrate.quad(lambda a: of(torch.tensor(a, dtype=torch.float64)) * density(a), *ends, points=points)[0]

    place = torch.tensor([[mean]], dtype=torch.float64), torch.tensor([[variance]], dtype=torch.float64)
    value, slope, bend = (part.item() for part in smooth(function, *place))
    assert value == pytest.approx(expected(lambda a: function(a).item()), abs=2e-3)
    assert slope == pytest.approx(expected(lambda a: slope_of(function, a)[1].item()), abs=5e-3)
    by_stein = expected(lambda a: (slope_of(function, a)[1] * (a - mean) / variance).item())
    assert bend == pytest.approx(by_stein, abs=2e-2 if activation != "relu" else 1e-6)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slope_and_bend_are_derivatives_in_mean_and_variance(activation):
    def value(mean, variance):
        return smooth(ACTIVATIONS[activation], mean, variance)[0]

    mean, variance = torch.linspace(-2, 2, 9).double().view(3, 3), torch.linspace(0.1, 2, 9).double().view(3, 3)
    _, slope, bend = smooth(ACTIVATIONS[activation], mean, variance)
    small = 1e-5
    in_mean = (value(mean + small, variance) - value(mean - small, variance)) / (2 * small)
    in_variance = (value(mean, variance + small) - value(mean, variance - small)) / (2 * small)
    torch.testing.assert_close(slope, in_mean, atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(bend / 2, in_variance, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_without_variance_the_activation_itself(activation):
    mean = torch.tensor([[-2.0, -0.5, 0.3, 4.0]])
    value, slope, bend = smooth(ACTIVATIONS[activation], mean, torch.zeros_like(mean))
    plain, plain_slope = slope_of(ACTIVATIONS[activation], mean)
    torch.testing.assert_close(value, plain, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(slope, plain_slope, atol=1e-5, rtol=1e-5)
    assert bool(bend.isfinite().all())
    assert torch.equal(mean, torch.tensor([[-2.0, -0.5, 0.3, 4.0]]))


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slope_is_autograds(activation):
    place = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    (expected,) = torch.autograd.grad(ACTIVATIONS[activation](place).sum(), place)
    value, slope = slope_of(ACTIVATIONS[activation], place.detach())
    torch.testing.assert_close(slope, expected)
    assert torch.equal(value, ACTIVATIONS[activation](place.detach()))
