"""An artifact remembers where its data came from, and notices when they have changed."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
from document_samples import write_documents
from runner_samples import write_blocks

from gossamer.runner.provenance import Origin, open_origin, read_origin, reopen
from gossamer.runner.source import make_split, open_data
from gossamer.runner.specs import DataSpec, SplitSpec


@pytest.fixture
def origin(blocks_file: Path) -> Origin:
    spec = DataSpec(str(blocks_file), min_per_user=2)
    return Origin("ease", spec, SplitSpec("users", seed=4), open_data(spec).fingerprint())


def test_the_same_data_and_split_are_opened_again(origin: Origin) -> None:
    config = {"provenance": origin.as_json()}
    assert read_origin(config) == origin
    again, data, split = reopen(config)
    assert again == origin
    assert split.test.target.fingerprint() == make_split(data, origin.split).test.target.fingerprint()


def test_changed_data_are_used_with_a_warning(
    origin: Origin, blocks_file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    config = {"provenance": origin.as_json()}
    with caplog.at_level(logging.WARNING):
        open_origin(config)
        assert not caplog.records
        blocks_file.write_text(blocks_file.read_text() + "u0,zz,3\n")
        open_origin(config)
    assert "has changed since the model was trained" in caplog.text


def test_other_data_are_filtered_and_split_in_the_same_way(
    origin: Origin, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = write_blocks(tmp_path / "other.csv")
    other.write_text(other.read_text() + "lonely,zz,3\n")
    changed, data, _ = reopen({"provenance": origin.as_json()}, str(other))
    assert changed.data == DataSpec(str(other), min_per_user=2)
    assert "lonely" not in data.users
    assert not caplog.records


def test_counted_documents_come_over_the_terms_of_the_model(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path, other, matrix = (tmp_path / name for name in ("a.csv", "b.csv", "c.svm"))
    path.write_text("body\nham ham\neggs 3\n")
    other.write_text("body\neggs 3 3\nspam\n")
    matrix.write_text("1 1:4\n")
    spec = DataSpec(str(path), {"form": "counts", "pattern": r"\w+", "max_terms": 3}, {"text": "body"})
    data = open_data(spec)
    config = {"provenance": Origin("unigram", spec, SplitSpec("none"), data.fingerprint()).as_json()}
    assert list(data.terms) == ["ham", "3", "eggs"]
    found, opened, parts = reopen(config, str(other), data.terms)
    assert found.data.options == {"form": "counts", "pattern": r"\w+"}, "words are cut out as for the model"
    assert opened.matrix.toarray().tolist() == [[0, 2, 1], [0, 0, 0]]
    assert len(parts.test) == 2
    assert "b.csv has 1 of 3 terms, 25.0 % of all it counts, that the model does not know" in caplog.text
    found, opened = open_origin(config, str(matrix), data.terms)
    assert (found.data.options, found.data.columns) == ({"form": "counts"}, {})
    assert opened.matrix.toarray().tolist() == [[4, 0, 0]]
    path.write_text("body\ntea ham\neggs 3\n")
    _, opened = open_origin(config, None, data.terms)
    assert opened.matrix.toarray().tolist() == [[1, 0, 0], [0, 1, 1]]
    assert "has changed since the model was trained" in caplog.text


@pytest.mark.parametrize("config", [{}, {"provenance": {}}, {"provenance": {"data": {"name": "x"}}}])
def test_a_model_without_memory_says_so(config: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="the model must remember its data, as one saved by `gossamer fit` does"):
        read_origin(config)


def test_documents_are_opened_again_and_others_are_all_judged(
    documents_file: Path, tmp_path: Path, word_votes: str
) -> None:
    columns = {"text": "body", "label": "topic"}
    spec, split = DataSpec(str(documents_file), {"form": "sentences"}, columns), SplitSpec("rows", seed=2)
    config = {"provenance": Origin(word_votes, spec, split, open_data(spec).fingerprint()).as_json()}
    _, data, parts = reopen(config)
    assert parts.test.fingerprint() == make_split(data, split).test.fingerprint()
    other = write_documents(tmp_path / "other.csv", 10)
    origin, data, parts = reopen(config, str(other))
    assert origin.data.options == {"form": "sentences"}
    assert (len(parts.train), len(parts.test)) == (0, 10)
