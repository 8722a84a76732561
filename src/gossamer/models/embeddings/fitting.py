"""Bring a table close to given vectors by gradient descent, where there is no closed form."""

from __future__ import annotations

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.core.checks import check_int
from gossamer.core.randomness import RandomState, torch_generator
from gossamer.models.embeddings.sizing import INITIAL_STD
from gossamer.models.embeddings.table import EmbeddingTable

BATCH_SIZE = 4096
FEWEST_STEPS = 500  # a table of more than 100 batches has five passes instead


def fit_to(
    table: EmbeddingTable, weight: Float[Tensor, "V D"], *, steps: int | None = None, random_state: RandomState = 0
) -> None:
    """Minimise Σ_i ‖rows(i) − weight_i‖² in place, by Adam with a rate that falls to zero linearly.

    Numbers of a new table have a standard deviation of `INITIAL_STD`; the first rate is a tenth of it, so `weight`
    should be of that scale. Same seed, same table.
    """
    num_rows = len(weight)
    batch_size = min(BATCH_SIZE, num_rows)
    steps = check_int("steps", max(FEWEST_STEPS, 5 * num_rows // batch_size) if steps is None else steps, at_least=1)
    generator = torch_generator(random_state)
    optimiser = torch.optim.Adam(table.parameters(), lr=INITIAL_STD / 10)
    schedule = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.0, total_iters=steps)
    order = torch.empty(0, dtype=torch.long)
    for _ in range(steps):
        if len(order) < batch_size:
            order = torch.randperm(num_rows, generator=generator)
        ids, order = order[:batch_size], order[batch_size:]
        optimiser.zero_grad()
        loss = (table.rows(ids) - weight[ids]).square().sum(dim=1).mean()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
    optimiser.zero_grad()
