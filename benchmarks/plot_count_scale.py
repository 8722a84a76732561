"""Seconds of an epoch against the nonzeros it passes over, from the record of bench_count_scale.py.

    python benchmarks/bench_count_scale.py                      # writes the record
    python benchmarks/plot_count_scale.py [folder] [page.md]    # writes count-scale.svg there, and says what it shows

What it says goes between the marks `written: count-scale` of a page.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from measuring import RESULTS
from pages import in_lines, write_between

from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, write_svg

Sizes = dict[str, dict[str, float]]


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    path = RESULTS / "count-scale.json"
    if not path.is_file():
        raise SystemExit(f"no {path.name} yet; run: python benchmarks/bench_count_scale.py")
    record = json.loads(path.read_text(encoding="utf-8"))
    sizes = sizes_of(record)
    write_svg(draw_svg(painter(sizes)), folder / "count-scale.svg")
    text = tell(sizes, record)
    print(text, f"wrote {folder / 'count-scale.svg'}", sep="\n\n")
    if len(sys.argv) > 2:
        write_between(Path(sys.argv[2]), "count-scale", text)


def sizes_of(record: dict[str, Any]) -> Sizes:
    """Return what was measured by size, the smallest first."""
    (smallest,) = set(record["runs"]) - set(record["peers"])
    return {smallest: record["ours"], **record["peers"]}


def proportion(sizes: Sizes) -> tuple[float, float]:
    """Return the seconds per nonzero that fit best in ratio, and how far from them the worst size is, as a share."""
    rates = np.array([size["seconds"] / size["nonzeros"] for size in sizes.values()])
    rate = float(np.exp(np.log(rates).mean()))
    return rate, float(np.abs(rates / rate - 1).max())


def painter(sizes: Sizes) -> Callable[[Axes], None]:
    nonzeros, seconds = (np.array([size[key] for size in sizes.values()]) for key in ("nonzeros", "seconds"))
    rate, _ = proportion(sizes)

    def paint(axes: Axes) -> None:
        ends = np.array([0.0, nonzeros.max()])
        axes.plot(
            ends / 1e6, rate * ends, color=INK, linestyle="--", linewidth=1, label=f"{rate * 1e6:.3g} s per million"
        )
        axes.plot(nonzeros / 1e6, seconds, "o", color=SERIES_COLOURS[0], label="one epoch")
        axes.set_xlabel("nonzeros, millions")
        axes.set_ylabel("seconds")
        axes.set(xlim=(0, None), ylim=(0, None))
        axes.legend(frameon=False)

    return paint


def tell(sizes: Sizes, record: dict[str, Any]) -> str:
    name, largest = list(sizes.items())[-1]
    rate, worst = proportion(sizes)
    mark = "+" if record["dirty"] else ""
    return in_lines(
        f"An epoch over {name} of {record['data']['num_terms']:,} terms ({largest['nonzeros'] / 1e6:,.1f} million "
        f"nonzeros) takes {largest['seconds'] / 60:.1f} minutes on {record['machine']['cores']} cores and "
        f"{largest['peak_bytes'] / 1e9:.2f} GB at most, data and libraries included. All {len(sizes)} sizes take "
        f"{rate * 1e6:.3g} seconds per million nonzeros, within {100 * worst:.0f} % (commit "
        f"{(record['commit'] or 'unknown')[:10]}{mark}; `python benchmarks/bench_count_scale.py`)."
    )


if __name__ == "__main__":
    main()
