"""Table 14 on our own runs: which trained language model each lambda1 selects by equation (35).

    gossamer reproduce ant-ptb                    # writes the records
    python benchmarks/select_ptb.py [page.md]     # prints the table, and writes it between the marks of a page

A run's loss is its log perplexity on test data, as in the paper; its lambda2 is the penalty it was trained with, or the
paper's where it had none. The rows of one width are compared, because (35) does not charge for a vector's width.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from pages import write_between

from gossamer.models.embeddings.anchor_size import anchor_size
from gossamer.models.embeddings.model_selection import TrainedRun, choose_run, preferences
from gossamer.models.embeddings.text.language_model import AnchorLanguageModel
from gossamer.models.embeddings.text.text_tables import WordTable
from gossamer.runner.experiment import find_experiment
from gossamer.runner.records import Record, read_records

LAMBDAS1 = (2e-5, 1e-4, 1e-1)  # the paper's
LAMBDA2 = 1e-6
WIDTH = 200

Shown = Callable[[TrainedRun], str]


def main() -> None:
    records = read_records(find_experiment("ant-ptb").results)
    anchored = [record for record in records if record.method == "ant" and width_of(record) == WIDTH]
    if not anchored:
        raise SystemExit("no records of anchors; run: gossamer reproduce ant-ptb")
    runs = [trained_run(record) for record in anchored]
    table = choice_table(runs, LAMBDAS1, {"ppl": lambda run: f"{math.exp(run.loss):.1f}"}, origin_of(anchored))
    print(table)
    if len(sys.argv) > 1:
        write_between(Path(sys.argv[1]), "choice-ant-ptb", table)


def width_of(record: Record) -> int:
    return int(record.settings.get("embedding_dim", AnchorLanguageModel().embedding_dim))


def trained_run(record: Record) -> TrainedRun:
    """Return what (35) needs of a record: anchors follow from the settings, and nnz(T) from the numbers stored."""
    settings, num_words, width = record.settings, int(record.split["num_words"]), width_of(record)
    beside = AnchorLanguageModel.numbers_beside
    words = WordTable(settings["method"], width, ratio=settings["ratio"], numbers_beside=beside)
    sizes = settings.get("num_anchors"), settings.get("num_slots")
    ratio = words.table_ratio if sizes[0] is None else None
    num_anchors = anchor_size(num_words, width, sizes[0], ratio, sizes[1]).num_anchors
    values, num_bytes = int(record.metrics["values"]), int(record.metrics["bytes"])
    nnz = values - beside * num_words - num_anchors * width
    # Numbers have four bytes, as have row pointers, and column numbers one or two: so the bytes tell nnz as well.
    if num_bytes != 4 * values + nnz * (1 if num_anchors <= 256 else 2) + 4 * (num_words + 1):
        raise SystemExit(f"bytes of {record.row} must be those of {num_anchors} anchors and {nnz} entries")
    return TrainedRun(
        name=record.row,
        loss=math.log(record.metrics["test_perplexity"]),
        nnz=nnz,
        num_anchors=num_anchors,
        lambda2=float(settings.get("l1") or LAMBDA2),
    )


def origin_of(records: Sequence[Record]) -> str:
    commits = sorted({(record.commit or "unknown")[:10] + ("+" if record.dirty else "") for record in records})
    return f"commit {', '.join(commits)}; `gossamer reproduce {records[0].experiment}`"


def choice_table(runs: Sequence[TrainedRun], lambdas1: Sequence[float], more: dict[str, Shown], origin: str) -> str:
    """Return runs, objective (35) at each lambda1 with the lowest in bold, and the lambda1 for which each is lowest."""
    ranges = {preference.run: f"{preference.low:.1e} to {preference.high:.1e}" for preference in preferences(runs)}
    chosen = {lambda1: choose_run(runs, lambda1) for lambda1 in lambdas1}
    columns = [*more, "nnz(T)", *(f"λ₁ = {lambda1:.0e}" for lambda1 in lambdas1), "lowest for λ₁"]
    lines = [f"| run | anchors | {' | '.join(columns)} |", f"| :-- | --: | {'--: | ' * (len(columns) - 1)}:-- |"]
    for run in sorted(runs, key=lambda run: (-run.num_anchors, -run.nnz)):
        values = {lambda1: f"{run.objective(lambda1):.4g}" for lambda1 in lambdas1}
        cells = [
            *(show(run) for show in more.values()),
            f"{run.nnz:,}",
            *(f"**{value}**" if chosen[lambda1] is run else value for lambda1, value in values.items()),
            ranges.get(run, "none").replace("inf", "∞"),
        ]
        lines.append(f"| {run.name} | {run.num_anchors:,} | {' | '.join(cells)} |")
    lambdas2 = ", ".join(f"{value:.0e}" for value in sorted({run.lambda2 for run in runs}))
    return "\n".join([*lines, "", f"λ₂ = {lambdas2}; {origin}."])


if __name__ == "__main__":
    main()
