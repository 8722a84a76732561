"""Features of series from another family's model: embeddings of the same people, learned from the training data only.

Families do not know each other; the runner knows them all, and brings what one has learned to another as data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float32
from scipy import sparse

from gossamer import datasets
from gossamer.core.protocols import Transformer
from gossamer.data.counts import Counts
from gossamer.data.interactions import Interactions
from gossamer.data.parts import Parts
from gossamer.data.sequences import Sequences
from gossamer.runner.estimators import make_estimator
from gossamer.runner.specs import DataSpec, check_keys
from gossamer.runner.tasks import container_of


def with_embeddings(parts: Parts, spec: DataSpec) -> Parts:
    """Return the parts with a row of features per series: the embedding of its name by the model of `spec.embed`.

    The data set must have the option `ratings`, for interactions of the same people without any that are held out.
    """
    check_keys("embed", spec.embed, ["model", "settings", "seed"], required=["model"])
    if not isinstance(parts.train, Sequences) or "ratings" not in datasets.find(spec.name).options():
        raise ValueError(f"data must be series with the option 'ratings' to embed their people, got {spec.name!r}")
    known: Interactions = datasets.load(spec.name, **{**spec.options, "ratings": True})
    vectors = embed_users(known, spec.embed)
    train, valid, test = (_described(part, known, vectors) for part in (parts.train, parts.valid, parts.test))
    return replace(parts, train=train, valid=valid, test=test)


def embed_users(known: Interactions, embed: Mapping[str, Any]) -> Float32[np.ndarray, "N D"]:
    """Fit a model of the catalogue to all users, and return what it says of each.

    These are factors (`als`), memberships (`communities`), or codes of histories read as documents (`count-vae`).
    """
    estimator = make_estimator(embed["model"], embed.get("settings", {}), seed=embed.get("seed", 0))
    if hasattr(estimator, "fold_in"):
        found = estimator.fit(known).fold_in(known)
    elif hasattr(estimator, "memberships"):
        found = estimator.fit(known).memberships(known)
    elif isinstance(estimator, Transformer) and container_of(estimator) is Counts:
        documents = Counts(known.matrix(), known.items, documents=known.users)
        found = estimator.fit(documents).transform(documents)
    else:
        raise ValueError(
            "embed.model must be one that describes users, such as als, communities or count-vae, got "
            f"{embed['model']!r}"
        )
    vectors: np.ndarray = found.toarray() if sparse.issparse(found) else found
    return vectors.astype(np.float32)


def _described(series: Sequences | None, known: Interactions, vectors: np.ndarray) -> Sequences | None:
    if series is None:
        return None
    assert series.names is not None
    rows = known.users.find(series.names.ids)
    if (rows < 0).any():
        raise ValueError(f"series must all be of people with interactions, got {series.names[int(rows.argmin())]!r}")
    return replace(series, features=vectors[rows])
