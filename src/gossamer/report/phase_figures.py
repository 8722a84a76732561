"""Drawings of phases: who is in which one when, what follows what, and how long they last."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch

from gossamer.report.blocks import Drawing
from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, short_label

HATCHES = ("", "///", "...", "xxx")  # each with every colour before the next: sixteen states look different
SMALLEST_ARROW = 0.05  # moves that are rarer are not drawn
BAR = 0.7


def phase_timeline(names: Sequence[str], paths: Sequence[Int[np.ndarray, " T"]]) -> Drawing:
    """Show the phases of series, one below the other, as bars along their steps."""
    longest = max((len(path) for path in paths), default=1)

    def paint(axes: Axes) -> None:
        for row, path in enumerate(paths):
            for begin, end in _runs(path):
                state = int(path[begin])
                axes.barh(row, end - begin, left=begin, height=BAR, **_look(state))
                if end - begin >= 0.05 * longest:
                    axes.text((begin + end) / 2, row, str(state), ha="center", va="center", fontsize=9)
        axes.set_yticks(range(len(paths)), [short_label(name, 14) for name in names])
        axes.invert_yaxis()
        axes.set(xlabel="step", xlim=(0, longest))
        axes.grid(visible=False)

    said = "; ".join(
        f"{name}: {', '.join(f'{path[b]} for {e - b}' for b, e in _runs(path))}"
        for name, path in zip(names, paths, strict=True)
    )
    return Drawing("Phases, step by step", draw_svg(paint, height=70 + 26 * len(paths)), f"{said}.")


def transition_graph(transition: Float[np.ndarray, "K K"], shares: Float[np.ndarray, " K"]) -> Drawing:
    """Show which phase follows which: dots as large as phases are frequent, arrows as strong as moves are likely."""
    num_states = len(transition)
    angles = 2 * np.pi * np.arange(num_states) / num_states
    places = np.stack([np.sin(angles), np.cos(angles)], axis=1)
    moves = transition * (1 - np.eye(num_states))

    def paint(axes: Axes) -> None:
        for i, j in np.argwhere(moves >= SMALLEST_ARROW):
            arrow = FancyArrowPatch(
                tuple(places[i]),
                tuple(places[j]),
                connectionstyle="arc3,rad=0.15",
                arrowstyle="-|>",
                mutation_scale=10,
                shrinkA=13,
                shrinkB=13,
                linewidth=0.5 + 3 * moves[i, j],
                alpha=0.25 + 0.75 * float(moves[i, j]),
                color=INK,
            )
            axes.add_patch(arrow)
        for state, (x, y) in enumerate(places):
            size = 10 + 18 * np.sqrt(shares[state])
            axes.plot(x, y, "o", markersize=size, color=SERIES_COLOURS[state % len(SERIES_COLOURS)], alpha=0.6)
            axes.text(x, y, str(state), ha="center", va="center", fontsize=10)
        axes.set(xlim=(-1.35, 1.35), ylim=(-1.35, 1.35))
        axes.set_aspect("equal")
        axes.set_axis_off()

    best = [f"{i} to {int(moves[i].argmax())} ({moves[i].max():.0%})" for i in range(num_states)]
    return Drawing("What follows what", draw_svg(paint, height=320), f"Most likely moves: {', '.join(best)}.")


def duration_curves(durations: Float[np.ndarray, "K D"], shown: int = 4) -> Drawing:
    """Show how long phases last, of the `shown` first states."""
    table = durations[:shown]
    reach = int(np.searchsorted(table.mean(axis=0).cumsum(), 0.995)) + 1

    def paint(axes: Axes) -> None:
        lengths = np.arange(1, durations.shape[1] + 1)
        for state, probs in enumerate(table):
            axes.plot(lengths, probs, color=SERIES_COLOURS[state % len(SERIES_COLOURS)], label=f"phase {state}")
        axes.set(xlabel="steps", ylabel="probability", xlim=(1, max(2, reach)), ylim=(0, None))
        axes.legend(frameon=False, fontsize=10)

    means = durations @ np.arange(1, durations.shape[1] + 1)
    said = ", ".join(f"phase {state} {mean:.1f} steps" for state, mean in enumerate(means))
    return Drawing("How long phases last", draw_svg(paint), f"On average: {said}.")


def _runs(path: np.ndarray) -> list[tuple[int, int]]:
    """Return where runs of one state begin and end."""
    if not len(path):
        return []
    cuts = np.flatnonzero(np.diff(path)) + 1
    return list(pairwise([0, *cuts.tolist(), len(path)]))


def _look(state: int) -> dict[str, Any]:
    size = len(SERIES_COLOURS)
    return {
        "facecolor": SERIES_COLOURS[state % size],
        "alpha": 0.6,
        "hatch": HATCHES[state // size % len(HATCHES)],
        "edgecolor": INK,
        "linewidth": 0.4,
    }
