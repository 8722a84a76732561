"""What a model sorts its names into, whatever it calls them: anchors, topics, communities, features, phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from gossamer.core.checks import check_int, check_real
from gossamer.serving.explorer.projection import principal_plane, sketch, unit_rows

RELEVANCE = 0.6  # λ that readers of topics preferred (Sievert and Shirley 2014)
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Groups:
    """K groups of the names of one vocabulary, `kind`, with a weight for every name and group.

    `weights` (V, K), dense or sparse, say how strongly a name belongs; 0 or less is not at all. Where groups are
    distributions over names, `probs` (K, V) are theirs and `base` (V,) is that of everything; where they are not,
    weights that are never below 0 give shares in the same way. `axes` (D, K) give each group the
    direction in the model's codes that stands for it. `facts` has a dict per group for people to read.
    """

    key: str
    noun: str
    kind: str
    sizes: np.ndarray
    size_meaning: str
    weights: np.ndarray | sparse.csc_array
    weight_meaning: str
    probs: np.ndarray | None = None
    base: np.ndarray | None = None
    labels: Sequence[str] = ()
    axes: np.ndarray | None = None
    facts: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    vectors: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.sizes)

    def label(self, number: int) -> str:
        """Return what to call a group."""
        return self.labels[number] if self.labels else str(number)

    def column(self, number: int) -> np.ndarray:
        """Return the weights (V,) of all names in a group."""
        check_int("number", number, at_least=0, at_most=len(self) - 1)
        if isinstance(self.weights, np.ndarray):
            return np.asarray(self.weights[:, number])
        chosen: np.ndarray = self.weights[:, [number]].toarray()[:, 0]
        return chosen

    def row(self, name: int) -> np.ndarray:
        """Return the weights (K,) of a name in all groups."""
        if isinstance(self.weights, np.ndarray):
            return np.asarray(self.weights[name])
        chosen: np.ndarray = self.weights[[name]].toarray()[0]
        return chosen

    def within(self, number: int) -> np.ndarray | None:
        """Return p(name | group) (V,): its distribution, or its weights as shares; None where some are below 0."""
        if self.probs is not None:
            return np.asarray(self.probs[number])
        if not self._are_shares:
            return None
        weights = self.column(number)
        shares: np.ndarray = weights / max(float(weights.sum()), TINY)
        return shares

    @cached_property
    def overall(self) -> np.ndarray | None:
        """p(name) (V,) over all groups; None where weights are no shares."""
        if self.probs is not None:
            return self.base
        if not self._are_shares:
            return None
        totals = np.asarray(self.weights.sum(axis=1)).ravel()
        shares: np.ndarray = totals / max(float(totals.sum()), TINY)
        return shares

    @cached_property
    def _are_shares(self) -> bool:
        return self.weights.shape[0] > 0 and float(self.weights.min()) >= 0

    def members(self, number: int, n: int = 30, relevance: float = RELEVANCE) -> np.ndarray:
        """Return the n names that stand for a group, best first.

        By λ · log p(name | group) + (1 − λ) · log(p(name | group) / p(name)), λ being `relevance`: 1 lists what has the
        most weight, 0 what is special; by weight where weights are no shares. What a group does not raise is no member
        of it, however frequent it is everywhere.
        """
        check_int("n", n, at_least=1)
        check_real("relevance", relevance, at_least=0, at_most=1)
        weights, within, overall = self.column(number), self.within(number), self.overall
        scores = weights
        if within is not None and overall is not None:
            scores = np.log(np.maximum(within, TINY)) - (1 - relevance) * np.log(np.maximum(overall, TINY))
        best = largest(np.where(weights > 0, scores, -np.inf), n)
        members: np.ndarray = best[weights[best] > 0]
        return members

    def spread(self, name: int) -> np.ndarray:
        """Return p(group | name) (K,), from p(name | group) and sizes; by weight where weights are no shares."""
        if self.probs is not None:
            joint = np.asarray(self.probs[:, name]) * self._prior
        elif self._are_shares:
            joint = self.row(name) / np.maximum(self._totals, TINY) * self._prior
        else:
            joint = np.maximum(self.row(name), 0)
        total = float(joint.sum())
        shares: np.ndarray = joint / total if total > 0 else np.zeros(len(self))
        return shares

    def salience(self) -> np.ndarray | None:
        """Return how much each name tells about groups (V,): p(name) · KL(p(group | name) ‖ p(group)).

        Chuang, Manning and Heer (2012), equations 1 and 2: what is frequent and belongs to few groups comes first.
        None where weights are no shares.
        """
        if self.probs is not None:
            joint: sparse.coo_array = sparse.coo_array((self.probs * self._prior[:, None]).T)
        elif self._are_shares:
            scale = self._prior / np.maximum(self._totals, TINY)
            joint = sparse.coo_array(sparse.csr_array(self.weights) @ sparse.diags_array(scale))
        else:
            return None
        of_name = np.asarray(joint.sum(axis=1)).ravel()
        expected = of_name[joint.row] * self._prior[joint.col]
        told = joint.data * np.log(np.maximum(joint.data, TINY**2) / np.maximum(expected, TINY**2))
        return np.bincount(joint.row, weights=told, minlength=len(of_name))

    @cached_property
    def _prior(self) -> np.ndarray:
        """p(group) (K,): sizes as shares of one."""
        sizes = np.maximum(np.asarray(self.sizes, dtype=np.float64), 0)
        shares: np.ndarray = sizes / max(float(sizes.sum()), TINY)
        return shares

    @cached_property
    def _totals(self) -> np.ndarray:
        return np.asarray(self.weights.sum(axis=0)).ravel()

    def strongest_of(self, name: int, n: int = 10) -> np.ndarray:
        """Return the groups that a name belongs to most, without those of less than a thousandth of the first."""
        weights = self.row(name)
        best = largest(weights, n)
        chosen: np.ndarray = best[weights[best] > 0.001 * max(float(weights.max(initial=0)), 0)]
        return chosen

    def strongest_of_all(self) -> np.ndarray:
        """Return the group that each name belongs to most (V,), -1 where it belongs to none."""
        if isinstance(self.weights, np.ndarray):
            best, top = self.weights.argmax(axis=1), self.weights.max(axis=1)
        else:
            rows = self.weights.tocsr()
            best = np.asarray(rows.argmax(axis=1)).ravel()
            top = np.asarray(rows.max(axis=1).toarray()).ravel()
        return np.where(top > 0, best, -1).astype(np.int32)

    def places(self) -> np.ndarray:
        """Return where groups lie on a plane (K, 2): like ones close together.

        Distributions by Hellinger distance, whose principal coordinates are the components of √p; anchors and
        communities by their own vectors; others by the weights of their names, sparse ones never made dense.
        """
        if self.probs is not None:
            return principal_plane(np.sqrt(np.maximum(self.probs, 0)))
        if self.vectors is not None:
            return principal_plane(self.vectors)
        if isinstance(self.weights, np.ndarray):
            return principal_plane(unit_rows(self.weights.T))
        lengths = np.sqrt(np.asarray(self.weights.power(2).sum(axis=0)).ravel())
        return principal_plane(sketch((self.weights @ sparse.diags_array(1 / np.maximum(lengths, TINY))).T))


def largest(values: np.ndarray, n: int) -> np.ndarray:
    """Return where the n largest values are, largest first, the first of equals before the others.

    >>> largest(np.array([1.0, 3.0, 3.0, 2.0]), 3).tolist()
    [1, 2, 3]
    """
    if n < len(values):
        bar = np.partition(values, len(values) - n)[len(values) - n]
        candidates = np.flatnonzero(values >= bar)
    else:
        candidates = np.arange(len(values))
    order = np.argsort(-values[candidates], kind="stable")[:n]
    return candidates[order]
