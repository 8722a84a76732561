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
Arrays = dict[str, np.ndarray]
Contender = Callable[[Any], Callable[[], dict[str, float] | None]]
COSTS = {"seconds": "seconds", "added_bytes": "added memory"}  # what is compared, and what a table calls it


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


def interaction_arrays(**shape: int) -> Arrays:
    """Return synthetic interactions as arrays."""
    data = synthetic_interactions(**shape)
    return {"indptr": data.indptr, "indices": data.indices, "shape": np.array(data.shape)}


def interactions_from(arrays: Arrays) -> Interactions:
    """Return the interactions that `interaction_arrays` made."""
    num_users, num_items = (int(size) for size in arrays["shape"])
    return Interactions(
        Vocabulary.numbered(num_users), Vocabulary.numbered(num_items), arrays["indptr"], arrays["indices"]
    )


def run_benchmark(
    name: str,
    question: str,
    data: dict[str, int],
    contenders: dict[str, Contender],
    *,
    small: dict[str, int] | None = None,
    make: Callable[..., Arrays] = interaction_arrays,
    load: Callable[[Arrays], Any] = interactions_from,
    costs: dict[str, str] = COSTS,
    packages: tuple[str, ...] = ("implicit", "irspack"),
    repeats: int = 3,
    client: dict[str, str] | None = None,
) -> None:
    """Run every contender of one benchmark (the first is ours) and write results/bench/<name>.json.

    `make(**data)` gives the arrays that every contender's process gets, as `load` presents them; `small` replaces
    some of `data` for a trial; `packages` are the peers whose versions the record keeps; `repeats` is how often each
    contender runs unless the command line says otherwise; `client` says who asked, where a server is measured, by what
    name and version, and how.
    """
    parser = argparse.ArgumentParser(description=question)
    parser.add_argument("--repeats", type=int, default=repeats, help="processes per contender; the median counts")
    parser.add_argument("--small", action="store_true", help="a hundredth of the data, to try the script; not written")
    parser.add_argument("--contender", choices=list(contenders), help=argparse.SUPPRESS)
    parser.add_argument("--arrays", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.contender:
        with np.load(arguments.arrays) as stored:
            arrays = dict(stored)
        print(json.dumps(_measure(contenders[arguments.contender], load(arrays))))
        return
    shape = {**data, **(_a_hundredth(data) if small is None else small)} if arguments.small else data
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        np.savez(path, **make(**shape))
        runs: dict[str, list[dict[str, float]]] = {contender: [] for contender in contenders}
        # Interleaved, so that a busy minute of the machine does not fall on one contender alone.
        for _ in range(arguments.repeats):
            for contender in contenders:
                runs[contender].append(_run_in_process(contender, path))
    medians = {contender: _median(outcomes) for contender, outcomes in runs.items()}
    _show(name, question, medians, costs)
    if not arguments.small:
        _write(
            name,
            {
                "name": name,
                "question": question,
                "columns": costs,
                "data": {"kind": make.__name__, **shape},
                **_comparison(medians, costs),
                "repeats": arguments.repeats,
                "runs": runs,
                "machine": machine(),
                "packages": packages,
                "versions": versions(*packages),
                **({} if client is None else {"client": client}),
            },
        )


def _a_hundredth(data: dict[str, int]) -> dict[str, int]:
    return {key: max(100, value // (100 if key == "nnz" else 10)) for key, value in data.items()}


def _run_in_process(contender: str, arrays: Path) -> dict[str, float]:
    command = [sys.executable, sys.argv[0], "--contender", contender, "--arrays", str(arrays)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    outcome: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return outcome


def _measure(contender: Contender, data: Any) -> dict[str, float]:
    timed = contender(data)
    before = resident_bytes()
    reset_peak_rss()
    began = time.perf_counter()
    extra = timed() or {}
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "added_bytes": max(0, peak_rss_bytes() - before), **extra}


def resident_bytes() -> int:
    """Return the memory that this process holds now."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def _median(outcomes: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(outcome[key] for outcome in outcomes) for key in outcomes[0]}


def _ratios(medians: dict[str, dict[str, float]], costs: dict[str, str]) -> dict[str, dict[str, float]]:
    """Return peer / ours for what is a cost: above 1 we are faster or smaller."""
    ours, *peers = medians
    return {
        peer: {key: medians[peer][key] / medians[ours][key] for key in costs if medians[ours][key]} for peer in peers
    }


def _comparison(medians: dict[str, dict[str, float]], costs: dict[str, str]) -> dict[str, Any]:
    ours, *peers = medians
    return {
        "ours": medians[ours],
        "peers": {peer: medians[peer] for peer in peers},
        "ratios": _ratios(medians, costs),
    }


def _show(name: str, question: str, medians: dict[str, dict[str, float]], costs: dict[str, str]) -> None:
    columns = list(next(iter(medians.values())))
    table = Table("contender", *columns, *[f"× ours ({key})" for key in costs], title=question)
    ratios = _ratios(medians, costs)
    for contender, outcome in medians.items():
        cells = [f"{outcome.get(key, float('nan')):,.4g}" for key in columns]
        table.add_row(contender, *cells, *[f"{value:.2f}" for value in ratios.get(contender, {}).values()])
    Console().print(f"[bold]{name}[/bold]", table)


def _write(name: str, content: dict[str, Any]) -> None:
    revision, dirty = commit()
    RESULTS.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**content, "commit": revision, "dirty": dirty}, indent=2)
    (RESULTS / f"{name}.json").write_text(text + "\n")
