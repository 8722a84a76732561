"""What a model of phases says of series, for people and programs: the phase of every step, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from gossamer.core.checks import check_int
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.runner.tasks import container_of

NUM_DRAWN, NUM_STEPS, NUM_JUDGED = 8, 120, 500  # series and steps of a drawing; series that shares are counted in
NUM_EXPECTED = 3  # of the most probable next categories are named
NUM_MOVES = 12
MOST_PARAMETERS, MOST_STEPS = 300, 20_000  # of which standard errors are looked for: each parameter is two passes


def reads_sequences(estimator: Any) -> bool:
    """Say whether a model has phases."""
    return container_of(estimator) is Sequences


def phases_of(estimator: Any, data: Sequences) -> pl.DataFrame:
    """Return a row per step: its series, its number from 1, its state on the best path, and that state's probability.

    Steps, not times: a container keeps no times.
    """
    states, probs = estimator.predict(data), estimator.predict_proba(data)
    numbers = np.repeat(np.arange(len(data)), data.lengths)
    return pl.DataFrame(
        {
            "sequence": _names(data).ids.gather(numbers),
            "step": 1 + np.arange(len(states)) - data.offsets[:-1][numbers],
            "state": states,
            "probability": probs[np.arange(len(states)), states],
        }
    )


def what_follows(estimator: Any, data: Sequences, n: int = 20) -> list[dict[str, Any]]:
    """Return a row for each of the first n series: the present state, the next one and when, and what to expect."""
    check_int("n", n, at_least=1)
    shown = data[: min(n, len(data))]
    last = estimator.predict_proba(shown)[shown.offsets[1:] - 1]
    following = estimator.next_phase(shown) if hasattr(estimator, "next_phase") else None
    step = estimator.next_observation(shown)
    rows = []
    for number, name in enumerate(_names(shown)):
        row: dict[str, Any] = {
            "sequence": str(name),
            "steps": int(shown.lengths[number]),
            "state": int(last[number].argmax()),
            "probability": float(last[number].max()),
        }
        if following is not None:
            probs, left = following.state_probs[number], following.steps_left_probs[number]
            row |= {
                "next state": int(probs.argmax()),
                "its probability": float(probs.max()),
                "steps until": float(left @ np.arange(1, len(left) + 1)),
            }
        row["next observation"] = _expected(estimator, step.expected[number])
        rows.append(row)
    return rows


def _names(data: Sequences) -> Vocabulary:
    return Vocabulary.numbered(len(data)) if data.names is None else data.names


def _expected(estimator: Any, values: np.ndarray) -> str:
    names = estimator.vocabulary_
    labels = [str(name) for name in (range(len(values)) if names is None else names)]
    if estimator.emission in ("categorical", "multinomial"):
        best = np.argsort(-values, kind="stable")[:NUM_EXPECTED]
        return ", ".join(f"{labels[place]} {values[place]:.2f}" for place in best)
    shown = [f"{label} {value:.3g}" for label, value in zip(labels, values, strict=True)]
    return ", ".join(shown[:NUM_EXPECTED]) + (" …" if len(shown) > NUM_EXPECTED else "")


def find_phases(estimator: Any, data: Any) -> dict[str, Any]:
    """Return what `report.phases.phases_section` shows of a model of series; empty for other models or no data."""
    if not isinstance(data, Sequences) or not hasattr(estimator, "predict_proba") or len(data) == 0:
        return {}
    # A model for every series needs them all; others show a few.
    num_models = len(getattr(estimator, "parameters_", {"initial": [0]})["initial"])
    shown = data if num_models > 1 else data[: min(len(data), NUM_JUDGED)]
    states = estimator.predict(shown)
    paths = [states[begin:end] for begin, end in pairwise(shown.offsets.tolist())]
    common = getattr(estimator, "start_", None) or estimator.parameters_
    num_states = common["initial"].shape[1]
    counts = np.bincount(states, minlength=num_states)
    errors = _standard_errors(estimator, data) if num_models == 1 else {}
    return {
        "names": [str(name) for name in _names(shown)][:NUM_DRAWN],
        "paths": [path[:NUM_STEPS] for path in paths[:NUM_DRAWN]],
        "transition": common["transition"][0],
        "shares": counts / max(1, counts.sum()),
        "durations": estimator.duration_probs()[0] if hasattr(estimator, "duration_probs") else None,
        "states": _state_rows(paths, counts, _emitted(estimator, common, errors)),
        "moves": _move_rows(common["transition"][0], errors),
        "following": [] if num_models > 1 else what_follows(estimator, shown, NUM_DRAWN),
    }


def _standard_errors(estimator: Any, data: Sequences) -> dict[str, np.ndarray]:
    """Return the standard errors of a model's parameters, from some series, for all; empty where they cost too much."""
    if not hasattr(estimator, "standard_errors") or estimator.num_free_parameters > MOST_PARAMETERS:
        return {}
    num_series = max(1, int(np.searchsorted(data.offsets[1:], MOST_STEPS, side="right")))
    some = data[: min(num_series, len(data))]
    # Twice the data, half the variance.
    scale = np.sqrt(len(some.observations) / max(1, len(data.observations)))
    return {name: scale * value for name, value in estimator.standard_errors(some).items()}


