"""One update of a model, as the loop sees it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from gossamer.core.checks import check_real
from gossamer.core.randomness import RandomState, derive_seed, numpy_generator
from gossamer.training.checkpoint import copy_state
from gossamer.training.devices import (
    average_gradients,
    average_statistics,
    prepare_for_processes,
    running_statistics,
)

if TYPE_CHECKING:
    from lightning_fabric import Fabric

Loss = Callable[[Any, Any, torch.Generator], Tensor | Mapping[str, Tensor]]


class Step(Protocol):
    """Anything that learns from a batch: a gradient step, an EM step, a proximal or dual step.

    State is made of tensors, numbers, strings, None and nested dicts, lists and tuples of them. With several
    processes the checkpoint holds the state of process 0, so the state must not differ between processes: derive
    random numbers from (seed, number of updates, rank), as `GradientStep` does, instead of keeping a generator. A step
    whose state must differ says so by a true `differs_by_process`: then every process has a checkpoint of its own.
    """

    def setup(self, fabric: Fabric) -> None:
        """Move to the device of `fabric` and join its processes; called again by a second `fit`."""

    def __call__(self, batch: Any, weight: float) -> Mapping[str, float | Tensor]:
        """Make one update and return named scalars, "loss" among them, each a mean over this process's rows.

        `weight` is what a mean over local rows must be multiplied with before averaging over processes.
        """

    def state_dict(self) -> dict[str, Any]:
        """Return everything that the next update depends on; called on every process at the same update."""

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state, exactly."""


class GradientStep:
    """One step of an optimiser on `loss(module, batch, generator)`.

    `loss` returns the mean over the batch's rows as a scalar, or a dict of scalars with "loss" among them. `module` is
    the argument to call: it is `module` itself, prepared for the device and the other processes. The scheduler steps
    after every update. `clip_norm` bounds the norm of the whole gradient, which must be dense.

    All randomness of update t on process r comes from (random_state, t, r): `generator` is seeded with it, and so is
    torch's global generator (which `nn.Dropout` uses) during the update only; the caller's state of it comes back
    afterwards. Hence there is no generator state to save, and none that could differ after a resume.

    A `loss` that calls `module` and not its argument says `calls_prepared=False`: DDP then hears of no update, and
    gradients are averaged over processes when all of them are there.
    """

    def __init__(
        self,
        module: nn.Module,
        loss: Loss,
        optimiser: Optimizer,
        *,
        scheduler: LRScheduler | None = None,
        clip_norm: float | None = None,
        random_state: RandomState = 0,
        calls_prepared: bool = True,
    ) -> None:
        if clip_norm is not None:
            check_real("clip_norm", clip_norm, above=0)
        self.module = module
        self.loss = loss
        self.optimiser = optimiser
        self.scheduler = scheduler
        self.clip_norm = clip_norm
        self.calls_prepared = calls_prepared
        self.num_updates = 0
        self._seed = int(numpy_generator(random_state).integers(2**63))
        self._fabric: Fabric | None = None

    def setup(self, fabric: Fabric) -> None:
        """Move module and optimiser to the device of `fabric` and join its processes; once is enough."""
        if self._fabric is not None:
            return
        self._fabric = fabric
        self._averaged = prepare_for_processes(self.module, fabric)
        if not self.calls_prepared and fabric.world_size > 1:
            self._averaged = list(self.module.parameters())
        self._prepared_module, self._prepared_optimiser = fabric.setup(self.module, self.optimiser)
        self._statistics = running_statistics(self.module)
        self._generator = torch.Generator(device=fabric.device)

    @property
    def differs_by_process(self) -> bool:
        """Whether some of the state is of this process alone, so that each must write a checkpoint of its own."""
        is_one_of_many = self._fabric is not None and self._fabric.world_size > 1
        return is_one_of_many and any(hasattr(part, "own_tensors") for part in self.module.modules())

    def __call__(self, batch: Any, weight: float) -> dict[str, Tensor]:
        """Make one update on `batch` and return its scalars."""
        fabric = self._fabric
        if fabric is None:
            raise RuntimeError("setup(fabric) must be called before the first step; training.fit does it")
        if not self.module.training:
            self.module.train()
        seed = derive_seed(self._seed, "update", self.num_updates, fabric.global_rank)
        self._generator.manual_seed(seed)
        with _global_generator_seeded(seed, fabric.device):
            outcome = self.loss(self._prepared_module, fabric.to_device(batch), self._generator)
            scalars = {"loss": outcome} if isinstance(outcome, Tensor) else dict(outcome)
            if "loss" not in scalars:
                raise ValueError(f"loss must return a scalar or a dict with 'loss', got {sorted(scalars)}")
            fabric.backward(scalars["loss"] * weight)
        average_gradients(self._averaged, fabric)
        average_statistics(self._statistics, weight, fabric)
        if self.clip_norm is not None:
            fabric.clip_gradients(
                self._prepared_module,
                self._prepared_optimiser,
                max_norm=self.clip_norm,
                error_if_nonfinite=False,  # the loop reports it, with step and epoch
            )
        self._prepared_optimiser.step()
        if self.scheduler is not None:
            self.scheduler.step()
        self._prepared_optimiser.zero_grad()
        self.num_updates += 1
        return {name: value.detach() for name, value in scalars.items()}

    def state_dict(self) -> dict[str, Any]:
        """Return parameters, buffers, optimiser, scheduler and the number of updates."""
        # The optimiser first: a row-sparse proximal optimiser catches up with its parameters when it is asked.
        return {
            "optimiser": self.optimiser.state_dict(),
            "module": dict(self.module.state_dict()),
            "scheduler": None if self.scheduler is None else self.scheduler.state_dict(),
            "precision": {} if self._fabric is None else self._fabric.strategy.precision.state_dict(),
            "num_updates": self.num_updates,
            "seed": self._seed,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Return to a state, exactly."""
        try:
            self.module.load_state_dict(state["module"])
        except RuntimeError as error:  # torch's words: a headline, and a line per tensor that does not fit
            first = str(error).splitlines()[-1].strip().rstrip(".")
            raise ValueError(
                f"the network must be that of its checkpoint, got one made of other arguments or data ({first}); "
                "train anew with another checkpoint"
            ) from error
        # torch's optimisers keep the tensors they are given, and would go on to change the caller's state.
        self.optimiser.load_state_dict(copy_state(state["optimiser"]))
        if self.scheduler is not None:
            self.scheduler.load_state_dict(state["scheduler"])
        if self._fabric is not None:
            self._fabric.strategy.precision.load_state_dict(state["precision"])
        self.num_updates = state["num_updates"]
        self._seed = state["seed"]


@contextmanager
def _global_generator_seeded(seed: int, device: torch.device) -> Iterator[None]:
    """Seed torch's global generators for the block and put their states back afterwards."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices, enabled=True):
        torch.default_generator.manual_seed(seed)
        if device.type == "cuda":
            torch.cuda.manual_seed(seed)
        yield
