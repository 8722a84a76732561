"""How small a compressed table became: values and bytes beside a dense one, and how many entries its rows kept."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from gossamer.report.blocks import Block, Cell, Figure, Section, Table
from gossamer.report.figures import histogram
from gossamer.report.numbers import format_bytes

_DENSE_BYTES = 4  # of a float32, which is what a dense table is made of


def compression_section(
    sizes: Mapping[str, Mapping[str, float]], entries: Mapping[str, Mapping[str, np.ndarray]]
) -> Section | None:
    """Show each model's `size_report()` beside the dense table it stands for; None where no model has one.

    `sizes[model]` has dense_values, values, bytes and ratio; `entries[model]` maps what a row is (words, items) to the
    number of entries of every row.
    """
    rows: list[dict[str, Cell]] = []
    for model, size in sizes.items():
        if size:
            dense = int(size["dense_values"])
            rows.append({"model": f"{model}, dense", "values": dense, "size": dense * _DENSE_BYTES, "smaller": 1.0})
            stored = {"values": int(size["values"]), "size": int(size["bytes"]), "smaller": float(size["ratio"])}
            rows.append({"model": model, **stored})
    if not rows:
        return None
    note = "Smaller is by how much the number of values shrank; indices count as bytes, not as values."
    blocks: list[Block] = [
        Table(
            rows,
            "The table of vectors, before and after",
            formats={"size": format_bytes, "smaller": lambda ratio: f"{ratio:,.1f} ×"},
            note=note,
        )
    ]
    for model, counts in entries.items():
        drawings = [drawing for name, count in counts.items() for drawing in histogram(count, "entries per row", name)]
        if drawings:
            blocks.append(Figure(drawings, f"{model}: how many anchors each row is made of."))
    return Section("How small it is", blocks, "What is stored instead of one vector for each.")
