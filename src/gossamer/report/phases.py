"""What a model of phases found: who is in which phase when, what follows what, how long, and what comes next."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.report.blocks import Block, Figure, Fold, Section, Table
from gossamer.report.numbers import format_share
from gossamer.report.phase_figures import duration_curves, phase_timeline, transition_graph

_LEAD = "Phases have numbers, no names: look at what they emit, below, for what they mean."


def phases_section(findings: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """Show the phases of each model that has some; None where no model has.

    `findings[model]` has names and paths of series, transition (K, K), shares (K) of steps, tables of states, of
    moves between them and of what follows; and durations (K, D) where they are explicit.
    """
    known = {model: found for model, found in findings.items() if found}
    if not known:
        return None
    blocks: list[Block] = []
    for model, found in known.items():
        inner = _blocks(found)
        blocks += inner if len(known) == 1 else [Fold(model, inner, is_open=True)]
    return Section("Its phases", blocks, _LEAD)


def _blocks(found: Mapping[str, Any]) -> list[Block]:
    drawings = [transition_graph(found["transition"], found["shares"])]
    if found.get("durations") is not None:
        drawings.append(duration_curves(found["durations"]))
    note = (
        "± is the standard error: of the mean duration from the phases that were seen to their end, of what is emitted "
        "and of moves from the curvature of the likelihood."
    )
    formats = {"share of steps": format_share}
    blocks: list[Block] = [
        Figure([phase_timeline(found["names"], found["paths"])], "The most probable phases of some series."),
        Figure(drawings, "Dots are as large as phases are frequent; moves below 5 % are not drawn."),
        Table(found["states"], "Phases", formats=formats, note=note),
    ]
    if found.get("moves"):
        blocks.append(Table(found["moves"], "What follows what"))
    if found["following"]:
        blocks.append(Table(found["following"], "What comes next, and when"))
    return blocks
