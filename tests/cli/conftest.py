"""A command line in this process: arguments in; exit code, standard output and standard error out."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import numpy as np
import pytest
from command_line import COLUMNS, DOCUMENTS, Done, Gossamer, classifier_with

from gossamer.cli.app import main


@pytest.fixture
def gossamer(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Gossamer:
    """Run `gossamer` in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GOSSAMER_DEBUG", raising=False)

    def run(*arguments: object) -> Done:
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main([str(argument) for argument in arguments])
        written = capsys.readouterr()
        return Done(int(exit_info.value.code or 0), written.out, written.err)

    return run


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    """Return a CSV with its own column names: 60 users in two blocks, most of whose block's items they rate."""
    generator = np.random.default_rng(0)
    lines = ["userId,movieId,stars"]
    for user in range(60):
        block = "ab"[user % 2]
        lines += [f"u{user},{block}{item},{3 + item % 3}" for item in generator.permutation(10)[:7]]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def artifact(gossamer: Gossamer, ratings: Path) -> Path:
    """Return a model fitted on the CSV."""
    done = gossamer("fit", "item-knn", "--data", ratings.name, *COLUMNS, "--out", "model", "--set", "num_neighbours=5")
    assert done.code == 0, done.err
    return ratings.parent / "model"


@pytest.fixture(scope="session")
def office(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a CSV of documents in two classes, and a model of them, fitted once for all tests."""
    folder = tmp_path_factory.mktemp("office")
    lines = ["topic,body"]
    for number in range(120):
        topic, words = (("food", "ham and eggs"), ("news", "vote in court"))[number % 2]
        lines.append(f"{topic},{words} no {number}")
    (folder / "mail.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    with contextlib.chdir(folder), pytest.raises(SystemExit) as exit_info:
        main(["fit", *classifier_with(), "--data", "mail.csv", *DOCUMENTS, "--out", "cnn"])
    assert not exit_info.value.code
    return folder


@pytest.fixture
def mail(tmp_path: Path, office: Path) -> Path:
    """Return the CSV of documents in this test's folder."""
    return Path(shutil.copy(office / "mail.csv", tmp_path))


@pytest.fixture
def classifier(mail: Path, office: Path) -> Path:
    """Return the model of those documents, beside them."""
    return Path(shutil.copytree(office / "cnn", mail.parent / "cnn"))
