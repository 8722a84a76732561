"""How many requests per second does a server on one core answer, and in which time? Top 10 of 20,000 items, ALS.

`gossamer serve` runs on one core, with one thread, and `wrk` (Debian's package; a small client of our own where it is
not installed) asks from another core over 64 kept-alive connections, each request a history of 20 items. Beside it,
what micro-batches are worth ("one by one": a model call per request), and what HTTP alone costs ("/health": no model).

    python benchmarks/bench_serving.py                       two minutes per contender
    python benchmarks/bench_serving.py --small --repeats 1   ten seconds, nothing written
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from http_load import WRK_SETTINGS, client_name, load
from measuring import Arrays, interaction_arrays, interactions_from, run_benchmark

CATALOGUE = {"num_users": 20_000, "num_items": 20_000, "nnz": 1_000_000, "seconds": 120, "connections": 64}
FACTORS, TOP, HISTORY, BODIES = 64, 10, 20, 1_000
SERVER = """
import sys
from gossamer.serving.running import run_server
from gossamer.serving.settings import Settings
run_server([sys.argv[1]], Settings(max_batch=int(sys.argv[2])), port=0, on_start=lambda url, _: print(url, flush=True))
"""


def catalogue(*, seconds: int, connections: int, **shape: int) -> Arrays:
    return {**interaction_arrays(**shape), "seconds": np.array(seconds), "connections": np.array(connections)}


def contender(path: str, max_batch: int = 64) -> Callable[[Arrays], Callable[[], dict[str, float]]]:
    def set_up(arrays: Arrays) -> Callable[[], dict[str, float]]:
        from gossamer.models.linear import ALS

        folder = tempfile.TemporaryDirectory()
        ALS(num_factors=FACTORS, epochs=1).fit(interactions_from(arrays)).save(Path(folder.name) / "als")
        *_, client_core = cores = sorted(os.sched_getaffinity(0))
        process, url = _started(Path(folder.name) / "als", max_batch, cores[0])
        bodies = [] if path == "/health" else _bodies(int(arrays["shape"][1]))
        ask: dict[str, Any] = {"connections": int(arrays["connections"]), "core": client_core}
        load(url + path, bodies, seconds=2, **ask)

        def timed() -> dict[str, float]:
            with folder, process:
                before = _cpu_seconds(process.pid)
                seconds = int(arrays["seconds"])
                found = load(url + path, bodies, seconds=seconds, **ask)
                spent = _cpu_seconds(process.pid) - before
                process.terminate()
            return {**found, "cpu_ms_per_request": 1e3 * spent / (found["requests_per_second"] * seconds)}

        return timed

    return set_up


def _started(artifact: Path, max_batch: int, core: int) -> tuple[subprocess.Popen[str], str]:
    """Start a server on one core and wait until it answers."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(artifact), str(max_batch)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"},
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    assert process.stdout is not None
    url = re.match(r"http://\S+", process.stdout.readline())
    if url is None:
        raise SystemExit("the server did not start")
    for _ in range(600):
        try:
            with urllib.request.urlopen(f"{url[0]}/health"):
                return process, url[0]
        except OSError:
            time.sleep(0.1)
    raise SystemExit("the server did not answer")


def _bodies(num_items: int) -> list[str]:
    generator = np.random.default_rng(0)
    histories = generator.integers(0, num_items, (BODIES, HISTORY))
    return [f'{{"history":[{",".join(map(str, row))}],"n":{TOP}}}' for row in histories]


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    run_benchmark(
        "serving",
        "Top 10 of 20,000 items over HTTP, ALS, 64 factors, server on one core",
        CATALOGUE,
        {
            "gossamer": contender("/recommend"),
            "one by one": contender("/recommend", max_batch=1),
            "HTTP alone (/health)": contender("/health"),
        },
        small={"seconds": 10},
        make=catalogue,
        load=lambda arrays: arrays,
        costs={"cpu_ms_per_request": "CPU ms per request"},
        packages=("fastapi", "uvicorn", "starlette", "pydantic"),
        repeats=1,
        client={
            "name": client_name(),
            "settings": f"{' '.join(WRK_SETTINGS)} -c{CATALOGUE['connections']} -d{CATALOGUE['seconds']}s, kept-alive, "
            f"{BODIES} bodies in turn with a history of {HISTORY} items each, on another core; 2 s before the clock",
        },
    )
