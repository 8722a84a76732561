"""How long does each example take, from a new interpreter in an empty folder? All are meant to stay under a minute.

Compiled loops are cached after the first run of an installation, so each example runs once before it is timed.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from measuring import Arrays, Contender, run_benchmark

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("plot_*.py"))


def nothing() -> Arrays:
    return {"nothing": np.zeros(0)}


def contender(example: Path) -> Contender:
    def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, str(example)], cwd=folder, check=True, capture_output=True)

    def prepare(_: object) -> Callable[[], None]:
        run()
        return run

    return prepare


if __name__ == "__main__":
    run_benchmark(
        "examples",
        "Seconds of each example, interpreter and imports included",
        {},
        {example.stem.removeprefix("plot_"): contender(example) for example in EXAMPLES},
        make=nothing,
        load=lambda arrays: arrays,
        costs={"seconds": "seconds"},
        packages=("torch",),
        repeats=1,
    )
