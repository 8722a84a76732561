from __future__ import annotations

import io
import json
import math
import os
import signal
from collections.abc import Callable
from typing import Any

import pytest
import rich.console
import torch
from rich.console import Console
from torch import nn

from gossamer.core import progress
from gossamer.data.batching import Batches
from gossamer.training import GradientStep, ProximalAdam, fit
from gossamer.training.checkpoint import read_checkpoint


class Counter:
    """The simplest step: its state is the number of updates; `on_update` may do anything."""

    def __init__(self, on_update: Callable[[int], dict[str, float]] = lambda count: {"loss": 1.0 / count}) -> None:
        self.on_update = on_update
        self.count = 0
        self.value = torch.zeros(1)

    def setup(self, fabric: Any) -> None:
        pass

    def __call__(self, batch: Any, weight: float) -> dict[str, float]:
        self.count += 1
        return self.on_update(self.count)

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count, "value": self.value}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.count, self.value = state["count"], state["value"]


def four_batches() -> Batches[list[int]]:
    return Batches(lambda rows: rows.tolist(), 10, 3)


def scripted(values: list[float]) -> Callable[[], dict[str, float]]:
    remaining = iter(values)
    return lambda: {"score": next(remaining)}


def test_every_row_once_per_epoch_and_history_tells_it():
    seen: list[list[int]] = []
    batches = Batches(lambda rows: seen.append(rows.tolist()), 10, 3)
    history = fit(Counter(), batches, epochs=2)
    for epoch in (seen[:4], seen[4:]):
        assert sorted(row for batch in epoch for row in batch) == list(range(10))
    assert seen[:4] != seen[4:]
    assert history.steps == 8
    assert history.best_epoch is None
    assert not history.stopped_early
    assert json.loads(json.dumps(history.as_dict()))["steps"] == 8


def test_epoch_values_are_means_over_rows_and_not_over_batches():
    history = fit(Counter(lambda count: {"loss": float(count)}), four_batches(), epochs=1)
    assert history.epochs == [{"epoch": 0, "loss": pytest.approx((3 * 1 + 3 * 2 + 3 * 3 + 1 * 4) / 10)}]


@pytest.mark.parametrize(("mode", "sign"), [("min", 1), ("max", -1)])
def test_early_stopping_restores_the_best_state(mode, sign):
    step = Counter()
    scores = [sign * value for value in (3.0, 1.0, 2.0, 1.0, 0.5)]
    history = fit(step, four_batches(), epochs=9, validate=scripted(scores), monitor="score", mode=mode, patience=2)
    assert history.stopped_early
    assert len(history.epochs) == 4
    assert history.best_epoch == 1
    assert step.count == 8  # as it was after epoch 1
    assert history.steps == 16


def test_best_state_comes_back_without_patience_too_unless_refused():
    for restore_best, count in ((True, 4), (False, 12)):
        step = Counter()
        history = fit(
            step,
            four_batches(),
            epochs=3,
            validate=scripted([1.0, 2.0, 3.0]),
            monitor="score",
            restore_best=restore_best,
        )
        assert (step.count, history.best_epoch, history.stopped_early) == (count, 0, False)


def test_a_best_state_that_was_never_kept_is_said_to_be_missing(tmp_path, caplog):
    scores = {"monitor": "score", "checkpoint": tmp_path / "c"}
    fit(Counter(), four_batches(), epochs=2, validate=scripted([1.0, 2.0]), restore_best=False, **scores)
    fit(Counter(), four_batches(), epochs=3, validate=scripted([3.0]), **scores)
    assert "the state of epoch 0 was not kept" in caplog.text


def test_patience_without_validation_watches_the_training_loss():
    step = Counter(lambda count: {"loss": float(count > 4)})
    history = fit(step, four_batches(), epochs=9, patience=1)
    assert (history.best_epoch, len(history.epochs), step.count) == (0, 2, 4)


def test_best_parameters_of_a_module_return():
    module = nn.Linear(2, 1)
    step = GradientStep(
        module, lambda module, batch, _: module(batch).mean(), torch.optim.SGD(module.parameters(), lr=0.1)
    )
    batches = Batches(lambda rows: torch.ones(len(rows), 2), 6, 3)
    snapshots: list[torch.Tensor] = []

    def validate() -> dict[str, float]:
        snapshots.append(module.weight.detach().clone())
        return {"score": [5.0, 9.0, 7.0][len(snapshots) - 1]}

    fit(step, batches, epochs=3, validate=validate, monitor="score", mode="max")
    assert torch.equal(module.weight, snapshots[1])
    assert not torch.equal(snapshots[1], snapshots[2])


