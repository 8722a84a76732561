from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from sklearn.linear_model import Lasso
from torch import Tensor, nn

from gossamer.training import ProximalAdam, ProximalSGD, ProximalYogi
from gossamer.training.checkpoint import read_checkpoint, write_checkpoint
from gossamer.training.proximal import ProximalOptimiser

OPTIMISERS = {
    "sgd": lambda params, **options: ProximalSGD(params, **options),
    "momentum": lambda params, **options: ProximalSGD(params, momentum=0.9, **options),
    "adam": lambda params, **options: ProximalAdam(params, **options),
    "yogi": lambda params, **options: ProximalYogi(params, **options),
}
every_optimiser = pytest.mark.parametrize("name", OPTIMISERS)


def run(optimiser: ProximalOptimiser, weight: nn.Parameter, gradients: Tensor) -> Tensor:
    for gradient in gradients:
        weight.grad = gradient.clone()
        optimiser.step()
    return weight.detach()


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# Hand-written, one coordinate at a time, in plain Python floats.


def shrink(w: float, threshold: float, nonnegative: bool) -> float:
    if nonnegative:
        return max(w - threshold, 0.0)
    return math.copysign(max(abs(w) - threshold, 0.0), w)


def sgd_by_hand(w: float, gradients: list[float], lr: float, l1: float, nonnegative: bool, momentum: float) -> float:
    b = 0.0
    for g in gradients:
        b = momentum * b + g
        w = shrink(w - lr * b, lr * l1 / (1 - momentum), nonnegative)
    return w


def adam_by_hand(w: float, gradients: list[float], lr: float, l1: float, nonnegative: bool) -> float:
    m = v = 0.0
    for t, g in enumerate(gradients, start=1):
        m = 0.9 * m + 0.1 * g
        v = 0.999 * v + 0.001 * g * g
        d = math.sqrt(v / (1 - 0.999**t)) + 1e-8
        w = shrink(w - lr * (m / (1 - 0.9**t)) / d, lr * l1 / d, nonnegative)
    return w


def yogi_by_hand(w: float, gradients: list[float], lr: float, l1: float, nonnegative: bool) -> float:
    m, v = 0.0, 1e-6
    for g in gradients:
        m = 0.9 * m + 0.1 * g
        v = v - 0.001 * math.copysign(1.0, v - g * g) * g * g
        d = math.sqrt(v) + 1e-3
        w = shrink(w - lr * m / d, lr * l1 / d, nonnegative)
    return w


@pytest.mark.parametrize("nonnegative", [False, True])
@every_optimiser
def test_updates_are_those_written_by_hand(name, nonnegative):
    start, gradients = random(6), random(9, 6, seed=1)
    weight = nn.Parameter(start.clone())
    optimiser = OPTIMISERS[name]([weight], lr=0.05, l1=0.3, nonnegative=nonnegative)
    found = run(optimiser, weight, gradients)
    for column in range(6):
        w, g = start[column].item(), gradients[:, column].tolist()
        if name in ("sgd", "momentum"):
            expected = sgd_by_hand(w, g, 0.05, 0.3, nonnegative, 0.9 if name == "momentum" else 0.0)
        else:
            expected = (adam_by_hand if name == "adam" else yogi_by_hand)(w, g, 0.05, 0.3, nonnegative)
        assert found[column].item() == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (ProximalSGD, torch.optim.SGD),
        (lambda p, lr: ProximalSGD(p, lr, momentum=0.9), lambda p, lr: torch.optim.SGD(p, lr, momentum=0.9)),
        (ProximalAdam, torch.optim.Adam),
    ],
)
def test_without_penalty_they_are_torch_optimisers(ours, theirs):
    gradients = random(20, 3, 4, seed=1)
    first, second = nn.Parameter(random(3, 4)), nn.Parameter(random(3, 4))
    torch.testing.assert_close(run(ours([first], 0.1), first, gradients), run(theirs([second], 0.1), second, gradients))


def lasso_problem() -> tuple[Tensor, Tensor]:
    inputs = random(60, 12)
    truth = torch.tensor([2.0, -1.5, 0, 0, 0.7, 0, 0, 0, -0.4, 0, 0, 1.0], dtype=torch.float64)
    return inputs, inputs @ truth + 0.3 * random(60, seed=1)


@pytest.mark.parametrize("positive", [False, True])
@every_optimiser
def test_lasso_is_the_one_of_scikit_learn(name, positive):
    inputs, targets = lasso_problem()
    alpha = 0.2
    solved = Lasso(alpha=alpha, fit_intercept=False, positive=positive, tol=1e-12, max_iter=100_000)
    expected = solved.fit(inputs.numpy(), targets.numpy()).coef_
    assert 0 < np.count_nonzero(expected) < 12

    weight = nn.Parameter(torch.zeros(12, dtype=torch.float64).add_(0.5))
    rate = {"sgd": 0.3, "momentum": 0.05, "adam": 0.05, "yogi": 0.05}[name]
    optimiser = OPTIMISERS[name]([weight], lr=rate, l1=alpha, nonnegative=positive)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimiser, 0.995)
    for _ in range(1500):
        optimiser.zero_grad()
        (0.5 * (inputs @ weight - targets).square().mean()).backward()
        optimiser.step()
        scheduler.step()
    found = weight.detach().numpy()
    np.testing.assert_array_equal(found != 0, expected != 0)  # exact zeros, on the same support
    np.testing.assert_allclose(found, expected, atol=1e-5)


