from __future__ import annotations

import hashlib
import urllib.request
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import movielens
from gossamer.datasets.movielens import _Release

LOCAL_OPEN = urllib.request.urlopen


@pytest.fixture
def small(monkeypatch):
    """Pretend that GroupLens published three ratings by two users of two films."""
    for name in movielens.RELEASES:
        monkeypatch.setitem(movielens.RELEASES, name, _Release("0", 2, 2, 3))
        monkeypatch.setitem(movielens.SOURCES, name, replace(movielens.SOURCES[name], content_md5={}))


def test_ml_1m_has_features_in_the_order_of_its_ids(small, put):
    put("ml-1m/ratings.dat", "7::20::5::100\n3::10::1::50\n7::10::4::90\n")
    put("ml-1m/users.dat", "3::F::1::10::48067\n7::M::56::16::02139-1\n9::M::25::0::1\n")
    movies = "10::Été, L' (1995)::Drama\n20::Toy Story (1995)::Animation|Comedy\n30::X (1)::War\n"
    put("ml-1m/movies.dat", movies.encode("latin-1"))
    data = datasets.load("ml-1m")
    assert list(data.users) == [7, 3]
    assert list(data.items) == [20, 10]
    assert data.user_features.to_dict(as_series=False) == {
        "gender": ["M", "F"],
        "age": [56, 1],
        "occupation": ["self-employed", "K-12 student"],
        "zip": ["02139-1", "48067"],
    }
    assert data.item_features.to_dict(as_series=False) == {
        "title": ["Toy Story (1995)", "Été, L' (1995)"],
        "year": [1995, 1995],
        "genres": [["Animation", "Comedy"], ["Drama"]],
    }
    assert data.matrix("rating").toarray().tolist() == [[5, 4], [0, 1]]
    assert data.time.tolist() == [100, 90, 50]


def write_100k(put):
    put("ml-100k/u.data", "1\t2\t3\t10\n2\t1\t5\t20\n1\t1\t4\t30\n")
    put("ml-100k/u.user", "1|24|M|technician|85711\n2|53|F|other|94043\n")
    action, unknown = "0|1" + "|0" * 17, "1" + "|0" * 18
    put("ml-100k/u.item", f"1|A|01-Jan-1995||u|{action}\n2|unknown||||{unknown}\n")


def test_ml_100k_and_its_folds_share_ids_and_features(small, put, monkeypatch):
    write_100k(put)
    whole = datasets.load("ml-100k")
    assert whole.user_features["occupation"].to_list() == ["technician", "other"]
    assert dict(zip(whole.items, whole.item_features["genres"].to_list(), strict=True)) == {
        1: ["Action"],
        2: ["unknown"],
    }
    assert whole.item_features["year"].to_list() == [None, None]
    monkeypatch.setattr(movielens, "check_count", lambda *_: None)
    put("ml-100k/u2.base", "1\t2\t3\t10\n")
    put("ml-100k/u2.test", "2\t1\t5\t20\n")
    train = datasets.load("ml-100k", part="train", fold=2)
    test = datasets.load("ml-100k", part="test", fold=2)
    assert (train.nnz, test.nnz) == (1, 1)
    assert train.users == test.users == whole.users
    assert test.item_features.equals(whole.item_features)


def test_a_missing_fold_and_a_wrong_fold_are_named(small, put):
    write_100k(put)
    with pytest.raises(
        FileNotFoundError, match=r"fold 3 needs u3\.base \(or u3\.base\.gz\) in .*it is in ml-100k\.zip"
    ):
        datasets.load("ml-100k", part="train", fold=3)
    with pytest.raises(ValueError, match="fold must be an integer >= 1 and <= 5, got 6"):
        datasets.load("ml-100k", fold=6)


@pytest.mark.parametrize("name", ["ml-20m", "ml-25m", "ml-32m"])
def test_the_large_ones_come_out_of_their_zip(small, folders, monkeypatch, name):
    archive = folders / f"{name}.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr(f"{name}/ratings.csv", "userId,movieId,rating,timestamp\n1,5,3.5,10\n1,6,4.0,11\n2,6,0.5,12\n")
        packed.writestr(
            f"{name}/movies.csv",
            'movieId,title,genres\n5,"American President, The (1995)",Drama|Comedy\n6,Z,(no genres listed)\n',
        )
    md5 = hashlib.md5(archive.read_bytes()).hexdigest()
    source = movielens.SOURCES[name]
    (download,) = source.downloads
    local = replace(download, url=archive.as_uri(), checksum=f"md5:{md5}")
    monkeypatch.setitem(movielens.SOURCES, name, replace(source, downloads=(local,)))
    monkeypatch.setattr(urllib.request, "urlopen", LOCAL_OPEN)
    data = datasets.load(name)
    assert data.rating.tolist() == [3.5, 4.0, 0.5]
    assert data.item_features["genres"].to_list() == [["Drama", "Comedy"], []]
    assert data.item_features["title"][0] == "American President, The (1995)"


def test_a_cut_off_copy_is_noticed(small, put):
    put("ml-25m/ratings.csv", "userId,movieId,rating,timestamp\n1,5,3.5,10\n")
    put("ml-25m/movies.csv", "movieId,title,genres\n5,A (1990),Drama\n")
    with pytest.raises(ValueError, match=r"ml-25m must hold 3 ratings, got 1; the copy is incomplete or altered"):
        datasets.load("ml-25m")


@pytest.mark.data
def test_real_ml_1m():
    data = datasets.load("ml-1m")
    assert data.shape == (6_040, 3_706)
    assert np.bincount(data.rating.astype(int))[1:].tolist() == [56174, 107557, 261197, 348971, 226310]
    assert data.rating.mean(dtype=float) == pytest.approx(3.5816, abs=1e-4)
    assert data.user_features["gender"].value_counts(sort=True)["count"].to_list() == [4331, 1709]
    assert (data.user_counts.min(), data.user_counts.max()) == (20, 2314)
    assert data.item_features.null_count().sum_horizontal()[0] == 0


@pytest.mark.data
def test_real_ml_100k():
    data = datasets.load("ml-100k")
    assert data.shape == (943, 1_682)
    assert np.bincount(data.rating.astype(int))[1:].tolist() == [6110, 11370, 27145, 34174, 21201]
    train, test = datasets.load("ml-100k", part="train"), datasets.load("ml-100k", part="test")
    assert (train.nnz, test.nnz) == (80_000, 20_000)
    assert train.matrix().multiply(test.matrix()).nnz == 0
    assert (train.matrix() + test.matrix() != data.matrix()).nnz == 0
