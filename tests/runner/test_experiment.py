"""Experiment files: what is shipped parses, and what is wrong is said in one sentence with the file's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from gossamer.runner.experiment import experiments_folder, find_experiment, find_experiments, read_experiment
from gossamer.runner.specs import PairedSpec

SHIPPED = Path(__file__).parents[2] / "experiments"


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.toml")), ids=lambda path: path.stem)
def test_shipped_experiments_parse(path: Path) -> None:
    experiment = read_experiment(path)
    assert experiment.name == path.stem
    assert experiment.results == SHIPPED.parent / "results" / path.stem


@pytest.mark.parametrize("path", sorted(SHIPPED.rglob("*.toml")), ids=lambda path: path.stem)
def test_searches_of_one_experiment_have_equal_budgets(path: Path) -> None:
    """Ours must not win by having been tuned longer; models with fewer settings may need fewer trials than peers'."""
    experiment = read_experiment(path)
    ours = [row.search.trials for row in experiment.rows if row.search and not row.is_peer]
    peers = [row.search.trials for row in experiment.rows if row.search and row.is_peer]
    assert not peers or max(ours) <= max(peers)


@pytest.mark.parametrize("path", sorted((SHIPPED / "community").glob("*.toml")), ids=lambda path: path.stem)
def test_methods_of_communities_have_the_names_that_their_records_are_searched_by(path: Path) -> None:
    """A variant has the method's name before a comma."""
    names = {"bihgnn", "graphsage", "bi-gnn", "diffpool-s", "o-gnn", "lightgcn", "mf", "als", "ease", "popularity"}
    methods = [row.method for row in read_experiment(path).rows]
    assert {method.partition(",")[0] for method in methods} <= names
    assert len(set(methods)) == len(methods)
    if path.stem == "bihgnn-ml1m":
        assert names <= set(methods)


def test_a_file_becomes_an_experiment(tiny_file: Path) -> None:
    experiment = read_experiment(tiny_file)
    assert experiment.metrics == ("recall@2", "ndcg@5")
    assert experiment.seeds == (0, 1)
    assert [row.name for row in experiment.rows] == ["popularity", "ease"]
    assert experiment.row("popularity").paper == {"ndcg@5": 0.25}
    search = experiment.row("ease").search
    assert search is not None
    assert search.trials == 2
    assert experiment.results == tiny_file.parents[2] / "results" / "tiny"
    assert not experiment.row("ease").is_peer


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("# gossamer reproduce tiny", "# run me", "the first line must be the command that runs it"),
        ('name = "tiny"', 'name = "other"', "name must be the file's own, 'tiny', got 'other'"),
        ('title = "Two', 'titel = "Two', "the file has no key 'titel'"),
        ("seeds = [0, 1]", "seeds = [0, 0]", "seeds must be a list of at least one value, each once"),
        ("seeds = [0, 1]", 'seeds = ["a"]', "seeds must be an integer >= 0, got 'a'"),
        ('metrics = ["recall@2", "ndcg@5"]', "metrics = []", "metrics must be a list of at least one value"),
        ('model = "ease"', "", r"\[\[row\]\] must have the key 'model'"),
        ('model = "ease"', 'model = "ease"\nmodle = 3', r"\[\[row\]\] has no key 'modle'"),
        ('name = "ease"', 'name = "popularity"', "names of rows must be a list of at least one value, each once"),
        ('name = "ease"', 'name = "EASE/x"', "row name must be lower-case letters, digits and hyphens"),
        ('metric = "ndcg@5"', 'metric = "map@5"', "row 'ease': search metric must be one of recall@2, ndcg@5"),
        (
            "[row.search]",
            "settings = {regularization = 3}\n[row.search]",
            "'regularization' must be in settings or in the search space",
        ),
        ('"ndcg@5" = 0.25', '"ndcg@5" = "high"', "row 'popularity': paper.ndcg@5 must be a finite number"),
        ("seeds = [0, 1]", "seeds = [0, 1", "tiny.toml: "),
        ('kind = "grid"', 'kind = "grid"\nsettings = 3', r"\[row.search\] has no key 'settings'"),
        ("[row.paper]", "settings = 3\n[row.paper]", "settings must be a table, got 3"),
        ("seeds = [0, 1]", "seeds = [0]\npaired = 3", "paired must be a table, got 3"),
        (
            "seeds = [0, 1]",
            'seeds = [0]\npaired = {metric = "ndcg@5", against = "slim"}',
            "paired.against must be one of 'popularity', 'ease', got 'slim'",
        ),
        (
            "seeds = [0, 1]",
            'seeds = [0, 1]\npaired = {metric = "ndcg@5", against = "ease"}',
            "paired must come with a split that tests no user twice: .*, got .*'users'.* and 2 seeds",
        ),
    ],
)
def test_what_is_wrong_is_said_with_the_file(tiny_file: Path, old: str, new: str, sentence: str) -> None:
    text = tiny_file.read_text()
    assert old in text
    tiny_file.write_text(text.replace(old, new, 1))
    with pytest.raises(ValueError, match=sentence) as caught:
        read_experiment(tiny_file)
    assert str(caught.value).startswith(str(tiny_file))


