"""`gossamer fit`: train a model on data and save it as an artifact."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.options import (
    Columns,
    Data,
    DataOptions,
    Device,
    MinPerItem,
    MinPerUser,
    MinRating,
    Seed,
    Split,
    parse_columns,
    parse_options,
    parse_settings,
)

EXAMPLES = """
Examples:

[bold]gossamer fit ease --data stdlib-usage --out ease --set regularization=50[/bold]

[bold]gossamer fit als --data ratings.csv --columns user=userId --columns item=movieId --min-rating 4 --out als[/bold]

[bold]gossamer fit count-vae --data stdlib-docs --out docs-vae --set latent_dim=20 --set epochs=20[/bold]

[bold]gossamer fit count-vae --data mail.csv --columns text=body --option max_terms=5000 --out mail-vae[/bold]

[bold]gossamer fit anchor-text-classifier --data mail.csv --columns text=body --columns label=topic --out ant[/bold]
"""


def run(
    model: Annotated[str, typer.Argument(help="ease, als, biased-mf, count-vae, anchor-text-classifier …")],
    data: Data,
    out: Annotated[Path, typer.Option("--out", "-o", help="Directory to save the model in.")],
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting of the model, as key=value.")] = None,
    columns: Columns = None,
    options: DataOptions = None,
    split: Split = None,
    min_rating: MinRating = None,
    min_per_user: MinPerUser = None,
    min_per_item: MinPerItem = None,
    seed: Seed = 0,
    device: Device = None,
) -> None:
    """Train a model, judge it on held-out data and save it."""
    from gossamer.cli.interruption import resumable
    from gossamer.cli.printing import print_line, print_metrics
    from gossamer.runner.estimators import make_estimator
    from gossamer.runner.outcome import fit_and_judge
    from gossamer.runner.provenance import open_together
    from gossamer.runner.specs import DataSpec
    from gossamer.runner.together import joined

    chosen = parse_settings(settings)
    make_estimator(model, chosen, seed=seed, device=device)  # complains before the data are read
    source = DataSpec(data, parse_options(options), parse_columns(columns), min_rating, min_per_user, min_per_item)
    with joined(device) as processes:
        origin, parts = open_together(model, source, split, seed, chosen)
        run_of = {**origin.as_json(), "settings": chosen, "seed": seed, "device": device}
        with resumable(out, run_of) as checkpoint:
            outcome = fit_and_judge(model, parts, settings=chosen, seed=seed, device=device, checkpoint=checkpoint)
            metrics = {} if outcome.measured is None else outcome.measured.values
            if processes.is_first:
                outcome.estimator.save(out, provenance=origin.as_json(), metrics=metrics)
            processes.wait()
    print_metrics(model, metrics, outcome.seconds)
    print_line(f"saved to {out}; look at it with: gossamer inspect {out}")
