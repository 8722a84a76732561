"""The three built-in sets on the running interpreter; the first run on a machine parses the library (seconds)."""

from __future__ import annotations

import numpy as np
import pytest

from gossamer import datasets
from gossamer.datasets import stdlib
from gossamer.datasets.stdlib_source import library_directory, load_stdlib_source

HAS_TESTS = (library_directory() / "test" / "test_json").is_dir()
needs_tests = pytest.mark.skipif(not HAS_TESTS, reason="this Python was installed without its tests")


@pytest.fixture(scope="module")
def source():
    return load_stdlib_source()


@pytest.fixture(autouse=True)
def parsed_once(source, monkeypatch):
    monkeypatch.setattr(stdlib, "load_stdlib_source", lambda: source)


@needs_tests
def test_usage_has_the_promised_size():
    usage = datasets.load("stdlib-usage")
    assert 1_200 < usage.num_users < 1_700
    assert 1_300 < usage.num_items < 2_000
    assert 40_000 < usage.nnz < 75_000


def test_usage_is_a_core_with_counts_and_packages():
    usage = datasets.load("stdlib-usage", tests=False)
    assert 400 < usage.num_users < 900
    assert usage.item_counts.min() >= 6
    assert usage.user_counts.min() >= 5
    assert usage.rating.min() >= 1
    assert usage.user_features["package"].to_list() == [str(module).split(".")[0] for module in usage.users]
    row = usage.matrix("rating")[usage.users.index_of(["json.decoder"])].toarray()[0]
    assert row[usage.items.index_of(["re.compile"])[0]] >= 1
    assert {"os.path.join", "len", ".append", "ValueError"} <= set(usage.items)


def test_usage_is_the_same_every_time():
    assert datasets.load("stdlib-usage").fingerprint() == datasets.load("stdlib-usage").fingerprint()


def test_docs_in_both_forms_are_the_same_documents():
    counts, sentences = datasets.load("stdlib-docs"), datasets.load("stdlib-docs", form="sentences")
    assert len(counts) == len(sentences) > 6_000
    assert len(counts) < 13_000
    assert counts.labels.tolist() == sentences.labels.tolist()
    assert counts.label_names == sentences.label_names
    assert np.diff(counts.matrix.indptr).min() >= 1
    assert sentences.lengths.min() >= 5
    assert len(counts.terms) == 2_000
    assert "the" not in counts.terms
    assert "the" in sentences.vocabulary
    row = int(counts.documents.index_of(["textwrap.dedent"])[0])
    words = sentences.words(row)
    for term, count in zip(counts.matrix[[row]].indices, counts.matrix[[row]].data, strict=True):
        assert words.count(counts.terms[term]) == count
    assert np.bincount(counts.labels)[:-1].min() >= 20


def test_docs_refuse_another_form():
    with pytest.raises(ValueError, match="form must be one of 'counts', 'sentences', got 'words'"):
        datasets.load("stdlib-docs", form="words")


def test_calls_are_sequences_of_known_names():
    calls = datasets.load("stdlib-calls", tests=False)
    assert 5_000 < len(calls) < 12_000
    assert calls.lengths.min() >= 2
    row = int(calls.names.index_of(["json.loads"])[0])
    called = [calls.vocabulary[event] for event in calls[row : row + 1].observations]
    assert called[:2] == ["isinstance", ".startswith"]
    assert not any("test" in str(name).split(".") for name in calls.names)


@needs_tests
def test_leaving_tests_out_leaves_much_out():
    assert len(datasets.load("stdlib-calls")) > 3 * len(datasets.load("stdlib-calls", tests=False))
