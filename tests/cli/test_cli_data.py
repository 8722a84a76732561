"""`gossamer data`: list, show, path."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from command_line import Gossamer

from gossamer import datasets


def test_the_list_has_every_data_set(gossamer: Gossamer) -> None:
    rows = json.loads(gossamer("data", "list", "--json").out)
    assert {row["name"] for row in rows} == set(datasets.available())
    assert next(row for row in rows if row["name"] == "stdlib-usage")["here"]
    assert "stdlib-usage" in gossamer("data", "list").out


def test_a_data_set_is_described_with_its_content(gossamer: Gossamer) -> None:
    done = gossamer("data", "show", "stdlib-usage", "--json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    assert answer["about"]["kind"] == "Interactions"
    assert answer["content"]["users"] > 500
    assert "interactions" in gossamer("data", "show", "stdlib-usage").out


def test_a_file_is_described_too(gossamer: Gossamer) -> None:
    Path("own.csv").write_text("user,item\nann,tea\nbob,jam\n")
    answer = json.loads(gossamer("data", "show", "own.csv", "--json").out)
    assert answer["about"] == {}
    assert answer["content"]["interactions"] == 2


def test_a_file_of_documents_is_described_as_it_would_be_read(gossamer: Gossamer) -> None:
    Path("mail.csv").write_text("body\nham and ham\neggs\n")
    done = gossamer("data", "show", "mail.csv", "--option", "form=counts", "--columns", "text=body", "--json")
    assert done.code == 0, done.err
    content = json.loads(done.out)["content"]
    assert (content["documents"], content["terms"], content["tokens"]) == (2, 3, 4)
    Path("counts.svmlight").write_text("1 1:2 3:1\n")
    assert json.loads(gossamer("data", "show", "counts.svmlight", "--json").out)["content"]["terms"] == 3


def test_a_path_is_one_line(gossamer: Gossamer) -> None:
    done = gossamer("data", "path", "stdlib-usage")
    assert done.code == 0
    assert Path(done.out.strip()).is_dir()


def test_missing_data_say_so(gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "locate", lambda _: None)
    done = gossamer("data", "path", "stdlib-usage")
    assert done.code == 2
    assert "stdlib-usage is not on this machine" in done.err
    done = gossamer("data", "show", "stdlib-usages")
    assert done.code == 2
    assert "did you mean 'stdlib-usage'" in done.err


def test_what_is_no_container_is_counted(gossamer: Gossamer, monkeypatch: pytest.MonkeyPatch) -> None:
    for content in ({"weight": 1, "bias": 2}, pl.DataFrame({"word": ["a", "b"]})):
        monkeypatch.setattr(datasets, "load", lambda _, content=content: content)
        assert json.loads(gossamer("data", "show", "stdlib-docs", "--json").out)["content"] == {"entries": 2}