def test_log_has_one_line_per_epoch_and_logged_step(tmp_path):
    log = tmp_path / "new" / "log.jsonl"
    fit(Counter(lambda count: {"loss": 0.5, "odd": math.nan}), four_batches(), epochs=2, log=log, log_every=3)
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["kind"], line["epoch"], line["step"]) for line in lines] == [
        ("step", 0, 3),
        ("epoch", 0, 4),
        ("step", 1, 6),
        ("epoch", 1, 8),
    ]
    assert lines[0]["odd"] is None
    assert lines[0]["loss"] == 0.5


def test_a_new_run_starts_its_log_anew(tmp_path):
    for _ in range(2):
        fit(Counter(), four_batches(), epochs=1, log=tmp_path / "log")
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_a_finished_run_is_not_run_again_but_can_be_prolonged(tmp_path):
    path = tmp_path / "c"
    scores = {"validate": lambda: {"score": 1.0}, "monitor": "score", "checkpoint": path}
    first = fit(Counter(), four_batches(), epochs=2, **scores)
    again = Counter(lambda count: pytest.fail("must not train"))
    assert fit(again, four_batches(), epochs=2, **scores).epochs == first.epochs
    assert again.count == 4  # the best epoch's state, restored
    longer = Counter()
    history = fit(longer, four_batches(), epochs=3, restore_best=False, **scores)
    assert (history.steps, longer.count, len(history.epochs)) == (12, 12, 3)
    assert fit(Counter(), four_batches(), epochs=1, resume=False, **scores).steps == 4


def test_checkpoint_after_every_epoch_unless_told_otherwise(tmp_path):
    path = tmp_path / "c"
    found = []

    def note(count: int) -> dict[str, float]:
        found.append(read_checkpoint(path)["loop"]["history"]["steps"] if path.exists() else 0)
        return {"loss": 1.0}

    fit(Counter(note), four_batches(), epochs=2, checkpoint=path)
    assert found == [0, 0, 0, 0, 4, 4, 4, 4]
    path.unlink()
    found.clear()
    fit(Counter(note), four_batches(), epochs=2, checkpoint=path, checkpoint_every=3)
    assert found == [0, 0, 0, 3, 3, 3, 6, 6]
    assert read_checkpoint(path)["loop"]["history"]["steps"] == 8


@pytest.mark.usefixtures("interruptible")
def test_ctrl_c_finishes_the_update_writes_a_checkpoint_and_raises(tmp_path):
    def interrupt(count: int) -> dict[str, float]:
        if count == 6:
            os.kill(os.getpid(), signal.SIGINT)
        return {"loss": 1.0}

    step = Counter(interrupt)
    with pytest.raises(KeyboardInterrupt):
        fit(step, four_batches(), epochs=3, checkpoint=tmp_path / "c", log=tmp_path / "log", log_every=1)
    saved = read_checkpoint(tmp_path / "c")
    assert step.count == saved["step"]["count"] == saved["loop"]["history"]["steps"] == 6
    resumed = Counter()
    assert fit(resumed, four_batches(), epochs=3, checkpoint=tmp_path / "c").steps == resumed.count == 12


