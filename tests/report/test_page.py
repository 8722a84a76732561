"""The page as a document: well-formed, labelled, self-contained, escaped, the same every time."""

from __future__ import annotations

import os
import re
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.report import Drawing, Facts, Figure, Fold, KeyNumbers, Report, Section, Table, Text, render, write_report

HOSTILE = "</title></style><script>alert('x')</script><img src=x onerror=alert(1)>\"'&"
SVG = '<svg viewBox="0 0 1 1"><defs><path id="m1" d="M 0 0"/></defs><use href="#m1"/></svg>'


def hostile_report() -> Report:
    blocks = [
        Text(HOSTILE),
        KeyNumbers({HOSTILE: HOSTILE}),
        Facts({HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}),
        Table([{HOSTILE: HOSTILE}], HOSTILE, note=HOSTILE),
        Figure([Drawing(HOSTILE, SVG, HOSTILE)], HOSTILE),
        Fold(HOSTILE, [Table([{"a": HOSTILE}], HOSTILE)]),
    ]
    return Report(HOSTILE, HOSTILE, [Section(HOSTILE, blocks, HOSTILE), Section("second", [])])


def test_page_is_balanced_and_has_one_heading_of_each_rank_in_order(report, read_page):
    page = read_page(render(report))
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.all("html") == [{"lang": "en"}]
    assert len(page.all("main")) == 1


def test_every_picture_has_a_label(report, read_page):
    page = read_page(render(report))
    pictures = page.all("svg")
    assert len(pictures) > 5
    assert all(picture.get("aria-hidden") == "true" or picture.get("aria-label") for picture in pictures)
    assert page.all("img") == []


def test_every_header_cell_has_a_scope_and_every_table_a_name(report, read_page):
    page = read_page(render(report))
    assert {cell.get("scope") for cell in page.all("th")} == {"col", "row"}
    regions = [attributes for attributes in page.all("div") if attributes.get("class") == "scroll"]
    ids = {attributes["id"] for _, attributes in page.elements if "id" in attributes}
    assert len(regions) == len(page.all("table"))
    assert all(region["aria-labelledby"] in ids for region in regions)


def test_ids_are_unique_and_every_reference_within_the_page_has_its_target(report, read_page):
    text = render(report)
    ids = [attributes["id"] for _, attributes in read_page(text).elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert set(re.findall(r"(?:href=\"|url\()#([\w-]+)", text)) <= set(ids)


def test_page_needs_nothing_but_itself(report, read_page):
    text = render(report)
    page = read_page(text)
    for tag, attributes in page.elements:
        assert tag not in {"script", "link", "iframe", "object", "embed", "base"}
        assert not any(name.startswith("on") for name in attributes)
        for name in ("src", "href", "xlink:href", "action", "srcset", "data"):
            assert (attributes.get(name) or "#").startswith("#")
    assert "@import" not in text
    assert not re.search(r"url\((?!#)", text)
    policy = [meta["content"] for meta in page.all("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    assert policy[0].startswith("default-src 'none'")


def test_hostile_text_stays_text(read_page):
    page = read_page(render(hostile_report()))
    assert page.all("script") == []
    assert page.all("img") == []
    assert page.text_of("h1") == [HOSTILE]
    assert page.text_of("title") == [HOSTILE]
    assert HOSTILE in [picture.get("aria-label") for picture in page.all("svg")]


def test_two_pictures_with_the_same_inner_ids_do_not_share_them(read_page):
    figure = Figure([Drawing("a", SVG, "a"), Drawing("b", SVG, "b")])
    page = read_page(render(Report("t", "", [Section("s", [figure])])))
    names = [path["id"] for path in page.all("path") if "id" in path]
    assert len(set(names)) == 2
    assert [use["href"] for use in page.all("use")] == [f"#{name}" for name in names]


def test_same_report_gives_the_same_page(report):
    assert render(report) == render(report)


def test_an_empty_report_is_a_page(read_page):
    page = read_page(render(Report("", "", [])))
    assert len(page.all("h1")) == 1
    assert page.all("nav") == []


def test_an_empty_table_says_so(read_page):
    page = read_page(render(Report("t", "", [Section("s", [Table([], "none"), Figure([]), Text("")])])))
    assert "Nothing to show." in page.text_of("p")


def test_best_value_and_number_columns_are_marked(read_page):
    table = Table([{"model": "a", "x": 1.0}, {"model": "b", "x": 2.0}], best={"x": "max"})
    page = read_page(render(Report("t", "", [Section("s", [table])])))
    assert [cell.get("class") for cell in page.all("td")] == ["number", "number best"]


def test_write_report_replaces_the_page_and_leaves_nothing_beside_it(tmp_path):
    path = tmp_path / "new" / "report.html"
    write_report(Report("first", "", []), path)
    write_report(Report("second \ud800", "", []), str(path))
    assert "<h1>second ?</h1>" in path.read_text(encoding="utf-8")
    assert os.listdir(path.parent) == ["report.html"]


def test_a_failed_write_keeps_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    write_report(Report("first", "", []), path)

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        write_report(Report("second", "", []), path)
    assert "<h1>first</h1>" in path.read_text(encoding="utf-8")
    assert os.listdir(tmp_path) == ["report.html"]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40)
@given(title=st.text(), facts=st.dictionaries(st.text(), values, max_size=4), rows=st.lists(
    st.dictionaries(st.sampled_from("abc"), values), max_size=4))  # fmt: skip
def test_any_value_makes_a_balanced_page(title, facts, rows, read_page):
    blocks = [Facts(facts), KeyNumbers(facts), Table(rows, title), Fold(title, [Text(title)])]
    read_page(render(Report(title, title, [Section(title, blocks)])))
