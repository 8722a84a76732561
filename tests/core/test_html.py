"""Tables for notebooks: well-formed, escaped, short."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gossamer.core.html import MAX_LENGTH, html_facts, html_table

HOSTILE = "<script>alert(1)</script>\"'&\ud800"


def read(content: str) -> ElementTree.Element:
    return ElementTree.fromstring(f"<div>{content}</div>")


def test_names_and_values_cannot_become_markup() -> None:
    content = html_table([{HOSTILE: HOSTILE, "n": 1}], title=HOSTILE, note=HOSTILE) + html_facts(
        HOSTILE, {HOSTILE: HOSTILE}
    )
    shown = read(content)
    assert not list(shown.iter("script"))
    assert content.encode().decode().count("&lt;script&gt;") == 7
    assert [cell.text for cell in shown.iter("td")][:2] == [HOSTILE.replace("\ud800", "?"), "1"]


def test_cells_are_written_as_people_write_them() -> None:
    rows = [{"a": 1234567, "b": 0.123456, "c": None, "d": True, "e": [1, 2]}]
    assert [cell.text for cell in read(html_table(rows)).iter("td")] == ["1,234,567", "0.1235", "–", "yes", "[1, 2]"]


def test_numbers_stand_to_the_right_and_a_header_can_be_left_out() -> None:
    header = list(read(html_table([{"name": "a", "n": 1}, {"name": "b", "n": None}])).iter("th"))
    assert ["right" in (cell.get("style") or "") for cell in header] == [False, True]
    assert not list(read(html_facts("x", {"a": 1})).iter("th"))


def test_the_total_is_there_however_long_the_table_is() -> None:
    for count in (0, 45):
        cells = [cell.text for cell in read(html_table([{"n": 1}] * count, total={"n": count})).iter("td")]
        assert cells[-1] == str(count)


def test_long_tables_and_long_names_are_cut() -> None:
    shown = read(html_table([{"name": "x" * 1000}] * 45))
    assert len(list(shown.iter("td"))) == 20
    assert {len(cell.text or "") for cell in shown.iter("td")} == {MAX_LENGTH}
    assert "and 25 more rows" in [line.text for line in shown.iter("div")]


@pytest.mark.parametrize("rows", [[], [{}]])
def test_nothing_is_a_table_too(rows: list[dict[str, object]]) -> None:
    assert list(read(html_table(rows)).iter("td")) == []
