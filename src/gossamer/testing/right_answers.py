"""Tiny data with one right answer, which every estimator is given: interactions, texts, counts, series."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.data.arrays import LabelledArrays
from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.parts import Parts
from gossamer.data.sequences import Sequences
from gossamer.data.text import build_sentences
from gossamer.data.vocabulary import Vocabulary

BLOCK_USERS, BLOCK_ITEMS = 12, 6
THEME_TERMS = 8


def two_blocks() -> HeldOut:
    """Return planted data with one right answer: two groups, each with items of its own, one item of each user missing.

    Users 0 … 11 take items "a0" … "a5", the others "b0" … "b5"; the target is the item that the user left out. Ratings
    are 4 for half of each group and 2 for the other half, so that a user's bias is all there is to learn from them.
    """
    users, items, targets = [], [], []
    for user in range(2 * BLOCK_USERS):
        group = "ab"[user // BLOCK_USERS]
        missing = user % BLOCK_ITEMS
        users += [f"user {user}"] * (BLOCK_ITEMS - 1)
        items += [f"{group}{item}" for item in range(BLOCK_ITEMS) if item != missing]
        targets.append(f"{group}{missing}")
    names = [f"user {user}" for user in range(2 * BLOCK_USERS)]
    user_ids = Vocabulary(names)
    item_ids = Vocabulary([f"{group}{item}" for group in "ab" for item in range(BLOCK_ITEMS)])
    rating = {name: 4.0 if user % 2 else 2.0 for user, name in enumerate(names)}
    return HeldOut(
        Interactions.from_pairs(users, items, [rating[user] for user in users], user_ids=user_ids, item_ids=item_ids),
        Interactions.from_pairs(names, targets, [rating[user] for user in names], user_ids=user_ids, item_ids=item_ids),
    )


def two_topics() -> Parts:
    """Return planted texts with one right answer: two topics, each with words of its own among words of both.

    A text is a circle of its topic's six words with "and" between them, begun at any of them: the topic follows from
    any word, and the next word from the one before.
    """
    texts, topics = [], []
    for number in range(48):
        topic = "ab"[number % 2]
        words = [f"{topic}{(number // 2 + place) % 6}" for place in range(4)]
        texts.append(" and ".join(words))
        topics.append(topic)
    data = build_sentences(texts, end=".", labels=topics)
    return Parts(data[:36], data[36:42], data[42:])


def two_themes() -> Parts:
    """Return planted counts with one right answer: each document has six of its theme's eight terms, twice each.

    Themes alternate and are the labels; "and" is in every document.
    """
    terms = Vocabulary(["and", *(f"{theme}{number}" for theme in "ab" for number in range(THEME_TERMS))])
    counts = np.zeros((60, len(terms)), dtype=np.float32)
    counts[:, 0] = 1
    for number, row in enumerate(counts):
        chosen = 1 + (number % 2) * THEME_TERMS + (number // 2 + np.arange(6)) % THEME_TERMS
        row[chosen] = 2
    data = Counts(sparse.csr_array(counts), terms, labels=np.arange(60) % 2, label_names=("a", "b"))
    return Parts(data[:44], data[44:52], data[52:])


def two_patterns() -> Parts:
    """Return planted 0/1 rows with one right answer: the first half of the columns on, or the second, one of them off.

    Patterns alternate and are the targets.
    """
    kind = np.arange(48) % 2
    column = np.arange(8)
    rows = (column // 4 == kind[:, None]) & (column != 4 * kind[:, None] + (np.arange(48) // 2 % 4)[:, None])
    data = LabelledArrays(rows.astype(np.float32), kind, target_names=("first", "second"))
    return Parts(data[:32], data[32:40], data[40:])


def lit_lamps() -> Parts:
    """Return planted labels with one right answer: of four lamps one or two are lit, and each has a column of its own.

    A lit lamp's column is near 2, another's near -2; a fifth column goes up and down and means nothing.
    """
    labels = np.array([[lamp in (row % 4, row // 4 % 4) for lamp in range(4)] for row in range(96)], dtype=np.int64)
    return _shown(labels, 4.0 * labels - 2.0)


def burning_candles() -> Parts:
    """Return planted counts with one right answer: of three kinds of candles none, one or two burn, four at most.

    The column of a kind is twice its count; a fourth column goes up and down and means nothing.
    """
    counts = np.array([[row % 3, row // 3 % 3, row // 9 % 3] for row in range(108)], dtype=np.int64)
    counts = counts[counts.sum(axis=1) <= 4]
    return _shown(counts, 2.0 * counts)


def _shown(targets: np.ndarray, columns: np.ndarray) -> Parts:
    """Return rows in an order in which every kind of row is in every part."""
    order = np.random.default_rng(0).permutation(len(targets))
    wave = np.cos(np.arange(len(targets)))[:, None]
    inputs = np.hstack([columns + 0.1 * np.sin(7 * columns + wave), wave])
    names = tuple("abcdefg"[: targets.shape[1]])
    data = LabelledArrays(inputs[order].astype(np.float64), targets[order], target_names=names)
    return Parts(data[:-16], data[-16:-10], data[-10:])


def two_phases() -> Parts:
    """Return planted series with one right answer: phases of four to six steps around 0 or 8, one after the other."""
    rng = np.random.default_rng(0)
    series = []
    for number in range(12):
        lasts = rng.integers(4, 7, size=6)
        series.append(np.repeat((np.arange(6) + number) % 2, lasts))
    states = np.concatenate(series)
    offsets = np.cumsum([0, *map(len, series)])
    data = Sequences(8.0 * states[:, None] + rng.normal(size=(len(states), 2)), offsets, states=states)
    return Parts(data[:8], data[8:10], data[10:])
