"""CommunityRecommender: the door to Bi-HGNN and its rivals."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from jaxtyping import Float
from scipy import sparse
from scipy.special import expit
from sklearn.utils.validation import check_is_fitted
from torch import Tensor

from gossamer.core.checks import check_int
from gossamer.core.randomness import torch_generator
from gossamer.core.search_space import Integer, Real, SearchSpace
from gossamer.core.topk import batch_rows, top_n
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.community.arguments import check_arguments
from gossamer.models.community.artifact import restore_state, state_arrays
from gossamer.models.community.batch import BatchMaker, CommunityBatches, Drawing
from gossamer.models.community.choosing import count_communities, find_groups
from gossamer.models.community.encoder import CodeTable
from gossamer.models.community.explaining import community_tables, model_tables, one_user, raised_items, user_tables
from gossamer.models.community.features import FeatureReader
from gossamer.models.community.graph import BipartiteGraph, edge_weights
from gossamer.models.community.inference import embed_items, embed_neighbours, embed_users, judged
from gossamer.models.community.neighbourhood import Neighbours, history_neighbours
from gossamer.models.community.network import CommunityNetwork, UserParts, Widths
from gossamer.models.community.new_items import add_items
from gossamer.models.community.objective import Training
from gossamer.models.community.pairs import are_targets_new, calibrate, few_users, judge_new_items, score_pairs
from gossamer.models.community.state import Known, TrainingUsers
from gossamer.models.item_ranker import ItemRanker, check_held_out, check_interactions, values_of
from gossamer.models.stored_network import seeded_weights
from gossamer.persistence import JSON


class CommunityRecommender(ItemRanker):
    """Bi-HGNN: users as members of communities and as themselves, on a bipartite graph (Li, dissertation, ch. 3).

    `method` is "bihgnn" or one of its rivals in the same code: "graphsage", "bi-gnn", "diffpool-s", "o-gnn", or
    "features", which sees popularity and features and no graph.
    `num_communities` None chooses their number from the spectrum of the graph. `user_features` and `item_features` map
    columns of the data's tables to "categorical", "multi" or "numeric"; None takes what the columns look like, {} none.

    What is known of a user in training is a random share of the items, the first ones in time where there are times
    (`by_time`); the others are predicted, from a graph without their edges. `loss` "softmax" tells them apart from
    `num_candidates` items or the whole catalogue, "logistic" (3.14) from `num_negatives` each, drawn by `negatives`.
    Beside the whole history stands its latest part, where an item counts half as much for every `recent_half_life`
    later ones. With `community_start` "spectrum", communities are groups of users in the spectrum of the graph, with
    "kmeans" those that are alike after `warmup_epochs` (fifty updates at least, or half of all); after these they start
    at the centres of their users, with "orthonormal" at random, as in the paper. `formation` is the weight of the
    penalty on communities that do not form, or not from those groups. `community_part` is what the classifier is given
    of them: the "mixture" e^(C), the "projection" e^(P), or "both" added.

    With validation data, the epoch with the best NDCG@100 (ROC-AUC, if its targets are new items) is kept, training
    stops after `patience` epochs without a better one, and probabilities are calibrated on its targets. New users and
    items work from features and neighbours.
    """

    SEARCH_SPACE: ClassVar[SearchSpace] = SearchSpace(
        "ndcg@100",
        {
            "embedding_dim": Integer(16, 128, log=True),
            "temperature": Real(0.01, 0.5, log=True),
            "formation": Real(0.01, 1, log=True),
            "dropout": Real(0, 0.6),
            "id_dropout": Real(0, 0.3),
            "learning_rate": Real(0.0005, 0.02, log=True),
        },
    )

    def __init__(
        self,
        *,
        method: str = "bihgnn",
        embedding_dim: int = 64,
        num_communities: int | None = None,
        user_features: Mapping[str, str] | None = None,
        item_features: Mapping[str, str] | None = None,
        aggregator: str = "mean",
        num_neighbours: int | None = None,
        item_neighbours: int = 10,
        item_edges: int = 10,
        weighted: bool = False,
        half_life_days: float | None = None,
        recent_half_life: float | None = 10.0,
        by_time: bool = True,
        distance: str = "cosine",
        community_part: str = "mixture",
        temperature: float = 0.05,
        formation: float = 0.1,
        community_start: str = "spectrum",
        warmup_epochs: int = 1,
        hidden_dim: int = 0,
        loss: str = "softmax",
        num_candidates: int = 5_000,
        num_negatives: int = 10,
        negatives: str = "uniform",
        dropout: float = 0.3,
        id_dropout: float = 0.05,
        learning_rate: float = 3e-3,
        weight_decay: float = 0.0,
        batch_size: int = 256,
        epochs: int = 25,
        patience: int | None = 5,
        random_state: int | None = 0,
    ) -> None:
        self.method = method
        self.embedding_dim = embedding_dim
        self.num_communities = num_communities
        self.user_features, self.item_features = user_features, item_features
        self.aggregator = aggregator
        self.num_neighbours = num_neighbours
        self.item_neighbours, self.item_edges = item_neighbours, item_edges
        self.weighted, self.half_life_days = weighted, half_life_days
        self.recent_half_life, self.by_time = recent_half_life, by_time
        self.distance = distance
        self.community_part = community_part
        self.temperature = temperature
        self.formation = formation
        self.community_start, self.warmup_epochs = community_start, warmup_epochs
        self.hidden_dim = hidden_dim
        self.loss = loss
        self.num_candidates = num_candidates
        self.num_negatives, self.negatives = num_negatives, negatives
        self.dropout, self.id_dropout = dropout, id_dropout
        self.learning_rate, self.weight_decay = learning_rate, weight_decay
        self.batch_size = batch_size
        self.epochs, self.patience = epochs, patience
        self.random_state = random_state

    def fit(
        self,
        data: Interactions,
        validation: HeldOut | None = None,
        *,
        item_embedding: torch.nn.Module | None = None,
        checkpoint: Path | None = None,
        log: Path | None = None,
    ) -> Self:
        """Learn from interactions, with the features of their tables; a `checkpoint` that is there is gone on from.

        `item_embedding`, any module from numbers of items to vectors (a compressed table, for example), takes the place
        of the plain table of items as neighbours; what it has learned is stored as a plain table.
        """
        from gossamer.models.community.training import train_network

        check_arguments(self)
        matrix = values_of(data, False)
        if validation is not None:
            check_held_out("validation", validation)
        self._remember_items(data, matrix)
        graph = BipartiteGraph.from_interactions(
            data, weighted=self.weighted, half_life_days=self.half_life_days, item_edges=self.item_edges
        )
        self.user_reader_ = FeatureReader.learn("user_features", data.user_features, self.user_features)
        self.item_reader_ = FeatureReader.learn("item_features", data.item_features, self.item_features)
        users = CodeTable.of(self.user_reader_.read(data.user_features, data.num_users))
        items = CodeTable.of(self.item_reader_.read(data.item_features, data.num_items))
        self.num_communities_ = count_communities(self, graph.user_items)
        self.network_ = self._make_network(data.num_items)
        self._start_biases()
        if item_embedding is not None:
            self.network_.neighbour_encoder.replace_ids(item_embedding, data.num_items)
        maker = BatchMaker(graph, users, items, self._drawing())
        self.training_users_ = TrainingUsers.of(data, users, graph, bool(self.user_reader_.columns))
        groups = find_groups(self, graph.user_items)
        training = Training(self.network_, self.loss, self.formation, self.id_dropout, groups)
        judged_on = None if validation is None else few_users(validation)
        is_cold = judged_on is not None and are_targets_new(self, judged_on)

        def validate() -> dict[str, float]:
            assert judged_on is not None
            self._cache(items, users, graph)
            return judge_new_items(self, judged_on) if is_cold else self.evaluate(judged_on)

        history = train_network(
            training,
            CommunityBatches(maker, self.batch_size, self.random_state),
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            warmup_epochs=self.warmup_epochs if self.community_start != "orthonormal" else None,
            patience=self.patience,
            random_state=self.random_state,
            validate=None if validation is None else validate,
            monitor="roc_auc" if is_cold else "ndcg@100",
            checkpoint=checkpoint,
            log=log,
        )
        if item_embedding is not None:
            self.network_.neighbour_encoder.settle_ids()
        self._cache(items, users, graph)
        self.history_: JSON = history.as_dict()
        self.calibration_ = calibrate(self, data, validation)
        return self

    def _drawing(self) -> Drawing:
        return Drawing(
            loss=self.loss,
            num_neighbours=self.num_neighbours,
            num_negatives=self.num_negatives,
            num_candidates=self.num_candidates,
            negatives=self.negatives,
            by_time=self.by_time,
            recent_half_life=self.recent_half_life,
            item_neighbours=self.item_neighbours,
        )

    def _make_network(self, num_items: int) -> CommunityNetwork:
        widths = Widths(
            self.embedding_dim,
            self.num_communities_,
            self.hidden_dim,
            num_items,
            self.user_reader_.num_values,
            self.user_reader_.num_numbers,
            self.item_reader_.num_values,
            self.item_reader_.num_numbers,
        )
        with seeded_weights(self.random_state):
            return CommunityNetwork(
                widths,
                method=self.method,
                aggregator=self.aggregator,
                distance=self.distance,
                community_part=self.community_part,
                temperature=self.temperature,
                dropout=self.dropout,
                generator=torch_generator(self.random_state),
            )

    @torch.no_grad()
    def _start_biases(self) -> None:
        """Start at popularity: what the item side must know before anything else."""
        counts = torch.from_numpy(self.popularity_) + 1.0
        self.network_.item_bias.copy_(torch.log(counts / counts.mean()))

    def _cache(self, items: CodeTable, users: CodeTable, graph: BipartiteGraph) -> None:
        """Embed all items once, from all their neighbours: recommending then is a product."""
        self.neighbour_vectors_ = embed_neighbours(self.network_, items, len(items))
        self.item_vectors_, self.item_bias_ = embed_items(self.network_, items, users, graph, len(items))

    def embed(self, history: Interactions) -> UserParts:
        """Return the parts of users' embeddings from history and features: full, community, individual, memberships."""
        check_is_fitted(self, "items_")
        return self._embed(self._known(check_interactions("history", history)))

    def _known(self, history: Interactions) -> Known:
        """Return what a history and its table say of users, in the model's terms."""
        known = history.aligned_to(self.items_)
        half_life = None if known.time is None else self.half_life_days
        weights = edge_weights(known, self.weighted and known.rating is not None, half_life)
        codes = CodeTable.of(self.user_reader_.read(known.user_features, len(known)))
        return Known(known, codes, weights)

    def _neighbours(self, known: Known) -> Neighbours:
        return history_neighbours(known.history, known.weights, self.recent_half_life)

    def _embed(self, known: Known) -> UserParts:
        return embed_users(self.network_, known.codes, self.neighbour_vectors_, self._neighbours(known))

    def _vectors(self, parts: UserParts) -> Float[Tensor, "B D"]:
        with judged(self.network_):
            return self.network_.user_vectors(parts)

    def _rank(self, history: Interactions, n: int, seen: sparse.csr_array | None) -> tuple[np.ndarray, np.ndarray]:
        vectors = self._vectors(self.embed(history))
        with judged(self.network_):
            scores = self.network_.score_all(vectors, self.item_vectors_, self.item_bias_)
        return top_n(scores.numpy(), n, seen)

    def _strangers(self, history: Interactions) -> np.ndarray:
        """Users of whom nothing is known: no item, and no feature either."""
        codes = self.user_reader_.read(history.user_features, len(history))
        is_featureless = (np.diff(codes.offsets) == 0) & ~(codes.numbers != 0).any(axis=1)
        is_stranger: np.ndarray = (history.user_counts == 0) & is_featureless
        return is_stranger

    def predict(self, data: Interactions, history: Interactions | None = None) -> Float[np.ndarray, " nnz"]:
        """Return P(user takes item) for every pair of `data`, if `num_negatives` of 1 + `num_negatives` are not taken.

        What the users have is `history`, or what they had in training; a user without either is known by the features
        of `data` alone. An item that was not in training is known by its features.
        """
        slope, intercept, _ = self._calibration()
        probs: np.ndarray = expit(slope * self.score_pairs(data, history) + intercept)
        return probs

    def _calibration(self) -> tuple[float, float, float]:
        check_is_fitted(self, "calibration_")
        return self.calibration_

    def score_pairs(self, data: Interactions, history: Interactions | None = None) -> Float[np.ndarray, " nnz"]:
        """Return the log odds of every pair of `data` against an item drawn at random, before calibration."""
        check_is_fitted(self, "items_")
        return score_pairs(self, check_interactions("data", data), history)

    def with_new_items(self, data: Interactions) -> Self:
        """Return a model whose catalogue also has the items of `data` that this one does not know; nothing is trained.

        They are embedded from the features in `data` and from its users, as far as these are known from training.
        """
        check_is_fitted(self, "items_")
        return add_items(self, check_interactions("data", data))

    def memberships(self, history: Interactions | None = None) -> Float[np.ndarray, "N K"]:
        """Return how much users belong to communities: those of `history`, or of the training data."""
        check_is_fitted(self, "items_")
        self._check_has_communities()
        known = self.training_users_.known(self.items_) if history is None else self._known(history)
        size = batch_rows(64 * self.embedding_dim)
        parts = [self._embed(known.part(start, start + size)) for start in range(0, len(known), size)]
        weights: np.ndarray = torch.cat([part["memberships"] for part in parts]).numpy()
        return weights

    def item_vectors(self) -> Float[np.ndarray, "M D"]:
        """Return the items' vectors as parts of histories: near ones speak for the same users."""
        check_is_fitted(self, "items_")
        vectors: np.ndarray = self.neighbour_vectors_.numpy()
        return vectors

    def communities(self, n: int = 10) -> list[dict[str, Any]]:
        """Return a row per community, largest first: size, share, typical members and the items it likes most."""
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        self._check_has_communities()
        return community_tables(self, n)

    def raised_items(self) -> Float[np.ndarray, "K M"]:
        """Return by how much each community raises each item above the mean of all, popularity left aside."""
        check_is_fitted(self, "items_")
        self._check_has_communities()
        return raised_items(self)

    def explain(self, n: int = 10, *, user: Any = None, history: Interactions | None = None) -> dict[str, Any]:
        """Return tables on the model or, for one user, on what is recommended and why.

        A user is one of the training data or, with a `history`, one of that, which may be left unsaid if it is alone.
        """
        check_is_fitted(self, "items_")
        check_int("n", n, at_least=1)
        if history is not None:
            return user_tables(self, self._known(one_user(history, user)), n)
        if user is None:
            return model_tables(self, n)
        row = int(self.training_users_.users.index_of([user], name="user")[0])
        return user_tables(self, self.training_users_.known(self.items_).part(row, row + 1), n)

    def _check_has_communities(self) -> None:
        if not self.network_.has_communities:
            raise ValueError(f"method must be one with communities, such as 'bihgnn', got {self.method!r}")

    def learned_arrays(self) -> dict[str, np.ndarray]:
        """Return the network, cached item embeddings, and what users had in training."""
        return super().learned_arrays() | state_arrays(self)

    def learned_vocabularies(self) -> dict[str, Vocabulary]:
        """Return the vocabularies of users and items."""
        return {"items": self.items_, "users": self.training_users_.users}

    def learned_metadata(self) -> dict[str, JSON]:
        """Return the training history, the columns of features and the number of communities."""
        check_is_fitted(self, "history_")
        return {
            "history": self.history_,
            "user_columns": self.user_reader_.as_json(),
            "item_columns": self.item_reader_.as_json(),
            "num_communities": self.num_communities_,
            "num_trained_items": self.network_.widths.num_items,
            "has_times": self.training_users_.order is not None,
            "has_weights": self.training_users_.weights is not None,
        }

    def restore(
        self,
        arrays: Mapping[str, np.ndarray],
        vocabularies: Mapping[str, Vocabulary],
        metadata: Mapping[str, JSON],
    ) -> None:
        """Take back what an artifact holds, checked."""
        check_arguments(self)
        restore_state(self, arrays, vocabularies, metadata)
