"""What follows a series: the phase it is in, the next one and when, and what to expect of the next step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.serving.errors import CannotAnswer, NotFound
from gossamer.serving.loading import LoadedModel
from gossamer.serving.names import Id, Names

Steps = Sequence[Id | None] | Sequence[Sequence[float | None]]


def what_follows(
    model: LoadedModel, sequence: Steps, *, features: Sequence[float] | None = None, n: int = 10
) -> dict[str, Any]:
    """Return what follows one series of events, or of vectors; None is a step, or a value, that is missing."""
    if "next" not in model.questions:
        raise CannotAnswer(f"the model must be one of series, such as hsmm, which {model.name!r} ({model.kind}) is not")
    data = _series(model, sequence, features)
    present = model.estimator.predict_proba(data)[-1]
    step = model.estimator.next_observation(data)
    answer: dict[str, Any] = {
        "model": model.name,
        "state": int(present.argmax()),
        "state_probs": present.tolist(),
        "next_step_probs": step.state_probs[0].tolist(),
        "expected": _expected(model, step.expected[0], n),
    }
    if hasattr(model.estimator, "next_phase"):
        following = model.estimator.next_phase(data)
        left = following.steps_left_probs[0]
        answer["next_state"] = int(following.state_probs[0].argmax())
        answer["next_state_probs"] = following.state_probs[0].tolist()
        answer["steps_until"] = float(left @ np.arange(1, len(left) + 1))
    return answer


def _series(model: LoadedModel, sequence: Steps, features: Sequence[float] | None) -> Sequences:
    if not len(sequence):
        raise ValueError("sequence must have at least one step, got none")
    known = None if features is None else np.array([features], dtype=np.float32)
    offsets = np.array([0, len(sequence)])
    vocabulary: Vocabulary | None = model.estimator.vocabulary_
    if isinstance(sequence[0], list | tuple):
        return Sequences(_vectors(sequence), offsets, features=known, vocabulary=vocabulary)
    return Sequences(_events(model, sequence, vocabulary), offsets, features=known, vocabulary=vocabulary)


def _vectors(sequence: Sequence[Any]) -> np.ndarray:
    widths = {len(step) if isinstance(step, list | tuple) else 0 for step in sequence}
    if len(widths) > 1 or 0 in widths:
        raise ValueError("sequence must have steps that are vectors of one length, got others")
    return np.array(sequence, dtype=np.float32)  # None becomes NaN, which is what a missing value is


def _events(model: LoadedModel, sequence: Sequence[Any], vocabulary: Vocabulary | None) -> np.ndarray:
    if any(isinstance(step, list | tuple) for step in sequence):
        raise ValueError("sequence must have steps that are all events or all vectors, got both")
    if vocabulary is None:
        numbers = [-1 if step is None else step for step in sequence]
        if not all(isinstance(step, int) and -1 <= step < 2**31 for step in numbers):
            raise ValueError("sequence must have event numbers where the model has no names of events, got others")
        return np.array(numbers, dtype=np.int32)
    names = Names(vocabulary)
    places = [-1 if step is None else names.find(step) for step in sequence]
    for place, step in zip(places, sequence, strict=True):
        if place < 0 and step is not None:
            raise NotFound(f"event must be one of the {len(names)} that {model.name!r} knows, got {step!r:.120}")
    return np.array(places, dtype=np.int32)


def _expected(model: LoadedModel, values: np.ndarray, n: int) -> list[dict[str, Any]]:
    """Return probabilities of categories, the likeliest first, or what is expected of every dimension."""
    names = model.estimator.vocabulary_
    are_probs = model.estimator.emission in ("categorical", "multinomial")
    order = np.argsort(-values, kind="stable")[:n] if are_probs else np.arange(len(values))
    return [
        {"name": str(place if names is None else names[int(place)]), "value": float(values[place])} for place in order
    ]
