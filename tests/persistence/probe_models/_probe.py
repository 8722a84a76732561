"""Estimators small enough to damage by hand; tests put this folder on the search path of gossamer.models."""

from __future__ import annotations

from os.path import join as Join  # noqa: F401  a name that looks like a class of this module and is none
from pathlib import Path as ForeignClass  # noqa: F401
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from gossamer.data.vocabulary import Vocabulary
from gossamer.persistence import JSON, Persistent, check_array, check_names, pack_csr, unpack_csr


class Probe(Persistent, BaseEstimator):
    """Remembers one matrix of every kind.

    More than one line, of which the card shows the first.
    """

    def __init__(self, *, rate: Any = 0.5, layers: Any = (4, 2), random_state: Any = None) -> None:
        self.rate = rate
        self.layers = layers
        self.random_state = random_state

    def learned_arrays(self) -> dict[str, np.ndarray]:
        return {"weights": self.weights_, "bias": self.bias_, "seen": self.seen_} | pack_csr("codes", self.codes_)

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        return {"items": self.items_, "users": self.users_}

    def learned_metadata(self) -> dict[str, JSON]:
        return {"history": self.history_}

    def restore(self, arrays: Any, vocabularies: Any, metadata: Any) -> None:
        check_names(vocabularies, {"items", "users"}, "vocabularies")
        items, users = vocabularies["items"], vocabularies["users"]
        self.weights_ = check_array(arrays, "weights", np.float32, (len(users), len(items)))
        self.bias_ = check_array(arrays, "bias", np.float64, ())
        self.seen_ = check_array(arrays, "seen", bool, (len(users),))
        self.codes_ = unpack_csr("codes", arrays)
        self.items_, self.users_, self.history_ = items, users, metadata["history"]


class GrandProbe(Probe):
    """A subclass."""


class Stranger:
    """A class that is no estimator."""
