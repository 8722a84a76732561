"""How every benchmark here measures: one process per contender and repeat, same data, same cores, one JSON.

A contender is a function that gets the data and returns the callable to be timed; what it does before returning
(imports, conversion to the library's own form, compiling on a tiny sample) is set-up and not counted. Time is the wall
time of the callable; memory is how far the peak resident size rose above what was resident when the clock started.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from gossamer.data import Interactions, Vocabulary
from gossamer.runner.machine import commit, machine, peak_rss_bytes, reset_peak_rss, versions

RESULTS = Path(__file__).parent.parent / "results" / "bench"
Contender = Callable[[Interactions], Callable[[], dict[str, float] | None]]


def synthetic_interactions(num_users: int, num_items: int, nnz: int, seed: int = 0) -> Interactions:
    """Return random interactions with the long tails of MovieLens: log-normal users, Zipf-like items, no repeats."""
    rng = np.random.default_rng(seed)
    activity = rng.lognormal(0.0, 1.1, num_users)
    popularity = 1.0 / (np.arange(num_items) + 30.0) ** 0.9
    # Repeated pairs are merged, so more are drawn than are kept; the surplus is cut at random afterwards.
    users = rng.choice(num_users, int(nnz * 1.35), p=activity / activity.sum())
    items = rng.choice(num_items, len(users), p=popularity / popularity.sum())
    ids = {"user_ids": Vocabulary.numbered(num_users), "item_ids": Vocabulary.numbered(num_items)}
    data = Interactions.from_pairs(users, items, **ids)
    if data.nnz < nnz:
        raise ValueError(f"nnz must be reachable with so many repeats, got {data.nnz} of {nnz}")
    keep = np.zeros(data.nnz, dtype=bool)
    keep[rng.permutation(data.nnz)[:nnz]] = True
    return data.keep(keep)


def run_benchmark(name: str, question: str, data: dict[str, int], contenders: dict[str, Contender]) -> None:
    """Run every contender of one benchmark (the first is ours) and write results/bench/<name>.json."""
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--repeats", type=int, default=3, help="processes per contender; the median counts")
    parser.add_argument("--small", action="store_true", help="a hundredth of the data, to try the script; not written")
    parser.add_argument("--contender", choices=list(contenders), help=argparse.SUPPRESS)
    parser.add_argument("--arrays", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        print(json.dumps(_measure(contenders[arguments.contender], _load(arguments.arrays))))
        return
    shape = {key: max(100, value // (100 if key == "nnz" else 10)) for key, value in data.items()}
    shape = shape if arguments.small else data
    with tempfile.TemporaryDirectory() as folder:
        arrays = Path(folder) / "interactions.npz"
        interactions = synthetic_interactions(**shape)
        np.savez(arrays, indptr=interactions.indptr, indices=interactions.indices, shape=interactions.shape)
        runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in contenders}
        # Interleaved, so that a busy minute of the machine does not fall on one contender alone.
        for _ in range(arguments.repeats):
            for contender in contenders:
                runs[contender].append(_run_in_process(contender, arrays))
    medians = {contender: _median(outcomes) for contender, outcomes in runs.items()}
    _show(name, question, medians)
    if not arguments.small:
        _write(name, question, shape, arguments.repeats, medians, runs)


def _run_in_process(contender: str, arrays: Path) -> dict[str, float]:
    command = [sys.executable, sys.argv[0], "--contender", contender, "--arrays", str(arrays)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    outcome: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return outcome


def _load(path: Path) -> Interactions:
    stored = np.load(path)
    num_users, num_items = (int(size) for size in stored["shape"])
    return Interactions(
        Vocabulary.numbered(num_users), Vocabulary.numbered(num_items), stored["indptr"], stored["indices"]
    )


def _measure(contender: Contender, data: Interactions) -> dict[str, float]:
    timed = contender(data)
    before = _resident_bytes()
    reset_peak_rss()
    began = time.perf_counter()
    extra = timed() or {}
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "added_bytes": max(0, peak_rss_bytes() - before), **extra}


def _resident_bytes() -> int:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def _median(outcomes: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(outcome[key] for outcome in outcomes) for key in outcomes[0]}


def _ratios(medians: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Return peer / ours for what is a cost: above 1 we are faster or smaller."""
    ours, *peers = medians
    return {
        peer: {key: medians[peer][key] / medians[ours][key] for key in ("seconds", "added_bytes") if medians[ours][key]}
        for peer in peers
    }


def _show(name: str, question: str, medians: dict[str, dict[str, float]]) -> None:
    columns = list(next(iter(medians.values())))
    table = Table("contender", *columns, *[f"× ours ({key})" for key in ("seconds", "added_bytes")], title=question)
    ratios = _ratios(medians)
    for contender, outcome in medians.items():
        cells = [f"{outcome.get(key, float('nan')):,.4g}" for key in columns]
        table.add_row(contender, *cells, *[f"{value:.2f}" for value in ratios.get(contender, {}).values()])
    Console().print(f"[bold]{name}[/bold]", table)


def _write(
    name: str,
    question: str,
    shape: dict[str, int],
    repeats: int,
    medians: dict[str, dict[str, float]],
    runs: dict[str, list[dict[str, float]]],
) -> None:
    ours, *peers = medians
    revision, dirty = commit()
    content: dict[str, Any] = {
        "name": name,
        "question": question,
        "data": {"kind": "synthetic_interactions", **shape},
        "ours": medians[ours],
        "peers": {peer: medians[peer] for peer in peers},
        "ratios": _ratios(medians),
        "repeats": repeats,
        "runs": runs,
        "machine": machine(),
        "versions": versions("implicit", "irspack"),
        "commit": revision,
        "dirty": dirty,
    }
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"{name}.json").write_text(json.dumps(content, indent=2) + "\n")
