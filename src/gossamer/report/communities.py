"""What a model of communities found: how many formed, where they lie, who and what is typical, and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gossamer.report.blocks import Block, Figure, Fold, KeyNumbers, Section, Table
from gossamer.report.community_figures import calibration, community_maps, precision_recall
from gossamer.report.numbers import format_share

_LEAD = (
    "Each user belongs to communities by weights that sum to one. Look first at how many there are in effect: weights "
    "that are all alike mean that no communities formed."
)


def communities_section(findings: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """Show the communities of models that have some, and curves of those that predict pairs; None where neither is.

    `findings[model]` may have space (K, D), sizes (K), in effect, per user and rows of a table; precision recall and
    calibration as points.
    """
    known = {model: found for model, found in findings.items() if found}
    if not known:
        return None
    blocks: list[Block] = []
    for model, found in known.items():
        inner = _blocks(found)
        if inner:
            blocks += inner if len(known) == 1 else [Fold(model, inner, is_open=True)]
    curves = {model: found["precision recall"] for model, found in known.items() if found.get("precision recall")}
    if curves:
        said = {model: found["calibration"] for model, found in known.items() if found.get("calibration")}
        caption = "Held-out items among ten times as many that the user does not have; a tenth of the pairs per dot."
        blocks.append(Figure([precision_recall(curves), calibration(said)], caption))
    return Section("Its communities", blocks, _LEAD) if blocks else None


def _blocks(found: Mapping[str, Any]) -> list[Block]:
    if "space" not in found:
        return []
    tiles = {
        "communities": len(found["sizes"]),
        "in effect": f"{found['in effect']:.1f}",
        "in effect per user": f"{found['per user']:.1f}",
        "with members": int((found["sizes"] > 0).sum()),
    }
    caption = "Dots are as large as communities have members, by largest weight; numbers are those of the table."
    note = "Typical items are those that a community raises most, popularity left aside."
    return [
        KeyNumbers(tiles),
        Figure(community_maps(found["space"], found["sizes"]), caption),
        Table(found["rows"], "Communities", formats={"share of weight": format_share}, note=note),
    ]
