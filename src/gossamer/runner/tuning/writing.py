"""What a search leaves: the best settings and the front as experiment files, and all trials as JSON."""

from __future__ import annotations

import inspect
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gossamer.core.atomic import replacing_file
from gossamer.runner.estimators import find_class
from gossamer.runner.experiment import parse_experiment
from gossamer.runner.tasks import default_metrics
from gossamer.runner.tuning.front import Trial, best_trial, front_of
from gossamer.runner.tuning.tune import Tuning

try:
    import tomli_w
except ImportError as error:
    raise ImportError("tuning needs tomli-w; install it with: pip install 'gossamer[tune]'") from error


def write_findings(folder: Path, tuning: Tuning, trials: Sequence[Trial]) -> dict[str, Any]:
    """Write experiments of the best trial and of the front, and `trials.json`, and return what the last one holds."""
    best, front = best_trial(trials, tuning.metric), front_of(trials, tuning.metric)
    found = {
        **tuning.purpose,
        "best": best.as_json(),
        "front": [trial.as_json() for trial in front],
        "trials": [trial.as_json() for trial in trials],
    }
    _write(folder / "trials.json", json.dumps(found, indent=2, ensure_ascii=False, allow_nan=False) + "\n")
    write_experiment(experiment_path(folder, "best"), tuning, [best])
    write_experiment(experiment_path(folder, "front"), tuning, front)
    return found


def experiment_path(folder: Path, chosen: str) -> Path:
    """Return the file in a study's `folder` for what was `chosen`, "best" or "front".

    Its name, by which `gossamer reproduce` keeps records, is the study's: those of several studies lie side by side.

    >>> experiment_path(Path("slim_study"), "best").as_posix()
    'slim_study/slim-study-best.toml'
    """
    study = re.sub(r"[^a-z0-9]+", "-", folder.resolve().name.lower()).strip("-") or "study"
    return folder / f"{study}-{chosen}.toml"


def write_experiment(path: Path, tuning: Tuning, trials: Sequence[Trial]) -> None:
    """Write an experiment with a row per trial, whose test part `gossamer reproduce` judges."""
    model = tuning.origin.model
    usual = default_metrics(find_class(model)) or ()
    content = {
        "name": path.stem,
        "title": f"{model} on {tuning.origin.data.name}, tuned by {tuning.metric} on validation data",
        "metrics": list(dict.fromkeys((tuning.metric, *usual, "values", "bytes"))),
        "seeds": [tuning.seed],
        "data": tuning.origin.data.as_json(),
        "split": tuning.origin.split.as_json(),
        "row": [
            {
                "name": model if len(trials) == 1 else f"{model}-{trial.number}",
                "method": model,
                "model": model,
                "settings": _writable(model, trial.settings),
            }
            for trial in trials
        ],
    }
    chosen = "\n".join(
        f"# trial {trial.number}: {tuning.metric} {trial.value:.6g} on validation data, {trial.bytes:,} bytes"
        for trial in trials
    )
    text = f"# gossamer reproduce {shlex.quote(path.as_posix())}\n{chosen}\n{tomli_w.dumps(content)}"
    parse_experiment(text, path)  # whatever we write, we can read
    _write(path, text)


def _writable(model: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings without None, which TOML has no word for and which is the default wherever it is allowed."""
    defaults = inspect.signature(find_class(model)).parameters
    for name, value in settings.items():
        if value is None and defaults[name].default is not None:
            raise ValueError(f"{name} must not be null in an experiment file, where its default is another")
    return {name: value for name, value in settings.items() if value is not None}


def _write(path: Path, text: str) -> None:
    with replacing_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
