"""Contenders that are programs which torchrun starts in several processes, one thread each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from measuring import Arrays

WORKER = "--worker"


def started(program: str, num_processes: int) -> Callable[[Any], Callable[[], dict[str, float]]]:
    """Return a contender that runs `program` in so many processes and takes what its process 0 prints last."""

    def contender(arrays: Arrays) -> Callable[[], dict[str, float]]:
        torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(num_processes)]
        command = [sys.executable, *torchrun, program, WORKER, json.dumps(arrays["sizes"].tolist())]
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}

        def timed() -> dict[str, float]:
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            outcome: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
            return outcome

        return timed

    return contender


def worker_sizes() -> list[int] | None:
    """Return the sizes that this process is to work with; None where it is the one that measures."""
    if WORKER not in sys.argv:
        return None
    sizes: list[int] = json.loads(sys.argv[sys.argv.index(WORKER) + 1])
    return sizes
