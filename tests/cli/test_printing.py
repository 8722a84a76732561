"""Tables for people and JSON for programs."""

from __future__ import annotations

import json

import pytest

from gossamer.cli.printing import cell, print_json, print_line, print_metrics, print_table


def test_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"name": "né", "value": [1, 2.5]})
    assert json.loads(capsys.readouterr().out) == {"name": "né", "value": [1, 2.5]}
    with pytest.raises(ValueError):
        print_json(float("nan"))


def test_many_metrics_are_a_row_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_metrics("ease", {"recall@20": 0.5}, 2.0)
    (_, head, _, row, _) = capsys.readouterr().out.splitlines()
    assert all(name in head for name in ("model", "recall@20", "seconds"))
    assert all(value in row for value in ("ease", "0.5000", "2.0000"))
    print_metrics("count-vae", {f"perplexity_{letter}": 20.0 for letter in "abcde"}, 2.0)
    title, *lines = capsys.readouterr().out.splitlines()
    assert title == "count-vae, fitted in 2.0000 seconds"
    assert sum("perplexity_" in line for line in lines) == 5
    print_metrics("ease", {}, 2.0)
    assert capsys.readouterr().out == ""


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
