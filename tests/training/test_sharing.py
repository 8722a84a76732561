"""Two processes, each with its share of a directory of Parquet files, learn one model from all rows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from gossamer.data.share import Share
from gossamer.data.vocabulary import Vocabulary
from gossamer.models.counts import CDAE
from gossamer.models.embeddings import AnchorLanguageModel, AnchorRecommender, AnchorTextClassifier
from gossamer.models.markov import HMM, NeuralEM
from gossamer.testing.right_answers import two_blocks, two_phases, two_topics
from gossamer.training.sharing import Sharing, rows_of

sys.path.insert(0, str(Path(__file__).parent))  # tests are no package
import sharing_program
import sharing_streams

NUM_PAIRS, NUM_USERS = 120, 24
FITTED = ("RANKERS", "DOCUMENTS", "ANCHORS", "TEXTS", "COUNTED")
MODELS = [name for models in FITTED for name in getattr(sharing_program, models)]
STREAMED = [*sharing_streams.SERIES, *sharing_streams.RUNNING_TEXTS]


def train_in_one_and_in_two(folder: Path) -> None:
    import pyarrow
    from pyarrow import parquet

    for name in ("events", "one", "two"):
        (folder / name).mkdir(exist_ok=True)
    data = two_blocks().history
    users, items = data.pairs()
    table = pyarrow.table(
        {
            "user": [f"user {13 * user}" for user in users],  # whose hashes divide them unevenly
            "item": [data.items[item] for item in items],
            "rating": data.rating,
        }
    )
    directory = folder / "events"
    for part in range(3):
        parquet.write_table(table.slice(40 * part, 40), directory / f"{part}.parquet", row_group_size=16)
    sharing_program.train_all(directory, folder / "one")
    run_two(sharing_program.__file__, directory, folder / "two")


def stream_in_one_and_in_two(folder: Path) -> None:
    for name in ("one", "two"):
        (folder / name).mkdir(exist_ok=True)
    sharing_streams.write_streams(folder)
    sharing_streams.train_streams(folder, folder / "one")
    run_two(sharing_streams.__file__, folder, folder / "two")


def run_two(program: str | None, *arguments: Path) -> None:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, str(program), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def folders(made_once) -> tuple[Path, Path]:
    pytest.importorskip("pyarrow")
    folder = made_once("sharing", train_in_one_and_in_two)
    return folder / "one", folder / "two"


@pytest.fixture(scope="module")
def streams(made_once) -> tuple[Path, Path]:
    pytest.importorskip("pyarrow")
    folder = made_once("sharing-streams", stream_in_one_and_in_two)
    return folder / "one", folder / "two"


def read(folder: Path, name: str, rank: int = 0) -> dict[str, np.ndarray]:
    with np.load(folder / f"{name}.{rank}.npz") as stored:
        return dict(stored)


def test_each_process_holds_its_share_only(folders):
    nnz = np.array([read(folders[1], "first", rank)["nnz"] for rank in (0, 1)])
    assert nnz.sum(axis=0).tolist() == [NUM_PAIRS, NUM_USERS]
    assert nnz.min() > 0


def test_the_gradient_of_a_batch_is_that_of_its_rows_in_one_process(folders):
    first, second = (read(folders[1], "first", rank) for rank in (0, 1))
    rows = np.vstack([first["rows"], second["rows"]])
    assert len(first["rows"]) != len(second["rows"]), "else weights would not matter"
    targets = rows @ np.arange(rows.shape[1])
    error = rows.sum(axis=1) * 0.1 - targets
    for found in (first, second):
        np.testing.assert_allclose(found["weight"][0], 2 * (error[:, None] * rows).mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(found["bias"], [2 * error.mean()], rtol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_processes_agree_on_the_model(name, folders):
    one, first, second = read(folders[0], name), read(folders[1], name), read(folders[1], name, 1)
    assert first.keys() == second.keys() == one.keys()
    for key, values in first.items():
        np.testing.assert_array_equal(values, second[key], err_msg=key)
    counted = {"popularity", "idf", "network.observation.center", "mean", "scale", "word_counts"}
    for key in counted & first.keys():  # what is counted over all rows
        np.testing.assert_allclose(first[key], one[key], rtol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", [*sharing_program.ANCHORS, "text classifier", "count regressor"])
def test_one_batch_of_all_shares_gives_the_model_of_one_process(name, folders):
    one, two = read(folders[0], name), read(folders[1], name)
    for key, values in one.items():
        np.testing.assert_allclose(two[key], values, rtol=2e-3, atol=1e-5, err_msg=key)


def test_series_and_texts_are_divided_unevenly_and_none_is_lost(streams):
    sizes = np.array([read(streams[1], "sizes", rank)["held"] for rank in (0, 1)])
    np.testing.assert_array_equal(sizes.sum(axis=0), read(streams[0], "sizes")["held"])
    assert sizes.min() > 0
    assert sizes[0, 0] != sizes[1, 0], "else weights would not matter"


@pytest.mark.parametrize("name", STREAMED)
def test_processes_agree_on_the_model_of_series_and_running_texts(name, streams):
    one, first, second = read(streams[0], name), read(streams[1], name), read(streams[1], name, 1)
    assert first.keys() == second.keys() == one.keys()
    for key, values in first.items():
        np.testing.assert_array_equal(values, second[key], err_msg=key)
    counted = {"prior.centre", "prior.variance", "network.feature_mean", "network.feature_scale"}
    for key in counted & first.keys():  # what is counted over all series
        np.testing.assert_allclose(first[key], one[key], rtol=1e-6, err_msg=key)


@pytest.mark.parametrize("name", ["neural-em", "hsmm", "language model"])
def test_shares_of_series_and_of_texts_in_equal_lanes_give_the_model_of_one_process(name, streams):
    one, two = read(streams[0], name), read(streams[1], name)
    for key, values in one.items():
        np.testing.assert_allclose(two[key], values, rtol=2e-3, atol=1e-5, err_msg=key)


class Two:
    """What `Sharing` asks of Fabric."""

    world_size = 2


def sharing_with(monkeypatch, other: object) -> Sharing:
    """Return the sharing of a process whose only other one gives `other`."""
    monkeypatch.setattr("gossamer.training.sharing.make_fabric", Two)
    monkeypatch.setattr("gossamer.training.sharing.gather_from_all", lambda mine, _: [mine, other])
    return Sharing(is_divided=True)


def test_a_mean_counts_rows_and_leaves_out_who_has_none(monkeypatch):
    assert sharing_with(monkeypatch, ({"mse": 4.0}, 3)).mean({"mse": 1.0}, 1) == {"mse": 3.25}
    assert sharing_with(monkeypatch, (None, 0)).mean({"mse": 1.0}, 1) == {"mse": 1.0}
    assert sharing_with(monkeypatch, (None, 0)).mean(None, 0) == {}


def test_shares_with_other_columns_are_refused(monkeypatch):
    sharing = sharing_with(monkeypatch, (3, "another"))
    with pytest.raises(ValueError, match=r"items must be the same ids on every process .* got \[2, 3\]"):
        sharing.check_same("items", Vocabulary(["a", "b"]))


def test_who_has_no_rows_is_not_asked(monkeypatch):
    sharing = sharing_with(monkeypatch, ({"mse": 4.0}, 3))
    assert sharing.measure(lambda rows: {"mse": sum(rows)}, [1.0], 1) == {"mse": 3.25}
    assert sharing.measure(lambda rows: {"mse": 1 / len(rows)}, [], 0) == {"mse": 4.0}


def test_whole_data_are_left_as_they_are():
    data, sharing = rows_of([1, 2])
    assert data == [1, 2]
    assert not sharing.is_divided
    values = np.arange(3.0)
    assert sharing.sum(values) is sharing.mean_array(values, 2) is sharing.max(values) is values
    assert (sharing.num_rows(values), sharing.measure(lambda rows: {"first": rows[0]}, values, 3)) == (3, {"first": 0})
    assert sharing.mean({"mse": 0.1}, 3) == {"mse": 0.1}
    sharing.check_same("items", Vocabulary(["a"]))


def test_what_needs_all_rows_refuses_shares():
    data = two_blocks().history
    with pytest.raises(ValueError, match="user_vector must be 'none' where processes divide the users, got 'mean'"):
        CDAE(user_vector="mean").fit(Share(data))
    with pytest.raises(ValueError, match="solver must be 'proximal' where processes divide the ratings, got 'als'"):
        AnchorRecommender().fit(Share(data))
    with pytest.raises(ValueError, match=r"anchor_init must be 'random' or 'frequency', .* got 'codes'"):
        AnchorTextClassifier(anchor_init="codes").fit(Share(two_topics().train))
    with pytest.raises(ValueError, match="relations must be none or wordnet where processes divide texts, got 'both'"):
        AnchorTextClassifier(relations="both").fit(Share(two_topics().train))
    with pytest.raises(ValueError, match=r"anchor_init must be 'random' or 'frequency', .* got 'codes'"):
        AnchorLanguageModel().fit(Share(two_topics().train))
    with pytest.raises(ValueError, match="tied must be True where processes divide the series, got False"):
        HMM(tied=False).fit(Share(two_phases().train))
    with pytest.raises(ValueError, match="random_state must be a number where processes divide the series, got None"):
        NeuralEM(random_state=None).fit(Share(two_phases().train))
    with pytest.raises(ValueError, match="method must not be 'tfidf' where processes divide texts"):
        AnchorTextClassifier(method="tfidf").fit(Share(two_topics().train))
