"""How many states? Fit several models and compare their BIC."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from sklearn.base import clone

from gossamer.core.checks import check_int
from gossamer.models.markov.markov_model import MarkovModel


class StateChoice(NamedTuple):
    """The fitted model with the smallest BIC, and a row for every number of states that was tried."""

    best: MarkovModel
    table: list[dict[str, float]]


def choose_num_states(
    estimator: MarkovModel, data: Any, candidates: Iterable[int], *, lengths: Any = None, missing: Any = None
) -> StateChoice:
    """Fit a copy of `estimator` with every number of states and keep the one with the smallest BIC on `data`."""
    numbers = [check_int("candidates", number, at_least=1) for number in candidates]
    if not numbers:
        raise ValueError("candidates must be at least one number of states, got none")
    models, table = [], []
    for number in numbers:
        model = clone(estimator).set_params(num_states=number)
        model.fit(data, lengths=lengths, missing=missing)
        models.append(model)
        table.append(
            {
                "num_states": number,
                "log_likelihood": model.score(data, lengths, missing=missing),
                "num_parameters": model.num_free_parameters,
                "bic": model.bic(data, lengths, missing=missing),
            }
        )
    best = min(range(len(models)), key=lambda place: table[place]["bic"])
    return StateChoice(models[best], table)
