"""Vocabularies that are not what they should be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from probing import refusal, reseal


def test_a_huge_vocabulary_is_refused_unread(saved: Path) -> None:
    os.truncate(saved / "vocabulary.items.json", (1 << 30) + 1)
    assert f"vocabulary.items.json must have at most {1 << 30} bytes" in refusal(saved)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"kind": "str", "ids": ["a", "b", "a", "c"]}, "ids must be unique, got 'a' more than once"),
        ({"kind": "int", "ids": [1, 2, 2, 3]}, "ids must be unique, got 2 more than once"),
        ({"kind": "str", "ids": ["a", 1, "b", "c"]}, "its ids must all be str, got 1"),
        ({"kind": "int", "ids": [1, "a", 2, 3]}, "its ids must all be int, got 'a'"),
        ({"kind": "int", "ids": [1, True, 2, 3]}, "its ids must all be int, got True"),
        ({"kind": "int", "ids": [1, 2.0, 3, 4]}, "its ids must all be int, got 2.0"),
        ({"kind": "int", "ids": [1, None, 3, 4]}, "its ids must all be int, got None"),
        ({"kind": "int", "ids": [1, 1 << 63, 3, 4]}, "is not a vocabulary"),
        ({"kind": "str", "ids": ["\ud800", "b", "c", "d"]}, "is not a vocabulary"),
        ({"kind": "object", "ids": []}, 'its "kind" must be "str" or "int"'),
        ({"kind": ["str"], "ids": []}, 'its "kind" must be "str" or "int"'),
        ({"kind": "str", "ids": {"a": 0}}, 'its "ids" must be a list'),
        ({"kind": "str"}, 'it must be an object with the keys "kind" and "ids"'),
        (["a", "b"], 'it must be an object with the keys "kind" and "ids"'),
        ({"kind": "str", "ids": ["a"]}, "does not fit gossamer.models._probe:Probe: array 'weights' must have shape"),
    ],
)
def test_a_wrong_vocabulary_is_named(saved: Path, content: Any, message: str) -> None:
    (saved / "vocabulary.items.json").write_text(json.dumps(content))
    reseal(saved)
    assert message in refusal(saved)


def test_a_vocabulary_nested_without_end(saved: Path) -> None:
    (saved / "vocabulary.items.json").write_text('{"kind": "str", "ids": ' + "[" * 200_000)
    reseal(saved)
    assert "vocabulary.items.json is not a vocabulary: it is nested too deeply" in refusal(saved)


def test_a_vocabulary_missing_from_the_list_is_the_estimators_to_miss(saved: Path) -> None:
    (saved / "vocabulary.items.json").unlink()
    reseal(saved, lambda config: config["files"].pop("vocabulary.items.json"))
    assert "vocabularies must be named items, users, got users" in refusal(saved)
