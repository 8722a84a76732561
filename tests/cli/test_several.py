"""`gossamer fit` in two processes: one artifact, one voice, the model of one process."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from command_line import COLUMNS, Gossamer

import gossamer as library
from gossamer.cli.several import check_verb, last_word, only_the_first_speaks
from gossamer.data.readers import read_interactions
from gossamer.training.checkpoint import read_checkpoint

PROGRAM = Path(__file__).with_name("several_program.py")
SETTINGS = {"solver": "proximal", "embedding_dim": 3, "user_anchors": 4, "item_anchors": 3, "epochs": 2}
DIVIDED = ("--set", 'table_options={"sharded": true}')


def model_with(batch_size: int) -> list[str]:
    chosen = {**SETTINGS, "batch_size": batch_size}
    return ["anchor-recommender", *(word for name, value in chosen.items() for word in ("--set", f"{name}={value}"))]


def run_two(*arguments: object) -> subprocess.CompletedProcess[str]:
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command = [*torchrun, str(PROGRAM), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, env=environment, timeout=250, check=False)


def test_two_processes_save_the_model_of_one_once(gossamer: Gossamer, ratings: Path) -> None:
    data = ["--data", ratings.name, *COLUMNS]
    Path("events").mkdir()
    table = pl.read_csv(ratings)
    for part in range(2):
        table[part::2].write_parquet(f"events/{part}.parquet")
    shared = ["fit", "mult-vae", "--data", "events", *COLUMNS, "--set", "epochs=1", "--set", "hidden_dims=[8]"]
    before = set(os.listdir())
    done = run_two("fit", *model_with(8), *DIVIDED, *data, "--out", "two", "--then", *shared, "--out", "shared")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("saved to two") == done.stdout.count("anchor-recommender") == 1
    assert done.stdout.count("saved to shared") == 1
    assert set(os.listdir()) - before == {"two", "shared"}, "every process has removed its checkpoint"
    assert gossamer("fit", *model_with(16), *data, "--out", "one").code == 0
    one, two = library.load("one"), library.load("two")
    known = read_interactions(ratings, columns={"user": "userId", "item": "movieId", "rating": "stars"})
    np.testing.assert_allclose(two.predict(known), one.predict(known), rtol=1e-3, atol=1e-4)

    model = library.load("shared")
    counts = dict(table["movieId"].value_counts().iter_rows())
    assert set(model.items_) == set(counts)
    assert 0.5 * table.height < model.popularity_.sum() < table.height, "the training users of both processes"
    done = gossamer("evaluate", "shared")
    assert done.code == 0, done.err
    judged = json.loads(Path("shared/config.json").read_text())["metrics"]
    assert json.loads(gossamer("evaluate", "shared", "--json").out)["metrics"] == pytest.approx(judged, rel=1e-4)


def write_parts(directory: str, table: pl.DataFrame) -> None:
    Path(directory).mkdir()
    for part in range(2):
        table[part::2].write_parquet(f"{directory}/{part}.parquet")


def test_ratings_and_the_table_are_divided_together(gossamer: Gossamer, ratings: Path) -> None:
    """One batch of all rows: whoever holds them, the model is that of one process."""
    table = pl.read_csv(ratings)
    write_parts("events", table)
    command = ["fit", *model_with(10_000), "--data", "events", *COLUMNS, "--out"]
    first = ("--set", 'table_options={"sharded": true, "gather": "first"}')
    done = run_two(*command, "all", *DIVIDED, "--then", *command, "first", *first)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("saved to") == 2
    done = gossamer(*command, "one", *DIVIDED)
    assert done.code == 0, done.err
    known = read_interactions(ratings, columns={"user": "userId", "item": "movieId", "rating": "stars"})
    one = library.load("one")
    for name in ("all", "first"):
        np.testing.assert_allclose(library.load(name).predict(known), one.predict(known), rtol=1e-3, atol=1e-4)
    judged = {name: json.loads(Path(name, "config.json").read_text()) for name in ("all", "one", "first")}
    assert judged["all"]["metrics"] == pytest.approx(judged["one"]["metrics"], rel=1e-4)
    assert judged["first"]["metrics"].keys() == judged["one"]["metrics"].keys()
    provenance = judged["all"]["provenance"]
    assert provenance["split"]["kind"] == judged["one"]["provenance"]["split"]["kind"] == "pair-ids"
    assert provenance["fingerprint"].startswith("rows:"), "a sum over what each process has read"
    assert gossamer("evaluate", "all").err == "", "one process recognises what two have read"


def test_texts_counts_and_tables_are_divided(gossamer: Gossamer, ratings: Path) -> None:
    rows = range(60)
    drinks, skies = ["tea", "milk", "cup", "spoon"], ["rain", "wind", "cloud", "storm"]
    chosen = [(drinks if row % 2 else skies, f"seen{'abcdefghijklmno'[row % 30 // 2]} once{row}") for row in rows]
    texts = [f"{kind[row % 4]} {kind[row // 4 % 4]} {others}" for row, (kind, others) in zip(rows, chosen, strict=True)]
    write_parts("texts", pl.DataFrame({"text": texts, "label": ["drink" if row % 2 else "sky" for row in rows]}))
    numbers = pl.DataFrame({"x": [float(row % 7) for row in rows], "y": [1.0 + row for row in rows]})
    write_parts("numbers", numbers.with_columns(sad=pl.Series([row % 2 for row in rows]), gay=pl.lit(1)))
    small = ["--set", "epochs=1", "--set", "batch_size=8"]
    sized = ["--set", "embedding_dim=6", "--set", "hidden_dim=8", "--set", "latent_dim=4"]
    cut = ["--set", "embedding_dim=6", "--set", "num_anchors=4", "--set", "ratio=2", "--set", "num_filters=4"]
    commands = {
        "vae": ["sentence-vae", "--data", "texts", "--option", "min_count=2", *small, *sized],
        "classes": ["anchor-text-classifier", "--data", "texts", "--option", "min_count=2", *small, *cut],
        "topics": ["count-vae", "--data", "texts", *small, "--set", "latent_dim=2", "--set", "encoder_dims=[8]"],
        "labels": ["sparse-count-regressor", "--data", "numbers", "--option", "labels=sad,gay", *small],
    }
    joined = [word for name, words in commands.items() for word in ("--then", "fit", *words, "--out", name)]
    done = run_two(*joined[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("saved to") == len(commands)
    for name in commands:
        config = json.loads(Path(name, "config.json").read_text())
        assert config["provenance"]["split"]["kind"] == "contents"
        assert config["provenance"]["fingerprint"].startswith("rows:")
        done = gossamer("evaluate", name, "--json")
        assert (done.code, done.err) == (0, ""), "one process opens the same data and the same split"
        found = json.loads(done.out)["metrics"]
        assert found.keys() == config["metrics"].keys()
    words = library.load("classes").words_
    assert {"tea", "milk", "rain", "wind"} <= set(words)
    assert library.load("vae").words_ == words, "the words of both processes, in one order"


def test_series_and_running_texts_are_divided(
    gossamer: Gossamer, ratings: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(0)
    owners = np.repeat(np.arange(20), 6)
    values = 9.0 * (np.arange(120) // 3 % 2) + rng.normal(size=120)
    series = {"series": [f"s{owner}" for owner in owners], "value": values, "feature_size": owners % 3}
    write_parts("series", pl.DataFrame(series))
    words = ["tea", "milk", "rain", "wind"]
    write_parts("texts", pl.DataFrame({"text": [" ".join([*rng.choice(words, 5), str(row)]) for row in range(40)]}))
    network = {"num_states": 2, "hidden_dim": 4, "latent_dim": 2, "num_starts": 1, "epochs": 1}
    table = {"anchor_init": "frequency", "embedding_dim": 6, "num_anchors": 3, "hidden_dim": 4, "num_samples": 3}
    chosen = {
        "phases": ["neural-em", "--data", "series", *settings_of(network)],
        "words": ["anchor-language-model", "--data", "texts", *settings_of({**table, "ratio": 2, "epochs": 1})],
    }
    joined = [word for name, command in chosen.items() for word in ("--then", "fit", *command, "--out", name)]
    with monkeypatch.context() as patched:
        patched.setenv("NUMBA_DISABLE_JIT", "1")  # compiling takes longer than these few steps
        done = run_two(*joined[1:])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("saved to") == len(chosen)
    for name in chosen:
        config = json.loads(Path(name, "config.json").read_text())
        assert config["provenance"]["split"]["kind"] == "contents"
        assert config["provenance"]["fingerprint"].startswith("rows:"), "a sum over what each process has read"
        done = gossamer("evaluate", name, "--json")
        assert (done.code, done.err) == (0, ""), "one process opens the same data and the same split"
        assert json.loads(done.out)["metrics"].keys() == config["metrics"].keys()


def settings_of(chosen: dict[str, object]) -> list[str]:
    return [word for name, value in chosen.items() for word in ("--set", f"{name}={value}")]


def test_the_failure_of_one_process_ends_both_with_one_sentence(gossamer: Gossamer, ratings: Path) -> None:
    done = run_two("--astray", "fit", *model_with(8), "--data", ratings.name, *COLUMNS, "--out", "two")
    assert done.returncode != 0
    said = words_of(done)
    assert len(said) == 1, done.stderr
    assert said[0].startswith("process 1: ")
    assert ratings.name in said[0]
    assert done.stdout == ""
    assert not Path("two").exists()


def test_after_a_failure_and_a_ctrl_c_the_same_command_ends_with_the_model_of_one(
    gossamer: Gossamer, ratings: Path
) -> None:
    """A divided table, whose processes each keep a checkpoint: all must be of the same update."""
    data = ["--data", ratings.name, *COLUMNS, "--out"]
    command = ["fit", *model_with(8), *DIVIDED, *data, "two"]
    before = set(os.listdir())
    done = run_two("--fail", 25, *command)
    assert done.returncode != 0
    assert words_of(done) == ["process 1: the disk is full"]
    kept = set(os.listdir()) - before
    assert len(kept) == 2, "the checkpoints of the first epoch"
    done = run_two("--interrupt", 30, *command)
    assert done.returncode != 0
    assert "going on from" in done.stdout
    said = words_of(done)
    assert len(said) == 2, done.stderr
    assert said[0].startswith("what was learned so far is in")
    assert said[1] == "interrupted"
    assert set(os.listdir()) - before == kept
    updates = {read_checkpoint(Path(name))["loop"]["history"]["steps"] for name in kept}
    assert len(updates) == 1
    assert updates.pop() >= 30, "they have stopped after the update in which it was pressed"
    done = run_two(*command)
    assert done.returncode == 0, done.stderr
    assert "going on from" in done.stdout
    assert set(os.listdir()) - before == {"two"}
    assert gossamer("fit", *model_with(16), *data, "one").code == 0
    known = read_interactions(ratings, columns={"user": "userId", "item": "movieId", "rating": "stars"})
    one, two = library.load("one"), library.load("two")
    np.testing.assert_allclose(two.predict(known), one.predict(known), rtol=1e-3, atol=1e-4)


def words_of(done: subprocess.CompletedProcess[str]) -> list[str]:
    """Return what gossamer has said of why it ended; torchrun says more."""
    lines = done.stderr.splitlines()
    return [line.removeprefix("gossamer: ") for line in lines if line.startswith("gossamer: ")]


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this process the second of two."""
    for name, value in {"TORCHELASTIC_RUN_ID": "some", "WORLD_SIZE": "2", "RANK": "1"}.items():
        monkeypatch.setenv(name, value)


def test_only_fit_knows_several_processes(second: None) -> None:
    check_verb(["fit", "ease"])
    with pytest.raises(ValueError, match="verb must be fit where torchrun starts several processes, got 'tune'"):
        check_verb(["tune", "ease"])


def test_others_than_the_first_keep_quiet(
    second: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = logging.getLogger().level
    with only_the_first_speaks():
        print("saved")
        print("warned", file=sys.stderr)
    assert capsys.readouterr() == ("", "")
    assert logging.getLogger().level == before
    for is_first, word in ((True, "process 1: no"), (False, None)):
        monkeypatch.setattr("gossamer.runner.together.is_first_to_fail", lambda answer=is_first: answer)
        assert last_word("no") == word
    waited = []
    monkeypatch.setattr("gossamer.runner.together.wait_for_a_word", lambda: waited.append(True))
    assert last_word("no", of_all=True) is None, "the first process says it"
    assert waited == [True], "and may be killed when this one ends before"


def test_what_is_true_of_all_the_first_process_says(second: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "0")
    for is_first, word in ((True, "no"), (False, None)):
        monkeypatch.setattr("gossamer.runner.together.is_first_to_fail", lambda answer=is_first: answer)
        assert last_word("no", of_all=True) == last_word("no") == word
