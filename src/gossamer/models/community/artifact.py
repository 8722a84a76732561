"""The way of a CommunityRecommender through an artifact: network, cached embeddings and users as plain arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from gossamer.core.checks import check_int
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.features import FeatureReader
from gossamer.models.community.state import TrainingUsers
from gossamer.models.stored_network import network_arrays, restore_network
from gossamer.persistence import JSON, check_array, check_names, own_array

if TYPE_CHECKING:
    from gossamer.models.community.recommender import CommunityRecommender

CACHED = ("item_vectors", "neighbour_vectors")
# Whether there are times, and whether edges have weights, shows in these being there.
OPTIONAL = ("users.order", "users.weights")


def state_arrays(model: CommunityRecommender) -> dict[str, np.ndarray]:
    """Return what was learned beside popularity."""
    check_is_fitted(model, "calibration_")
    return {
        **network_arrays(model.network_),
        "item_vectors": model.item_vectors_.numpy(),
        "neighbour_vectors": model.neighbour_vectors_.numpy(),
        "item_bias": model.item_bias_.numpy(),
        "calibration": np.array(model.calibration_, dtype=np.float64),
        **model.training_users_.arrays(),
    }


def restore_state(
    model: CommunityRecommender,
    arrays: Mapping[str, np.ndarray],
    vocabularies: Mapping[str, Vocabulary],
    metadata: Mapping[str, JSON],
) -> None:
    """Take back what an artifact holds, checked."""
    check_names(vocabularies, {"items", "users"}, "vocabularies")
    items = vocabularies["items"]
    model.popularity_ = check_array(arrays, "popularity", np.float32, (len(items),))
    model.user_reader_ = FeatureReader.from_json(metadata["user_columns"])
    model.item_reader_ = FeatureReader.from_json(metadata["item_columns"])
    model.num_communities_ = check_int("num_communities", metadata["num_communities"], at_least=1)
    num_trained = check_int("num_trained_items", metadata["num_trained_items"], at_least=1, at_most=len(items))
    model.network_ = model._make_network(num_trained)
    restore_network(model.network_, arrays)
    for name in CACHED:
        cached = check_array(arrays, name, np.float32, (len(items), model.embedding_dim))
        setattr(model, f"{name}_", torch.from_numpy(own_array(cached)))
    model.item_bias_ = torch.from_numpy(own_array(check_array(arrays, "item_bias", np.float32, (len(items),))))
    slope, intercept, threshold = check_array(arrays, "calibration", np.float64, (3,)).tolist()
    model.calibration_ = (slope, intercept, threshold)
    has_times = bool(metadata["has_times"])
    if has_times != ("users.order" in arrays) or bool(metadata["has_weights"]) != ("users.weights" in arrays):
        raise ValueError(f"arrays must have {' and '.join(OPTIONAL)} as the metadata say, got others")
    model.training_users_ = TrainingUsers.restore(
        arrays, vocabularies["users"], model.user_reader_.num_values, model.user_reader_.num_numbers, len(items)
    )
    model.items_ = items
    model.history_ = metadata["history"]
