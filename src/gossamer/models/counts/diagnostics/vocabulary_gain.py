"""What refined training gains as the vocabulary grows: sparser data, worse encoders (figure 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Protocol

import numpy as np

from gossamer.core.checks import check_int
from gossamer.data.counts import Counts
from gossamer.data.parts import Parts


class PerplexityModel(Protocol):
    """A fitted model that says how well it predicts documents."""

    def perplexity(self, X: Any, per: str = "document", *, refine: Any = None) -> float:
        """Return the perplexity of documents."""


@dataclass(frozen=True)
class PerplexityGain:
    """Perplexities of one part of the data by models trained amortised and trained refined, both judged refined."""

    part: str
    num_terms: int
    amortised: float
    refined: float

    @property
    def gain(self) -> float:
        """(P[ψ(x)] − P[ψ*]) / P[ψ(x)]: the share of the perplexity that refined training takes away."""
        return (self.amortised - self.refined) / self.amortised

    def as_row(self) -> dict[str, Any]:
        """Return a row of a table."""
        return {**asdict(self), "gain": self.gain}


def perplexity_gain(
    amortised: PerplexityModel, refined: PerplexityModel, data: Counts, *, part: str = "test", per: str = "document"
) -> PerplexityGain:
    """Compare two fitted models on the same documents, both with refined posteriors, as the paper does."""
    values = [float(model.perplexity(data, per, refine=True)) for model in (amortised, refined)]
    return PerplexityGain(part, len(data.terms), *values)


def gains_by_vocabulary(
    fit: Callable[[Parts, str], PerplexityModel], parts: Parts, sizes: Sequence[int], *, per: str = "document"
) -> list[PerplexityGain]:
    """Fit two models for each number of terms and compare them on the training and on the test part.

    `fit(kept, inference)` returns a model trained on `kept.train` with `inference` "amortised" or "refined"; both
    should have the same settings and seed, and may choose their epoch by `kept.valid`. The documents stay the same,
    only their rarer terms go.
    """
    checked = [check_int("sizes", size, at_least=2, at_most=len(parts.train.terms)) for size in sizes]
    found = []
    for size in checked:
        kept = keep_frequent(parts, size)
        models = [fit(kept, inference) for inference in ("amortised", "refined")]
        for name, documents in (("train", kept.train), ("test", kept.test)):
            if documents.matrix.nnz:
                found.append(perplexity_gain(models[0], models[1], documents, part=name, per=per))
    return found


def keep_frequent(parts: Parts, num_terms: int) -> Parts:
    """Return the same documents over the `num_terms` terms with most tokens in training, in their old order."""
    train = parts.train
    if not isinstance(train, Counts):
        raise ValueError(f"parts must hold Counts, got {type(train).__name__}")
    check_int("num_terms", num_terms, at_least=1, at_most=len(train.terms))
    tokens = np.bincount(train.matrix.indices, weights=train.matrix.data, minlength=len(train.terms))
    kept = np.sort(np.argsort(-tokens, kind="stable")[:num_terms])
    terms = train.terms.take(kept)

    def restrict(part: Counts) -> Counts:
        return replace(part, matrix=part.matrix[:, kept], terms=terms)

    valid = None if parts.valid is None else restrict(parts.valid)
    return Parts(restrict(train), valid, restrict(parts.test), {**parts.description, "num_terms": num_terms})
