"""What two processes give, from the records of bench_data_parallel.py and bench_scale_out.py, as text for a page.

    python benchmarks/bench_data_parallel.py && python benchmarks/bench_scale_out.py    # write the records
    python benchmarks/plot_scale_out.py docs/scaling.md                                 # writes what they say

It goes between the marks `written: scale-out` of the page.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from measuring import RESULTS
from pages import in_lines, write_between


def main() -> None:
    texts = [tell(record) for name, tell in TOLD.items() if (record := read(name)) is not None]
    if not texts:
        raise SystemExit("no records yet; run: python benchmarks/bench_scale_out.py")
    print(*texts, sep="\n\n")
    if len(sys.argv) > 1:
        write_between(Path(sys.argv[1]), "scale-out", "\n\n".join(texts))


def read(name: str) -> dict[str, Any] | None:
    path = RESULTS / f"{name}.json"
    record: dict[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return record


def tell_of_data(record: dict[str, Any]) -> str:
    one, two = record["peers"]["one process"], record["ours"]
    ratio = one["train_seconds"] / two["train_seconds"]
    gained = f"**{ratio:.2f} times as fast**" if ratio >= 1.05 else f"no faster ({ratio:.2f} times)"
    return in_lines(
        f"Data divided, `sentence-vae`: an epoch over {record['data']['num_sentences']:,} sentences took "
        f"{two['train_seconds']:.1f} s with two processes and {one['train_seconds']:.1f} s with one, {gained}; an "
        f"update sends {two['gradient_bytes'] / 1e6:.1f} MB of gradients ({source_of(record)})."
    )


def tell_of_table(record: dict[str, Any]) -> str:
    one, two = record["peers"]["one process"], record["ours"]
    slower = one["train_seconds"] < two["train_seconds"]
    lesson = (
        " **What is divided here is memory, not time**: on one small machine, fetching rows from the other process "
        "costs more than the second core gives. Take a divided table where one process cannot hold it."
    )
    seconds = f"{two['train_seconds']:.1f} s with two processes and {one['train_seconds']:.1f} s with one"
    held = f"{two['table_bytes'] / 1e6:,.0f} instead of {one['table_bytes'] / 1e6:,.0f} MB of table"
    data = record["data"]
    return in_lines(
        f"T divided: an epoch over {data['num_examples']:,} pairs of {data['num_embeddings']:,} ids took {seconds}, "
        f"while each of the two held {held} ({source_of(record)}).{lesson if slower else ''}"
    )


def source_of(record: dict[str, Any]) -> str:
    mark = "+" if record["dirty"] else ""
    return (
        f"`results/bench/{record['name']}.json`, median of {record['repeats']}, {record['machine']['cores']} cores, "
        f"commit {(record['commit'] or 'unknown')[:10]}{mark}"
    )


TOLD = {"data-parallel": tell_of_data, "scale-out": tell_of_table}


if __name__ == "__main__":
    main()
