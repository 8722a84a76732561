"""A guide for the search that needs no loss and no targets: how far the answers are from the whole network's own.

A network that knows its training data by heart has next to no loss on them, and a loss on data that it has not seen,
such as augmented ones, pulls the masks towards what the network never knew. Its own answers, right or wrong, are what
is to be kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from gossamer.models.lowrank.batches import Batch, BatchSource
from gossamer.models.lowrank.counting import evaluating

TINY = 1e-12
TEMPERATURE = 4.0
Guide = Callable[[Any, Any], Tensor]


@dataclass(frozen=True)
class ByAnswers:
    """A loss for `compress` and `prune` that compares outputs with the whole network's own, by a `distance` of both.

    Where there is no loss the distance is `distance_to_answers`, which fits any output. One that knows what outputs
    mean may keep more: `ByAnswers(class_distance)` compares classes' probabilities.
    """

    distance: Guide

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        if not callable(self.distance):
            raise ValueError(f"distance must be a function of (output, answers), got {self.distance!r}")

    def __call__(self, output: Any, answers: Any) -> Tensor:
        """Return how far an output is from the whole network's."""
        return self.distance(output, answers)


class AnsweredBatches:
    """The batches of a source, with the answers of a whole network in the place of targets."""

    def __init__(self, source: BatchSource, model: nn.Module) -> None:
        self._source, self._model = source, model
        self._kept: dict[int, Any] = {}

    def __getitem__(self, number: int) -> Batch:
        """Return batch `number` and its answers, which are kept where they are no larger than the inputs."""
        inputs, _ = self._source[number]
        if number in self._kept:
            return inputs, self._kept[number]
        with torch.no_grad(), evaluating(self._model):
            answers = self._model(*inputs)
        if _num_bytes(answers) <= _num_bytes(inputs):  # scores of 10,000 words are not
            self._kept[number] = answers
        return inputs, answers


def choose_guide(
    loss: Guide | None, source: BatchSource, model: nn.Module
) -> tuple[Guide, BatchSource | AnsweredBatches]:
    """Return what the search minimises, and the batches with what it compares with: targets or answers.

    `model` is the whole network, which nobody changes meanwhile.
    """
    guide = ByAnswers(distance_to_answers) if loss is None else loss
    if isinstance(guide, ByAnswers):
        return guide.distance, AnsweredBatches(source, model)
    return guide, source


def needs_targets(loss: Guide | None) -> bool:
    """Say whether a search by this loss compares with targets, which then must be there.

    >>> needs_targets(None), needs_targets(ByAnswers(class_distance)), needs_targets(functional.cross_entropy)
    (False, False, True)
    """
    return loss is not None and not isinstance(loss, ByAnswers)


def gives_answers(source: BatchSource | AnsweredBatches) -> bool:
    """Say whether there is a real number among the answers to the first batch."""
    return next(real_tensors(source[0][1]), None) is not None


def distance_to_answers(output: Any, answers: Any) -> Tensor:
    """Return the mean square of what the answers have changed by, as a share of their variance.

    Of outputs with several tensors each adds its own share.

    >>> distance_to_answers(torch.tensor([1.0, 4.0]), torch.tensor([1.0, 3.0]))
    tensor(0.5000)
    """
    pairs = list(zip(real_tensors(output), real_tensors(answers), strict=True))
    if not pairs:
        raise ValueError(
            f"model must return tensors of real numbers to be guided by its answers, got {type(output).__name__}; "
            "pass a loss of (output, target)"
        )
    return torch.stack([_share(*pair) for pair in pairs]).sum()


def one_number(value: Any) -> Tensor:
    """Return a loss as a scalar, or refuse one that is not a single number.

    >>> one_number(torch.ones(1, 1))
    tensor(1.)
    """
    if not isinstance(value, Tensor) or value.numel() != 1:
        shown = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        raise ValueError(f"loss must return one number as a tensor, got {shown}; take the mean over the batch")
    return value.reshape(())


def class_distance(output: Tensor, answers: Tensor) -> Tensor:
    """Return how far classes' probabilities are from those of the answers: Kullback-Leibler, softened (Hinton 2015).

    Both are scores with classes along axis 1, as for `cross_entropy`. A network too small to repeat every score can
    still agree on the classes, which `distance_to_answers` does not see.

    >>> class_distance(torch.tensor([[0.0, 8.0]]), torch.tensor([[3.0, 11.0]]))
    tensor(0.)
    """
    own, theirs = (functional.log_softmax(scores / TEMPERATURE, dim=1) for scores in (output, answers))
    each = functional.kl_div(own, theirs, reduction="none", log_target=True).sum(dim=1)
    return TEMPERATURE**2 * each.mean()


def real_tensors(output: Any) -> Iterator[Tensor]:
    """Yield the real-valued tensors of whatever a model returns.

    >>> [len(part) for part in real_tensors({"scores": torch.zeros(3), "words": (torch.arange(2), torch.ones(4))})]
    [3, 4]
    """
    if isinstance(output, Tensor):
        if output.is_floating_point():
            yield output
    elif isinstance(output, Mapping):
        for part in output.values():
            yield from real_tensors(part)
    elif isinstance(output, tuple | list):
        for part in output:
            yield from real_tensors(part)


def _share(output: Tensor, answer: Tensor) -> Tensor:
    variance = (answer - answer.mean()).square().mean()
    return (output - answer).square().mean() / variance.clamp_min(TINY)


def _num_bytes(values: Any) -> int:
    if isinstance(values, Tensor):
        return values.nbytes
    parts = values.values() if isinstance(values, Mapping) else values if isinstance(values, tuple | list) else ()
    return sum(_num_bytes(part) for part in parts)
