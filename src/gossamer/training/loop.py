"""The loop: it owns time (epochs, progress, logging, early stopping, checkpoint, resume), never mathematics."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from gossamer.core.checks import check_int
from gossamer.core.progress import progress_bar, progress_is_shown, show_progress
from gossamer.data.batching import Batches
from gossamer.training.checkpoint import copy_state, find_nan, read_checkpoint, write_checkpoint
from gossamer.training.devices import make_fabric
from gossamer.training.history import EarlyStopping, History
from gossamer.training.interrupts import interrupt_deferred, interrupt_held
from gossamer.training.journal import Journal
from gossamer.training.listening import TrainingStopped, goes_on_after
from gossamer.training.step import Step

if TYPE_CHECKING:
    from lightning_fabric import Fabric

logger = logging.getLogger(__name__)


def fit(
    step: Step,
    batches: Batches[Any],
    *,
    epochs: int,
    validate: Callable[[], Mapping[str, float]] | None = None,
    monitor: str = "loss",
    mode: str = "min",
    patience: int | None = None,
    restore_best: bool = True,
    log: Path | None = None,
    log_every: int = 100,
    checkpoint: Path | None = None,
    checkpoint_every: int | None = None,
    resume: bool = True,
    fabric: Fabric | None = None,
    description: str = "training",
) -> History:
    """Call `step` on every batch of every epoch and return what happened.

    After each epoch `validate` (on every process; the values of process 0 count) gives named values. Where there is a
    `validate` or a `patience`, the epoch with the best `monitor` is remembered, training stops after `patience` epochs
    without a better one, and `restore_best` brings the step back to its best state at the end.

    `log` is a JSONL file that belongs to this run: one line per epoch and one every `log_every` steps. `checkpoint` is
    written atomically every `checkpoint_every` steps (after every epoch if None), at the end, and on Ctrl-C. A run that
    finds its checkpoint goes on from it and ends with the same bits as a run that was never interrupted; with more
    epochs a finished run is continued; `resume=False` starts anew.

    `fabric` carries device, precision and processes (`make_fabric`); the default is this process's CPU, or the
    processes that torchrun started. Only process 0 logs, writes checkpoints and shows progress, and its listener
    (`listen_to_epochs`) can end the run; where the state differs between processes (`Step`), process r writes
    `checkpoint` with ".r" behind its name. A Ctrl-C at one of them ends all of them after the same update.
    """
    check_int("epochs", epochs, at_least=1)
    check_int("log_every", log_every, at_least=1)
    if checkpoint_every is not None:
        check_int("checkpoint_every", checkpoint_every, at_least=1)
        if checkpoint is None:
            raise ValueError(f"checkpoint must be a path where checkpoint_every is {checkpoint_every}, got None")
    watched = validate is not None or patience is not None
    watch = EarlyStopping(monitor, mode, patience)
    fabric = make_fabric() if fabric is None else fabric
    step.setup(fabric)
    is_divided = bool(getattr(step, "differs_by_process", False))
    if checkpoint is not None:
        checkpoint = Path(f"{checkpoint}.{fabric.global_rank}" if is_divided else checkpoint)
    run = _Run(
        step=step,
        batches=batches,
        epochs=epochs,
        validate=validate,
        watch=watch if watched else None,
        restore_best=restore_best,
        journal=Journal(log) if log is not None and fabric.is_global_zero else None,
        log_every=log_every,
        checkpoint=checkpoint,
        writes=is_divided or fabric.is_global_zero,
        checkpoint_every=checkpoint_every,
        fabric=fabric,
        description=description,
    )
    run.begin(resume)
    if fabric.world_size == 1:
        return run.train()
    with interrupt_held() as run.is_interrupted:
        return run.train()


@dataclass
class _Run:
    """Where a run stands: everything `fit` was given, and everything a checkpoint must hold."""

    step: Step
    batches: Batches[Any]
    epochs: int
    validate: Callable[[], Mapping[str, float]] | None
    watch: EarlyStopping | None
    restore_best: bool
    journal: Journal | None
    log_every: int
    checkpoint: Path | None
    checkpoint_every: int | None
    writes: bool
    fabric: Fabric
    description: str
    history: History = field(default_factory=History)
    epoch: int = 0
    next_batch: int = 0
    totals: dict[str, float] = field(default_factory=dict)  # sums over the epoch's rows so far
    best_state: dict[str, Any] | None = None
    saved_position: tuple[int, int] | None = None
    is_between_updates: bool = True
    is_interrupted: Callable[[], bool] = lambda: False  # whether a Ctrl-C waits for the other processes
    all_stop: bool = False
    clock: float = field(default_factory=time.perf_counter)

    def begin(self, resume: bool) -> None:
        """Go to where the checkpoint says, and take the log back to there."""
        if resume and self.checkpoint is not None and self.checkpoint.exists():
            self._load(read_checkpoint(self.checkpoint))
            logger.info("resumed %s at step %d of epoch %d", self.checkpoint, self.history.steps, self.epoch)
        mine = (self.batches.description(), self.history.steps)
        first: tuple[dict[str, int | bool], int] = self.fabric.broadcast(mine)
        if mine != first:
            raise ValueError(
                "batches and checkpoint must be the same on every process (a seed, a file system that all can read), "
                f"got {mine} on process {self.fabric.global_rank} and {first} on process 0"
            )
        if self.journal is not None:
            self.journal.rewind(self.history.steps, len(self.history.epochs))

    def train(self) -> History:
        """Run the epochs that are left."""
        try:
            while self.epoch < self.epochs and not self.history.stopped_early:
                self._train_epoch()
                self._finish_epoch()
            if self.checkpoint is not None:
                self._save()
        except KeyboardInterrupt:
            if self.checkpoint is not None and self.is_between_updates:
                self._save()
            raise
        if self.restore_best and self.history.best_epoch not in (None, self.epoch - 1):
            if self.best_state is None:
                logger.warning(
                    "the state of epoch %d was not kept: its run had restore_best=False", self.history.best_epoch
                )
            else:
                self.step.load_state_dict(self.best_state)
        self._stop_clock()
        return self.history

    def _train_epoch(self) -> None:
        rank, world_size = self.fabric.global_rank, self.fabric.world_size
        num_batches, began, rows_done = self.batches.count(world_size), time.perf_counter(), 0
        epoch = self.batches.epoch(self.epoch, rank=rank, world_size=world_size, start=self.next_batch)
        with show_progress(progress_is_shown() and rank == 0), progress_bar() as bar:
            title = f"{self.description} {self.epoch + 1}/{self.epochs}"
            task = bar.add_task(title, total=num_batches, completed=self.next_batch, note="")
            for batch, weight in epoch:
                num_rows = self.batches.num_rows(self.next_batch, world_size)
                loss = self._update(batch, weight, num_rows)
                rows_done += num_rows
                rate = rows_done / (time.perf_counter() - began)
                bar.update(task, advance=1, note=f"loss {loss:.4g} · {rate:,.0f} rows/s")
                if self.checkpoint_every and self.history.steps % self.checkpoint_every == 0:
                    self._save()

    def _update(self, batch: Any, weight: float, num_rows: int) -> float:
        """Make one update, count it, log it, and return its loss."""
        with interrupt_deferred():
            self.is_between_updates = False
            scalars = self._mean_over_processes(self.step(batch, weight), weight)
            self.history.steps += 1
            self.next_batch += 1
            self._check_finite(scalars)
            for name, value in scalars.items():
                self.totals[name] = self.totals.get(name, 0.0) + value * num_rows
            if self.journal is not None and self.history.steps % self.log_every == 0:
                self.journal.write("step", {"epoch": self.epoch, "step": self.history.steps, **scalars})
            self.is_between_updates = True
        if self.all_stop:
            raise KeyboardInterrupt
        return scalars["loss"]

    def _finish_epoch(self) -> None:
        """Validate, take notes, decide whether to stop, and move on to the next epoch."""
        measured = self.fabric.broadcast(dict(self.validate()) if self.validate is not None else {})
        taken = {"epoch", *self.totals} & set(measured)
        if taken:
            raise ValueError(
                f"validate must return names that the step does not use, got {', '.join(map(repr, sorted(taken)))}; "
                "call it 'valid_loss', for example"
            )
        with interrupt_deferred():
            values: dict[str, float] = {"epoch": self.epoch}
            values |= {name: total / self.batches.num_examples for name, total in self.totals.items()}
            values |= {name: float(value) for name, value in measured.items()}
            if self.watch is not None and self.watch.is_best(self.epoch, values):
                self.history.best_epoch = self.epoch
                self.best_state = copy_state(self.step.state_dict()) if self.restore_best else None
            self.history.epochs.append(values)
            if self.journal is not None:
                self.journal.write("epoch", {"step": self.history.steps, **values})
            self.epoch, self.next_batch, self.totals = self.epoch + 1, 0, {}
            is_over = self.watch is not None and self.watch.is_over(self.epoch - 1)
            self.history.stopped_early = is_over and self.epoch < self.epochs
        if self.checkpoint is not None and self.checkpoint_every is None:
            self._save()
        if measured and not self.fabric.broadcast(not self.fabric.is_global_zero or goes_on_after(measured)):
            raise TrainingStopped(f"{self.description} was stopped from outside after epoch {self.epoch - 1}")

    def _mean_over_processes(self, scalars: Mapping[str, float | Tensor], weight: float) -> dict[str, float]:
        """Return the means over the rows of all processes, equal on each, so that all take the same decisions.

        Whether a Ctrl-C waits at any of them goes the same way.
        """
        device = self.fabric.device
        local = [torch.as_tensor(value, dtype=torch.float64, device=device).reshape(()) for value in scalars.values()]
        values = torch.stack(local)
        if self.fabric.world_size > 1:
            values = torch.cat([values * weight, values.new_tensor([float(self.is_interrupted())])])
            self.fabric.all_reduce(values, reduce_op="mean")  # in place
            self.all_stop = values[-1].item() > 0
            values = values[:-1]
        return dict(zip(scalars, values.tolist(), strict=True))

    def _check_finite(self, scalars: Mapping[str, float]) -> None:
        if "loss" not in scalars:
            raise ValueError(f"step must return a scalar named 'loss', got {sorted(scalars)}")
        if math.isfinite(scalars["loss"]):
            return
        others = [name for name, value in scalars.items() if name != "loss" and not math.isfinite(value)]
        self._fail(f"loss is {scalars['loss']}" + (f" (as is {', '.join(others)})" if others else ""))

    def _fail(self, problem: str) -> None:
        kept = f"; the last good checkpoint is {str(self.checkpoint)!r}" if self.saved_position else ""
        raise FloatingPointError(f"{problem} at step {self.history.steps} in epoch {self.epoch}{kept}")

    def _save(self) -> None:
        position = (self.epoch, self.history.steps)
        if position == self.saved_position:
            return
        self._stop_clock()
        state = self.step.state_dict()  # on every process, see Step
        nan = find_nan(state)
        if nan is not None:
            self._fail(f"{nan} holds NaN")  # a finite loss can have a NaN gradient: do not overwrite what is good
        if self.writes:
            assert self.checkpoint is not None
            if self.journal is not None:
                self.journal.sync()
            write_checkpoint({"step": state, "best": self.best_state, "loop": self._loop_state()}, self.checkpoint)
        self.saved_position = position

    def _loop_state(self) -> dict[str, Any]:
        return {
            "history": asdict(self.history),
            "epoch": self.epoch,
            "next_batch": self.next_batch,
            "totals": self.totals,
            "best": None if self.watch is None else self.watch.best,
            "batches": self._batches_description(),
        }

    def _load(self, state: dict[str, Any]) -> None:
        loop = state["loop"]
        if loop["batches"] != self._batches_description():
            raise ValueError(
                f"batches must be those of the checkpoint {str(self.checkpoint)!r}, {loop['batches']}, "
                f"got {self._batches_description()}; pass resume=False to train anew"
            )
        self.step.load_state_dict(state["step"])
        self.history = History(**loop["history"])
        self.epoch, self.next_batch, self.totals = loop["epoch"], loop["next_batch"], loop["totals"]
        self.best_state = state["best"]
        if self.watch is not None:
            self.watch.best, self.watch.best_epoch = loop["best"], self.history.best_epoch
        self.saved_position = (self.epoch, self.history.steps)

    def _batches_description(self) -> dict[str, int | bool]:
        return {**self.batches.description(), "num_processes": self.fabric.world_size}

    def _stop_clock(self) -> None:
        now = time.perf_counter()
        self.history.seconds += now - self.clock
        self.clock = now
