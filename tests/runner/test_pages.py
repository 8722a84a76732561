"""Tables in Markdown pages come from records; the ones that are shipped are in step with the records."""

from __future__ import annotations

from pathlib import Path

import pytest
from runner_samples import make_record

from gossamer.runner.experiment import read_experiment
from gossamer.runner.pages import experiment_table, fill_tables, pages_with_tables, refresh_page
from gossamer.runner.records import record_path, write_record

PAGE = "# Title\n\n<!-- table: tiny -->\nold\n<!-- /table -->\n\ntext\n"


def test_only_what_lies_between_the_markers_changes() -> None:
    page = "a\n<!-- table: x -->\n<!-- /table -->\nb\n<!-- table: y -->\nold\n\n<!-- /table -->\nc"
    filled = fill_tables(page, lambda name: f"table of {name}")
    assert filled == (
        "a\n<!-- table: x -->\n\ntable of x\n\n<!-- /table -->\nb\n"
        "<!-- table: y -->\n\ntable of y\n\n<!-- /table -->\nc"
    )
    assert fill_tables(filled, lambda name: f"table of {name}") == filled


def test_backslashes_of_a_table_stay() -> None:
    assert r"a \| \1" in fill_tables("<!-- table: x -->\n<!-- /table -->", lambda _: r"a \| \1")


@pytest.mark.parametrize("page", ["<!-- table: x -->\n", "<!-- table: x -->\n<!-- table: y -->\n<!-- /table -->"])
def test_a_marker_that_is_not_closed_is_an_error(page: str) -> None:
    with pytest.raises(ValueError, match="must be followed by <!-- /table -->"):
        fill_tables(page, lambda _: "")


def test_a_page_is_rewritten_from_the_records_once(tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tiny_file.parents[2]
    monkeypatch.chdir(home)
    experiment = read_experiment(tiny_file)
    write_record(make_record(), record_path(experiment, experiment.row("ease"), 0))
    (home / "docs").mkdir()
    (home / "README.md").write_text("nothing here")
    page = home / "docs" / "page.md"
    page.write_text(PAGE)
    assert pages_with_tables() == [page]
    assert refresh_page(page)
    assert not refresh_page(page)
    assert experiment_table("tiny") in page.read_text()
    assert page.read_text().endswith("<!-- /table -->\n\ntext\n")


def test_an_unknown_table_is_named(tiny_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tiny_file.parent)
    with pytest.raises(ValueError, match="table must be one of tiny, got 'other'"):
        fill_tables("<!-- table: other -->\n<!-- /table -->")


def test_shipped_pages_are_in_step_with_the_records(monkeypatch: pytest.MonkeyPatch) -> None:
    """`gossamer reproduce --tables` rewrites what this finds."""
    monkeypatch.chdir(Path(__file__).parents[2])
    for page in pages_with_tables():
        text = page.read_text(encoding="utf-8")
        assert fill_tables(text) == text, f"{page.name} is out of step; run: gossamer reproduce --tables"
