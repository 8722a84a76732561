"""Train the members of a `LabelNetwork`, each without its fold, and predict every row by those that never saw it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from gossamer.core.randomness import numpy_generator
from gossamer.models.discrete.label_functional import (
    LIKELIHOODS,
    RELAXED,
    label_probs,
    log_label_rates,
    relaxed_nll,
    relaxed_probs,
)
from gossamer.models.discrete.label_network import LabelNetwork
from gossamer.models.discrete.shared import SharedLatent
from gossamer.persistence import JSON

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing


@dataclass(frozen=True)
class LabelObjective:
    """What one observation costs: −log p(y | x), and in the generative variants `weight` · (reconstruction + KL).

    The bound of x is (6) with unit-variance Gaussian columns: z is drawn from the encoder, by `draws` "relaxed" (12) or
    "straight-through", and (13) + (14) are charged for all features.
    """

    num_labels: int
    latent: SharedLatent
    likelihood: str
    draws: str
    temperature: float
    weight: float

    @property
    def max_active(self) -> int:
        """Return L₀, the number of draws."""
        return self.latent.max_active

    def loss(
        self,
        network: LabelNetwork,
        inputs: Float[Tensor, "B D"],
        labels: Float[Tensor, "B K"],
        generator: torch.Generator,
    ) -> Float[Tensor, "M B"]:
        """Return each member's cost of each row."""
        encoded = network(inputs)
        members, rows, width = encoded.shape
        flat = encoded.reshape(members * rows, width)
        each = labels.repeat(members, 1)
        codes = None
        if self.likelihood == RELAXED or network.decoder is not None:
            draws = RELAXED if self.likelihood == RELAXED else self.draws
            temperatures = torch.full((2,), self.temperature)
            codes = self.latent.pathwise(flat, draws, temperatures, generator)
        loss = self.nll(flat, each, codes)
        if network.decoder is not None:
            assert codes is not None
            decoded = network.decoder(codes.view(members, rows, -1))
            error = 0.5 * (decoded - inputs).square().sum(dim=-1).flatten()
            loss = loss + self.weight * (error + self.latent.kl(flat, codes))
        return loss.view(members, rows)

    def nll(
        self, encoded: Float[Tensor, "B W"], labels: Float[Tensor, "B K"], codes: Float[Tensor, "B F"] | None
    ) -> Float[Tensor, " B"]:
        """Return −log p(y | x), exact or, of relaxed `codes`, the paper's estimate."""
        if self.likelihood == RELAXED:
            assert codes is not None
            return relaxed_nll(codes[:, : self.num_labels], labels)
        return LIKELIHOODS[self.likelihood](log_label_rates(encoded, self.num_labels), labels, self.max_active)

    def probs(self, encoded: Float[Tensor, "B W"]) -> Float[Tensor, "B K"]:
        """Return P(y_k = 1 | x)."""
        if self.likelihood == RELAXED:
            return relaxed_probs(encoded, self.num_labels, self.max_active, self.temperature)
        return label_probs(log_label_rates(encoded, self.num_labels), self.max_active)


def draw_folds(num_rows: int, num_folds: int, num_repeats: int, random_state: int | None) -> Bool[np.ndarray, "M N"]:
    """Return which rows each member leaves out: every repeat divides the rows anew into folds.

    >>> draw_folds(6, 3, 1, 0).sum(axis=0).tolist()
    [1, 1, 1, 1, 1, 1]
    """
    generator = numpy_generator(random_state)
    left_out = [generator.permutation(num_rows) % num_folds for _ in range(num_repeats)]
    return np.concatenate([fold == np.arange(num_folds)[:, None] for fold in left_out])