PAIRED = 'seeds = [0, 1]\npaired = {metric = "ndcg@5", against = "ease"}'


def test_rows_may_be_compared_user_by_user(tiny_file: Path) -> None:
    assert read_experiment(tiny_file).paired is None
    folds = 'kind = "user-folds"\nnum_folds = 2\nnum_valid = 6'
    text = tiny_file.read_text().replace("seeds = [0, 1]", PAIRED)
    tiny_file.write_text(text.replace('kind = "users"\nnum_valid = 6\nnum_test = 6', folds))
    assert read_experiment(tiny_file).paired == PairedSpec("ndcg@5", "ease")
    # With a seed of its own, a split tests the same users at every seed of the experiment: each counts by the mean.
    tiny_file.write_text(tiny_file.read_text().replace(folds, folds + "\nseed = 1"))
    assert read_experiment(tiny_file).paired is not None


def test_an_unknown_row_lists_the_rows(tiny_file: Path) -> None:
    with pytest.raises(ValueError, match="row must be one of popularity, ease, got 'als'"):
        read_experiment(tiny_file).row("als")


def test_rows_are_found_by_a_pattern(tiny_file: Path) -> None:
    experiment = read_experiment(tiny_file)
    names = [row.name for row in experiment.rows]
    assert [row.name for row in experiment.matching("*")] == names
    assert [row.name for row in experiment.matching(names[1][:2] + "*")] == [n for n in names if n[:2] == names[1][:2]]
    with pytest.raises(ValueError, match=r"row must be one of .*, got 'no-such-\*'"):
        experiment.matching("no-such-*")


def test_experiments_are_found_from_any_folder_below(tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_file.parent)
    assert find_experiments() == {"tiny": tiny_file}
    assert find_experiment("tiny").name == "tiny"
    assert find_experiment(str(tiny_file)).name == "tiny"
    with pytest.raises(ValueError, match=r"experiment must be one of tiny or a .toml file, got 'large'"):
        find_experiment("large")


def test_elsewhere_the_checkout_of_the_package_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert experiments_folder() == SHIPPED
    monkeypatch.setattr("gossamer.runner.experiment.__file__", str(tmp_path / "a" / "b" / "c" / "d.py"))
    with pytest.raises(FileNotFoundError, match="no folder 'experiments' here or above"):
        experiments_folder()


def test_results_of_a_file_outside_an_experiments_folder_go_here(
    tiny_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved = tmp_path / "tiny.toml"
    moved.write_text(tiny_file.read_text())
    monkeypatch.chdir(tmp_path)
    assert read_experiment(moved).results == tmp_path / "results" / "tiny"
