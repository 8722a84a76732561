"""Ctrl-C while a model is fitted or settings are searched: what is kept, and how to go on."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gossamer.cli.printing import print_line
from gossamer.core.processes import process_rank
from gossamer.runner.checkpoints import checkpoint_path


@contextmanager
def resumable(out: Path, run: Mapping[str, Any]) -> Iterator[Path]:
    """Yield where the run described by `run` keeps its checkpoint; it is gone when the block has ended well.

    Of several processes each may have one of its own (`training.fit`), and removes that.
    """
    checkpoint = checkpoint_path(out, run)
    own = checkpoint.with_name(f"{checkpoint.name}.{process_rank()}")
    if checkpoint.exists() or own.exists():
        print_line(f"going on from {checkpoint}")
    try:
        yield checkpoint
    except KeyboardInterrupt:
        if checkpoint.exists() or own.exists():
            print(
                f"gossamer: what was learned so far is in {checkpoint}; the same command goes on from there, "
                "and without that file it starts anew",
                file=sys.stderr,
            )
        raise
    own.unlink(missing_ok=True)
    if process_rank() == 0:
        checkpoint.unlink(missing_ok=True)


@contextmanager
def study_kept(folder: Path) -> Iterator[None]:
    """Say, where a search is interrupted, that its trials are kept."""
    try:
        yield
    except KeyboardInterrupt:
        if folder.exists():
            print(f"gossamer: the trials so far are in {folder}; the same command goes on from there", file=sys.stderr)
        raise
