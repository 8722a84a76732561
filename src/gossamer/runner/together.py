"""One run in the processes that torchrun started: the first writes and speaks, and all end together."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from gossamer.core.processes import process_count, process_rank

# Process 0 judges and writes while the others wait; torch's half an hour may not do.
LONGEST_WAIT = timedelta(days=7)
PATIENCE = timedelta(seconds=5)  # with processes that are ending


@dataclass(frozen=True)
class Processes:
    """The processes of a run, as one of them sees them; `group` is None where it is alone."""

    group: Any = None

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that writes."""
        return process_rank() == 0

    def wait(self) -> None:
        """Go on when all processes have come here."""
        if self.group is not None:
            import torch

            torch.distributed.monitored_barrier(self.group, timeout=LONGEST_WAIT)


@contextmanager
def joined(device: str | None = None) -> Iterator[Processes]:
    """Join the processes that torchrun started for a run on `device`; one that is alone joins nobody."""
    if process_count() == 1:
        yield Processes()
        return
    import lightning_fabric
    import torch

    from gossamer.training.devices import make_fabric

    # It tells of every process that joins, and has set its own level when it was imported.
    logging.getLogger(lightning_fabric.__name__).setLevel(logging.WARNING)
    try:
        make_fabric(device or "cpu")
        yield Processes(torch.distributed.new_group(backend="gloo", timeout=LONGEST_WAIT))
    except RuntimeError as error:
        if "gloo" in str(error) or isinstance(error, torch.distributed.DistError):
            raise ConnectionError(
                f"process {process_rank()} of {process_count()} has lost the others: one has ended before its time"
            ) from error
        raise


def is_first_to_fail() -> bool:
    """Say whether no other process of this run has failed before: the first speaks for all, the others follow it.

    The processes are counted where torchrun lets them meet. Where nobody answers there, this one speaks.
    """
    if process_count() == 1:
        return True
    try:
        return int(_meeting_place().add(_failures(), 1)) == 1
    except RuntimeError:
        return True


def wait_for_a_word() -> None:
    """Wait some seconds until a process has said why all end: the launcher kills the others once one has ended."""
    try:
        _meeting_place().wait([_failures()], PATIENCE)
    except RuntimeError:
        return


def _meeting_place() -> Any:
    import torch

    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    return torch.distributed.TCPStore(  # type: ignore[attr-defined]
        address, port, is_master=False, timeout=PATIENCE, wait_for_workers=False
    )


def _failures() -> str:
    return f"gossamer/failed/{os.environ.get('TORCHELASTIC_RESTART_COUNT', '0')}"
