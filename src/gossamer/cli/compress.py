"""`gossamer compress`: a saved model, or a network of your own, within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

EXAMPLES = """
Examples:

[bold]gossamer compress language-model --bytes 0.5 --out small && gossamer evaluate small[/bold]

[bold]gossamer compress net.py:build --weights w.safetensors -d net.py:batches --macs 0.5 --params 0.5 -o small[/bold]

[bold]gossamer compress net.py:build --data net.py:batches --milliseconds 0.75 --allocator pos_cvx --out small[/bold]
"""


def run(
    model: Annotated[str, typer.Argument(help="A saved model, or file.py:function that returns an nn.Module.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory for what comes out, with its report.")],
    data: Annotated[
        str | None,
        typer.Option("--data", "-d", help="Training data, or file.py:function that returns (inputs, target) batches."),
    ] = None,
    weights: Annotated[Path | None, typer.Option(help="Weights of the module, a safetensors file.")] = None,
    macs: Annotated[float | None, typer.Option(help="Multiply-adds per example: a share, or above 1 a number.")] = None,
    params: Annotated[float | None, typer.Option(help="Parameters: a share, or above 1 a number.")] = None,
    bytes_: Annotated[float | None, typer.Option("--bytes", help="Bytes: a share, or above 1 a number.")] = None,
    milliseconds: Annotated[float | None, typer.Option(help="Measured time of a batch: a share, or above 1.")] = None,
    of: Annotated[str | None, typer.Option(help="What shares are of: model, or layers that may be split.")] = None,
    allocator: Annotated[str | None, typer.Option(help="cobla (default), pos_cvx, pos_greedy, cptv, vbmf …")] = None,
    scheme: Annotated[
        str | None, typer.Option(help="Split convolutions: spatial (default), channel; or prune them.")
    ] = None,
    keep: Annotated[list[str] | None, typer.Option(help="Layers that stay whole, by pattern.")] = None,
    only: Annotated[list[str] | None, typer.Option(help="Layers that may be split, by pattern.")] = None,
    iterations: Annotated[int | None, typer.Option(help="SQP iterations of the search.")] = None,
    fold: Annotated[bool, typer.Option("--fold", help="Make batch norms part of layers, last of all.")] = False,
    example: Annotated[
        str | None,
        typer.Option(help="For a module: file.py:function that returns inputs to count and time (default: batch 1)."),
    ] = None,
    fine_tune: Annotated[
        int | None,
        typer.Option(help="For a module: train on as many batches afterwards, by the loss or by the whole's answers."),
    ] = None,
) -> None:
    """Compress a trained network to a budget, and say where the budget went."""
    from gossamer.cli.printing import print_line
    from gossamer.report.budget_figure import draw_layer_shares
    from gossamer.report.svg import write_svg
    from gossamer.runner.compressing import compress_own, is_own, refuse_own_options
    from gossamer.runner.compressing_artifacts import compress_artifact

    report: Any
    limits = {"macs": macs, "params": params, "bytes": bytes_, "milliseconds": milliseconds}
    options: dict[str, Any] = {
        "allocator": allocator,
        "scheme": scheme,
        "keep": keep,
        "only": only,
        "iterations": iterations,
        "fold": fold or None,
    }
    own: dict[str, Any] = {"weights": weights, "example": example, "fine_tune_steps": fine_tune}
    if is_own(model):
        small = compress_own(model, data, out, limits={**limits, "of": of}, **own, **options)
        report, drawing = small.compression_report, out / "layers.svg"
        after = f"with {drawing.name}, a drawing of where the budget went"
    else:
        refuse_own_options(**own)
        settings = {**limits, "budget_of": of, **options}
        report, drawing = compress_artifact(model, out, settings=settings, data=data), Path(f"{out}-layers.svg")
        after = f"judge it with: gossamer evaluate {out}; {drawing} draws where the budget went"
    write_svg(draw_layer_shares(report.table()[:-1]).svg, drawing)
    print_line(str(report))
    print_line(f"saved to {out}, {after}")
