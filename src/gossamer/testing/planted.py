"""Made-up data with one right answer: small, fast, and a function of its seed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float64, Int64
from scipy import sparse

from gossamer.core.checks import check_int, check_real
from gossamer.core.randomness import RandomState, numpy_generator
from gossamer.data import Counts, HeldOut, Interactions, Sequences, Vocabulary


@dataclass(frozen=True, eq=False)
class PlantedAnchors:
    """Ratings (T_u A_u)(T_i A_i)ᵀ + noise at some cells; T ≥ 0 has few non-zeros per row, and rows sum to one."""

    data: Interactions
    user_transform: Float64[np.ndarray, "N K"]
    user_anchors: Float64[np.ndarray, "K D"]
    item_transform: Float64[np.ndarray, "M K"]
    item_anchors: Float64[np.ndarray, "K D"]

    @property
    def ratings(self) -> Float64[np.ndarray, "N M"]:
        """The rating of every cell, seen or not, without noise."""
        users = self.user_transform @ self.user_anchors
        items = self.item_transform @ self.item_anchors
        ratings: np.ndarray = users @ items.T
        return ratings


def planted_anchors(
    num_users: int = 80,
    num_items: int = 60,
    *,
    num_anchors: int = 5,
    anchor_dim: int = 4,
    anchors_per_row: int = 2,
    density: float = 0.5,
    noise: float = 0.0,
    random_state: RandomState = 0,
) -> PlantedAnchors:
    """Return ratings of users and items that are mixtures of a few anchors each (ANT, E = T A)."""
    check_int("anchors_per_row", anchors_per_row, at_least=1, at_most=check_int("num_anchors", num_anchors, at_least=1))
    check_real("density", density, above=0, at_most=1)
    generator = numpy_generator(random_state)
    user_transform = _sparse_mixtures(generator, num_users, num_anchors, anchors_per_row)
    item_transform = _sparse_mixtures(generator, num_items, num_anchors, anchors_per_row)
    user_anchors = generator.normal(size=(num_anchors, anchor_dim))
    item_anchors = generator.normal(size=(num_anchors, anchor_dim))
    ratings = user_transform @ user_anchors @ (item_transform @ item_anchors).T
    users, items = np.nonzero(generator.random(ratings.shape) < density)
    values = ratings[users, items] + noise * generator.normal(size=len(users))
    data = Interactions.from_pairs(
        users, items, values, user_ids=Vocabulary.numbered(num_users), item_ids=Vocabulary.numbered(num_items)
    )
    return PlantedAnchors(data, user_transform, user_anchors, item_transform, item_anchors)


def _sparse_mixtures(generator: np.random.Generator, rows: int, columns: int, per_row: int) -> np.ndarray:
    mixtures = np.zeros((rows, columns))
    chosen = np.argsort(generator.random((rows, columns)), axis=1)[:, :per_row]
    np.put_along_axis(mixtures, chosen, generator.uniform(0.5, 1.5, size=(rows, per_row)), axis=1)
    mixtures /= mixtures.sum(axis=1, keepdims=True)
    return mixtures


@dataclass(frozen=True, eq=False)
class PlantedCommunities:
    """Interactions that mostly stay inside a community; each user and each item belongs to one."""

    data: Interactions
    user_communities: Int64[np.ndarray, " N"]
    item_communities: Int64[np.ndarray, " M"]


def planted_communities(
    num_users: int = 120,
    num_items: int = 80,
    *,
    num_communities: int = 4,
    inside: float = 0.4,
    outside: float = 0.02,
    random_state: RandomState = 0,
) -> PlantedCommunities:
    """Return a bipartite graph with edges of probability `inside` a community and `outside` between two.

    Communities are as equal in size as can be, in random order; every user has at least two items of the own one.
    """
    check_int("num_communities", num_communities, at_least=1, at_most=min(num_users, num_items // 2))
    generator = numpy_generator(random_state)
    user_communities = generator.permutation(np.arange(num_users) % num_communities)
    item_communities = generator.permutation(np.arange(num_items) % num_communities)
    same = user_communities[:, None] == item_communities[None, :]
    linked = generator.random(same.shape) < np.where(same, inside, outside)
    for user in range(num_users):
        missing = 2 - int(np.count_nonzero(linked[user] & same[user]))
        if missing > 0:
            candidates = np.flatnonzero(same[user] & ~linked[user])
            linked[user, generator.choice(candidates, size=missing, replace=False)] = True
    users, items = np.nonzero(linked)
    data = Interactions.from_pairs(
        users, items, user_ids=Vocabulary.numbered(num_users), item_ids=Vocabulary.numbered(num_items)
    )
    return PlantedCommunities(data, user_communities, item_communities)


@dataclass(frozen=True, eq=False)
class PlantedTopics:
    """Counts drawn from mixtures of topics: document d's words have probabilities `proportions[d] @ topics`."""

    data: Counts
    topics: Float64[np.ndarray, "K V"]
    proportions: Float64[np.ndarray, "documents K"]


