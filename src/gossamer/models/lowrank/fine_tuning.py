"""Training on after a network has been compressed, by what the whole one answers or by a loss, through the one loop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR

from gossamer.core.checks import check_int, check_real
from gossamer.models.lowrank.admission import check_pass, copy_of
from gossamer.models.lowrank.answers import Guide, distance_to_answers, one_number
from gossamer.models.lowrank.batches import Batch, check_data, divided, num_rows
from gossamer.models.lowrank.counting import evaluating
from gossamer.models.lowrank.report import CompressionReport

if TYPE_CHECKING:
    from gossamer.data.batching import Batches
    from gossamer.training.history import History

# The distance to answers is a share of their variance, so that its gradients are small beside those of other losses.
DISTANCE_RATE, OTHER_RATE = 0.1, 0.01
CLIP_NORM = 5.0
TRIED_STEPS = 10  # what momentum of 0.9 needs to come to its full length
CUT, MOST_CUTS = 4.0, 10
SPIKE = 2.0  # of the loss before the first step: a network that comes to more on the way is thrown away


def fine_tune(
    small: nn.Module,
    *,
    data: Iterable[Any],
    whole: nn.Module | None = None,
    loss: Guide | None = None,
    steps: int = 1000,
    learning_rate: float | None = None,
    random_state: int | None = 0,
) -> nn.Module:
    """Return a copy of `small`, which `compress` or `prune` returned, trained on `steps` batches of `data`.

    With `whole`, the network that was compressed, its answers stand in the place of targets, which are not needed then:
    what it has learned from data that are not here is kept. `loss(output, target)` is minimised, by default the
    distance to the answers; `class_distance` is for scores of classes that the copy is too small to repeat. Without
    `whole` a loss must be given. `data` are training data with their augmentation, read again when they end. All
    parameters are trained by SGD with momentum, the rate falling from `learning_rate` to zero. If it is None it is 0.1
    by distance and 0.01 by other losses, or less where `steady_rate` says that a step would throw the network away.

    >>> model = nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4))
    >>> data = [torch.randn(64, 32) for _ in range(3)]
    >>> from gossamer.models.lowrank import Budget, compress
    >>> small = compress(model, data=data, budget=Budget(macs=0.5), allocator="pos_cvx")
    >>> tuned = fine_tune(small, data=data, whole=model, steps=20)
    >>> tuned.compression_report.share("macs") <= 0.5
    True
    """
    _check_networks(small, whole, loss)
    check_data(data)
    check_int("steps", steps, at_least=1)
    criterion = distance_to_answers if loss is None else loss
    if learning_rate is not None:
        check_real("learning_rate", learning_rate, above=0)
    reader = _read(data, needs_targets=whole is None)
    first = next(reader)
    network = copy_of(small)
    check_pass(copy_of(network), first)
    modes = {module: module.training for module in network.modules()}

    def batches() -> Iterator[Batch]:
        yield first
        yield from reader

    def targeted(some: Iterator[Batch]) -> Iterator[Batch]:
        return some if whole is None else _answered(some, whole)

    rate = learning_rate or steady_rate(network, next(targeted(iter([first]))), criterion)
    found = targeted(batches())
    _train(network, found, num_rows(first), criterion, steps, rate, random_state)
    for module, mode in modes.items():
        module.training = mode
    return network


def steady_rate(network: nn.Module, batch: Batch, criterion: Guide) -> float:
    """Return the learning rate to begin with: the usual one, or a shorter one that brings the loss of a batch down.

    It is at most loss / ‖gradient‖² on that batch: a step of that length (Polyak's) would bring the loss to zero if it
    were linear, and one that is much longer goes where nothing is known of it (Loizou et al., *Stochastic Polyak
    step-size for SGD*, 2021, bound steps so). Momentum and curvature may still make it too long, above all without
    batch norms; it is tried on a copy of the network for some steps, and cut where the loss is higher after them, or
    twice as high on the way: a network that was thrown away may still end lower, by one answer to everything.

    >>> from torch.nn.functional import mse_loss
    >>> network, batch = nn.Linear(1, 1, bias=False), ((torch.tensor([[10.0]]),), torch.tensor([[0.0]]))
    >>> with torch.no_grad():
    ...     _ = network.weight.fill_(1.0)
    >>> steady_rate(network, batch, mse_loss)  # a loss of 100 and a gradient of 200
    0.0025
    """
    rate = DISTANCE_RATE if criterion is distance_to_answers else OTHER_RATE
    rate = min(rate, _polyak_step(network, batch, criterion))
    for _ in range(MOST_CUTS):
        losses = _tried(network, batch, criterion, rate)
        # What is not a number is not lower, either; a loss may be below zero.
        if losses[-1] <= losses[0] and all(loss - losses[0] <= (SPIKE - 1) * abs(losses[0]) for loss in losses):
            break
        rate /= CUT
    return rate


def _polyak_step(network: nn.Module, batch: Batch, criterion: Guide) -> float:
    """Return loss / ‖gradient‖²; a loss that is negative, or nothing at all, or has no gradient, sets no bound."""
    copy, (inputs, target) = copy_of(network), batch
    learned = _optimiser(copy, 1.0).param_groups[0]["params"]
    with torch.enable_grad(), evaluating(copy, batch_statistics=True):
        loss = one_number(criterion(copy(*inputs), target))
        gradients = torch.autograd.grad(loss, learned, allow_unused=True) if loss.requires_grad else ()
    square = sum(float(gradient.double().square().sum()) for gradient in gradients if gradient is not None)
    step = float(loss.detach()) / square if square > 0 else 0.0
    return step if step > 0 else math.inf


def _tried(network: nn.Module, batch: Batch, criterion: Guide, rate: float) -> list[float]:
    """Return the losses of a batch before each of some steps on it, and after them."""
    copy, (inputs, target) = copy_of(network), batch
    optimiser = _optimiser(copy, rate)
    losses: list[float] = []
    with torch.enable_grad(), evaluating(copy, batch_statistics=True):
        for number in range(TRIED_STEPS + 1):
            optimiser.zero_grad()
            loss = one_number(criterion(copy(*inputs), target))
            losses.append(float(loss.detach()))
            if number == TRIED_STEPS or not loss.requires_grad or not math.isfinite(losses[-1]):
                break
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(optimiser.param_groups[0]["params"], CLIP_NORM)
            optimiser.step()
    return losses


def learn(
    network: nn.Module,
    batches: Batches[Batch],
    criterion: Callable[[Any, Any], Tensor],
    *,
    epochs: int,
    learning_rate: float,
    random_state: int | None,
    description: str,
) -> History:
    """Train all parameters by SGD with momentum, the rate falling along a cosine to zero.

    After a split the two factors of a layer are parameters like any other. `criterion` is what is minimised, of the
    network's output and a batch's target.
    """
    from gossamer.training.devices import make_fabric, process_count
    from gossamer.training.loop import fit
    from gossamer.training.step import GradientStep

    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    optimiser = _optimiser(network, learning_rate)
    total = epochs * batches.count(process_count())
    scheduler = LambdaLR(optimiser, lambda update: 0.5 * (1 + math.cos(math.pi * min(1.0, update / total))))

    def loss(module: nn.Module, batch: Batch, _: torch.Generator) -> Tensor:
        inputs, target = batch
        return one_number(criterion(module(*inputs), target))

    step = GradientStep(network, loss, optimiser, scheduler=scheduler, clip_norm=CLIP_NORM, random_state=random_state)
    fabric = make_fabric(device="cuda" if learned[0].is_cuda else "cpu")
    with channels_last(network):
        return fit(step, batches, epochs=epochs, description=description, fabric=fabric)


def _optimiser(network: nn.Module, rate: float) -> torch.optim.SGD:
    learned = [parameter for parameter in network.parameters() if parameter.requires_grad]
    return torch.optim.SGD(learned, lr=rate, momentum=0.9, nesterov=True, weight_decay=1e-4)


@contextmanager
def channels_last(network: nn.Module) -> Iterator[None]:
    """Lay the kernels of images out with channels last in this block, in which a CPU trains faster.

    Responses follow the layout of kernels. It is a matter of memory alone: shapes and values stay.
    """
    kernels = [module.weight for module in network.modules() if isinstance(module, nn.Conv2d)]
    _lay_out_(kernels, torch.channels_last)
    try:
        yield
    finally:
        _lay_out_(kernels, torch.contiguous_format)


def _lay_out_(kernels: list[Tensor], layout: torch.memory_format) -> None:
    for kernel in kernels:
        kernel.data = kernel.data.contiguous(memory_format=layout)


def _train(
    network: nn.Module,
    found: Iterator[Batch],
    rows: int,
    criterion: Callable[[Any, Any], Tensor],
    steps: int,
    rate: float,
    random_state: int | None,
) -> None:
    """Make `steps` updates; the loop counts rows as if all batches had those of the first."""
    from gossamer.data.batching import Batches

    batches = Batches(lambda _: next(found), steps * rows, rows, shuffle=False, random_state=random_state)
    learn(
        network,
        batches,
        criterion,
        epochs=1,
        learning_rate=rate,
        random_state=random_state,
        description="fine-tuning",
    )


def _read(data: Iterable[Any], *, needs_targets: bool) -> Iterator[Batch]:
    """Yield batches for as long as they are asked for; nothing is kept, so that each reading is augmented anew."""
    iterator, count = iter(data), 0
    is_one_shot = iterator is data
    while True:
        before = count
        for batch in iterator:
            count += 1
            yield divided(batch, needs_targets=needs_targets)
        if count == 0:
            raise ValueError("data must have at least one batch, got none")
        if is_one_shot or count == before:
            raise ValueError(
                f"data must have as many batches as there are steps, got {count} before it ended; pass a list or a "
                "DataLoader, which can be read again, or ask for fewer steps"
            )
        iterator = iter(data)


def _answered(batches: Iterator[Batch], whole: nn.Module) -> Iterator[Batch]:
    for inputs, _ in batches:
        with torch.no_grad(), evaluating(whole):
            answers = whole(*inputs)
        yield inputs, answers


def _check_networks(small: object, whole: object, loss: object) -> None:
    if not isinstance(small, nn.Module):
        raise ValueError(f"small must be an nn.Module that compress returned, got {type(small).__name__}")
    if whole is not None and not isinstance(whole, nn.Module):
        raise ValueError(f"whole must be an nn.Module, the one that was compressed, got {type(whole).__name__}")
    if loss is not None and not callable(loss):
        raise ValueError(f"loss must be a function of (output, target), got {loss!r}")
    if whole is None and loss is None:
        raise ValueError("whole, for its answers, or a loss must be given, got neither")
    if whole is small:
        raise ValueError("whole must be the network that was compressed, got small itself, whose answers it has")
    report = getattr(small, "compression_report", None)
    if isinstance(report, CompressionReport) and report.folded:
        raise ValueError(
            f"small must have its batch norms to be trained, got one with {len(report.folded)} of them folded; "
            "fine-tune what compress returns with fold='later', and fold it after that, by fold_norms"
        )
    if not any(parameter.requires_grad for parameter in small.parameters()):
        raise ValueError("small must have parameters that require a gradient, got none that does")
    if torch.is_inference_mode_enabled():
        raise ValueError("fine-tuning needs gradients, got torch.inference_mode(); call it outside of that")
