"""The study on disk: an SQLite file that holds every trial, and says what it is a study of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from gossamer.core.randomness import derive_seed
from gossamer.runner.search import lower_is_better
from gossamer.runner.tuning.front import COMPLETE, FAILED, PRUNED, Trial

try:
    import optuna
    from optuna.study import StudyDirection
    from optuna.trial import FrozenTrial, TrialState
    from sqlalchemy import URL
    from sqlalchemy.exc import SQLAlchemyError
except ImportError as error:
    raise ImportError("tuning needs optuna; install it with: pip install 'gossamer[tune]'") from error

FILE = "study.db"
NAME = "gossamer"
PURPOSE = "purpose"
STARTUP_TRIALS, WARM_UP_EPOCHS = 5, 2  # a median of fewer trials, or of first epochs, says little
_STATES = {TrialState.COMPLETE: COMPLETE, TrialState.PRUNED: PRUNED, TrialState.FAIL: FAILED}


@dataclass(frozen=True)
class Study:
    """Trials on disk, and what they are for; `seed` decides which settings are drawn."""

    folder: Path
    metric: str
    is_pareto: bool
    seed: int
    storage: Any
    trials_on_disk: Any

    @classmethod
    def open(cls, folder: Path, purpose: Mapping[str, Any], *, metric: str, is_pareto: bool, seed: int) -> Study:
        """Begin a study in `folder`, or go on with the one there, if that is for the same `purpose`.

        A study without any trial, of a command that was mistaken, is begun anew for whatever purpose.
        """
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / FILE
        wanted = StudyDirection.MINIMIZE if lower_is_better(metric) else StudyDirection.MAXIMIZE
        directions = [wanted, StudyDirection.MINIMIZE] if is_pareto else [wanted]
        optuna.logging.set_verbosity(optuna.logging.ERROR)  # a library does not talk
        try:
            storage = optuna.storages.RDBStorage(URL.create("sqlite", database=str(path)).render_as_string())
            begin = partial(optuna.create_study, study_name=NAME, storage=storage, directions=directions)
            study = begin(load_if_exists=True)
            remembered = study.user_attrs.get(PURPOSE)
            if remembered not in (None, _plain(purpose)) and not any(map(_counts, study.get_trials(deepcopy=False))):
                optuna.delete_study(study_name=NAME, storage=storage)
                study, remembered = begin(), None
        except (SQLAlchemyError, optuna.exceptions.OptunaError, RuntimeError, AssertionError) as error:
            raise ValueError(f"{path} must be a study that `gossamer tune` wrote, got another file") from error
        opened = cls(folder, metric, is_pareto, seed, storage, study)
        try:
            if remembered is None and not study.get_trials(deepcopy=False):
                study.set_user_attr(PURPOSE, _plain(purpose))
            else:
                _check_purpose(path, remembered, _plain(purpose))
        except BaseException:
            opened.close()
            raise
        return opened

    def trials(self) -> list[Trial]:
        """Return the trials that have ended, in their order; what was interrupted is not among them."""
        ended = [one for one in self.trials_on_disk.get_trials(deepcopy=False) if _has_ended(one)]
        return [_read_trial(number, one) for number, one in enumerate(ended)]

    def ask(self, first: Mapping[str, Any]) -> optuna.Trial:
        """Begin a trial; the very first one tries the settings `first`.

        What is drawn depends on the seed and on the trials that have ended, so that a study which was interrupted draws
        what it would have drawn.
        """
        num_ended = len(self.trials())
        seed = derive_seed(self.seed, "trial", num_ended) % 2**32
        self.trials_on_disk.sampler = optuna.samplers.TPESampler(seed=seed)
        self.trials_on_disk.pruner = optuna.pruners.MedianPruner(STARTUP_TRIALS, WARM_UP_EPOCHS)
        if num_ended == 0:
            self.trials_on_disk.enqueue_trial(dict(first), skip_if_exists=False)
        asked: optuna.Trial = self.trials_on_disk.ask()
        return asked

    def complete(self, trial: optuna.Trial, value: float, num_bytes: int, seconds: float) -> None:
        """End a trial that was measured."""
        trial.set_user_attr("bytes", num_bytes)
        trial.set_user_attr("seconds", seconds)
        self.trials_on_disk.tell(trial, [value, float(num_bytes)] if self.is_pareto else value)

    def prune(self, trial: optuna.Trial) -> None:
        """End a trial that was given up between epochs."""
        self.trials_on_disk.tell(trial, state=TrialState.PRUNED)

    def fail(self, trial: optuna.Trial, problem: str) -> None:
        """End a trial that failed, with the sentence it failed with."""
        trial.set_user_attr("problem", problem)
        self.trials_on_disk.tell(trial, state=TrialState.FAIL, skip_if_finished=True)

    def interrupt(self, trial: optuna.Trial) -> None:
        """End a trial that does not count: its settings are drawn again."""
        trial.set_user_attr("interrupted", True)
        self.trials_on_disk.tell(trial, state=TrialState.FAIL, skip_if_finished=True)

    def close(self) -> None:
        """Let go of the file."""
        self.storage.remove_session()
        self.storage.engine.dispose()


def _check_purpose(path: Path, remembered: Any, purpose: Mapping[str, Any]) -> None:
    if not isinstance(remembered, Mapping):
        raise ValueError(f"{path} must be a study that `gossamer tune` wrote, got another one")
    for name, value in purpose.items():
        if remembered.get(name) != value:
            raise ValueError(
                f"{name} must be that of the study {path}, {json.dumps(remembered.get(name))}, "
                f"got {json.dumps(value)}; begin another study with another --out"
            )


def _plain(purpose: Mapping[str, Any]) -> dict[str, Any]:
    plain: dict[str, Any] = json.loads(json.dumps(purpose))
    return plain


def _has_ended(trial: FrozenTrial) -> bool:
    return trial.state in _STATES and not trial.user_attrs.get("interrupted", False)


def _counts(trial: FrozenTrial) -> bool:
    """Say whether a trial has ended, or is running in another process for all we know."""
    return _has_ended(trial) or trial.state == TrialState.RUNNING


def _read_trial(number: int, trial: FrozenTrial) -> Trial:
    known = trial.user_attrs
    return Trial(
        number,
        _STATES[trial.state],
        known.get("settings", {}),
        trial.values[0] if trial.values else None,
        known.get("bytes"),
        known.get("seconds"),
        known.get("problem"),
    )