def planted_topics(
    num_documents: int = 200,
    num_terms: int = 60,
    *,
    num_topics: int = 4,
    words_per_document: int = 80,
    concentration: float = 0.2,
    random_state: RandomState = 0,
) -> PlantedTopics:
    """Return documents of latent Dirichlet allocation whose topics own blocks of terms; labels are the main topic.

    A topic gives 95 % of its probability to its own block, in uneven parts, and spreads the rest over all terms.
    """
    check_int("num_topics", num_topics, at_least=1, at_most=num_terms)
    generator = numpy_generator(random_state)
    topics = np.full((num_topics, num_terms), 0.05 / num_terms)
    for topic, block in enumerate(np.array_split(np.arange(num_terms), num_topics)):
        topics[topic, block] += 0.95 * generator.dirichlet(np.full(len(block), 5.0))
    proportions = generator.dirichlet(np.full(num_topics, concentration), size=num_documents)
    probs = proportions @ topics
    # The sums differ from 1 by rounding only, but `multinomial` insists.
    counts = generator.multinomial(words_per_document, probs / probs.sum(axis=1, keepdims=True))
    data = Counts(
        sparse.csr_array(counts.astype(np.float32)),
        Vocabulary([f"term{term}" for term in range(num_terms)]),
        labels=proportions.argmax(axis=1),
        label_names=tuple(f"topic {topic}" for topic in range(num_topics)),
    )
    return PlantedTopics(data, topics, proportions)


@dataclass(frozen=True, eq=False)
class PlantedPhases:
    """Series of a hidden semi-Markov model, with the true states in `data.states` and all parameters.

    A state lasts 1 + Poisson(`duration_rates`) steps, then another follows by `transition_probs` (zero diagonal);
    observations are N(`means`, `scales`²) per dimension. The last phase is cut off where the series ends.
    """

    data: Sequences
    initial_probs: Float64[np.ndarray, " K"]
    transition_probs: Float64[np.ndarray, "K K"]
    duration_rates: Float64[np.ndarray, " K"]
    means: Float64[np.ndarray, "K D"]
    scales: Float64[np.ndarray, "K D"]


def planted_phases(
    num_series: int = 20,
    *,
    num_states: int = 3,
    observation_dim: int = 2,
    shortest: int = 40,
    longest: int = 80,
    mean_duration: float = 6.0,
    separation: float = 3.0,
    random_state: RandomState = 0,
) -> PlantedPhases:
    """Return series of lengths `shortest` … `longest`; `separation` is the spread of state means, noise is near 1."""
    check_int("num_states", num_states, at_least=2)
    check_int("longest", longest, at_least=check_int("shortest", shortest, at_least=1))
    check_real("mean_duration", mean_duration, at_least=1)
    generator = numpy_generator(random_state)
    transition_probs = generator.dirichlet(np.full(num_states, 2.0), size=num_states)
    np.fill_diagonal(transition_probs, 0.0)
    transition_probs /= transition_probs.sum(axis=1, keepdims=True)
    initial_probs = generator.dirichlet(np.full(num_states, 5.0))
    duration_rates = (mean_duration - 1) * generator.uniform(0.7, 1.3, size=num_states)
    means = separation * generator.normal(size=(num_states, observation_dim))
    scales = generator.uniform(0.7, 1.3, size=(num_states, observation_dim))
    lengths = generator.integers(shortest, longest + 1, size=num_series)
    states = np.concatenate(
        [_phases(generator, length, initial_probs, transition_probs, duration_rates) for length in lengths]
    )
    observations = means[states] + scales[states] * generator.normal(size=(len(states), observation_dim))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    data = Sequences(observations.astype(np.float32), offsets, states=states)
    return PlantedPhases(data, initial_probs, transition_probs, duration_rates, means, scales)


def _phases(
    generator: np.random.Generator,
    length: int,
    initial_probs: np.ndarray,
    transition_probs: np.ndarray,
    duration_rates: np.ndarray,
) -> np.ndarray:
    states: list[int] = []
    state = int(generator.choice(len(initial_probs), p=initial_probs))
    while len(states) < length:
        states.extend([state] * int(1 + generator.poisson(duration_rates[state])))
        state = int(generator.choice(len(initial_probs), p=transition_probs[state]))
    return np.array(states[:length])


@dataclass(frozen=True, eq=False)
class TwinBlocks:
    """Two groups of users who share no item; each user lacks one item of the own group, and that is the answer."""

    held_out: HeldOut
    answers: Int64[np.ndarray, " N"]


def twin_blocks(users_per_block: int = 20, items_per_block: int = 5) -> TwinBlocks:
    """Return the tiny set every personalised recommender must solve: its first new item is `answers[user]`.

    Users of a block have all its items but one, which is the target; all items are equally popular, so a model that
    does not look at the user can only guess.

    >>> twins = twin_blocks(4, 4)
    >>> twins.held_out.history.matrix().toarray()[0].tolist(), int(twins.answers[0])
    ([0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0], 0)
    """
    check_int("items_per_block", items_per_block, at_least=3)
    check_int("users_per_block", users_per_block, at_least=items_per_block)
    num_users, num_items = 2 * users_per_block, 2 * items_per_block
    blocks = np.repeat([0, 1], users_per_block)
    answers = blocks * items_per_block + np.tile(np.arange(users_per_block) % items_per_block, 2)
    own = blocks[:, None] == np.arange(num_items)[None, :] // items_per_block
    is_answer = answers[:, None] == np.arange(num_items)[None, :]
    ids = Vocabulary([f"user{user}" for user in range(num_users)]), Vocabulary([f"item{i}" for i in range(num_items)])

    def interactions(cells: np.ndarray) -> Interactions:
        users, items = np.nonzero(cells)
        return Interactions.from_pairs(
            ids[0].ids[users], ids[1].ids[items], user_ids=ids[0], item_ids=ids[1], duplicates="error"
        )

    return TwinBlocks(HeldOut(interactions(own & ~is_answer), interactions(is_answer)), answers)
