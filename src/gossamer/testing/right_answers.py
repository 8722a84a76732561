"""Tiny data with one right answer, which every estimator is given: interactions, texts and counts of two kinds each."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from gossamer.data.counts import Counts
from gossamer.data.interactions import HeldOut, Interactions
from gossamer.data.parts import Parts
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
