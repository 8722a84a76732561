"""The way of NeuralEM into an artifact and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov.artifact import NUM_QUANTILES
from gossamer.models.markov.chains import HSMMChain
from gossamer.models.markov.durations import DURATIONS
from gossamer.models.markov.emissions import EMISSIONS, Prior
from gossamer.models.markov.inputs import Batch
from gossamer.models.markov.neural.methods import WITH_NETWORK
from gossamer.models.markov.neural.network import NeuralEMNetwork
from gossamer.models.stored_network import PREFIX, network_arrays, restore_network
from gossamer.persistence import JSON, Persistent, check_array, check_names

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

PRIOR = "prior."


class NeuralEMArtifact(Persistent, ABC):
    """Stores the common start, what EM believes beforehand, and the network."""

    num_states: int
    emission: str
    method: str
    pseudo_count: float
    variance_weight: float
    variance_floor: float
    start_: dict[str, np.ndarray]
    prior_: Prior
    network_: NeuralEMNetwork | None
    length_quantiles_: np.ndarray
    vocabulary_: Vocabulary | None
    n_features_in_: int
    feature_dim_: int
    longest_duration_: int
    history_: JSON

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the start, the prior's moments, the percentiles of lengths and the network."""
        check_is_fitted(self, "start_")
        arrays = {**self.start_, "length_quantiles": self.length_quantiles_}
        for name in ("centre", "variance"):
            value = getattr(self.prior_, name)
            if value is not None:
                arrays[PRIOR + name] = value.numpy()
        return arrays if self.network_ is None else {**arrays, **network_arrays(self.network_)}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the names of events or dimensions, where they have names."""
        return {} if self.vocabulary_ is None else {"events": self.vocabulary_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return sizes, the longest duration and the training history."""
        check_is_fitted(self, "start_")
        return {
            "history": self.history_,
            "size": self.n_features_in_,
            "feature_dim": self.feature_dim_,
            "longest_duration": self.longest_duration_,
        }

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        self._check_arguments()
        self.n_features_in_ = check_int("size", metadata["size"], at_least=1)
        self.feature_dim_ = check_int("feature_dim", metadata["feature_dim"], at_least=0)
        self.longest_duration_ = check_int("longest_duration", metadata["longest_duration"], at_least=1)
        shapes = HSMMChain(DURATIONS["poisson"], self.longest_duration_).shapes(self.num_states)
        emission = EMISSIONS[self.emission].shapes(self.num_states, self.n_features_in_)
        shapes |= {f"emission.{name}": shape for name, shape in emission.items()}
        own = {name: value for name, value in arrays.items() if not name.startswith(PREFIX)}
        moments = {"gaussian": ("centre", "variance"), "poisson": ("centre",)}.get(self.emission, ())
        check_names(own, {*shapes, "length_quantiles", *(PRIOR + name for name in moments)})
        check_names(vocabularies, {"events"} & set(vocabularies), "vocabularies")
        self.start_ = {name: check_array(arrays, name, np.float64, (1, *shape)) for name, shape in shapes.items()}
        self.length_quantiles_ = check_array(arrays, "length_quantiles", np.float64, (NUM_QUANTILES,))
        stored = {
            name: torch.from_numpy(check_array(arrays, PRIOR + name, np.float64, (self.n_features_in_,)))
            for name in moments
        }
        self.prior_ = self._believed()._replace(centre=stored.get("centre"), variance=stored.get("variance"))
        self.vocabulary_ = vocabularies.get("events")
        self.history_ = metadata["history"]
        self.network_ = None
        if self.method in WITH_NETWORK:
            self.network_ = self._new_network(1.0)
            restore_network(self.network_, arrays)

    def _believed(self) -> Prior:
        return Prior(self.pseudo_count, self.variance_weight, self.variance_floor)

    def _prior_of(self, batch: Batch, sharing: Sharing | None = None) -> Prior:
        """Return the prior with what it takes from the training data, those of all processes by `sharing`."""
        emission = EMISSIONS[self.emission]
        observed = emission.observe(batch.values, self.n_features_in_)
        return emission.prior_for(observed, batch.values, self._believed(), sharing)

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse bad arguments, each by its name."""

    @abstractmethod
    def _new_network(self, usual_count: float) -> NeuralEMNetwork:
        """Return a network for the sizes of the fit."""
