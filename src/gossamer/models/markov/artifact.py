"""The way of a hidden Markov model into an artifact and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float64, Int64
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.markov.chains import Chain
from gossamer.models.markov.emissions import EMISSIONS
from gossamer.persistence import JSON, Persistent, check_array, check_names

if TYPE_CHECKING:
    from gossamer.training.sharing import Sharing

NUM_QUANTILES = 101


def length_quantiles(offsets: Int64[np.ndarray, " B+1"], sharing: Sharing) -> Float64[np.ndarray, " Q"]:
    """Return quantiles of how long all processes' series are: a number per series is little beside the series."""
    found: np.ndarray = np.quantile(sharing.gather(np.diff(offsets)), np.linspace(0, 1, NUM_QUANTILES))
    return found


class MarkovArtifact(Persistent, ABC):
    """Stores the parameters of all owners, the events' names, and how long series are."""

    num_states: int
    emission: str
    parameters_: dict[str, np.ndarray]
    length_quantiles_: np.ndarray
    vocabulary_: Vocabulary | None
    n_features_in_: int
    history_: JSON

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return all parameters and the percentiles of lengths."""
        check_is_fitted(self, "parameters_")
        return {**self.parameters_, "length_quantiles": self.length_quantiles_}

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the names of the events, where they have names."""
        return {} if self.vocabulary_ is None else {"events": self.vocabulary_}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return sizes and the training history."""
        check_is_fitted(self, "history_")
        return {"history": self.history_, "size": self.n_features_in_, "num_models": len(self.parameters_["initial"])}

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        self._check_arguments()
        self._restore_chain(metadata)
        self.n_features_in_ = check_int("size", metadata["size"], at_least=1)
        num_owners = check_int("num_models", metadata["num_models"], at_least=1)
        shapes = self._fitted_chain().shapes(self.num_states)
        emission = EMISSIONS[self.emission].shapes(self.num_states, self.n_features_in_)
        shapes |= {f"emission.{name}": shape for name, shape in emission.items()}
        check_names(arrays, {*shapes, "length_quantiles"})
        check_names(vocabularies, {"events"} & set(vocabularies), "vocabularies")
        self.parameters_ = {
            name: check_array(arrays, name, np.float64, (num_owners, *shape)) for name, shape in shapes.items()
        }
        self.length_quantiles_ = check_array(arrays, "length_quantiles", np.float64, (NUM_QUANTILES,))
        self.vocabulary_ = vocabularies.get("events")
        self.history_ = metadata["history"]

    @abstractmethod
    def _check_arguments(self) -> None:
        """Refuse bad arguments, each by its name."""

    @abstractmethod
    def _fitted_chain(self) -> Chain:
        """Return the chain of the fitted model."""

    def _restore_chain(self, metadata: Mapping[str, JSON]) -> None:
        """Take back what the chain has besides its parameters."""
