"""What the report is told of one fitted model: its measures, sizes, history, and what it says of itself."""

from __future__ import annotations

from typing import Any

from gossamer.core.protocols import Explainer
from gossamer.data.interactions import Split
from gossamer.report.models import ModelResult
from gossamer.runner.code_findings import find_codes, has_codes
from gossamer.runner.community_findings import find_communities
from gossamer.runner.measure import stored_size
from gossamer.runner.outcome import Outcome
from gossamer.runner.phases import find_phases
from gossamer.runner.sentence_findings import find_sentence_codes, sentence_coder
from gossamer.runner.source import Division


def result_of(outcome: Outcome, split: Division) -> ModelResult:
    """Collect what there is to show of a model that was fitted on `split`; what it cannot say is left out."""
    measured, model = outcome.measured, outcome.estimator
    scores = {} if measured is None else measured.ranking or measured.values
    num_values, num_bytes = stored_size(model)
    history = getattr(model, "history_", None)
    return ModelResult(
        scores=scores,
        settings=model.get_params(deep=False),
        seconds=outcome.seconds,
        num_values=num_values,
        num_bytes=num_bytes,
        history=() if history is None else history["epochs"],
        explanation=_explanation(model),
        size=model.size_report() if hasattr(model, "size_report") else {},
        entries=model.entries_per_row() if hasattr(model, "entries_per_row") else {},
        diagnosis=_diagnosis(model, split) if hasattr(model, "diagnose") else {},
        phases=find_phases(model, _to_look_at(split)),
        codes=_codes(model, split),
        communities=find_communities(model, split.test if isinstance(split, Split) else None),
    )


def _explanation(model: Any) -> dict[str, Any]:
    """Return what the model says of itself; of a probe, what the codes that it reads say."""
    explainer = model if isinstance(model, Explainer) else sentence_coder(model)
    return {} if explainer is None else explainer.explain()


def _codes(model: Any, split: Division) -> dict[str, Any]:
    coder = sentence_coder(model)
    if coder is not None:
        return find_sentence_codes(coder, _to_look_at(split))
    return find_codes(model, _to_look_at(split)) if has_codes(model) else {}


def _diagnosis(model: Any, split: Division) -> dict[str, Any]:
    seen = split.train if len(split.train) else None  # other data than the model's own have no training part
    found: dict[str, Any] = model.diagnose(_to_look_at(split), seen)
    return found


def _to_look_at(split: Division) -> Any:
    """Return the held-out documents, or users' histories; the training data where nothing was held out."""
    held_out = split.test.history if isinstance(split, Split) else split.test
    return held_out if len(held_out) else split.train
