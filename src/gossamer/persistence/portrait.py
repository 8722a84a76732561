"""What a notebook shows of an estimator: the settings that are not the defaults, and what it has learned."""

from __future__ import annotations

import inspect
from typing import Any

from gossamer.core.html import html_facts
from gossamer.persistence.stored_size import stored_size


def estimator_html(estimator: Any) -> str:
    """Return an estimator as a small table; a display never fails, so what cannot be told is left out."""
    defaults = {name: parameter.default for name, parameter in inspect.signature(type(estimator)).parameters.items()}
    settings = {name: getattr(estimator, name, None) for name in defaults}
    changed = {name: repr(value) for name, value in settings.items() if not _is_same(value, defaults[name])}
    learned = _learned(estimator)
    state = "fitted" if learned else "not fitted"
    num_others = len(settings) - len(changed)
    note = f"{num_others} other settings are the defaults" if num_others else ""
    return html_facts(f"{type(estimator).__name__} ({state})", changed | learned, note)


def _learned(estimator: Any) -> dict[str, Any]:
    try:
        vocabularies = estimator.learned_vocabularies()
        num_values, num_bytes = stored_size(estimator)
    except (AttributeError, ValueError):  # scikit-learn's NotFittedError is both
        return {}
    found: dict[str, Any] = {f"known {name}": len(vocabulary) for name, vocabulary in vocabularies.items()}
    found |= {"numbers stored": num_values, "bytes stored": num_bytes}
    history = getattr(estimator, "history_", None)
    if isinstance(history, dict) and history.get("epochs"):
        found["epochs trained"] = len(history["epochs"])
        best = history.get("best_epoch")
        kept = history["epochs"][-1 if best is None else best]
        found |= {f"{name} of the epoch kept": value for name, value in kept.items() if name != "epoch"}
    return found


def _is_same(value: Any, default: Any) -> bool:
    value, default = (list(one) if isinstance(one, tuple) else one for one in (value, default))
    return type(value) is type(default) and bool(value == default)
