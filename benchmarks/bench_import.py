"""How long does `import gossamer` take beyond torch's own import, and what do its doors add?

Every statement runs in a new interpreter that has imported torch and nothing else, so that what is counted is what a
program with torch waits for. scikit-learn alone is listed because every estimator is one of its own: it, and numba for
the compiled loops, are most of what a family's import takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from measuring import Arrays, Contender, run_benchmark

STATEMENTS = {
    "import gossamer": "import gossamer",
    "gossamer.load": "import gossamer; gossamer.load",
    "gossamer.Interactions": "import gossamer; gossamer.Interactions",
    "linear": "from gossamer.models.linear import EASE",
    "counts": "from gossamer.models.counts import CountVAE",
    "embeddings": "from gossamer.models.embeddings import AnchorEmbedding",
    "discrete": "from gossamer.models.discrete import SparseDiscreteVAE",
    "spikeslab": "from gossamer.models.spikeslab import SentenceVAE",
    "lowrank": "from gossamer.models.lowrank import compress",
    "community": "from gossamer.models.community import CommunityRecommender",
    "markov": "from gossamer.models.markov import HSMM",
    "all models": "from gossamer.models.catalogue import available; available()",
    "scikit-learn alone": "from sklearn.base import BaseEstimator",
    "numba alone": "import numba",
}
TIMED = """
import json, time, torch
from pathlib import Path

def resident():
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) * 1024

before, began = resident(), time.perf_counter()
{statement}
seconds = time.perf_counter() - began
print(json.dumps({{"seconds": seconds, "added_bytes": resident() - before}}))
"""


def nothing() -> Arrays:
    return {"nothing": np.zeros(0)}


def contender(statement: str) -> Contender:
    command = [sys.executable, "-c", TIMED.format(statement=statement)]

    def prepare(_: object) -> Callable[[], dict[str, float]]:
        subprocess.run(command, check=True, capture_output=True)  # files in the cache of the disk, byte code written
        return timed

    def timed() -> dict[str, float]:
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found: dict[str, float] = json.loads(done.stdout)
        return found

    return prepare


if __name__ == "__main__":
    run_benchmark(
        "import-time",
        "Seconds and memory of an import, in a process that has imported torch",
        {},
        {name: contender(statement) for name, statement in STATEMENTS.items()},
        make=nothing,
        load=lambda arrays: arrays,
        packages=("torch", "scikit-learn", "numba"),
        repeats=5,
    )
