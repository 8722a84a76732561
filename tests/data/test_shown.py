"""What a notebook shows of containers: numbers, a few rows, nothing that their ids could break."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy import sparse

from gossamer.data import Counts, Interactions, LabelledArrays, Sentences, Sequences, Vocabulary
from gossamer.data.interactions import HeldOut, Split
from gossamer.data.parts import Parts

HOSTILE = "<img src=x onerror=alert(1)>"
PAIRS = Interactions.from_pairs([HOSTILE, "bob", "eve", "zoe"], [HOSTILE, "jam", "jam", "tea"])
WORDS = Vocabulary([HOSTILE, "eggs"])
TEXTS = Sentences(np.array([0, 1, 1]), np.array([0, 1, 3]), WORDS, np.array([0, 1]), ["a", HOSTILE])
HELD_OUT = HeldOut(PAIRS, PAIRS)

CONTAINERS = [
    PAIRS,
    PAIRS[:0],
    HELD_OUT,
    Split(PAIRS, None, HELD_OUT, {"kind": "users", "note": HOSTILE}),
    Split(PAIRS, HELD_OUT, HELD_OUT, {}),
    Counts(sparse.csr_array([[1, 2], [0, 0]]), WORDS, Vocabulary([HOSTILE, "d"])),
    Counts(sparse.csr_array([[1, 2]]), WORDS),
    TEXTS,
    Sentences(np.array([0]), np.array([0, 1]), WORDS),
    Parts(TEXTS, TEXTS[:1], TEXTS[:0], {"kind": "rows"}),
    Sequences(np.zeros((5, 2)), np.array([0, 2, 5])),
    LabelledArrays(np.zeros((3, 2))),
]


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda one: type(one).__name__)
def test_every_container_is_shown(container: Any) -> None:
    content = container._repr_html_()
    shown = ElementTree.fromstring(f"<div>{content}</div>")
    assert shown.find(".//caption").text == type(container).__name__  # type: ignore[union-attr]
    assert not list(shown.iter("img"))
    assert len(list(shown.iter("td"))) >= 2


def cells(container: Any) -> list[str | None]:
    return [cell.text for cell in ElementTree.fromstring(f"<div>{container._repr_html_()}</div>").iter("td")]


def test_the_first_rows_are_told_apart() -> None:
    assert cells(PAIRS)[-6:] == [HOSTILE, HOSTILE, "bob", "jam", "eve", "jam"]
    counts = Counts(sparse.csr_array([[1, 2], [0, 0]]), WORDS)
    assert cells(counts)[-4:] == ["0", f"eggs 2, {HOSTILE} 1", "1", None]
    assert cells(TEXTS)[-4:] == ["a", HOSTILE, HOSTILE, "eggs eggs"]
    many = Interactions.from_pairs(["ann"] * 20, [f"i{item:02}" for item in range(20)])
    assert cells(many)[-1] == "i00, i01, i02, i03, i04, i05, i06, i07, …"


def test_parts_say_how_large_they_are() -> None:
    split = Split(PAIRS, HELD_OUT, HELD_OUT, {"kind": "users"})
    assert cells(split)[3:6] == ["valid", "4", "history of 4 and target of 4 interactions"]
    assert "kind=users" in split._repr_html_()
