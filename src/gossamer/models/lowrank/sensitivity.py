"""Where COBLA's search starts: what each layer's rank does to the loss, measured with the other layers compressed.

POS-CVX gives every layer's lost energy the same weight. Which layers a network can do without is in its loss alone,
but ranks moved one by one to whatever lowers it follow the noise of a few batches. A curve per layer, monotone in the
energy that is lost, has few enough numbers to be measured well; an exact knapsack divides the budget by the curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Float

from gossamer.core.progress import progress_bar
from gossamer.models.lowrank.knapsack import allocate_exactly
from gossamer.models.lowrank.problem import WHOLE, LayerChoices, Problem
from gossamer.models.lowrank.search import MaskedNetwork, SearchSettings, check_finite_loss, first_triplets

REACH = 2.0  # a round moves a rank by this factor at most: curves are measured at the ranks of the other layers


def measured_ranks(
    network: MaskedNetwork, problem: Problem, start: Sequence[int], settings: SearchSettings
) -> list[int]:
    """Return ranks within all limits that lower the training loss, beginning at `start`.

    Each round measures the curves on batches of its own and is kept if the loss falls on batches that no round uses;
    where `iterations` are too few for that many batches, they begin again.
    The network is left with masks: the caller restores it.
    """
    size, rounds = settings.measured_batches, settings.measured_rounds
    judged = _numbers(rounds, size, settings)
    ranks = list(start)
    with progress_bar() as bar:
        task = bar.add_task("measuring layers", total=rounds * len(problem.layers), note="")
        lowest = _score(network, problem, ranks, judged) if rounds else np.inf
        for number in range(rounds):
            numbers = _numbers(number, size, settings)
            reference = _score(network, problem, ranks, numbers)
            layers, values = [], []
            for place, layer in enumerate(problem.layers):
                choices = nearby_choices(layer, ranks[place])
                changes = {ranks[place]: 0.0}
                for choice in choices:
                    if choice != ranks[place]:
                        moved = [*ranks[:place], choice, *ranks[place + 1 :]]
                        changes[choice] = _score(network, problem, moved, numbers) - reference
                narrow, value = loss_curve(layer, changes)
                layers.append(narrow)
                values.append(-value)
                bar.update(task, advance=1, note=f"loss {lowest:.4g}")
            found = allocate_exactly(replace(problem, layers=tuple(layers)), values)
            score = _score(network, problem, found, judged)
            if score >= lowest:
                break
            ranks, lowest = found, score
    return ranks


def nearby_choices(layer: LayerChoices, rank: int) -> list[int]:
    """Return choices to measure: the present one, up to four ranks within `REACH` of it, WHOLE where that is next.

    >>> costs = np.array([[20.0], *([2.0 * rank] for rank in range(1, 13))])
    >>> layer = LayerChoices("a", np.arange(12.0, 0.0, -1.0), costs, (12, 12))
    >>> nearby_choices(layer, 4), nearby_choices(layer, 7), nearby_choices(layer, WHOLE)
    ([2, 3, 4, 6, 8], [0, 3, 5, 7, 9], [0, 6, 9])
    """
    ranks = [int(choice) for choice in layer.open_choices() if choice != WHOLE]
    if not ranks:
        return [rank]
    if rank == WHOLE:
        wanted = [ranks[-1], ranks[-1] / np.sqrt(REACH)]
    else:
        wanted = [rank * REACH**power for power in (-1, -0.5, 0.5, 1)]
    near = {min(ranks, key=lambda open_rank: abs(open_rank - value)) for value in wanted} | {rank}
    is_whole_open = bool(np.isfinite(layer.costs[WHOLE]).all())
    if is_whole_open and max(wanted) >= ranks[-1]:
        near.add(WHOLE)
    return sorted(near)


def loss_curve(layer: LayerChoices, changes: dict[int, float]) -> tuple[LayerChoices, Float[np.ndarray, " choices"]]:
    """Return the layer, only choices between those measured open, and the change of loss at each of its choices.

    Losses are made monotone in the share of energy that is lost and drawn straight between the points.
    """
    from sklearn.isotonic import IsotonicRegression  # only a search by losses pays for its import

    lost = 1 - layer.kept() / max(layer.kept()[WHOLE], np.finfo(float).tiny)
    measured = sorted(changes, key=lambda choice: (lost[choice], choice))
    points = lost[measured]
    heights = IsotonicRegression().fit_transform(points, [changes[choice] for choice in measured])
    is_between = (lost >= points[0]) & (lost <= points[-1])
    is_between[WHOLE] = WHOLE in changes
    costs = np.where(is_between[:, None], layer.costs, np.inf)
    return replace(layer, costs=costs), np.interp(lost, points, heights)


def _numbers(part: int, size: int, settings: SearchSettings) -> list[int]:
    """Return the batches of a round, or of the judgement after the last: the search's own, so no more data are read."""
    return [(part * size + number) % settings.iterations for number in range(size)]


def _score(network: MaskedNetwork, problem: Problem, ranks: Sequence[int], numbers: Sequence[int]) -> float:
    loss = network.score(first_triplets(ranks, problem).masks, numbers)
    check_finite_loss(loss, f"at the ranks {list(ranks)}")
    return loss
