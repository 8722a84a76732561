from __future__ import annotations

import pytest

from gossamer import datasets
from gossamer.datasets import netflix

FIRST = "1:\n30,3,2005-09-06\n7,5,1970-01-02\n2:\n30,1,2004-01-01\n"
SECOND = "9:\n8,4,2005-12-31\n"


@pytest.fixture
def small(put, monkeypatch):
    """Two of the four files have ratings: 4 ratings of 3 users and 3 films."""
    for name, number in (("NUM_USERS", 3), ("NUM_ITEMS", 3), ("NUM_RATINGS", 4)):
        monkeypatch.setattr(netflix, name, number)
    for part, text in enumerate([FIRST, SECOND, "10:\n", "11:\n"], start=1):
        put(f"netflix/combined_data_{part}.txt", text)


def test_ratings_of_all_files_with_their_days(small):
    data = datasets.load("netflix")
    users, films = data.pairs()
    named = zip(data.users.ids[users], data.items.ids[films], data.rating.tolist(), strict=True)
    assert sorted(named) == [(7, 1, 5), (8, 9, 4), (30, 1, 3), (30, 2, 1)]
    assert data.time.min() == 24 * 60 * 60


def test_titles_with_commas_and_films_without_year(small, put):
    put("netflix/movie_titles.csv", "1,2003,Crouching, Hidden\n2,NULL,Caf\xe9\n9,1999,Nine\n".encode("latin-1"))
    features = datasets.load("netflix").item_features
    assert features["title"].to_list() == ["Crouching, Hidden", "Caf\xe9", "Nine"]
    assert features["year"].to_list() == [2003, None, 1999]


def test_one_file_made_of_the_original_ones(put, monkeypatch):
    for name, number in (("NUM_USERS", 2), ("NUM_ITEMS", 2), ("NUM_RATINGS", 3)):
        monkeypatch.setattr(netflix, name, number)
    put("netflix/combined_data.txt", FIRST)
    assert datasets.load("netflix").shape == (2, 2)


def test_a_cut_off_file_is_noticed(put):
    put("netflix/combined_data.txt", FIRST)
    with pytest.raises(ValueError, match="must hold 100,480,507 ratings, got 3"):
        datasets.load("netflix")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("1:\n30,3,2005-09-06\n7,6,2005-09-06\n", 3),
        ("1:\n30,three,2005-09-06\n", 2),
        ("1:\n30,3,2005-13-06\n", 2),
        ("30,3,2005-09-06\n", 1),
        ("1:\n30,3\n", 2),
    ],
)
def test_a_line_of_another_kind_is_named(put, text, line):
    put("netflix/combined_data.txt", text)
    with pytest.raises(ValueError, match=rf"combined_data\.txt must have lines .* got something else in line {line}$"):
        datasets.load("netflix")


def test_absent_files_and_where_to_find_them(folders):
    with pytest.raises(FileNotFoundError, match=r"combined_data_1\.txt.*no longer gives them out"):
        datasets.load("netflix")
