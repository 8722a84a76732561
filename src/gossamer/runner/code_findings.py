"""What there is to show of a model's sparse codes: how many features are on, what each of them means."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts

NUM_OBSERVATIONS, NUM_RECONSTRUCTED, NUM_PROTOTYPES, NUM_TERMS = 2000, 8, 16, 8


def has_codes(model: Any) -> bool:
    """Say whether a model turns observations into codes and codes into observations."""
    return callable(getattr(model, "transform", None)) and callable(getattr(model, "inverse_transform", None))


def find_codes(model: Any, data: Counts | LabelledArrays) -> dict[str, Any]:
    """Return what `report.codes.codes_section` shows, from at most `NUM_OBSERVATIONS` rows evenly spread over `data`.

    Prototypes are the observations to be expected of codes with a single feature on, for the features that are on
    most often. Of Counts, which are probabilities of terms then, the terms are listed that are most raised over the
    empty code. Empty where codes are not sparse, or where there is nothing to look at.
    """
    if len(data) == 0 or not isinstance(data, Counts | LabelledArrays):
        return {}
    shown = data[np.unique(np.linspace(0, len(data) - 1, NUM_OBSERVATIONS).astype(np.int64))]
    codes = model.transform(shown)
    if not sparse.issparse(codes):
        return {}
    codes = sparse.csr_array(codes)
    labels, label_names = _labels_of(shown)
    share = np.bincount(codes.indices[codes.data != 0], minlength=codes.shape[1]) / codes.shape[0]
    features = np.argsort(-share, kind="stable")[:NUM_PROTOTYPES]
    features = features[share[features] > 0]
    alone = sparse.csr_array(np.eye(codes.shape[1], dtype=np.float32)[features])
    found: dict[str, Any] = {
        "codes": codes,
        "labels": labels,
        "label_names": label_names,
        "limit": getattr(model, "max_active", None),
        "features": features,
        "share": share,
    }
    prototypes, rebuilt = model.inverse_transform(alone), model.inverse_transform(codes[:NUM_RECONSTRUCTED])
    if isinstance(shown, Counts):
        empty = model.inverse_transform(sparse.csr_array((1, codes.shape[1]), dtype=np.float32))
        return found | {
            "prototype_terms": _top_terms(_log(prototypes) - _log(empty), shown),
            "document_terms": _top_terms(shown.matrix[:NUM_RECONSTRUCTED].toarray(), shown),
            "rebuilt_terms": _top_terms(_log(rebuilt) - _log(empty), shown),
        }
    shape = shown.inputs.shape[1:]
    return found | {
        "observed": shown.inputs[:NUM_RECONSTRUCTED],
        "rebuilt": rebuilt.reshape(-1, *shape),
        "prototypes": prototypes.reshape(-1, *shape),
    }


def _log(probs: np.ndarray) -> np.ndarray:
    logs: np.ndarray = np.log(np.maximum(probs, np.finfo(np.float32).tiny))
    return logs


def _labels_of(data: Counts | LabelledArrays) -> tuple[np.ndarray | None, list[str] | None]:
    """Return one class per observation; None where there is none, or where there are many labels."""
    labels = data.labels if isinstance(data, Counts) else data.targets
    if labels is None or np.ndim(labels) != 1 or np.asarray(labels).dtype.kind not in "iu":
        return None, None
    names = data.label_names if isinstance(data, Counts) else data.target_names
    return np.asarray(labels), None if names is None else [str(name) for name in names]


def _top_terms(scores: np.ndarray, data: Counts) -> list[list[str]]:
    """Return the terms of each row with the highest scores above 0, best first."""
    best = np.argsort(-scores, axis=1, kind="stable")[:, :NUM_TERMS]
    return [[str(data.terms[int(term)]) for term in row if scores[number, term] > 0] for number, row in enumerate(best)]
