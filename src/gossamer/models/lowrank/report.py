"""What `compress` did: every layer before and after, against the budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from gossamer.core.html import html_table
from gossamer.models.lowrank.sqp import Iteration


@dataclass(frozen=True)
class LayerChange:
    """One weight: the modules that hold it, its rank (None where it is whole), and its costs before and after."""

    names: tuple[str, ...]
    kind: str
    shape: tuple[int, ...]
    rank: int | None
    full_rank: int
    macs_before: int
    macs_after: int
    params_before: int
    params_after: int
    stayed: str | None = None


@dataclass(frozen=True)
class CompressionReport:
    """All layers, the totals before and after, and the limits that were kept; `print` shows it as text.

    MACs are per example. `milliseconds` are the fastest of several passes over one batch on this machine. `folded` are
    the names of batch norms that became part of a layer, each behind the layer's.
    """

    layers: tuple[LayerChange, ...]
    before: dict[str, float]
    after: dict[str, float]
    limits: dict[str, float]
    allocator: str
    scheme: str
    fitted: bool
    recalibrated: bool
    seconds: float
    iterations: tuple[Iteration, ...] = field(default_factory=tuple)
    refitted: bool = False
    folded: tuple[tuple[str, str], ...] = ()

    def share(self, cost: str) -> float:
        """Return what is left of a cost: after ÷ before."""
        return self.after[cost] / self.before[cost] if self.before[cost] else 1.0

    def layers_share(self, cost: str) -> float:
        """Return what is left of "macs" or "params" of the layers that were open to be split, without all others."""
        opened = [layer for layer in self.layers if layer.stayed is None]
        before, after = (sum(getattr(layer, f"{cost}_{when}") for layer in opened) for when in ("before", "after"))
        return after / before if before else 1.0

    def table(self) -> list[dict[str, Any]]:
        """Return one row per layer, with its share of what the compressed network costs, and one for the model."""
        macs, params = max(self.after["macs"], 1), max(self.after["params"], 1)
        rows = [
            {
                "layer": ", ".join(change.names),
                "kind": change.kind,
                "shape": " × ".join(map(str, change.shape)),
                "rank": "whole" if change.rank is None else f"{change.rank} of {change.full_rank}",
                "macs": change.macs_after,
                "macs left": change.macs_after / change.macs_before if change.macs_before else 1.0,
                "macs of budget": change.macs_after / macs,
                "params": change.params_after,
                "params left": change.params_after / change.params_before,
                "params of budget": change.params_after / params,
                "stayed": change.stayed or "",
            }
            for change in self.layers
        ]
        total = {"layer": "model", "kind": "", "shape": "", "rank": ""}
        sums = {"macs": int(macs), "macs left": self.share("macs"), "macs of budget": 1.0}
        sums |= {"params": int(params), "params left": self.share("params"), "params of budget": 1.0}
        return [*rows, {**total, **sums, "stayed": ""}]

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> CompressionReport:
        """Undo `as_json`, also after a trip through a file."""
        layers = tuple(
            LayerChange(**{**layer, "names": tuple(layer["names"]), "shape": tuple(layer["shape"])})
            for layer in values["layers"]
        )
        iterations = tuple(Iteration(**{**one, "prices": tuple(one["prices"])}) for one in values["iterations"])
        folded = tuple((str(layer), str(norm)) for layer, norm in values.get("folded", ()))
        return cls(**{**values, "layers": layers, "iterations": iterations, "folded": folded})

    def _repr_html_(self) -> str:
        *rows, total = self.table()
        return html_table(rows, total=total)

    def __str__(self) -> str:
        rows = [{key: _text(cell) for key, cell in row.items()} for row in self.table()]
        widths = {key: max(len(key), *(len(row[key]) for row in rows)) for key in rows[0]}
        lines = ["  ".join(key.ljust(widths[key]) for key in widths).rstrip()]
        lines += ["  ".join(row[key].ljust(widths[key]) for key in widths).rstrip() for row in rows]
        return "\n".join(lines)


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:.3f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
