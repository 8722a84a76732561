"""Models side by side on one split: the table of `gossamer compare`, and of a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from gossamer.core.html import html_table
from gossamer.persistence.stored_size import stored_size
from gossamer.runner.measure import fit, name_held_out, num_held_out
from gossamer.runner.outcome import Outcome, judge
from gossamer.runner.source import Division


@dataclass(frozen=True, repr=False)
class Comparison:
    """What models reach on the same held-out data; a notebook shows it as a table, `plots.intervals` draws it."""

    outcomes: tuple[Outcome, ...]
    held_out: str

    def __repr__(self) -> str:
        return f"Comparison({', '.join(outcome.model for outcome in self.outcomes)} on {self.held_out})"

    def table(self) -> list[dict[str, Any]]:
        """Return a row per model."""
        return comparison_rows(self.outcomes)

    def _repr_html_(self) -> str:
        return html_table(self.table(), title=self.held_out)


def compare(models: Mapping[str, Any], split: Division, metrics: Sequence[str] | None = None) -> Comparison:
    """Judge estimators by name on what `split` holds out; those that are not fitted yet are fitted first, in place.

    Without `metrics` each is judged by what suits it.

    >>> from gossamer.data import Interactions
    >>> from gossamer.data.splits import split_users
    >>> from gossamer.models.linear import EASE, Popularity
    >>> data = Interactions.from_pairs([user for user in "abcdef" for _ in "xy"], list("xyxzyzxyxzyz"))
    >>> split = split_users(data, num_valid=1, num_test=2, random_state=0)
    >>> [row["model"] for row in compare({"popular": Popularity(), "ease": EASE()}, split).table()]
    ['popular', 'ease']
    """
    if num_held_out(split.test) == 0:
        raise ValueError(f"split must hold something out to compare on, got {split.description.get('kind')!r}")
    outcomes = []
    for name, estimator in models.items():
        seconds = None if _is_fitted(estimator) else fit(estimator, split)
        outcomes.append(Outcome(name, estimator, seconds, judge(estimator, split.test, metrics)))
    return Comparison(tuple(outcomes), name_held_out(split.test))


def comparison_rows(outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Return one row per model: metrics, stored numbers, seconds."""
    rows = []
    for outcome in outcomes:
        metrics = {} if outcome.measured is None else outcome.measured.values
        values, _ = stored_size(outcome.estimator)
        rows.append({"model": outcome.model, **metrics, "values": values, "seconds": outcome.seconds})
    names = dict.fromkeys(name for row in rows for name in row if name not in ("values", "seconds"))
    return [{name: row.get(name) for name in (*names, "values", "seconds")} for row in rows]


def _is_fitted(estimator: Any) -> bool:
    try:
        check_is_fitted(estimator)
    except NotFittedError:
        return False
    return True
