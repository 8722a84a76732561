"""The report adds up and reads as a table."""

from __future__ import annotations

from gossamer.models.embeddings.compression_report import CompressionReport, TableChange

WORDS = TableChange(("words", "output"), (1000, 64), "ant", 64_000, 3_200, 256_000, 15_000, error=0.25)
KINDS = TableChange(("kinds",), (2, 64), "dense", 128, 128, 512, 512, stayed="fewer than 10,000 numbers")


def test_totals_are_sums() -> None:
    report = CompressionReport((WORDS, KINDS))
    assert (report.values_before, report.values_after) == (64_128, 3_328)
    assert (report.bytes_before, report.bytes_after) == (256_512, 15_512)


def test_rows_name_tables_sizes_and_reasons() -> None:
    first, second, total = CompressionReport((WORDS, KINDS)).table()
    assert first["table"] == "words, output"
    assert (first["V × D"], first["values after"], first["error"], first["stayed"]) == (
        "1000 × 64",
        "3,200",
        "0.250",
        "",
    )
    assert (second["error"], second["stayed"]) == ("", "fewer than 10,000 numbers")
    assert (total["table"], total["bytes before"]) == ("all", "256,512")


def test_text_is_aligned() -> None:
    lines = str(CompressionReport((WORDS, KINDS))).splitlines()
    assert len(lines) == 4
    assert {line.index(word) for line, word in zip(lines, ["method", "ant", "dense"], strict=False)} == {26}


def test_a_notebook_shows_the_rows_escaped() -> None:
    hostile = TableChange(("<b>",), (2, 64), "dense", 128, 128, 512, 512)
    shown = CompressionReport((WORDS, hostile))._repr_html_()
    assert (shown.count("<tr"), "<b>" in shown) == (4, False)
