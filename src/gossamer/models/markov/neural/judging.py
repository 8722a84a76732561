"""How good models of single series are: on what they saw, on hidden steps, on true states, on what comes next."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Bool

from gossamer.core.randomness import derive_seed
from gossamer.data.sequences import Sequences
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.labels import label_accuracy, matched_accuracy
from gossamer.models.markov.neural.em_layer import log_likelihood, observe
from gossamer.models.markov.neural.methods import hidden_steps

if TYPE_CHECKING:
    from gossamer.models.markov.neural.neural_em import NeuralEM

HIDDEN_SHARE = 0.2  # of the steps that a model must predict from the others
RANKS = (1, 3, 5)


def judge(model: NeuralEM, data: Sequences, batch: Batch) -> dict[str, float]:
    """Return all measures that the data allow.

    "loglik" is per observed step, of parameters that were made from the same steps, which flatters whoever fits them
    closely. "hidden_loglik" is log p(hidden steps | seen ones) per hidden step, of parameters made from the seen ones.
    With true states, "label_accuracy" is the share of steps that the best paths have right by number, and
    "matched_accuracy" that after the best matching of each series by itself. With categories, "top1", "top3" and "top5"
    are how often the last step of a series has one of the categories that are expected most after the steps before it.
    """
    models = model.models_for(data)
    seen = max(1, int((~batch.is_missing).sum()))
    measured = {"loglik": models.score(data) / seen, "hidden_loglik": hidden_log_likelihood(model, batch)}
    if batch.states is not None:
        found = models.predict(data)
        measured["label_accuracy"] = label_accuracy(found, batch.states)
        right = [
            matched_accuracy(found[begin:end], batch.states[begin:end]) * (end - begin)
            for begin, end in zip(batch.offsets[:-1], batch.offsets[1:], strict=True)
            if end > begin
        ]
        measured["matched_accuracy"] = float(np.sum(right) / max(1, len(found)))
    if model.emission in ("categorical", "multinomial"):
        measured |= next_hits(model, data)
    return measured


def hidden_log_likelihood(model: NeuralEM, batch: Batch) -> float:
    """Return log p(hidden | seen) per hidden step; the steps that are hidden are the same for every model."""
    hidden = steps_to_predict(batch)
    problem = model._problem()
    with torch.no_grad():
        parameters = model._parameters(batch, hidden)
        both = [
            log_likelihood(
                parameters,
                observe(batch, problem.emission, model.n_features_in_, gone),
                problem.emission,
                problem.longest,
            ).sum()
            for gone in (None, hidden)
        ]
    return float(both[0] - both[1]) / max(1, int(hidden.sum()))


def steps_to_predict(batch: Batch) -> Bool[np.ndarray, " N"]:
    """Return which observed steps are hidden from a model that is judged by them."""
    masks = np.random.default_rng(derive_seed(0, "hidden steps"))
    hidden: np.ndarray = hidden_steps(len(batch.values), HIDDEN_SHARE, masks) & ~batch.is_missing
    return hidden


def next_hits(model: NeuralEM, data: Sequences) -> dict[str, float]:
    """Return how often the last step has one of the k categories that are expected most, for k = 1, 3, 5."""
    long_enough = data[np.flatnonzero(data.lengths > 1)]
    if len(long_enough) == 0:
        return {}
    earlier, last = split_last(long_enough)
    expected = model.next_observation(earlier).expected
    order = np.argsort(-expected, axis=1, kind="stable")
    has = np.eye(expected.shape[1])[last] if last.ndim == 1 else np.nan_to_num(last)
    is_hit = np.take_along_axis(has, order, axis=1) > 0
    return {f"top{rank}": float(is_hit[:, :rank].any(axis=1).mean()) for rank in RANKS}


def split_last(data: Sequences) -> tuple[Sequences, np.ndarray]:
    """Return series without their last steps, and these (B) or (B, D)."""
    ends = data.offsets[1:] - 1
    keep = np.ones(len(data.observations), dtype=bool)
    keep[ends] = False
    offsets = data.offsets - np.arange(len(data) + 1)
    rest = Sequences(
        data.observations[keep], offsets, features=data.features, vocabulary=data.vocabulary, names=data.names
    )
    return rest, data.observations[ends]
