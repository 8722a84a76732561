"""`gossamer tune`: search a model's settings on validation data."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gossamer.cli.options import (
    AsJson,
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

[bold]gossamer tune slim --data stdlib-usage --trials 20[/bold]

[bold]gossamer tune als --data stdlib-usage --trials 30 --pareto --set epochs=8 --out als-study[/bold]

[bold]gossamer tune item-knn --data ratings.csv --trials 9 --try num_neighbours=[20,50,100] --metric recall@20[/bold]

[bold]gossamer reproduce als-study/als-study-best.toml[/bold]
"""


def run(
    model: Annotated[str, typer.Argument(help="A model, as for `gossamer fit`.")],
    data: Data,
    trials: Annotated[int, typer.Option("--trials", "-n", help="How many settings to try, those of before included.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Directory of the study, else MODEL-study.")] = None,
    metric: Annotated[str | None, typer.Option(help="Validation metric that chooses, if not the usual.")] = None,
    settings: Annotated[list[str] | None, typer.Option("--set", help="A setting that stays, as key=value.")] = None,
    tried: Annotated[
        list[str] | None,
        typer.Option("--try", help='What to try instead, as key=[1,2,5] or key={"low":1,"high":9,"log":true}.'),
    ] = None,
    pareto: Annotated[
        bool, typer.Option("--pareto", help="Search for quality and few bytes at once, without pruning.")
    ] = False,
    columns: Columns = None,
    options: DataOptions = None,
    split: Split = None,
    min_rating: MinRating = None,
    min_per_user: MinPerUser = None,
    min_per_item: MinPerItem = None,
    seed: Seed = 0,
    device: Device = None,
    as_json: AsJson = False,
) -> None:
    """Search a model's settings on validation data; the same command goes on with an unfinished search."""
    from gossamer.cli.interruption import study_kept
    from gossamer.cli.printing import print_json
    from gossamer.cli.trials import print_findings, print_trial, write_front
    from gossamer.runner.specs import DataSpec
    from gossamer.runner.tuning.conducting import tune

    source = DataSpec(data, parse_options(options), parse_columns(columns), min_rating, min_per_user, min_per_item)
    folder = Path(f"{model}-study") if out is None else out
    chosen: dict[str, Any] = {"settings": parse_settings(settings), "tried": parse_settings(tried, "--try")}
    chosen |= {"split": split, "metric": metric, "seed": seed, "device": device, "is_pareto": pareto}
    heard = (lambda _: None) if as_json else print_trial
    with study_kept(folder):
        found = tune(model, source, folder, trials=trials, on_trial=heard, **chosen)
    write_front(folder / "front.svg", found)
    print_json(found) if as_json else print_findings(folder, found)