def _with_error(value: float, error: float | None) -> str:
    """Return a number and how sure it is, "?" where the data say nothing of it.

    >>> _with_error(3.14159, 0.0213), _with_error(0.5, float("nan")), _with_error(2.0, None)
    ('3.14 ± 0.021', '0.5 ± ?', '2')
    """
    if error is None:
        return f"{value:.3g}"
    return f"{value:.3g} ± {error:.2g}" if np.isfinite(error) else f"{value:.3g} ± ?"


def _emitted(estimator: Any, common: Mapping[str, np.ndarray], errors: Mapping[str, np.ndarray]) -> list[str]:
    """Return what each state emits, the first or most probable parts of it, with standard errors where known."""
    kind = next(name for name in ("means", "rates", "probs") if f"emission.{name}" in common)
    values = common[f"emission.{kind}"][0]
    unsure = errors.get(f"emission.{kind}")
    names = estimator.vocabulary_
    labels = [str(name) for name in (range(values.shape[1]) if names is None else names)]
    shown = []
    for state, row in enumerate(values):
        order = np.argsort(-row, kind="stable") if kind == "probs" else np.arange(len(row))
        parts = [
            f"{labels[place]}: {_with_error(row[place], None if unsure is None else unsure[0, state, place])}"
            for place in order[:NUM_EXPECTED]
        ]
        shown.append(", ".join(parts) + (" …" if len(row) > NUM_EXPECTED else ""))
    return shown


def _move_rows(transition: np.ndarray, errors: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return the most probable moves from a state to another, with standard errors where known."""
    moves = np.where(np.eye(len(transition), dtype=bool), 0.0, transition)
    order = np.argsort(-moves, axis=None, kind="stable")[:NUM_MOVES]
    pairs = [divmod(int(place), len(moves)) for place in order if moves.flat[place] > 0]
    unsure = errors.get("transition")
    return [
        {
            "from": str(i),
            "to": str(j),
            "probability": _with_error(moves[i, j], None if unsure is None else unsure[0, i, j]),
        }
        for i, j in pairs
    ]


def _state_rows(paths: list[np.ndarray], counts: np.ndarray, emitted: list[str]) -> list[dict[str, Any]]:
    lasted: list[list[int]] = [[] for _ in counts]
    for path in paths:
        cuts = [0, *(np.flatnonzero(np.diff(path)) + 1).tolist()]
        for begin, end in pairwise(cuts):  # the last phase may go on
            lasted[path[begin]].append(end - begin)
    rows = []
    for state, ended in enumerate(lasted):
        mean = f"{np.mean(ended):.1f}" if ended else "not seen to end"
        error = f" ± {np.std(ended, ddof=1) / np.sqrt(len(ended)):.2f}" if len(ended) > 1 else ""
        share = float(counts[state] / max(1, counts.sum()))
        row = {"phase": str(state), "share of steps": share, "ended": len(ended), "mean duration": mean + error}
        rows.append(row | {"emits": emitted[state]})
    return rows
