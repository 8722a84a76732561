"""Where training runs: one process, or the processes that torchrun started."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch import Tensor, nn

from gossamer.core.checks import check_choice, check_int
from gossamer.core.processes import process_count as process_count

if TYPE_CHECKING:
    from lightning_fabric import Fabric

T = TypeVar("T")


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
    started = process_count()
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


def gather_from_all(value: T, fabric: Fabric) -> list[T]:
    """Return the value of every process, in their order, on every process; for small things such as sizes and ids."""
    if fabric.world_size == 1:
        return [value]
    gathered: list[Any] = [None] * fabric.world_size
    torch.distributed.all_gather_object(gathered, value)
    return gathered


def prepare_for_processes(module: nn.Module, fabric: Fabric) -> list[nn.Parameter]:
    """Make ready for DDP what it cannot carry: tensors of this process alone, and 16-bit integers.

    Names in a submodule's `own_tensors` are its parameters and buffers that differ between processes, such as some rows
    of a table; they are left alone. Those in `row_sparse` are parameters with row-sparse gradients, which DDP expects
    of `nn.Embedding` alone: they are returned, and the caller averages their gradients (`average_gradients`). Buffers
    of 16-bit integers, which gloo does not send, are sent once as wider ones.
    """
    if fabric.world_size == 1:
        return []
    own = _names_in(module, "own_tensors")
    rows = _names_in(module, "row_sparse") - own
    parameters = [parameter for name, parameter in module.named_parameters() if name in rows]
    for parameter in parameters:
        torch.distributed.broadcast(parameter.data, src=0)
    narrow = {name: buffer for name, buffer in module.named_buffers() if buffer.dtype == torch.int16}
    for buffer in (buffer for name, buffer in narrow.items() if name not in own):
        wide: Tensor = buffer.to(fabric.device, torch.int32)
        torch.distributed.broadcast(wide, src=0)
        buffer.copy_(wide)
    # DDP calls a tensor of the outermost module ".name" in one place and "name" in another.
    ignored = [spelling for name in own | rows | set(narrow) for spelling in (name, f".{name}")]
    wrapper: Any = nn.parallel.DistributedDataParallel
    wrapper._set_params_and_buffers_to_ignore_for_model(module, ignored)
    return parameters


def average_gradients(parameters: list[nn.Parameter], fabric: Fabric) -> None:
    """Give every process the mean of all processes' gradients, rows that only some have touched included."""
    for parameter in parameters:
        if parameter.grad is not None:
            gradient = parameter.grad.coalesce() if parameter.grad.is_sparse else parameter.grad
            torch.distributed.all_reduce(gradient)
            parameter.grad = gradient / fabric.world_size


def running_statistics(module: nn.Module) -> list[Tensor]:
    """Return the running means and variances of the batch norms in a network."""
    norms = [part for part in module.modules() if isinstance(part, nn.modules.batchnorm._BatchNorm)]
    found = [statistic for norm in norms for statistic in (norm.running_mean, norm.running_var)]
    return [statistic for statistic in found if statistic is not None]


def average_statistics(statistics: list[Tensor], weight: float, fabric: Fabric) -> None:
    """Give every process the mean of what all processes' batches made of running statistics, by their `weight`.

    DDP averages gradients, not buffers: it overwrites those of all processes with those of process 0 when the next
    batch comes, so that after the last batch each process would keep its own.
    """
    if fabric.world_size > 1:
        for statistic in statistics:
            statistic.mul_(weight / fabric.world_size)
            torch.distributed.all_reduce(statistic)


def _names_in(module: nn.Module, attribute: str) -> set[str]:
    """Return the full names of the tensors that submodules list under `attribute`."""
    return {
        (f"{prefix}.{name}" if prefix else name)
        for prefix, part in module.named_modules()
        for name in getattr(part, attribute, ())
    }
