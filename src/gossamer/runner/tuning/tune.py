"""Tune: trial after trial, fitted and measured as `gossamer reproduce` does it, on validation data and nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from gossamer.core.search_space import SearchSpace
from gossamer.runner.estimators import make_estimator
from gossamer.runner.measure import SIZE_METRICS, fit, measure, num_held_out
from gossamer.runner.provenance import Origin
from gossamer.runner.search import has_a_best
from gossamer.runner.source import Division
from gossamer.runner.tuning.front import Trial
from gossamer.runner.tuning.spaces import defaults_in, describe_space, suggest
from gossamer.training.listening import TrainingStopped, listen_to_epochs

if TYPE_CHECKING:
    import optuna

    from gossamer.runner.tuning.study import Study

# What a setting can do to a fit; anything else is a bug of ours and ends the search.
PROBLEMS = (ValueError, FloatingPointError, MemoryError, torch.OutOfMemoryError)


@dataclass(frozen=True)
class Tuning:
    """What is tuned: a model on data and split, its space, and the validation metric that chooses."""

    origin: Origin
    space: SearchSpace
    metric: str
    seed: int = 0
    device: str | None = None
    is_pareto: bool = False

    def __post_init__(self) -> None:
        if not has_a_best(self.metric) or self.metric in SIZE_METRICS:
            raise ValueError(f"metric must be one of which more or less is better, got {self.metric!r}")

    @property
    def purpose(self) -> dict[str, Any]:
        """What must be the same for a study to be gone on with."""
        return {
            **self.origin.as_json(),
            "metric": self.metric,
            "pareto": self.is_pareto,
            "settings": dict(self.space.fixed),
            "space": describe_space(self.space),
            "seed": self.seed,
            "device": self.device,
        }

    def make_estimator(self, settings: Mapping[str, Any]) -> Any:
        """Return an unfitted estimator, as every other verb makes it."""
        return make_estimator(self.origin.model, settings, seed=self.seed, device=self.device)


def run_trials(tuning: Tuning, study: Study, split: Division, num_trials: int) -> Iterator[Trial]:
    """Run trials until the study has `num_trials`, and yield each as it ends.

    A trial is pruned after an epoch whose validation metric is below the median of the trials before it at that epoch,
    where the model measures that metric while it learns and there is only one objective. One whose fit fails for its
    settings is a failed trial. The test part is never looked at.
    """
    if split.valid is None or num_held_out(split.valid) == 0:
        raise ValueError(f"split must hold out validation data to tune on, got {split.description['kind']!r}")
    first = defaults_in(tuning.origin.model, tuning.space)
    while len(study.trials()) < num_trials:
        trial = study.ask(first)
        try:
            _run_trial(tuning, study, split, trial)
        except BaseException:
            study.interrupt(trial)
            raise
        yield study.trials()[-1]


def _run_trial(tuning: Tuning, study: Study, split: Division, trial: optuna.Trial) -> None:
    settings = suggest(trial, tuning.space)
    trial.set_user_attr("settings", settings)
    try:
        estimator = tuning.make_estimator(settings)
        if tuning.is_pareto:  # optuna prunes by one objective only
            seconds = fit(estimator, split)
        else:
            with listen_to_epochs(_Pruning(trial, tuning.metric)):
                seconds = fit(estimator, split)
    except TrainingStopped:
        study.prune(trial)
        return
    except PROBLEMS as error:
        study.fail(trial, str(error) or type(error).__name__)
        return
    # Not among what may fail: a metric that the model does not have is the caller's mistake, and every trial's.
    found = measure(estimator, split.valid, [tuning.metric, "bytes"], split.valid).values
    value = found[tuning.metric]
    if math.isfinite(value):
        study.complete(trial, value, int(found["bytes"]), seconds)
    else:
        study.fail(trial, f"{tuning.metric} is {value}")


class _Pruning:
    """Reports the chosen metric to the study after every epoch, and says whether the trial is worth going on with."""

    def __init__(self, trial: optuna.Trial, metric: str) -> None:
        self.trial = trial
        self.names = (metric.removeprefix("test_"), f"valid_{metric.removeprefix('test_')}")
        self.num_epochs = 0  # over all loops of a fit: epochs of a second loop are not first ones

    def __call__(self, measured: Mapping[str, float]) -> bool:
        for name in self.names:
            if name in measured and math.isfinite(measured[name]):
                self.trial.report(float(measured[name]), self.num_epochs)
                self.num_epochs += 1
                return not self.trial.should_prune()
        return True