def test_ctrl_c_in_validation_writes_a_checkpoint_too(tmp_path):
    def validate() -> dict[str, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(Counter(), four_batches(), epochs=3, validate=validate, checkpoint=tmp_path / "c")
    assert read_checkpoint(tmp_path / "c")["loop"]["next_batch"] == 4


def test_an_update_cut_in_the_middle_is_never_saved(tmp_path):
    def cut(count: int) -> dict[str, float]:
        if count == 6:
            raise KeyboardInterrupt
        return {"loss": 1.0}

    with pytest.raises(KeyboardInterrupt):
        fit(Counter(cut), four_batches(), epochs=3, checkpoint=tmp_path / "c")
    assert read_checkpoint(tmp_path / "c")["step"]["count"] == 4


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_finite_stops_and_keeps_the_good_checkpoint(bad, tmp_path):
    step = Counter(lambda count: {"loss": bad if count == 6 else 1.0, "kl": bad if count == 6 else 1.0})
    message = rf"loss is {bad} \(as is kl\) at step 6 in epoch 1; the last good checkpoint is '.*c'"
    with pytest.raises(FloatingPointError, match=message):
        fit(step, four_batches(), epochs=3, checkpoint=tmp_path / "c", checkpoint_every=1)
    assert read_checkpoint(tmp_path / "c")["step"]["count"] == 5


def test_state_with_nan_behind_a_finite_loss_is_not_saved(tmp_path):
    step = Counter()

    def spoil(count: int) -> dict[str, float]:
        step.value = torch.tensor([math.nan if count == 3 else 0.0])
        return {"loss": 1.0}

    step.on_update = spoil
    with pytest.raises(FloatingPointError, match="value holds NaN at step 3 in epoch 0"):
        fit(step, four_batches(), epochs=1, checkpoint=tmp_path / "c", checkpoint_every=1)
    assert read_checkpoint(tmp_path / "c")["step"]["count"] == 2


def test_a_monitored_value_that_is_nan_stops():
    with pytest.raises(FloatingPointError, match="score is nan after epoch 0"):
        fit(Counter(), four_batches(), epochs=1, validate=lambda: {"score": math.nan}, monitor="score")


def test_a_truncated_checkpoint_is_an_error_and_is_left_as_it_is(tmp_path):
    path = tmp_path / "c"
    fit(Counter(), four_batches(), epochs=1, checkpoint=path)
    path.write_bytes(path.read_bytes()[:-3])
    content = path.read_bytes()
    with pytest.raises(ValueError, match=r"checkpoint must be a complete file.*resume=False"):
        fit(Counter(), four_batches(), epochs=2, checkpoint=path)
    assert path.read_bytes() == content


def test_other_batches_than_the_checkpoints_are_refused(tmp_path):
    fit(Counter(), four_batches(), epochs=1, checkpoint=tmp_path / "c")
    with pytest.raises(ValueError, match=r"batches must be those of the checkpoint .* got .*'batch_size': 5"):
        fit(Counter(), Batches(lambda rows: rows, 10, 5), epochs=2, checkpoint=tmp_path / "c")


def test_row_sparse_proximal_training_resumes_bit_for_bit(tmp_path):
    """Checkpoints make the optimiser catch up, at the same steps in both runs."""

    def train(folder: str, crash_at: int | None) -> torch.Tensor:
        module = nn.Embedding(30, 2, sparse=True)
        module.weight.data = torch.linspace(-1, 1, 60).reshape(30, 2)
        optimiser = ProximalAdam(module.parameters(), 0.01, l1=0.5)
        served = 0

        def collate(rows: Any) -> torch.Tensor:
            nonlocal served
            if served == crash_at:
                raise RuntimeError("crash")
            served += 1
            return torch.as_tensor(rows)

        def loss(module: nn.Module, batch: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
            optimiser.catch_up(module.weight, batch)
            return (module(batch) - 1).square().mean()

        step = GradientStep(module, loss, optimiser)
        path = tmp_path / folder
        fit(step, Batches(collate, 30, 4), epochs=3, checkpoint=path, checkpoint_every=5)
        return module.weight.detach()

    expected = train("whole", None)
    with pytest.raises(RuntimeError, match="crash"):
        train("cut", 13)
    assert torch.equal(train("cut", None), expected)


def test_progress_shows_epoch_loss_and_rate_only_when_asked(monkeypatch):
    screen = io.StringIO()
    monkeypatch.setattr(rich.console, "Console", lambda **_: Console(file=screen, force_terminal=True, width=120))
    fit(Counter(), four_batches(), epochs=1)
    assert screen.getvalue() == ""
    with progress.show_progress():
        fit(Counter(lambda count: {"loss": 0.125}), four_batches(), epochs=2, description="counting")
    for text in ("counting 1/2", "counting 2/2", "4/4", "loss 0.125", "rows/s"):
        assert text in screen.getvalue()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs must be an integer >= 1, got 0"),
        ({"log_every": 0}, "log_every must be an integer >= 1, got 0"),
        ({"patience": 0}, "patience must be an integer >= 1, got 0"),
        ({"mode": "up"}, "mode must be one of 'min', 'max', got 'up'"),
        ({"checkpoint_every": 3}, "checkpoint must be a path where checkpoint_every is 3, got None"),
        ({"patience": 1, "monitor": "auc"}, "monitor must be one of 'epoch', 'loss', got 'auc'"),
        ({"validate": lambda: {"loss": 1.0}}, "validate must return names that the step does not use, got 'loss'"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        fit(Counter(), four_batches(), **{"epochs": 1, **options})


def test_a_step_must_return_a_loss():
    with pytest.raises(ValueError, match=r"step must return a scalar named 'loss', got \['kl'\]"):
        fit(Counter(lambda count: {"kl": 1.0}), four_batches(), epochs=1)
