"""A first guess of what features say: EM's parameters regressed on features, and EM again from what they predict.

This is the classical way to fit models of many short series (empirical Bayes): each round predicts parameters from
features, makes EM iterations from there, and regresses what they find, weighted by how much was observed, on features.
The network starts from the last prediction, and is left with what is not linear.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from gossamer.models.markov.neural.em_layer import Series
from gossamer.models.markov.neural.network import Problem, em_function
from gossamer.models.markov.together import add_up_tensors

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

EM_ITERATIONS = 2  # in a round: more would wander off from what features say
HALF_TRUSTED = 2.0  # steps in a state at which EM's parameters of it have weight 1/2
STRENGTHS = (3.0, 10.0, 30.0, 100.0, 300.0)  # of the ridge


class Regression(NamedTuple):
    """Vectors are `intercept` + `weights` · features."""

    intercept: Float[Tensor, " M"]
    weights: Float[Tensor, "M F"]

    def predict(self, features: Float[Tensor, "B F"]) -> Float[Tensor, "B M"]:
        """Return the vectors of features."""
        return self.intercept + features @ self.weights.T


def regress_on_features(
    start: Float[Tensor, " M"],
    features: Float[Tensor, "B F"],
    series: Series,
    problem: Problem,
    rounds: int,
    sharing: Sharing | None = None,
) -> Regression:
    """Return what is linear in (scaled) features after some rounds; without rounds, the start.

    Processes that have divided the series make EM iterations of their own, and one regression together.
    """
    found = Regression(start, start.new_zeros(len(start), features.shape[1]))
    layer = em_function(series, problem)
    with torch.no_grad():
        for _ in range(rounds):
            vectors = found.predict(features)
            for _ in range(EM_ITERATIONS):
                vectors, counts = layer(vectors)
            seen = problem.layout.spread(counts)
            found = weighted_ridge(features, vectors, seen / (seen + HALF_TRUSTED), start, sharing)
    return found


def weighted_ridge(
    features: Float[Tensor, "B F"],
    targets: Float[Tensor, "B M"],
    weights: Float[Tensor, "B M"],
    usual: Float[Tensor, " M"],
    sharing: Sharing | None = None,
) -> Regression:
    """Regress every column by itself, its ridge chosen by the error of leaving one row out; the intercept has none.

    `usual` stands for one more row with features of zero, so that what was never observed has an intercept, too.
    """
    num_features = features.shape[1]
    rows = torch.cat([torch.ones(len(features), 1, dtype=features.dtype), features], dim=1)
    gram = torch.einsum("bm,bf,bg->mfg", weights, rows, rows)
    right = torch.einsum("bm,bf->mf", weights * (targets - usual), rows)
    gram, right = add_up_tensors([gram, right], sharing)
    gram[:, 0, 0] += 1.0
    best: Tensor | None = None
    best_error = torch.full((targets.shape[1],), torch.inf, dtype=targets.dtype)
    penalty = torch.ones(num_features + 1, dtype=features.dtype)
    penalty[0] = 0.0
    for strength in STRENGTHS:
        inverse = torch.linalg.inv(gram + torch.diag(strength * penalty))
        solved = torch.einsum("mfg,mg->mf", inverse, right)
        leverage = weights * torch.einsum("bf,mfg,bg->bm", rows, inverse, rows)
        residual = (targets - usual - rows @ solved.T) / (1 - leverage).clamp_min(1e-3)
        (error,) = add_up_tensors([(weights * residual.square()).sum(0)], sharing)
        is_better = error < best_error
        best = solved if best is None else torch.where(is_better[:, None], solved, best)
        best_error = torch.minimum(error, best_error)
    assert best is not None
    return Regression(usual + best[:, 0], best[:, 1:])
