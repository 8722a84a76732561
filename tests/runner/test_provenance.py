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
