"""Where training runs: one process, or the processes that torchrun started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import torch

from gossamer.core.checks import check_choice, check_int

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def make_fabric(device: str = "cpu", precision: str = "32-true", num_processes: int | None = None) -> Fabric:
    """Return a launched Lightning Fabric on `device`, spanning all processes where torchrun started several.

    `device` is "cpu", "cuda" or "auto" (CUDA where there is one). `precision` is Fabric's, such as "32-true",
    "64-true" or "bf16-mixed". `num_processes` only states what the caller expects: processes are started by

        python -m torch.distributed.run --nproc-per-node 2 program.py

    and never by this function, because Fabric would start them by running the calling program again.
    """
    check_choice("device", device, ["cpu", "cuda", "auto"])
    if device == "cuda" and not torch.cuda.is_available():
        raise ValueError("device must be 'cpu' or 'auto' where torch finds no CUDA device, got 'cuda'")
    started = int(os.environ["WORLD_SIZE"]) if torch.distributed.is_torchelastic_launched() else 1
    if num_processes is not None and check_int("num_processes", num_processes, at_least=1) != started:
        raise ValueError(
            f"num_processes must be the number of processes that torchrun started ({started}), got {num_processes}; "
            f"start them with: python -m torch.distributed.run --nproc-per-node {num_processes} program.py"
        )
    # Here and not above: Fabric brings torch's compiler along, seconds that a command without training need not pay.
    from lightning_fabric import Fabric

    uses_cuda = device == "cuda" or (device == "auto" and torch.cuda.is_available())
    on_this_machine = int(os.environ["LOCAL_WORLD_SIZE"]) if started > 1 else 1
    fabric = Fabric(
        accelerator="cuda" if uses_cuda else "cpu",
        devices=on_this_machine,
        num_nodes=started // on_this_machine,
        strategy="ddp" if started > 1 else "auto",
        precision=precision,  # type: ignore[arg-type]
    )
    fabric.launch()
    return fabric
