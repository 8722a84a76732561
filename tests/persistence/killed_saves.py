"""Save over an old artifact again and again, each time killed at a later step; run by test_atomic.py.

usage: python killed_saves.py FOLDER COUNT      kills save k (k = 0 … COUNT-1) of FOLDER/k/model at its k-th step
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import Any

from probing import PROBE_FOLDER, fitted

import gossamer.models

STEPS = {"open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.listdir", "os.scandir"}


def kill_at(step: int, folder: Path) -> None:
    """Die by SIGKILL just before the process touches the file system below `folder` for the step-th time."""
    left = step

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal left
        if event in STEPS and str(folder) in str(arguments):
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(hook)


def main(folder: Path, count: int) -> None:
    gossamer.models.__path__.append(str(PROBE_FOLDER))
    from gossamer.models._probe import Probe

    for step in range(count):
        if os.fork() == 0:
            newer = fitted(Probe, seed=1)
            kill_at(step, folder / str(step))
            newer.save(folder / str(step) / "model")
            os._exit(0)
        _, status = os.wait()
        (folder / str(step) / "outcome").write_text("killed" if os.WIFSIGNALED(status) else "saved")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
