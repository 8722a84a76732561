"""What a model's sparse codes look like: how many features are on, which, what they mean, what is lost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from gossamer.report.blocks import Block, Cell, Figure, Fold, KeyNumbers, Section, Table
from gossamer.report.class_patterns import class_blocks
from gossamer.report.code_figures import code_map, picture_rows
from gossamer.report.figures import histogram
from gossamer.report.numbers import format_share

_LEAD = (
    "Each observation is described by a few features that are on. Look for features that mean something, for codes of "
    "one class that lie together, and for what a code does not keep."
)
_PER_ROW = 8  # prototypes in one row of pictures


def codes_section(findings: Mapping[str, Mapping[str, Any]]) -> Section | None:
    """Show the codes of each model that has some; None where no model has.

    `findings[model]` may have codes (CSR), labels, label_names, limit, features and share of features; of pictures and
    rows observed, rebuilt and prototypes; of documents document_terms, rebuilt_terms and prototype_terms; of sentences
    sentences, rebuilt_sentences, dimension_sentences (rows of a table), patterns, pattern_spread and class_word_kl.
    What is missing is left out.
    """
    known = {model: found for model, found in findings.items() if found and found["codes"].shape[0]}
    if not known:
        return None
    blocks: list[Block] = []
    for model, found in known.items():
        inner = _blocks(found)
        blocks += inner if len(known) == 1 else [Fold(model, inner, is_open=True)]
    return Section("Its codes", blocks, _LEAD)


def _blocks(found: Mapping[str, Any]) -> list[Block]:
    codes = found["codes"]
    active = np.diff(codes.indptr) if codes.nnz == np.count_nonzero(codes.data) else (codes.toarray() != 0).sum(axis=1)
    distinct = len(np.unique(codes.toarray(), axis=0))
    tiles: dict[str, Cell] = {
        "features on, mean": float(active.mean()),
        "features on, most": int(active.max()) if found.get("limit") is None else f"{active.max()} of {found['limit']}",
        "features ever on": f"{len(np.unique(codes.indices[codes.data != 0])):,} of {codes.shape[1]:,}",
        "different codes": f"{distinct:,} of {codes.shape[0]:,}",
    }
    drawings = [*histogram(active, "features on", "observations")]
    drawings.append(code_map(codes, found.get("labels"), found.get("label_names")))
    caption = "The map puts codes that share features close together; distances between groups mean little."
    blocks: list[Block] = [KeyNumbers(tiles), Figure(drawings, caption)]
    return [*blocks, *_reconstructions(found), *_prototypes(found), *_speakers(found), *class_blocks(found)]


def _reconstructions(found: Mapping[str, Any]) -> list[Block]:
    if found.get("observed") is not None:
        alt = f"{len(found['observed'])} observations above what is rebuilt from their codes."
        rows = _same_scale(np.asarray(found["observed"]), np.asarray(found["rebuilt"]))
        drawing = picture_rows("Rebuilt from codes", rows, ["observed", "rebuilt"], alt)
        return [Figure([drawing], "Observations, and what the decoder expects of their codes.")]
    if found.get("document_terms"):
        rows_of_terms = [
            {"document": str(number + 1), "its words": words, "raised by its code": rebuilt}
            for number, (words, rebuilt) in enumerate(zip(found["document_terms"], found["rebuilt_terms"], strict=True))
        ]
        return [Table(rows_of_terms, "Documents, and the terms that their codes make likelier")]
    if found.get("sentences"):
        pairs = zip(found["sentences"], found["rebuilt_sentences"], strict=True)
        rows_of_words: list[dict[str, Cell]] = [{"sentence": said, "from its code": again} for said, again in pairs]
        return [Table(rows_of_words, "Sentences, and the likeliest words given their codes")]
    return []


def _prototypes(found: Mapping[str, Any]) -> list[Block]:
    features = found.get("features")
    if features is None or not len(features):
        return []
    note = "What the decoder expects when this feature alone is on, for the features that are on most often."
    if found.get("prototypes") is not None:
        pictures = np.asarray(found["prototypes"])
        starts = range(0, len(pictures), _PER_ROW)
        rows = [pictures[start : start + _PER_ROW] for start in starts]
        names = [_span(features[start : start + _PER_ROW]) for start in starts]
        alt = f"What {len(pictures)} features mean: {', '.join(map(str, features))}, on most often first."
        return [Figure([picture_rows("What features mean", rows, names, alt)], note)]
    if found.get("prototype_terms"):
        table: list[dict[str, Cell]] = [
            {"feature": str(feature), "on in": format_share(float(found["share"][feature])), "raises": terms}
            for feature, terms in zip(features, found["prototype_terms"], strict=True)
        ]
        return [Table(table, "What features mean", note=note)]
    return []


def _speakers(found: Mapping[str, Any]) -> list[Block]:
    rows = found.get("dimension_sentences")
    return [Table(list(rows), "Sentences where a dimension is farthest from 0")] if rows else []


def _span(features: np.ndarray) -> str:
    return ", ".join(map(str, features[:2])) + (" …" if len(features) > 2 else "")


def _same_scale(observed: np.ndarray, rebuilt: np.ndarray) -> list[np.ndarray]:
    """Return both; bytes as shares of 255 where the decoder gives shares."""
    is_share = observed.dtype == np.uint8 and rebuilt.size > 0 and rebuilt.max() <= 1
    return [observed / 255.0 if is_share else observed, rebuilt]
