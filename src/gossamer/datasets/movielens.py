"""MovieLens: people's ratings of films, in five sizes, from GroupLens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import polars as pl

from gossamer.core.checks import check_choice, check_int
from gossamer.data import Interactions, Vocabulary
from gossamer.data.readers import read_interactions, read_table
from gossamer.datasets.dataset import Dataset, DatasetInfo
from gossamer.datasets.source import Download, Files, Source, check_count

ADDRESS = "https://files.grouplens.org/datasets/movielens"
# GroupLens writes occupations as numbers in ML-1M; the names are those of its README.
OCCUPATIONS = (
    "other",
    "academic/educator",
    "artist",
    "clerical/admin",
    "college/grad student",
    "customer service",
    "doctor/health care",
    "executive/managerial",
    "farmer",
    "homemaker",
    "K-12 student",
    "lawyer",
    "programmer",
    "retired",
    "sales/marketing",
    "scientist",
    "self-employed",
    "technician/engineer",
    "tradesman/craftsman",
    "unemployed",
    "writer",
)
GENRES_100K = (
    "unknown",
    "Action",
    "Adventure",
    "Animation",
    "Children's",
    "Comedy",
    "Crime",
    "Documentary",
    "Drama",
    "Fantasy",
    "Film-Noir",
    "Horror",
    "Musical",
    "Mystery",
    "Romance",
    "Sci-Fi",
    "Thriller",
    "War",
    "Western",
)
FOLD_FILES = tuple(f"u{fold}.{side}" for fold in range(1, 6) for side in ("base", "test"))


@dataclass(frozen=True)
class _Release:
    """Numbers that GroupLens publishes for one release."""

    md5: str
    users: int
    items: int
    ratings: int


RELEASES = {
    "ml-100k": _Release("0e33842e24a9c977be4e0107933c0723", 943, 1_682, 100_000),
    "ml-1m": _Release("c4d9eecfca2ab87c1945afe126590906", 6_040, 3_706, 1_000_209),
    "ml-20m": _Release("cd245b17a1ae2cc31bb14903e1204af3", 138_493, 26_744, 20_000_263),
    "ml-25m": _Release("6b51fb2759a8657d3bfcbfc42b592ada", 162_541, 59_047, 25_000_095),
    "ml-32m": _Release("d472be332d4daa821edc399621853b57", 200_948, 84_432, 32_000_204),
}


def load_ml_100k(*, part: str = "all", fold: int = 1) -> Interactions:
    """Return MovieLens-100K with ratings and times; `part="train"` and `"test"` are GroupLens' fold 1 … 5.

    User features: age, gender, occupation, zip. Item features: title, year, genres.
    """
    check_choice("part", part, ["all", "train", "test"])
    check_int("fold", fold, at_least=1, at_most=5)
    files = SOURCES["ml-100k"].obtain()
    whole = read_interactions(files.checked_path("u.data"), format="tsv", header=False)
    _check_size("ml-100k", whole, files)
    users = read_table(
        files.paths["u.user"], format="dat", separator="|", names=["id", "age", "gender", "occupation", "zip"]
    ).with_columns(pl.col("id", "age").cast(pl.Int64))
    items = _movies_100k(files)
    whole = replace(whole, user_features=_aligned(users, whole.users), item_features=_aligned(items, whole.items))
    if part == "all":
        return whole
    name = f"u{fold}.{'base' if part == 'train' else 'test'}"
    path = files.optional_path(name)
    if path is None:
        raise FileNotFoundError(f"fold {fold} needs {name} (or {name}.gz) in {files.directory}; it is in ml-100k.zip")
    half = read_interactions(path, format="tsv", header=False, user_ids=whole.users, item_ids=whole.items)
    check_count("ratings", half.nnz, 80_000 if part == "train" else 20_000, path)
    return replace(half, user_features=whole.user_features, item_features=whole.item_features)


def load_ml_1m() -> Interactions:
    """Return MovieLens-1M with ratings and times.

    User features: gender, age (the lower end of GroupLens' bracket), occupation, zip. Item features: title, year,
    genres. Only the 3,706 rated films are items.
    """
    files = SOURCES["ml-1m"].obtain()
    ratings = read_interactions(files.checked_path("ratings.dat"), format="dat")
    _check_size("ml-1m", ratings, files)
    users = read_table(
        files.paths["users.dat"], format="dat", names=["id", "gender", "age", "occupation", "zip"]
    ).with_columns(
        pl.col("id", "age").cast(pl.Int64),
        pl.col("occupation").cast(pl.Int64).replace_strict(dict(enumerate(OCCUPATIONS)), return_dtype=pl.String),
    )
    movies = _movies(read_table(files.paths["movies.dat"], format="dat", names=["id", "title", "genres"]))
    return replace(ratings, user_features=_aligned(users, ratings.users), item_features=_aligned(movies, ratings.items))


def load_ml_csv(name: str) -> Interactions:
    """Return MovieLens-20M, -25M or -32M with ratings and times; item features: title, year, genres."""
    files = SOURCES[name].obtain()
    ratings = read_interactions(files.checked_path("ratings.csv"), format="csv")
    _check_size(name, ratings, files)
    movies = read_table(files.paths["movies.csv"], format="csv").rename({"movieId": "id"})
    return replace(ratings, item_features=_aligned(_movies(movies), ratings.items))


def _check_size(name: str, ratings: Interactions, files: Files) -> None:
    release = RELEASES[name]
    check_count("ratings", ratings.nnz, release.ratings, files.directory)
    check_count("users", ratings.num_users, release.users, files.directory)
    check_count("rated films", ratings.num_items, release.items, files.directory)


def _movies(table: pl.DataFrame) -> pl.DataFrame:
    unlisted = pl.col("genres") == "(no genres listed)"
    genres = pl.when(unlisted).then(pl.lit([], dtype=pl.List(pl.String))).otherwise(pl.col("genres").str.split("|"))
    return table.select(
        pl.col("id").cast(pl.Int64),
        "title",
        _year(),
        genres.alias("genres"),
    )


def _movies_100k(files: Files) -> pl.DataFrame:
    columns = ["id", "title", "released", "video", "address", *GENRES_100K]
    table = read_table(files.paths["u.item"], format="dat", separator="|", names=columns)
    flags = table.select(GENRES_100K).rows()
    genres = [[genre for genre, flag in zip(GENRES_100K, row, strict=True) if flag == "1"] for row in flags]
    return table.select(pl.col("id").cast(pl.Int64), "title", _year()).with_columns(pl.Series("genres", genres))


def _year() -> pl.Expr:
    return pl.col("title").str.extract(r"\((\d{4})\)\s*$").cast(pl.Int64).alias("year")


def _aligned(table: pl.DataFrame, ids: Vocabulary) -> pl.DataFrame:
    """Return one row per id, in the vocabulary's order, without the id itself."""
    return ids.ids.alias("id").to_frame().join(table, on="id", how="left", maintain_order="left").drop("id")


def _source(name: str, files: Sequence[str], optional: Sequence[str] = (), md5: dict[str, str] | None = None) -> Source:
    archive = Download(f"{ADDRESS}/{name}.zip", f"md5:{RELEASES[name].md5}", (*files, *optional))
    return Source(name, (tuple(files),), (archive,), md5 or {})


def _dataset(name: str, load: Callable[..., Interactions]) -> Dataset:
    release = RELEASES[name]
    return Dataset(
        DatasetInfo(
            title=f"MovieLens {name.removeprefix('ml-').upper()}: ratings of films",
            kind="Interactions",
            size=f"{release.users:,} users × {release.items:,} films, {release.ratings:,} ratings",
            licence="GroupLens: research use, no redistribution",
            homepage=f"https://grouplens.org/datasets/movielens/{name.removeprefix('ml-')}/",
            citation="Harper and Konstan, The MovieLens Datasets, ACM TiiS 5(4), 2015",
        ),
        load,
        SOURCES[name],
    )


SOURCES = {
    "ml-100k": _source(
        "ml-100k", ("u.data", "u.user", "u.item"), FOLD_FILES, {"u.data": "6e47046882bad158b0efbb84cd5cb987"}
    ),
    "ml-1m": _source(
        "ml-1m", ("ratings.dat", "users.dat", "movies.dat"), md5={"ratings.dat": "a89aa3591bc97d6d4e0c89459ff39362"}
    ),
    **{name: _source(name, ("ratings.csv", "movies.csv")) for name in ("ml-20m", "ml-25m", "ml-32m")},
}

DATASETS = {
    "ml-100k": _dataset("ml-100k", load_ml_100k),
    "ml-1m": _dataset("ml-1m", load_ml_1m),
    **{name: _dataset(name, partial(load_ml_csv, name)) for name in ("ml-20m", "ml-25m", "ml-32m")},
}
