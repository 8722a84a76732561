"""COBLA's allocator: SQP over the masks of all split layers at once, by the network's own loss (section 2.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from gossamer.core.checks import check_int, check_real
from gossamer.core.progress import progress_bar
from gossamer.models.lowrank.answers import AnsweredBatches, Guide, one_number
from gossamer.models.lowrank.batches import BatchSource
from gossamer.models.lowrank.counting import batch_norms, evaluating
from gossamer.models.lowrank.polishing import polish_masks
from gossamer.models.lowrank.problem import WHOLE, Problem
from gossamer.models.lowrank.rounding import keep_triplets, nearest_ranks, round_ranks
from gossamer.models.lowrank.sqp import Iteration, minimise_masks


@dataclass
class Allocation:
    """The rank of each layer, the triplets that are kept and what they are multiplied with; None where it is whole."""

    ranks: list[int]
    kept: list[np.ndarray | None]
    masks: list[np.ndarray | None]
    iterations: list[Iteration] = field(default_factory=list)


@dataclass(frozen=True)
class SearchSettings:
    """How long and how carefully masks are searched; `polish` steps follow on the chosen triplets.

    Masks end between 0 and 1, and rounding them costs much of what the search has gained. `binarise` > 0 charges
    ρ Σ m(1 − m) on top of the loss, ρ rising from 0 after a third of the iterations to `binarise` times the mean slope
    of the first gradient, so that most masks have decided themselves when they are rounded. `measured_rounds` > 0
    improve the ranks where the search starts by the curves of `sensitivity.py`, on `measured_batches` each; `prune`
    starts at POS-CVX's, whatever they are.
    """

    iterations: int = 20
    measured_rounds: int = 0
    measured_batches: int = 4
    binarise: float = 2.0
    polish: int = 60
    roundings: int = 3
    score_batches: int = 4
    exact_gradients: bool = False
    random_state: int | None = 0

    def __post_init__(self) -> None:
        least_values = {"iterations": 1, "measured_rounds": 0, "measured_batches": 1}
        least_values |= {"polish": 0, "roundings": 1, "score_batches": 1}
        for name, least in least_values.items():
            check_int(name, getattr(self, name), at_least=least)
        check_real("binarise", self.binarise, at_least=0)


def first_triplets(ranks: Sequence[int], problem: Problem) -> Allocation:
    """Return the allocation that keeps the first triplets of each layer as they are."""
    kept = [None if rank == WHOLE else np.arange(rank) for rank in ranks]
    masks = [
        None if rank == WHOLE else (np.arange(layer.rank) < rank).astype(np.float64)
        for layer, rank in zip(problem.layers, ranks, strict=True)
    ]
    return Allocation(list(ranks), kept, masks)


class MaskedWeight(Protocol):
    """A weight that masks change, and the form in which they do."""

    @property
    def weight(self) -> nn.Parameter:
        """The weight itself."""

    def to_matrix(self, weight: Tensor) -> Tensor:
        """Return the weight, or its gradient, in the form of `Masks`."""

    def from_matrix(self, matrix: Tensor) -> Tensor:
        """Undo `to_matrix`."""


class Masks(Protocol):
    """What masks do to a weight: the triplets of `Factors`, or the channels of pruning."""

    def product(self, masks: Tensor) -> Tensor:
        """Return the masked weight."""

    def mask_gradient(self, gradient: Tensor) -> Tensor:
        """Return the masks' gradient from the weight's."""


class MaskedNetwork:
    """A network whose weights are Σ_j m_j P_j V_jᵀ: losses and gradients for masks, on dense weights.

    Masks live on the products, not in split layers, so one backward pass of the network as it is gives all of their
    gradients. With `batch_statistics` batch norms see each batch's own, as recalibrated ones will.
    """

    def __init__(
        self,
        model: nn.Module,
        sites: Sequence[MaskedWeight],
        factors: Sequence[Masks],
        loss: Guide,
        source: BatchSource | AnsweredBatches,
        *,
        batch_statistics: bool,
    ) -> None:
        self.model, self.sites, self.factors = model, list(sites), list(factors)
        self.loss, self.source, self.batch_statistics = loss, source, batch_statistics
        self._originals = [site.weight.detach().clone() for site in self.sites]
        self._statistics = [(norm, {k: v.clone() for k, v in norm.named_buffers()}) for norm in batch_norms(model)]

    def restore(self) -> None:
        """Give the network its own weights and statistics back."""
        with torch.no_grad():
            for site, original in zip(self.sites, self._originals, strict=True):
                site.weight.copy_(original)
            for norm, buffers in self._statistics:
                for name, value in buffers.items():
                    getattr(norm, name).copy_(value)

    @torch.no_grad()
    def set_masks(self, masks: Sequence[np.ndarray | None]) -> None:
        """Set every weight to its masked product; None is the weight itself."""
        for site, factors, original, mask in zip(self.sites, self.factors, self._originals, masks, strict=True):
            if mask is None:
                site.weight.copy_(original)
            else:
                site.weight.copy_(site.from_matrix(factors.product(torch.from_numpy(mask))))

    def loss_and_gradients(
        self, masks: Sequence[np.ndarray | None], number: int
    ) -> tuple[float, list[np.ndarray | None]]:
        """Return the loss on batch `number` and its gradient for the masks of each split layer."""
        self.set_masks(masks)
        split = [place for place, mask in enumerate(masks) if mask is not None]
        weights = [self.sites[place].weight for place in split]
        wanted = [weight.requires_grad for weight in weights]
        try:
            for weight in weights:
                weight.requires_grad_(True)
            with evaluating(self.model, batch_statistics=self.batch_statistics), torch.enable_grad():
                value = self._loss(number)
            if weights and not value.requires_grad:
                raise ValueError("loss must depend on the model's weights by a gradient, got one that has none")
            found = torch.autograd.grad(value, weights, allow_unused=True) if weights else ()
        finally:
            for weight, before in zip(weights, wanted, strict=True):
                weight.requires_grad_(before)
        gradients: list[np.ndarray | None] = [None] * len(masks)
        for place, gradient in zip(split, found, strict=True):
            site, factors = self.sites[place], self.factors[place]
            gradient = torch.zeros_like(site.weight) if gradient is None else gradient
            gradients[place] = factors.mask_gradient(site.to_matrix(gradient)).double().numpy()
        return float(value.detach()), gradients

    @torch.no_grad()
    def score(self, masks: Sequence[np.ndarray | None], numbers: Sequence[int]) -> float:
        """Return the mean loss over some batches of the training data."""
        self.set_masks(masks)
        with evaluating(self.model, batch_statistics=self.batch_statistics):
            return float(np.mean([float(self._loss(number)) for number in numbers]))

    def _loss(self, number: int) -> Tensor:
        inputs, target = self.source[number]
        return one_number(self.loss(self.model(*inputs), target))


def allocate_cobla(
    network: MaskedNetwork,
    problem: Problem,
    start: Sequence[int],
    settings: SearchSettings,
    *,
    is_polished_later: bool = False,
) -> Allocation:
    """Search masks from the vertex `start`, round them at random, polish them, and keep what costs least.

    All-ones is nearly stationary, hence the start. Layers that are whole at the start stay so: a full-rank split costs
    more than the layer, which a linear cost cannot say. Roundings, and the start itself, are compared by the loss on
    training batches that the search has not used, where data have more of them. Where factors will be fitted anew and
    masks polished after that (`is_polished_later`), they are polished here as far as it takes to compare.
    """
    begin = first_triplets(start, problem)
    numbers = [settings.iterations + number for number in range(settings.score_batches)]
    rng = np.random.default_rng(settings.random_state)
    try:
        if all(mask is None for mask in begin.masks):
            return begin
        found, iterations = _search(network, problem, begin, settings)
        rounded: list[Allocation] = []
        drawn = [round_ranks(found, problem, rng) for _ in range(settings.roundings)]
        for ranks in [*drawn, nearest_ranks(found, problem)] if problem.has_steps else drawn:
            if all(ranks != other.ranks for other in rounded):
                rounded.append(_rounded(ranks, found, problem))

        def scored(one: Allocation) -> tuple[float, Allocation]:
            return network.score(one.masks, numbers), one

        loss = itemgetter(0)
        unpolished = [scored(begin), min(map(scored, rounded), key=loss)]
        first, rest = _polish_halves(settings)
        # The start is polished too: a search that only rescaled what was there must not look better than it is.
        finalists = [scored(polished(network, one, first)) for _, one in unpolished]
        _, winner = min(finalists, key=loss)
        last = [] if is_polished_later else [scored(polished(network, winner, rest))]
        _, best = min([*unpolished, *finalists, *last], key=loss)
        best.iterations = iterations
        return best
    finally:
        network.restore()


def cheapest_start(
    network: MaskedNetwork, problem: Problem, starts: Sequence[list[int]], settings: SearchSettings
) -> list[int]:
    """Return the ranks whose loss is least on batches of the training data; the network is left with masks."""
    if len(starts) == 1:
        return starts[0]
    numbers = range(2 * settings.score_batches)

    def score(ranks: list[int]) -> float:
        loss = network.score(first_triplets(ranks, problem).masks, numbers)
        check_finite_loss(loss, f"at the ranks {ranks}")
        return loss

    return min(starts, key=score)


def check_finite_loss(loss: float, where: str) -> None:
    """Refuse a loss that is NaN or infinite."""
    if not np.isfinite(loss):
        raise FloatingPointError(f"loss must be finite, got {loss} {where}; check loss and data")


def polish_numbers(settings: SearchSettings) -> range:
    """Return the batches that masks are polished on."""
    begin = settings.iterations + settings.score_batches
    return range(begin, begin + settings.polish)


def _polish_halves(settings: SearchSettings) -> tuple[range, range]:
    """Return the batches on which both finalists are polished, and those for the better of them."""
    numbers, middle = polish_numbers(settings), (settings.polish + 1) // 2
    return numbers[:middle], numbers[middle:]


def _search(
    network: MaskedNetwork, problem: Problem, begin: Allocation, settings: SearchSettings
) -> tuple[list[np.ndarray | None], list[Iteration]]:
    split = [place for place, mask in enumerate(begin.masks) if mask is not None]
    sizes = [problem.layers[place].rank for place in split]
    # A rank's cost at the start: exact there, also where costs come from a table.
    slopes = [problem.layers[place].costs[begin.ranks[place]] / begin.ranks[place] for place in split]
    rows = np.concatenate(
        [np.tile(slope[:, None], (1, size)) for slope, size in zip(slopes, sizes, strict=True)], axis=1
    )
    whole = [layer.costs[WHOLE] for layer, rank in zip(problem.layers, begin.ranks, strict=True) if rank == WHOLE]
    limits = problem.limits - problem.fixed - sum(whole, np.zeros(len(problem.limits)))
    start = np.concatenate([begin.masks[place] for place in split])
    limits = np.maximum(limits, rows @ start)  # they are met: this is about last digits
    with progress_bar() as bar:
        task = bar.add_task("searching masks", total=settings.iterations, note="")
        path = minimise_masks(
            _flat(network, begin.masks, split, sizes, settings),
            start,
            rows,
            limits,
            iterations=settings.iterations,
            averaged=1 if settings.exact_gradients or settings.binarise else max(1, settings.iterations // 6),
            on_iteration=lambda one: bar.update(task, advance=1, note=f"loss {one.loss:.4g}"),
        )
    return _divided(path.masks, begin.masks, split, sizes), path.iterations


def polished(network: MaskedNetwork, allocation: Allocation, numbers: Sequence[int]) -> Allocation:
    """Adjust the masks of the kept triplets alone, on the batches `numbers`: no budget is involved any more."""
    split = [place for place, kept in enumerate(allocation.kept) if kept is not None]
    if not numbers or not split:
        return allocation
    sizes = [len(allocation.kept[place]) for place in split]  # type: ignore[arg-type]
    full = [None if mask is None else mask.copy() for mask in allocation.masks]

    def gradient(masks: np.ndarray, number: int) -> np.ndarray:
        loss, gradients = network.loss_and_gradients(_spread(masks, full, allocation.kept, split, sizes), number)
        check_finite_loss(loss, "while masks were polished")
        return np.concatenate([gradients[place][allocation.kept[place]] for place in split])  # type: ignore[index]

    start = np.concatenate([full[place][allocation.kept[place]] for place in split])  # type: ignore[index]
    masks = _spread(polish_masks(gradient, start, numbers), full, allocation.kept, split, sizes)
    return Allocation(allocation.ranks, allocation.kept, masks)


def _flat(
    network: MaskedNetwork,
    masks: Sequence[np.ndarray | None],
    split: Sequence[int],
    sizes: Sequence[int],
    settings: SearchSettings,
) -> Callable[[np.ndarray, int], tuple[float, np.ndarray]]:
    """Return the loss, with the charge for undecided masks, and its gradient as functions of one long vector."""
    slopes: list[float] = []

    def evaluate(flat: np.ndarray, number: int) -> tuple[float, np.ndarray]:
        spread = _divided(flat, masks, split, sizes)
        numbers = range(settings.iterations) if settings.exact_gradients else [number]
        found = [network.loss_and_gradients(spread, one) for one in numbers]
        gradients = [np.concatenate([each[1][place] for place in split]) for each in found]
        loss, gradient = float(np.mean([each[0] for each in found])), np.mean(gradients, axis=0)
        slopes.append(float(np.abs(gradient).mean()))
        charge = settings.binarise * slopes[0] * max(0.0, (1.5 * number / settings.iterations) - 0.5)
        return loss + charge * float((flat * (1 - flat)).sum()), gradient + charge * (1 - 2 * flat)

    return evaluate


def _divided(
    flat: np.ndarray, masks: Sequence[np.ndarray | None], split: Sequence[int], sizes: Sequence[int]
) -> list[np.ndarray | None]:
    divided: list[np.ndarray | None] = [None] * len(masks)
    for place, part in zip(split, np.split(flat, np.cumsum(sizes)[:-1]), strict=True):
        divided[place] = part
    return divided


def _spread(
    flat: np.ndarray,
    full: Sequence[np.ndarray | None],
    kept: Sequence[np.ndarray | None],
    split: Sequence[int],
    sizes: Sequence[int],
) -> list[np.ndarray | None]:
    """Put masks of kept triplets into masks of all triplets, zero elsewhere."""
    spread: list[np.ndarray | None] = [None] * len(full)
    for place, part in zip(split, np.split(flat, np.cumsum(sizes)[:-1]), strict=True):
        values = np.zeros(len(full[place]))  # type: ignore[arg-type]
        values[kept[place]] = part
        spread[place] = values
    return spread


def _rounded(ranks: list[int], masks: Sequence[np.ndarray | None], problem: Problem) -> Allocation:
    """Keep the triplets with the largest m σ, with their soft masks (section 2.3, the second step)."""
    kept: list[np.ndarray | None] = []
    soft: list[np.ndarray | None] = []
    for rank, mask, layer in zip(ranks, masks, problem.layers, strict=True):
        if rank == WHOLE or mask is None:
            kept.append(None)
            soft.append(None)
            continue
        chosen = keep_triplets(mask, layer.energies, rank)
        kept.append(chosen)
        values = np.zeros(len(mask))
        values[chosen] = np.maximum(mask[chosen], 1e-3)  # a triplet that is paid for is used
        soft.append(values)
    return Allocation(ranks, kept, soft)
