"""A compressed network on disk: its tensors, the ranks that rebuild it, and the report as text."""

from __future__ import annotations

import json
import os
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_model, save_model
from torch import nn

from gossamer.core.atomic import replacing_file
from gossamer.models.lowrank.assembly import split_like_
from gossamer.models.lowrank.channels import prune_like_
from gossamer.models.lowrank.folding import fold_like_
from gossamer.models.lowrank.pruning import PRUNE
from gossamer.models.lowrank.report import CompressionReport

TENSORS, REPORT, TEXT = "model.safetensors", "report.json", "report.txt"


def save_compressed(small: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write what `compress` returned as the directory `path`, each file whole or not at all; shared tensors once."""
    report = getattr(small, "compression_report", None)
    if not isinstance(report, CompressionReport):
        raise ValueError(f"small must be a network that compress returned, got {type(small).__name__} without a report")
    folder = Path(path)
    folder.mkdir(parents=True, exist_ok=True)
    with replacing_file(folder / TENSORS) as temporary:
        save_model(small, str(temporary))
    with replacing_file(folder / REPORT) as temporary:
        temporary.write_text(json.dumps(report.as_json(), indent=2) + "\n", encoding="utf-8")
    with replacing_file(folder / TEXT) as temporary:
        temporary.write_text(f"{report}\n", encoding="utf-8")


def rebuilt_like_(model: nn.Module, report: CompressionReport) -> nn.Module:
    """Give a whole network the layers of the one that a report is about, zeros in those that changed, and return it."""
    return fold_like_(_split_like_(model, report), report.folded)


def _split_like_(model: nn.Module, report: CompressionReport) -> nn.Module:
    changed = [layer for layer in report.layers if layer.rank is not None]
    if report.scheme == PRUNE:
        return prune_like_(model, {layer.names: layer.rank for layer in changed if layer.rank is not None})
    ranks = {layer.names[0]: layer.rank for layer in changed if layer.rank is not None}
    return split_like_(model, ranks, scheme=report.scheme)


def load_compressed(model: nn.Module, path: str | os.PathLike[str]) -> nn.Module:
    """Return the compressed network of `path`; `model` is one like the original and is taken apart for it."""
    folder = Path(path)
    report = CompressionReport.from_json(json.loads((folder / REPORT).read_text(encoding="utf-8")))
    small = rebuilt_like_(model, report)
    try:
        load_model(small, folder / TENSORS)
    except (RuntimeError, SafetensorError) as error:
        raise ValueError(f"model must be like the one that was compressed to {folder}, got: {error}") from None
    small.compression_report = report  # type: ignore[assignment]
    return small
