"""Seconds of an epoch against the edges it passes over, from the record of bench_community_scale.py.

    python benchmarks/bench_community_scale.py                      # writes the record
    python benchmarks/plot_community_scale.py [folder] [page.md]    # writes community-scale.svg there, and says it

What it says goes between the marks `written: community-scale` of a page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from measuring import RESULTS
from pages import in_lines, write_between

from gossamer.report.svg import INK, SERIES_COLOURS, draw_svg, write_svg


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    path = RESULTS / "community-scale.json"
    if not path.is_file():
        raise SystemExit(f"no {path.name} yet; run: python benchmarks/bench_community_scale.py")
    record = json.loads(path.read_text(encoding="utf-8"))
    sizes = [record["ours"], *record["peers"].values()]
    edges, seconds = (np.array([size[key] for size in sizes]) for key in ("edges", "epoch_seconds"))
    rate = float(np.exp(np.log(seconds / edges).mean()))

    def paint(axes: Axes) -> None:
        ends = np.array([0.0, edges.max()])
        line = f"{rate * 1e6:.3g} s per million"
        axes.plot(ends / 1e6, rate * ends, color=INK, linestyle="--", linewidth=1, label=line)
        axes.plot(edges / 1e6, seconds, "o", color=SERIES_COLOURS[0], label="one epoch")
        axes.set(xlabel="edges, millions", ylabel="seconds", xlim=(0, None), ylim=(0, None))
        axes.legend(frameon=False)

    write_svg(draw_svg(paint), folder / "community-scale.svg")
    largest = sizes[-1]
    mark = "+" if record["dirty"] else ""
    text = in_lines(
        f"An epoch over {largest['edges'] / 1e6:,.1f} million edges takes {largest['epoch_seconds'] / 60:.1f} minutes "
        f"on {record['machine']['cores']} cores and {largest['peak_bytes'] / 1e9:.2f} GB at most, data and libraries "
        f"included. All {len(sizes)} sizes take {rate * 1e6:.3g} seconds per million edges, within "
        f"{100 * float(np.abs(seconds / edges / rate - 1).max()):.0f} %. One core draws "
        f"{largest['neighbours_per_second'] / 1e6:.1f} million neighbours per second, "
        f"{largest['weighted_per_second'] / 1e6:.1f} million by weight, a loop over nodes in NumPy "
        f"{largest['loop_per_second'] / 1e6:.2f} million, PyTorch Geometric without compiled packages "
        f"{largest['pyg_per_second'] / 1e6:.2f} million (commit {(record['commit'] or 'unknown')[:10]}{mark}; "
        "`python benchmarks/bench_community_scale.py`)."
    )
    print(text, f"wrote {folder / 'community-scale.svg'}", sep="\n\n")
    if len(sys.argv) > 2:
        write_between(Path(sys.argv[2]), "community-scale", text)


if __name__ == "__main__":
    main()
