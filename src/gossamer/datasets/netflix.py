"""The Netflix Prize: ratings of films, no longer distributed by Netflix, read where a copy is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Int64

from gossamer.data import Interactions, Vocabulary
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Source, check_count

NUM_USERS, NUM_ITEMS, NUM_RATINGS = 480_189, 17_770, 100_480_507
HOMEPAGE = "https://www.kaggle.com/datasets/netflix-inc/netflix-prize-data"
TITLES = "movie_titles.csv"
SOURCE = Source(
    "netflix",
    (tuple(f"combined_data_{part}.txt" for part in range(1, 5)), ("combined_data.txt",)),
    advice=(
        f"Netflix no longer gives them out: combined_data_1.txt to _4.txt are from {HOMEPAGE}, "
        "and combined_data.txt is what `cat training_set/mv_*.txt` makes of the original"
    ),
)


@dataclass(frozen=True)
class _Ratings:
    """Columns of equal length."""

    users: Int64[np.ndarray, " n"]
    films: Int64[np.ndarray, " n"]
    stars: Int64[np.ndarray, " n"]
    seconds: Int64[np.ndarray, " n"]


def load_netflix() -> Interactions:
    """Return ratings of 1 to 5 with their days as times (seconds); item features, where there are any: title, year."""
    files = SOURCE.obtain()
    parts = [read_ratings(path) for path in files.paths.values()]
    users, films, stars, seconds = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("users", "films", "stars", "seconds")
    )
    item_ids = Vocabulary(np.unique(films))
    titles = files.optional_path(TITLES)
    ratings = Interactions.from_pairs(
        users,
        films,
        stars,
        seconds,
        duplicates="error",
        item_ids=item_ids,
        item_features=None if titles is None else read_titles(titles, item_ids),
    )
    check_count("ratings", ratings.nnz, NUM_RATINGS, files.directory)
    check_count("users", ratings.num_users, NUM_USERS, files.directory)
    check_count("films", ratings.num_items, NUM_ITEMS, files.directory)
    return ratings


def read_ratings(path: Path) -> _Ratings:
    """Read lines `film:` and, below each, its `user,stars,day`."""
    # One column of whole lines: the lines differ in their number of fields. The separator is in no text file.
    lines = pl.read_csv(path, has_header=False, schema={"text": pl.String}, separator="\x01", quote_char=None)
    text = pl.col("text")
    table = lines.with_row_index("line", offset=1).with_columns(
        pl.when(text.str.ends_with(":")).then(text.str.head(-1)).forward_fill().alias("film")
    )
    fields = text.str.splitn(",", 3).struct.rename_fields(["user", "stars", "day"])
    table = table.filter(~text.str.ends_with(":")).with_columns(fields).unnest("text")
    table = table.with_columns(
        pl.col("film", "user", "stars").cast(pl.Int64, strict=False),
        pl.col("day").str.to_date("%Y-%m-%d", strict=False).cast(pl.Datetime).dt.epoch("s").alias("seconds"),
    )
    faulty = table.filter(pl.any_horizontal(pl.all().is_null()) | ~pl.col("stars").is_between(1, 5))
    if faulty.height:
        raise ValueError(
            f"{path} must have lines 'film:' and 'user,stars,year-month-day' with 1 to 5 stars, "
            f"got something else in line {faulty['line'][0]:,}"
        )
    return _Ratings(*(table[name].to_numpy() for name in ("user", "film", "stars", "seconds")))


def read_titles(path: Path, films: Vocabulary) -> pl.DataFrame:
    """Return year and title of each film; titles have commas in them, and some films have no year."""
    lines = pl.Series("fields", path.read_text(encoding="latin-1").splitlines()).to_frame()
    fields = pl.col("fields").str.splitn(",", 3).struct.rename_fields(["id", "year", "title"])
    table = lines.with_columns(fields).unnest("fields")
    table = table.with_columns(pl.col("id", "year").cast(pl.Int64, strict=False)).unique("id")
    return films.ids.alias("id").to_frame().join(table, on="id", how="left", maintain_order="left").drop("id")


DATASETS = {
    "netflix": Dataset(
        DatasetInfo(
            title="Netflix Prize: ratings of films",
            kind="Interactions",
            size="480,189 users × 17,770 films, 100,480,507 ratings",
            licence="Netflix: research use, no redistribution; withdrawn in 2010",
            homepage=HOMEPAGE,
            citation="Bennett and Lanning, The Netflix Prize, KDD Cup and Workshop 2007",
        ),
        load_netflix,
        SOURCE,
    )
}
