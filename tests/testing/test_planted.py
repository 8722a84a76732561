from __future__ import annotations

import numpy as np
import pytest

from gossamer.core.topk import top_n
from gossamer.testing.planted import (
    planted_anchors,
    planted_communities,
    planted_phases,
    planted_topics,
    twin_blocks,
)

GENERATORS = [planted_anchors, planted_communities, planted_phases, planted_topics]


@pytest.mark.parametrize("generate", GENERATORS)
def test_same_seed_same_data(generate):
    first, again, other = generate(random_state=3), generate(random_state=3), generate(random_state=4)
    assert first.data.fingerprint() == again.data.fingerprint() != other.data.fingerprint()


def test_anchors_reproduce_the_ratings():
    planted = planted_anchors(num_anchors=5, anchor_dim=3, anchors_per_row=2)
    users, items = planted.data.pairs()
    np.testing.assert_allclose(planted.data.rating, planted.ratings[users, items], rtol=1e-5, atol=1e-6)
    assert np.linalg.matrix_rank(planted.ratings) == 3
    for transform in (planted.user_transform, planted.item_transform):
        assert (transform >= 0).all()
        assert ((transform > 0).sum(axis=1) == 2).all()
        np.testing.assert_allclose(transform.sum(axis=1), 1)


def test_noise_of_anchors_has_the_asked_size():
    planted = planted_anchors(200, 200, noise=0.5)
    users, items = planted.data.pairs()
    residual = planted.data.rating - planted.ratings[users, items]
    assert residual.std() == pytest.approx(0.5, rel=0.05)
    assert planted.data.nnz == pytest.approx(20_000, rel=0.05)


def test_communities_keep_to_themselves():
    planted = planted_communities(num_users=120, num_items=80, inside=0.4, outside=0.02)
    users, items = planted.data.pairs()
    same = planted.user_communities[users] == planted.item_communities[items]
    cells_inside = (planted.user_communities[:, None] == planted.item_communities[None, :]).sum()
    assert same.sum() / cells_inside == pytest.approx(0.4, abs=0.05)
    assert (~same).sum() / (120 * 80 - cells_inside) == pytest.approx(0.02, abs=0.01)
    assert np.bincount(users[same], minlength=120).min() >= 2
    assert np.bincount(planted.user_communities).tolist() == [30] * 4


def test_topics_explain_the_counts_better_than_one_unigram():
    planted = planted_topics()
    np.testing.assert_allclose(planted.topics.sum(axis=1), 1)
    np.testing.assert_allclose(planted.proportions.sum(axis=1), 1)
    counts = planted.data.matrix.toarray()
    assert (counts.sum(axis=1) == 80).all()
    unigram = counts.sum(axis=0) / counts.sum()
    with_topics = (counts * np.log(planted.proportions @ planted.topics)).sum()
    assert with_topics > (counts * np.log(unigram + 1e-12)).sum() + 0.2 * counts.sum()
    assert planted.data.labels.tolist() == planted.proportions.argmax(axis=1).tolist()


def test_phases_follow_their_parameters():
    planted = planted_phases(200, num_states=3, mean_duration=5.0)
    data = planted.data
    assert data.lengths.min() >= 40
    assert data.lengths.max() <= 80
    assert np.diag(planted.transition_probs).tolist() == [0, 0, 0]
    for state in range(3):
        seen = data.observations[data.states == state]
        np.testing.assert_allclose(seen.mean(axis=0), planted.means[state], atol=0.15)
        np.testing.assert_allclose(seen.std(axis=0), planted.scales[state], atol=0.1)
    durations = {0: [], 1: [], 2: []}
    for series in range(len(data)):
        states = data[series : series + 1].states
        ends = np.flatnonzero(np.diff(states)) + 1
        starts = np.concatenate([[0], ends[:-1]])
        for start, end in zip(starts, ends, strict=True):  # the last phase is cut off and left out
            durations[states[start]].append(end - start)
    for state in range(3):
        # Leaving the last phase out favours short ones a little.
        assert np.mean(durations[state]) == pytest.approx(1 + planted.duration_rates[state], rel=0.1)


def test_twin_blocks_have_one_answer_that_neighbours_find():
    twins = twin_blocks()
    history, target = twins.held_out.history, twins.held_out.target
    assert target.indices.tolist() == twins.answers.tolist()
    assert len(set(history.item_counts.tolist())) == 1
    matrix = history.matrix().toarray()
    scores = (matrix @ matrix.T @ matrix).astype(np.float32)
    best, _ = top_n(scores, 1, exclude=history.matrix())
    assert best[:, 0].tolist() == twins.answers.tolist()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planted_anchors(anchors_per_row=9, num_anchors=3), "anchors_per_row must be an integer >= 1 and <= 3"),
        (lambda: planted_anchors(density=0.0), "density must be a finite number > 0"),
        (lambda: planted_communities(num_items=4, num_communities=3), "num_communities must be an integer"),
        (lambda: planted_topics(num_terms=2, num_topics=3), "num_topics must be an integer >= 1 and <= 2, got 3"),
        (lambda: planted_phases(num_states=1), "num_states must be an integer >= 2, got 1"),
        (lambda: planted_phases(shortest=9, longest=8), "longest must be an integer >= 9, got 8"),
        (lambda: twin_blocks(4, 5), "users_per_block must be an integer >= 5, got 4"),
    ],
)
def test_impossible_sizes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
