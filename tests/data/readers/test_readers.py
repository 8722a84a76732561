"""Whatever is in a file, a reader answers with a container or with a ValueError."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.data import Counts, Interactions, LabelledArrays, Sentences
from gossamer.data.readers import count_words, read_counts, read_interactions, read_multilabel, read_sentences
from gossamer.data.splits import split_global_time, split_random, split_user_time, split_users


class Target(NamedTuple):
    """A file name, how it is read, and pieces that a file of this kind is made of."""

    file: str
    read: Callable[[Path], Any]
    pieces: list[str]


VALUES = ["1", "2", "a", "", "nan", "-1", "1e400", "007", "é", '"', '"x"', '"a\nb"', " ", "2020-01-01", "\x00", "\x1f"]
ARFF = ["@relation r\n", "@attribute a numeric\n", "@attribute b {0,1}\n", "@attribute 'c d' {x,'y z'}\n", "@data\n"]
TARGETS = {
    "csv": Target("a.csv", read_interactions, ["user,item\n", "user,item,rating,time\n", ",", ",", ",", "\n", "\r\n"]),
    "csv without header": Target("b.csv", lambda path: read_interactions(path, header=False), [",", ",", "\n", "\n"]),
    "tsv": Target("a.tsv", read_interactions, ["user\titem\ttime\n", "\t", "\t", "\n"]),
    "dat": Target("a.dat", read_interactions, ["1::2::3::4\n", "::", "::", ":", "\n"]),
    "inter": Target("a.inter", read_interactions, ["user_id:token\titem_id:token\n", "\t", "\n", ":"]),
    "adjacency": Target("a.txt", lambda path: read_interactions(path, format="adjacency"), [" ", " ", "\n", "\t"]),
    "svmlight": Target("a.feat", read_counts, ["1 ", "1:", ":", " ", " ", "\n", "#", "1:2 "]),
    "sentences": Target("b.txt", read_sentences, ["a", "b ", " ", "\n", "\u2028", "\r"]),
    "arff": Target(
        "a.arff", lambda path: read_multilabel(path, labels=1), [*ARFF, ",", ",", "\n", "{", "}", "?", "0 1"]
    ),
    "label xml": Target(
        "a.xml",
        lambda path: read_multilabel(path.with_suffix(".real"), labels=path),
        ["<labels>", "</labels>", '<label name="b"/>', '<label name="b">', "</label>", '<?xml version="1.0"?>', "&b;"],
    ),
}
CONTAINERS = (Interactions, Counts, Sentences, LabelledArrays)


def contents(target: Target) -> st.SearchStrategy[bytes]:
    """Raw bytes, arbitrary text, and text that looks like the format."""
    lookalike = st.lists(st.sampled_from(target.pieces * 3 + VALUES), max_size=40).map(
        lambda parts: "".join(parts).encode()
    )
    headed = lookalike.map(lambda body: "".join(target.pieces[: 5 if target.pieces[:5] == ARFF else 1]).encode() + body)
    return st.one_of(headed, lookalike, st.text().map(lambda text: text.encode("utf-8", "replace")), st.binary())


CONTENTS = {name: contents(target) for name, target in TARGETS.items()}  # built once, not once per example


def read_or_refuse(read: Callable[[Path], Any], path: Path, content: bytes) -> None:
    path.unlink(missing_ok=True)  # ext4 waits for the disk, 5 ms a time, where a file is overwritten
    path.write_bytes(content)
    try:
        result = read(path)
    except ValueError as fault:
        assert str(fault)  # noqa: PT017
    else:
        assert isinstance(result, CONTAINERS)


def fuzz_target(name: str, folder: Path, max_examples: int) -> None:
    """Strategies are given, not drawn from `st.data()`, which writes every example down: a seventh of the time."""
    target = TARGETS[name]
    (folder / "a.real").write_text("".join(ARFF) + "1,0,x\n")  # the table to which fuzzed label lists belong

    @settings(max_examples=max_examples)
    @given(CONTENTS[name])
    def fuzz(content: bytes) -> None:
        read_or_refuse(target.read, folder / target.file, content)

    fuzz()


@pytest.mark.parametrize("name", TARGETS)
def test_any_content_is_read_or_refused(name: str, tmp_path: Path) -> None:
    fuzz_target(name, tmp_path, 100)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", TARGETS)
def test_any_content_is_read_or_refused_at_length(name: str, tmp_path: Path) -> None:
    fuzz_target(name, tmp_path, 10_000)


def whole_gzip() -> bytes:
    return gzip.compress(b"user,item,time\n" + b"".join(b"%d,%d,%d\n" % (n % 7, n % 5, n) for n in range(100)))


DAMAGED = {"a.csv.gz": whole_gzip()}  # Parquet: test_readers_damaged_parquet.py


def damages(num_bytes: int) -> st.SearchStrategy[tuple[list[tuple[int, int]], int]]:
    """Up to four bytes to put at some places, and a length to cut to."""
    places = st.integers(0, num_bytes - 1)
    changes = st.lists(st.tuples(places, st.integers(0, 255)), max_size=4)
    return st.tuples(changes, st.one_of(st.just(num_bytes), places))


def fuzz_damage(file: str, folder: Path, max_examples: int) -> None:
    whole = DAMAGED[file]

    @settings(max_examples=max_examples)
    @given(damages(len(whole)))
    def fuzz(damage: tuple[list[tuple[int, int]], int]) -> None:
        changes, length = damage
        content = bytearray(whole)
        for place, value in changes:
            content[place] = value
        read_or_refuse(read_interactions, folder / file, bytes(content[:length]))

    fuzz()


@pytest.mark.parametrize("file", DAMAGED)
def test_damaged_files_are_read_or_refused(file: str, tmp_path: Path) -> None:
    fuzz_damage(file, tmp_path, 100)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("file", DAMAGED)
def test_damaged_files_are_read_or_refused_at_length(file: str, tmp_path: Path) -> None:
    fuzz_damage(file, tmp_path, 10_000)


@given(st.lists(st.text(), max_size=5), st.text(max_size=4))
def test_any_texts_are_counted(texts: list[str], pattern: str) -> None:
    assert len(count_words(texts)) == len(texts)
    try:
        assert len(count_words(texts, pattern=pattern)) == len(texts)
    except ValueError as fault:
        assert "pattern must" in str(fault)  # noqa: PT017


EVENTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(-3, 3)), min_size=1, max_size=60)
FRACTIONS = st.lists(st.floats(0.01, 1), min_size=1, max_size=4)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@given(EVENTS, FRACTIONS, st.floats(0.01, 0.99), st.integers(0, 5))
@settings(max_examples=10_000)
def test_any_interactions_are_split_or_refused(
    events: list[tuple[int, int, int]], fractions: list[float], fold_in: float, seed: int
) -> None:
    users, items, times = (list(column) for column in zip(*events, strict=True))
    data = Interactions.from_pairs(users, items, time=times)
    parts = [fraction / sum(fractions) for fraction in fractions]
    for split in (
        lambda: split_random(data, parts, random_state=seed),
        lambda: split_users(data, 0.2, 0.3, fold_in=fold_in, random_state=seed),
        lambda: split_user_time(data, parts, random_state=seed),
        lambda: split_global_time(data, parts),
    ):
        try:
            result = split()
        except ValueError as fault:
            assert "must" in str(fault)  # noqa: PT017
        else:
            assert min(result.train.nnz, result.test.target.nnz) > 0
