"""What the points of a map can be coloured by: the groups they belong to, or how often they come."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gossamer.core.checks import check_choice
from gossamer.serving.explorer.groups import Groups, largest
from gossamer.serving.explorer.knowledge import Knowledge

NUM_COLOURED = 4  # that have a colour of their own: more could not be told apart by everybody
NO_COLOUR = 255
NONE, FREQUENCY = "none", "frequency"


@dataclass(frozen=True)
class Choice:
    """One thing to colour by."""

    key: str
    title: str


@dataclass(frozen=True, eq=False)
class Colouring:
    """`colours` (n,) says to which entry of `legend` a point belongs, `NO_COLOUR` to none; None where all are alike.

    `is_amount` says that the entries are steps of one quantity, most first, and no kinds.
    """

    key: str
    colours: np.ndarray | None
    legend: list[str]
    noun: str
    is_amount: bool = False


def colour_choices(knowledge: Knowledge, kind: str) -> list[Choice]:
    """Return what the points of a vocabulary can be coloured by, what is usual first."""
    choices = [Choice(groups.key, f"strongest {groups.noun}") for groups in _sets(knowledge, kind)]
    usual = [*choices, Choice(NONE, "one colour")]
    return [*usual, Choice(FREQUENCY, "how often it comes")] if kind in knowledge.frequencies else usual


def colour_points(knowledge: Knowledge, kind: str, rows: np.ndarray, key: str | None = None) -> Colouring:
    """Return the colours of these rows of a vocabulary, by what is usual or by the choice called `key`."""
    keys = [choice.key for choice in colour_choices(knowledge, kind)]
    chosen = keys[0] if key is None else check_choice("colour", key, keys)
    if chosen == NONE:
        return Colouring(NONE, None, [], "")
    if chosen == FREQUENCY:
        return _by_amount(np.asarray(knowledge.frequencies[kind], dtype=np.float64)[rows])
    groups = next(one for one in _sets(knowledge, kind) if one.key == chosen)
    return _by_group(groups, knowledge.titles(groups), rows)


def _sets(knowledge: Knowledge, kind: str) -> list[Groups]:
    return [groups for groups in knowledge.groups if groups.kind == kind and len(groups) > 1]


def _by_group(groups: Groups, titles: Sequence[str], rows: np.ndarray) -> Colouring:
    """Return which of the groups with most points each point belongs to."""
    strongest = groups.strongest_of_all()[rows]
    counts = np.bincount(strongest[strongest >= 0], minlength=len(groups))
    chosen = largest(counts, NUM_COLOURED)
    chosen = chosen[counts[chosen] > 0]
    colours = np.full(len(rows), NO_COLOUR, dtype=np.uint8)
    for place, number in enumerate(chosen):
        colours[strongest == number] = place
    legend = [f"{groups.noun} {groups.label(int(one))}: {titles[int(one)]}" for one in chosen]
    return Colouring(groups.key, colours, legend, groups.noun)


def _by_amount(amounts: np.ndarray) -> Colouring:
    """Return the quarter of all points that each is in, the largest first; equal amounts share a quarter.

    >>> found = _by_amount(np.array([9.0, 1.0, 1.0, 1.0, 4.0]))
    >>> found.colours.tolist(), found.legend
    ([0, 1, 1, 1, 0], ['9 to 4', '1'])
    """
    larger = np.searchsorted(np.sort(-amounts), -amounts, side="left")
    quarters = NUM_COLOURED * larger // max(1, len(amounts))
    present = np.unique(quarters)  # several may be empty, where many amounts are equal
    spans = [(amounts[quarters == one].max(), amounts[quarters == one].min()) for one in present]
    legend = [f"{most:,.4g}" if most == least else f"{most:,.4g} to {least:,.4g}" for most, least in spans]
    colours = np.searchsorted(present, quarters).astype(np.uint8)
    return Colouring(FREQUENCY, colours, legend, "quarter", is_amount=True)
