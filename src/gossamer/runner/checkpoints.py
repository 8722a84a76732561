"""Where `gossamer fit` keeps an unfinished model, so that the same command goes on with it."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gossamer.core.processes import process_count


def checkpoint_path(out: Path, said: Mapping[str, Any]) -> Path:
    """Return the checkpoint beside `out` of a run that `said` describes whole.

    Another run with the same `out`, with other settings, on other data or in another number of processes, has another
    checkpoint: one that goes on with this one's would be neither.

    >>> checkpoint_path(Path("models/vae"), {"epochs": 3}).name
    'vae.543da7ab.checkpoint'
    """
    processes = {} if process_count() == 1 else {"processes": process_count()}
    text = json.dumps({**said, **processes}, sort_keys=True, default=str)
    return out.with_name(f"{out.name}.{hashlib.sha256(text.encode()).hexdigest()[:8]}.checkpoint")


def takes_checkpoint(estimator: Any) -> bool:
    """Say whether a model can be interrupted and go on: whether its `fit` takes a checkpoint."""
    return "checkpoint" in inspect.signature(estimator.fit).parameters
