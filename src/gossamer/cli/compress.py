"""`gossamer compress`: a network of your own within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EXAMPLES = """
Examples:

[bold]gossamer compress net.py:build --weights w.safetensors -d net.py:batches --macs 0.5 --params 0.5 -o small[/bold]

[bold]gossamer compress net.py:build --data net.py:batches --milliseconds 0.75 --allocator pos_cvx --out small[/bold]
"""


def run(
    model: Annotated[str, typer.Argument(help="file.py:function that returns the trained nn.Module.")],
    data: Annotated[str, typer.Option("--data", "-d", help="file.py:function that returns (inputs, target) batches.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for the tensors, the ranks and the report.")],
    weights: Annotated[Path | None, typer.Option(help="Weights of the module, a safetensors file.")] = None,
    macs: Annotated[float | None, typer.Option(help="Multiply-adds per example: a share, or above 1 a number.")] = None,
    params: Annotated[float | None, typer.Option(help="Parameters: a share, or above 1 a number.")] = None,
    bytes_: Annotated[float | None, typer.Option("--bytes", help="Bytes: a share, or above 1 a number.")] = None,
    milliseconds: Annotated[float | None, typer.Option(help="Measured time of a batch: a share, or above 1.")] = None,
    allocator: Annotated[str, typer.Option(help="cobla, pos_cvx, pos_greedy, cptv, vbmf …")] = "cobla",
    scheme: Annotated[str, typer.Option(help="How convolutions are split: spatial or channel.")] = "spatial",
    keep: Annotated[list[str] | None, typer.Option(help="Layers that stay whole, by pattern.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Layers that may be split, by pattern.")] = None,
    iterations: Annotated[int, typer.Option(help="SQP iterations of the search.")] = 60,
) -> None:
    """Compress a trained network to a budget, and say where the budget went."""
    from gossamer.cli.printing import print_line
    from gossamer.models.lowrank import Budget
    from gossamer.report.budget_figure import draw_layer_shares
    from gossamer.report.svg import write_svg
    from gossamer.runner.compressing import compress_own

    budget = Budget(macs=macs, params=params, bytes=bytes_, milliseconds=milliseconds)
    small = compress_own(
        model,
        data,
        out,
        budget=budget,
        weights=weights,
        iterations=iterations,
        allocator=allocator,
        scheme=scheme,
        keep=keep or (),
        only=only,
    )
    report = small.compression_report
    write_svg(draw_layer_shares(report.table()[:-1]).svg, out / "layers.svg")  # type: ignore[union-attr, operator]
    print_line(str(report))
    print_line(f"saved to {out}, with layers.svg, a drawing of where the budget went")
