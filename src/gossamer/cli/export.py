"""`gossamer export`: a saved model for other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import Artifact

EXAMPLES = """
Examples:

[bold]gossamer export ease --to onnx --out ease.onnx[/bold]

[bold]gossamer export docs-vae --to parquet --data new-docs.csv --out codes.parquet[/bold]

[bold]gossamer export als --to word2vec --out items.txt[/bold]
"""
FORMATS = ("onnx", "npz", "parquet", "word2vec")


def run(
    artifact: Artifact,
    to: Annotated[str, typer.Option("--to", help="onnx, npz or parquet (codes of data), or word2vec (vectors).")],
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write.")],
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Data to encode; by default those of training.")
    ] = None,
    table: Annotated[
        str | None, typer.Option(help="Which vectors, where a model has several: items, users, words.")
    ] = None,
) -> None:
    """Write a model's graph, its codes of some data, or its vectors, in a format that other tools read."""
    from gossamer.cli.printing import print_line
    from gossamer.core.checks import check_choice
    from gossamer.persistence import read_artifact

    check_choice("--to", to, FORMATS)
    is_codes = to in ("npz", "parquet")
    if data is not None and not is_codes:
        raise ValueError(f"--data must be left out with --to {to}, which does not read any, got {data!r}")
    if table is not None and to != "word2vec":
        raise ValueError(f"--table must be left out with --to {to}, got {table!r}")
    if is_codes and out.suffix.lower() != f".{to}":
        raise ValueError(f"--out must end in .{to}, got {str(out)!r}")
    loaded = read_artifact(artifact)
    if to == "onnx":
        from gossamer.serving.export import write_onnx

        answers = write_onnx(loaded.estimator, out)
        print_line(f"wrote {out}, with its vocabularies beside it; it answers as {answers}")
    elif to == "word2vec":
        from gossamer.serving.export import write_word2vec

        vectors = write_word2vec(loaded.estimator, out, table)
        print_line(f"wrote {out}, {len(vectors.names):,} vectors of {vectors.width} numbers")
    else:
        from gossamer.runner.provenance import open_origin
        from gossamer.runner.terms import terms_of
        from gossamer.serving.export import write_codes

        _, opened = open_origin(loaded.config, data, terms_of(loaded.estimator))
        codes = write_codes(loaded.estimator, opened, out)
        print_line(f"wrote {out}, {codes.nnz:,} entries of {codes.shape[0]:,} codes of {codes.shape[1]:,} features")
