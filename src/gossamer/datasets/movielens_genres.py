"""What people of MovieLens-1M watched day by day, as strengths of 18 genres: a public stand-in for shopping phases."""

from __future__ import annotations

import numpy as np
import polars as pl

from gossamer.core.checks import check_bool, check_choice, check_int
from gossamer.data.interactions import Interactions
from gossamer.data.sequences import Sequences
from gossamer.data.vocabulary import Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.movielens import SOURCES, load_ml_1m

DAY = 86_400
HELD_OUT_DAYS = {"train": 2, "valid": 1, "test": 0}  # how many of a person's last days a part leaves out


def load_ml_1m_genres(*, part: str = "train", min_days: int = 8, ratings: bool = False) -> Sequences | Interactions:
    """Return a series for everyone who rated films on `min_days` days at least: a step per such day.

    A film gives each of its genres an equal share, and the strengths of a day sum to one (section 4.7.2). The part
    "train" leaves out everybody's last two days, "valid" the last one, "test" none: the last step of "valid" and of
    "test" is what has to be predicted. Days without ratings are left out, so a step is a visit. `ratings=True`
    returns the ratings behind the training part, for models that learn embeddings of the same people.
    """
    check_choice("part", part, HELD_OUT_DAYS)
    check_int("min_days", min_days, at_least=4)
    check_bool("ratings", ratings)
    data = load_ml_1m()
    assert data.time is not None
    assert data.item_features is not None
    users = np.repeat(np.arange(data.num_users), data.user_counts)
    visits = pl.DataFrame({"user": users, "day": data.time // DAY}).with_columns(
        place=pl.col("day").rank("dense").over("user").cast(pl.Int64),
    )
    visits = visits.with_columns(days=pl.col("place").max().over("user"))
    place, days = visits["place"].to_numpy(), visits["days"].to_numpy()
    if ratings:
        kept = data.keep((days >= min_days) & (place <= days - HELD_OUT_DAYS["train"]))
        return kept[np.flatnonzero(kept.user_counts > 0)]
    is_in = (days >= min_days) & (place <= days - HELD_OUT_DAYS[part])
    genres = sorted({genre for listed in data.item_features["genres"] for genre in listed})
    shares = np.zeros((data.num_items, len(genres)))
    for item, listed in enumerate(data.item_features["genres"]):
        for genre in listed:
            shares[item, genres.index(genre)] = 1 / len(listed)
    people, row_of = np.unique(users[is_in], return_inverse=True)
    lengths = np.array([place[is_in][row_of == row].max() for row in range(len(people))])
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    strengths = np.zeros((offsets[-1], len(genres)))
    np.add.at(strengths, offsets[row_of] + place[is_in] - 1, shares[data.indices[is_in]])
    strengths /= strengths.sum(axis=1, keepdims=True)
    return Sequences(strengths, offsets, vocabulary=Vocabulary(genres), names=data.users.take(people))


DATASETS = {
    "ml-1m-genres": Dataset(
        DatasetInfo(
            title="MovieLens 1M: genres of the films people rate, day by day",
            kind="Sequences",
            size="people with 8 days of ratings or more, 18 genres",
            licence="GroupLens: research use, no redistribution",
            homepage="https://grouplens.org/datasets/movielens/1m/",
            citation="Harper and Konstan, The MovieLens Datasets, ACM TiiS 5(4), 2015",
        ),
        load_ml_1m_genres,
        SOURCES["ml-1m"],
        ("train", "valid", "test"),
    )
}
