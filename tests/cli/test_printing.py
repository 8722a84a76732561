"""Tables for people and JSON for programs."""

from __future__ import annotations

import json

import pytest

from gossamer.cli.printing import cell, print_json, print_line, print_table


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "né", "value": [1, 2.5]})
    assert json.loads(capsys.readouterr().out) == {"name": "né", "value": [1, 2.5]}
    with pytest.raises(ValueError):
        print_json(float("nan"))


def test_markup_in_ids_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([{"item": "[red]x[/red]", "score": 0.5}], title="plain")
    print_line("saved to [bold]here[/bold]")
    written = capsys.readouterr().out
    assert "[red]x[/red]" in written
    assert "[bold]here[/bold]" in written


def test_long_ids_are_folded_and_never_cut(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([{"item": "x" * 400, "n": 1}])
    assert capsys.readouterr().out.count("x") == 400


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (12345, "12,345"), (0.25, "0.2500"), (0.0, "0.0000"), (1e-7, "1e-07"), (1e6, "1e+06"), (True, "True")],
)
def test_cells_read_as_people_write(value: object, text: str) -> None:
    assert cell(value) == text


def test_nothing_is_a_table_without_rows(capsys: pytest.CaptureFixture[str]) -> None:
    print_table([])
    assert capsys.readouterr().err == ""