@every_optimiser
def test_a_mask_spares_the_coordinates_where_it_is_zero(name):
    gradients = random(30, 2, 3, seed=1) * 0.1
    mask = torch.tensor([[1.0], [0.0]], dtype=torch.float64)
    masked, plain, free = (nn.Parameter(random(2, 3)) for _ in range(3))
    run(OPTIMISERS[name]([masked], lr=0.1, l1=2.0 * mask), masked, gradients)
    run(OPTIMISERS[name]([plain], lr=0.1, l1=2.0), plain, gradients)
    run(OPTIMISERS[name]([free], lr=0.1, l1=0.0), free, gradients)
    torch.testing.assert_close(masked[0], plain[0])
    torch.testing.assert_close(masked[1], free[1])
    assert not bool(masked[0].detach().any())


def test_groups_have_their_own_penalties():
    first, second = nn.Parameter(torch.ones(3)), nn.Parameter(torch.ones(3))
    optimiser = ProximalSGD([{"params": [first], "l1": 1.0}, {"params": [second], "lr": 0.5}], lr=0.1)
    first.grad, second.grad = torch.zeros(3), torch.ones(3)
    optimiser.step()
    assert first.tolist() == pytest.approx([0.9] * 3)
    assert second.tolist() == pytest.approx([0.5] * 3)


def test_a_parameter_without_gradient_is_left_alone_and_a_closure_is_called():
    first, second = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimiser = ProximalAdam([first, second], lr=0.1, l1=1.0)

    def closure() -> float:
        loss = first.square().sum()
        loss.backward()
        return loss.item()

    assert optimiser.step(closure) == 2.0
    assert second.tolist() == [1.0, 1.0]
    assert first.tolist() != [1.0, 1.0]


@pytest.mark.parametrize("sparse", [False, True])
@every_optimiser
def test_state_round_trips_and_resumes_bit_for_bit(name, sparse, tmp_path):
    def make() -> tuple[nn.Embedding, ProximalOptimiser]:
        module = nn.Embedding(6, 3, sparse=sparse)
        module.weight.data = torch.linspace(-1, 1, 18).reshape(6, 3)
        mask = torch.linspace(0, 1, 6)[:, None]
        return module, OPTIMISERS[name](module.parameters(), lr=0.01, l1=mask)

    def train(module: nn.Embedding, optimiser: ProximalOptimiser, steps: range) -> None:
        for step in steps:
            optimiser.zero_grad()
            (module(torch.tensor([step % 6, 2])) - 1).square().sum().backward()
            optimiser.step()

    module, optimiser = make()
    train(module, optimiser, range(7))
    write_checkpoint({"o": optimiser.state_dict(), "m": dict(module.state_dict())}, tmp_path / "c")
    train(module, optimiser, range(7, 15))
    optimiser.catch_up()

    resumed, resumed_optimiser = make()
    state = read_checkpoint(tmp_path / "c")
    resumed.load_state_dict(state["m"])
    resumed_optimiser.load_state_dict(state["o"])
    train(resumed, resumed_optimiser, range(7, 15))
    resumed_optimiser.catch_up()
    assert torch.equal(module.weight, resumed.weight)
    for ours, theirs in zip(optimiser.state.values(), resumed_optimiser.state.values(), strict=True):
        assert ours.keys() == theirs.keys()
        for key in ours:
            assert ours[key].dtype == theirs[key].dtype
            assert torch.equal(ours[key], theirs[key])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda p: ProximalSGD(p, lr=-1.0), r"lr must be a finite number >= 0, got -1\.0"),
        (lambda p: ProximalSGD(p, momentum=1.0), r"momentum must be a finite number >= 0 and < 1, got 1\.0"),
        (lambda p: ProximalSGD(p, l1=-0.1), r"l1 must be a finite number >= 0, got -0\.1"),
        (lambda p: ProximalSGD(p, nonnegative=1), "nonnegative must be True or False, got 1"),
        (lambda p: ProximalAdam(p, betas=(0.9, 1.5)), r"betas must be a finite number >= 0 and < 1, got 1\.5"),
        (lambda p: ProximalAdam(p, betas=(0.9,)), r"betas must be a pair of numbers, got \(0\.9,\)"),
        (lambda p: ProximalAdam(p, eps=0), "eps must be a finite number > 0, got 0"),
        (lambda p: ProximalYogi(p, initial_accumulator=-1.0), "initial_accumulator must be a finite number >= 0"),
        (
            lambda p: ProximalYogi(p, l1=-torch.ones(3)),
            r"l1 must be finite and >= 0 everywhere, got a minimum of -1\.0",
        ),
        (lambda p: ProximalYogi(p, l1=torch.ones(4)), r"l1 must broadcast to its parameter \(2, 3\), got \(4,\)"),
    ],
)
def test_wrong_options(make, message):
    with pytest.raises(ValueError, match=message):
        make([nn.Parameter(torch.zeros(2, 3))])
