from __future__ import annotations

import pytest
import torch
from lightning_fabric import Fabric
from torch import Tensor, nn

from gossamer.training import GradientStep, make_fabric


def squared_error(module: nn.Module, batch: Tensor, generator: torch.Generator) -> Tensor:
    return (module(batch) - 1).square().mean()


def linear() -> nn.Linear:
    module = nn.Linear(3, 1)
    nn.init.constant_(module.weight, 0.5)
    nn.init.zeros_(module.bias)
    return module


def gradient_step(module: nn.Module, loss=squared_error, lr: float = 0.1, **options) -> GradientStep:
    step = GradientStep(module, loss, torch.optim.SGD(module.parameters(), lr=lr), **options)
    step.setup(make_fabric())
    return step


BATCH = torch.arange(12.0).reshape(4, 3) / 12


def test_one_update_is_one_gradient_step():
    module, reference = linear(), linear()
    step = gradient_step(module)
    scalars = step(BATCH, 1.0)
    loss = (reference(BATCH) - 1).square().mean()
    loss.backward()
    assert scalars["loss"].item() == pytest.approx(loss.item())
    assert not scalars["loss"].requires_grad
    torch.testing.assert_close(module.weight, reference.weight - 0.1 * reference.weight.grad)
    assert step.num_updates == 1


def test_weight_scales_the_gradient_and_not_the_reported_loss():
    whole, half = linear(), linear()
    reported = [gradient_step(module)(BATCH, weight) for module, weight in ((whole, 1.0), (half, 0.5))]
    torch.testing.assert_close(half.weight - 0.5, 0.5 * (whole.weight - 0.5))
    assert reported[0] == reported[1]


def test_dropout_depends_on_seed_and_update_and_leaves_the_global_generator_alone():
    def train(random_state: int) -> Tensor:
        module = nn.Sequential(nn.Dropout(0.5), linear())
        step = gradient_step(module, random_state=random_state)
        for _ in range(3):
            before = torch.get_rng_state()
            step(BATCH, 1.0)
            assert torch.equal(before, torch.get_rng_state())
            torch.rand(1)
        return module[1].weight.detach()

    first = train(0)
    assert torch.equal(first, train(0))  # from another state of the global generator
    assert not torch.equal(first, train(1))


def test_the_generator_gives_new_numbers_each_update():
    drawn = []

    def loss(module: nn.Module, batch: Tensor, generator: torch.Generator) -> Tensor:
        drawn.append(torch.rand(1, generator=generator).item())
        return squared_error(module, batch, generator)

    step = gradient_step(linear(), loss)
    for _ in range(3):
        step(BATCH, 1.0)
    assert len(set(drawn)) == 3


def test_scheduler_steps_after_every_update_and_clipping_bounds_the_gradient():
    module = linear()
    optimiser = torch.optim.SGD(module.parameters(), lr=1.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimiser, step_size=1, gamma=0.5)
    step = GradientStep(module, squared_error, optimiser, scheduler=scheduler, clip_norm=1e-3)
    step.setup(make_fabric())
    before = nn.utils.parameters_to_vector(module.parameters()).detach().clone()
    step(BATCH, 1.0)
    after = nn.utils.parameters_to_vector(module.parameters()).detach()
    assert (after - before).norm().item() == pytest.approx(1e-3, rel=1e-3)
    assert optimiser.param_groups[0]["lr"] == 0.5


def test_training_mode_returns_after_validation():
    module = linear()
    step = gradient_step(module)
    module.eval()
    step(BATCH, 1.0)
    assert module.training


def test_state_round_trips_without_sharing_memory():
    module = linear()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    step = GradientStep(module, squared_error, optimiser)
    step.setup(make_fabric())
    step(BATCH, 1.0)
    state = step.state_dict()
    buffer = state["optimiser"]["state"][0]["momentum_buffer"].clone()
    other = gradient_step(linear())
    other.load_state_dict(state)
    for _ in range(2):
        other(BATCH, 1.0)
    assert torch.equal(state["optimiser"]["state"][0]["momentum_buffer"], buffer)
    assert other.num_updates == 3


def test_double_precision_is_an_argument_of_fabric():
    module = linear()
    step = GradientStep(module, squared_error, torch.optim.SGD(module.parameters(), lr=0.1))
    step.setup(make_fabric(precision="64-true"))
    step(BATCH.double(), 1.0)
    assert module.weight.dtype == torch.float64


def test_a_second_setup_changes_nothing():
    module, once = linear(), linear()
    step = gradient_step(module)
    step.setup(Fabric(accelerator="cpu", devices=1))
    step(BATCH, 1.0)
    gradient_step(once)(BATCH, 1.0)
    assert torch.equal(module.weight, once.weight)


def test_mistakes():
    module = linear()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.1)
    with pytest.raises(ValueError, match="clip_norm must be a finite number > 0, got 0"):
        GradientStep(module, squared_error, optimiser, clip_norm=0)
    with pytest.raises(RuntimeError, match=r"setup\(fabric\) must be called before the first step"):
        GradientStep(module, squared_error, optimiser)(BATCH, 1.0)
    with pytest.raises(ValueError, match=r"loss must return a scalar or a dict with 'loss', got \['kl'\]"):
        gradient_step(linear(), lambda *_: {"kl": torch.zeros(())})(BATCH, 1.0)
