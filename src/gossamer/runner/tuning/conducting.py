"""A whole search: open the data, begin or go on with the study, run its trials, write what was found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gossamer.core.checks import check_int
from gossamer.runner.estimators import make_estimator
from gossamer.runner.provenance import open_for
from gossamer.runner.specs import DataSpec
from gossamer.runner.tuning.front import COMPLETE, Trial
from gossamer.runner.tuning.spaces import merge_space
from gossamer.runner.tuning.study import Study
from gossamer.runner.tuning.tune import Tuning, run_trials
from gossamer.runner.tuning.writing import write_findings


def tune(
    model: str,
    data: DataSpec,
    folder: Path,
    *,
    trials: int,
    split: str | None = None,
    metric: str | None = None,
    settings: Mapping[str, Any] | None = None,
    tried: Mapping[str, Any] | None = None,
    seed: int = 0,
    device: str | None = None,
    is_pareto: bool = False,
    on_trial: Callable[[Trial], None] = lambda _: None,
) -> dict[str, Any]:
    """Search the settings of a model of the catalogue until the study in `folder` has so many trials.

    `settings` stay as they are; what is `tried`, and the `metric` that chooses, are what the model declares where
    nothing else is said. The folder holds `study.db`, by which the same call goes on, two experiments for
    `gossamer reproduce` (`experiment_path`), and `trials.json`, which is also returned. `is_pareto` searches for
    quality and few bytes at once, without pruning, rather than for quality.
    """
    check_int("trials", trials, at_least=1)
    space = merge_space(model, settings or {}, tried or {})
    make_estimator(model, space.fixed, seed=seed, device=device)  # complains before the data are read
    origin, parts = open_for(model, data, split, seed)
    tuning = Tuning(origin, space, space.metric if metric is None else metric, seed, device, is_pareto)
    study = Study.open(folder, tuning.purpose, metric=tuning.metric, is_pareto=is_pareto, seed=seed)
    try:
        for trial in run_trials(tuning, study, parts, trials):
            on_trial(trial)
    except KeyboardInterrupt:
        ended = study.trials()
        if any(trial.state == COMPLETE for trial in ended):
            write_findings(folder, tuning, ended)
        raise
    else:
        return write_findings(folder, tuning, study.trials())
    finally:
        study.close()