def train_members(
    network: LabelNetwork,
    objective: LabelObjective,
    inputs: Float[np.ndarray, "N D"],
    labels: Int[np.ndarray, "N K"],
    left_out: Bool[np.ndarray, "M N"],
    *,
    learning_rate: float,
    weight_decay: float,
    batch_size: int,
    epochs: int,
    patience: int | None,
    random_state: int | None,
    score: Callable[[Float[np.ndarray, "N K"]], float] | None = None,
    sharing: Sharing | None = None,
) -> JSON:
    """Train until the rows left out cost no less for `patience` epochs, keep the best epoch, return the history.

    With a `score` of the probabilities of rows left out, the epoch with the highest score is kept instead. Where
    processes have divided the rows, `sharing` says how the others are to be had; `score` sees to that itself.
    """
    from gossamer.training.loop import fit as train
    from gossamer.training.sharing import Sharing
    from gossamer.training.step import GradientStep

    shared = Sharing(is_divided=False) if sharing is None else sharing
    x, y = torch.from_numpy(np.ascontiguousarray(inputs)), torch.from_numpy(labels.astype(np.float32))
    seen = torch.from_numpy((~left_out).astype(np.float32))
    # A member that sees 4 of 5 rows averages over those: the scale is that of a mean over its own rows.
    seen = seen / torch.from_numpy(shared.mean_array(seen.mean(dim=1, keepdim=True).numpy(), len(x)))

    def loss(module: nn.Module, rows: Tensor, generator: torch.Generator) -> dict[str, Tensor]:
        # Members share no parameter, so the sum trains each by its own mean.
        costs = objective.loss(module, x[rows], y[rows], generator) * seen[:, rows]  # type: ignore[arg-type]
        return {"loss": costs.mean(dim=1).sum()}

    def validate() -> dict[str, float]:
        if score is None:
            return shared.mean({"left_out_loss": left_out_loss(network, objective, x, y, left_out)}, len(x))
        return {"left_out_score": score(left_out_probs(network, objective, inputs, left_out))}

    # Adam is per coordinate, so that one optimiser for all members is one for each.
    optimiser = torch.optim.AdamW(network.parameters(), lr=learning_rate, weight_decay=weight_decay, foreach=True)
    step = GradientStep(network, loss, optimiser, random_state=random_state)
    batches = shared.batches(torch.from_numpy, len(x), batch_size, random_state)
    history = train(
        step,
        batches,
        epochs=epochs,
        validate=validate,
        monitor="left_out_loss" if score is None else "left_out_score",
        mode="min" if score is None else "max",
        patience=patience,
        description="labels",
    )
    network.eval()
    described: JSON = history.as_dict()
    return described


@torch.no_grad()
def left_out_loss(
    network: LabelNetwork, objective: LabelObjective, x: Tensor, y: Tensor, left_out: Bool[np.ndarray, "M N"]
) -> float:
    """Return the cross-entropy of labels under probabilities by members that did not see the row."""
    probs = _left_out_mean(member_probs(network, objective, x), torch.from_numpy(left_out)).clamp(1e-6, 1 - 1e-6)
    return float(nn.functional.binary_cross_entropy(probs, y, reduction="none").sum(dim=1).mean())


@torch.no_grad()
def member_probs(
    network: LabelNetwork, objective: LabelObjective, inputs: Float[Tensor, "N D"]
) -> Float[Tensor, "M N K"]:
    """Return every member's probabilities."""
    was_training = network.training
    network.eval()
    encoded = network(inputs)
    network.train(was_training)
    return objective.probs(encoded.flatten(0, 1)).view(*encoded.shape[:2], -1)


def left_out_probs(
    network: LabelNetwork,
    objective: LabelObjective,
    inputs: Float[np.ndarray, "N D"],
    left_out: Bool[np.ndarray, "M N"],
) -> Float[np.ndarray, "N K"]:
    """Return the mean probabilities of each row by the members that did not see it."""
    each = member_probs(network, objective, torch.from_numpy(np.ascontiguousarray(inputs)))
    return _left_out_mean(each, torch.from_numpy(left_out)).numpy().astype(np.float64)


def _left_out_mean(each: Tensor, left_out: Tensor) -> Tensor:
    weights = left_out.to(each.dtype).unsqueeze(-1)
    return (each * weights).sum(dim=0) / weights.sum(dim=0)
