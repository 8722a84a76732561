"""What classes share in their codes, and how far apart their words are: figures 4 and 5 of the HSVAE paper."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gossamer.report.blocks import Block, Figure, KeyNumbers
from gossamer.report.code_figures import picture_rows

MAX_CLASSES, MAX_DIMENSIONS = 30, 64  # of a heat map that can still be read


def class_blocks(found: Mapping[str, Any]) -> list[Block]:
    """Show patterns and class_word_kl of `found` as heat maps, a row for each class; nothing where there are none."""
    if found.get("patterns") is None:
        return []
    patterns = np.nan_to_num(np.asarray(found["patterns"], dtype=np.float64))[:MAX_CLASSES, :MAX_DIMENSIONS]
    divergence = np.asarray(found["class_word_kl"], dtype=np.float64)[:MAX_CLASSES, :MAX_CLASSES]
    names = [str(name) for name in (found.get("label_names") or range(len(patterns)))][: len(patterns)]
    between = divergence[~np.eye(len(divergence), dtype=bool)]
    tiles = KeyNumbers(
        {
            "spread of patterns over classes": float(found["pattern_spread"]),
            "divergence of classes' words, mean": float(between.mean()) if between.size else 0.0,
        }
    )
    drawings = [
        picture_rows(
            "Dimensions that are off, by class",
            list(patterns[:, None, :]),
            names,
            f"A row for each of {len(names)} classes, a column for each of {patterns.shape[1]} dimensions; the darker, "
            "the more of the class's sentences have it off.",
        ),
        picture_rows(
            "How far apart the words of classes are",
            list(divergence[:, None, :]),
            names,
            f"KL divergence of word frequencies, row from column, up to {divergence.max(initial=0.0):.3g} nats.",
        ),
    ]
    caption = (
        "Left to right: dimensions; classes in the order of the rows. Codes that know classes have rows that differ; "
        "the paper finds them where the words of classes are far apart."
    )
    return [tiles, Figure(drawings, caption)]
